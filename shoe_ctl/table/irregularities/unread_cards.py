"""A card that the shoe could not read: it holds its slot, and is entered once it lies open.

In: nothing. Out: its procedure. Must not know: how a card is seen to be unread, who exposes it.
"""

from __future__ import annotations

from shoe_ctl.texts.message import Message, message

from ..arguments import require_args
from ..procedures import stack
from ..procedures.procedure import Choice, End, Hears, Procedure, Step
from ..procedures.shared import (
    CALL_VOID,
    DOUBLE_DRAW_KEY,
    LAY_ASIDE,
    NAMING_STEP,
    aside,
    cards_have_no_place,
    no_card_to_set_aside,
    own_kept,
    void,
)
from ..round import card_check, card_entry, pulls, reconstruct, reveal
from ..round import deal as dealing
from ..round.reveal import ExposedCards, advance_round, expose, named_to_expose, shows_cards_at_once
from ..state import DealtCard, OpenIrregularity
from ..turn import Cause, Turn

MISREAD_KEY = "misread"
ENTERED = (MISREAD_KEY, "entered")
DUE = ("closed", "dealing", "drawing")
"""The states in which a card was awaited: only there is one that comes the card that was due."""


# What was seen.


def unread_slot(turn: Turn) -> tuple[str, int]:
    """The slot of the unread card that is decided now."""
    noted = turn.current.noted
    return noted["hand"], noted["index"]


def is_now_read(turn: Turn) -> bool:
    """The shoe names the very slot and has read the card after all."""
    drawn = turn.drawn
    if drawn.card is None or drawn.card not in turn.game.deck:
        return False
    return (drawn.hand, drawn.index) == unread_slot(turn)


def is_read_in_turn(turn: Turn) -> bool:
    """The shoe has read the card after all, and it is the one that was due."""
    if own_kept(turn) or turn.resume_state not in DUE:
        return False
    return card_check.is_card_for(turn, reconstruct.free_slot(turn))


def is_unread_in_turn(turn: Turn) -> bool:
    """It is the card that was due, told by a shoe that raised its alarm first."""
    drawn, slot = turn.drawn, reconstruct.free_slot(turn)
    if drawn.card is not None or own_kept(turn) or turn.resume_state not in DUE:
        return False
    return slot is not None and (drawn.hand is None or (drawn.hand, drawn.index) == slot)


def names_other_card(turn: Turn) -> bool:
    """It is named otherwise than the shoe read it, alone or among those of its pull."""
    args = require_args(turn, card_entry.SeenCardArgs)
    dealt = dealing.find_card(turn, unread_slot(turn))
    return not args.against_reading and not card_entry.is_possible(
        turn, dealt, card_entry.seen_card(turn)
    )


def why_no_place(turn: Turn, _args: object = None) -> Message | None:
    """No card was due, or others came as well."""
    if reconstruct.free_slot(turn) is None:
        return message("refused_no_card_due")
    return cards_have_no_place(turn)


# What is done.


def enter_seen_card(turn: Turn) -> None:
    """The card is what two people see it to be, and the room sees it too (6.3)."""
    face, slot = card_entry.seen_card(turn), unread_slot(turn)
    card_entry.emit_card_entered(turn, *slot, face)
    card_entry.name_card(turn, dealing.find_card(turn, slot), face)
    reveal.reveal(turn, [dealing.find_card(turn, slot)])


def take_late_reading(turn: Turn) -> None:
    """The card is what the shoe reads it to be: somebody exposed it, or it was dealt face up.

    DealtCard so it is seen in its time, as if it had been read at once.
    """
    assert turn.drawn.card is not None
    slot = unread_slot(turn)
    dealing.apply_late_reading(turn, slot, turn.drawn.card)
    if reveal.shows_cards_at_once(turn):
        reveal.reveal_face_up_cards(turn)
    else:
        reveal.reveal(turn, [dealing.find_card(turn, slot)])


def deal_reading(turn: Turn) -> None:
    """The card that was due is read, and lies where it belongs."""
    reconstruct.deal_late_reading(turn)


def hold_slot(turn: Turn) -> None:
    """It is the card that was due, and nobody could read it."""
    reconstruct.deal_next(turn, None)


READ = End("read", "read_by_shoe", ENTERED)
KNOWN = End("known", "known_otherwise", ENTERED)
"""It was named as a part of something else: what waited for a reading is over."""

NAME_CARD = Choice(
    "enter", "dealer", "entered", unless=card_entry.check_seen, reason=False, second=True,
    takes=card_entry.SeenCardArgs, contradicts=names_other_card,
)  # fmt: skip

MISREAD = Procedure(
    MISREAD_KEY,
    (
        Step(
            "where",
            message("prompt_misread_where"),
            (
                Choice("in_its_place", "dealer", "holds", unless=why_no_place, reason=False),
                Choice("read_again", "dealer", "again", unless=cards_have_no_place, reason=False),
                LAY_ASIDE._replace(unless=no_card_to_set_aside),
                CALL_VOID,
            ),
            (
                Hears("card_drawn", is_read_in_turn, "read_in_turn"),
                Hears("card_drawn", is_unread_in_turn, "holds"),
            ),
        ),
        Step(
            "enter",
            message("prompt_misread_enter"),
            (
                NAME_CARD,
                CALL_VOID,
            ),
            (Hears("card_drawn", is_now_read, "read"),),
        ),
    ),
    (
        End("holds", "in_its_place", ENTERED, do=(hold_slot,)),
        End("again", "read_again", ENTERED),
        End("entered", "entered", ENTERED, do=(enter_seen_card,)),
        READ._replace(do=(take_late_reading,)),
        End("read_in_turn", "read_by_shoe", ENTERED, do=(deal_reading,)),
        aside(),
        void(),
    ),
    begins=("enter",),
    of_cards=True,
)

KEYS = (MISREAD_KEY, DOUBLE_DRAW_KEY)

# What was seen.


def awaits_reading(turn: Turn) -> bool:
    """The shoe names the slot of a card that it could not read before, and reads it now."""
    drawn, played = turn.drawn, turn.now.round
    if played is None or drawn.card is None or drawn.number is not None:
        return False
    if drawn.card not in turn.game.deck:
        return False
    named = (drawn.hand, drawn.index)
    return any(d.card is None and (d.hand, d.index) == named for d in played.cards)


def would_expose_unread(turn: Turn) -> bool:
    """The command turns a card that nobody could read."""
    named = named_to_expose(turn, require_args(turn, ExposedCards))
    return any(dealt.card is None for dealt in named)


def is_due_for_entry(turn: Turn) -> bool:
    """A card that nobody could read lies for all to see, and nothing is open for it yet."""
    return shows_cards_at_once(turn) and bool(_open(turn))


def _open(turn: Turn) -> list[DealtCard]:
    """The unread cards of the round for which nothing is open yet."""
    unread = [dealt for dealt in turn.round.cards if dealt.card is None]
    return [d for d in unread if not any(stack.is_open(turn, k, d.subject) for k in KEYS)]


def _cause(turn: Turn, dealt: DealtCard) -> Cause:
    """Why nobody knows the card: which of a pull it is, or what the shoe said of it, or nothing."""
    noted, subject = {"hand": dealt.hand, "index": dealt.index}, dealt.subject
    if pulls.find_pull(turn.now, dealt.number) is not None:
        seen = message("seen_card_of_a_pull", hand=dealt.hand, index=dealt.index)
        return Cause(DOUBLE_DRAW_KEY, seen, subject=subject, noted=noted, step=NAMING_STEP)
    if dealt.number in turn.shoe.entered:
        seen = message("seen_card_only_entered", hand=dealt.hand, index=dealt.index)
    else:
        seen = message("seen_card_not_read", hand=dealt.hand, index=dealt.index)
    return Cause(MISREAD_KEY, seen, subject=subject, noted=noted, step="enter")


# What is done.


def wait_face_down(turn: Turn) -> None:
    """It holds its slot, and play goes on; it is never pulled from a squeeze."""
    for dealt in _open(turn):
        stack.wait_beside(turn, _cause(turn, dealt))


def halt_for_unread(turn: Turn) -> None:
    """It lies for all to see, and is entered at once."""
    for dealt in _open(turn):
        stack.raise_irregularity(turn, _cause(turn, dealt))


def expose_cards(turn: Turn) -> None:
    """The named cards lie open; where one is unread the table halts, else play goes on."""
    halts = would_expose_unread(turn)
    expose(turn)
    if halts:
        turn.then("unread_exposed")
    else:
        advance_round(turn)


def halt_for_exposed(turn: Turn) -> None:
    """Those exposed now are entered now, the first of the hand first."""
    args = require_args(turn, ExposedCards)
    waiting = [opened for opened in turn.now.waiting if _is_of(opened, args.hand, args.index)]
    for opened in reversed(waiting):
        stack.halt_for_waiting(turn, opened, opened.step)


def record_reading(turn: Turn) -> None:
    """The card that waited face down is known to those who may know it."""
    drawn = turn.drawn
    assert drawn.card is not None and drawn.hand is not None and drawn.index is not None
    slot = (drawn.hand, drawn.index)
    dealing.apply_late_reading(turn, slot, drawn.card)
    resolve_read(turn, slot)


def resolve_read(turn: Turn, slot: tuple[str, int]) -> None:
    """The card that waited in this slot is known: nobody needs to enter it."""
    for opened in turn.now.waiting:
        if _is_of(opened, *slot):
            stack.close_waiting(turn, opened, READ)


def resolve_known(turn: Turn) -> None:
    """Cards that were named as a part of something else are not entered any more."""
    for opened in turn.now.waiting:
        if _is_of_a_slot(opened) and dealing.find_card(turn, _slot(opened)).card is not None:
            stack.close_waiting(turn, opened, KNOWN)


def _slot(opened: OpenIrregularity) -> tuple[str, int]:
    return opened.noted["hand"], opened.noted["index"]


def _is_of(opened: OpenIrregularity, hand: object, index: object) -> bool:
    noted = opened.noted
    return _is_of_a_slot(opened) and noted["hand"] == hand and index in (None, noted["index"])


def _is_of_a_slot(opened: OpenIrregularity) -> bool:
    """It waits until the card in a slot is known."""
    return (opened.key, opened.step) in ((MISREAD_KEY, "enter"), (DOUBLE_DRAW_KEY, NAMING_STEP))
