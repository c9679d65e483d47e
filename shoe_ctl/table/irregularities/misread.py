"""A card that the shoe could not read: it holds its slot, and is entered once it lies open.

In: nothing. Out: its procedure. Must not know: how a card is seen to be unread, who exposes it.
"""

from __future__ import annotations

from shoe_ctl.table import belated, entering, fitting, placing, revealing
from shoe_ctl.table.arguments import checked
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

from .endings import CALL_VOID, LAY_ASIDE, aside, void
from .grounds import cards_have_no_place, no_card_to_set_aside, own_kept
from .procedure import Choice, End, Hears, Procedure, Step

KEY = "misread"
ENTERED = (KEY, "entered")
DUE = ("closed", "dealing", "drawing")
"""The states in which a card was awaited: only there is one that comes the card that was due."""


# What was seen.


def slot_of(turn: Turn) -> tuple[str, int]:
    """The slot of the unread card that is decided now."""
    noted = turn.current.noted
    return noted["hand"], noted["index"]


def is_read_now(turn: Turn) -> bool:
    """The shoe names the very slot and has read the card after all."""
    drawn = turn.drawn
    if drawn.card is None or drawn.card not in turn.game.deck:
        return False
    return (drawn.hand, drawn.index) == slot_of(turn)


def is_read_in_turn(turn: Turn) -> bool:
    """The shoe has read the card after all, and it is the one that was due."""
    if own_kept(turn) or turn.resume_state not in DUE:
        return False
    return fitting.is_for(turn, belated.free_slot(turn))


def is_unread_in_turn(turn: Turn) -> bool:
    """It is the card that was due, told by a shoe that raised its alarm first."""
    drawn, slot = turn.drawn, belated.free_slot(turn)
    if drawn.card is not None or own_kept(turn) or turn.resume_state not in DUE:
        return False
    return slot is not None and (drawn.hand is None or (drawn.hand, drawn.index) == slot)


def contradicts_reading(turn: Turn) -> bool:
    """It is named otherwise than the shoe read it, alone or among those of its pull."""
    args = checked(turn, entering.SeenCard)
    dealt = placing.find(turn, slot_of(turn))
    return not args.against_reading and not entering.may_be(turn, dealt, entering.seen(turn))


def no_place_for_it(turn: Turn, _args: object = None) -> Message | None:
    """No card was due, or others came as well."""
    if belated.free_slot(turn) is None:
        return message("refused_no_card_due")
    return cards_have_no_place(turn)


# What is done.


def enter(turn: Turn) -> None:
    """The card is what two people see it to be, and the room sees it too (6.3)."""
    face, slot = entering.seen(turn), slot_of(turn)
    entering.tell_entered(turn, *slot, face)
    entering.name(turn, placing.find(turn, slot), face)
    revealing.reveal(turn, [placing.find(turn, slot)])


def take_reading(turn: Turn) -> None:
    """The card is what the shoe reads it to be: somebody exposed it, or it was dealt face up.

    DealtCard so it is seen in its time, as if it had been read at once.
    """
    assert turn.drawn.card is not None
    slot = slot_of(turn)
    placing.read_again(turn, slot, turn.drawn.card)
    if revealing.shows_cards_at_once(turn):
        revealing.reveal_due(turn)
    else:
        revealing.reveal(turn, [placing.find(turn, slot)])


def deal_reading(turn: Turn) -> None:
    """The card that was due is read, and lies where it belongs."""
    belated.deal_read(turn)


def hold_slot(turn: Turn) -> None:
    """It is the card that was due, and nobody could read it."""
    belated.deal_next(turn, None)


READ = End("read", "read_by_shoe", ENTERED)
KNOWN = End("known", "known_otherwise", ENTERED)
"""It was named as a part of something else: what waited for a reading is over."""

NAME_CARD = Choice(
    "enter", "dealer", "entered", unless=entering.check_seen, reason=False, second=True,
    takes=entering.SeenCard, contradicts=contradicts_reading,
)  # fmt: skip

MISREAD = Procedure(
    KEY,
    (
        Step(
            "where",
            message("prompt_misread_where"),
            (
                Choice("in_its_place", "dealer", "holds", unless=no_place_for_it, reason=False),
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
            (Hears("card_drawn", is_read_now, "read"),),
        ),
    ),
    (
        End("holds", "in_its_place", ENTERED, do=(hold_slot,)),
        End("again", "read_again", ENTERED),
        End("entered", "entered", ENTERED, do=(enter,)),
        READ._replace(do=(take_reading,)),
        End("read_in_turn", "read_by_shoe", ENTERED, do=(deal_reading,)),
        aside(),
        void(),
    ),
    begins=("enter",),
    of_cards=True,
)
