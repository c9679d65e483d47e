"""Times that run backwards: a table's clock never does, so that one was altered.

In: the times of a table's records, in order. Out: those that are before the one before them.
Must not know: records, stores.
"""

from __future__ import annotations

import msgspec

MOST = 20
"""So many are kept of one clock: who moved one time moved all behind it, or one."""


class RanBackwards(msgspec.Struct, frozen=True):
    """Record ``n`` of a table (``""``: a checkpoint) has the time ``t_us``, before ``before_us``.

    Both are in µs since 1970 UTC; ``before_us`` is the time of the one before it.
    """

    table: str
    n: int
    t_us: int
    before_us: int


class Times(msgspec.Struct):
    """The times of one clock: of all records, or of a part of them.

    ``first`` is the first record and its time; None where there is none, or the clock was another
    one before it. ``last_us`` is the last time, -1 where there is none to compare with.
    """

    first: tuple[int, int] | None = None
    last_us: int = -1
    is_new: bool = False
    backwards: list[tuple[int, int, int]] = []

    def see(self, n: int, t_us: int) -> None:
        """Take the next time, that of record ``n``."""
        if t_us < self.last_us:
            if len(self.backwards) < MOST:
                self.backwards.append((n, t_us, self.last_us))
        elif self.first is None and not self.is_new:
            self.first = (n, t_us)
        self.last_us = t_us

    def begin_anew(self) -> None:
        """Note that the next time is of a clock that was started anew."""
        self.last_us, self.is_new = -1, True

    def extend(self, later: Times) -> None:
        """Add the times of the records that follow."""
        if later.first is not None:
            self.see(*later.first)
        self.backwards = [*self.backwards, *later.backwards][:MOST]
        if later.is_new or later.last_us >= 0:
            self.last_us = later.last_us
        self.is_new = self.is_new or later.is_new
