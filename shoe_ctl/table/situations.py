"""The ten states of a table, and groups of them.

In: nothing. Out: STATES and groups of states.
Must not know: inputs, what follows from a state.
"""

from __future__ import annotations

STATES = (
    "no_shoe", "idle", "betting", "closed", "dealing", "revealing", "drawing", "resolved",
    "suspended", "shoe_change",
)  # fmt: skip
"""The ten states of a table."""

CARDS_OUT = ("dealing", "revealing", "drawing")
"""The states in which cards of an unfinished round lie on the table."""

TO_THE_OUTCOME = ("closed", *CARDS_OUT)
"""The states from *no more bets* to the outcome."""

BETWEEN = ("idle", "shoe_change")
"""A shoe is known, and no round is open."""

NO_ROUND = ("no_shoe", *BETWEEN)
BEGUN = ("betting", "closed")
OPEN = (*BEGUN, *CARDS_OUT, "resolved")
AFTER_BETS = (*TO_THE_OUTCOME, "resolved")
