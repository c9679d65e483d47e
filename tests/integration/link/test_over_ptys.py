"""Whole shoes over real ptys: the shoe in a process of its own, the real daemon, real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_testing.config import write_config
from shoe_testing.daemon import ToldEvents, nothing_is_wrong_with, serving, shoe_process
from shoe_testing.rounds import all_agree, lines_of, of_type, once_each, read_rounds

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]


@pytest.mark.parametrize(
    "seed", [4, *(pytest.param(n, marks=pytest.mark.exhaustive(cpu_s=1.3)) for n in range(4))]
)
@pytest.mark.parametrize("profile", ["reference", "angel_eye", "bee_tek"])
async def test_the_sinks_are_told_every_round_as_it_was_dealt(
    tmp_path: Path, profile: str, seed: int
) -> None:
    fa_fa = profile == "reference" and seed == 4
    game, deck = ("fa_fa_fabulous_4", "element65") if fa_fa else ("tiger", "french52")
    told = ToldEvents()
    async with shoe_process(tmp_path, profile, seed=seed, game_deck=deck) as (port, truth):
        config = write_config(tmp_path, port, profile=profile, game=game)
        async with serving(config, told):
            await told.until(lambda: bool(told.data("shoe.change_due")))
        dealt_rounds = read_rounds(lines_of(truth))
    public = lines_of(tmp_path / "public.jsonl")
    restricted = lines_of(tmp_path / "restricted.jsonl")
    assert public == once_each(public) == told.events
    assert restricted == once_each(restricted)
    for stream in (public, restricted):
        all_agree(of_type(stream, "round.outcome"), dealt_rounds)
        assert not of_type(stream, "table.halted")
    assert nothing_is_wrong_with(tmp_path / "journal.db") == len(dealt_rounds) > 60


async def test_over_a_bad_cable_every_round_is_told_as_it_was_dealt(tmp_path: Path) -> None:
    told = ToldEvents()
    bad = "drop=0.02,flip=0.01,unplug=0.002"
    async with shoe_process(tmp_path, "reference", seed=7, game_deck="french52", fault=bad) as (
        port,
        truth,
    ):
        config = write_config(tmp_path, port)
        async with serving(config, told):
            await told.times(12, "round.outcome")
        dealt_rounds = read_rounds(lines_of(truth))
    public = lines_of(tmp_path / "public.jsonl")
    outcomes = of_type(once_each(public), "round.outcome")
    assert len(outcomes) >= 12
    all_agree(outcomes, dealt_rounds[: len(outcomes)])
    discarded = of_type(lines_of(tmp_path / "restricted.jsonl"), "frame.discarded")
    assert discarded, "the cable was not bad"
    assert nothing_is_wrong_with(tmp_path / "journal.db") >= 12
