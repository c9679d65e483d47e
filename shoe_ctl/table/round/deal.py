"""Cards into slots, read or not: counted and told.

In: a slot, a card or None, its number. Out: round.card_dealt, the card for the restricted.
Must not know: why a card belongs into a slot, who says so, what follows from it.
"""

from __future__ import annotations

import msgspec

from firmware_proto.cards import Card
from shoe_ctl.texts.message import message

from ..shoe import ledger as card_ledger
from ..shoe import unplaced
from ..state import DealtCard, Round, is_drawn_ahead, next_slot
from ..turn import Turn
from ..wagers import commands as wager_commands
from . import pulls

FACE_UP_KEY = "face_up_in_shoe"
FIRST_STEP = "first_card"
"""The step at which its procedure begins where the shoe says so of a round's first card (6.1)."""

SEEN_IN_SHOE = message("seen_face_up_in_shoe")


def check_face_up(turn: Turn) -> None:
    """A card of the round was dealt: after the first one it plays all the same (5.6)."""
    if not turn.drawn.face_up:
        return
    if len(turn.round.cards) > 1:
        _plays_face_down(turn)
    elif not card_ledger.is_shoe_empty(turn):
        turn.then("face_up_first")


def check_held_face_up(turn: Turn) -> None:
    """A card came that the round has no place for; before a round's first the halt decides."""
    played = turn.now.round
    if turn.drawn.face_up and played is not None and played.cards:
        _plays_face_down(turn)


def _plays_face_down(turn: Turn) -> None:
    rule = turn.game.rule(FACE_UP_KEY, "played_as_face_down")
    turn.tell(
        "irregularity.raised", {"key": FACE_UP_KEY, "seen": SEEN_IN_SHOE.as_data(), "rule": rule}
    )
    turn.tell(
        "irregularity.resolved", {"key": FACE_UP_KEY, "how": "played_as_face_down", "rule": rule}
    )


def place_card(turn: Turn, slot: tuple[str, int], card: Card | None, number: int | None) -> None:
    """Put the shoe's next card into this slot, face down or up as the table deals; count it."""
    card_ledger.count_card(turn, card, number)
    place_counted_card(turn, slot, card, turn.shoe.drawn)


def place_counted_card(turn: Turn, slot: tuple[str, int], card: Card | None, number: int) -> None:
    """Put a card that is counted under this number into this slot."""
    hand, index = slot
    dealt = DealtCard(hand=hand, index=index, card=card, number=number, drawn_us=turn.now.t_us)
    turn.set_round(cards=(*turn.round.cards, dealt), due=None)
    face = "up" if turn.faces == "face_up" else "down"
    turn.tell("round.card_dealt", {"hand": hand, "index": index, "face": face})
    code = None if card is None else card.code
    turn.tell_restricted(
        "round.card_drawn", {"hand": hand, "index": index, "card": code, "number": number}
    )


def place_pending_card(turn: Turn) -> None:
    """Put the card that waits for its slot into the slot that is due."""
    card, slot = turn.now.pending, next_slot(turn.now)
    if card is None or slot is None or is_drawn_ahead(card):
        return
    assert card.number is not None
    unplaced.drop_roles(turn, "pending")
    place_counted_card(turn, slot, card.card, card.number)
    check_unread(turn, slot)
    if card.seen and len(turn.round.cards) == 1 and not card_ledger.is_shoe_empty(turn):
        turn.then("face_up_first")


def check_unread(turn: Turn, slot: tuple[str, int]) -> None:
    """What could not be read is entered, sooner or later."""
    if find_card(turn, slot).card is None:
        turn.then("card_unread")


def find_card(turn: Turn, slot: tuple[str, int]) -> DealtCard:
    """The card in this slot.

    Raises:
        StopIteration: there is none.
    """
    return next(d for d in turn.round.cards if (d.hand, d.index) == slot)


def set_card(turn: Turn, slot: tuple[str, int], card: Card, *, entered: bool) -> None:
    """What lies in this slot is this card, as people ``entered`` it or as the shoe read it."""
    cards = tuple(
        msgspec.structs.replace(d, card=card, entered=entered) if (d.hand, d.index) == slot else d
        for d in turn.round.cards
    )
    turn.set_round(cards=cards)


def apply_late_reading(turn: Turn, slot: tuple[str, int], card: Card) -> None:
    """The shoe, or its record, names the card in this slot that could not be read before."""
    pulls.name_pulled_card(turn, find_card(turn, slot).number, card)
    set_card(turn, slot, card, entered=False)
    data = {"hand": slot[0], "index": slot[1], "card": card.code}
    number = find_card(turn, slot).number
    turn.tell_restricted("round.card_drawn", {**data, "number": number})


def has_implied_announcements(turn: Turn) -> bool:
    """Announcements follow the cards."""
    return turn.implied


def open_round(turn: Turn) -> None:
    """*Place your bets* (3.1): the round begins and gets its id."""
    number = turn.now.rounds + 1
    opened = Round(
        id=f"{turn.shoe.id}-r{number}", first_input=turn.now.inputs, drawn_before=turn.shoe.drawn
    )
    turn.change(rounds=number, round=opened)
    data = {"round_id": opened.id, "shoe_id": turn.shoe.id}
    turn.announce("round.opened", data, by="place_your_bets")
    wager_commands.open_bets(turn)


def close_bets(turn: Turn) -> None:
    """*No more bets* (3.2)."""
    turn.announce("round.bets_closed", {"round_id": turn.round.id}, by="no_more_bets")
    wager_commands.close_bets(turn)


def measure_differential_after_card(turn: Turn) -> None:
    """What exceeds the table differential is found after the first card."""
    if not card_ledger.is_shoe_empty(turn):
        wager_commands.measure_differential(turn)


def deal_card(turn: Turn) -> None:
    """Put the card into the slot that was due, face down or up as the table deals."""
    slot, drawn = next_slot(turn.now), turn.drawn
    assert slot is not None
    if not turn.now.link.aligned:
        turn.set_link(aligned=True)
    place_card(turn, slot, drawn.card, drawn.number)
    if drawn.card is None:
        check_unread(turn, slot)
    check_face_up(turn)
    card_ledger.void_if_shoe_is_empty(turn)
