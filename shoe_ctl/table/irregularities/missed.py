"""Cards that are out and were missed: entered, or placed, in order, into the slots that are due.

In: the round, the cards kept, the shoe's own count. Out: choices, and the end they lead to (6.3).
Must not know: why the cards were missed.
"""

from __future__ import annotations

from typing import Any

from shoe_ctl.table import belated, conduct, counts, entering, retaking, shoe_cards
from shoe_ctl.table.arguments import checked
from shoe_ctl.table.round import unplaced
from shoe_ctl.table.slots import INITIAL_DEAL, takes_cards
from shoe_ctl.table.turn import TableView, Turn
from shoe_ctl.texts.message import Message, message

from .endings import GO_ON, PLAY_ON, align
from .grounds import (
    CARDS_OUT,
    close_taken_back,
    note,
    something_is_missing,
    tell_moved,
)
from .procedure import Choice, End

DRAWN_AS_ONE = "draws"
"""Noted with cards that the shoe told as one: the numbers it gave them."""

# What was seen.


def some_were_entered(standing: TableView) -> bool:
    """Since it was raised people have put cards where they belong."""
    halt = standing.now.halt
    return halt is not None and bool(halt.top.noted.get("entered"))


def none_were_entered(standing: TableView) -> bool:
    """Nobody has put a card anywhere."""
    return not some_were_entered(standing)


def cannot_enter(turn: Turn, args: entering.MissedCard | None) -> Message | None:
    """No card was missed, none is due, or the one that is named cannot be it."""
    number, kept = first_missed(turn), turn.now.held
    if (no_slot := _no_slot(turn)) is not None:
        return no_slot
    if number is None:
        return message("refused_no_card_missed")
    if kept and unplaced.draw_of(kept[0]) < number:
        return message("refused_place_kept_first")
    if args is None:
        return None
    code = args.card
    if turn.faces != "face_up":
        return None if code is None else message("refused_card_face_down")
    return message("refused_name_open_card") if code is None else entering.check_card(turn, code)


def _wants_card(at: TableView) -> dict[str, Any]:
    """The card, where it lies open."""
    return {"card": None} if conduct.faces(at.now, at.settings) == "face_up" else {}


def cannot_place(turn: Turn, _args: object = None) -> Message | None:
    """No card was kept, none is due, or one before it was missed."""
    kept = turn.now.held
    if not kept:
        return message("refused_no_card_kept")
    if any(turn.procedures[opened.key].inspection for opened in turn.halt.stack):
        return message("refused_card_inspected")
    if (no_slot := _no_slot(turn)) is not None:
        return no_slot
    if _came_together(turn):
        return message("refused_order_them_first")
    number = kept[0].number
    if number is not None and number in numbers_in_place(turn):
        return message("refused_card_in_place")
    missed = first_missed(turn)
    if number is not None and missed is not None and missed < number:
        return message("refused_enter_missed_first")
    return None


def _no_slot(turn: Turn) -> Message | None:
    takes = (*CARDS_OUT, *takes_cards(implied=turn.implied))
    if turn.resume_state not in takes or turn.now.shoe is None:
        return message("refused_no_card_awaited")
    if belated.free_slot(turn) is None:
        return message("refused_see_cards_first")
    return None


def _came_together(turn: Turn) -> bool:
    """The card that was kept first is one of those that the shoe told as one."""
    came_after = turn.now.held[0].came_after
    return any(
        DRAWN_AS_ONE in opened.noted and opened.number <= came_after for opened in turn.halt.stack
    )


def numbers_in_place(standing: TableView) -> set[int]:
    """The numbers of the draws that the round has a card for."""
    played = standing.now.round
    return set() if played is None else {dealt.number for dealt in played.cards}


def first_missed(turn: Turn) -> int | None:
    """The number of the first draw that the round has no card for; None: none is missing."""
    shoe, here = turn.now.shoe, numbers_in_place(turn)
    if shoe is None:
        return None
    before = shoe.drawn if turn.now.round is None else max({*here, turn.round.drawn_before})
    passed_over = next((number for number in shoe.missed if number > before), None)
    if passed_over is not None:
        return passed_over
    counts_no_more = turn.now.link.up and turn.now.link.replay and shoe.told_drawn <= shoe.drawn
    return None if counts_no_more else shoe.drawn + 1


def cannot_take_back(turn: Turn, _args: object = None) -> Message | None:
    """What was made of the card, or came after it, stands on it."""
    last, played = counts.last_entered(turn), turn.round
    assert last is not None, "else it is no choice"
    if turn.now.held or turn.now.early or last.number != turn.shoe.drawn:
        return message("refused_card_drawn_after")
    if played.totals_announced and (last.hand, last.index) in INITIAL_DEAL:
        return message("refused_totals_with_card")
    return None


def counts_differ(turn: Turn, _args: object = None) -> Message | None:
    """The shoe would refuse the next draw; else what keeps the table from going on."""
    if counts.shoe_has_fewer(turn):
        return message("refused_shoe_counts_fewer")
    return something_is_missing(turn)


def _may_be_taken_back(at: TableView) -> bool:
    return counts.last_entered(at) is not None


# What is done.


def enter(turn: Turn) -> None:
    """A card that nobody heard of lies where one was due; face down nobody names it yet."""
    code, number = checked(turn, entering.MissedCard).card, first_missed(turn)
    assert number is not None, "looked at before"
    shoe_cards.count_card(turn, None, number)
    shoe_cards.note_entered(turn, number, code)
    face = None if code is None else entering.face(code)
    if face is not None:
        shoe_cards.name_unseen(turn, face)
    slot = belated.lay_next(turn, face, number)
    entering.tell_entered(turn, *slot, face)
    note(turn, entered=True)


def place(turn: Turn) -> None:
    """The card that was kept first lies where one was due: it is that hand's card."""
    first = turn.now.held[0]
    unplaced.drop_cards(turn, (first,))
    slot = belated.lay_next(turn, first.card, unplaced.draw_of(first))
    entering.tell_entered(turn, *slot, None)
    note(turn, entered=True)


def take_back(turn: Turn) -> None:
    """The card entered last was never drawn: it lies nowhere, and one is due there."""
    last, key = counts.last_entered(turn), turn.current.key
    assert last is not None
    waits = retaking.waits_for(turn.now, last)
    counts.take_out(turn, last)
    belated.stand(turn)
    tell_moved(turn, "taken_back", [last.place])
    if waits is not None:
        close_taken_back(turn, waits, turn.game.rule(key, "entered"))
    note(turn, entered=True)


def recount(turn: Turn) -> None:
    """The cards lie there as they were entered, and the shoe missed them: its count is followed."""
    told = counts.told(turn)
    counts.follow_the_shoe(turn)
    data = {"key": turn.current.key, "step": "recounted", **told}
    turn.tell("irregularity.step", data, restricted={**data, **turn.actor()})
    note(turn, entered=True)


# Choices, and the end.

ENTER = Choice(
    "enter", "pit_supervisor", "ruling", (enter,), cannot_enter, second=True,
    takes=entering.MissedCard, wants=_wants_card,
)  # fmt: skip
PLACE = Choice("place", "pit_supervisor", "ruling", (place,), cannot_place, second=True)
TAKE_BACK = Choice(
    "take_back", "pit_supervisor", "ruling", (take_back,), cannot_take_back, second=True,
    when=_may_be_taken_back,
)  # fmt: skip
RECOUNT = Choice(
    "recount", "pit_supervisor", "ruling", (recount,), second=True, when=counts.shoe_has_fewer
)
RULED_ON = GO_ON._replace(unless=counts_differ, when=none_were_entered)
GO_ON_WITH_THEM = Choice(
    PLAY_ON, "pit_supervisor", "entered", (align,), counts_differ, when=some_were_entered
)

CHOICES: tuple[Choice, ...] = (ENTER, PLACE, TAKE_BACK, RECOUNT, GO_ON_WITH_THEM, RULED_ON)


def entered(key: str) -> End:
    """All cards lie where they belong, and the round goes on with them (6.3)."""
    return End("entered", PLAY_ON, (key, "entered"))
