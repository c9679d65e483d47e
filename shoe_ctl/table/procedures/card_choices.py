"""Choices about single cards that several irregularities share: enter, place, and name a card.

``ENTER`` puts a card that was drawn and never reported into the slot that is due. ``PLACE`` puts
the first held card there. ``NAME_CARD`` names the card in a slot once it lies open. Two persons
give each of them (6.3).

In: the round, the held cards, the shoe's own count, what people enter. Out: the three choices.
Must not know: why a card was missed or not read.
"""

from __future__ import annotations

from typing import Any

from firmware_proto.cards import card
from shoe_ctl.table.arguments import require_args
from shoe_ctl.table.procedures.procedure import Choice
from shoe_ctl.table.procedures.shared import update_data
from shoe_ctl.table.round import card_entry, reconstruct, reveal
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.shoe import ledger as card_ledger
from shoe_ctl.table.shoe import unplaced
from shoe_ctl.table.situations import CARDS_OUT
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

PULLED_DRAWS = "draws"
"""Key of stored data, where the shoe reported several cards as one pull: the numbers of their
draws."""


# Enter a card that was not reported: conditions


def placed_draws(view: TableView) -> set[int]:
    """Return the numbers of the draws that the round has a card for."""
    played = view.now.round
    return set() if played is None else {dealt.number for dealt in played.cards}


def first_missing_draw(turn: Turn) -> int | None:
    """Return the number of the first draw that the round has no card for. None: none is missing."""
    shoe, placed = turn.now.shoe, placed_draws(turn)
    if shoe is None:
        return None
    before = shoe.drawn if turn.now.round is None else max({*placed, turn.round.drawn_before})
    passed_over = next((number for number in shoe.unreported_draws if number > before), None)
    if passed_over is not None:
        return passed_over
    has_reported_all = (
        turn.now.link.up and turn.now.link.replay and shoe.reported_drawn <= shoe.drawn
    )
    return None if has_reported_all else shoe.drawn + 1


def check_enter(turn: Turn, args: card_entry.MissedCardArgs | None) -> Message | None:
    """Return an objection if no card was missed, none is due, or it cannot be the one named."""
    number, held = first_missing_draw(turn), turn.now.held
    if (objection := _check_slot(turn)) is not None:
        return objection
    if number is None:
        return message("refused_no_card_missed")
    if held and unplaced.draw_of(held[0]) < number:
        return message("refused_place_kept_first")
    if args is None:
        return None
    code = args.card
    if turn.faces != "face_up":
        return None if code is None else message("refused_card_face_down")
    return message("refused_name_open_card") if code is None else card_entry.check_card(turn, code)


def _suggested_card(view: TableView) -> dict[str, Any]:
    """Return that the card must be named, where it lies open."""
    return {"card": None} if view.faces == "face_up" else {}


def _check_slot(turn: Turn) -> Message | None:
    """Return an objection if the round has no slot for a card now."""
    takes = turn.resume_state in CARDS_OUT or turn.takes_card_in(turn.resume_state)
    if not takes or turn.now.shoe is None:
        return message("refused_no_card_awaited")
    if reconstruct.free_slot(turn) is None:
        return message("refused_see_cards_first")
    return None


# Actions


def enter_missed_card(turn: Turn) -> None:
    """Put a card that was not reported into the slot that is due. Face down nobody names it yet."""
    code, number = require_args(turn, card_entry.MissedCardArgs).card, first_missing_draw(turn)
    assert number is not None, "check_enter was asked before"
    card_ledger.count_card(turn, None, number)
    card_ledger.note_entered(turn, number, code)
    face = None if code is None else card(code)
    if face is not None:
        card_ledger.name_unknown_card(turn, face)
    slot = reconstruct.place_next(turn, face, number)
    card_entry.emit_card_entered(turn, *slot, face)
    update_data(turn, entered=True)


# Place a card that is held: conditions


def check_place(turn: Turn, _args: object = None) -> Message | None:
    """Return an objection if no card is held, none is due, or a card before it was missed."""
    held = turn.now.held
    if not held:
        return message("refused_no_card_kept")
    if any(turn.procedures[opened.key].inspection for opened in turn.halt.stack):
        return message("refused_card_inspected")
    if (objection := _check_slot(turn)) is not None:
        return objection
    if _is_of_pull(turn):
        return message("refused_order_them_first")
    number = held[0].number
    if number is not None and number in placed_draws(turn):
        return message("refused_card_in_place")
    missed = first_missing_draw(turn)
    if number is not None and missed is not None and missed < number:
        return message("refused_enter_missed_first")
    return None


def _is_of_pull(turn: Turn) -> bool:
    """Return True if the first held card is one of those that the shoe reported as one pull."""
    came_after = turn.now.held[0].came_after
    return any(
        PULLED_DRAWS in opened.data and opened.number <= came_after for opened in turn.halt.stack
    )


# Actions


def place_held_card(turn: Turn) -> None:
    """Put the first held card into the slot that is due: it is that hand's card."""
    first = turn.now.held[0]
    unplaced.drop_cards(turn, (first,))
    slot = reconstruct.place_next(turn, first.card, unplaced.draw_of(first))
    card_entry.emit_card_entered(turn, *slot, None)
    update_data(turn, entered=True)


# Name the card in a slot: conditions


def unread_slot(turn: Turn) -> tuple[str, int]:
    """Return the slot of the card that is to be named."""
    noted = turn.current.data
    return noted["hand"], noted["index"]


def contradicts_reading(turn: Turn) -> bool:
    """Return True if the card is named otherwise than the shoe read it, alone or in its pull."""
    args = require_args(turn, card_entry.SeenCardArgs)
    dealt = dealing.find_card(turn, unread_slot(turn))
    return not args.against_reading and not card_entry.matches_reading(
        turn, dealt, card_entry.named_card(turn)
    )


# Actions


def enter_seen_card(turn: Turn) -> None:
    """Enter the card as two people see it. The room sees it too (6.3)."""
    face, slot = card_entry.named_card(turn), unread_slot(turn)
    card_entry.emit_card_entered(turn, *slot, face)
    card_entry.name_card(turn, dealing.find_card(turn, slot), face)
    reveal.reveal(turn, [dealing.find_card(turn, slot)])


# The choices

ENTER = Choice(
    "enter", "pit_supervisor", "ruling", (enter_missed_card,), check_enter, needs_consent=True,
    arguments=card_entry.MissedCardArgs, suggested=_suggested_card,
)  # fmt: skip

PLACE = Choice(
    "place", "pit_supervisor", "ruling", (place_held_card,), check_place, needs_consent=True
)

NAME_CARD = Choice(
    "enter", "dealer", "entered", check=card_entry.check_seen, reason=False, needs_consent=True,
    arguments=card_entry.SeenCardArgs, contradicts=contradicts_reading,
)  # fmt: skip
