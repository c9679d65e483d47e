"""What is offered is taken, and what is taken is offered: commands, choices, reasons, positions.

Every place of the sessions, and every place that a search finds with something open.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest

from shoe_ctl.table import positions
from shoe_ctl.table.effects import Answer
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.texts.catalogue import LANGUAGES, in_words
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
        for args in taken:
            assert_was_listed(args, asked_of(place, offer, args), place)
        if command == "decide":  # of which each choice says what it wants
            continue
        unreasoned = accepted(place, command, taken, position=position, reason=None)
        assert bool(unreasoned) is ("reason" not in offer), (offer, taken)
        alone = accepted(place, command, taken, position=position, consented_by=None)
        assert bool(alone) is ("second_person" not in offer), (offer, taken)
        lower = positions.LADDER[: positions.POSITIONS.index(position)]
        if position in positions.LADDER and lower:
            assert not accepted(place, command, taken, position=lower[-1]), offer


def asked_of(place: Place, offer: dict[str, Any], args: dict[str, Any]) -> list[dict[str, Any]]:
    """The arguments that the status lists for this command, key or choice."""
    listed = list(offer.get("arguments", []))
    if offer["command"] == "declare":
        (key,) = (one for one in offer["keys"] if one["key"] == args["key"])
        listed += key.get("arguments", [])
    if offer["command"] == "decide":
        held = shown(place)
        asks = (waiting.get("choices", []) for waiting in held["waiting"])
        choices = held["halt"]["choices"] if held["halt"] else list(itertools.chain(*asks))
        (choice,) = (one for one in choices if one["choice"] == args["choice"])
        listed += choice.get("arguments", [])
    return listed


KINDS: dict[str, type | tuple[type, ...]] = {
    "flag": bool,
    "number": int,
    "amount": int,
    "seat": int,
    "player": (str, int),
}


def assert_was_listed(args: dict[str, Any], listed: list[dict[str, Any]], place: Place) -> None:
    """What is taken has only arguments that are listed, each with a value that it may have."""
    by_name = {one["name"]: one for one in listed}
    assert len(by_name) == len(listed)
    for name, value in args.items():
        if value is None:
            continue
        one = by_name[name]
        assert isinstance(value, KINDS.get(one["kind"], str)), (place, args, one)
        assert value in one.get("values", [value]), (place, args, one)
        if isinstance(value, int):
            assert one.get("least", value) <= value <= one.get("most", value), (place, args, one)
    missing = {one["name"] for one in listed if "optional" not in one} - args.keys()
    assert not missing or missing <= {"player", "seat", "card"}, (place, args, missing)


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


def test_every_choice_is_named_and_says_what_follows_in_both_languages() -> None:
    said: dict[str, set[str]] = {language: set() for language in LANGUAGES}
    for place in open_places()[::5]:
        held = shown(place)
        for choice in (held["halt"] or {"choices": []})["choices"]:
            for language, texts in said.items():
                for part in ("label", "follows"):
                    text = in_words(choice[part], language)
                    assert "_" not in text and "?)" not in text, (choice, text)
                    texts.add(text)
    assert len(said["en"]) > 30 and len(said["zh"]) > 30
    assert all(any(ord(letter) > 0x4E00 for letter in text) for text in said["zh"])


def test_who_must_consent_is_the_lowest_who_may() -> None:
    for place in places()[::SPARSE]:
        for offer in shown(place)["takes"]:
            assert ("consents" in offer) is ("second_person" in offer)
            if "consents" in offer:
                lowest = "dealer" if offer["position"] == "dealer" else "pit_supervisor"
                assert offer["consents"] == lowest
