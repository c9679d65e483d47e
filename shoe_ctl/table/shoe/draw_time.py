"""The time of a draw: whether a card left the shoe before the round that its report came in.

Each numbered event of a shoe with a clock carries the shoe's own time. A report may be held back on
the line; the time in it is not. The shoe's clock and this table's are compared at each card that
was armed for, which leaves the shoe in its turn: a report takes time, so the shoe's clock showed at
least the reported time when the report arrived.

In: the shoe's time of a drawn card, when a round opens or ends. Out: ``Shoe.clock``,
``Shoe.round_from_us``. Must not know: which card it is, what is done with it.
"""

from __future__ import annotations

from shoe_ctl.table.inputs import ShoeSaid
from shoe_ctl.table.state import ShoeClock
from shoe_ctl.table.turn import Turn

SLOWEST = 50
"""A shoe's clock may lose one part in so many: an oscillator without a crystal loses about 1 %."""


def read_clock(turn: Turn) -> ShoeClock | None:
    """Return what is known of the shoe's clock, with this input's card.

    A card that was not armed for may be reported late: it is no measure.
    """
    happened = turn.input
    if not isinstance(happened, ShoeSaid) or happened.device_us is None:
        return turn.shoe.clock
    if getattr(happened.event, "armed", None) is not True:
        return turn.shoe.clock
    boot_id = turn.now.link.boot_id
    return ShoeClock(boot_id=boot_id, device_us=happened.device_us, at_us=happened.t_us)


def note_round_opened(turn: Turn) -> None:
    """Note that a card which leaves the shoe from now on is of the round that opens (3.1).

    Where announcements follow from the cards, the round before ended before that round's first
    card could leave the shoe: the time of that end counts.
    """
    if not turn.implied:
        turn.set_shoe(round_from_us=turn.now.t_us)


def note_round_ended(turn: Turn) -> None:
    """Note that a card which leaves the shoe from now on is not of the round that ends."""
    if turn.implied:
        turn.set_shoe(round_from_us=turn.now.t_us)


def is_of_round_before(turn: Turn) -> bool:
    """True if the shoe's clock shows that the drawn card left the shoe before the round began.

    Nothing is shown by a clock that began anew with another boot, that ran backwards, or that
    stands. Only of a card that the shoe was not armed for: one that it was is in its turn.
    """
    happened, shoe = turn.input_of(ShoeSaid), turn.now.shoe
    if shoe is None:
        return False
    device_us, clock, from_us = happened.device_us, shoe.clock, shoe.round_from_us
    if device_us is None or clock is None or from_us is None:
        return False
    if clock.boot_id != turn.now.link.boot_id:
        return False
    passed_us = from_us - clock.at_us
    began_us = clock.device_us + passed_us - abs(passed_us) // SLOWEST
    return clock.device_us < device_us < began_us
