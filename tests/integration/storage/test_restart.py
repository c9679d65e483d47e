"""The daemon stops in mid-round and starts again on its journal, while the shoe stays."""

from __future__ import annotations

import asyncio
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.verify import verify
from shoe_ctl.records import Audience
from shoe_testing.config import write_config
from shoe_testing.daemon import (
    PATIENCE_S,
    ShoeAtTable,
    ToldEvents,
    command,
    nothing_is_wrong_with,
    runner,
    serving,
)
from shoe_testing.programs import daemon_process
from shoe_testing.rounds import all_agree, lines_of, of_type, once_each

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

STOPS = [(2, "player", 1), (3, "banker", 1), (4, "player", 2), (5, "banker", 2)]
"""The last cards drawn before each stop."""


def config_for(folder: Path, profile: str) -> Path:
    return write_config(folder, str(folder / "shoe"), profile=profile, decks=4)


def streams(folder: Path) -> list[list[dict[str, Any]]]:
    """Both streams as a receiver takes them: each id once, contiguous."""
    return [once_each(lines_of(folder / f"{name}.jsonl")) for name in ("public", "restricted")]


def every_round_was_told(folder: Path, shoe: ShoeAtTable, halted_by: set[str]) -> None:
    public, restricted = streams(folder)
    for stream in (public, restricted):
        all_agree(of_type(stream, "round.outcome"), shoe.rounds)
    drawn = [(data["number"], data["card"]) for data in of_type(restricted, "round.card_drawn")]
    assert drawn == shoe.truth.cards
    halts = of_type(public, "table.halted")
    assert {halt["reason"] for halt in halts} == halted_by
    assert len(of_type(public, "table.resumed")) == len(halts)
    assert nothing_is_wrong_with(folder / "journal.db") == len(shoe.rounds)


async def test_a_round_goes_on_where_the_daemon_was_stopped(tmp_path: Path) -> None:
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=31) as shoe:
        for stop in STOPS:
            shoe.rest_at(*stop)
            async with serving(config_for(tmp_path, "reference"), told):
                shoe.go_on()
                await shoe.rests()
                await told.times(len(shoe.truth.cards), "round.card_dealt")
            assert len(told.data("round.outcome")) == stop[0] - 1
        async with serving(config_for(tmp_path, "reference"), told):
            shoe.go_on()
            await told.times(1, "shoe.change_due")
        every_round_was_told(tmp_path, shoe, {"link_lost"})
    assert len(told.data("table.halted")) == len(STOPS)


async def test_cards_drawn_while_no_daemon_ran_are_dealt_when_it_is_back(tmp_path: Path) -> None:
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=32) as shoe:
        for stop in STOPS:
            shoe.rest_at(*stop)
            async with serving(config_for(tmp_path, "reference"), told):
                shoe.go_on()
                await shoe.rests()
                await told.times(len(shoe.truth.cards), "round.card_dealt")
                armed = shoe.rig.device.shoe.drawn + 1
                await shoe.armed_for(armed)
            shoe.go_on()  # the shoe was armed for one more card: it comes out unheard
            assert shoe.rig.device.shoe.drawn == armed
        async with serving(config_for(tmp_path, "reference"), told):
            await told.times(1, "shoe.change_due")
        every_round_was_told(tmp_path, shoe, {"link_lost"})


@pytest.mark.parametrize("times", [2, pytest.param(6, marks=pytest.mark.exhaustive(cpu_s=4))])
async def test_a_daemon_killed_at_any_moment_loses_and_doubles_nothing(
    tmp_path: Path, seed: int, times: int
) -> None:
    """Killed as a card leaves the shoe: before it is read, while it is stored, or after."""
    config = config_for(tmp_path, "reference")
    kills = sorted(random.Random(seed).sample(range(2, 170), times))
    over = asyncio.Event()
    with ShoeAtTable(tmp_path, "reference", seed=33) as shoe:
        for kill_at in kills:
            async with daemon_process(config) as process:
                shoe.on_card = lambda cards, at=kill_at, p=process: cards == at and p.kill()  # type: ignore[misc]
                async with asyncio.timeout(PATIENCE_S):
                    assert await process.wait() == -signal.SIGKILL
        shoe.on_card = lambda _: over.set() if shoe.dealer.at_end else None
        async with daemon_process(config) as process, asyncio.timeout(PATIENCE_S):
            await over.wait()
            while "shoe.change_due" not in (tmp_path / "public.jsonl").read_text():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            process.terminate()
            assert await process.wait() == 0
        public, restricted = streams(tmp_path)
        assert len(of_type(public, "shoe.lost")) == len(kills)
        for stream in (public, restricted):
            all_agree(of_type(stream, "round.outcome"), shoe.rounds)
        every_round_was_told(tmp_path, shoe, {"link_lost"})


async def test_a_host_that_lost_power_in_a_round_halts_until_a_person_rules(
    tmp_path: Path,
) -> None:
    told = ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=34) as shoe:
        shoe.rest_at(3, "player", 2)
        async with serving(config_for(tmp_path, "reference"), told):
            await shoe.rests()
            await told.times(len(shoe.truth.cards), "round.card_dealt")
        async with serving(config_for(tmp_path, "reference"), told, host_boot="boot-2") as daemon:
            await told.times(2, "shoe.connected")
            assert told.data("table.halted") == [{"reason": "power_failure"}]
            assert runner(daemon).controller.state.state == "suspended"
            assert told.data("table.resumed") == []
            ruled = await command(daemon, "c1", "decide", choice="play_on")
            assert ruled.answer.accepted
            shoe.go_on()
            await told.times(1, "shoe.change_due")
        every_round_was_told(tmp_path, shoe, {"power_failure"})


async def test_an_angel_eye_round_is_not_resumed_by_a_restart(tmp_path: Path) -> None:
    told = ToldEvents()
    config = config_for(tmp_path, "angel_eye")
    with ShoeAtTable(tmp_path, "angel_eye", seed=35) as shoe:
        shoe.rest_at(2, "banker", 2)
        async with serving(config, told, sees=Audience.RESTRICTED):
            await shoe.rests()
            await told.times(1, "round.outcome")  # the first round's totals come before it
            await told.until(lambda: told.events[-1]["type"] == "round.total_announced")
        shoe.rest_after(3)
        async with serving(config, told, sees=Audience.RESTRICTED) as daemon:
            shoe.go_on()
            await shoe.rests()
            await told.times(2, "shoe.not_aligned")
            assert [halt["reason"] for halt in told.data("table.halted")] == ["link_lost"]
            await told.times(1, "irregularity.step")
            assert len(told.data("round.outcome")) == 1
            ended = await command(daemon, "c1", "decide", choice="void")
            assert ended.answer.accepted
            shoe.go_on()
            await told.times(1, "shoe.change_due")
        all_agree(told.data("round.outcome"), [shoe.rounds[0], *shoe.rounds[3:]])
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_a_daemon_that_was_stopped_leaves_nothing_unsigned(tmp_path: Path) -> None:
    told = ToldEvents()
    config = config_for(tmp_path, "reference")
    with ShoeAtTable(tmp_path, "reference", seed=36) as shoe:
        shoe.rest_at(2, "player", 2)
        async with serving(config, told):
            await shoe.rests()
            await told.times(len(shoe.truth.cards), "round.card_dealt")
    with Reader.open(tmp_path / "journal.db") as reader:
        first = verify(reader)
    assert first.ok
    assert first.last_n == first.signed.upto + 1
    (tmp_path / "journal.db-key").unlink()
    with pytest.raises(JournalError, match=r"journal\.db-key is missing"):
        async with serving(config, told):
            pass
