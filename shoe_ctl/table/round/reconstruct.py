"""Reconstruction: cards placed outside the normal sequence, put in order, or returned to the shoe.

In: cards that staff enter, that the shoe reads late, that lie in the wrong order or are in the shoe
again. Out: the cards in their slots, with the announcements that were skipped; the phase that they
lead to.
Must not know: which irregularity this is part of, who decided it.
"""

from __future__ import annotations

import itertools
from typing import TypeVar

import msgspec

from firmware_proto.cards import Card
from shoe_ctl.table.round import deal, early_cards, reveal, unordered_cards
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe import unplaced
from shoe_ctl.table.situations import TO_THE_OUTCOME
from shoe_ctl.table.state import (
    INITIAL_DEAL,
    CardOnTable,
    DealtCard,
    OpenIrregularity,
    TableState,
    UnplacedCard,
    is_drawn_ahead,
    next_slot,
    pending_cards,
    phase,
)
from shoe_ctl.table.turn import TableView, Turn

# Which slot a card takes.


def due_slot(at: TableView) -> tuple[str, int] | None:
    """Return the slot for the next card on the table, as far as revealed cards say.

    Unlike ``next_slot`` this also finds the slot of a third card that was not announced as due.
    """
    slot, played = next_slot(at.now), at.now.round
    if slot is not None or played is None or not played.all_revealed:
        return slot
    hand = reveal.due_hand(at)
    return None if hand is None else (hand, 3)


def free_slot(at: TableView) -> tuple[str, int] | None:
    """Return the slot behind the one that a pending card takes when play resumes."""
    if not pending_cards(at.now):
        return due_slot(at)
    played, now = at.now.round, at.now
    placed = len((() if played is None else played.cards) or now.opening) + 1
    return INITIAL_DEAL[placed] if placed < len(INITIAL_DEAL) else None


# Placing cards; announcements that were skipped are made first.


def deal_next(turn: Turn, card: Card | None, number: int | None = None) -> tuple[str, int]:
    """Count this card, put it into the slot that is due and return that slot."""
    slot = _complete_announcements(turn)
    deal.place_card(turn, slot, card, number)
    _reveal_if_face_up(turn, slot)
    _continue_round(turn)
    return slot


def deal_late_reading(turn: Turn) -> None:
    """Deal the card that the shoe reads only now.

    The room sees it after the usual time, like any other card.
    """
    slot = _complete_announcements(turn)
    deal.place_card(turn, slot, turn.drawn.card, turn.drawn.number)
    reveal.reveal_face_up_cards(turn)
    _continue_round(turn)


def place_next(turn: Turn, card: Card | None, number: int) -> tuple[str, int]:
    """Put a card that the ledger has counted into the slot that is due; return that slot."""
    slot = _place_counted(turn, card, number)
    _continue_round(turn)
    return slot


def place_all(turn: Turn, cards: tuple[UnplacedCard, ...]) -> tuple[UnplacedCard, ...]:
    """Put these counted cards into the slots that are due, one after the other.

    Return the cards for which no slot is due.
    """
    if turn.now.pending is not None and due_slot(turn) is not None:
        _start_deal(turn)
        deal.place_pending_card(turn)
        set_phase(turn)
    for placed, card in enumerate(cards):
        if due_slot(turn) is None or card.number is None:
            _continue_round(turn, placed)
            return cards[placed:]
        _place_counted(turn, card.card, card.number)
    _continue_round(turn, len(cards))
    return ()


def is_pending_card_next(turn: Turn) -> bool:
    """True if the pending card can take its slot now that the table is not halted."""
    card = turn.now.pending
    if card is None or is_drawn_ahead(card) or due_slot(turn) is None:
        return False
    return turn.takes_card_in(turn.state)


def deal_pending(turn: Turn) -> None:
    """Deal the pending card, which was drawn as the table halted.

    ``cards_placed`` is fired first, so that the table is in the phase of its cards before anything
    found about this card can halt it.
    """
    turn.fire("cards_placed")
    _start_deal(turn)
    deal.place_pending_card(turn)
    reveal.reveal_face_up_cards(turn)


def _place_counted(turn: Turn, card: Card | None, number: int) -> tuple[str, int]:
    """Put a counted card into the slot that is due; return that slot. The phase is not changed."""
    slot = _complete_announcements(turn)
    deal.place_counted_card(turn, slot, card, number)
    _reveal_if_face_up(turn, slot)
    return slot


def _complete_announcements(turn: Turn) -> tuple[str, int]:
    """Open the round, close the bets, place a pending card and announce the totals, as required.

    Return the slot that is then due.
    """
    _start_deal(turn)
    deal.place_pending_card(turn)
    slot = due_slot(turn)
    assert slot is not None, "checked before"
    if slot not in INITIAL_DEAL and not turn.round.totals_announced:
        reveal.announce_totals(turn)
    return slot


def _start_deal(turn: Turn) -> None:
    """Open the round, close the bets and deal the opening cards, as far as that is still to do."""
    if turn.now.round is None:
        deal.open_round(turn)
    if turn.now.wagers.betting == "open":
        deal.close_bets(turn)
    if not turn.round.cards:
        early_cards.deal_opening_cards(turn)


def _reveal_if_face_up(turn: Turn, slot: tuple[str, int]) -> None:
    """Reveal the card in this slot at once where cards are dealt face up."""
    if reveal.is_dealt_face_up(turn):
        reveal.reveal(turn, [deal.find_card(turn, slot)])


def _continue_round(turn: Turn, placed: int = 1) -> None:
    """Set the phase after so many cards were placed, and act on those that were not read."""
    if placed:
        set_phase(turn)
        for dealt in turn.round.cards[-placed:]:
            deal.detect_unread(turn, (dealt.hand, dealt.index))


def set_phase(turn: Turn) -> None:
    """Set the state in which play resumes after the halt to that of the cards of the round."""
    halt = turn.now.halt
    assert halt is not None, "people place cards while the table is halted"
    turn.change(halt=msgspec.structs.replace(halt, resume_state=phase(turn.now)))


# The last cards drawn, and their order.


def last_drawn(now: TableState, count: int) -> tuple[CardOnTable, ...]:
    """Return the ``count`` cards drawn last, overdrawn ones included, in the order drawn.

    A card that the shoe only objected to is not counted as drawn.
    """
    if now.round is None:
        return ()
    early = [card for card in now.early if card.number is not None and card.counted]
    cards: list[CardOnTable] = [*now.round.cards, *early]
    numbers = itertools.accumulate(
        map(unplaced.draw_of, cards[: len(now.round.cards)]), _draw_order
    )
    keys = [*numbers, *map(unplaced.draw_of, early)]
    in_order = sorted(zip(keys, cards, strict=True), key=lambda each: each[0])
    return tuple(card for _, card in in_order)[-count:]


def _draw_order(before: int, number: int) -> int:
    """Return the number by which a card is sorted.

    A number that is not above 0 stands for a card that the shoe did not count: it stays behind the
    card before it.
    """
    return number if number > 0 else before


def is_initial_card(card: CardOnTable) -> bool:
    """True if the card lies in one of the first four slots."""
    return isinstance(card, DealtCard) and (card.hand, card.index) in INITIAL_DEAL


def place_in_order(
    turn: Turn, cards: tuple[UnplacedCard, ...], of_no_order: frozenset[int]
) -> None:
    """Put these cards into their slots in this order; what is left over becomes overdrawn.

    The cards of the draws ``of_no_order`` were pulled together: nobody knows which of them is
    which.
    """
    halt, played = turn.now.halt, turn.now.round
    assert halt is not None
    deals = halt.resume_state in TO_THE_OUTCOME
    if deals and played is not None and not played.cards and turn.now.opening:
        early_cards.deal_opening_cards(turn)
    unordered_cards.begin_pull(turn, tuple(one for one in cards if one.number in of_no_order))
    ordered = tuple(_as_unknown(one) if one.number in of_no_order else one for one in cards)
    # Cards that were overdrawn before go first, and no slot is due for them yet.
    left = place_all(turn, ordered) if deals and not turn.now.early else ordered
    unplaced.move_cards(turn, left, "early")
    if turn.now.early:
        turn.fire("left_over")


def forget_identity(turn: Turn, cards: tuple[CardOnTable, ...]) -> None:
    """Record that nobody knows any more which of these cards is which.

    Each is entered by people when it lies open. The ledger keeps what the shoe read.
    """
    numbers = {card.number for card in cards}
    unordered_cards.begin_pull(turn, cards)
    dealt = tuple(_as_unknown(one) if one.number in numbers else one for one in turn.round.cards)
    turn.set_round(cards=dealt)
    for card in turn.now.early:
        if card.number in numbers:
            unplaced.change_card(turn, card, card=None)
    turn.fire("card_unread")


_Card = TypeVar("_Card", DealtCard, UnplacedCard)


def _as_unknown(card: _Card) -> _Card:
    return msgspec.structs.replace(card, card=None)


# Cards taken out of the round.


def find_drawn_card(now: TableState, number: int) -> CardOnTable | None:
    """Return the card with this draw number, in its slot or overdrawn."""
    dealt = () if now.round is None else now.round.cards
    cards: list[CardOnTable] = [*dealt, *now.early]
    return next((card for card in cards if card.number == number), None)


def pending_irregularity(now: TableState, card: CardOnTable) -> OpenIrregularity | None:
    """Return the pending irregularity about this card: open, without halting the table."""
    return next(
        (opened for opened in now.pending_irregularities if opened.subject == card.subject), None
    )


def return_to_shoe(turn: Turn, card: CardOnTable) -> None:
    """Remove a card from the table that is in the shoe again, and from the ledger.

    Its slot is free; a third card is due again.
    """
    _forget_card(turn, card)
    if isinstance(card, UnplacedCard):
        unplaced.drop_cards(turn, (card,))
        return
    _clear_slot(turn, card)


def return_all_to_shoe(turn: Turn) -> None:
    """Remove from the ledger the cards of a void round that are in the shoe again."""
    for number in turn.shoe.pushed_back:
        if (card := find_drawn_card(turn.now, number)) is not None:
            _forget_card(turn, card)


def confirm_positions(turn: Turn) -> None:
    """Record the ruling that cards stay on the table that the shoe reports as back in it."""
    turn.set_shoe(pushed_back=())


def _forget_card(turn: Turn, card: CardOnTable) -> None:
    """Remove the card from the ledger, and from the cards reported back in the shoe."""
    shoe = turn.shoe
    turn.set_shoe(pushed_back=tuple(number for number in shoe.pushed_back if number != card.number))
    if card.number is not None and card.number <= shoe.drawn:
        unordered_cards.forget_pull(turn, card.number)
        card_ledger.return_card(turn, card.card)


def remove_never_drawn(turn: Turn, dealt: DealtCard) -> None:
    """Remove a card that people entered and that was never drawn, and its draw.

    Its slot is free; a third card is due again.
    """
    card_ledger.uncount_last(turn, dealt.card, shown=dealt.revealed)
    _clear_slot(turn, dealt)
    turn.set_round(complete_us=None)


def _clear_slot(turn: Turn, dealt: DealtCard) -> None:
    """Take the card out of its slot. If it was a third card, one is due again."""
    due = None if is_initial_card(dealt) else dealt.hand
    cards = tuple(one for one in turn.round.cards if one is not dealt)
    turn.set_round(cards=cards, due=due)


def emit_moved(turn: Turn, was: DealtCard, now: DealtCard | None) -> None:
    """Emit that a card lies at another hand, or at none (5.7). Which card is not said."""
    rule = turn.game.rule("wrong_order", "reconstructed")
    data = {
        "hand": None if now is None else now.hand,
        "index": None if now is None else now.index,
        "from": {"hand": was.hand, "index": was.index},
        "rule": rule if now is not None else None,
    }
    turn.emit("round.card_moved", data)
