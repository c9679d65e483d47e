"""Whether a void round's cards are played from again: asked, and answered by what happens next.

In: a round that was made void, what people do after it. Out: the question and its answer, told.
Must not know: why the round was void, how a set of cards is changed.
"""

from __future__ import annotations

from shoe_ctl.texts.message import message

from . import shoe_cards
from .cause import Cause
from .irregularities import stack
from .irregularities.after_void import AFTER_VOID, KEY
from .state import Opened
from .turn import Turn


def ask(turn: Turn) -> None:
    """The round was void, and nothing says yet whether its cards are played from again."""
    if turn.now.loaded is None and not shoe_cards.change_due(turn):
        stack.ask_beside(turn, Cause(KEY, message("seen_round_void")))


def kept(turn: Turn) -> None:
    """Play goes on from the same cards."""
    _answered(turn, "kept")


def replaced(turn: Turn) -> None:
    """Another set of cards comes, or is called for."""
    _answered(turn, "replaced")


def _answered(turn: Turn, name: str) -> None:
    """What was done next answers the question, where it is open."""
    if not turn.now.waiting or (asked := _asked(turn)) is None:
        return
    end = AFTER_VOID.end(name)
    assert end is not None
    stack.drop_waiting(turn, asked, end.how)


def _asked(turn: Turn) -> Opened | None:
    return next((opened for opened in turn.now.waiting if opened.key == KEY), None)
