"""What a replay gives otherwise than a journal has it, and of which round.

In: events as they are told. Out: differences, the first of them whole and all of them counted.
Must not know: which replay found one, how it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

MOST_KEPT = 1000
"""Differences kept whole: another game file can change every round of years."""

LONGEST_TEXT = 1 << 16
"""Characters of a body that are kept: no event comes near it, a damaged record may."""

OPENED = "round.opened"
ENDS = ("round.settled", "round.void")


class Difference(msgspec.Struct, frozen=True):
    """An input of which something else came than is recorded, or that came otherwise itself.

    ``replay`` is ``inputs`` where events differ, ``wire`` where what a shoe said does. ``n`` is the
    input's record number, or that of the bytes, the connection or the snapshot. ``recorded`` and
    ``replayed`` are the first events or inputs that differ, as text; None where there is none.
    ``round_id`` is the round that was open, or opened by it.
    """

    table: str
    n: int
    round_id: str | None
    why: str
    recorded: str | None
    replayed: str | None
    replay: Literal["inputs", "wire"] = "inputs"


class Differences:
    """All that were found: ``kept`` the first of them, ``count`` all, ``rounds`` in how many."""

    def __init__(self) -> None:
        self.kept: list[Difference] = []
        self.count = 0
        self._rounds: set[tuple[str, str]] = set()

    @property
    def rounds(self) -> int:
        """In how many rounds there is at least one."""
        return len(self._rounds)

    def take(self, found: Iterable[Difference]) -> None:
        """Those that a step found."""
        for one in found:
            self.count += 1
            if one.round_id is not None:
                self._rounds.add((one.table, one.round_id))
            if self.count <= MOST_KEPT:
                self.kept.append(one)


class Told(msgspec.Struct):
    """An event's type and what it is about."""

    type: str = ""
    subject: str | None = None


_told = msgspec.json.Decoder(Told)


def told(event: bytes | None) -> Told:
    """What an event is and is about; nothing where its bytes were spoilt."""
    with suppress(ValueError):
        return _told.decode(event or b"")
    return Told()


class Rounds:
    """Which round of a table is open, event by event; ``count`` is how many were opened."""

    def __init__(self) -> None:
        self.count = 0
        self.open: str | None = None

    def see(self, event: Told) -> None:
        """The next restricted event: that stream has them all, each once."""
        if event.type == OPENED:
            self.count += 1
            self.open = event.subject
        elif event.type in ENDS and event.subject == self.open:
            self.open = None


def text(body: bytes | None) -> str | None:
    """A record's body as people can read it, whatever became of it."""
    return None if body is None else body[:LONGEST_TEXT].decode(errors="backslashreplace")


def first_difference(
    recorded: Sequence[bytes], replayed: Sequence[bytes]
) -> tuple[int, bytes | None, bytes | None]:
    """Where two lists differ first, and what stands there; their length where they do not."""
    for position in range(max(len(recorded), len(replayed))):
        left = recorded[position] if position < len(recorded) else None
        right = replayed[position] if position < len(replayed) else None
        if left != right:
            return position, left, right
    return len(recorded), None, None
