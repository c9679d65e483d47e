"""Surveillance, or anyone above the dealer, pauses the table to look, and lets it go on.

In: pause, resume, storage that works again. Out: review.opened .closed, outage.opened .closed,
table.halted .resumed. Must not know: what is looked at, which irregularities are open around it.
"""

from __future__ import annotations

from shoe_ctl.records import utc
from shoe_ctl.texts.message import Message, message

from . import deciding
from .cause import Cause
from .inputs import StorageRestored
from .irregularities import stack
from .irregularities.grounds import halt_of, something_is_missing
from .irregularities.reviewing import OUTAGE, REVIEW
from .irregularities.stack import is_held, is_paused
from .state import TableState
from .turn import Turn

# What was seen.


def is_open(now: TableState) -> bool:
    """The table is paused, whatever else is open."""
    return now.halt is not None and any(opened.key == REVIEW.key for opened in now.halt.stack)


def check_pause(turn: Turn, _args: object = None) -> Message | None:
    """What stands against a pause: the table is paused already."""
    return message("refused_paused_already") if is_open(turn.now) else None


def check_resume(turn: Turn, _args: object = None) -> Message | None:
    """What keeps the table paused: something came since, or is missing where it goes back to."""
    if not (is_open(turn.now) or is_held(turn.now)):
        return message("refused_halted_otherwise")
    if not is_paused(turn):
        return message("refused_decide_first")
    return something_is_missing(turn) if _is_last(turn) else None


def _is_last(turn: Turn) -> bool:
    """With the pause the halt ends."""
    return len(halt_of(turn).stack) == 1


# What is done.


def call_pause(turn: Turn) -> None:
    """Somebody pauses the table."""
    turn.then("paused")


def pause(turn: Turn) -> None:
    """Nothing is drawn and nothing decided until the review is over."""
    stack.pause(turn, Cause(REVIEW.key, message("seen_review")))


def halt_for_outage(turn: Turn) -> None:
    """Nothing was stored for a while: a person looks before anything goes on."""
    back = turn.happened
    assert isinstance(back, StorageRestored)
    outage = {"from": utc(back.since_us), "until": utc(back.t_us), "what": back.what}
    if is_held(turn.now):
        turn.tell("outage.opened", {}, restricted=outage)
    else:
        seen = message("seen_outage")
        stack.pause(turn, Cause(OUTAGE.key, seen, noted=outage))


def resume(turn: Turn) -> None:
    """The pause is over: play resumes, or what was open before goes on."""
    if _is_last(turn):
        turn.then("halt_ended")
    stack.lift(turn)
    deciding.resume(turn)
