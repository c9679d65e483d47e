"""The slots of a round: which one the next card is for, and what follows from the cards in them.

In: the table's state. Out: the next slot, the phase of the round.
Must not know: inputs, single cards' values, events.
"""

from __future__ import annotations

from .state import TableState, UnplacedCard

INITIAL_DEAL = (("player", 1), ("banker", 1), ("player", 2), ("banker", 2))
"""The first four cards (N/T/I 3.12-3.13, F 3.12): Player first, in turn."""

PHASES = ("closed", "dealing", "drawing", "revealing")
"""The states from *no more bets* to the outcome: the cards of the round say which of them it is."""

ASIDE = "set_aside"
"""The hand of cards that are drawn ahead and laid aside (5.11.1)."""


def next_slot(now: TableState) -> tuple[str, int] | None:
    """The hand and index that the next card is for, where a card is due."""
    dealt = now.round.cards if now.round is not None else ()
    if len(dealt) < len(INITIAL_DEAL):
        return INITIAL_DEAL[len(dealt or now.opening)]
    if now.round is not None and now.round.due is not None:
        return now.round.due, 3
    return None


def phase(now: TableState) -> str:
    """Return the one of PHASES that the cards of the round stand for."""
    played = now.round
    if played is None or not played.cards:
        return "closed"
    if len(played.cards) < len(INITIAL_DEAL):
        return "dealing"
    return "revealing" if played.due is None else "drawing"


def pending_cards(now: TableState) -> int:
    """How many cards wait for a slot of a hand until the table goes on: none, or one."""
    return int(now.pending is not None and not is_drawn_ahead(now.pending))


def is_drawn_ahead(card: UnplacedCard) -> bool:
    """True if the card was drawn to be laid aside, for no slot of a hand (5.11.1)."""
    return card.named_slot is not None and card.named_slot[0] == ASIDE


DEALT_IN = ("closed", "dealing", "drawing")
"""The states in which a card may be drawn, however announcements are made."""

BEGUN_BY_A_CARD = ("idle", "betting")
"""Those in which one may be drawn besides where announcements are implied: they follow it."""

_ALL = (*BEGUN_BY_A_CARD, *DEALT_IN)


def takes_cards(*, implied: bool) -> tuple[str, ...]:
    """The states in which a card may be drawn."""
    return _ALL if implied else DEALT_IN
