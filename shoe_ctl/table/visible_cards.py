"""The cards on the table as everyone there can see them: in their slots, and beside them.

In: a view of the table. Out: plain values for the status. Must not know: who asks; no card that is
not revealed makes a difference, nor what only the shoe has read of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoe_ctl.games.table_of_play import total
from shoe_ctl.table.irregularities import unread_cards
from shoe_ctl.table.irregularities.draw_order import EXCHANGED
from shoe_ctl.table.procedures.card_choices import PULLED_DRAWS
from shoe_ctl.table.round import unordered_cards
from shoe_ctl.table.shoe import ledger
from shoe_ctl.table.state import (
    INITIAL_DEAL,
    CardOnTable,
    DealtCard,
    Role,
    Round,
    UnplacedCard,
)
from shoe_ctl.table.turn import TableView

HANDS = ("player", "banker")

_PLACES: Mapping[Role, str] = {
    "held": "held",
    "outside_game": "held",  # to which game a shoe counts a card follows from what it has read
    "early": "drawn_early",
    "opening": "opens_round",
    "pending": "waits_for_slot",
    "ahead": "set_aside",
    "aside": "set_aside",
}
"""Role of a card without a slot → where everyone sees it lie."""


def describe_hands(view: TableView) -> dict[str, list[dict[str, Any]]]:
    """Return the cards of the open round, hand by hand."""
    noted = _Noted(view)
    return {
        hand: [_dealt(dealt, noted) for dealt in view.round.cards if dealt.hand == hand]
        for hand in HANDS
    }


def describe_unplaced(view: TableView) -> list[dict[str, Any]]:
    """Return the cards that lie beside the hands, in the order in which they came there."""
    if not view.now.unplaced:
        return []
    noted = _Noted(view)
    return [_unplaced(card, noted) for card in view.now.unplaced]


def announced_totals(played: Round) -> dict[str, int] | None:
    """Return both totals by the cards that lie open, once they were announced.

    A third card that lies face down changes nothing yet. None while one of the first four does.
    """
    shown = {(d.hand, d.index): d.card for d in played.cards if d.revealed and d.card is not None}
    if not played.totals_announced or any(slot not in shown for slot in INITIAL_DEAL):
        return None
    return {
        hand: total([shown[hand, index] for index in (1, 2, 3) if (hand, index) in shown])
        for hand in HANDS
    }


def cards_out(view: TableView) -> int:
    """Return how many cards of the set have left the shoe, as everyone can count them.

    Cards to which a shoe objected, and that it did not count, are out too.
    """
    uncounted = sum(not card.counted for card in view.now.unplaced)
    return min(ledger.cards_out(view.shoe) + uncounted, cards_in_set(view))


def cards_in_set(view: TableView) -> int:
    """Return how many cards a set has."""
    return view.shoe.decks * len(view.game.deck.cards)


class _Noted:
    """The facts about single cards that the room was told."""

    def __init__(self, view: TableView) -> None:
        now = view.now
        self.now = now
        opened = now.open_irregularities
        self.unread = {unread_cards.slot_of(o) for o in opened if unread_cards.is_naming(o)}
        self.pulled = {number for o in opened for number in o.data.get(PULLED_DRAWS, ())}
        self.exchanged = {
            place for o in opened for pair in o.data.get(EXCHANGED, ()) for place in pair
        }
        # A shoe that judges counts a draw, or objects to it, by what it has read.
        self.numbered = not now.link.judges

    def common(self, card: CardOnTable) -> dict[str, Any]:
        """Return what is said of any card: the number of its draw, whether it came with others."""
        number = card.number if self.numbered and (card.number or 0) > 0 else None
        together = card.number in self.pulled or unordered_cards.find_pull(self.now, card.number)
        return {"number": number} | ({"drawn_together": True} if together else {})


def _dealt(dealt: DealtCard, noted: _Noted) -> dict[str, Any]:
    shown = dealt.revealed and dealt.card is not None
    said: dict[str, Any] = {
        "card": dealt.card.code if dealt.revealed and dealt.card is not None else None,
        "face_down": not shown,
        **noted.common(dealt),
    }
    flags = {
        "unread": (dealt.hand, dealt.index) in noted.unread,
        "entered": shown and dealt.entered,
        "corrected": shown and dealt.read is not None,
        "exchanged": dealt.place in noted.exchanged,
    }
    return said | {name: True for name, holds in flags.items() if holds}


def _unplaced(card: UnplacedCard, noted: _Noted) -> dict[str, Any]:
    """Describe a card without a slot. No event names it there, so the status does not either."""
    return {
        "face_down": not card.seen,
        "place": _PLACES[card.role],
        **noted.common(card),
    }
