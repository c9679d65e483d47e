"""Cards that are wrong in themselves: of another deck, one too many, unshuffled, missing.

In: nothing. Out: their procedures. Must not know: how a card is judged to be wrong.
"""

from __future__ import annotations

from shoe_ctl.table import face_up
from shoe_ctl.table.rows import check_nothing
from shoe_ctl.table.shoe_cards import announce_change
from shoe_ctl.texts.message import message

from . import inspected
from .endings import CALL_VOID, GO_ON, LAY_ASIDE, align, aside, lay_aside, stands, void
from .grounds import first_card_is_not_out, something_is_missing
from .procedure import DECIDES, Action, Choice, Declared, End, Procedure, Step

_INSPECT = message("prompt_inspection")
# One prompt for both, and one set of choices: in public the two must look alike.


def _earlier_stand(*do: Action) -> Choice:
    """Between rounds nothing is void: all earlier outcomes stand (5.1.2)."""
    return Choice("earlier_stand", DECIDES, "earlier", do, something_is_missing, in_round=False)


def _earlier(key: str) -> End:
    return End("earlier", "earlier_stand", (key, "earlier_stand"))


def _inspected(key: str) -> Procedure:
    laid_aside = _earlier_stand(lay_aside)._replace(unless=check_nothing)
    choices = (inspected.CORRECT, GO_ON, laid_aside, LAY_ASIDE, CALL_VOID)
    return Procedure(
        key,
        (Step("ruling", _INSPECT, choices), inspected.CORRECTED),
        (inspected.corrected(key), stands(), _earlier(key), aside(), void((key, "void"))),
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
        _earlier("unshuffled")._replace(leads="shoe_change", do=(announce_change,)),
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
            face_up.FIRST,
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
    begins=(face_up.FIRST,),
)
