"""A daemon at a broker with the documented configuration: who gets what, and who may ask what."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from shoe_ctl.sinks import brokers, mqtt
from shoe_testing.answer_shapes import assert_is_an_answer
from shoe_testing.brokers import (
    Authority,
    Got,
    Mosquitto,
    Subscriber,
    broker,
    passwords,
    subscribed,
)
from shoe_testing.config import TABLE, make_config, table_section, this_user
from shoe_testing.daemon import SocketTable, ToldEvents, serving, shoe_on_a_pty
from shoe_testing.paths import ROOT
from shoe_testing.ports import HOST, free_port
from shoe_testing.socket_client import Caller, calling, envelope

pytestmark = pytest.mark.slow

GUIDE = ROOT / "docs/guides/mqtt.md"
BASE = f"shoe/v1/{TABLE}"
PUBLIC, RESTRICTED, STATE = (f"{BASE}/{name}" for name in ("public", "restricted", "state"))
SECRETS = {"shoe-main": "a", "table-system": "b", "display": "c", "stranger": "d"}
CARD = re.compile(rb'"([2-9TJQKA][CDHS])"')


def documented(name: str) -> str:
    """The configuration file of this name, as the guide has it."""
    (text,) = re.findall(
        rf"```conf\n# /etc/mosquitto/\S*{name}\n(.*?)```", GUIDE.read_text(), re.DOTALL
    )
    return str(text)


def broker_lines(folder: Path, *, tls: bool) -> list[str]:
    """The guide's configuration with the paths of this folder, at another port."""
    access = folder / "shoe-acl"
    access.write_text(documented("shoe-acl"))
    access.chmod(0o600)
    authority = Authority(folder)
    authority.issue("server", host=HOST)
    own = {
        "certfile": folder / "server.crt",
        "keyfile": folder / "server.key",
        "acl_file": access,
        "password_file": passwords(folder, **SECRETS).partition(" ")[2],
        "persistence_location": f"{folder}/",
    }
    without = {"listener"} if tls else {"listener", "certfile", "keyfile"}
    words = [line.split(" ", 1) for line in documented("shoe.conf").splitlines() if line]
    assert set(own) <= {key for key, _ in words}
    return [f"{key} {own.get(key, value)}" for key, value in words if key not in without]


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """The documented broker, but for TLS."""
    folder = tmp_path_factory.mktemp("broker")
    with broker(folder, *broker_lines(folder, tls=False)) as served:
        yield served


@asynccontextmanager
async def as_user(at: Mosquitto, user: str, *topics: str, **more: Any) -> AsyncIterator[Subscriber]:
    async with subscribed(
        at.port, *topics, user=user, password=SECRETS[user], **more
    ) as subscriber:
        yield subscriber


SENDER = {"user": "table-system", "position": "gaming_shift_manager", "audience": "restricted"}


def sinks(folder: Path, address: str, **public: Any) -> list[dict[str, Any]]:
    secret = folder / "mqtt-password"
    secret.write_text(SECRETS["shoe-main"])
    secret.chmod(0o600)
    login = {"user": "shoe-main", "password_file": secret.name}
    common = {"kind": "mqtt", "address": address, **login}
    return [
        {**common, "name": "floor", "sender": [SENDER], **public},
        {**common, "name": "vault", "audience": "restricted"},
    ]


def write(folder: Path, *all_sinks: Mapping[str, Any], socket: bool = True, **table: Any) -> Path:
    path = folder / "table.toml"
    section = table_section(port=str(folder / "shoe"), announcements="explicit", **table)
    user = this_user("gaming_shift_manager")
    way_in = {"socket": {"user": [user]}} if socket else {}
    path.write_text(make_config(section, sink=list(all_sinks), **way_in))
    return path


def events(subscriber: Subscriber, topic: str = PUBLIC) -> list[dict[str, Any]]:
    return [json.loads(body) for body in subscriber.payloads(topic)]


async def test_a_subscriber_gets_both_streams_and_the_state_and_the_end_clears_it(
    tmp_path: Path, at: Mosquitto
) -> None:
    told = ToldEvents()
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        async with as_user(at, "table-system", "shoe/#") as subscriber:
            async with (
                serving(write(tmp_path, *sinks(tmp_path, at.address)), told) as daemon,
                calling(tmp_path / "shoectl.sock", held=True) as caller,
            ):
                table = SocketTable(daemon, rig, told, caller)
                await table.rounds(1)
                last = told.events[-1]["id"]
                await subscriber.until(lambda: events(subscriber)[-1:] == told.events[-1:])
                await subscriber.until(lambda: stood(subscriber).get("last_event") == last)
                stands = await table.status()
                state = stood(subscriber)
            assert events(subscriber) == told.events
            ids = [event["id"] for event in events(subscriber, RESTRICTED)]
            assert ids == [f"{TABLE}/r{n}" for n in range(1, len(ids) + 1)]
            await subscriber.until(lambda: subscriber.payloads(STATE)[-1] == b"")
    of_one_caller = ("parked", "doubt", "acts_as", "source", "software", "setup")
    wanted = {key: value for key, value in stands.items() if key not in of_one_caller}
    assert state == {**wanted, "last_event": last}


async def test_after_a_restart_the_state_names_the_last_event_from_the_first_moment_on(
    tmp_path: Path, at: Mosquitto
) -> None:
    told = ToldEvents()
    config = write(tmp_path, *sinks(tmp_path, at.address))
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        async with (
            as_user(at, "display", PUBLIC) as display,
            serving(config, told) as daemon,
            calling(tmp_path / "shoectl.sock", held=True) as caller,
        ):
            await SocketTable(daemon, rig, told, caller).rounds(1)
            last = told.events[-1]["id"]
            await display.until(lambda: events(display)[-1:] == told.events[-1:])
    # A shoe that says nothing is on the line: no event comes yet.
    with silent_port(tmp_path / "shoe"):
        async with as_user(at, "display", PUBLIC, STATE) as display, serving(config, ToldEvents()):
            await display.until(lambda: bool(stood(display)))
            first, *_ = [json.loads(body) for body in display.payloads(STATE) if body]
            assert (first["last_event"], events(display)) == (last, [])


@contextmanager
def silent_port(at: Path) -> Iterator[None]:
    """A serial port at which nobody speaks."""
    near, far = os.openpty()
    at.symlink_to(os.ttyname(far))
    try:
        yield
    finally:
        at.unlink()
        os.close(near)
        os.close(far)


def stood(subscriber: Subscriber) -> dict[str, Any]:
    """The last state."""
    bodies = [body for body in subscriber.payloads(STATE) if body]
    return dict(json.loads(bodies[-1])) if bodies else {}


# What the public may see.


async def test_public_credentials_find_nothing_restricted_in_rounds_that_look_alike(
    tmp_path: Path, at: Mosquitto, caplog: pytest.LogCaptureFixture
) -> None:
    """Two shoes with other cards: what a display gets is the same until a card is revealed."""
    caplog.set_level(logging.DEBUG, logger="shoe_ctl")
    first, second = [await face_down_round(tmp_path / str(seed), at, seed) for seed in (3, 4)]
    assert [plain(got) for got in first.events] == [plain(got) for got in second.events]
    assert any(plain(got)["type"] == "round.card_dealt" for got in first.events)
    assert first.state == second.state
    assert first.cards != second.cards
    assert not [line for line in at.log if CARD.search(line.encode())]
    assert not [r for r in caplog.records if "mqtt" in r.name and CARD.search(r.message.encode())]


class FaceDown(NamedTuple):
    """What a display had got when the cards lay face down, and which these were."""

    events: list[Got]
    state: dict[str, Any]
    cards: list[str]


async def face_down_round(folder: Path, at: Mosquitto, seed: int) -> FaceDown:
    """A display hears a table from its start until two rounds are settled."""
    folder.mkdir()
    told = ToldEvents()
    with shoe_on_a_pty(folder, seed=seed) as rig:
        async with as_user(at, "display", "#") as display:

            def has_all() -> bool:
                return events(display)[-1:] == told.events[-1:]

            async with (
                serving(write(folder, *sinks(folder, at.address)), told) as daemon,
                calling(folder / "shoectl.sock", held=True) as caller,
            ):
                table = SocketTable(daemon, rig, told, caller)
                await table.deal(lambda held: held["state"] == "revealing")
                await display.until(
                    lambda: (
                        has_all()
                        and stood(display).get("state") == "revealing"
                        and stood(display).get("last_event") == told.events[-1]["id"]
                    )
                )
                got = [got for got in display.got if got.topic == PUBLIC]
                found = FaceDown(got, stood(display), [])
                assert all(not CARD.search(each.payload) for each in display.got)
                await table.rounds(2)
                await display.until(has_all)
            await display.until(lambda: display.payloads(STATE)[-1] == b"")
    assert {got.topic for got in display.got} == {PUBLIC, STATE}
    assert_no_card_too_soon(display.got)
    revealed = [
        event["data"]["card"] for event in events(display) if "card_revealed" in event["type"]
    ]
    return found._replace(cards=revealed)


def plain(got: Got) -> dict[str, Any]:
    """An event without what differs from run to run: times and the journal."""
    event = json.loads(got.payload)
    return {key: value for key, value in event.items() if key not in ("time", "source")}


def assert_no_card_too_soon(all_got: list[Got]) -> None:
    """No message names a card that no event has revealed."""
    revealed: set[bytes] = set()
    for got in all_got:
        event = json.loads(got.payload or b"{}")
        if event.get("type") in ("round.card_revealed", "round.card_corrected"):
            revealed.add(event["data"]["card"].encode())
        if got.topic == PUBLIC and event["type"] in ("shoe.opened", "shoe.counted"):
            continue  # cards that were burnt in the open
        named = set(CARD.findall(got.payload))
        assert named <= revealed, (got, revealed)


async def test_the_will_of_a_daemon_that_is_gone_tells_the_public_nothing(
    tmp_path: Path, at: Mosquitto
) -> None:
    async with as_user(at, "display", "#") as display:
        with shoe_on_a_pty(tmp_path, seed=5):
            async with serving(write(tmp_path, *sinks(tmp_path, at.address)), ToldEvents()):
                await display.until(lambda: bool(stood(display)))
        await display.until(lambda: display.payloads(STATE)[-1] == b"")
        assert {got.topic for got in display.got} <= {PUBLIC, STATE}


# Commands.


class User(Subscriber):
    """A user of the broker who gives commands and waits for the answers."""

    name: str
    asked: int

    @classmethod
    def of(cls, subscriber: Subscriber, name: str) -> Self:
        subscriber.__class__ = cls
        assert isinstance(subscriber, cls)
        subscriber.name, subscriber.asked = name, 0
        return subscriber

    async def says(self, body: bytes, table: str = TABLE, **more: Any) -> dict[str, Any]:
        self.asked += 1
        mark = b"%d" % self.asked
        await self.publish(
            f"shoe/v1/{table}/commands/{self.name}", body, CorrelationData=mark, **more
        )

        def answers() -> list[Got]:
            return [got for got in self.got if got.properties.get("CorrelationData") == mark.hex()]

        await self.until(lambda: bool(answers()))
        (answer,) = answers()
        assert answer.topic == f"shoe/v1/{table}/answers/{self.name}"
        assert answer.properties["ContentType"] == "application/json"
        answered = dict(json.loads(answer.payload))
        assert_is_an_answer(answered)
        return answered

    async def asks(self, **asked: Any) -> dict[str, Any]:
        return await self.says(json.dumps(asked).encode())


@asynccontextmanager
async def at_work(
    folder: Path, at: Mosquitto, user: str = "table-system", **more: Any
) -> AsyncIterator[tuple[User, Caller, ToldEvents]]:
    """A user of the broker and a caller at the socket, at one table."""
    async with AsyncExitStack() as stack:
        told = ToldEvents()
        stack.enter_context(shoe_on_a_pty(folder, seed=7))
        topics = (f"shoe/v1/+/answers/{user}/#", PUBLIC)
        display = await stack.enter_async_context(as_user(at, "display", STATE))
        subscriber = await stack.enter_async_context(as_user(at, user, *topics))
        config = write(folder, *sinks(folder, at.address, **more))
        await stack.enter_async_context(serving(config, told))
        caller = await stack.enter_async_context(calling(folder / "shoectl.sock", held=True))
        await display.until(lambda: bool(stood(display)))
        await told.until(lambda: bool(told.data("shoe.loaded")))
        yield User.of(subscriber, user), caller, told


async def test_a_user_of_the_broker_reports_what_its_table_system_applied(
    tmp_path: Path, at: Mosquitto
) -> None:
    told = ToldEvents()
    reporting = sinks(tmp_path, at.address, sender=[{**SENDER, "applies": True}])
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        config = write(tmp_path, *reporting, applied_within_s=3600)
        topics = (f"shoe/v1/+/answers/{SENDER['user']}/#", PUBLIC)
        async with (
            as_user(at, SENDER["user"], *topics) as subscriber,
            serving(config, told) as daemon,
            calling(tmp_path / "shoectl.sock", held=True) as caller,
        ):
            await SocketTable(daemon, rig, told, caller).rounds(1)
            user = User.of(subscriber, SENDER["user"])
            (outcome,) = [event for event in told.events if event["type"] == "round.outcome"]
            asked = {"request": "applied", "event": outcome["id"], "reference": "b-1"}
            assert not (await user.asks(**asked))["applied"]["repeated"]
            assert (await user.asks(**asked))["applied"]["repeated"]
            await subscriber.until(lambda: events(subscriber)[-1]["type"] == "outcome.applied")
            elsewhere = {**asked, "event": "bac-08/p1"}
            assert (await user.asks(**elsewhere))["error"]["code"] == "daemon_no_such_table"
            shoe = {"shoe_id": outcome["data"]["shoe_id"], "table": TABLE}
            stated = await user.asks(
                request="shoe", **shoe, rounds=[{"round_id": outcome["subject"]}]
            )
            assert stated["shoe"]["agrees"]


def sent_to(user: User) -> list[dict[str, Any]]:
    """The events that came among the answers to this user."""
    return [
        json.loads(got.payload)
        for got in user.got
        if "/answers/" in got.topic
        and got.properties.get("ContentType") == "application/cloudevents+json"
    ]


async def test_a_user_of_the_broker_is_answered_as_at_the_socket(
    tmp_path: Path, at: Mosquitto
) -> None:
    async with at_work(tmp_path, at) as (user, caller, told):
        # What is no command.
        for line in (b"", b"{", b"[]", b'{"request": "weather"}', b'{"command_id": "x"}', b"\xff"):
            assert await user.says(line) == await caller.says(line + b"\n")
        long = json.dumps(envelope("long", "x" * 70_000)).encode()
        error = (await user.says(long))["error"]
        assert (error["code"], error["args"]) == ("request_too_long", {"most": 65535})
        assert (await user.asks(request="events"))["error"]["code"] == "events_at_the_socket"
        # A question.
        over, local = await user.asks(request="status"), await caller.asks(request="status")
        assert over["user"] == "table-system"
        assert over.keys() == local.keys()
        assert [table["round"] for table in over["tables"]] == [None]
        assert over["tables"][0]["takes"] == local["tables"][0]["takes"]
        stands = (await user.asks(request="status", table=TABLE))["tables"]
        assert [table["table"] for table in stands] == [TABLE]
        # A command, done once.
        place = envelope("m1", "place_your_bets")
        first = await user.asks(**place)
        assert first["accepted"], first
        assert first["command_id"] == "m1"
        assert all(event.startswith(f"{TABLE}/r") for event in first["events"])
        before = len(told.events)
        assert await user.asks(**place) == first
        assert len(told.events) == before
        # From another user the id is refused, here and there.
        assert not (await caller.asks(**place))["accepted"]
        # Stale, not allowed, of another table.
        for asked, why in (
            (envelope("m2", "no_more_bets") | {"round_id": "1-1"}, "refused_another_round_open"),
            (envelope("m3", "no_more_bets") | {"position": "assistant_casino_manager"}, None),
            (envelope("m4", "nonsense"), "refused_no_such_command"),
            (envelope("m5", "no_more_bets") | {"table": "bac-08"}, "daemon_no_such_table"),
        ):
            over = await user.asks(**asked)
            local = await caller.asks(**asked | {"command_id": f"s-{asked['command_id']}"})
            assert over.keys() == local.keys()
            assert not over["accepted"]
            assert over["error"]["code"] == local["error"]["code"]
            assert why in (None, over["error"]["code"])
        # Retained, expired, with an answer elsewhere.
        bets = json.dumps(envelope("m6", "no_more_bets")).encode()
        kept = await user.says(bets, retain=True)
        assert (kept["command_id"], kept["error"]["code"]) == ("m6", "daemon_command_retained")
        await user.publish(f"{BASE}/commands/table-system", b"", retain=True)
        moved = await user.says(bets, ResponseTopic=PUBLIC)
        assert moved["error"]["code"] == "daemon_response_topic"
        assert (await user.asks(**envelope("m6", "no_more_bets")))["accepted"]


async def test_missing_events_are_asked_for_over_the_broker(tmp_path: Path, at: Mosquitto) -> None:
    async with at_work(tmp_path, at) as (user, caller, told):
        assert (await user.asks(**envelope("b", "place_your_bets")))["accepted"]
        await user.until(lambda: events(user)[-1:] == told.events[-1:])
        after, *behind = told.events
        answer = await user.asks(request="resend", sink="floor", after=after["id"])
        assert answer == {"resent": {"sink": "floor", "after": after["id"], "events": len(behind)}}
        await user.until(lambda: len(sent_to(user)) == len(behind))
        assert sent_to(user) == behind
        bound = {"after": after["id"], "upto": behind[1]["id"]}
        answer = await user.asks(request="resend", sink="floor", **bound)
        assert answer["resent"]["events"] == 2
        await user.until(lambda: len(sent_to(user)) == len(behind) + 2)
        assert sent_to(user)[len(behind) :] == behind[:2]
        got = len(sent_to(user))
        answer = await user.asks(request="events", after="beginning", audience="public")
        assert answer == {"sent": {"table": TABLE, "audience": "public", "after": "beginning"}}
        await user.until(lambda: len(sent_to(user)) == got + len(told.events))
        assert sent_to(user)[got:] == told.events
        wrong = await user.asks(request="events", after=f"{TABLE}/p999", audience="public")
        assert wrong["error"]["code"] == "events_unknown"
        wrong = await user.asks(request="events", after="beginning", table="bac-08")
        assert wrong["error"]["code"] == "daemon_no_such_table"
        assert events(user) == told.events  # on their own topic they came once
        other = await user.asks(request="resend", sink="floor", after="bac-08/p1")
        assert other["error"]["code"] == "daemon_no_such_table"
        assert await user.asks(request="redeliver") == {"redelivered": []}
        assert not (await user.asks(request="redeliver", table="bac-08"))["accepted"]
        # What cannot be done is refused with a code, and as at the socket.
        first, last = told.events[0]["id"], told.events[-1]["id"]
        for asked, code, args in (
            (
                {"request": "resend", "sink": "floor", "after": f"{TABLE}/p999"},
                "events_unknown",
                {"after": f"{TABLE}/p999", "first": first, "last": last},
            ),
            (
                {"request": "resend", "sink": "attic", "after": first},
                "sink_unknown",
                {"sink": "attic"},
            ),
            (
                {"request": "resend", "sink": "floor", "after": f"{TABLE}/r1"},
                "sink_of_other_audience",
                {"audience": "public"},
            ),
            (
                {"request": "resend", "sink": "floor", "after": "31"},
                "sink_after_invalid",
                {"after": "31"},
            ),
            (
                {"request": "redeliver", "sink": "floor"},
                "sink_nothing_parked",
                {"sink": "floor"},
            ),
            ({"request": "status", "table": "bac-08"}, "daemon_no_such_table", {"table": "bac-08"}),
        ):
            for answer in (await user.asks(**asked), await caller.asks(**asked)):
                assert answer["error"]["code"] == code
                assert answer["error"]["args"].items() >= args.items()


async def test_a_user_without_a_position_is_refused_and_nobody_speaks_for_another(
    tmp_path: Path, at: Mosquitto
) -> None:
    senders = [{**SENDER, "user": "somebody-else"}]
    async with at_work(tmp_path, at, sender=senders) as (user, _, told):
        refused = await user.asks(**envelope("c1", "place_your_bets"))
        assert refused["error"]["code"] == "daemon_user_unknown"
        text = "user table-system has no position at this daemon's tables"
        assert refused["error"]["text"] == text
        # The access list lets no stranger send a command, nor anybody but the daemon an event.
        before = len(told.events)
        bets = json.dumps(envelope("c2", "place_your_bets")).encode()
        topics = [f"{BASE}/commands/{name}" for name in ("table-system", "stranger")]
        topics += [PUBLIC, STATE, f"{BASE}/answers/display"]
        async with as_user(at, "stranger") as stranger:
            for topic in topics:
                await stranger.publish(topic, bets)
        for topic in topics[1:]:
            await user.publish(topic, bets)
        await user.asks(request="status")
        assert len(told.events) == before


async def test_a_command_that_expires_before_its_turn_is_refused(
    tmp_path: Path, at: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_work(tmp_path, at) as (user, _, told):
        asked = brokers.Asked

        def late(*args: Any) -> brokers.Asked:
            return asked(*args)._replace(expires_at=asyncio.get_running_loop().time())

        monkeypatch.setattr(mqtt, "Asked", late)
        body = json.dumps(envelope("c1", "place_your_bets")).encode()
        refused = await user.says(body, MessageExpiryInterval=1)
        assert (refused["command_id"], refused["error"]["code"]) == ("c1", "daemon_command_expired")
        assert not told.data("round.opened")


# The daemon and the broker.


async def test_a_table_with_senders_needs_no_socket(tmp_path: Path, at: Mosquitto) -> None:
    told = ToldEvents()
    with shoe_on_a_pty(tmp_path, seed=7):
        async with as_user(at, "table-system", f"{BASE}/answers/table-system", STATE) as subscriber:
            config = write(tmp_path, *sinks(tmp_path, at.address), socket=False)
            async with serving(config, told):
                await told.until(lambda: bool(told.data("shoe.loaded")))
                await subscriber.until(lambda: bool(stood(subscriber)))
                user = User.of(subscriber, "table-system")
                assert (await user.asks(**envelope("c", "place_your_bets")))["accepted"]


async def test_a_daemon_starts_and_serves_without_its_broker_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    port, told = free_port(), ToldEvents()
    address = f"mqtt://{HOST}:{port}"
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        config = write(tmp_path, *sinks(tmp_path, address))
        async with (
            serving(config, told) as daemon,
            calling(tmp_path / "shoectl.sock", held=True) as caller,
        ):
            table = SocketTable(daemon, rig, told, caller)
            await table.rounds(1)
            answer = await caller.asks(request="status")
            by_name = {sink["sink"]: sink for sink in answer["sinks"]}
            why = f"{address}: Connection refused: start the broker there, or correct address"
            assert by_name["floor"]["state"] == "away"
            assert by_name["floor"]["message"]["text"].endswith(f"and is tried again: {why}")
            with broker(tmp_path, *broker_lines(tmp_path, tls=False), port=port) as late:
                async with as_user(late, "display", PUBLIC, session_s=60, name="d") as display:
                    await display.until(lambda: events(display)[-1:] == told.events[-1:])
                    assert events(display) == told.events
    warned = [r.message for r in caplog.records if f"{port}" in r.message and "away" in r.message]
    assert warned.count(f'sink floor: away: reason="{why}". Retrying.') == 1


async def test_the_documented_broker_with_tls(tmp_path: Path) -> None:
    told = ToldEvents()
    with (
        broker(tmp_path, *broker_lines(tmp_path, tls=True), tls=True) as secured,
        shoe_on_a_pty(tmp_path, seed=7),
    ):
        own = sinks(tmp_path, secured.address)
        config = write(tmp_path, *({**sink, "tls": {"ca": "ca.crt"}} for sink in own))
        async with serving(config, told), calling(tmp_path / "shoectl.sock", held=True) as caller:
            await told.until(lambda: bool(told.data("shoe.loaded")))
            async with asyncio.timeout(30):
                while any(s["state"] != "at_work" for s in await sink_states(caller)):  # noqa: ASYNC110
                    await asyncio.sleep(0)
        assert f"as shoectl-{TABLE}-public" in "\n".join(secured.log)


async def sink_states(caller: Caller) -> list[dict[str, Any]]:
    answer = await caller.asks(request="status")
    return list(answer["sinks"])
