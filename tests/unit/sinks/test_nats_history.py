"""What a stream still holds of lost events: found by halves, read from there, a stranger's passed.

In: a nats-server with streams as sinks make them. Out: lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from shoe_ctl.sinks import nats_history
from shoe_ctl.sinks.nats import NatsSink
from shoe_ctl.sinks.nats_connection import NatsConnection, StoredMessage
from shoe_ctl.sinks.nats_history import StreamedLines, read_lost
from shoe_testing.nats_server import NatsServer, nats_client, nats_server, target_of

TABLES = ("bac-07", "bac.08")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with nats_server(tmp_path_factory.mktemp("nats")) as running:
        yield running


def event(number: int, table: str = "bac-07") -> bytes:
    source = f"/journal/0a0a0a0a/table/{table}"
    return json.dumps({"id": f"{table}/p{number}", "source": source}).encode()


async def publish(server: NatsServer, stream: str, *events: bytes) -> None:
    sink = NatsSink("floor", target_of(server.address, stream=stream))
    try:
        await sink.deliver(events)
    finally:
        await sink.close()


async def emptied(server: NatsServer) -> None:
    """Subjects of all tables belong to one stream at a time."""
    async with nats_client(server.address) as (_, js):
        await js.add_stream(name="STAYS", subjects=["stays"])
        for stream in await js.streams_info():
            if stream.config.name != "STAYS":
                await js.delete_stream(str(stream.config.name))


async def lost_behind(server: NatsServer, stream: str, number: int) -> StreamedLines:
    found = StreamedLines()

    def is_lost(id_: str, _: str) -> bool:
        return int(id_.rpartition("p")[2]) > number

    await read_lost(target_of(server.address, stream=stream), TABLES, is_lost, found)
    return found


@pytest.mark.parametrize("number", [0, 1, 37, 99, 100])
async def test_the_events_behind_the_journals_last_one_are_read_of_each_table(
    server: NatsServer, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await emptied(server)
    mixed = [event(n, table) for n in range(1, 101) for table in TABLES]
    await publish(server, "LOST", *mixed)
    asked = 0
    of_the_connection = NatsConnection.next_of

    async def counted(self: NatsConnection, subject: str, seq: int) -> StoredMessage | None:
        nonlocal asked
        asked += 1
        return await of_the_connection(self, subject, seq)

    monkeypatch.setattr(NatsConnection, "next_of", counted)
    found = await lost_behind(server, "LOST", number)
    assert found.lines == [event(n, table) for table in TABLES for n in range(number + 1, 101)]
    assert asked <= 2 * 8  # of 200 messages
    assert found.not_kept == 0


async def test_what_is_no_event_is_passed_over_and_too_many_are_counted(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await emptied(server)
    await publish(server, "ODD", event(1), event(2))
    async with nats_client(server.address) as (_, js):
        for odd in (b"{", b"[" * 50_000, event(9)[:-3], b"\xff", b'{"id":"x","source":"y"}'):
            await js.publish("shoe.v1.bac-07.public", odd)
        await js.publish("shoe.v1.bac-07.public", event(3))
    assert (await lost_behind(server, "ODD", 1)).lines == [event(2), event(3)]
    monkeypatch.setattr(nats_history, "MOST_KEPT_BYTES", len(event(2)) + 1)
    found = await lost_behind(server, "ODD", 1)
    assert (found.lines, found.not_kept) == ([event(2)], 1)


async def test_a_stream_without_lost_events_or_none_at_all_gives_nothing(
    server: NatsServer,
) -> None:
    await emptied(server)
    await publish(server, "WHOLE", event(1), event(2))
    assert (await lost_behind(server, "WHOLE", 2)).lines == []
    with pytest.raises(OSError, match="stream"):
        await lost_behind(server, "NOWHERE", 0)
