"""The shoe was not heard: its link, or what it said, is lost.

In: nothing. Out: their procedures. Must not know: how a link comes back, what was missed.
"""

from __future__ import annotations

from shoe_ctl.table import counts

from . import missed
from .endings import CALL_VOID, LAY_ASIDE, aside, stands, void
from .grounds import same_shoe_is_back
from .procedure import End, Hears, Procedure, Step

LINK_LOST = Procedure(
    "link_lost",
    (
        Step(
            "ruling",
            "connect the shoe again; if nothing was missed the round goes on by itself; "
            "where it is connected and silent, shoectl doctor says why",
            (*missed.CHOICES, LAY_ASIDE, CALL_VOID),
            (Hears("hello", same_shoe_is_back, "resumed"),),
            facts=counts.told,
        ),
    ),
    (
        End("resumed", "link back, nothing missed", ("link_lost", "resumed")),
        missed.entered("link_lost"),
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
            "compare the cards on the table with the status; cards that were missed count",
            (*missed.CHOICES, LAY_ASIDE, CALL_VOID),
            facts=counts.told,
        ),
        Step(
            counts.COUNTS,
            "count the cards that lie there: one that was entered and never drawn is taken back; "
            "where all lie there, recount: the shoe missed them",
            (*missed.CHOICES, LAY_ASIDE, CALL_VOID),
            facts=counts.told,
        ),
    ),
    (
        missed.entered("gap"),
        stands(("gap", "ruled")),
        aside(("gap", "ruled")),
        void(("gap", "ruled")),
    ),
    covers=("link_lost",),
    begins=(counts.COUNTS,),
)
