"""Cards under inspection that turn out to be the shoe's: they were misread, and are corrected.

In: the card that was kept. Out: the choice, its step and its end (6.3).
Must not know: what was wrong with the card as it was read.
"""

from __future__ import annotations

from shoe_ctl.table import belated, entering, shoe_cards
from shoe_ctl.table.round import unplaced
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

from .endings import CALL_VOID, LAY_ASIDE, PLAY_ON, align
from .grounds import (
    INSPECTS,
    no_card_to_set_aside,
    note,
    own_kept,
    something_is_missing,
)
from .procedure import Choice, End, Step


def cannot_correct(turn: Turn, args: entering.EnterCard | None) -> Message | None:
    """No card was kept, or the one that is named is none of the shoe's."""
    kept = own_kept(turn)
    if not kept or kept[0].card is None:
        return message("refused_no_card_inspected")
    return None if args is None else entering.check_card(turn, args.card)


def correct(turn: Turn) -> None:
    """The card is another than the shoe read; where one was due it takes its slot (6.3)."""
    right, wrong = entering.named(turn), own_kept(turn)[0]
    assert wrong.card is not None and wrong.number is not None
    if wrong.counted:
        shoe_cards.correct(turn, wrong.card, right)
    if turn.current.noted.get("due") and belated.free_slot(turn) is not None:
        unplaced.drop_cards(turn, (wrong,))
        slot = belated.lay_next(turn, right, wrong.number)
        entering.tell_entered(turn, *slot, right)
    else:
        unplaced.change_card(turn, wrong, card=right)
        note(turn, **{INSPECTS: None})
        entering.tell_entered(turn, None, None, right)


CORRECT = Choice(
    "correct", "pit_supervisor", "corrected_card", (correct,), cannot_correct, second=True,
    takes=entering.EnterCard,
)  # fmt: skip

CORRECTED = Step(
    "corrected_card",
    message("prompt_card_corrected"),
    (
        Choice(
            PLAY_ON, "pit_supervisor", "corrected", (align,), something_is_missing, reason=False
        ),
        LAY_ASIDE._replace(unless=no_card_to_set_aside),
        CALL_VOID,
    ),
)


def corrected(key: str) -> End:
    """It was misread: the round goes on with the right card (6.3)."""
    return End("corrected", "corrected", (key, "corrected"))
