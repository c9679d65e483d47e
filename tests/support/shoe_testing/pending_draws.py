"""A card that leaves the shoe on its arm just as something makes the table take that arm back.

In: places where the shoe is armed, whatever can happen there. Out: what became of the table and the
card. Must not know: any particular command, event or irregularity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, CardsDrawn, Error, Hello, Status
from shoe_ctl.table.inputs import Input, ShoeSaid
from shoe_ctl.table.irregularities.halts import OVERDRAW_CODE
from shoe_ctl.table.state import DealtCard, TableState
from shoe_testing.choices import spares
from shoe_testing.generators import inputs
from shoe_testing.places import Place
from shoe_testing.tables import Playing


class UnderWay(NamedTuple):
    """The shoe was armed at ``place``, this happened, and the card of that arm comes behind it."""

    place: Place
    trigger: str
    happened: Input
    table: Playing

    @property
    def arm(self) -> tuple[int, str, int]:
        armed = self.place.now.armed
        assert armed is not None
        return armed

    def comes(self) -> None:
        """The card, as the shoe tells of it."""
        code = spares(self.place.at)[-1]
        self.table.says(CardDrawn(card=card(code), number=self.arm[0], armed=True))

    def lies(self) -> DealtCard | None:
        """Where the card lies in the round."""
        played = self.table.now.round
        dealt = () if played is None else played.cards
        return next((one for one in dealt if one.number == self.arm[0]), None)


def taken_back(place: Place) -> Iterator[UnderWay]:
    """Whatever makes the table take its arm back: all commands and events, by the table's lists."""
    if place.now.armed is None or place.shoe != "reference":
        return
    for trigger, happened in inputs(place.at):
        if _is_of_a_card(happened):
            continue
        table = place.table()
        table.feed(happened)
        if table.now.armed is None and _is_the_same_shoe(place.now, table.now):
            yield UnderWay(place, trigger, happened, table)


def _is_of_a_card(happened: Input) -> bool:
    """The shoe tells of cards in the order in which they left it: this one is no longer coming."""
    if not isinstance(happened, ShoeSaid):
        return False
    event = happened.event
    if isinstance(event, Error):
        return event.code == OVERDRAW_CODE
    return isinstance(event, CardDrawn | CardsDrawn | Hello | Status)


def _is_the_same_shoe(before: TableState, now: TableState) -> bool:
    if before.shoe is None or now.shoe is None or now.pending_set is not None:
        return False
    return (before.shoe.id, before.shoe.drawn) == (now.shoe.id, now.shoe.drawn)
