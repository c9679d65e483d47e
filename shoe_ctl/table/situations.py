"""States and situations: the ten states of a table, groups of them, and the columns of ``SHOE``.

In: the state, the halt. Out: groups of states, the situation.
Must not know: inputs, what follows from a situation.
"""

from __future__ import annotations

from collections.abc import Mapping

from shoe_ctl.table.state import Halt

STATES = (
    "no_shoe", "idle", "betting", "closed", "dealing", "revealing", "drawing", "resolved",
    "suspended", "shoe_change",
)  # fmt: skip
"""The ten states of a table."""

CARDS_OUT = ("dealing", "revealing", "drawing")
"""Cards of an unfinished round lie on the table."""

DEALT_UNTIL_SEEN = ("dealing", "revealing")
"""Cards lie there, and with the time they count as seen, or the shoe's result as late."""

TO_THE_OUTCOME = ("closed", *CARDS_OUT)
"""From *no more bets* to the outcome."""

AFTER_BETS = (*TO_THE_OUTCOME, "resolved")
"""From *no more bets* to the end of the round."""

BEGUN = ("betting", "closed")
"""A round is open, and no card of it is out."""

OPEN = (*BEGUN, *CARDS_OUT, "resolved")
"""A round is open, and nothing halts it."""

BETWEEN = ("idle", "shoe_change")
"""A shoe is known, and no round is open."""

NO_ROUND = ("no_shoe", *BETWEEN)
"""No round is open."""

SITUATIONS: Mapping[str, tuple[str, ...]] = {
    "no_shoe": ("no_shoe",),
    "between": BETWEEN,
    "betting": ("betting",),
    "closed": ("closed",),
    "cards": CARDS_OUT,
    "resolved": ("resolved",),
    "halted": ("suspended",),
    "halted_closed": ("suspended",),
    "halted_cards": ("suspended",),
}
"""Situation → the states that it stands for."""

LEFT_FOR_A_HALT: Mapping[str, tuple[str, ...]] = {
    "halted": (*NO_ROUND, "betting", "resolved"),
    "halted_closed": ("closed",),
    "halted_cards": CARDS_OUT,
}
"""Situation of a halted table → the states that the table may have left for the halt."""

_BY_STATE = {s: name for name, states in SITUATIONS.items() for s in states if s != "suspended"}
_BY_STATE_LEFT = {state: name for name, states in LEFT_FOR_A_HALT.items() for state in states}


def situation(state: str, halt: Halt | None) -> str:
    """Return the situation of a table in this state: the column of ``SHOE`` that holds now."""
    return _BY_STATE[state] if halt is None else _BY_STATE_LEFT[halt.resume_state]
