"""Requests about sinks that are refused: each refusal has a code of its own, on every way in."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.api.requests import Caller
from shoe_ctl.daemon import resends
from shoe_ctl.daemon.broker_desk import BrokerDesk
from shoe_ctl.daemon.delivery import NamedSink, RunningSink, delivering
from shoe_ctl.daemon.environment import SYSTEM
from shoe_ctl.daemon.principals import People
from shoe_ctl.daemon.requests import RequestHandler
from shoe_ctl.journal.chain import AnchorRecord
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, EventId
from shoe_ctl.sinks.brokers import Asked
from shoe_ctl.sinks.pump import SinkEnded
from shoe_ctl.texts.catalogue import text
from shoe_testing.journals import T_US, Never, stored, stored_round
from shoe_testing.socket_client import Caller as SocketCaller
from shoe_testing.socket_client import calling, serving_at

ME = Caller(user="me", position="dealer", sees=Audience.PUBLIC)

TABLE = "a"


class Takes:
    async def deliver(self, _events: Sequence[bytes]) -> None:
        pass


class Ends:
    """A sink whose other end is gone for good."""

    async def deliver(self, _events: Sequence[bytes]) -> None:
        raise SinkEnded("closed by its reader")


class TwoWaysIn:
    """A caller at the socket, and a user of a broker whose topic is table a's."""

    def __init__(
        self, caller: SocketCaller, desk: BrokerDesk, sinks: Mapping[str, RunningSink]
    ) -> None:
        self.caller = caller
        self.desk = desk
        self.sinks = sinks

    async def refused(self, **asked: Any) -> tuple[str, dict[str, Any]]:
        """The code and the arguments of the refusal, which is the same on both ways in."""
        body = json.dumps(asked).encode()
        at_socket = await self.caller.says(body + b"\n")
        over_broker = json.loads(await self.desk.answer(Asked(TABLE, "me", body)))
        assert at_socket == over_broker
        assert (at_socket["accepted"], at_socket["needs"]) == (False, {})
        error = at_socket["error"]
        for language in ("en", "zh"):
            assert "?)" not in text(error, language) and "\n" not in text(error, language)
        assert error["text"] == text(error)
        return error["code"], error["args"]


@asynccontextmanager
async def two_ways_in(folder: Path, sinks: Sequence[NamedSink]) -> AsyncIterator[TwoWaysIn]:
    """Two rounds of table a that were taken out of the journal, and two that are there."""
    path = folder / "journal.db"
    stored(path, [stored_round(number, TABLE) for number in range(2)])
    key = open_signer(path, None)
    async with AsyncExitStack() as stack:
        writer = stack.enter_context(ThreadPoolExecutor(1))
        journal = Journal(store := Store.open(path), writer)
        stack.push_async_callback(journal.close)
        n = await journal.checkpoint(key, T_US)
        assert n is not None
        await journal.truncate_before(AnchorRecord(n, {TABLE: (2, 4)}), key, T_US)
        for number in range(2, 4):
            await journal.commit(stored_round(number, TABLE))
        deliveries = await stack.enter_async_context(
            delivering(sinks, journal, store, SYSTEM, lambda *_: Never(), tables=(TABLE,))
        )
        handler = RequestHandler({}, deliveries.sinks, People(())).answer
        at = folder / "s.sock"
        await stack.enter_async_context(serving_at(at, {os.getuid(): ME}, handler))
        desk = BrokerDesk({"me": ME}, {"me": [TABLE]})
        await stack.enter_async_context(desk.open(handler))
        caller = await stack.enter_async_context(calling(at))
        yield TwoWaysIn(caller, desk, deliveries.sinks)


@pytest.fixture
def sinks() -> list[NamedSink]:
    return [
        NamedSink("floor", Audience.PUBLIC, Takes()),
        NamedSink("other", Audience.PUBLIC, Takes(), table="b"),
        NamedSink("gone", Audience.PUBLIC, Ends()),
        NamedSink("hidden", Audience.RESTRICTED, Takes()),
    ]


async def test_each_refusal_of_a_resend_has_its_own_code_on_every_way_in(
    tmp_path: Path, sinks: list[NamedSink]
) -> None:
    kept = {"first": "a/p3", "last": "a/p4"}
    known = ["floor", "other", "gone"]
    async with two_ways_in(tmp_path, sinks) as ways:
        for sink, after, code, args in (
            ("floor", "a/p1", "events_not_kept", {"after": "a/p1", **kept}),
            ("floor", "a/p5", "events_unknown", {"after": "a/p5", **kept}),
            ("attic", "a/p3", "sink_unknown", {"sink": "attic", "sinks": known}),
            ("hidden", "a/r3", "sink_unknown", {"sink": "hidden", "sinks": known}),
            ("other", "a/p3", "sink_of_other_table", {"sink": "other", "table": "b"}),
            (
                *("gone", "a/p3", "sink_ended"),
                {"sink": "gone", "why": "it has ended: closed by its reader"},
            ),
            ("floor", "p3", "sink_after_invalid", {"after": "p3", "example": "bac-07/p31"}),
            (
                *("floor", "a/r3", "sink_of_other_audience"),
                {"sink": "floor", "audience": "public", "after": "a/r3", "example": "a/p3"},
            ),
        ):
            refused = await ways.refused(request="resend", sink=sink, after=after)
            assert refused == (code, args), after


async def test_where_there_is_no_sink_and_where_there_is_no_such_request_the_code_says_so(
    tmp_path: Path,
) -> None:
    sinks = [NamedSink("hidden", Audience.RESTRICTED, Takes())]
    async with two_ways_in(tmp_path, sinks) as ways:
        assert await ways.refused(request="resend", sink="floor", after="a/p3") == (
            "sink_unknown_none",
            {"sink": "floor"},
        )
        code, args = await ways.refused(request="weather")
        assert code == "request_invalid" and args["detail"].startswith("request: expected status")


class Slow:
    """A sink that passes events on and acknowledges them when it is let."""

    def __init__(self) -> None:
        self.passed_on: list[str] = []
        self.news = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def deliver(self, events: Sequence[bytes]) -> None:
        self.passed_on += [json.loads(event)["id"] for event in events]
        self.news.set()
        await self.goes_on.wait()


async def test_what_was_passed_on_and_is_not_acknowledged_yet_is_offered_again_too(
    tmp_path: Path,
) -> None:
    slow = Slow()
    async with two_ways_in(tmp_path, [NamedSink("floor", Audience.PUBLIC, slow)]) as ways:
        await slow.news.wait()
        resend = await ways.sinks["floor"].resend(EventId(TABLE, Audience.PUBLIC, 3))
        assert resend.events == 1
        slow.goes_on.set()
        assert await resend.done is None
    assert slow.passed_on == ["a/p3", "a/p4", "a/p4"]


async def test_who_has_a_sink_offered_too_much_again_waits_and_everybody_else_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resends, "AT_ONCE", 5)
    monkeypatch.setattr(resends, "A_SECOND", 0.01)
    floor = Slow()
    floor.goes_on.set()
    asked = {"request": "resend", "sink": "floor", "after": "a/p2"}
    async with two_ways_in(tmp_path, [NamedSink("floor", Audience.PUBLIC, floor)]) as ways:
        await floor.news.wait()  # the sink has both
        answers = [await ways.caller.asks(**asked) for _ in range(50)]
        taken = [answer["resent"]["events"] for answer in answers if "resent" in answer]
        refused = [answer["error"] for answer in answers if "error" in answer]
        assert (taken, len(refused)) == ([2, 2, 2], 47)
        assert {error["code"] for error in refused} == {"sink_resends_too_soon"}
        assert refused[0]["args"] == {"user": "me", "seconds": 100}
        assert text(refused[0], "zh").endswith("100 秒后再请求")
    assert len(floor.passed_on) == 2 + 3 * 2


async def test_a_table_that_the_journal_has_no_event_of_is_refused_at_the_socket(
    tmp_path: Path, sinks: list[NamedSink]
) -> None:
    async with two_ways_in(tmp_path, sinks) as ways:
        asked = {"request": "resend", "sink": "floor", "after": "c/p1"}
        answer = await ways.caller.asks(**asked)
        assert (answer["error"]["code"], answer["error"]["args"]) == (
            "events_none",
            {"after": "c/p1"},
        )


async def test_until_the_tables_are_at_work_a_broker_s_user_is_asked_to_wait() -> None:
    desk = BrokerDesk({"me": ME}, {"me": [TABLE]})
    answer = json.loads(await desk.answer(Asked(TABLE, "me", b'{"request": "status"}')))
    assert answer["error"] == {
        "code": "daemon_starting",
        "args": {},
        "text": "the daemon is starting: ask again",
    }


async def test_a_broker_s_user_commands_no_table_but_its_own() -> None:
    desk = BrokerDesk({"me": ME}, {"me": ["another"]})
    for request in (b'{"request": "status"}', b"no JSON"):
        answer = json.loads(await desk.answer(Asked(TABLE, "me", request)))
        assert (answer["error"]["code"], answer["error"]["args"]) == (
            "daemon_table_not_yours",
            {"user": "me", "table": TABLE},
        )
