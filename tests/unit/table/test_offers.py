"""What is offered is taken, and what is taken is offered: commands, choices, reasons, positions.

Every place of the sessions, and every place that a search finds with something open.
"""

from __future__ import annotations

import functools

import pytest

from shoe_ctl.table import positions
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import TableCommand
from shoe_testing.generators import inputs
from shoe_testing.places import Place, of_one_round, places
from shoe_testing.search import (
    Search,
    Way,
    accepted,
    assert_choices_ask_what_they_want,
    shown,
    ways,
)

SPARSE = 131
"""Of so many places one is looked at: all of them take minutes."""

SPARSES = [SPARSE, pytest.param(7, marks=[pytest.mark.slow, pytest.mark.exhaustive(cpu_s=15)])]


def every_offer_is_taken(place: Place) -> None:
    """From the position that it names, with what it says and no more."""
    for offer in shown(place)["takes"]:
        command, position = offer["command"], offer["position"]
        taken = accepted(place, command, ways(place.at, command), position=position)
        assert taken, (place, offer)
        if command == "decide":  # of which each choice says what it wants
            continue
        unreasoned = accepted(place, command, taken, position=position, reason=None)
        assert bool(unreasoned) is ("reason" not in offer), (offer, taken)
        alone = accepted(place, command, taken, position=position, consented_by=None)
        assert bool(alone) is ("second_person" not in offer), (offer, taken)
        lower = positions.LADDER[: positions.POSITIONS.index(position)]
        if position in positions.LADDER and lower:
            assert not accepted(place, command, taken, position=lower[-1]), offer


def all_taken_is_offered(place: Place) -> None:
    offered = {offer["command"] for offer in shown(place)["takes"]}
    for command, happened in inputs(place.at):
        if isinstance(happened, TableCommand) and command not in offered:
            (answer,) = (e for e in place.table().feed(happened) if isinstance(e, Answer))
            assert not answer.accepted, (place, happened)


def unseen(way: Way) -> None:
    """Other tests look at the ways there."""


@functools.cache
def open_places() -> list[Place]:
    """Whatever may halt a round, at every step."""
    search = Search(1)
    search.run(of_one_round(method="A")[:12], unseen)
    return search.places


@pytest.mark.parametrize("sparse", SPARSES)
def test_every_command_that_is_offered_is_taken_from_the_position_that_it_names(
    sparse: int,
) -> None:
    for place in places()[::sparse]:
        every_offer_is_taken(place)


@pytest.mark.parametrize("sparse", SPARSES)
def test_every_command_that_is_taken_is_offered(sparse: int) -> None:
    for place in places()[::sparse]:
        all_taken_is_offered(place)


def test_every_choice_that_nothing_is_said_against_is_taken_as_it_says() -> None:
    for place in open_places():
        assert_choices_ask_what_they_want(place)


def test_in_a_halt_what_is_offered_is_taken_and_what_is_taken_is_offered() -> None:
    for place in open_places()[::13]:
        every_offer_is_taken(place)
        all_taken_is_offered(place)
