"""A preview at every place that the search reaches: it is refused where the command is."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.preview import preview
from shoe_testing.generators import (
    ASKED,
    OfferingTable,
    by_hand,
    corrections,
    decisions,
    declarations,
    retractions,
)
from shoe_testing.places import Place, of_one_round, places
from shoe_testing.search import Search
from shoe_testing.tables import SHIFT

FEW = 12
"""So far into a round: some cards are out, and Players have wagers."""


def commands(at: OfferingTable) -> Iterator[tuple[str, dict[str, Any]]]:
    """Whatever people may say there, right or wrong."""
    yield from ASKED
    for command, found in (
        ("decide", decisions(at)),
        ("declare", declarations(at)),
        ("correct_card", corrections(at)),
        ("retract", retractions(at)),
    ):
        for args in found:
            yield command, {name: value for name, value in args.items() if name != "position"}
    if (hands := by_hand(at)) is not None:
        yield "enter_round", hands


def assert_previews_agree(place: Place) -> None:
    """A preview is refused where the command is, given by whoever it says may give it."""
    table = place.table()
    for command, args in commands(place.at):
        asked = TableCommand(
            t_us=table.t_us, command_id="p", command=command, args=args, person="kim",
            position="dealer",
        )  # fmt: skip
        found = preview(table.controller, place.now, asked)
        needs = found.answer.needs if found.shown is None else found.shown
        given = place.table().asks(
            command, position=needs.get("position", SHIFT), reason="r", consented_by="lee", **args
        )
        assert found.answer.accepted is given.accepted, (place, command, args, given.error)
        assert (found.shown is not None) is given.accepted
    assert table.now == place.now


def reached(start: list[Place], sample: int, seed: int) -> list[Place]:
    search = Search(1)
    search.run(start, lambda _way: None)
    return Random(seed).sample(search.places, min(sample, len(search.places)))


def test_in_method_a_a_preview_is_refused_where_the_command_is(seed: int) -> None:
    for place in reached(of_one_round(method="A")[:FEW], 25, seed):
        assert_previews_agree(place)


def test_in_every_game_and_method_a_preview_is_refused_where_the_command_is(seed: int) -> None:
    start = Random(seed).sample(list(places()), 6)
    for place in reached(start, 40, seed):
        assert_previews_agree(place)
