"""The kit at a server that has no stream yet: what it says, and that it goes on trying."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_events import Consumer
from shoe_events.follow import ConnectionLost
from shoe_events.nats import nats_stream
from shoe_testing.nats_server import nats_server

pytestmark = pytest.mark.slow


async def test_a_stream_that_is_not_there_yet_is_named_in_plain_words(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        connect = nats_stream(server.address, Consumer(), ["t1"], from_first=True)
        with pytest.raises(ConnectionLost, match=r"^stream SHOE: .* stream not found$"):
            async with connect():
                pass
