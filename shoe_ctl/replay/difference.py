"""Differences between a replay and its journal: what they are, and in which round.

In: what was recorded and what was replayed. Out: differences, the first of them whole and all of
them counted. Must not know: which replay found one, how it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Literal

import msgspec

from shoe_ctl.records import Audience, EventHead, event_id

MOST_WHOLE = 1000
"""So many differences are held whole: another game file can change every round of years."""

LONGEST_TEXT = 1 << 16
"""Characters of a body that are shown: no event comes near it, a damaged record may."""

OPENED = "round.opened"
ENDS = ("round.settled", "round.void")


class Difference(msgspec.Struct, frozen=True):
    """An input whose events differ from those recorded, or bytes that decode to other inputs.

    ``replay`` is ``inputs`` in the first case, ``wire`` in the second. ``n`` is the record number
    of the input, or of the bytes, the connection or the snapshot. ``recorded`` and ``replayed`` are
    the first events or inputs that differ, as text; None where there is none. ``round_id`` is the
    round that was open, or that the input opened. ``worth`` is how much more the house has by the
    replay, in minor units, a fraction as ``"19/2"``; None where each wager's money is the same.
    """

    table: str
    n: int
    round_id: str | None
    why: str
    recorded: str | None
    replayed: str | None
    replay: Literal["inputs", "wire"] = "inputs"
    worth: int | str | None = None


class Money(msgspec.Struct, frozen=True):
    """The money of all differences, in minor units, and in how many ``rounds`` any differs.

    ``worth`` is what the house has more by the replay, a fraction as ``"19/2"`` if not whole.
    """

    worth: int | str
    rounds: int


class _Settled(msgspec.Struct):
    """The money of a wager that was settled, or of a revision of that."""

    number: int
    pays: int | str = 0
    collected: int = 0
    change: int | str | None = None


class _OfWager(msgspec.Struct):
    id: str
    data: _Settled


_MONEY = (b'"type":"wager.settled"', b'"type":"wager.revised"')


def worth(recorded: Iterable[bytes], replayed: Iterable[bytes]) -> int | str | None:
    """Return how much more the house has by the second events than by the first, as ``worth``."""
    ours, theirs = _house(recorded), _house(replayed)
    if ours == theirs:
        return None
    more = sum(theirs.values(), Fraction(0)) - sum(ours.values(), Fraction(0))
    return _plain(more)


def _plain(amount: Fraction) -> int | str:
    return amount.numerator if amount.denominator == 1 else str(amount)


def _house(events: Iterable[bytes]) -> dict[int, Fraction]:
    """Return what the house has of each wager: of a revision, what that adds."""
    found: dict[int, Fraction] = {}
    for body in events:
        if not any(kind in body for kind in _MONEY):
            continue
        with suppress(ValueError, ZeroDivisionError):
            event = msgspec.json.decode(body, type=_OfWager)
            if event_id(event.id).audience is Audience.RESTRICTED:
                data = event.data
                less = data.pays if data.change is None else data.change
                gets = data.collected if data.change is None else 0
                found[data.number] = gets - Fraction(less)
    return found


class Differences:
    """All differences: ``first`` the first of them, ``count`` all, ``rounds`` in how many."""

    def __init__(self) -> None:
        self.first: list[Difference] = []
        self.count = 0
        self._rounds: set[tuple[str, str]] = set()
        self._money = Fraction(0)
        self._with_money: set[tuple[str, str | None]] = set()

    @property
    def rounds(self) -> int:
        """Return in how many rounds there is at least one."""
        return len(self._rounds)

    @property
    def money(self) -> Money | None:
        """Return what all of them are worth; None where no wager's money differs."""
        if not self._with_money:
            return None
        return Money(_plain(self._money), len(self._with_money))

    def add(self, found: Iterable[Difference]) -> None:
        """Add those that a step found."""
        for one in found:
            self.count += 1
            if one.worth is not None:
                self._money += Fraction(one.worth)
                self._with_money.add((one.table, one.round_id))
            if one.round_id is not None:
                self._rounds.add((one.table, one.round_id))
            if self.count <= MOST_WHOLE:
                self.first.append(one)


class Rounds:
    """Tracks which round of a table is open, event by event. ``count`` is how many were opened."""

    def __init__(self) -> None:
        self.count = 0
        self.open: str | None = None

    def add(self, event: EventHead) -> None:
        """Take the next restricted event: that stream has all of them, each once."""
        if event.type == OPENED:
            self.count += 1
            self.open = event.subject
        elif event.type in ENDS and event.subject == self.open:
            self.open = None


def text(body: bytes | None) -> str | None:
    """Return a record's body as people can read it, damaged or not."""
    return None if body is None else body[:LONGEST_TEXT].decode(errors="backslashreplace")


def first_difference(
    recorded: Sequence[bytes], replayed: Sequence[bytes]
) -> tuple[int, bytes | None, bytes | None]:
    """Return where two lists differ first, and both items; their length where they do not."""
    for position in range(max(len(recorded), len(replayed))):
        left = recorded[position] if position < len(recorded) else None
        right = replayed[position] if position < len(replayed) else None
        if left != right:
            return position, left, right
    return len(recorded), None, None
