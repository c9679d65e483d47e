"""A pause: the table is halted without an irregularity, and goes on exactly where it was.

In: nothing. Out: its one step, which nothing but *resume* ends; the events that tell of it.
Must not know: who pauses, what is looked at, how storage fails.
"""

from __future__ import annotations

from collections.abc import Mapping

from shoe_ctl.table.state import TableState
from shoe_ctl.texts.message import message

from .procedure import Procedure, Step

KEY = "review"

REVIEW = Procedure(
    KEY,
    (Step("review", message("prompt_review"), ()),),
    (),
)

OUTAGE = Procedure(
    "storage_fault",
    (
        Step(
            "outage",
            message("prompt_outage"),
            (),
        ),
    ),
    (),
)

PAUSES: Mapping[str, Procedure] = {REVIEW.key: REVIEW, OUTAGE.key: OUTAGE}
"""Not irregularities: no game has ends for them."""

EVENTS: Mapping[str, Mapping[str, str]] = {
    REVIEW.key: {
        "irregularity.step": "review.opened",
        "irregularity.resolved": "review.closed",
    },
    OUTAGE.key: {
        "irregularity.step": "outage.opened",
        "irregularity.resolved": "outage.closed",
    },
}
"""What is told of them in the place of an irregularity's events."""


def is_on_top(now: TableState) -> bool:
    """The table is paused, and nothing that came since is open."""
    return now.halt is not None and now.halt.top.key in PAUSES


def is_held(now: TableState) -> bool:
    """Nothing could be stored for a while, and nobody has said yet that the table goes on."""
    return now.halt is not None and any(opened.key == OUTAGE.key for opened in now.halt.stack)
