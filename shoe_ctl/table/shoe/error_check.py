"""What a fault code of the shoe is to the table: most concern a card that nobody has seen.

In: an error that the shoe reports, the table as it stands. Out: the error's case, a trigger of
transitions.py. Must not know: what follows from a case, and nothing here changes the table.
"""

from __future__ import annotations

from typing import Literal

from shoe_ctl.table import halting, overdrawn
from shoe_ctl.table.situations import OPEN, situation
from shoe_ctl.table.turn import Turn

ErrorCase = Literal[
    "error",
    "error.known",
    "error.overdraw_undecided",
    "error.overdraw",
    "error.unread_card",
    "error.reverse_run",
    "error.at_a_card",
]
"""Every case of an error; ``error`` alone concerns no card."""


def classify_error(turn: Turn) -> ErrorCase:
    """Return what the fault is to the table."""
    where = situation(turn.state, turn.now.halt)
    halted = turn.state == "suspended"
    if halting.shoe_saw_overdraw(turn):  # the shoe objects to a card before its turn (5.7, 6.1)
        if (halted or turn.state in OPEN) and overdrawn.is_known_already(turn):
            return "error.known"
        if turn.state == "revealing" and overdrawn.is_undecided(turn):
            return "error.overdraw_undecided"
        if turn.state == "idle" or turn.state in OPEN:
            return "error.overdraw"
    if (halted or where == "cards") and halting.is_of_the_last_card(turn):
        return "error.known"  # the card was reported just before, as one that was not read
    if turn.state in ("closed", "dealing", "drawing") and halting.shoe_could_not_read(turn):
        return "error.unread_card"  # the card that is due
    if where in ("closed", "cards", "halted_cards") and halting.order_was_altered(turn):
        return "error.reverse_run"  # a card ran back into the shoe (5.2)
    if halted and halting.asks_where_the_card_is(turn):
        return "error.known"  # people are asked where that card is
    return "error.at_a_card" if halting.stands_for_a_card(turn) else "error"
