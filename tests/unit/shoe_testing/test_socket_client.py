"""A stand-in for a daemon: it ends when its test does, whatever its clients are at."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from shoe_testing.socket_client import answering_socket


@pytest.mark.parametrize("turns", range(6))
async def test_a_client_that_came_and_went_at_the_end_holds_nothing_up(
    tmp_path: Path, turns: int
) -> None:
    async with asyncio.timeout(30), answering_socket(tmp_path / "s", lambda _: {}):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(tmp_path / "s"))
        for _ in range(turns):
            await asyncio.sleep(0)
