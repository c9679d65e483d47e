"""A pause: the table is halted without an irregularity, and goes on exactly where it was.

In: nothing. Out: its one step, which nothing but *resume* ends; the events that tell of it.
Must not know: who pauses, what is looked at, how storage fails.
"""

from __future__ import annotations

from shoe_ctl.texts.message import message

from .procedure import Procedure, Step

REVIEW = Procedure(
    "review",
    (Step("review", message("prompt_review"), ()),),
    (),
    pause=True,
    events={"irregularity.step": "review.opened", "irregularity.resolved": "review.closed"},
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
    pause=True,
    events={"irregularity.step": "outage.opened", "irregularity.resolved": "outage.closed"},
)
