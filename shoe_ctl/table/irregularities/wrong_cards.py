"""Cards that are wrong in themselves: of another deck, one too many, not read.

In: nothing. Out: their procedures. Must not know: how a card is judged to be wrong.
"""

from __future__ import annotations

from .endings import RULED, aside, ruling, stands, void
from .procedure import Declared, Procedure

_INSPECT = (
    "inspect the cards; if one is foreign or one too many the round is void, and earlier rounds "
    "stand"
)
# One prompt for both, and one set of choices: in public the two must look alike.

FOREIGN_CARD = Procedure(
    "foreign_card", (ruling(_INSPECT),), (stands(), aside(), void(("foreign_card", "void")))
)

EXTRA_CARD = Procedure(
    "extra_card", (ruling(_INSPECT),), (stands(), aside(), void(("extra_card", "void")))
)

MISREAD = Procedure(
    "misread",
    (ruling("leave the card as it lies; a card that nobody can name cannot be played"),),
    (stands(), aside(), void(RULED)),
)

_IN_A_ROUND = ("betting", "closed", "dealing", "revealing", "drawing", "resolved", "suspended")

UNSHUFFLED = Procedure(
    "unshuffled",
    (ruling("inspect the cards; if they were not shuffled the round is void"),),
    (stands(("unshuffled", "cleared")), aside(), void(("unshuffled", "void"))),
    Declared("dealer", _IN_A_ROUND, "unshuffled cards are declared"),
)
