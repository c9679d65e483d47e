"""What came over a line in one go, with what was recorded of it.

In: records as they are passed. Out: what stands together, and in which round it was.
Must not know: how bytes are decoded.
"""

from __future__ import annotations

from shoe_ctl.journal.bodies import Call
from shoe_ctl.records import Record

SAID = b'{"input":"shoe"'
"""How the bytes of an input begin that a shoe said."""

OTHER = "the bytes say something else"
UNSAID = "an input that no bytes say"
UNRECORDED = "the bytes say what is not recorded"


class Portion:
    """``n`` is its first record, ``inputs`` those that stand behind its bytes."""

    def __init__(self, n: int, t_us: int, round_id: str | None) -> None:
        self.n = n
        self.t_us = t_us
        self.rounds = [round_id]  # that were open before it, and at each input
        self.calls: tuple[Call, ...] = ()
        self.data = b""
        self.inputs: list[Record] = []

    def round_of(self, at: int, open_now: str | None) -> str | None:
        """The round that this input opened, or that was open at it."""
        rounds = [*self.rounds, open_now]
        end = len(rounds) - 1
        return rounds[min(at + 2, end)] or rounds[min(at + 1, end)] or rounds[0]
