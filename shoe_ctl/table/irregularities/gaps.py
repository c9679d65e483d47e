"""Cards that are out and were missed: entered, or placed, in order, into the slots that are due.

In: the round, the cards kept, the shoe's own count. Out: choices, and the end they lead to (6.3).
Must not know: why the cards were missed.
"""

from __future__ import annotations

from typing import Any

from firmware_proto.events import Hello, Status
from shoe_ctl.texts.message import Message, message

from .. import turn
from ..arguments import require_args
from ..procedures.procedure import Choice, End, Hears, Procedure, Step
from ..procedures.shared import (
    CALL_VOID,
    CARDS_OUT,
    GO_ON,
    LAY_ASIDE,
    PLAY_ON,
    align,
    aside,
    close_taken_back,
    note,
    same_shoe_is_back,
    something_is_missing,
    stands,
    tell_moved,
    void,
)
from ..procedures.stack import raise_irregularity
from ..round import card_entry, reconstruct
from ..round import deal as dealing
from ..shoe import card_set, unplaced
from ..shoe import ledger as card_ledger
from ..shoe.ledger import COUNT_PROFILES
from ..state import INITIAL_DEAL, takes_cards
from ..turn import Cause, TableView, Turn
from . import unread_cards

DRAWN_AS_ONE = "draws"
"""Noted with cards that the shoe told as one: the numbers it gave them."""

# What was seen.


def has_entries(standing: TableView) -> bool:
    """Since it was raised people have put cards where they belong."""
    halt = standing.now.halt
    return halt is not None and bool(halt.top.noted.get("entered"))


def has_no_entries(standing: TableView) -> bool:
    """Nobody has put a card anywhere."""
    return not has_entries(standing)


def why_not_enterable(turn: Turn, args: card_entry.MissedCardArgs | None) -> Message | None:
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
    return message("refused_name_open_card") if code is None else card_entry.check_card(turn, code)


def _wants_card(at: TableView) -> dict[str, Any]:
    """The card, where it lies open."""
    return {"card": None} if turn.faces(at.now, at.settings) == "face_up" else {}


def why_not_placeable(turn: Turn, _args: object = None) -> Message | None:
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
    if reconstruct.free_slot(turn) is None:
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


def why_not_takable(turn: Turn, _args: object = None) -> Message | None:
    """What was made of the card, or came after it, stands on it."""
    last, played = card_ledger.last_entered(turn), turn.round
    assert last is not None, "else it is no choice"
    if turn.now.held or turn.now.early or last.number != turn.shoe.drawn:
        return message("refused_card_drawn_after")
    if played.totals_announced and (last.hand, last.index) in INITIAL_DEAL:
        return message("refused_totals_with_card")
    return None


def counts_differ(turn: Turn, _args: object = None) -> Message | None:
    """The shoe would refuse the next draw; else what keeps the table from going on."""
    if card_ledger.shoe_has_fewer(turn):
        return message("refused_shoe_counts_fewer")
    return something_is_missing(turn)


def _may_be_taken_back(at: TableView) -> bool:
    return card_ledger.last_entered(at) is not None


# What is done.


def enter_missed_card(turn: Turn) -> None:
    """A card that nobody heard of lies where one was due; face down nobody names it yet."""
    code, number = require_args(turn, card_entry.MissedCardArgs).card, first_missed(turn)
    assert number is not None, "looked at before"
    card_ledger.count_card(turn, None, number)
    card_ledger.note_entered(turn, number, code)
    face = None if code is None else card_entry.require_card(code)
    if face is not None:
        card_ledger.name_unknown_card(turn, face)
    slot = reconstruct.place_next(turn, face, number)
    card_entry.emit_card_entered(turn, *slot, face)
    note(turn, entered=True)


def place_held_card(turn: Turn) -> None:
    """The card that was kept first lies where one was due: it is that hand's card."""
    first = turn.now.held[0]
    unplaced.drop_cards(turn, (first,))
    slot = reconstruct.place_next(turn, first.card, unplaced.draw_of(first))
    card_entry.emit_card_entered(turn, *slot, None)
    note(turn, entered=True)


def take_back_entry(turn: Turn) -> None:
    """The card entered last was never drawn: it lies nowhere, and one is due there."""
    last, key = card_ledger.last_entered(turn), turn.current.key
    assert last is not None
    waits = reconstruct.pending_irregularity(turn.now, last)
    card_ledger.remove_never_drawn(turn, last)
    reconstruct.set_phase(turn)
    tell_moved(turn, "taken_back", [last.place])
    if waits is not None:
        close_taken_back(turn, waits, turn.game.rule(key, "entered"))
    note(turn, entered=True)


def recount_cards(turn: Turn) -> None:
    """The cards lie there as they were entered, and the shoe missed them: its count is followed."""
    told = card_ledger.public_counts(turn)
    card_ledger.adopt_shoe_count(turn)
    data = {"key": turn.current.key, "step": "recounted", **told}
    turn.tell("irregularity.step", data, restricted={**data, **turn.actor()})
    note(turn, entered=True)


# Choices, and the end.

ENTER = Choice(
    "enter", "pit_supervisor", "ruling", (enter_missed_card,), why_not_enterable, second=True,
    takes=card_entry.MissedCardArgs, wants=_wants_card,
)  # fmt: skip
PLACE = Choice(
    "place", "pit_supervisor", "ruling", (place_held_card,), why_not_placeable, second=True
)
TAKE_BACK = Choice(
    "take_back", "pit_supervisor", "ruling", (take_back_entry,), why_not_takable, second=True,
    when=_may_be_taken_back,
)  # fmt: skip
RECOUNT = Choice(
    "recount",
    "pit_supervisor",
    "ruling",
    (recount_cards,),
    second=True,
    when=card_ledger.shoe_has_fewer,
)
RULED_ON = GO_ON._replace(unless=counts_differ, when=has_no_entries)
GO_ON_WITH_THEM = Choice(
    PLAY_ON, "pit_supervisor", "entered", (align,), counts_differ, when=has_entries
)

CHOICES: tuple[Choice, ...] = (ENTER, PLACE, TAKE_BACK, RECOUNT, GO_ON_WITH_THEM, RULED_ON)


def is_all_entered(key: str) -> End:
    """All cards lie where they belong, and the round goes on with them (6.3)."""
    return End("entered", PLAY_ON, (key, "entered"))


# What was seen.


def was_entered(turn: Turn) -> bool:
    """People entered the draw of this number."""
    number, shoe = turn.drawn.number, turn.now.shoe
    return number is not None and shoe is not None and number in shoe.entered


def contradicts_entry(turn: Turn) -> bool:
    """They entered it as another card."""
    if not was_entered(turn):
        return False
    entered, drawn = turn.shoe.entered[_number(turn)], turn.drawn.card
    return entered is not None and drawn is not None and entered != drawn.code


def _number(turn: Turn) -> int:
    number = turn.drawn.number
    assert number is not None
    return number


def counts_fewer_than_entered(turn: Turn) -> bool:
    """The shoe that is back counts fewer cards out than people entered."""
    event, shoe = turn.shoe_event, turn.now.shoe
    assert isinstance(event, Hello)
    if shoe is None or card_set.is_another_set(turn):
        return False
    return any(number > event.drawn for number in shoe.entered)


# What is done.


def halt_for_counts(turn: Turn) -> None:
    """The shoe shows that it counts other cards out than the table: people count them."""
    event = turn.shoe_event
    assert isinstance(event, Hello | Status)
    seen = message("seen_counts_differ", shoe=event.drawn, table=turn.shoe.drawn)
    raise_irregularity(turn, Cause("gap", seen, subject=COUNT_PROFILES, step=COUNT_PROFILES))


def compare_with_entry(turn: Turn) -> None:
    """The record bears the entry out, or names a card that lay face down: counted once."""
    number, drawn = _number(turn), turn.drawn.card
    entered = turn.shoe.entered[number]
    left = {n: code for n, code in turn.shoe.entered.items() if n != number}
    turn.set_shoe(entered=left)
    data = {"number": number, "entered": entered, "card": None if drawn is None else drawn.code}
    turn.tell_restricted("round.entry_compared", data)
    if drawn is not None and entered not in (None, drawn.code) and drawn in turn.game.deck:
        card_ledger.note_reading(turn, drawn)
    if entered is not None or drawn is None:
        return
    if drawn not in turn.game.deck:  # it is inspected, and its place stays to be entered
        turn.then("one_too_many")
        return
    played = turn.now.round
    here = next((d for d in (played.cards if played else ()) if d.number == number), None)
    if here is None:
        card_ledger.name_unknown_card(turn, drawn)
    elif here.card is None:
        slot = (here.hand, here.index)
        dealing.apply_late_reading(turn, slot, drawn)
        unread_cards.resolve_read(turn, slot)


LINK_LOST = Procedure(
    "link_lost",
    (
        Step(
            "ruling",
            message("prompt_link_lost"),
            (*CHOICES, LAY_ASIDE, CALL_VOID),
            (Hears("hello", same_shoe_is_back, "resumed"),),
            facts=card_ledger.public_counts,
        ),
    ),
    (
        End("resumed", "link_is_back", ("link_lost", "resumed")),
        is_all_entered("link_lost"),
        stands(("link_lost", "ruled")),
        aside(("link_lost", "ruled")),
        void(("link_lost", "ruled")),
    ),
)

GAP = Procedure(
    "gap",
    (
        Step(
            "ruling",
            message("prompt_gap"),
            (*CHOICES, LAY_ASIDE, CALL_VOID),
            facts=card_ledger.public_counts,
        ),
        Step(
            card_ledger.COUNT_PROFILES,
            message("prompt_gap_counts"),
            (*CHOICES, LAY_ASIDE, CALL_VOID),
            facts=card_ledger.public_counts,
        ),
    ),
    (
        is_all_entered("gap"),
        stands(("gap", "ruled")),
        aside(("gap", "ruled")),
        void(("gap", "ruled")),
    ),
    covers=("link_lost",),
    begins=(card_ledger.COUNT_PROFILES,),
)
