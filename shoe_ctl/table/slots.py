"""The slots of a round: which one the next card is for, and what follows from the cards in them.

In: the table's state. Out: the next slot, the phase of the round, the shoe's desired state.
Must not know: inputs, single cards' values, events.
"""

from __future__ import annotations

from firmware_proto.events import Armed, Locked

from .state import Shoe, TableState

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
    return int(now.pending is not None and now.pending.hand != ASIDE)


def takes_cards(*, implied: bool) -> tuple[str, ...]:
    """The states in which a card may be drawn; implied announcements follow the first card."""
    dealt = ("closed", "dealing", "drawing")
    return ("idle", "betting", *dealt) if implied else dealt


def desired_shoe(now: TableState, *, implied: bool) -> Armed | Locked:
    """What the shoe should be: armed for exactly the draw that revealed cards imply, or locked.

    A shoe that can only be locked and unlocked is open between rounds too: cards are burned there,
    and where the table is not aligned with it, only a card can mend that.
    """
    slot = next_slot(now)
    opens = takes_cards(implied=implied)
    if not now.link.arm:
        opens = ("idle", *opens)
    if now.shoe is None or slot is None or now.state not in opens:
        return Locked()
    return armed_for(now.shoe, slot)


def armed_for(shoe: Shoe, slot: tuple[str, int]) -> Armed:
    """Open for exactly the next draw, for this hand and index."""
    return Armed(shoe.drawn + 1, *slot)
