"""Cards that are wrong in themselves: of another deck, one too many, unshuffled, missing.

In: nothing. Out: their procedures. Must not know: how a card is judged to be wrong.
"""

from __future__ import annotations

from shoe_ctl.texts.message import Message, message

from ..procedures.procedure import DECIDES, Action, Choice, Declared, End, Procedure, Step
from ..procedures.shared import (
    CALL_VOID,
    GO_ON,
    INSPECTS,
    LAY_ASIDE,
    PLAY_ON,
    align,
    aside,
    first_card_is_not_out,
    lay_aside,
    no_card_to_set_aside,
    note,
    own_kept,
    something_is_missing,
    stands,
    void,
)
from ..round import card_entry, reconstruct
from ..round import deal as dealing
from ..shoe import ledger as card_ledger
from ..shoe import unplaced
from ..shoe.ledger import announce_shoe_change
from ..turn import Turn, check_nothing


def why_not_correctable(turn: Turn, args: card_entry.CardArgs | None) -> Message | None:
    """No card was kept, or the one that is named is none of the shoe's."""
    kept = own_kept(turn)
    if not kept or kept[0].card is None:
        return message("refused_no_card_inspected")
    return None if args is None else card_entry.check_card(turn, args.card)


def correct_card_reading(turn: Turn) -> None:
    """The card is another than the shoe read; where one was due it takes its slot (6.3)."""
    right, wrong = card_entry.named_card(turn), own_kept(turn)[0]
    assert wrong.card is not None and wrong.number is not None
    if wrong.counted:
        card_ledger.correct_count(turn, wrong.card, right)
    if turn.current.noted.get("due") and reconstruct.free_slot(turn) is not None:
        unplaced.drop_cards(turn, (wrong,))
        slot = reconstruct.place_next(turn, right, wrong.number)
        card_entry.emit_card_entered(turn, *slot, right)
    else:
        unplaced.change_card(turn, wrong, card=right)
        note(turn, **{INSPECTS: None})
        card_entry.emit_card_entered(turn, None, None, right)


CORRECT = Choice(
    "correct", "pit_supervisor", "corrected_card", (correct_card_reading,), why_not_correctable, second=True,
    takes=card_entry.CardArgs,
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


def is_corrected(key: str) -> End:
    """It was misread: the round goes on with the right card (6.3)."""
    return End("corrected", "corrected", (key, "corrected"))


_INSPECT = message("prompt_inspection")
# One prompt for both, and one set of choices: in public the two must look alike.


def _earlier_stand(*do: Action) -> Choice:
    """Between rounds nothing is void: all earlier outcomes stand (5.1.2)."""
    return Choice("earlier_stand", DECIDES, "earlier", do, something_is_missing, in_round=False)


def _earlier(key: str) -> End:
    return End("earlier", "earlier_stand", (key, "earlier_stand"))


def _inspected(key: str) -> Procedure:
    laid_aside = _earlier_stand(lay_aside)._replace(unless=check_nothing)
    choices = (CORRECT, GO_ON, laid_aside, LAY_ASIDE, CALL_VOID)
    return Procedure(
        key,
        (Step("ruling", _INSPECT, choices), CORRECTED),
        (is_corrected(key), stands(), _earlier(key), aside(), void((key, "void"))),
        public_key="inspection",
        inspection=True,
    )


FOREIGN_CARD = _inspected("foreign_card")

EXTRA_CARD = _inspected("extra_card")

_IN_A_ROUND = ("betting", "closed", "dealing", "revealing", "drawing", "resolved", "suspended")
_WITH_A_SHOE = ("idle", "shoe_change", *_IN_A_ROUND)

UNSHUFFLED = Procedure(
    "unshuffled",
    (
        Step(
            "ruling",
            message("prompt_unshuffled"),
            (GO_ON, _earlier_stand(align), LAY_ASIDE, CALL_VOID),
        ),
    ),
    (
        stands(("unshuffled", "cleared")),
        _earlier("unshuffled")._replace(leads="shoe_change", do=(announce_shoe_change,)),
        aside(),
        void(("unshuffled", "void")),
    ),
    Declared("dealer", _WITH_A_SHOE, message("seen_unshuffled_declared")),
)

MISSING_CARD_IN_SHOE = Procedure(
    "missing_card_in_shoe",
    (
        Step(
            "ruling",
            message("prompt_missing_card"),
            (GO_ON, _earlier_stand(align), LAY_ASIDE, CALL_VOID),
        ),
    ),
    (
        stands(),
        _earlier("missing_card_in_shoe"),
        aside(),
        void(("missing_card_in_shoe", "void")),
    ),
    Declared("dealer", _WITH_A_SHOE, message("seen_missing_card_declared")),
)

_BY_RULE = Choice(
    "play_face_down", "dealer", "face_down", (align,), first_card_is_not_out, in_round=True,
    reason=False,
)  # fmt: skip

FACE_UP_IN_SHOE = Procedure(
    "face_up_in_shoe",
    (
        Step(
            "ruling",
            message("prompt_face_up"),
            (_BY_RULE, GO_ON, LAY_ASIDE, CALL_VOID),
        ),
        Step(
            dealing.FIRST_STEP,
            message("prompt_face_up_first"),
            (GO_ON, CALL_VOID),
        ),
    ),
    (
        End("face_down", "play_face_down", ("face_up_in_shoe", "played_as_face_down")),
        stands(("face_up_in_shoe", "ruled")),
        aside(("face_up_in_shoe", "ruled")),
        void(("face_up_in_shoe", "ruled")),
    ),
    Declared(
        "dealer",
        ("idle", "betting", "closed", "dealing", "revealing", "drawing", "suspended"),
        message("seen_face_up_declared"),
    ),
    begins=(dealing.FIRST_STEP,),
)
