"""What is offered is taken, and what is taken is offered: commands, choices, reasons, positions.

Every place of the sessions, and every place that a search finds with something open.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from firmware_proto.cards import card
from shoe_ctl.errors import InputRefused
from shoe_ctl.games.table_of_play import next_hand
from shoe_ctl.table import positions
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.status import status
from shoe_testing.choices import At, decisions, declarations, spares
from shoe_testing.generators import ASKED, inputs
from shoe_testing.places import Place, of_one_round, places
from shoe_testing.possible_inputs import by_hand
from shoe_testing.search import Search, Way
from shoe_testing.tables import InEnglish

Args = dict[str, Any]

HANDS = ({"hand": "player"}, {"hand": "banker"})
PEOPLE: tuple[Args, ...] = (
    {}, *({"player": name} for name in ("ann", "ben", "cat")), {"seat": 1}, {"seat": 3},
)  # fmt: skip
SPARSE = 67
"""Of so many places one is looked at: all of them take minutes."""

SPARSES = [SPARSE, pytest.param(7, marks=[pytest.mark.slow, pytest.mark.exhaustive(cpu_s=15)])]


def answered(place: Place, command: str, args: Args, **more: Any) -> InEnglish:
    """The answer to this at the place, from whoever may, with a reason and a second person."""
    asked = {"reason": "r", "consented_by": "lee", "position": "gaming_shift_manager", **more}
    return place.table().asks(command, **asked, **args)


def accepted(place: Place, command: str, ways: Iterable[Args], **more: Any) -> list[Args]:
    """Those of the ways to give this command that are taken."""
    return [args for args in ways if answered(place, command, args, **more).accepted]


def ways(at: At, command: str) -> Iterator[Args]:
    """Ways to give this command: people, hands, wagers, cards that can be meant here."""
    yield from (args for named, args in ASKED if named == command)
    for hand, person in itertools.product(HANDS, PEOPLE):
        yield {**hand, **person}
        yield {**hand, "by": "dealer"}
    yield from PEOPLE
    yield from ({"method": method} for method in at.game.methods)
    yield from ({"what": what} for what in at.now.link.queries_known)
    yield from ({"key_id": 2}, {"text": "HELLO"}, {"number": None})
    for held in at.now.wagers.standing:
        of = {"player": held.player, "seat": held.seat, "wager": held.wager}
        yield of
        yield from ({**of, "amount": amount} for amount in (1, held.amount - 1) if amount > 0)
    for wager, seat in (("tie", 4), ("player", 1)):
        for player in ("cat", "ann"):
            yield {"player": player, "seat": seat, "wager": wager, "amount": 50}
    if command == "enter_round" and (hands := by_hand(at)) is not None:
        yield hands
    if command == "revise_round":
        yield from itertools.islice(complete_hands(at), 12)
    if command == "declare":
        yield from of_an_earlier_round(at)
    for named, found in (("decide", decisions(at)), ("declare", declarations(at))):
        if named == command:
            yield from ({n: v for n, v in args.items() if n != "position"} for args in found)


def of_an_earlier_round(at: At) -> Iterator[Args]:
    """A wager outside the limits that an earlier round settled."""
    low, high = at.settings.limits.of("tie")
    for key, amount in (("under_minimum", low - 1), ("over_maximum", (high or 0) + 1)):
        of = {"player": "ann", "seat": 1, "wager": "tie", "amount": amount}
        yield {"key": key, **of, "earlier": True}


def complete_hands(at: At) -> Iterator[Args]:
    """Two hands of two cards each that the Table of Play deals no card to."""
    for codes in itertools.permutations(spares(at)[:14], 4):
        hands = [[card(code) for code in codes[:2]], [card(code) for code in codes[2:]]]
        try:
            due = next_hand(*hands)
        except InputRefused:
            continue
        if due is None:
            yield {"player": " ".join(codes[:2]), "banker": " ".join(codes[2:])}


def shown(place: Place) -> dict[str, Any]:
    at = place.at
    return status(at.now, at.game, at.settings)


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


def choices_say_what_they_want(place: Place) -> None:
    """A choice that says nothing against it is taken, and one that does is refused."""
    held = shown(place)
    asks = (waiting.get("choices", []) for waiting in held["waiting"])
    choices = held["halt"]["choices"] if held["halt"] else list(itertools.chain(*asks))
    given = list(decisions(place.at)) if place.now.state in ("idle", "suspended") else []
    assert {c["choice"] for c in choices} == {g["choice"] for g in given}, place
    for choice in choices:
        own = [g for g in given if g["choice"] == choice["choice"]]
        ways = [{n: v for n, v in args.items() if n != "position"} for args in own]
        position = choice["position"]
        taken = accepted(place, "decide", ways, position=position)
        assert bool(taken) is ("not_now" not in choice), (place, choice)
        unreasoned = accepted(place, "decide", taken, position=position, reason=None)
        assert unreasoned == ([] if choice.get("reason") else taken), choice
        alone = accepted(place, "decide", taken, position=position, consented_by=None)
        assert alone == ([] if choice.get("second_person") else taken), choice


def unseen(way: Way) -> None:
    """Other tests look at the ways there."""


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
        choices_say_what_they_want(place)


def test_in_a_halt_what_is_offered_is_taken_and_what_is_taken_is_offered() -> None:
    for place in open_places()[::7]:
        every_offer_is_taken(place)
        all_taken_is_offered(place)
