"""A daemon with NATS: both streams arrive once, whatever is killed, and the public sees its own."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import nats.errors as nats_errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.errors import APIError, NotFoundError

from shoe_ctl.sinks import nats_connection
from shoe_ctl.sinks import pump as pump_module
from shoe_testing.brokers import Authority
from shoe_testing.config import TABLE, make_config, table_section, this_user
from shoe_testing.daemon import PATIENCE_S, SocketTable, ToldEvents, serving, shoe_on_a_pty
from shoe_testing.nats_server import (
    PASSWORDS,
    NatsServer,
    guide_cluster,
    ids_of,
    make_mirror,
    nats_client,
    nats_server,
    stored_messages,
    user_options,
    with_users,
)
from shoe_testing.socket_client import calling
from simulators.rig import Rig

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump_module, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(pump_module, "LONGEST_RETRY_S", 0.1)


class Reader(NamedTuple):
    """Somebody who may read the streams."""

    address: str
    options: Mapping[str, Any] = {}


def write(folder: Path, *sinks: Mapping[str, Any], **table: Any) -> Path:
    path = folder / "table.toml"
    section = table_section(port=str(folder / "shoe"), announcements="explicit", **table)
    user = this_user("gaming_shift_manager")
    path.write_text(make_config(section, sink=list(sinks), socket={"user": [user]}))
    return path


def both(address: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"kind": "nats", "address": address, **more},
        {"kind": "nats", "address": address, "audience": "restricted", **more},
    ]


async def play(
    config: Path, told: ToldEvents, rig: Rig, rounds: int, *, until: Reader | None = None
) -> None:
    """A daemon from its start to its end, with so many rounds more.

    ``until``: it ends when both streams hold its last event; it is told how to read them.
    """
    async with (
        serving(config, told) as daemon,
        calling(config.parent / "shoectl.sock", held=True) as caller,
    ):
        table = SocketTable(daemon, rig, told, caller)
        wanted = len(told.data("round.settled")) + rounds
        await table.deal(
            lambda held: held["state"] == "idle" and len(told.data("round.settled")) >= wanted
        )
        async with asyncio.timeout(PATIENCE_S):
            while until is not None and not await hold_last_event(until, told):
                pass


async def hold_last_event(reader: Reader, told: ToldEvents) -> bool:
    last = told.events[-1]
    async with nats_client(reader.address, **reader.options) as (_, js):
        for stream in ("SHOE", "SHOE_RESTRICTED"):
            try:
                end = (await js.stream_info(stream)).state.last_seq
                found = json.loads((await js.get_msg(stream, end)).data or b"{}")
            except (APIError, nats_errors.TimeoutError):
                return False
            if (found.get("type"), found.get("time")) != (last["type"], last["time"]):
                return False
    return True


async def holds_both_streams(address: str, told: ToldEvents, **options: Any) -> None:
    """Each stream holds each of its events once, in order."""
    public = await stored_messages(address, "SHOE", **options)
    assert [json.loads(message.body) for message in public] == told.events
    assert {message.subject for message in public} == {f"shoe.v1.{TABLE}.public"}
    restricted = await stored_messages(address, "SHOE_RESTRICTED", **options)
    assert [message.id for message in restricted] == [
        f"{TABLE}/r{n}" for n in range(1, len(restricted) + 1)
    ]
    assert len(restricted) > len(public)
    assert {message.subject for message in restricted} == {f"shoe.v1.{TABLE}.restricted"}


async def test_both_streams_arrive_once_over_kills_and_restarts_and_the_window_is_no_part_of_it(
    tmp_path: Path,
) -> None:
    told = ToldEvents()
    with nats_server(tmp_path) as server, shoe_on_a_pty(tmp_path, seed=7) as rig:
        # An outage of any length is longer than what this server remembers.
        async with nats_client(server.address) as (_, js):
            for stream, audience in (("SHOE", "public"), ("SHOE_RESTRICTED", "restricted")):
                subjects = [f"shoe.v1.*.{audience}"]
                await js.add_stream(name=stream, subjects=subjects, duplicate_window=0.1)
        config = write(tmp_path, *both(server.address))
        await play(config, told, rig, 1)
        playing = asyncio.create_task(play(config, told, rig, 2))
        before = len(told.events)
        await told.until(lambda: len(told.events) > before + 5)
        server.kill()
        await told.until(lambda: len(told.events) > before + 15)  # the table plays on
        server.start()
        await playing
        server.kill()
        await play(config, told, rig, 1)  # all the while nobody is there
        server.start()
        await play(config, told, rig, 1, until=Reader(server.address))
        await holds_both_streams(server.address, told)


async def held(server: NatsServer, stream: str) -> list[str]:
    """The types of the stream's events; nothing while it has not each number once."""
    found = [json.loads(message.body) for message in await stored_messages(server.address, stream)]
    numbers = sorted(int(event["id"].rpartition("/")[2][1:]) for event in found)
    is_whole = numbers == list(range(1, len(numbers) + 1))
    return [event["type"] for event in found] if is_whole else []


async def test_streams_that_were_lost_are_refilled_by_themselves_and_the_table_is_told(
    tmp_path: Path,
) -> None:
    told = ToldEvents()
    with nats_server(tmp_path) as server, shoe_on_a_pty(tmp_path, seed=7) as rig:
        config = write(tmp_path, *both(server.address))
        await play(config, told, rig, 1, until=Reader(server.address))
        before = len(told.events)
        async with nats_client(server.address) as (_, js):
            await js.delete_stream("SHOE")  # while no daemon is there
            async with (
                serving(config, told) as daemon,
                calling(tmp_path / "shoectl.sock", held=True) as caller,
            ):
                await told.times(1, "delivery.refilled")
                await js.delete_stream("SHOE_RESTRICTED")  # under its hands
                await SocketTable(daemon, rig, told, caller).rounds(1)
                async with asyncio.timeout(PATIENCE_S):
                    refilled = 0
                    while refilled != 2:
                        with suppress(NotFoundError):  # it is being made anew
                            types = await held(server, "SHOE_RESTRICTED")
                            refilled = types.count("delivery.refilled")
            assert (await held(server, "SHOE")).count("delivery.refilled") == 1
    (lost,) = told.data("delivery.lost")  # that of the restricted stream is not public
    assert (lost["first"], lost["last"]) == (1, before)


async def test_the_status_shows_why_a_sink_is_away_and_the_table_plays_on(tmp_path: Path) -> None:
    told = ToldEvents()
    with nats_server(tmp_path, jetstream=None) as server, shoe_on_a_pty(tmp_path, seed=7) as rig:
        sink = {"kind": "nats", "address": server.address, "name": "floor"}
        async with (
            serving(write(tmp_path, sink), told) as daemon,
            calling(tmp_path / "shoectl.sock", held=True) as caller,
        ):
            await SocketTable(daemon, rig, told, caller).rounds(1)
            answer = await caller.asks(request="status")
    (state,) = [each for each in answer["sinks"] if each["sink"] == "floor"]
    assert state["state"] == "away"
    why = f"{server.address}: no JetStream here: enable it in the server"
    assert why in state["message"]["text"]


async def test_a_server_that_hangs_is_left_and_gets_everything_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nats_connection, "ANSWERED_WITHIN_S", 0.2)
    monkeypatch.setattr(nats_connection, "CONNECTED_WITHIN_S", 0.2)
    told = ToldEvents()
    with nats_server(tmp_path) as server, shoe_on_a_pty(tmp_path, seed=7) as rig:
        config = write(tmp_path, *both(server.address))
        playing = asyncio.create_task(play(config, told, rig, 2))
        await told.until(lambda: len(told.data("round.opened")) >= 1)
        server.pause()
        await told.until(lambda: len(told.data("round.opened")) >= 2)
        server.resume()
        await playing
        await play(config, told, rig, 1, until=Reader(server.address))
        await holds_both_streams(server.address, told)


# Who sees what.


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[NatsServer]:
    """A server with the users of the guide."""
    server = with_users(tmp_path)
    server.start()
    yield server
    server.kill()


def login(folder: Path, user: str = "shoe-main") -> dict[str, str]:
    path = folder / f"{user}.password"
    path.touch(0o600)
    path.write_text(PASSWORDS[user.upper().replace("-", "_") + "_PASSWORD"])
    return {"user": user, "password_file": str(path)}


class Spy:
    """Whatever a user of the server can get hold of."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.got: list[Msg] = []

    async def take(self, message: Msg) -> None:
        self.got.append(message)

    async def tries(self, *subjects: str) -> None:
        for subject in subjects:
            await self._client.subscribe(subject, cb=self.take)

    async def until(self, so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not so():
                await self._client.flush()


def all_to(inbox: str, **more: Any) -> ConsumerConfig:
    """A consumer that gets the whole stream at this inbox."""
    chosen = {"name": "spy", "deliver_subject": inbox, "ack_policy": AckPolicy.NONE} | more
    return ConsumerConfig(**chosen)


async def has_streams(server: NatsServer) -> None:
    """Wait until the daemon has made its streams."""
    async with nats_client(server.address, **user_options("table-system")) as (_, js):
        async with asyncio.timeout(PATIENCE_S):
            for stream in ("SHOE", "SHOE_RESTRICTED"):
                while True:
                    with suppress(NotFoundError):
                        await js.stream_info(stream)
                        break


async def spied_evening(folder: Path, server: NatsServer, seed: int) -> list[dict[str, Any]]:
    """Everything that the public's user got of a round until the first card is shown."""
    folder.mkdir()
    told = ToldEvents()
    refused: list[str] = []

    async def note(error: Exception) -> None:
        refused.append(str(error))

    options: dict[str, Any] = {**user_options("floor"), "error_cb": note}
    with shoe_on_a_pty(folder, seed=seed) as rig:
        async with nats_client(server.address, **options) as (client, js):
            spy = Spy(client)
            # A consumer delivers where a subscription names its subject as it is.
            await spy.tries("_INBOX_floor.events", "_INBOX_floor.x")
            denied = (
                ">", "shoe.v1.>", "shoe.v1.*.public", "mirror.>", "shoe.v1.*.restricted",
                f"shoe.v1.{TABLE}.*", "_INBOX.>", "_INBOX_shoe-main.>", "_INBOX_table-system.>",
                "$JS.>", "$SYS.>",
            )  # fmt: skip
            await spy.tries(*denied)
            await spy.until(lambda: len(refused) == len(denied))
            sinks = both(server.address, **login(folder.parent))
            config = write(folder, *sinks, method_b={"faces": "turned_by_dealer"})
            async with (
                serving(config, told) as daemon,
                calling(folder / "shoectl.sock", held=True) as caller,
            ):
                table = SocketTable(daemon, rig, told, caller)
                await has_streams(server)
                await make_mirror(server.address)
                await js.add_consumer("SHOE", all_to("_INBOX_floor.events"))
                await table.deal(lambda held: held["next"]["command"] == "expose")
                last = told.events[-1]["id"]
                await spy.until(lambda: any(last.encode() in each.data for each in spy.got))
            asked = len(refused)
            for subject in (
                "$JS.API.STREAM.INFO.SHOE_RESTRICTED",
                "$JS.API.STREAM.MSG.GET.SHOE_RESTRICTED",
                "$JS.API.STREAM.MSG.GET.SHOE",
                "$JS.API.DIRECT.GET.SHOE_RESTRICTED",
                "$JS.API.CONSUMER.CREATE.SHOE_RESTRICTED",
                "hall.API.CONSUMER.CREATE.SHOE",
                "$JS.API.STREAM.NAMES",
                "$JS.API.STREAM.DELETE.SHOE",
                f"shoe.v1.{TABLE}.public",
            ):
                await client.publish(subject, b'{"seq": 1}', reply="_INBOX_floor.x")
            async with asyncio.timeout(PATIENCE_S):
                while len(refused) < asked + 9:
                    await client.flush()
            info = await js.stream_info("SHOE")
            told_public = [each for each in spy.got if each.subject.startswith("shoe.")]
            # Nothing tells of other messages: neither a number nor a gap.
            assert info.state.messages == info.state.last_seq == len(told_public)
            assert {each.subject for each in told_public} == {f"shoe.v1.{TABLE}.public"}
    return [json.loads(message.data) for message in told_public]


async def test_public_credentials_get_nothing_that_depends_on_a_card_lying_face_down(
    tmp_path: Path, guarded: NatsServer
) -> None:
    rounds = []
    for seed in (7, 8):
        got = await spied_evening(tmp_path / str(seed), guarded, seed)
        assert {event["id"].partition("/")[2][0] for event in got} == {"p"}
        rounds.append([(event["type"], without_names(event["data"])) for event in got])
        guarded.kill()  # the next evening begins with empty streams
        guarded.forget()
        guarded.start()
    assert rounds[0] == rounds[1]
    assert "round.card_revealed" not in {kind for kind, _ in rounds[0]}


def without_names(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data without the name of the set of cards, which is the shoe's own."""
    return {key: value for key, value in data.items() if key != "set_id"}


async def test_a_system_that_may_know_every_card_reads_both_streams(
    tmp_path: Path, guarded: NatsServer
) -> None:
    told = ToldEvents()
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        await play(write(tmp_path, *both(guarded.address, **login(tmp_path))), told, rig, 1)
    options = user_options("table-system")
    await holds_both_streams(guarded.address, told, **options)
    async with nats_client(guarded.address, **options) as (_, js):
        subject = "shoe.v1.*.public"
        for number in range(2):  # it goes on where it was
            consumer = await js.pull_subscribe(subject, durable="scores", stream="SHOE")
            (message,) = await consumer.fetch(1, timeout=PATIENCE_S)
            assert json.loads(message.data) == told.events[number]
            await message.ack_sync()


async def test_the_three_servers_of_the_guide_keep_both_streams_over_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nats_connection, "ANSWERED_WITHIN_S", 1.0)
    told = ToldEvents()
    authority = Authority(tmp_path)
    with guide_cluster(tmp_path, authority) as cluster, shoe_on_a_pty(tmp_path, seed=7) as rig:
        address = cluster.address.replace("nats://", "tls://")
        secure = {"tls": {"ca": str(authority.file)}, "replicas": 3, **login(tmp_path)}
        await play(write(tmp_path, *both(address, **secure)), told, rig, 1)
        cluster.servers["hall-2"].kill()
        await play(write(tmp_path, *both(address, **secure)), told, rig, 1)
        cluster.servers["hall-2"].start()
        trusting = ssl.create_default_context(cafile=authority.file)
        at = cluster.servers["hall-1"].address
        config = write(tmp_path, *both(address, **secure))
        daemon = {**user_options("shoe-main"), "tls": trusting}
        await play(config, told, rig, 1, until=Reader(at, daemon))
        await holds_both_streams(at, told, **user_options("table-system"), tls=trusting)
        await make_mirror(at.replace("nats://", "tls://"), str(authority.file), replicas=3)
        floor = {**user_options("floor"), "tls": trusting}
        async with asyncio.timeout(PATIENCE_S):
            while await ids_in_the_copy(at, **floor) != [event["id"] for event in told.events]:
                pass


async def ids_in_the_copy(address: str, **options: Any) -> list[str]:
    with suppress(nats_errors.TimeoutError, APIError):  # it elects a leader
        return ids_of(await stored_messages(address, "SHOE", **options))
    return []


async def consumers_until_refused(js: JetStreamContext, inbox: str) -> int:
    """How many consumers a user makes that deliver to somebody else's inbox; 1,000 at most."""
    for made in range(1000):
        try:
            await js.add_consumer("SHOE", all_to(inbox, name=f"c{made}", inactive_threshold=60))
        except APIError:
            return made
    return 1000


async def test_a_display_cannot_touch_what_another_user_reads(
    tmp_path: Path, guarded: NatsServer
) -> None:
    """Creating a consumer is also updating it: in the account of the table system it would do."""
    told = ToldEvents()
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        config = write(tmp_path, *both(guarded.address, **login(tmp_path)))
        await play(config, told, rig, 1)
        await make_mirror(guarded.address)
        system_inbox = "_INBOX_table-system.stolen"
        async with (
            nats_client(guarded.address, **user_options("table-system")) as (system, js),
            nats_client(guarded.address, **user_options("floor")) as (floor, displays),
        ):
            reading = await js.pull_subscribe("shoe.v1.*.public", durable="scores", stream="SHOE")
            (first,) = await reading.fetch(1, timeout=PATIENCE_S)
            await first.ack_sync()
            spy = Spy(system)
            await spy.tries(system_inbox)
            # It rewrites the other's consumer, deletes it, and makes others without end.
            filtered = {"durable_name": "scores", "ack_policy": "explicit"}
            body = {
                "stream_name": "SHOE",
                "config": {**filtered, "filter_subject": "shoe.v1.none.public"},
            }
            for name in ("CREATE.SHOE.scores.shoe.v1.none.public", "DURABLE.CREATE.SHOE.scores"):
                asked = f"$JS.API.CONSUMER.{name}"
                await floor.publish(asked, json.dumps(body).encode(), reply="_INBOX_floor.x")
            await floor.publish("$JS.API.CONSUMER.DELETE.SHOE.scores", b"", reply="_INBOX_floor.x")
            await floor.publish("$JS.ACK.SHOE.scores.1.1.1.1.1", b"+TERM")
            made = await consumers_until_refused(displays, system_inbox)
            assert made <= 100
            # The table system reads on, can make another consumer, and got nothing unasked.
            for number in range(1, len(told.events)):
                (message,) = await reading.fetch(1, timeout=PATIENCE_S)
                assert json.loads(message.data) == told.events[number]
                await message.ack_sync()
            await holds_both_streams(guarded.address, told, **user_options("table-system"))
            assert (
                await js.consumer_info("SHOE", "scores")
            ).config.filter_subject == "shoe.v1.*.public"
            assert spy.got == []
