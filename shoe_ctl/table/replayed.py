"""A card that the shoe was armed for and that is heard of only while the table is halted.

In: such a card, the time. Out: it lies in its slot, and is seen; what stood when power failed.
Must not know: how a halt ends, who is asked what.
"""

from __future__ import annotations

import msgspec

from . import belated, conduct, fitting, power, revealing
from .irregularities import power_lost, stack
from .irregularities.grounds import halt_of
from .settings import TableSettings
from .slots import next_slot
from .state import Opened, TableState
from .turn import Turn

HEARD_LATE = frozenset({"power_failure", "link_lost", "cutting_card"})
"""While one of these is open, a card may come that was drawn as it should be, before the halt."""

_DRAWS = ("closed", "dealing", "drawing")


def was_armed_for(turn: Turn) -> bool:
    """The next card of the shoe, drawn for the slot that is due: it was only heard of late."""
    halt, now, drawn = turn.now.halt, turn.now, turn.drawn
    if halt is None or halt.back_to not in _DRAWS or now.held or now.loaded or now.pending:
        return False
    if not any(opened.key in HEARD_LATE for opened in halt.stack):
        return False
    next_one = now.shoe is not None and drawn.number == now.shoe.drawn + 1
    due = next_slot(now) is not None
    fits = fitting.fits_the_decks(turn) and not fitting.is_left_over(turn)
    return drawn.armed is True and next_one and due and fits


def shows_in_time(turn: Turn) -> bool:
    """A card that came so, or just before, lies face up long enough for the room to have seen it.

    While such a halt goes on nothing else turns cards: what lies open is seen all the same.
    """
    due_us = shows_at_us(turn.now, turn.settings)
    return due_us is not None and due_us <= turn.now.t_us


def shows_at_us(now: TableState, settings: TableSettings) -> int | None:
    """When the room will have seen the next card that lies face up while such a halt is open."""
    if now.halt is None or now.round is None or conduct.faces(now, settings) != "face_up":
        return None
    if not any(opened.key in HEARD_LATE for opened in now.halt.stack):
        return None
    unseen = (d.drawn_us for d in now.round.cards if not d.revealed and d.card is not None)
    first_us = min(unseen, default=None)
    return None if first_us is None else first_us + settings.face_up_after_ms * 1000


# What is done.


def take_slot(turn: Turn) -> None:
    """It takes its slot; one that lies face up the room sees in its time, like any other."""
    belated.deal_read(turn)
    _look_again(turn)


def show_due(turn: Turn) -> None:
    """The room has had its time to see what lies face up: it counts among what stood."""
    revealing.reveal_due(turn)
    _look_again(turn)


def _look_again(turn: Turn) -> None:
    halt = halt_of(turn)
    opened = tuple(_looked_at_again(turn, one) for one in halt.stack)
    if opened != halt.stack:
        turn.change(halt=msgspec.structs.replace(halt, stack=opened))
        stack.tell_open_step(turn)


def _looked_at_again(turn: Turn, opened: Opened) -> Opened:
    if opened.key != power.KEY or opened.step not in power_lost.AT_FIRST:
        return opened
    noted = {**opened.noted, **power.established(turn)}
    leads = power_lost.first_step(turn, noted) == power_lost.CONTINUE
    step = power_lost.CONTINUE if leads else opened.step
    return msgspec.structs.replace(opened, noted=noted, step=step)
