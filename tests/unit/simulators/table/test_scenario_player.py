"""Where a scenario cannot be played as it says, the step is named and what stood in its way."""

from __future__ import annotations

import pytest

from shoe_testing.bench import play_in_process
from simulators.table.scenario import parse
from simulators.table.scenario_player import step_words
from simulators.table.steps import Say


async def stuck_at(steps: str, table: str = 'game = "tiger"') -> str | None:
    text = f"""
version = 1
title = "One"
table = {{{table}}}
shoe = {{cards = "4D 7C 5S QH"}}
steps = [{steps}]
expect = ["round.opened"]
"""
    return (await play_in_process(parse(text.encode(), "one.toml", name="one")))[1]


@pytest.mark.parametrize(
    ("steps", "stuck"),
    [
        (
            '{say = "settle"}',
            "one: steps[0]: dealer: settle: it was refused: settle cannot be taken now (the table "
            "is idle) (needs state=resolved)",
        ),
        (
            '{say = "place_your_bets", refused = "state"}',
            "one: steps[0]: dealer: place_your_bets: it was accepted, and was to be refused",
        ),
        (
            '{say = "settle", refused = "position"}',
            "one: steps[0]: dealer: settle: it was refused for another reason: settle cannot be "
            "taken now (the table is idle) (needs state=resolved)",
        ),
        (
            '{say = "settle", refused = "other"}',
            "one: steps[0]: dealer: settle: it was refused for want of state: settle cannot be "
            "taken now (the table is idle)",
        ),
        (
            '{request = "applied", event = "round.outcome", reference = "a"}',
            "one: steps[0]: request: applied round.outcome: there is no event round.outcome yet",
        ),
        (
            '{request = "shoe", shoe_id = "t1-s1"}',
            "one: steps[0]: request: shoe: it was refused: refused_applied_not_kept: table t1 does "
            "not keep what was applied: set applied_within_s in its section",
        ),
        (
            '{request = "redeliver", refused = "sink_nothing_parked"}',
            "one: steps[0]: request: redeliver: it was taken, and was to be refused",
        ),
        (
            '{say = "settle", round = 1}',
            "one: steps[0]: dealer: settle: round 1 is not opened yet",
        ),
        (
            '{say = "place_your_bets"}, {wait = "round.void rule=5.3"}',
            "one: steps[1]: all wait for round.void rule=5.3: round.void rule=5.3 did not come "
            "(the table is betting)",
        ),
        (
            "{draw = 1}",
            "one: steps[0]: hand: draws 1: the shoe to be freed did not come (the table is idle)",
        ),
        (
            '{shoe_judges = "tie"}',
            "one: steps[0]: shoe: will judge the next round tie, whatever its cards are: a shoe of "
            "reference does not judge",
        ),
        (
            '{draw_early = 1}, {play = "round.settled"}',
            "one: steps[1]: all play until round.settled: round.settled did not come (the table "
            "is suspended, a card was drawn early)",
        ),
    ],
)
async def test_a_step_that_cannot_be_taken_is_named_with_its_reason(steps: str, stuck: str) -> None:
    assert await stuck_at(steps) == stuck


async def test_what_came_before_the_last_wait_is_not_waited_for_again() -> None:
    once = '{play = "round.bets_closed"}'
    assert await stuck_at(once) is None
    again = f'{once}, {{wait = "round.opened"}}'
    assert await stuck_at(again) is not None


async def test_play_ends_at_its_event_and_draws_nothing_after_it() -> None:
    dealt = '{play = "round.card_dealt hand=banker index=1"}'
    assert await stuck_at(f'{dealt}, {{wait = "round.card_dealt hand=player index=2"}}') is not None


def test_a_step_in_words_says_who_gives_it_why_and_who_consents() -> None:
    step = Say(
        command="decide",
        args={"choice": "enter", "card": "5D"},
        position="pit_supervisor",
        reason="it lies open",
        consented_by="lee",
    )
    assert step_words(step) == (
        'pit supervisor: decide choice=enter card=5D ("it lies open"), lee consents'
    )
