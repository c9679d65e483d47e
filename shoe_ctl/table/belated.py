"""Cards that take their slot late, by what people say of them: the round catches up with them.

In: a card that is out, read or not. Out: it lies where it was due; the state it leads to.
Must not know: why it came late, who says so.
"""

from __future__ import annotations

import msgspec

from firmware_proto.cards import Card
from shoe_ctl.games.table_of_play import next_hand

from . import dealing, early, placing, revealing
from .slots import INITIAL_DEAL, next_slot
from .turn import Turn


def due_slot(turn: Turn) -> tuple[str, int] | None:
    """Where a card that is out belongs: the slot due, by what the room has seen and no more."""
    slot, played = next_slot(turn.now), turn.now.round
    if slot is not None or played is None or not played.all_revealed:
        return slot
    hand = next_hand(played.hand("player"), played.hand("banker"))
    return None if hand is None else (hand, 3)


def deal_next(turn: Turn, card: Card | None, number: int | None = None) -> tuple[str, int]:
    """Count this card, and put it where one is due. Gives the slot."""
    slot = _make_way(turn)
    placing.place(turn, slot, card, number)
    _show(turn, slot)
    stand(turn)
    return slot


def lay_next(turn: Turn, card: Card | None, number: int) -> tuple[str, int]:
    """Put a card that is counted already where one is due. Gives the slot."""
    slot = lay_one_of(turn, card, number)
    stand(turn)
    return slot


def lay_one_of(turn: Turn, card: Card | None, number: int) -> tuple[str, int]:
    """The same for one of several: the state that they lead to is for the caller (``stand``)."""
    slot = _make_way(turn)
    placing.lay(turn, slot, card, number)
    _show(turn, slot)
    return slot


def _make_way(turn: Turn) -> tuple[str, int]:
    """Whatever must have been said before a card is dealt there."""
    if turn.now.round is None:
        dealing.open_round(turn)
    if turn.now.wagers.betting == "open":
        dealing.close_bets(turn)
    if not turn.round.cards:
        early.deal_opening(turn)
    slot = due_slot(turn)
    assert slot is not None, "looked at before"
    if slot not in INITIAL_DEAL and not turn.round.totals_announced:
        revealing.announce_totals(turn)
    return slot


def _show(turn: Turn, slot: tuple[str, int]) -> None:
    """Face up the room has seen it by now; what nobody could read is entered."""
    if revealing.shows_cards_at_once(turn):
        revealing.reveal(turn, [placing.find(turn, slot)])
    placing.look_if_unread(turn, slot)


def stand(turn: Turn) -> None:
    """The state that the cards on the table are of: now, or where the halt leads back to."""
    state = "dealing" if len(turn.round.cards) < len(INITIAL_DEAL) else "revealing"
    halt = turn.now.halt
    if turn.state == "suspended" and halt is not None:
        turn.change(halt=msgspec.structs.replace(halt, back_to=state))
    elif turn.state != state:
        turn.then("cards_placed")
