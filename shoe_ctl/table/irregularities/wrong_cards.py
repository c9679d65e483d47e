"""Cards that are wrong in themselves: of another deck, one too many, unshuffled, missing.

In: nothing. Out: their procedures. Must not know: how a card is judged to be wrong.
"""

from __future__ import annotations

from . import inspected
from .endings import CALL_VOID, GO_ON, LAY_ASIDE, align, aside, ruling, stands, void
from .grounds import first_card_is_not_out, something_is_missing
from .procedure import DECIDES, Choice, Declared, End, Procedure, Step

_INSPECT = (
    "inspect the cards; if one is foreign or one too many the round is void, and earlier rounds "
    "stand"
)
# One prompt for both, and one set of choices: in public the two must look alike.


def _inspected(key: str) -> Procedure:
    choices = (inspected.CORRECT, GO_ON, LAY_ASIDE, CALL_VOID)
    return Procedure(
        key,
        (Step("ruling", _INSPECT, choices), inspected.CORRECTED),
        (inspected.corrected(key), stands(), aside(), void((key, "void"))),
    )


FOREIGN_CARD = _inspected("foreign_card")

EXTRA_CARD = _inspected("extra_card")

_IN_A_ROUND = ("betting", "closed", "dealing", "revealing", "drawing", "resolved", "suspended")

UNSHUFFLED = Procedure(
    "unshuffled",
    (ruling("inspect the cards; if they were not shuffled the round is void"),),
    (stands(("unshuffled", "cleared")), aside(), void(("unshuffled", "void"))),
    Declared("dealer", _IN_A_ROUND, "unshuffled cards are declared"),
)

MISSING_CARD_IN_SHOE = Procedure(
    "missing_card_in_shoe",
    (
        Step(
            "ruling",
            "count the cards again; if one is missing a round in progress is void, and earlier "
            "rounds stand",
            (
                GO_ON,
                Choice(
                    "earlier_stand",
                    DECIDES,
                    "earlier",
                    (align,),
                    something_is_missing,
                    in_round=False,
                ),
                LAY_ASIDE,
                CALL_VOID,
            ),
        ),
    ),
    (
        stands(),
        End("earlier", "earlier_stand", ("missing_card_in_shoe", "earlier_stand")),
        aside(),
        void(("missing_card_in_shoe", "void")),
    ),
    Declared("dealer", ("idle", "shoe_change", *_IN_A_ROUND), "a missing card is declared"),
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
            "after the first card of a round it plays as if it had lain face down",
            (_BY_RULE, GO_ON, LAY_ASIDE, CALL_VOID),
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
        "a card that lies face up in the shoe is declared",
    ),
)
