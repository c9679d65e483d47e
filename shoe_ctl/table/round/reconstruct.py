"""Cards that take their slot late, by what people say of them: the round catches up with them.

In: a card that is out, read or not. Out: it lies where it was due; the state it leads to.
Must not know: why it came late, who says so.
"""

from __future__ import annotations

import itertools
from typing import TypeVar

import msgspec

from firmware_proto.cards import Card
from firmware_proto.events import CardsDrawn
from shoe_ctl.games.table_of_play import next_hand

from ..shoe import ledger as card_ledger
from ..shoe import unplaced
from ..state import (
    ASIDE,
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
from ..turn import TableView, Turn
from . import card_check, early_cards, pulls, reveal
from . import deal as dealing


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
    slot = _complete_announcements(turn)
    dealing.place_card(turn, slot, card, number)
    _reveal_if_face_up(turn, slot)
    _continue_round(turn, slot)
    return slot


def deal_late_reading(turn: Turn) -> None:
    """Deal the card that the shoe reads only now: the room sees it in its time, like any other."""
    slot = _complete_announcements(turn)
    dealing.place_card(turn, slot, turn.drawn.card, turn.drawn.number)
    reveal.reveal_face_up_cards(turn)
    _continue_round(turn, slot)


def place_next(turn: Turn, card: Card | None, number: int) -> tuple[str, int]:
    """Put a card that is counted already where one is due. Gives the slot."""
    slot = _lay(turn, card, number)
    _continue_round(turn, slot)
    return slot


def place_all(turn: Turn, lying: tuple[UnplacedCard, ...]) -> tuple[UnplacedCard, ...]:
    """Lay cards that are counted already where each is due. Gives those for which none is."""
    if turn.now.pending is not None and due_slot(turn) is not None:
        _begin(turn)
        dealing.place_pending_card(turn)
        set_phase(turn)
    for place, kept in enumerate(lying):
        if due_slot(turn) is None or kept.number is None:
            _continue_round_all(turn, place)
            return lying[place:]
        _lay(turn, kept.card, kept.number)
    _continue_round_all(turn, len(lying))
    return ()


def _lay(turn: Turn, card: Card | None, number: int) -> tuple[str, int]:
    slot = _complete_announcements(turn)
    dealing.place_counted_card(turn, slot, card, number)
    _reveal_if_face_up(turn, slot)
    return slot


def is_pending_card_next(turn: Turn) -> bool:
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
    dealing.place_pending_card(turn)
    reveal.reveal_face_up_cards(turn)


def _begin(turn: Turn) -> None:
    """The round is open, bets are closed, and what was ruled to open it does."""
    if turn.now.round is None:
        dealing.open_round(turn)
    if turn.now.wagers.betting == "open":
        dealing.close_bets(turn)
    if not turn.round.cards:
        early_cards.deal_opening_cards(turn)


def _complete_announcements(turn: Turn) -> tuple[str, int]:
    """Whatever must have been said, or dealt, before a card is dealt there."""
    _begin(turn)
    dealing.place_pending_card(turn)
    slot = due_slot(turn)
    assert slot is not None, "looked at before"
    if slot not in INITIAL_DEAL and not turn.round.totals_announced:
        reveal.announce_totals(turn)
    return slot


def _reveal_if_face_up(turn: Turn, slot: tuple[str, int]) -> None:
    """Face up the room has seen it by now."""
    if reveal.shows_cards_at_once(turn):
        reveal.reveal(turn, [dealing.find_card(turn, slot)])


def _continue_round(turn: Turn, slot: tuple[str, int]) -> None:
    """The table goes on in the state that it leads to; what nobody could read is entered."""
    set_phase(turn)
    dealing.check_unread(turn, slot)


def _continue_round_all(turn: Turn, laid: int) -> None:
    if laid:
        set_phase(turn)
        for dealt in turn.round.cards[-laid:]:
            dealing.check_unread(turn, (dealt.hand, dealt.index))


def set_phase(turn: Turn) -> None:
    """Let play resume in the state that the cards on the table stand for, once the halt is over."""
    halt = turn.now.halt
    assert halt is not None, "people place cards while the table is halted"
    turn.change(halt=msgspec.structs.replace(halt, back_to=phase(turn.now)))


_Lying = TypeVar("_Lying", DealtCard, UnplacedCard)
_LAYS = ("closed", "dealing", "revealing", "drawing")

# What was seen.


def last_drawn(now: TableState, count: int) -> tuple[CardOnTable, ...]:
    """So many cards of the round, or drawn early in it: those drawn last, in the order drawn.

    One that a shoe only objected to so far is not out of it.
    """
    if now.round is None:
        return ()
    early = [kept for kept in now.early if kept.number is not None and kept.counted]
    lying: list[CardOnTable] = [*now.round.cards, *early]
    numbers = itertools.accumulate(
        map(unplaced.draw_of, lying[: len(now.round.cards)]), _draw_order
    )
    keys = [*numbers, *map(unplaced.draw_of, early)]
    in_order = sorted(zip(keys, lying, strict=True), key=lambda each: each[0])
    return tuple(card for _, card in in_order)[-count:]


def is_initial_card(card: CardOnTable) -> bool:
    """It is one of the first four."""
    return isinstance(card, DealtCard) and (card.hand, card.index) in INITIAL_DEAL


def _draw_order(before: int, number: int) -> int:
    """Where a card lies among the draws: one that the shoe did not count, behind the one before."""
    return number if number > 0 else before


# What is done.


def lay_in_order(turn: Turn, lying: tuple[UnplacedCard, ...], of_no_order: frozenset[int]) -> None:
    """Lay them in this order; those of draws that the shoe has in none are known to nobody."""
    halt, played = turn.now.halt, turn.now.round
    assert halt is not None
    deals = halt.back_to in _LAYS
    if deals and played is not None and not played.cards and turn.now.opening:
        early_cards.deal_opening_cards(turn)
    pulls.begin_pull(turn, tuple(one for one in lying if one.number in of_no_order))
    ordered = tuple(_as_unknown(one) if one.number in of_no_order else one for one in lying)
    # Cards drawn early before them go first, and their turn has not come.
    left = place_all(turn, ordered) if deals and not turn.now.early else ordered
    unplaced.move_cards(turn, left, "early")
    if turn.now.early:
        turn.then("left_over")


def forget_identity(turn: Turn, lying: tuple[CardOnTable, ...]) -> None:
    """Which of these is which nobody knows any more: each is entered when it lies open."""
    of = {card.number for card in lying}
    pulls.begin_pull(turn, lying)
    cards = tuple(_as_unknown(d) if d.number in of else d for d in turn.round.cards)
    turn.set_round(cards=cards)
    for card in turn.now.early:
        if card.number in of:
            unplaced.change_card(turn, card, card=None)
    turn.then("card_unread")


def _as_unknown(lying: _Lying) -> _Lying:
    return msgspec.structs.replace(lying, card=None)


def find_drawn_card(now: TableState, number: int) -> CardOnTable | None:
    """The card of this draw, where it lies in the round or as one drawn early."""
    dealt = () if now.round is None else now.round.cards
    lying: list[CardOnTable] = [*dealt, *now.early]
    return next((card for card in lying if card.number == number), None)


def pending_irregularity(now: TableState, card: CardOnTable) -> OpenIrregularity | None:
    """What waits beside the round because of this card."""
    return next((opened for opened in now.waiting if opened.subject == card.subject), None)


def return_to_shoe(turn: Turn, card: CardOnTable) -> None:
    """Its place is free; a third card is due again."""
    _forget_card(turn, card)
    if isinstance(card, UnplacedCard):
        unplaced.drop_cards(turn, (card,))
        return
    due = None if (card.hand, card.index) in INITIAL_DEAL else card.hand
    cards = tuple(dealt for dealt in turn.round.cards if dealt is not card)
    turn.set_round(cards=cards, due=due)


def return_all_to_shoe(turn: Turn) -> None:
    """The round is void: those of its cards that are in the shoe again leave the ledger."""
    for number in turn.shoe.pushed_back:
        if (card := find_drawn_card(turn.now, number)) is not None:
            _forget_card(turn, card)


def confirm_positions(turn: Turn) -> None:
    """It is ruled that they lie where they lie."""
    turn.set_shoe(pushed_back=())


def _forget_card(turn: Turn, card: CardOnTable) -> None:
    shoe = turn.shoe
    turn.set_shoe(pushed_back=tuple(number for number in shoe.pushed_back if number != card.number))
    if card.number is not None and card.number <= shoe.drawn:
        pulls.forget_pull(turn, card.number)
        card_ledger.return_card(turn, card.card)


HAND = ASIDE
MOST_SET_ASIDE = 2
"""A round has no more than two cards after its initial deal."""

# What was seen.


def is_next_card(turn: Turn) -> bool:
    """A card of this shoe, the next of it; it may be one that could not be read."""
    drawn = turn.drawn
    if drawn.armed is False or card_check.is_foreign(turn) is not None:
        return False
    return drawn.number in (None, turn.shoe.drawn + 1)


def are_next_two(turn: Turn) -> bool:
    """Both came in one pull: the next two cards of this shoe, and none was laid aside before."""
    event = turn.shoe_event
    assert isinstance(event, CardsDrawn)
    if event.armed is False or len(event.cards) != MOST_SET_ASIDE or turn.now.ahead:
        return False
    strange = any(card_check.foreign_kind(turn, card) is not None for card in event.cards)
    return not strange and event.number in (None, turn.shoe.drawn + 1)


def are_next_two_in_order(turn: Turn) -> bool:
    """The same, and the shoe has them in the order in which they left it."""
    event = turn.shoe_event
    assert isinstance(event, CardsDrawn)
    return event.order_known and are_next_two(turn)


def has_next_card(turn: Turn) -> bool:
    """The card that is due was drawn ahead."""
    return bool(turn.now.ahead)


# What is done.


def set_aside_next(turn: Turn) -> None:
    """The card drawn now is counted, and lies face down behind those before it."""
    drawn = turn.drawn
    card_ledger.count_card(turn, drawn.card, drawn.number)
    _lay_aside(turn, drawn.card, turn.shoe.drawn)


def set_aside_two(turn: Turn) -> None:
    """Both are counted, and lie face down as they came: in an unknown order neither is known."""
    event = turn.shoe_event
    assert isinstance(event, CardsDrawn)
    for place, card in enumerate(event.cards):
        number = None if event.number is None else event.number + place
        card_ledger.count_card(turn, card, number)
        _lay_aside(turn, card, turn.shoe.drawn)
    if not event.order_known:
        laid = turn.now.ahead
        pulls.begin_pull(turn, laid)
        for one in laid:
            unplaced.change_card(turn, one, card=None)


def set_aside_pending(turn: Turn) -> None:
    """The card was drawn for it while something else was decided, and is counted."""
    card = turn.now.pending
    assert card is not None and card.number is not None
    unplaced.drop_roles(turn, "pending")
    _lay_aside(turn, card.card, card.number)


def _lay_aside(turn: Turn, card: Card | None, number: int) -> None:
    index = len(turn.now.ahead) + 1
    unplaced.add_card(turn, card, number, role="ahead", named_slot=(HAND, index))
    place = {"hand": HAND, "index": index}
    code = None if card is None else card.code
    turn.tell("round.card_dealt", {**place, "face": "down"})
    turn.tell_restricted("round.card_drawn", {**place, "card": code, "number": number})


def deal_card_set_aside(turn: Turn) -> None:
    """The first of them is the third card that is due: it goes to that hand, face down or up."""
    reveal.call_for_third_card(turn)
    first, hand = turn.now.ahead[0], turn.round.due
    assert hand is not None and first.number is not None
    unplaced.drop_cards(turn, (first,))
    dealing.place_counted_card(turn, (hand, 3), first.card, first.number)
    dealing.check_unread(turn, (hand, 3))
