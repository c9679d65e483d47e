"""What a hello is to the table: which shoe and which cards it shows, and what it makes doubtful.

In: a hello, the table as it stands. Out: the hello's case, a trigger of transitions.py.
Must not know: what follows from a case, and nothing here changes the table.
"""

from __future__ import annotations

from typing import Literal

from shoe_ctl.table import deciding, halting, heard_later, shoe_sets
from shoe_ctl.table.situations import situation
from shoe_ctl.table.turn import Turn

HelloCase = Literal[
    "hello",
    "hello.answers_step",
    "hello.shoe_sorted",
    "hello.another_set",
    "hello.rebooted",
    "hello.cards_missed",
    "hello.fewer_cards",
]
"""Every case of a hello; ``hello`` alone is the shoe that the table knows, as it knows it."""

_AFTER_BETS = ("closed", "cards", "halted_closed", "halted_cards")


def classify_hello(turn: Turn) -> HelloCase:
    """Return what the hello is to the table."""
    where = situation(turn.state, turn.now.halt)
    halted = turn.state == "suspended"
    if halted and deciding.is_heard(turn):
        return "hello.answers_step"
    if (halted or where == "cards") and turn.is_shoe_sorted():
        return "hello.shoe_sorted"  # the round gets no further card from it (5.11)
    if where == "between" and shoe_sets.is_empty_handed(turn):
        return "hello.another_set"  # its cards were taken out
    if where != "halted_closed" and shoe_sets.another_set(turn):
        return "hello.another_set"
    if where in _AFTER_BETS and halting.power_was_lost(turn):
        return "hello.rebooted"  # after *no more bets* that is a power failure (I 5.15, 5.17)
    if where != "no_shoe" and halting.cards_were_missed(turn):
        return "hello.cards_missed"  # it counts cards that were not reported and will not be
    if halted and heard_later.lacks_entered(turn):
        return "hello.fewer_cards"  # it counts fewer cards than people entered (6.3)
    return "hello"
