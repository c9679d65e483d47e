"""Cards that came at the wrong time or to the wrong place.

In: nothing. Out: their procedures. Must not know: which card it was, what the round will want.
"""

from __future__ import annotations

from .endings import aside, ruling, stands, void
from .procedure import Declared, Procedure

_CARDS_DRAWN = ("dealing", "revealing", "drawing", "suspended")

WRONG_ORDER = Procedure(
    "wrong_order",
    (ruling("leave the cards as they lie; the order in which they were drawn counts"),),
    (stands(), aside(), void(("wrong_order", "void"))),
    Declared("dealer", _CARDS_DRAWN, "cards in a wrong order are declared"),
)

DOUBLE_DRAW = Procedure(
    "double_draw",
    (ruling("leave the cards as they lie; do not put them in order yet"),),
    (stands(), aside(), void(("double_draw", "void"))),
    Declared("dealer", _CARDS_DRAWN, "cards drawn together are declared"),
)

ORDER_ALTERED = Procedure(
    "order_altered",
    (ruling("leave the shoe as it is; if the order cannot be found again the round is void"),),
    (stands(("order_altered", "reconstructed")), aside(), void(("order_altered", "void"))),
    Declared(
        "dealer",
        ("betting", "closed", *_CARDS_DRAWN),
        "it is declared that the order of the cards was altered",
    ),
)
