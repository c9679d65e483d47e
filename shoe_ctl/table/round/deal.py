"""The deal: open a round, close the bets, put each card into its slot.

In: a card and the slot it is for; announcements. Out: round.opened .bets_closed .card_dealt, and
round.card_drawn for the restricted stream.
Must not know: whether a card fits its slot, who names it, what follows once it is revealed.
"""

from __future__ import annotations

import msgspec

from firmware_proto.cards import Card
from shoe_ctl.table.round import unordered_cards
from shoe_ctl.table.shoe import draw_time, outbox, unplaced
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.state import DealtCard, Round, is_drawn_ahead, next_slot
from shoe_ctl.table.turn import Turn
from shoe_ctl.table.wagers import betting
from shoe_ctl.texts.message import message

# Opening the round and closing the bets.


def open_round(turn: Turn) -> None:
    """Open the round and give it its id (*place your bets*, 3.1)."""
    number = turn.now.rounds + 1
    opened = Round(
        id=f"{turn.shoe.id}-r{number}", first_input=turn.now.inputs, drawn_before=turn.shoe.drawn
    )
    turn.change(rounds=number, round=opened)
    draw_time.note_round_opened(turn)
    outbox.forget_answer(turn)
    turn.announce("round.opened", {"shoe_id": turn.shoe.id}, by="place_your_bets")
    betting.open_bets(turn)


def close_bets(turn: Turn) -> None:
    """Close the bets (*no more bets*, 3.2)."""
    turn.announce("round.bets_closed", {}, by="no_more_bets")
    betting.close_bets(turn)


def measure_differential_after_card(turn: Turn) -> None:
    """Measure the table differential after the first card.

    Not with an empty shoe: the round is void then, and all wagers are returned.
    """
    if not card_ledger.is_shoe_empty(turn):
        betting.measure_differential(turn)


# Cards into slots.


def deal_card(turn: Turn) -> None:
    """Put the drawn card into the slot that is due.

    A card that fits also proves where in the round the shoe is.
    """
    slot, drawn = next_slot(turn.now), turn.drawn
    assert slot is not None
    if not turn.now.link.aligned:
        turn.set_link(aligned=True)
    place_card(turn, slot, drawn.card, drawn.number)
    if drawn.card is None:
        detect_unread(turn, slot)
    detect_face_up(turn)
    card_ledger.detect_empty_shoe(turn)


def place_card(turn: Turn, slot: tuple[str, int], card: Card | None, number: int | None) -> None:
    """Count the card in the ledger and put it into this slot."""
    card_ledger.count_card(turn, card, number)
    place_counted_card(turn, slot, card, turn.shoe.drawn)


def place_counted_card(turn: Turn, slot: tuple[str, int], card: Card | None, number: int) -> None:
    """Put a card that the ledger has counted into this slot.

    It lies face down or face up, as the table deals; which card it is goes to the restricted stream
    only.
    """
    hand, index = slot
    dealt = DealtCard(hand=hand, index=index, card=card, number=number, drawn_us=turn.now.t_us)
    turn.set_round(cards=(*turn.round.cards, dealt), due=None)
    face = "up" if turn.faces == "face_up" else "down"
    turn.emit("round.card_dealt", {"hand": hand, "index": index, "face": face})
    code = None if card is None else card.code
    turn.emit_restricted(
        "round.card_drawn", {"hand": hand, "index": index, "card": code, "number": number}
    )


def place_pending_card(turn: Turn) -> None:
    """Put the pending card into the slot that is due, if there are both.

    A card that was drawn ahead, to be laid aside, is left where it is.
    """
    card, slot = turn.now.pending, next_slot(turn.now)
    if card is None or slot is None or is_drawn_ahead(card):
        return
    assert card.number is not None
    unplaced.drop_roles(turn, "pending")
    place_counted_card(turn, slot, card.card, card.number)
    detect_unread(turn, slot)
    if card.seen and len(turn.round.cards) == 1 and not card_ledger.is_shoe_empty(turn):
        turn.fire("face_up_first")


def detect_unread(turn: Turn, slot: tuple[str, int]) -> None:
    """Fire ``card_unread`` if the card in this slot could not be read."""
    if find_card(turn, slot).card is None:
        turn.fire("card_unread")


# The card in a slot.


def find_card(turn: Turn, slot: tuple[str, int]) -> DealtCard:
    """Return the card in this slot.

    Raises:
        StopIteration: the slot is empty.
    """
    return next(d for d in turn.round.cards if (d.hand, d.index) == slot)


def set_card(
    turn: Turn, slot: tuple[str, int], card: Card, *, entered: bool, read: Card | None = None
) -> None:
    """Record which card lies in this slot; ``entered``: people named it, the shoe did not.

    ``read`` is what the shoe read, where people say that it is another one.
    """
    there = find_card(turn, slot)
    known = msgspec.structs.replace(there, card=card, entered=entered, read=read)
    turn.set_round(cards=tuple(known if d is there else d for d in turn.round.cards))


def apply_late_reading(turn: Turn, slot: tuple[str, int], card: Card) -> None:
    """Record the card that the shoe, or its record, now names for this unread slot."""
    unordered_cards.name_pulled_card(turn, find_card(turn, slot).number, card)
    set_card(turn, slot, card, entered=False)
    data = {"hand": slot[0], "index": slot[1], "card": card.code}
    number = find_card(turn, slot).number
    turn.emit_restricted("round.card_drawn", {**data, "number": number})


# A card that lay face up in the shoe (5.6).

FACE_UP_KEY = "face_up_in_shoe"
FIRST_STEP = "first_card"
"""The step at which the procedure begins if it was the first card of the round (6.1)."""

SEEN_IN_SHOE = message("seen_face_up_in_shoe")


def detect_face_up(turn: Turn) -> None:
    """Act on a card that was face up in the shoe and has just been dealt.

    The first card of a round halts the table; any later one is played as if it were face down.
    """
    if not turn.drawn.face_up:
        return
    if len(turn.round.cards) > 1:
        _emit_played_face_down(turn)
    elif not card_ledger.is_shoe_empty(turn):
        turn.fire("face_up_first")


def detect_held_face_up(turn: Turn) -> None:
    """Act on a card that was face up in the shoe and got no slot.

    In a round with cards it is played as if it were face down. Before the first card the halt that
    is open decides.
    """
    played = turn.now.round
    if turn.drawn.face_up and played is not None and played.cards:
        _emit_played_face_down(turn)


def _emit_played_face_down(turn: Turn) -> None:
    rule = turn.game.rule(FACE_UP_KEY, "played_as_face_down")
    turn.emit_ended_irregularity(FACE_UP_KEY, SEEN_IN_SHOE, "played_as_face_down", rule)
