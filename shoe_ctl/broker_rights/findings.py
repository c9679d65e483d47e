"""Findings about a login's rights at a broker.

In: what was tried. Out: findings, in the order in which they were made.
Must not know: a protocol.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class Result(Enum):
    """The end of a try."""

    HOLDS = "holds"
    """It works and must, or does not and must not."""
    FAILS = "fails"
    """It must work, and does not."""
    LEAKS = "leaks"
    """It must not work, and does."""
    NOT_SEEN = "not seen"
    """A client cannot see it; the finding says who can."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was tried."""

    sink: str
    """The sink whose broker it is, by its name."""
    user: str | None
    """The user of the login; None without one."""
    what: str
    """The thing that was tried, such as *read restricted events*."""
    must_work: bool
    """False: it must not work."""
    result: Result
    detail: str = ""
    """The reason of the result, and what to do."""

    @property
    def is_wrong(self) -> bool:
        """Return True where something leaks, or does not work."""
        return self.result in (Result.LEAKS, Result.FAILS)


class Findings(list[Finding]):
    """The findings about one login."""

    def __init__(self, sink: str, user: str | None) -> None:
        super().__init__()
        self._sink = sink
        self._user = user

    def must(self, what: str, why_not: str | None) -> None:
        """Note what must work: it did without ``why_not``."""
        result = Result.HOLDS if why_not is None else Result.FAILS
        self._add(what, result, why_not or "", must_work=True)

    def must_not(self, what: str, leak: str | None) -> None:
        """Note what must not work: it did with ``leak``, which says how, and what to do."""
        result = Result.HOLDS if leak is None else Result.LEAKS
        self._add(what, result, leak or "", must_work=False)

    def not_seen(self, what: str, who_sees: str) -> None:
        """Note what must be so, and what no client can see."""
        self._add(what, Result.NOT_SEEN, who_sees, must_work=True)

    def _add(self, what: str, result: Result, detail: str, *, must_work: bool) -> None:
        self.append(
            Finding(
                sink=self._sink,
                user=self._user,
                what=what,
                must_work=must_work,
                result=result,
                detail=detail,
            )
        )
