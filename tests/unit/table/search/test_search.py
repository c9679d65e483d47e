"""Never a state with no way out: the reachable table searched, and left again from every place."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from random import Random

import pytest

from shoe_ctl.table.inputs import TableCommand
from shoe_testing.invariants import assert_transition
from shoe_testing.places import Place, of_one_round, places
from shoe_testing.search import (
    Search,
    Way,
    assert_choices_ask_what_they_want,
    assert_put_right_everywhere,
    put_right_table,
)
from shoe_testing.staff import at, plays_out

DEEPEST = 2
"""An irregularity inside an irregularity."""

SPARSE = 10
"""Of so many places found by the short search one is left again."""

FEW = 12
"""So far into a round: some cards are out, and Players have wagers."""


def sound(way: Way) -> None:
    assert_transition(way.before.now, way.table.now, way.effects)
    if not isinstance(way.happened, TableCommand):
        seen_first(way)


def seen_first(way: Way) -> None:
    """What nobody says reveals a card that lies open: one exposed, or dealt so a while ago."""
    before, table = way.before.now, way.table
    was = {} if before.round is None else {(d.hand, d.index): d for d in before.round.cards}
    exposed = before.halt is not None and before.halt.current.key == "misread"
    for dealt in () if table.now.round is None else table.now.round.cards:
        slot = (dealt.hand, dealt.index)
        if not dealt.revealed or (slot in was and was[slot].revealed):
            continue
        if at(table).faces == "face_up":
            waits_us = table.settings.face_up_after_ms * 1000
            assert dealt.drawn_us + waits_us <= table.now.t_us, dealt
        else:
            assert exposed and was[slot].card is None, dealt


def searched(start: list[Place], deepest: int) -> Search:
    search = Search(deepest)
    search.run(start, sound)
    sys.stdout.write(f"places {search.deep}, inputs {search.tried}, ends {len(search.reached)}\n")
    sys.stdout.write("\n".join((*put_right_table(search), "")))
    return search


@functools.cache
def two_deep() -> Search:
    """From everywhere: every game, method, shoe and way to announce."""
    return searched(list(places()), DEEPEST)


def leads_out(found: list[Place]) -> None:
    """Staff who do what the status says is next, and know nothing else, end the round."""
    for place in found:
        plays_out(place.table())


def test_one_deep_every_place_has_a_way_out_of_it() -> None:
    search = searched(of_one_round(method="A")[:FEW], 1)
    assert search.deep[1] > 200
    leads_out(search.places)


def test_one_deep_whatever_lies_open_can_be_corrected_and_what_was_declared_taken_back() -> None:
    search = searched(of_one_round(method="A")[FEW:], 1)
    assert_put_right_everywhere(search)
    taken = Counter(one.command for one in search.put_right if one.taken)
    assert taken["correct_card"] > 300
    assert taken["retract"] > 30


def test_two_deep_from_some_places_every_input_leaves_the_table_whole_and_there_is_a_way_out(
    seed: int,
) -> None:
    start = of_one_round(method="A")
    search = searched(Random(seed).sample(start, 1), DEEPEST)
    assert search.deep.get(2)
    leads_out(search.places[::SPARSE])


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=60)
def test_two_deep_every_input_leaves_the_table_whole_and_every_end_is_reached() -> None:
    search = two_deep()
    assert search.deep[2] > 1000
    assert search.never_reached == set()


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=65)
def test_two_deep_every_place_has_a_way_out_of_it() -> None:
    leads_out(two_deep().places)


@pytest.mark.soak
def test_three_deep_every_place_has_a_way_out_of_it() -> None:
    search = searched(of_one_round(method="A"), DEEPEST + 1)
    assert search.deep[3] > 100
    leads_out(search.places)


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=65)
def test_two_deep_whatever_lies_open_can_be_corrected_and_what_was_declared_taken_back() -> None:
    assert_put_right_everywhere(two_deep())


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=65)
def test_two_deep_every_choice_is_taken_or_says_what_stands_against_it() -> None:
    for place in two_deep().places:
        assert_choices_ask_what_they_want(place)
