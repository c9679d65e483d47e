"""One daemon, several sinks: each gets all of the stream in order, at its own pace."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from shoe_ctl.daemon.delivery import NamedSink
from shoe_ctl.journal.export import write_unpacked
from shoe_ctl.journal.reader import Reader
from shoe_ctl.records import Audience
from shoe_ctl.sinks import pump
from shoe_testing.cli import run_shoectl_async
from shoe_testing.config import SOCKET, write_config
from shoe_testing.daemon import ShoeAtTable, ToldEvents, nothing_is_wrong_with, runner, serving
from shoe_testing.paths import ROOT
from shoe_testing.rounds import all_agree, of_type, once_each

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

ROUNDS = 12


class Dead(ToldEvents):
    """A sink whose broker is away until it is back."""

    def __init__(self) -> None:
        super().__init__()
        self.is_back = False
        self.tried = 0

    async def deliver(self, events: Sequence[bytes]) -> None:
        self.tried += 1
        self._news.set()
        if not self.is_back:
            raise ConnectionRefusedError("nobody is there")
        await super().deliver(events)


class Slow(ToldEvents):
    """A sink that takes one batch and then nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.free = asyncio.Event()

    async def deliver(self, events: Sequence[bytes]) -> None:
        if self.events:
            await self.free.wait()
        await super().deliver(events)


class Choosy(ToldEvents):
    """A sink that cannot take one of the outcomes, now or ever."""

    def __init__(self) -> None:
        super().__init__()
        self.poison: str | None = None
        self.mended = False

    async def deliver(self, events: Sequence[bytes]) -> None:
        for event in map(json.loads, events):
            first = self.data("round.outcome")
            if event["type"] == "round.outcome" and first and self.poison is None:
                self.poison = event["id"]
            if event["id"] == self.poison and not self.mended:
                raise pump.EventRefused("an outcome that nobody can take")
        await super().deliver(events)


async def test_a_dead_and_a_slow_sink_delay_nobody_and_get_all_of_it_in_order_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "LONGEST_RETRY_S", 0.1)
    quick, dead, slow = ToldEvents(), Dead(), Slow()
    sinks = [NamedSink("dead", Audience.PUBLIC, dead), NamedSink("slow", Audience.PUBLIC, slow)]
    with ShoeAtTable(tmp_path, "reference", seed=61) as shoe:
        shoe.rest_after(ROUNDS)
        async with serving(config(tmp_path), quick, sinks=sinks):
            await shoe.rests()
            await quick.times(ROUNDS, "round.outcome")
            await dead.until(lambda: dead.tried > 1)
            assert dead.events == []
            assert len(slow.events) < len(quick.events)
            dead.is_back = True
            slow.free.set()
            for late in (dead, slow):
                await late.times(ROUNDS, "round.outcome")
        for sink in (quick, dead, slow):
            assert once_each(sink.events) == sink.events
            all_agree(of_type(sink.events, "round.outcome"), shoe.rounds)
        assert dead.events == slow.events == quick.events


async def test_what_a_dead_sink_missed_survives_restarts_and_goes_out_in_order(
    tmp_path: Path,
) -> None:
    quick, dead = ToldEvents(), Dead()
    sinks = [NamedSink("dead", Audience.PUBLIC, dead)]
    with ShoeAtTable(tmp_path, "reference", seed=62) as shoe:
        for number in (4, 8, ROUNDS):
            shoe.rest_after(number)
            async with serving(config(tmp_path), quick, sinks=sinks):
                shoe.go_on()
                await shoe.rests()
                await quick.times(number, "round.outcome")
        dead.is_back = True
        async with serving(config(tmp_path), quick, sinks=sinks):
            await dead.times(ROUNDS, "round.outcome")
        assert dead.events == once_each(dead.events)
        all_agree(of_type(dead.events, "round.outcome"), shoe.rounds)
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_an_event_that_a_sink_cannot_take_is_parked_with_an_alarm_and_shown(
    tmp_path: Path,
) -> None:
    told, choosy = ToldEvents(), Choosy()
    sinks = [NamedSink("choosy", Audience.PUBLIC, choosy)]
    with ShoeAtTable(tmp_path, "reference", seed=63) as shoe:
        shoe.rest_after(4)
        async with serving(config(tmp_path), told, sinks=sinks):
            await shoe.rests()
            await told.times(4, "round.outcome")
            await told.times(1, "delivery.parked")
            await choosy.times(1, "delivery.parked")
        (poison,) = (e for e in told.events if e["id"] == choosy.poison)
        expected = {"sink": "choosy", "event": poison["id"], "type": "round.outcome"}
        assert told.data("delivery.parked") == [expected]
        async with serving(config(tmp_path), told, sinks=sinks) as daemon:
            (shown,) = (await runner(daemon).status(Audience.PUBLIC))["parked"]
        named = {"sink": "choosy", "count": 1, "last": poison["id"], "type": poison["type"]}
        assert shown == named | {"waiting": 1}
        taken = [e["id"] for e in choosy.events]
        assert taken == [e["id"] for e in told.events if e is not poison][: len(taken)]
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_what_was_parked_is_taken_with_its_own_id_once_the_receiver_is_mended(
    tmp_path: Path,
) -> None:
    told, choosy = ToldEvents(), Choosy()
    sinks = [NamedSink("choosy", Audience.PUBLIC, choosy)]
    path = write_config(tmp_path, str(tmp_path / "shoe"), decks=4, way_in=True)
    redeliver = ("table", "redeliver", "--socket", str(tmp_path / SOCKET))
    with ShoeAtTable(tmp_path, "reference", seed=64) as shoe:
        shoe.rest_after(4)
        async with serving(path, told, sinks=sinks):
            await shoe.rests()
            await told.times(4, "round.outcome")
            await choosy.times(1, "delivery.parked")
            assert await run_shoectl_async(*redeliver) == (
                1,
                "choosy: 1 refused\n",
                "shoectl: some events were rejected again and stay parked: see the daemon's log\n",
            )
        choosy.mended = True
        async with serving(path, told, sinks=sinks):
            assert await run_shoectl_async(*redeliver) == (0, "choosy: 1 taken\n", "")
            await told.times(1, "delivery.taken")
            assert await run_shoectl_async(*redeliver) == (0, "nothing is parked\n", "")
            code, _, wrong = await run_shoectl_async(*redeliver, "sink=choosy")
            assert (code, wrong) == (1, "shoectl: no event of a sink choosy is parked\n")
        (poison,) = (e for e in told.events if e["id"] == choosy.poison)
        named = {"sink": "choosy", "event": poison["id"], "type": "round.outcome"}
        assert told.data("delivery.taken") == [named]
        assert told.data("delivery.parked") == [named]
        assert [e for e in choosy.events if e["id"] == poison["id"]] == [poison]
        by_id = {e["id"]: e for e in choosy.events}
        assert [by_id[e["id"]] for e in told.events] == told.events
        assert len(choosy.data("round.outcome")) == 4
    assert as_the_page_says(tmp_path / "journal.db", poison["id"]) == poison
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_only_who_sees_the_restricted_stream_redelivers_what_a_sink_of_it_refused(
    tmp_path: Path,
) -> None:
    told, choosy = ToldEvents(), Choosy()
    sinks = [NamedSink("choosy", Audience.RESTRICTED, choosy)]
    path = write_config(tmp_path, str(tmp_path / "shoe"), decks=4, way_in=True)
    redeliver = ("table", "redeliver", "--socket", str(tmp_path / SOCKET))
    with ShoeAtTable(tmp_path, "reference", seed=65) as shoe:
        shoe.rest_after(3)
        async with serving(path, told, sinks=sinks):
            await shoe.rests()
            await choosy.times(1, "delivery.parked")
            choosy.mended = True
            assert (await run_shoectl_async(*redeliver))[:2] == (0, "nothing is parked\n")
            code, _, wrong = await run_shoectl_async(*redeliver, "sink=choosy")
            assert (code, wrong) == (1, "shoectl: no event of a sink choosy is parked\n")
        path.write_text(path.read_text() + 'audience = "restricted"\n')
        async with serving(path, told, sinks=sinks):
            assert (await run_shoectl_async(*redeliver))[:2] == (0, "choosy: 1 taken\n")
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_what_a_receiver_lost_is_offered_again_with_the_same_ids(tmp_path: Path) -> None:
    told, floor, hidden = ToldEvents(), ToldEvents(), ToldEvents()
    sinks = [
        NamedSink("floor", Audience.PUBLIC, floor),
        NamedSink("hidden", Audience.RESTRICTED, hidden),
    ]
    path = write_config(tmp_path, str(tmp_path / "shoe"), decks=4, way_in=True)
    resend = ("table", "resend", "--socket", str(tmp_path / SOCKET))
    with ShoeAtTable(tmp_path, "reference", seed=66) as shoe:
        shoe.rest_after(3)
        async with serving(path, told, sinks=sinks):
            await shoe.rests()
            await floor.times(3, "round.settled")
            first = list(floor.events)
            seen = [event["id"] for event in first]
            last = int(seen[-1].removeprefix("bac-07/p"))
            code, out, wrong = await run_shoectl_async(*resend, "sink=floor", "after=bac-07/p10")
            assert (code, wrong) == (0, "")
            assert out == f"floor: {last - 10} events behind bac-07/p10: {last - 10} taken\n"
            assert floor.events == [*first, *first[10:]]
            assert told.events[: len(first)] == first and len(told.events) == len(first)
            one = await run_shoectl_async(
                *resend, "sink=floor", f"after=bac-07/p{last - 1}", "--json"
            )
            named = {"sink": "floor", "after": f"bac-07/p{last - 1}", "events": 1}
            assert json.loads(one[1]) == {
                "resent": {**named, "taken": 1, "refused": 0, "waiting": 0}
            }
            none = await run_shoectl_async(*resend, "sink=floor", f"after=bac-07/p{last}")
            assert none == (0, f"floor: 0 events behind bac-07/p{last}\n", "")
            for arguments, line in (
                (("sink=attic", "after=bac-07/p1"), "there is no sink attic (there is: "),
                (("sink=hidden", "after=bac-07/r1"), "there is no sink hidden (there is: "),
                (
                    ("sink=floor", "after=bac-07/p99999"),
                    f"there is no event bac-07/p99999: the journal has bac-07/p1 to bac-07/p{last}",
                ),
                (
                    ("sink=floor", "after=bac-08/p1"),
                    "there is no event bac-08/p1: the journal has no ",
                ),
                (
                    ("sink=floor", "after=bac-07/r1"),
                    "sink floor gets the public stream, whose ids ",
                ),
                (("sink=floor", "after=p1"), "after: expected an event's id such as bac-07/p31, "),
            ):
                code, out, wrong = await run_shoectl_async(*resend, *arguments)
                assert (code, out, wrong.count("\n")) == (1, "", 1)
                assert wrong.startswith(f"shoectl: {line}")
                assert "hidden" not in wrong.partition("(")[2]
            code, _, wrong = await run_shoectl_async(*resend, "sink=floor")
            assert code == 2 and "resend takes sink=NAME and after=ID" in wrong
            assert len(floor.events) == len(first) + last - 10 + 1
            shoe.rest_after(5)
            shoe.go_on()
            await shoe.rests()
            await floor.times(5 + 3, "round.outcome")
        assert once_each(floor.events) == told.events
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_the_status_says_which_sink_is_away_and_why(tmp_path: Path) -> None:
    told, dead, hidden = ToldEvents(), Dead(), Dead()
    sinks = [
        NamedSink("dead", Audience.PUBLIC, dead),
        NamedSink("hidden", Audience.RESTRICTED, hidden),
    ]
    path = write_config(tmp_path, str(tmp_path / "shoe"), decks=4, way_in=True)
    status = ("table", "status", "--socket", str(tmp_path / SOCKET))
    with ShoeAtTable(tmp_path, "reference", seed=67) as shoe:
        shoe.rest_after(1)
        async with serving(path, told, sinks=sinks):
            await shoe.rests()
            await told.times(1, "round.outcome")
            _, out, _ = await run_shoectl_async(*status, "--json")
            states = {each["sink"]: each for each in json.loads(out)["sinks"]}
            assert states.keys() == {"told", "dead", "jsonl:public.jsonl"}
            assert states["told"] == {"sink": "told", "state": "at_work"}
            away = states["dead"]
            assert (away["state"], away["message"]["code"]) == ("away", "daemon_sink_away")
            line = f"sink dead is away since {away['since']} and is tried again: nobody is there"
            assert away["message"]["text"] == line
            code, out, _ = await run_shoectl_async(*status)
            assert code == 0 and out.endswith(f"\n\n{line}\n")
            dead.is_back = hidden.is_back = True
            code, _, wrong = await run_shoectl_async(
                "table", "resend", "--socket", str(tmp_path / SOCKET),
                "sink=dead", "after=bac-07/p0",
            )  # fmt: skip
            assert code in (0, 3), wrong
            await dead.times(1, "round.outcome")
            _, out, _ = await run_shoectl_async(*status, "--json")
            assert {"sink": "dead", "state": "at_work"} in json.loads(out)["sinks"]


async def test_an_outage_whose_errors_are_no_system_errors_parks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BrokerError(Exception):
        """As a client library's own: no OSError."""

    class Gone(Dead):
        async def deliver(self, events: Sequence[bytes]) -> None:
            try:
                await super().deliver(events)
            except OSError as error:
                raise BrokerError(str(error)) from None

    monkeypatch.setattr(pump, "LONGEST_RETRY_S", 0.1)
    quick, gone = ToldEvents(), Gone()
    sinks = [NamedSink("gone", Audience.PUBLIC, gone)]
    with ShoeAtTable(tmp_path, "reference", seed=68) as shoe:
        shoe.rest_after(4)
        async with serving(config(tmp_path), quick, sinks=sinks):
            await shoe.rests()
            await quick.times(4, "round.outcome")
            gone.is_back = True
            await gone.times(4, "round.outcome")
        assert gone.events == quick.events
        assert quick.data("delivery.parked") == []


async def test_sinks_that_keep_up_never_read_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    honest = Reader.events

    def events(reader: Reader, *args: Any, **named: Any) -> Any:
        reads.append(1)
        return honest(reader, *args, **named)

    monkeypatch.setattr(Reader, "events", events)
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=69) as shoe:
        shoe.rest_after(1)
        async with serving(config(tmp_path), told):
            await shoe.rests()
            await told.times(1, "round.outcome")
            before = len(reads)
            shoe.rest_after(ROUNDS)
            shoe.go_on()
            await shoe.rests()
            await told.times(ROUNDS, "round.outcome")
            assert len(reads) == before
        assert told.events == once_each(told.events)


async def test_a_sink_whose_file_is_renamed_goes_on_by_its_name(tmp_path: Path) -> None:
    told = ToldEvents()
    path = config(tmp_path)
    unnamed = path.read_text()
    with ShoeAtTable(tmp_path, "reference", seed=70) as shoe:
        for number, text in enumerate(
            (
                unnamed,
                unnamed.replace(
                    'path = "public.jsonl"', 'path = "moved.jsonl"\nname = "jsonl:public.jsonl"'
                ),
            ),
            1,
        ):
            path.write_text(text)
            shoe.rest_after(2 * number)
            async with serving(path, told):
                shoe.go_on()
                await shoe.rests()
                await told.times(2 * number, "round.outcome")
    lines = [
        json.loads(line)
        for name in ("public.jsonl", "moved.jsonl")
        for line in (tmp_path / name).read_bytes().splitlines()
    ]
    assert lines == told.events
    nothing_is_wrong_with(tmp_path / "journal.db")


def as_the_page_says(journal: Path, event: str) -> Any:
    """The event as an integrator takes it out of the journal by hand."""
    page = (ROOT / "docs/guides/storage.md").read_text("utf-8")
    (query,) = re.findall(r"`(SELECT body FROM record .*?)`", page, re.DOTALL)
    unpacked = journal.with_name("unpacked.db")
    with Reader.open(journal) as reader:
        write_unpacked(reader, unpacked)
    with closing(apsw.Connection(str(unpacked), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        ((body,),) = connection.execute(query.replace("bac-07/p31", event))
    unpacked.unlink()
    return json.loads(body)


def config(folder: Path) -> Path:
    return write_config(folder, str(folder / "shoe"), decks=4)
