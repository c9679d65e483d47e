"""The shoe was not heard: its link, or what it said, is lost.

In: nothing. Out: their procedures. Must not know: how a link comes back, what was missed.
"""

from __future__ import annotations

from shoe_ctl.table import counts
from shoe_ctl.texts.message import message

from . import missed
from .endings import CALL_VOID, LAY_ASIDE, aside, stands, void
from .grounds import same_shoe_is_back
from .procedure import End, Hears, Procedure, Step

LINK_LOST = Procedure(
    "link_lost",
    (
        Step(
            "ruling",
            message("prompt_link_lost"),
            (*missed.CHOICES, LAY_ASIDE, CALL_VOID),
            (Hears("hello", same_shoe_is_back, "resumed"),),
            facts=counts.told,
        ),
    ),
    (
        End("resumed", "link_is_back", ("link_lost", "resumed")),
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
            message("prompt_gap"),
            (*missed.CHOICES, LAY_ASIDE, CALL_VOID),
            facts=counts.told,
        ),
        Step(
            counts.COUNTS,
            message("prompt_gap_counts"),
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
