"""The index of ``shoectl explain`` is the one that the shipped scenarios give."""

from __future__ import annotations

import pytest

from shoe_testing.bench import played_once
from simulators.table.scenario import shipped
from tools import explained_scenarios as made


@pytest.mark.slow
async def test_the_committed_index_is_the_generated_one() -> None:
    played = {name: (await played_once(name)) for name in shipped()}
    taken = {name: made.lines_taken(each.bench) for name, each in played.items()}
    titles = {name: each.scenario.title for name, each in played.items()}
    assert made.INDEX.read_text("utf-8") == made.index(taken, titles), "run `make docs`"


async def test_a_scenario_takes_the_lines_that_its_story_tells() -> None:
    played = await played_once("link_lost_resumes")
    taken = made.lines_taken(played.bench)
    assert {("link_lost", "cards"), ("halt_ended", "suspended"), ("settle", "resolved")} <= taken
    assert ("gap", "cards") not in taken
