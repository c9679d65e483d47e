"""Cards that take their slot late, by what people say of them: the round catches up with them.

In: a card that is out, read or not. Out: it lies where it was due; the state it leads to.
Must not know: why it came late, who says so.
"""

from __future__ import annotations

import msgspec

from firmware_proto.cards import Card
from shoe_ctl.games.table_of_play import next_hand

from . import dealing, early, placing, revealing
from .slots import (
    INITIAL_DEAL,
    is_drawn_ahead,
    next_slot,
    pending_cards,
    phase,
)
from .state import UnplacedCard
from .turn import TableView, Turn


def due_slot(at: TableView) -> tuple[str, int] | None:
    """Where a card that is out belongs: the slot due, by what the room has seen and no more."""
    slot, played = next_slot(at.now), at.now.round
    if slot is not None or played is None or not played.all_revealed:
        return slot
    hand = next_hand(played.hand("player"), played.hand("banker"))
    return None if hand is None else (hand, 3)


def free_slot(at: TableView) -> tuple[str, int] | None:
    """The same behind a card that waits for its slot until the table goes on: that one is first."""
    if not pending_cards(at.now):
        return due_slot(at)
    played, now = at.now.round, at.now
    lie = len((() if played is None else played.cards) or now.opening) + 1
    return INITIAL_DEAL[lie] if lie < len(INITIAL_DEAL) else None


def deal_next(turn: Turn, card: Card | None, number: int | None = None) -> tuple[str, int]:
    """Count this card, and put it where one is due. Gives the slot."""
    slot = _make_way(turn)
    placing.place(turn, slot, card, number)
    _show(turn, slot)
    _follow(turn, slot)
    return slot


def deal_read(turn: Turn) -> None:
    """Deal the card that the shoe reads only now: the room sees it in its time, like any other."""
    slot = _make_way(turn)
    placing.place(turn, slot, turn.drawn.card, turn.drawn.number)
    revealing.reveal_due(turn)
    _follow(turn, slot)


def lay_next(turn: Turn, card: Card | None, number: int) -> tuple[str, int]:
    """Put a card that is counted already where one is due. Gives the slot."""
    slot = _lay(turn, card, number)
    _follow(turn, slot)
    return slot


def lay_all(turn: Turn, lying: tuple[UnplacedCard, ...]) -> tuple[UnplacedCard, ...]:
    """Lay cards that are counted already where each is due. Gives those for which none is."""
    if turn.now.pending is not None and due_slot(turn) is not None:
        _begin(turn)
        placing.lay_pending(turn)
        stand(turn)
    for place, kept in enumerate(lying):
        if due_slot(turn) is None or kept.number is None:
            _follow_all(turn, place)
            return lying[place:]
        _lay(turn, kept.card, kept.number)
    _follow_all(turn, len(lying))
    return ()


def _lay(turn: Turn, card: Card | None, number: int) -> tuple[str, int]:
    slot = _make_way(turn)
    placing.lay(turn, slot, card, number)
    _show(turn, slot)
    return slot


def deals_pending_next(turn: Turn) -> bool:
    """A card that was drawn as the table halted takes its slot as soon as the table goes on."""
    card = turn.now.pending
    if card is None or is_drawn_ahead(card) or due_slot(turn) is None:
        return False
    return turn.takes_card_in(turn.state)


def deal_pending(turn: Turn) -> None:
    """Deal the card that was drawn as the table halted: the room sees it in its time.

    The round is in the state that the card leads to before it halts for what is found of the card.
    """
    turn.then("cards_placed")
    _begin(turn)
    placing.lay_pending(turn)
    revealing.reveal_due(turn)


def _begin(turn: Turn) -> None:
    """The round is open, bets are closed, and what was ruled to open it does."""
    if turn.now.round is None:
        dealing.open_round(turn)
    if turn.now.wagers.betting == "open":
        dealing.close_bets(turn)
    if not turn.round.cards:
        early.deal_opening(turn)


def _make_way(turn: Turn) -> tuple[str, int]:
    """Whatever must have been said, or dealt, before a card is dealt there."""
    _begin(turn)
    placing.lay_pending(turn)
    slot = due_slot(turn)
    assert slot is not None, "looked at before"
    if slot not in INITIAL_DEAL and not turn.round.totals_announced:
        revealing.announce_totals(turn)
    return slot


def _show(turn: Turn, slot: tuple[str, int]) -> None:
    """Face up the room has seen it by now."""
    if revealing.shows_cards_at_once(turn):
        revealing.reveal(turn, [placing.find(turn, slot)])


def _follow(turn: Turn, slot: tuple[str, int]) -> None:
    """The table goes on in the state that it leads to; what nobody could read is entered."""
    stand(turn)
    placing.look_if_unread(turn, slot)


def _follow_all(turn: Turn, laid: int) -> None:
    if laid:
        stand(turn)
        for dealt in turn.round.cards[-laid:]:
            placing.look_if_unread(turn, (dealt.hand, dealt.index))


def stand(turn: Turn) -> None:
    """Let play resume in the state that the cards on the table stand for, once the halt is over."""
    halt = turn.now.halt
    assert halt is not None, "people place cards while the table is halted"
    turn.change(halt=msgspec.structs.replace(halt, back_to=phase(turn.now)))
