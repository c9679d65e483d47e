"""Whole shoes in process, many seeds: every round as the simulator dealt and judged it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from firmware_proto.events import Lock, Reply
from shoe_ctl.records import Audience
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.inputs import ShoeSaid, from_bytes, to_bytes
from shoe_testing.bench import DealtTable, game_of
from shoe_testing.examples import sampled
from shoe_testing.rounds import all_agree, counts, read_rounds
from simulators.faults import Faults, FaultyLine

SEEDS = 100
"""So many shoes of each profile."""

OFTEN = 10
"""Of the first seeds one of each game of each profile is dealt in every run, and two sets once."""

GAMES = {
    "reference": (
        *("tiger", "fa_fa_fabulous_4", "tiger", "dragon_tiger_no_commission"),
        *("tiger", "immortal_dragon_tiger", "fa_fa_fabulous_4", "dragon_bonus_royal"),
    ),
    "angel_eye": (
        *("tiger", "dragon_tiger_no_commission", "tiger", "immortal_dragon_tiger"),
        *("tiger", "dragon_bonus_royal"),
    ),
    "bee_tek": ("tiger", "immortal_dragon_tiger", "dragon_bonus_royal"),
}
"""In rotation by seed; the suits of ``element65`` only the reference profile can name."""

SEEN_AFTER_MS = (0, 50, 300)
PACE_S = 0.35
"""Longer than any of them: a shoe that nobody arms is dealt on whatever the table has seen."""

FAULTS = Faults(split=0.2, merge=0.1, drop=0.02, flip=0.02, repeat=0.05, delay=0.1, unplug=0.01)

SPOKEN = (
    *("round.opened", "round.bets_closed", "round.card_dealt", "round.card_revealed"),
    *("round.total_announced", "round.outcome", "round.settled"),
)


def dealt_table(profile_name: str, seed: int) -> DealtTable:
    games = GAMES[profile_name]
    sets = 2 if seed % 10 == 9 else 1
    table = DealtTable(
        game_of(games[seed % len(games)]),
        profile_name,
        seed,
        sets=sets,
        pace_s=PACE_S,
        face_up_after_ms=SEEN_AFTER_MS[seed % len(SEEN_AFTER_MS)],
    )
    table.deal(sets)
    return table


def hold_to_the_truth(table: DealtTable) -> None:
    truth = table.device.truth
    outcomes = table.of_type("round.outcome")
    all_agree(outcomes, read_rounds(truth.lines))
    assert len(outcomes) > 60
    drawn = [(data["number"], data["card"]) for data in table.of_type("round.card_drawn")]
    assert drawn == truth.cards
    shoe = table.controller.state.shoe
    assert shoe is not None
    begun = max(i for i, (number, _) in enumerate(truth.cards) if number == 1)
    assert shoe.counts == counts(code for _, code in truth.cards[begun:])
    assert (shoe.drawn, shoe.unknown) == (sum(shoe.counts.values()), 0)
    cutting_cards = table.count["shoe.change_due"]
    assert table.count["irregularity.raised"] == cutting_cards + table.count["table.halted"]
    assert table.count["table.halted"] == table.count["table.resumed"]
    assert not {"round.void", "shoe.fault"} & set(table.count)
    each_round_is_told_in_order(table.told)


def each_round_is_told_in_order(told: list[TableEvent]) -> None:
    """Bets, then as many cards seen as dealt, the first four before any total, then the outcome."""
    rounds: dict[str | None, list[str]] = {}
    for event in told:
        if event.type in SPOKEN and event.audience is Audience.PUBLIC:
            rounds.setdefault(event.subject, []).append(event.type)
    for kinds in rounds.values():
        cards = kinds.count("round.card_dealt")
        assert 4 <= cards <= 6
        assert kinds.count("round.card_revealed") == cards
        assert kinds[:3] == ["round.opened", "round.bets_closed", "round.card_dealt"]
        totals = kinds.index("round.total_announced")
        assert kinds[:totals].count("round.card_revealed") == 4
        assert kinds[:totals].count("round.card_dealt") == 4
        assert kinds[-2:] == ["round.outcome", "round.settled"]


def _every_shoe() -> Iterator[Any]:
    """All of them; those that are not dealt in every run are exhaustive tests."""
    for profile_name, games in GAMES.items():
        for seed in range(SEEDS):
            often = games.index(games[seed % len(games)]) == seed or seed == OFTEN - 1
            marks = [] if often else [pytest.mark.exhaustive(cpu_s=0.35)]
            yield pytest.param(profile_name, seed, id=f"{profile_name}-{seed}", marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize(("profile_name", "seed"), tuple(_every_shoe()))
def test_every_round_of_a_whole_shoe_agrees_with_how_it_was_dealt(
    profile_name: str, seed: int
) -> None:
    table = dealt_table(profile_name, seed)
    hold_to_the_truth(table)
    assert not table.count["table.halted"]


@pytest.mark.parametrize("seed", range(3))
def test_an_angel_eye_shoe_that_is_told_is_open_for_each_card_and_locked_between(seed: int) -> None:
    """It cannot be armed for one draw: it is unlocked whenever one is due, and locked when not."""
    table = DealtTable(
        game_of("tiger"),
        "angel_eye",
        seed,
        pace_s=PACE_S,
        face_up_after_ms=SEEN_AFTER_MS[2],
        session_settings={"commands": True},
    )
    table.deal()
    hold_to_the_truth(table)
    said = [happened.event for happened in table.inputs if isinstance(happened, ShoeSaid)]
    rounds = table.count["round.outcome"]
    assert sum(event == Lock(locked=True) for event in said) >= rounds
    assert sum(event == Lock(locked=False) for event in said) >= rounds
    assert {event.accepted for event in said if isinstance(event, Reply)} == {True}
    assert table.device.refused == []
    assert table.device.shoe.locked_by_key


def dealt_over_bad_lines(seed: int) -> DealtTable:
    """A reference shoe behind a cable that splits, drops, flips, repeats, delays and comes off."""
    table = DealtTable(
        game_of("tiger"),
        "reference",
        seed,
        pace_s=PACE_S,
        face_up_after_ms=SEEN_AFTER_MS[seed % len(SEEN_AFTER_MS)],
        to_host=FaultyLine(seed, FAULTS),
        to_shoe=FaultyLine(seed + 1_000_000, FAULTS),
    )
    table.deal()
    return table


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(10), one_in=3, cpu_s=0.3))
def test_a_bad_line_changes_no_round_of_a_reference_shoe(seed: int) -> None:
    table = dealt_over_bad_lines(seed)
    hold_to_the_truth(table)
    assert table.count["table.resumed"] > 0
    assert table.count["frame.discarded"] > 0


@pytest.mark.parametrize("profile_name", GAMES)
def test_the_same_inputs_from_their_bytes_tell_the_same_again(profile_name: str) -> None:
    table = dealt_table(profile_name, 1)
    again = TableController(table.controller.game, table.controller.settings)
    told: list[TableEvent] = []
    for happened in table.inputs:
        effects = again.handle(from_bytes(to_bytes(happened)))
        told += [effect for effect in effects if isinstance(effect, TableEvent)]
    assert told == table.told
    assert again.state == table.controller.state


def test_a_reference_shoe_and_its_host_do_not_answer_one_another_without_end() -> None:
    """An arm and a card are confirmed once each; at rest only the interval's statuses come."""
    table = dealt_table("reference", 0)
    said = [getattr(happened, "event", happened).__class__.__name__ for happened in table.inputs]
    seconds = table.inputs[-1].t_us / 1e6
    assert said.count("Status") <= 2 * said.count("CardDrawn") + seconds / 2 + 2
    assert "Reply" not in said


@pytest.mark.soak
@pytest.mark.parametrize("profile_name", GAMES)
def test_seeds_without_number_agree_with_how_they_were_dealt(profile_name: str, seed: int) -> None:
    """Half of the time that the soak has, for each profile."""
    until = time.monotonic() + float(os.environ.get("SHOE_CTL_SOAK_S", "60")) / len(GAMES)
    number = SEEDS + seed * 1_000_000
    while time.monotonic() < until:
        try:
            hold_to_the_truth(dealt_table(profile_name, number))
            if profile_name == "reference":
                hold_to_the_truth(dealt_over_bad_lines(number))
        except BaseException as error:
            error.add_note(f"the shoe's seed was {number}")
            raise
        number += 1
