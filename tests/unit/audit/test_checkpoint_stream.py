"""A witness at a stream of NATS: what it cosigns comes back in a stream of its own.

In: a nats-server with events as a daemon publishes them. Out: cosignatures.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.audit.checkpoint_stream import follow_stream, read_streamed
from shoe_ctl.audit.witness import Witness
from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.journal.cosignatures import read_cosigned
from shoe_ctl.journal.signed_note import read_checkpoint_text, verifier_key, verify_note
from shoe_ctl.sinks.nats_checkpoints import COSIGNATURES_STREAM
from shoe_testing.checkpoints import (
    JOURNAL,
    NAME,
    NOW_S,
    ORIGIN,
    OWN,
    after,
    event_of,
    leaves,
)
from shoe_testing.nats_server import (
    NatsServer,
    nats_client,
    nats_server,
    stored_messages,
    target_of,
)
from shoe_testing.tasks import ended

OTHER_EVENT = {"id": "t1/p1", "source": "/journal/0a0b0c0d/table/t1", "type": "round.opened"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path) as running:
        yield running


def witness(folder: Path) -> Witness:
    keys = [verifier_key(ORIGIN, JOURNAL.public_key)]
    return Witness(NAME, OWN, keys, folder / "w1.state", lambda: NOW_S)


class Running:
    """A witness at work; ``lines`` are those that it handed out."""

    def __init__(self, server: NatsServer, folder: Path) -> None:
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._following = follow_stream(
            witness(folder), target_of(server.address), self._lines.put_nowait
        )

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._following)
        try:
            yield
        finally:
            await ended(task)

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(30):
            found: dict[str, Any] = json.loads(await self._lines.get())
        return found


async def publish(server: NatsServer, *events: dict[str, Any]) -> None:
    async with nats_client(server.address) as (_, js):
        await js.add_stream(name="SHOE_CHECKPOINTS", subjects=["shoe.v1._journal.*.checkpoint"])
        for event in events:
            await js.publish("shoe.v1._journal.0a.checkpoint", json.dumps(event).encode())


async def last_cosigned(server: NatsServer) -> list[int]:
    """The sizes of what was cosigned last, each with a cosignature that holds."""
    sizes = []
    for line in await read_streamed(target_of(server.address)):
        if (note := read_cosigned(line)) is None:
            continue
        assert verify_note(note, [verifier_key(NAME, OWN.public_key, 4)])
        sizes.append(read_checkpoint_text(note.text).size)
    return sizes


async def test_checkpoints_among_other_events_are_cosigned_and_the_last_one_is_kept(
    server: NatsServer, tmp_path: Path
) -> None:
    await publish(server, OTHER_EVENT, event_of(after(0, leaves(5))))
    running = Running(server, tmp_path)

    async with running.at_work():
        assert (await running.next())["data"]["size"] == 5
        await publish(server, OTHER_EVENT, event_of(after(5, leaves(8))))
        assert (await running.next())["data"]["size"] == 8
        await publish(server, event_of(after(8, leaves(9))))  # the one before has been stored then
        await running.next()

    assert (await last_cosigned(server))[0] in (8, 9)
    assert len(await stored_messages(server.address, COSIGNATURES_STREAM)) == 1


async def test_a_fork_is_told_beside_what_was_cosigned_last(
    server: NatsServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    forked = event_of(after(5, leaves(8, other_from=2)))
    await publish(server, event_of(after(0, leaves(5))), forked, forked)
    running = Running(server, tmp_path)

    async with running.at_work():
        told = [await running.next() for _ in range(3)]

    assert [(each["type"], each["data"].get("why")) for each in told] == [
        ("checkpoint.cosigned", None),
        ("checkpoint.refused", "fork"),
        ("checkpoint.refused", "alarm"),
    ]
    assert await last_cosigned(server) == [5]
    loud = [each.getMessage() for each in caplog.records if each.levelname == "CRITICAL"]
    assert loud[0].startswith(f"refused: message 2: ALARM: {ORIGIN}: size 8 does not continue 5")


async def test_a_witness_that_was_away_takes_up_what_came_meanwhile(
    server: NatsServer, tmp_path: Path
) -> None:
    await publish(server, event_of(after(0, leaves(5))))
    first = Running(server, tmp_path)
    async with first.at_work():
        await first.next()
    await publish(server, event_of(after(5, leaves(6))), event_of(after(6, leaves(9))))

    again = Running(server, tmp_path)
    async with again.at_work():
        sizes = [(await again.next())["data"]["size"] for _ in range(3)]

    assert sizes == [5, 6, 9]  # the last one cosigned is handed out again


async def test_a_server_that_is_killed_is_followed_again_without_a_gap(
    server: NatsServer, tmp_path: Path
) -> None:
    await publish(server, event_of(after(0, leaves(5))))
    running = Running(server, tmp_path)

    async with running.at_work():
        await running.next()
        server.kill()
        server.start()
        await publish(server, event_of(after(5, leaves(8))))
        sizes = {(await running.next())["data"]["size"]}
        while 8 not in sizes:  # the one before may come again: the server was killed
            sizes.add((await running.next())["data"]["size"])

    assert sizes <= {5, 8}


async def test_a_standard_output_that_nobody_reads_ends_the_witness(
    server: NatsServer, tmp_path: Path
) -> None:
    await publish(server, event_of(after(0, leaves(5))))

    def closed(_: bytes) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(EnvironmentFault, match="standard output: Broken pipe"):
        async with asyncio.timeout(30):
            await follow_stream(witness(tmp_path), target_of(server.address), closed)
