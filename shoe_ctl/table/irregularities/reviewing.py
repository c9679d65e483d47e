"""A review: the table is paused without an irregularity, and goes on exactly where it was.

In: nothing. Out: its one step, which nothing but *resume* ends; the events that tell of it.
Must not know: who pauses, what is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

from shoe_ctl.table.state import TableState

from .procedure import Procedure, Step

KEY = "review"

REVIEW = Procedure(
    KEY,
    (Step("review", "leave everything as it is: what happened is being looked at", ()),),
    (),
)
"""Not an irregularity: no game has ends for it."""

EVENTS: Mapping[str, str] = {
    "irregularity.step": "review.opened",
    "irregularity.resolved": "review.closed",
}
"""What is told of it in the place of an irregularity's events."""


def is_on_top(now: TableState) -> bool:
    """The table is paused, and nothing that came since is open."""
    return now.halt is not None and now.halt.top.key == KEY
