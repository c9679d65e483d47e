"""A card that the shoe was armed for and that is heard of only while the table is halted.

In: such a card. Out: it lies in the slot that it was drawn for; what stood when power failed.
Must not know: how a halt ends, who is asked what.
"""

from __future__ import annotations

import msgspec

from . import belated, fitting, power
from .irregularities import stack
from .irregularities.grounds import halt_of
from .slots import next_slot
from .state import Opened
from .turn import Turn

HEARD_LATE = frozenset({"power_failure", "link_lost", "cutting_card"})
"""While one of these is open, a card may come that was drawn as it should be, before the halt."""

_DRAWS = ("closed", "dealing", "drawing")


def was_armed_for(turn: Turn) -> bool:
    """The next card of the shoe, drawn for the slot that is due: it was only heard of late."""
    halt, now, drawn = turn.now.halt, turn.now, turn.drawn
    if halt is None or halt.back_to not in _DRAWS or now.kept or now.loaded is not None:
        return False
    if not any(opened.key in HEARD_LATE for opened in halt.stack):
        return False
    next_one = now.shoe is not None and drawn.number == now.shoe.drawn + 1
    due = next_slot(now) is not None
    fits = fitting.fits_the_decks(turn) and not fitting.is_left_over(turn)
    return drawn.armed is True and next_one and due and fits


def take_slot(turn: Turn) -> None:
    """It takes its slot; if it lies face up, it counts among what stood when power failed."""
    belated.deal_next(turn, turn.drawn.card, turn.drawn.number)
    halt = halt_of(turn)
    opened = tuple(_looked_at_again(turn, one) for one in halt.stack)
    if opened != halt.stack:
        turn.change(halt=msgspec.structs.replace(halt, stack=opened))
        stack.tell_open_step(turn)


def _looked_at_again(turn: Turn, opened: Opened) -> Opened:
    if (opened.key, opened.step) != (power.KEY, power.UNDECIDED):
        return opened
    return msgspec.structs.replace(opened, noted={**opened.noted, **power.established(turn)})
