"""The socket of a served shoe: who may use it, what it answers, and when."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_proto.profiles import profile
from shoe_testing.served_shoe import served_shoe
from simulators.control.changes import CHANGES, ShoeBench
from simulators.control.server import LONGEST_LINE, MOST_CONNECTIONS, controlled, read_change
from simulators.errors import PortFault
from simulators.faults import Faults
from simulators.table.fields import Wrong

PATIENCE_S = 30.0


class Caller:
    """One connection to the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def says(self, line: bytes) -> dict[str, Any]:
        self._writer.write(line)
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            line = await self._reader.readline()
        assert line.count(b"\n") == 1
        answered: dict[str, Any] = json.loads(line)
        return answered

    async def does(self, name: str, **arguments: Any) -> dict[str, Any]:
        return await self.says(json.dumps({"do": name, **arguments}).encode() + b"\n")

    def asks(self, name: str, **arguments: Any) -> None:
        self._writer.write(json.dumps({"do": name, **arguments}).encode() + b"\n")

    async def is_hung_up(self) -> bool:
        async with asyncio.timeout(PATIENCE_S):
            return await self._reader.read(1) == b""


@asynccontextmanager
async def calling(folder: Path) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_unix_connection(folder / "shoe.ctl", limit=1 << 20)
    try:
        yield Caller(reader, writer)
    finally:
        writer.close()


def opened(bench: ShoeBench) -> int:
    """The port, as a host opens it."""
    return os.open(bench.rig.port.address, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)


async def test_only_the_owner_may_connect_and_the_file_goes_with_the_shoe(tmp_path: Path) -> None:
    async with served_shoe(tmp_path):
        made = (tmp_path / "shoe.ctl").stat()
        assert stat.S_ISSOCK(made.st_mode)
        assert stat.S_IMODE(made.st_mode) == 0o600
    assert not (tmp_path / "shoe.ctl").exists()


async def test_cards_are_drawn_as_they_are_due_while_the_dealer_rests(tmp_path: Path) -> None:
    async with served_shoe(tmp_path, "angel_eye") as bench, calling(tmp_path) as caller:
        refused = await caller.does("draw")
        assert refused == {"error": "draw: the dealer draws: let it rest first", "kind": "refused"}
        await caller.does("rest")
        late = await caller.does("draw", cards=2, within_s=0.0)
        assert late["error"] == "draw: no card was freed in 0 s, 0 were drawn"
        device = bench.rig.device
        device.boot(bench.rig.now)
        drawn = await caller.does("draw", cards=2)
        assert drawn["cards"] == [card.code for card in device.shoe.cards.cards[:2]]  # type: ignore[union-attr]
        assert [event["type"] for event in drawn["reported"]] == ["card_drawn"] * 2
        assert drawn["shoe"]["drawn"] == 2
        await caller.does("freeze")
        late = await caller.does("draw", within_s=0.0)
        assert late["error"] == "draw: no card was freed in 0 s, 0 were drawn"


async def test_a_card_that_jams_ends_a_draw_which_says_how_far_it_came(tmp_path: Path) -> None:
    async with served_shoe(tmp_path, "bee_tek") as bench, calling(tmp_path) as caller:
        await caller.does("rest")
        bench.rig.device.boot(bench.rig.now)
        await caller.does("jam")
        assert (await caller.does("draw", cards=2))[
            "error"
        ] == "draw: the shoe is jammed, 0 were drawn"


async def test_the_socket_of_a_killed_shoe_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "shoe.ctl"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    async with served_shoe(tmp_path) as bench:
        async with calling(tmp_path) as caller:
            assert (await caller.does("status"))["did"] == "status"
        with pytest.raises(PortFault, match="is served by another process"):
            async with controlled(path, bench):
                pass
        path.unlink()
        path.write_text("a letter")
        with pytest.raises(PortFault, match="there is a file of another kind"):
            async with controlled(path, bench):
                pass
        for other, why in (
            (tmp_path / "nowhere" / "shoe.ctl", "No such file or directory"),
            (tmp_path / ("x" * 108), "the path is longer than 107 bytes"),
        ):
            with pytest.raises(PortFault, match=why):
                async with controlled(other, bench):
                    pass
        everyone = tmp_path / "everyone"
        everyone.mkdir()
        everyone.chmod(0o777)
        with pytest.raises(PortFault, match="world-writable"):
            async with controlled(everyone / "shoe.ctl", bench):
                pass
    assert path.read_text() == "a letter"


async def test_a_change_is_answered_once_it_has_happened_with_what_came_of_it(
    tmp_path: Path,
) -> None:
    async with served_shoe(tmp_path) as bench, calling(tmp_path) as caller:
        shoe = bench.rig.device.shoe
        assert (await caller.does("rest"))["shoe"]["resting"]
        pulled = await caller.does("pull", cards=2)
        assert pulled["cards"] == [card.code for card in shoe.cards.cards[:2]]  # type: ignore[union-attr]
        assert [event["type"] for event in pulled["reported"]] == ["card_drawn"] * 2
        assert (pulled["shoe"]["drawn"], pulled["shoe"]["remaining"]) == (2, 414)
        button = await caller.does("button", number=3)
        assert button["reported"] == [{"type": "button", "button": 3}]
        assert button["arguments"] == {"number": 3}
        assert (await caller.does("jam"))["shoe"]["jammed"]
        assert await caller.does("pull") == {
            "error": "pull: the shoe is jammed",
            "kind": "refused",
        }
        assert not (await caller.does("free"))["shoe"]["jammed"]
        assert (await caller.does("fault", drop=0.5, delay_s=0.1))["shoe"]["fault"] == {"drop": 0.5}
        assert {line.faults for line in bench.lines} == {Faults(drop=0.5, delay_s=0.1)}
        assert (await caller.does("clean_line"))["shoe"]["fault"] == {}
        assert not (await caller.does("unplug"))["shoe"]["plugged"]
        assert not (tmp_path / "shoe").is_symlink()
        again = await caller.does("unplug")
        assert again == {"error": "unplug: the shoe is unplugged already", "kind": "refused"}
        assert (await caller.does("replug"))["shoe"]["plugged"]
        assert (tmp_path / "shoe").is_symlink()
        lens = await caller.does("dirty_lens", misread=1, seed=5)
        assert lens["shoe"]["dirty_lens"] == {"misread": 1, "unsure": 0.0, "seed": 5}
        assert (await caller.does("pull"))["reported"][0]["confidence"] == 0
        loaded = await caller.does("new_shoe", seed=3)
        assert [event["type"] for event in loaded["reported"]] == ["shoe_loaded"]
        assert (await caller.does("power_off"))["shoe"]["powered"] is False
        lost = await caller.does("pull")
        assert (lost["reported"], lost["shoe"]["drawn"], len(lost["cards"])) == ([], 0, 1)
        assert (await caller.does("firmware", version="2.0"))["reported"] == []


async def test_cards_are_pulled_all_or_none(tmp_path: Path) -> None:
    async with served_shoe(tmp_path) as bench, calling(tmp_path) as caller:
        shoe = bench.rig.device.shoe
        assert shoe.cards is not None
        for how in ("as_one", "unordered"):
            one = await caller.does("pull", how=how)
            assert one["error"] == "pull: one pull is of 2 to 4 cards, not 1"
        await caller.does("power_off")
        while (before := shoe.cards.cut_at - shoe.drawn) > 2:
            assert len((await caller.does("pull", cards=min(4, before - 2)))["cards"]) > 0
        refused = await caller.does("pull", cards=3)
        assert refused["error"] == "pull: the cutting card lies behind 2 of them"
        assert shoe.cards.cut_at - shoe.drawn == 2
        assert len((await caller.does("pull", cards=2))["cards"]) == 2
        await caller.does("power_on")
        while shoe.remaining > 2:
            await caller.does("pull", cards=min(4, shoe.remaining - 2))
        await caller.does("power_off")
        refused = await caller.does("pull", cards=3)
        assert (refused["error"], shoe.remaining) == ("pull: 2 cards are left", 2)


async def test_a_folder_that_another_process_locks_is_told(tmp_path: Path) -> None:
    async with served_shoe(tmp_path) as bench:
        fd = os.open(tmp_path, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            with pytest.raises(PortFault, match="is held by another process: try again"):
                async with controlled(tmp_path / "other.ctl", bench):
                    pass
        finally:
            os.close(fd)


async def test_a_frozen_shoe_lets_nobody_draw_until_it_thaws(tmp_path: Path) -> None:
    async with served_shoe(tmp_path, "angel_eye") as bench, calling(tmp_path) as caller:
        assert (await caller.does("freeze"))["shoe"]["frozen"]
        again = await caller.does("freeze")
        assert again == {"error": "freeze: the shoe is frozen already", "kind": "refused"}
        fd = opened(bench)
        try:
            assert (await caller.does("wait", until="host"))["shoe"]["drawn"] == 0
            with pytest.raises(BlockingIOError):
                os.read(fd, 1)
            assert not (await caller.does("thaw"))["shoe"]["frozen"]
            await caller.does("wait", until="drawn", count=1)
        finally:
            os.close(fd)
        again = await caller.does("thaw")
        assert again == {"error": "thaw: the shoe is not frozen", "kind": "refused"}


async def test_a_port_that_cannot_be_made_again_is_told_and_the_shoe_stays(tmp_path: Path) -> None:
    async with served_shoe(tmp_path), calling(tmp_path) as caller:
        await caller.does("unplug")
        (tmp_path / "shoe").write_text("something else")
        refused = await caller.does("replug")
        assert refused["kind"] == "environment"
        assert refused["error"].startswith(f"replug: {tmp_path}/shoe: there is a file of this name")
        (tmp_path / "shoe").unlink()
        assert (await caller.does("replug"))["shoe"]["plugged"]


async def test_a_wait_returns_when_it_is_so_and_lets_others_change_things_meanwhile(
    tmp_path: Path,
) -> None:
    async with (
        served_shoe(tmp_path) as bench,
        calling(tmp_path) as waiting,
        calling(tmp_path) as caller,
    ):
        waiting.asks("wait", until="host")
        assert (await caller.does("status"))["shoe"]["host"] is False
        fd = opened(bench)
        try:
            assert (await waiting.answer())["shoe"]["connections"] == 1
            waiting.asks("wait", until="no_host")
            await caller.does("unplug")
            assert (await waiting.answer())["shoe"]["host"] is False
        finally:
            os.close(fd)
        waiting.asks("wait", until="drawn", count=2)
        await caller.does("pull", cards=2)
        assert (await waiting.answer())["shoe"]["drawn"] == 2
        for asked, why in (
            ({"until": "host"}, "wait: no host opened the port in 0 s"),
            ({"until": "drawn", "count": 9}, "wait: so many cards were not drawn in 0 s: 2 of 9"),
        ):
            late = await caller.does("wait", **asked, within_s=0)
            assert late == {"error": why, "kind": "not_in_time"}


async def test_the_dealer_rests_deals_and_takes_the_time_it_is_told(tmp_path: Path) -> None:
    async with served_shoe(tmp_path, "angel_eye") as bench, calling(tmp_path) as caller:
        await caller.does("rest")
        fd = opened(bench)
        try:
            assert (await caller.does("wait", until="host"))["shoe"]["drawn"] == 0
            await caller.does("pace", ms=1)
            await caller.does("deal")
            assert (await caller.does("wait", until="drawn", count=5))["shoe"]["drawn"] >= 5
        finally:
            os.close(fd)
        refused = await caller.does("wait", until="acknowledged")
        assert refused["error"] == "wait: a shoe of profile angel_eye gets no acknowledgements"


async def test_where_a_scenario_has_the_hands_and_the_cards_it_keeps_them(tmp_path: Path) -> None:
    async with served_shoe(tmp_path) as bench:
        bench.rig.dealer = None
        scene = ShoeBench(bench.rig, bench.lines)
        async with controlled(tmp_path / "scene.ctl", scene):
            reader, writer = await asyncio.open_unix_connection(tmp_path / "scene.ctl")
            caller = Caller(reader, writer)
            for name, arguments, why in (
                ("rest", {}, "the hands of the scenario draw, and nobody else"),
                ("deal", {}, "the hands of the scenario draw, and nobody else"),
                ("pace", {"ms": 5}, "the hands of the scenario draw, and nobody else"),
                ("new_shoe", {}, "the scenario has the cards"),
            ):
                answer = await caller.does(name, **arguments)
                assert answer == {"error": f"{name}: {why}", "kind": "refused"}
            assert (await caller.does("button"))["did"] == "button"
            writer.close()


async def test_the_line_s_faults_strike_what_a_host_reads(tmp_path: Path) -> None:
    async with served_shoe(tmp_path) as bench, calling(tmp_path) as caller:
        await caller.does("fault", flip=1)
        session = profile("reference").host_session(resume=None, settings={})
        fd = opened(bench)
        try:
            await caller.does("wait", until="host")
            os.write(fd, session.outgoing())
            struck: dict[str, int] = {}
            while not struck:
                struck = (await caller.does("status"))["shoe"]["struck"]
            assert set(struck) == {"flip"}
        finally:
            os.close(fd)


WRONG = {
    "unplug": 'expected a JSON object on one line, such as {"do": "unplug"}',
    "[1]": "expected a JSON object on one line",
    "\xff": "expected a JSON object on one line",
    "{}": "do: missing, expected one of unplug, replug, pull",
    '{"do": "kick"}': "do: expected one of unplug, replug, pull",
    '{"do": 1}': "do: expected one of",
    '{"do": "button", "number": 0}': "button.number: expected a whole number from 1 to 255, not 0",
    '{"do": "button", "number": "3"}': "button.number: expected a whole number from 1 to 255",
    '{"do": "button", "x": 1}': "button.x: unknown key, expected one of number",
    '{"do": "jam", "x": 1}': "jam.x: unknown key, jam takes no arguments",
    '{"do": "fault"}': "fault: expected one or more of split, merge, drop",
    '{"do": "fault", "drop": 2}': "fault.drop: expected a number from 0 to 1, not 2",
    '{"do": "fault", "drop": NaN}': "fault.drop: expected a number from 0 to 1, not nan",
    '{"do": "clock_drift"}': "clock_drift.ppm: missing, expected a whole number from -1,000,000",
    '{"do": "firmware", "digest": "ab"}': "firmware.digest: expected 64 hex digits, not 'ab'",
    '{"do": "error", "code": "x", "stops": 1}': "error.stops: expected true or false, not 1",
}


async def test_a_wrong_line_is_answered_with_what_where_and_what_was_expected(
    tmp_path: Path,
) -> None:
    async with served_shoe(tmp_path), calling(tmp_path) as caller:
        for line, why in WRONG.items():
            answer = await caller.says(line.encode("latin-1") + b"\n")
            assert (answer["kind"], answer["error"][: len(why)]) == ("usage", why)
        assert (await caller.does("status"))["did"] == "status"


async def test_a_line_too_long_and_one_connection_too_many_are_told_and_hung_up_on(
    tmp_path: Path,
) -> None:
    async with served_shoe(tmp_path):
        async with calling(tmp_path) as caller:
            answer = await caller.says(b"x" * (LONGEST_LINE + 10))
            assert answer == {"error": "a line may hold 65,536 bytes", "kind": "usage"}
            assert await caller.is_hung_up()
        reached = [await asyncio.open_unix_connection(tmp_path / "shoe.ctl") for _ in range(17)]
        answers = [asyncio.create_task(reader.readline()) for reader, _ in reached]
        async with asyncio.timeout(PATIENCE_S):
            done, waiting = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
        (turned_away,) = done
        assert b"16 connections are open" in turned_away.result()
        assert len(waiting) == MOST_CONNECTIONS
        for _, writer in reached:
            writer.close()
        await asyncio.gather(*waiting)


NAMES = sorted({key for each in CHANGES.values() for key in each.arguments} | {"x"})
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


@given(
    st.sampled_from(sorted(CHANGES)),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3),
)
def test_any_arguments_are_read_or_refused_in_one_line(
    name: str, arguments: dict[str, object]
) -> None:
    read, why = None, ""
    try:
        read = read_change(name, arguments)
    except Wrong as wrong:
        why = str(wrong)
    assert (read is None) == bool(why)
    assert why.startswith(name) or read is not None
    assert "\n" not in why
    if read is not None:
        assert read.keys() == CHANGES[name].arguments.keys()
        assert all(value is None or read[key] == value for key, value in arguments.items())


def test_each_change_has_an_example_that_is_right() -> None:
    for name, change in CHANGES.items():
        given_as = dict(pair.split("=") for pair in change.example.split())
        known = change.arguments
        read_change(name, {key: known[key].of_text(text) for key, text in given_as.items()})
        assert change.about.endswith(".")
