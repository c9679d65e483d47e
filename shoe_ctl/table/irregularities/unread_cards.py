"""A card that the shoe could not read (``misread``): it holds its slot until somebody names it.

Rule: a reader error does not change the card (6.3). Face down, the unread card holds its slot and
play goes on; it is never pulled from a squeeze. Once it lies open, two persons enter it, or the
shoe reads it after all. Where the shoe stops at a card and does not say where it is, people do.

A card of a double draw whose order is unknown waits to be named in the same way.

In: the shoe's errors and readings, cards that are exposed, what people enter. Out: ``MISREAD``,
raised, pending or resolved.
Must not know: why a card was not read, who exposes it.
"""

from __future__ import annotations

from firmware_proto.events import Error
from shoe_ctl.table import state
from shoe_ctl.table.arguments import require_args
from shoe_ctl.table.irregularities.double_draw import DOUBLE_DRAW_KEY, NAMING_STEP
from shoe_ctl.table.irregularities.halts import may_hide_card
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.card_choices import NAME_CARD, enter_seen_card, unread_slot
from shoe_ctl.table.procedures.procedure import Accepts, Choice, End, Procedure, Step
from shoe_ctl.table.procedures.shared import (
    CALL_VOID,
    LAY_ASIDE,
    check_has_held_cards,
    check_no_unplaced_cards,
    current_held_cards,
    end_set_aside,
    end_void,
)
from shoe_ctl.table.round import card_check, reconstruct, reveal, unordered_cards
from shoe_ctl.table.round import deal as dealing
from shoe_ctl.table.round.reveal import (
    ExposedCards,
    advance_round,
    cards_to_expose,
    expose,
    is_dealt_face_up,
)
from shoe_ctl.table.state import DealtCard, OpenIrregularity
from shoe_ctl.table.turn import Cause, Turn
from shoe_ctl.texts.message import Message, message

MISREAD_KEY = "misread"

_AWAITING = ("closed", "dealing", "drawing")
"""The states in which a card is awaited. In these, a card that comes is the one that was due."""

UNREADABLE_CODES = ("cannot_read", "E3")
"""The shoes' own codes for a card that they could not read."""

_NAMING_KEYS = (MISREAD_KEY, DOUBLE_DRAW_KEY)
"""The irregularities that have a step at which the card in a slot is named."""

_CITES_ENTERED = (MISREAD_KEY, "entered")


# Detection


def awaits_reading(turn: Turn) -> bool:
    """Return True if the shoe reads a card that it could not read before, and names its slot."""
    drawn, played = turn.drawn, turn.now.round
    if played is None or drawn.card is None or drawn.number is not None:
        return False
    if drawn.card not in turn.game.deck:
        return False
    named = (drawn.hand, drawn.index)
    return any(d.card is None and (d.hand, d.index) == named for d in played.cards)


def would_expose_unread(turn: Turn) -> bool:
    """Return True if the command exposes a card that nobody could read."""
    named = cards_to_expose(turn, require_args(turn, ExposedCards))
    return any(dealt.card is None for dealt in named)


def is_due_for_entry(turn: Turn) -> bool:
    """Return True if an unread card lies open and nothing is open for it yet."""
    return is_dealt_face_up(turn) and bool(_unraised_cards(turn))


def is_reading_error(turn: Turn) -> bool:
    """Return True if the shoe stops at the card that is due because it cannot read it."""
    event = turn.event(Error)
    awaited = state.next_slot(turn.now) is not None and not turn.now.link.replay
    stops = event.code in UNREADABLE_CODES or may_hide_card(turn)
    return awaited and event.place != "burn" and stops


def asks_for_card_place(turn: Turn) -> bool:
    """Return True if people are already asked where the card is that the shoe stopped at."""
    top = None if turn.now.halt is None else turn.now.halt.current
    return top is not None and (top.key, top.step) == ("misread", "where")


def is_about_last_card(turn: Turn) -> bool:
    """Return True if the shoe repeats as an error that it could not read the last card."""
    event, played, link = turn.event(Error), turn.now.round, turn.now.link
    if event.code not in UNREADABLE_CODES or link.replay or link.names_hands or played is None:
        return False
    return any(d.card is None and d.number == turn.shoe.drawn for d in played.cards)


def _unraised_cards(turn: Turn) -> list[DealtCard]:
    """Return the unread cards of the round for which nothing is open yet."""
    unread = [dealt for dealt in turn.round.cards if dealt.card is None]
    return [d for d in unread if not any(stack.is_open(turn, k, d.subject) for k in _NAMING_KEYS)]


def _cause(turn: Turn, dealt: DealtCard) -> Cause:
    """Return why nobody knows the card: it is one of a pull, it was entered, or it was not read."""
    noted, subject = {"hand": dealt.hand, "index": dealt.index}, dealt.subject
    if unordered_cards.find_pull(turn.now, dealt.number) is not None:
        seen = message("seen_card_of_a_pull", hand=dealt.hand, index=dealt.index)
        return Cause(DOUBLE_DRAW_KEY, seen, subject=subject, data=noted, step=NAMING_STEP)
    if dealt.number in turn.shoe.entered_draws:
        seen = message("seen_card_only_entered", hand=dealt.hand, index=dealt.index)
    else:
        seen = message("seen_card_not_read", hand=dealt.hand, index=dealt.index)
    return Cause(MISREAD_KEY, seen, subject=subject, data=noted, step="enter")


def raise_pending_entry(turn: Turn) -> None:
    """Raise the unread cards as pending: they hold their slots, and play goes on."""
    for dealt in _unraised_cards(turn):
        stack.raise_pending(turn, _cause(turn, dealt))


def halt_for_unread(turn: Turn) -> None:
    """Halt for unread cards that lie open: they are entered at once."""
    for dealt in _unraised_cards(turn):
        stack.raise_irregularity(turn, _cause(turn, dealt))


def expose_cards(turn: Turn) -> None:
    """Expose the named cards. Where one is unread the table halts, else play goes on."""
    halts = would_expose_unread(turn)
    expose(turn)
    if halts:
        turn.fire("unread_exposed")
    else:
        advance_round(turn)


def halt_for_exposed(turn: Turn) -> None:
    """Halt for the unread cards that were exposed. The first of the hand is entered first."""
    args = require_args(turn, ExposedCards)
    pending = [
        opened
        for opened in turn.now.pending_irregularities
        if _is_for_slot(opened, args.hand, args.index)
    ]
    for opened in reversed(pending):
        stack.escalate_pending(turn, opened, opened.step)


# Conditions


def is_now_read(turn: Turn) -> bool:
    """Return True if the shoe names the slot of the card and has read it after all."""
    drawn = turn.drawn
    if drawn.card is None or drawn.card not in turn.game.deck:
        return False
    return (drawn.hand, drawn.index) == unread_slot(turn)


def is_read_in_turn(turn: Turn) -> bool:
    """Return True if this is the card that was due, and the shoe has read it after all."""
    if current_held_cards(turn) or turn.resume_state not in _AWAITING:
        return False
    return card_check.is_card_for(turn, reconstruct.free_slot(turn))


def is_unread_in_turn(turn: Turn) -> bool:
    """Return True if this is the card that was due, reported unread after the shoe's error."""
    drawn, slot = turn.drawn, reconstruct.free_slot(turn)
    if drawn.card is not None or current_held_cards(turn) or turn.resume_state not in _AWAITING:
        return False
    return slot is not None and (drawn.hand is None or (drawn.hand, drawn.index) == slot)


def check_in_place(turn: Turn, _args: object = None) -> Message | None:
    """Return an objection if no card was due, or others came as well."""
    if reconstruct.free_slot(turn) is None:
        return message("refused_no_card_due")
    return check_no_unplaced_cards(turn)


# Actions


def hold_slot(turn: Turn) -> None:
    """Deal the card that was due as unread: it holds its slot."""
    reconstruct.deal_next(turn, None)


def take_late_reading(turn: Turn) -> None:
    """Take the card as the shoe has now read it.

    It was exposed or dealt face up, so the room sees it in its time, as if it had been read at
    once.
    """
    assert turn.drawn.card is not None
    slot = unread_slot(turn)
    dealing.apply_late_reading(turn, slot, turn.drawn.card)
    if reveal.is_dealt_face_up(turn):
        reveal.reveal_face_up_cards(turn)
    else:
        reveal.reveal(turn, [dealing.find_card(turn, slot)])


def record_reading(turn: Turn) -> None:
    """Record the reading of a card that lies face down, for those who may know it."""
    drawn = turn.drawn
    assert drawn.card is not None and drawn.hand is not None and drawn.index is not None
    slot = (drawn.hand, drawn.index)
    dealing.apply_late_reading(turn, slot, drawn.card)
    resolve_read(turn, slot)


def resolve_read(turn: Turn, slot: tuple[str, int]) -> None:
    """End what was pending for the card in this slot: the shoe has read it."""
    for opened in turn.now.pending_irregularities:
        if _is_for_slot(opened, *slot):
            stack.resolve_pending(turn, opened, READ)


def resolve_known(turn: Turn) -> None:
    """End what was pending for cards that were named as a part of something else.

    Or that left their slot: where such a card is shown elsewhere, its entry is asked for there.
    """
    for opened in turn.now.pending_irregularities:
        if is_naming(opened) and not _lies_unread(turn, slot_of(opened)):
            stack.resolve_pending(turn, opened, KNOWN)


def _lies_unread(turn: Turn, slot: tuple[str, int]) -> bool:
    """Return True if a card that was not read lies in this slot."""
    return any(d.card is None for d in turn.round.cards if (d.hand, d.index) == slot)


def slot_of(opened: OpenIrregularity) -> tuple[str, int]:
    """Return the hand and index of the card that this irregularity names."""
    return opened.data["hand"], opened.data["index"]


def _is_for_slot(opened: OpenIrregularity, hand: object, index: object) -> bool:
    """Return True if this irregularity names the card in this slot, or any card of the hand."""
    noted = opened.data
    return is_naming(opened) and noted["hand"] == hand and index in (None, noted["index"])


def is_naming(opened: OpenIrregularity) -> bool:
    """Return True if this irregularity is at the step that names the card in a slot."""
    return (opened.key, opened.step) in ((MISREAD_KEY, "enter"), (DOUBLE_DRAW_KEY, NAMING_STEP))


# Procedure

READ = End("read", "read_by_shoe", _CITES_ENTERED)
"""The shoe has read the card after all."""

KNOWN = End("known", "known_otherwise", _CITES_ENTERED)
"""The card was named as a part of something else."""

MISREAD = Procedure(
    MISREAD_KEY,
    (
        Step(
            "where",
            message("prompt_misread_where"),
            (
                Choice("in_its_place", "dealer", "holds", check=check_in_place, reason=False),
                Choice(
                    "read_again", "dealer", "again", check=check_no_unplaced_cards, reason=False
                ),
                LAY_ASIDE._replace(check=check_has_held_cards),
                CALL_VOID,
            ),
            (
                Accepts("card_drawn", is_read_in_turn, "read_in_turn"),
                Accepts("card_drawn", is_unread_in_turn, "holds"),
            ),
        ),
        Step(
            "enter",
            message("prompt_misread_enter"),
            (NAME_CARD, CALL_VOID),
            (Accepts("card_drawn", is_now_read, "read"),),
        ),
    ),
    (
        End("holds", "in_its_place", _CITES_ENTERED, actions=(hold_slot,)),
        End("again", "read_again", _CITES_ENTERED),
        End("entered", "entered", _CITES_ENTERED, actions=(enter_seen_card,)),
        READ._replace(actions=(take_late_reading,)),
        End(
            "read_in_turn", "read_by_shoe", _CITES_ENTERED, actions=(reconstruct.deal_late_reading,)
        ),
        end_set_aside(),
        end_void(),
    ),
    begins=("enter",),
    of_cards=True,
)
