"""Sinks of NATS JetStream at a real server: once each and in order, whatever is lost on the way."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from nats.js.api import RetentionPolicy, StorageType

from shoe_ctl.records import Audience
from shoe_ctl.sinks import nats as nats_module
from shoe_ctl.sinks import nats_connection
from shoe_ctl.sinks.brokers import Certificates
from shoe_ctl.sinks.nats import NatsSink, subject_of
from shoe_ctl.sinks.pump import EventRefused, Loss, Pump, Resend
from shoe_testing.brokers import Authority
from shoe_testing.for_each import for_each
from shoe_testing.nats_server import (
    NatsServer,
    StoredMessage,
    ids_of,
    nats_client,
    nats_server,
    stored_messages,
    target_of,
)
from shoe_testing.sinks import Ledger
from shoe_testing.tcp_proxy import TcpProxy

pytestmark = pytest.mark.slow

TABLE = "bac-07"
OTHER_JOURNAL = "0badcafe"


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.touch(0o600)
    path.write_text("secret\n")
    return path


def event(n: int, *, table: str = TABLE, journal: str = "00000000", size: int = 0) -> bytes:
    told = {"id": f"{table}/p{n}", "source": f"/journal/{journal}/table/{table}", "pad": "x" * size}
    return json.dumps(told).encode()


def events(*numbers: int, table: str = TABLE) -> list[bytes]:
    return [event(n, table=table) for n in numbers]


def ids(*numbers: int, table: str = TABLE) -> list[str]:
    return [f"{table}/p{n}" for n in numbers]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with nats_server(tmp_path_factory.mktemp("nats"), more="max_payload: 2000\n") as server:
        yield server


_streams = count(1)


class Hall(NamedTuple):
    """The server, and a stream of its own for one test: a name is not used twice at once."""

    address: str
    port: int
    stream: str

    async def stored(self) -> list[StoredMessage]:
        return await stored_messages(self.address, self.stream)


@pytest.fixture
async def server(broker: NatsServer) -> Hall:
    """The server, without a stream."""
    async with nats_client(broker.address) as (_, js):
        # One stays: the server removes the folder of its streams with the last of them, and cannot
        # create another one just then.
        await js.add_stream(name="STAYS", subjects=["stays"])
        for stream in await js.streams_info():
            if stream.config.name != "STAYS":
                await js.delete_stream(str(stream.config.name))
    return Hall(broker.address, broker.port, f"S{next(_streams)}")


@asynccontextmanager
async def sink_at(address: str, name: str = "floor", **more: Any) -> AsyncIterator[NatsSink]:
    sink = NatsSink(name, target_of(address, **more))
    try:
        yield sink
    finally:
        await sink.close()


async def test_events_arrive_in_order_each_under_its_table_with_the_expected_sequence(
    server: Hall,
) -> None:
    mixed = [
        *events(1, 2), event(1, table="bac.08"), *events(3), event(2, table="bac.08"),
    ]  # fmt: skip
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(mixed)
        await sink.deliver(events(4))
    found = await server.stored()
    ours = [message for message in found if message.subject == "shoe.v1.bac-07.public"]
    assert ids_of(ours) == ids(1, 2, 3, 4)
    assert [message.body for message in ours] == events(1, 2, 3, 4)
    assert [message.headers["Nats-Msg-Id"] for message in ours] == ids(1, 2, 3, 4)
    expected = [message.headers["Nats-Expected-Last-Subject-Sequence"] for message in ours]
    assert expected == [str(seq) for seq in (0, *(message.seq for message in ours[:-1]))]
    other = [message for message in found if message.subject == "shoe.v1.bac%2E08.public"]
    assert ids_of(other) == ids(1, 2, table="bac.08")
    assert len(found) == 6


async def test_the_stream_is_made_with_file_storage_for_all_tables_and_one_audience(
    server: Hall,
) -> None:
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(1))
    async with nats_client(server.address) as (_, js):
        config = (await js.stream_info(server.stream)).config
    assert config.subjects == ["shoe.v1.*.public"]
    assert config.storage == StorageType.FILE
    assert config.retention == RetentionPolicy.LIMITS


async def publish_without_ids(server: Hall, *numbers: int) -> None:
    """The stream holds these, and its window for duplicates knows none of them."""
    async with nats_client(server.address) as (client, js):
        await js.add_stream(name=server.stream, subjects=["shoe.v1.>"])
        for n in numbers:
            await client.request(subject_of(TABLE, Audience.PUBLIC), event(n))


async def test_what_the_stream_has_is_not_sent_again_though_its_window_forgot_it(
    server: Hall,
) -> None:
    await publish_without_ids(server, 1, 2, 3)
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(1, 2, 3))
        await sink.deliver(events(2, 3, 4, 5))
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(4, 5))
        await sink.deliver(events(5, 6))
    assert ids_of(await server.stored()) == ids(1, 2, 3, 4, 5, 6)


async def test_an_acknowledgement_that_is_lost_costs_nothing(server: Hall) -> None:
    async with TcpProxy(server.port) as proxy, sink_at(proxy.address, stream=server.stream) as sink:
        await sink.deliver(events(1, 2))
        proxy.swallow_answers()
        sending = asyncio.create_task(sink.deliver(events(3, 4)))
        await proxy.swallowed()  # the server has answered: it has the event
        proxy.cut()
        with pytest.raises(OSError, match="connection lost"):
            await sending
        await sink.deliver(events(3, 4))
    assert ids_of(await server.stored()) == ids(1, 2, 3, 4)


async def test_a_dead_link_is_found_and_what_it_swallowed_comes_once(
    server: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with TcpProxy(server.port) as proxy, sink_at(proxy.address, stream=server.stream) as sink:
        await sink.deliver(events(1, 2))
        monkeypatch.setattr(nats_connection, "ANSWERED_WITHIN_S", 0.1)
        proxy.freeze()
        with pytest.raises(OSError, match=r"nats://.*: no answer within 0.1 s"):
            await sink.deliver(events(3, 4))
        monkeypatch.undo()
        proxy.thaw()  # what was on its way arrives now, beside the new connection
        await sink.deliver(events(3, 4, 5))
    assert ids_of(await server.stored()) == ids(1, 2, 3, 4, 5)


async def test_an_idle_connection_that_died_is_found_by_its_pings(
    server: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nats_connection, "PING_EVERY_S", 0.05)
    async with TcpProxy(server.port) as proxy, sink_at(proxy.address, stream=server.stream) as sink:
        await sink.deliver(events(1))
        connection = sink._connection
        assert connection is not None
        proxy.freeze()
        async with asyncio.timeout(20):
            await asyncio.wait({connection.lost})
        proxy.thaw()
        await sink.deliver(events(2))
    assert ids_of(await server.stored()) == ids(1, 2)


async def test_a_delivery_that_is_cancelled_lets_nothing_more_go_out(server: Hall) -> None:
    async with TcpProxy(server.port) as proxy, sink_at(proxy.address, stream=server.stream) as sink:
        await sink.deliver(events(1))
        proxy.freeze()
        sending = asyncio.create_task(sink.deliver(events(2, 3)))
        await proxy.held()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        proxy.thaw()
        await sink.deliver(events(2, 3))
    assert ids_of(await server.stored()) == ids(1, 2, 3)


async def test_two_publishers_of_one_table_publish_each_event_once(server: Hall) -> None:
    async with (
        sink_at(server.address, stream=server.stream) as one,
        sink_at(server.address, stream=server.stream) as other,
    ):
        for first in range(1, 40, 3):
            batch = events(first, first + 1, first + 2)
            await asyncio.gather(one.deliver(batch), other.deliver(batch))
    assert ids_of(await server.stored()) == ids(*range(1, 40))


async def test_a_message_of_somebody_else_delays_nothing(server: Hall) -> None:
    async with (
        sink_at(server.address, stream=server.stream) as sink,
        nats_client(server.address) as (client, _),
    ):
        await sink.deliver(events(1))
        await client.request(subject_of(TABLE, Audience.PUBLIC), b"no event")
        await sink.deliver(events(2))
    found = await server.stored()
    assert [found[0].id, found[1].body, found[2].id] == [*ids(1), b"no event", *ids(2)]


async def test_a_subject_that_never_ends_as_expected_is_an_outage(
    server: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(1))

        async def stale(*_: object) -> object:
            return nats_module._Place(1, "/another", 1)

        async with nats_client(server.address) as (client, _):
            await client.request(subject_of(TABLE, Audience.PUBLIC), b"no event")
        with monkeypatch.context() as patch:
            patch.setattr(NatsSink, "_look", stale)
            with pytest.raises(OSError, match="does another daemon publish to it"):
                await sink.deliver(events(2))
        await sink.deliver(events(2))
    assert len(await server.stored()) == 3


async def test_an_id_of_another_journal_keeps_no_event_away(server: Hall) -> None:
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(1, 2))
    async with sink_at(
        server.address, stream=server.stream
    ) as sink:  # within the window for duplicates
        anew = [event(n, journal=OTHER_JOURNAL) for n in (1, 2, 3)]
        await sink.deliver(anew)
        await sink.deliver(anew)
    found = await server.stored()
    assert [message.body for message in found] == [*events(1, 2), *anew]


SOURCE = f"/journal/00000000/table/{TABLE}"


async def test_what_the_stream_lost_is_reported_and_appended_when_it_is_offered_again(
    server: Hall,
) -> None:
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(*range(1, 7)))
    async with nats_client(server.address) as (_, js):
        for seq in (4, 5, 6):
            await js.delete_msg(server.stream, seq)
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(7))
        assert sink.losses.get_nowait() == Loss(TABLE, SOURCE, 6, ends=(SOURCE, 3))
        await sink.deliver_again(events(4, 5, 6, 7))
        await sink.deliver(events(8))
    found = ids_of(await server.stored())
    assert found == ids(1, 2, 3, 7, 4, 5, 6, 8)  # the window still knows 7: it is there


async def test_a_stream_that_is_deleted_is_reported_for_each_table_also_for_a_quiet_one(
    server: Hall,
) -> None:
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver([*events(1, 2, 3), *events(1, 2, table="bac.08")])
        async with nats_client(server.address) as (_, js):
            await js.delete_stream(server.stream)
        with pytest.raises(OSError, match="no stream takes"):
            await sink.deliver(events(4))
        await sink.deliver(events(4))
        found = {loss.table: loss for loss in (sink.losses.get_nowait() for _ in range(2))}
        await sink.deliver_again(events(1, 2))
        await sink.deliver(events(5))
    assert found[TABLE] == Loss(TABLE, SOURCE, 3, ends=None)
    assert found["bac.08"] == Loss("bac.08", "/journal/00000000/table/bac.08", 2, ends=None)
    async with sink_at(server.address, stream=server.stream) as sink:  # it has 5, and 2 behind it
        await sink.deliver(events(6))
        assert sink.losses.empty()
    assert ids_of(await server.stored()) == ids(4, 1, 2, 5, 6)


async def test_an_event_that_is_offered_again_names_the_newest_before_it_and_hides_no_loss(
    server: Hall,
) -> None:
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(1, 2, 3, 4))
        async with nats_client(server.address) as (_, js):
            await js.purge_stream(server.stream)
        await sink.deliver_again(events(2))
        assert sink.losses.get_nowait() == Loss(TABLE, SOURCE, 4, ends=None)
        await sink.deliver(events(5))
        await sink.deliver_again(events(3))
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(5, 6))
        assert sink.losses.empty()
    stored = await server.stored()
    assert ids_of(stored) == ids(2, 5, 3, 6)
    newest = [message.headers.get("Shoe-Newest") for message in stored]
    assert newest == [f"{SOURCE} 2", None, f"{SOURCE} 5", None]


async def test_what_the_streams_own_limits_removed_is_not_lost(server: Hall) -> None:
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(1, 2))
        await sink.deliver(events(1, 2, 3, table="bac.08"))
        async with nats_client(server.address) as (_, js):
            config = (await js.stream_info(server.stream)).config
            await js.update_stream(config.evolve(max_msgs=2))
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(3))
        assert sink.losses.empty()


async def test_an_event_of_a_new_journal_follows_those_of_the_former_one_without_a_loss(
    server: Hall,
) -> None:
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(1, 2, 3))
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver([event(1, journal=OTHER_JOURNAL)])
        assert sink.losses.empty()


async def test_a_pump_resends_and_redelivers_behind_the_last_event(server: Hall) -> None:
    feed = Ledger()
    feed.events = [event(n, table="t", size=3000 if n == 2 else 0) for n in range(1, 5)]
    async with sink_at(server.address, stream=server.stream) as sink:
        pump = Pump("floor", feed, sink)
        running = asyncio.create_task(pump.run())
        while feed.cursor != 4:
            await feed.moves.get()
        assert [n for n, _, _ in feed.passed_over] == [2]
        feed.events[1] = event(2, table="t")  # as if the server took larger ones by now
        assert await pump.offer_again(2) is None
        async with nats_client(server.address) as (_, js):
            await js.purge_stream(server.stream)
        resend = pump.resend(Resend("t", after=0, upto=4, events=4))
        assert await resend.done is None
        feed.events.append(event(5, table="t"))
        pump.wake()
        pump.stop()
        await running
    found = ids_of(await server.stored())
    assert found == ids(1, 2, 3, 4, 5, table="t")


async def test_an_event_that_is_too_large_is_refused_and_those_around_it_are_there(
    server: Hall,
) -> None:
    async with sink_at(server.address, stream=server.stream) as sink:
        with pytest.raises(EventRefused, match=r"bytes, and nats://.* takes 2000: raise its max_p"):
            await sink.deliver([event(1), event(2, size=1950), event(3)])
        await sink.deliver(events(1))
        await sink.deliver(events(3))
    async with nats_client(server.address) as (_, js):
        config = (await js.stream_info(server.stream)).config
        await js.update_stream(config, max_msg_size=500)
    async with sink_at(server.address, stream=server.stream) as sink:
        with pytest.raises(EventRefused, match=r"stream S\d+ takes less: raise its max_msg_size"):
            await sink.deliver([event(4, size=600)])
        await sink.deliver(events(5))
    assert ids_of(await server.stored()) == ids(1, 3, 5)


async def test_a_stream_that_loses_events_is_not_published_to(
    server: Hall, caplog: pytest.LogCaptureFixture
) -> None:
    async def tried(config: dict[str, Any], expected: str, **more: Any) -> None:
        name = f"S{next(_streams)}"
        async with nats_client(server.address) as (_, js):
            await js.add_stream(**({"name": name, "subjects": ["shoe.v1.>"]} | config))
        async with sink_at(server.address, **({"stream": name} | more)) as sink:
            with pytest.raises(OSError, match=expected.replace("$", name)):
                await sink.deliver(events(1))
        async with nats_client(server.address) as (_, js):
            await js.delete_stream(name)

    memory, queue = StorageType.MEMORY, RetentionPolicy.WORK_QUEUE
    await tried({"storage": memory}, "stream $ keeps its messages in memory: create it with file")
    await tried({"retention": queue}, "stream $ forgets messages that were read: create it")
    await tried({"no_ack": True}, "stream $ acknowledges nothing: set no_ack = false")
    await tried({}, "stream $ has replicas = 1, and this sink wants 3: nats stream ed", replicas=3)
    await tried({}, "another stream has subjects of shoe.v1: name that one", stream="OTHER")
    await tried({"subjects": ["other"]}, "no stream takes shoe.v1.bac-07.public: stream $ needs ")
    await tried({"max_bytes": 10, "discard": "new"}, r"stream $ is full \(.*\): raise its limits")
    async with sink_at(server.address, stream="R3", replicas=3) as sink:
        with pytest.raises(OSError, match="replicas need a cluster: connect to one, or set replic"):
            await sink.deliver(events(1))
    caplog.clear()
    async with sink_at(server.address, stream=server.stream) as sink:
        await sink.deliver(events(1))
        await sink.deliver(events(2))
    assert caplog.text.count('survives a power failure only if the server has "sync_interval') == 1


# Servers that are not as they should be.


async def refused(address: str, expected: str, **more: Any) -> None:
    async with sink_at(address, **more) as sink:
        for _ in range(2):
            with pytest.raises(OSError, match=expected) as caught:
                await sink.deliver(events(9))
            said = str(caught.value)
            assert "\n" not in said and len(said) < 200, said
            assert said.startswith(address), said
            assert "secret" not in said


USERS = """
accounts {
  PIT { jetstream: enabled, users: [
    { user: daemon, password: secret },
    { user: reader, password: secret, permissions { publish: "$JS.API.>" } },
    { user: writer, password: secret, permissions { publish: {deny: "$JS.API.STREAM.CREATE.>"} } },
    { user: deaf, password: secret, permissions { subscribe: {deny: ">"} } },
  ] }
  BARE { users: [{ user: bare, password: secret }] }
}
"""


async def test_a_server_that_cannot_be_used_gets_one_line_that_says_what_to_do(
    tmp_path: Path, password_file: Path
) -> None:
    wrong = tmp_path / "wrong"
    wrong.touch(0o600)
    wrong.write_text("another")
    with nats_server(tmp_path, more=USERS) as server:
        at = server.address
        login: dict[str, Any] = {"password_file": password_file}
        await refused(at, "login refused: check user and password_file")
        await refused(at, "login refused: check user", user="daemon", password_file=wrong)
        await refused(at, "no JetStream here|JetStream is not enabled for", user="bare", **login)
        await refused(
            at,
            r"not allowed to publish to \$JS.API.STREAM.CREATE.SHOE: give the user this",
            user="writer",
            **login,
        )
        async with sink_at(at, user="daemon", **login) as sink:
            await sink.deliver(events(1))
        await refused(
            at, "not allowed to publish to shoe.v1.bac-07.public: give the", user="reader", **login
        )
        await refused(at, "not allowed to subscribe to _INBOX_deaf.>: give", user="deaf", **login)
        tls = at.replace("nats://", "tls://")
        await refused(tls, "it does not encrypt: use nats://", user="daemon", **login)
    await refused(at, "nothing listens there: start the server, or correct the address")
    async with sink_at(f"{at},nats://127.0.0.1:1") as sink:
        with pytest.raises(OSError, match=f"^{at}: nothing .*; nats://127.0.0.1:1: nothing"):
            await sink.deliver(events(1))


async def test_a_certificate_that_is_not_accepted_gets_one_line_and_one_that_is_an_event(
    tmp_path: Path,
) -> None:
    ours, other = Authority(tmp_path), Authority(tmp_path, "other")
    cert, key = ours.issue("server", host="127.0.0.1")
    elsewhere, its_key = ours.issue("elsewhere", host="192.0.2.1")
    client = Certificates(ours.file, *ours.issue("client"))
    tls = "tls {{ cert_file: {}, key_file: {}, ca_file: {}, verify: {} }}\n"
    with nats_server(tmp_path / "1", more=tls.format(cert, key, ours.file, "false")) as server:
        at = server.address.replace("nats://", "tls://")
        said = r"its certificate is not accepted \(.+\): check tls.ca"
        await refused(at, said, certificates=Certificates(other.file))
        await refused(at, said, certificates=Certificates())
        async with sink_at(at, certificates=Certificates(ours.file)) as sink:
            await sink.deliver(events(1))
    with nats_server(
        tmp_path / "2", more=tls.format(elsewhere, its_key, ours.file, "false")
    ) as server:
        at = server.address.replace("nats://", "tls://")
        said = (
            r"its certificate is not accepted \(IP address mismatch, .*: check tls.ca and address"
        )
        await refused(at, said, certificates=Certificates(ours.file))
    with nats_server(tmp_path / "3", more=tls.format(cert, key, ours.file, "true")) as server:
        at = server.address.replace("nats://", "tls://")
        said = r"(closed the connection|TLS fails) .*tls\.cert"
        await refused(at, said, certificates=Certificates(ours.file))
        async with sink_at(at, certificates=client) as sink:
            await sink.deliver(events(1))


async def test_an_expired_certificate_is_to_be_renewed_and_one_that_ends_soon_is_named_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours = Authority(tmp_path)
    lines = "tls {{ cert_file: {}, key_file: {} }}\n"
    for name, days in (("old", -1), ("soon", 13)):
        cert, key = ours.issue(name, host="127.0.0.1", ends=timedelta(days=days))
        with nats_server(tmp_path / f"at-{name}", more=lines.format(cert, key)) as server:
            at = server.address.replace("nats://", "tls://")
            if days < 0:
                said = (
                    r"its certificate is not accepted \(certificate has expired\): renew it there"
                )
                await refused(at, said, certificates=Certificates(ours.file))
                continue
            async with sink_at(at, certificates=Certificates(ours.file)) as sink:
                await sink.deliver(events(1))
    (warned,) = [one.message for one in caplog.records if "certificate: address=" in one.message]
    assert "UTC: renew it there" in warned


async def test_a_server_without_jetstream_gets_one_line(tmp_path: Path) -> None:
    with nats_server(tmp_path, jetstream=None) as server:
        await refused(server.address, "no JetStream here: enable it in the server, and for the")


async def test_a_server_that_cannot_be_used_is_passed_over_for_the_next_one(
    server: Hall, tmp_path: Path
) -> None:
    with nats_server(tmp_path, jetstream=None) as cut_off:
        both = f"{cut_off.address},{server.address}"
        async with sink_at(both, stream=server.stream) as sink:
            with pytest.raises(OSError, match=f"{cut_off.address}: no JetStream here"):
                await sink.deliver(events(1))
            await sink.deliver(events(1))
    async with sink_at(f"nats://127.0.0.1:1,{server.address}", stream=server.stream) as sink:
        await sink.deliver(events(1, 2))
    assert ids_of(await server.stored()) == ids(1, 2)


async def test_what_is_no_nats_server_and_one_too_old_get_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nats_connection, "CONNECTED_WITHIN_S", 0.2)
    info = json.dumps({"version": "2.9.25", "max_payload": 1000, "headers": True, "proto": 1})

    async def old(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"INFO {info}\r\n".encode())
        while b"PING" not in (line := await reader.readline()) and line:
            assert b"SHOE" not in line
        writer.write(b"PONG\r\n")
        await reader.read()
        writer.close()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    said = {
        old: "nats-server 2.9.25 is too old: expected 2.10.23 or newer",
        silent: "no answer: is the address right, and is it a NATS server",
        web: "is the address right, and is it a NATS server",
    }
    for there, expected in said.items():
        listening = await asyncio.start_server(there, "127.0.0.1", 0)
        async with listening:
            port = listening.sockets[0].getsockname()[1]
            await refused(f"nats://127.0.0.1:{port}", expected)


NEW_ENOUGH = ("2.10.23", "2.11.0", "3.0.0", "2.10.23-RC.1", "2.12.0-dev")
TOO_OLD = ("2.10.22", "2.9.25", "", "latest", "2")


@for_each((*NEW_ENOUGH, *TOO_OLD))
def test_a_version_is_compared_by_its_numbers(version: str) -> None:
    assert (nats_connection._version(version) >= nats_connection.LEAST_VERSION) is (
        version in NEW_ENOUGH
    )


async def test_the_password_stands_in_no_text(
    server: Hall, password_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    login: dict[str, Any] = {"user": "daemon", "password_file": password_file}
    target = target_of(server.address, **login)
    async with sink_at(server.address, stream=server.stream, **login) as sink:
        await sink.deliver(events(1))
    assert "secret" not in f"{target!r} {target} {caplog.text}"
