"""A card drawn early, from the shoe's word to its turn: waiting beside the round, or halting it.

In: cards and errors that come before their turn; a third card that is due, or a round's end.
Out: the irregularity raised, resolved by itself, or brought up for a ruling.
Must not know: what is ruled, how a card gets its place.
"""

from __future__ import annotations

from . import early, fitting, halting, revealing
from .cause import Cause
from .inputs import ShoeSaid
from .irregularities import stack
from .irregularities.overdraw import OVERDRAW
from .slots import INITIAL_DEAL, pending_cards
from .state import Opened
from .turn import Turn

KEY = OVERDRAW.key
RULING = "ruling"
_NO_HAND = ("idle", "betting", "resolved", "shoe_change")

# What was seen.


def is_early(turn: Turn) -> bool:
    """A card came before its turn."""
    cause = fitting.what_is_wrong(turn)
    return cause is not None and cause.key == KEY


def is_undecided(turn: Turn) -> bool:
    """What everyone has seen does not say yet whether a card is due."""
    return not revealing.is_complete(turn)


def comes_in_review(turn: Turn) -> bool:
    """The shoe's next card came while the table is paused, and nothing else is open since."""
    if not stack.is_paused(turn) or turn.now.shoe is None:
        return False
    is_next = turn.drawn.number in (None, turn.shoe.drawn + 1)
    return is_next and fitting.not_the_shoes(turn) is None


def comes_undecided_in_review(turn: Turn) -> bool:
    """The same, and what everyone has seen does not say whether it is due."""
    return comes_in_review(turn) and _is_undecided_after_it(turn)


def _is_undecided_after_it(turn: Turn) -> bool:
    """Once the review is over revealed cards say whether it was due."""
    halt, played = turn.now.halt, turn.now.round
    if halt is None or played is None:
        return False
    if pending_cards(turn.now):
        return halt.back_to == "drawing" or len(played.cards) + 1 >= len(INITIAL_DEAL)
    return halt.back_to == "revealing" and is_undecided(turn)


def is_known_already(turn: Turn) -> bool:
    """The shoe objects to the card that it gave just now."""
    lying = turn.now.early
    if not lying or lying[-1].number != turn.shoe.drawn:
        return False
    return early.was_objected_to(lying[-1])


def is_undecided_objection(turn: Turn) -> bool:
    """A card that a shoe in error gives, of which it did not say yet that it came early.

    What everyone has seen does not say yet whether it is due.
    """
    event = turn.shoe_event
    if getattr(event, "mode", None) != early.IN_ERROR or getattr(event, "code", None) != 2:
        return False
    return is_undecided(turn)


# What is done.


def tell_unarmed(turn: Turn) -> None:
    """The shoe was not armed for a card that is due: it came early, and is that hand's *(5.7)*."""
    cause = _cause(turn, fitting.UNARMED)
    end = OVERDRAW.end("kept")
    assert end is not None
    stack.wait_beside(turn, cause)
    stack.close_waiting(turn, turn.now.waiting[-1], end)


def wait(turn: Turn) -> None:
    """It lies face down until revealed cards say whether it was due."""
    stack.wait_beside(turn, _cause(turn, fitting.DRAWN_EARLY))
    early.lay_down(turn)


def wait_unread(turn: Turn) -> None:
    """The same for a card that the shoe objects to: in public there is no difference."""
    halting.tell_shoe_fault(turn)
    stack.wait_beside(turn, _cause(turn, fitting.DRAWN_EARLY))
    early.lay_down_unread(turn)


def wait_objected(turn: Turn) -> None:
    """The same where the shoe gives the card before it objects."""
    stack.wait_beside(turn, _cause(turn, fitting.DRAWN_EARLY))
    early.lay_down_unread(turn)
    early.read(turn)


def halt(turn: Turn) -> None:
    """A card for which there is no turn: whoever decides says what becomes of it (6.1)."""
    cause = fitting.what_is_wrong(turn)
    assert cause is not None
    stack.raise_irregularity(turn, _cause(turn, cause)._replace(step=RULING))
    early.lay_down(turn)


def halt_in_review(turn: Turn) -> None:
    """Whoever decides says what becomes of a card that was drawn while the table was paused."""
    cause = _cause(turn, fitting.DRAWN_EARLY)
    stack.raise_irregularity(turn, cause._replace(step=RULING))
    early.lay_down(turn)


def halt_unread(turn: Turn) -> None:
    """The shoe objects to a card where the table has no doubt whether one is due."""
    halting.tell_shoe_fault(turn)
    stack.raise_irregularity(turn, _cause(turn, fitting.DRAWN_EARLY)._replace(step=RULING))
    early.lay_down_unread(turn)


def is_left_over(turn: Turn) -> bool:
    """A card lies drawn early that nothing is open for yet."""
    return bool(_unraised(turn))


def nothing_is_left_over(turn: Turn) -> bool:
    """No card lies drawn early that nothing is open for."""
    return not _unraised(turn)


def has_no_round_for_it(turn: Turn) -> bool:
    """Halted where no hand of a round could still want a card."""
    halt = turn.now.halt
    return is_left_over(turn) and halt is not None and halt.back_to in _NO_HAND


def _unraised(turn: Turn) -> list[Cause]:
    subjects = [lying.subject for lying in turn.now.early if lying.number is not None]
    causes = [fitting.DRAWN_EARLY._replace(subject=subject) for subject in subjects]
    return [cause for cause in causes if not stack.is_open(turn, KEY, cause.subject)]


def wait_left_over(turn: Turn) -> None:
    """It was drawn with others and none is due: it waits as any card drawn early."""
    for cause in _unraised(turn):
        stack.wait_beside(turn, cause)


def halt_left_over(turn: Turn) -> None:
    """It was drawn with others, and there is no turn for it."""
    for cause in _unraised(turn):
        stack.raise_irregularity(turn, cause._replace(step=RULING))


def take(turn: Turn) -> None:
    """It was due after all: it takes its slot by itself *(5.7, reading)*."""
    first, end = turn.now.early[0], OVERDRAW.end("kept")
    assert end is not None
    stack.close_waiting(turn, _opened(turn), end)
    early.take(turn, first)


def bring_up(turn: Turn) -> None:
    """It was not due, or the shoe has it elsewhere: the table halts and asks."""
    stack.halt_for_waiting(turn, _opened(turn), RULING)


def _opened(turn: Turn) -> Opened:
    """What is open for the first card drawn early."""
    named = turn.now.early[0].subject
    if not stack.is_open(turn, KEY, named):
        wait_left_over(turn)
    return next(o for o in turn.now.waiting if (o.key, o.subject) == (KEY, named))


def _cause(turn: Turn, cause: Cause) -> Cause:
    assert isinstance(turn.happened, ShoeSaid)
    return cause._replace(subject=early.subject(early.next_number(turn)))
