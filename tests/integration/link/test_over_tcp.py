"""A table whose shoe is a process behind TCP, as ``shoe-sim serve --port tcp:...`` serves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_testing.config import write_config
from shoe_testing.daemon import ToldEvents, nothing_is_wrong_with, serving, shoe_process
from shoe_testing.rounds import all_agree, lines_of, of_type, once_each, read_rounds

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]


@pytest.mark.parametrize("profile", ["reference", "angel_eye"])
async def test_a_whole_shoe_behind_tcp_is_told_as_it_was_dealt(
    tmp_path: Path, profile: str
) -> None:
    told = ToldEvents()
    async with shoe_process(
        tmp_path, profile, seed=5, game_deck="french52", port="tcp:127.0.0.1:0"
    ) as (port, truth):
        assert port.startswith("tcp://127.0.0.1:")
        async with serving(write_config(tmp_path, port, profile=profile), told):
            await told.times(1, "shoe.change_due")
    rounds = read_rounds(lines_of(truth))
    assert len(rounds) > 60
    all_agree(told.data("round.outcome"), rounds)
    public = lines_of(tmp_path / "public.jsonl")
    assert once_each(public) == public
    assert not of_type(public, "table.halted")
    assert nothing_is_wrong_with(tmp_path / "journal.db") == len(rounds)
