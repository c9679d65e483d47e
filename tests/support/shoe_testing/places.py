"""Places: where tables stand when something happens to them, for every game, method and shoe.

Out: tables brought there, also with a card that is under way on an arm that is taken back.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

from firmware_proto.cards import card
from firmware_proto.events import (
    CardDrawn,
    CardPushedBack,
    CardsDrawn,
    CuttingCard,
    Error,
    Hello,
    Reply,
    Status,
)
from shoe_ctl.games import catalog
from shoe_ctl.table.inputs import Input, ShoeSaid
from shoe_ctl.table.irregularities.halts import OVERDRAW_CODE
from shoe_ctl.table.state import DealtCard, TableState
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_testing.generators import OfferingTable, inputs, spares
from shoe_testing.staff import plays_out
from shoe_testing.table_corpus import KINDS, WAYS, kind_of, played
from shoe_testing.tables import TableHarness, game, settings

HLGA_SETTINGS = "Paiza Club"
LIMITS = TableLimits(maximum=1000, differential=800)
STAKES: tuple[dict[str, Any], ...] = (
    {"player": "ann", "seat": 1, "wager": "player", "amount": 500},
    {"player": "ben", "seat": 3, "wager": "player", "amount": 500},
    {"player": "ann", "seat": 1, "wager": "banker", "amount": 200},
)
"""Of the first alone where one Player plays."""


class Place(NamedTuple):
    """A table: how it is set, and where it stands."""

    shoe: str
    given: dict[str, Any]
    now: TableState

    def table(self) -> TableHarness:
        """Somebody plays on from here."""
        return TableHarness(**kind_of(self.shoe), state=self.now, **self.given)

    @property
    def name(self) -> str:
        """Its game's."""
        return str(self.given.get("name", "tiger"))

    @property
    def at(self) -> OfferingTable:
        """The same, for whoever only looks."""
        given = {name: value for name, value in self.given.items() if name != "name"}
        return OfferingTable(self.now, game(self.name), settings(**given))


def with_wagers(table: TableHarness) -> None:
    """A round that Players have wagers on, handed to them where they handle cards, and settled."""
    table.does("place_your_bets")
    for stake in STAKES if table.game.limits.players != 1 else STAKES[:1]:
        table.does("place_wager", **stake)
    if table.settings.method == "C":
        table.does("offer_shoe", player="ann")
    table.does("no_more_bets")
    for number in range(4):
        table.draw(_card(table, number))
    if table.settings.method in ("A", "C"):
        table.does("pass_cards", hand="player", player="ann")
        table.does("pass_cards", hand="banker", player="ann")
    plays_out(table)


def two_in_one_pull(table: TableHarness) -> None:
    """Both third cards are out before the first of them is due."""
    table.open_round()
    for number in range(6):
        table.draw(_card(table, number))
    plays_out(table)


def cutting_card_first(table: TableHarness) -> None:
    """It lies before the first card of a round that a Player has a wager on."""
    table.does("place_your_bets")
    table.does("place_wager", **STAKES[0])
    table.does("no_more_bets")
    table.says(CuttingCard())
    plays_out(table)


def too_much_on_one_hand(table: TableHarness) -> None:
    """The table differential is exceeded, and met."""
    table.does("place_your_bets")
    table.does("place_wager", **STAKES[0] | {"amount": 900})
    table.does("no_more_bets")
    plays_out(table)


def power_lost_first(table: TableHarness) -> None:
    """The host loses its power after no more bets, before the first card."""
    for boot in ("b1", "b2"):
        table.restart(boot)
        table.connect()
        if table.profile == "reference":
            table.hello()
        if boot == "b1":
            if table.profile == "bee_tek":
                table.does("align")
            table.does("place_your_bets")
            table.does("place_wager", **STAKES[0])
            table.does("no_more_bets")
    plays_out(table)


def third_card_back(table: TableHarness) -> None:
    """Player's third card is pushed back into the shoe."""
    table.open_round()
    table.deal(" ".join(_card(table, number) for number in range(5)))
    if table.profile == "reference":
        last = table.now.round.cards[-1].card
        table.says(CardPushedBack(card=last, number=table.now.shoe.drawn))
    plays_out(table)


def unread(table: TableHarness) -> None:
    """A card that nobody could read waits in its place."""
    table.open_round()
    table.draw(_card(table, 0))
    table.draw(None)
    table.draw(_card(table, 2))
    plays_out(table)


def counted_apart(table: TableHarness) -> None:
    """A card was entered that the shoe does not count; then it refuses a draw, and counts more."""
    table.open_round()
    table.draw(_card(table, 0))
    if table.profile == "reference":
        table.disconnect()
        named = {"card": _card(table, 1)} if table.settings.faces == "face_up" else {}
        table.does("decide", choice="enter", reason="seen", consented_by="lee", **named)
        table.connect()
        table.hello(drawn=1)
        for choice in ("recount", "play_on"):
            table.does("decide", choice=choice, reason="seen", consented_by="lee")
        number = table.now.armed[0]
        table.says(Reply(accepted=False, reason="already_drawn", number=number))
        table.says(Status(drawn=number, unacknowledged=0))
    plays_out(table)


SESSIONS = (
    with_wagers, cutting_card_first, two_in_one_pull, too_much_on_one_hand, unread, counted_apart,
    power_lost_first, third_card_back,
)  # fmt: skip


def _card(table: TableHarness, number: int) -> str:
    """Such that both hands draw."""
    if table.game.deck.name == "element65":
        return ("2f", "3g", "Tf", "Tg", "4f", "5g")[number]
    return ("2D", "3C", "TS", "TH", "4C", "5D")[number]


def _conducted() -> Iterator[dict[str, Any]]:
    """Every game in every method that it has, in an area that allows it."""
    for name in catalog.shipped():
        for method in game(name).methods or (None,):
            limits = TableLimits() if method is None else LIMITS
            yield {"name": name, "method": method, "area": HLGA_SETTINGS, "limits": limits}


def of_one_round(**given: Any) -> list[Place]:
    """Step by step through a round with wagers, at a shoe of this project's own kind."""
    return [
        Place("reference", given, now) for now in played(with_wagers, shoe="reference", way=given)
    ]


@functools.cache
def places() -> tuple[Place, ...]:
    """Each state of the sessions, and of a round with wagers in every game, method and shoe."""
    found = [
        Place(shoe, given, now)
        for shoe, sessions in KINDS
        for given in WAYS
        for session in sessions
        for now in played(session, shoe=shoe, way=given)
    ]
    found += [
        Place(shoe, given, now)
        for given in _conducted()
        for shoe, _ in (KINDS if given["name"] == "tiger" else KINDS[:1])
        for session in SESSIONS
        for now in played(session, shoe=shoe, way=given)
    ]
    found += [
        Place(shoe, given, now)
        for given in (
            {"decks": 1, "area": HLGA_SETTINGS, "method": method} for method in ("A", "B")
        )
        for shoe, _ in KINDS
        for now in played(with_wagers, shoe=shoe, way=given)
    ]
    return tuple(found)


class UnderWay(NamedTuple):
    """The shoe was armed at ``place``, this happened, and the card of that arm comes behind it."""

    place: Place
    trigger: str
    happened: Input
    table: TableHarness

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
