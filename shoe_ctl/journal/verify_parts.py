"""Verify a journal in parts, each by a process of its own, and go on where that was stopped.

In: how many processes, a file for what is done. Out: what was found in each part, for ``verify``.
Must not know: which options a person gave, how parts are joined.

A journal is cut at checkpoints: a part begins where a checkpoint says that each chain ended. That
the part before it ends so is seen when the parts are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.journal import part_processes
from shoe_ctl.journal.anchor import Anchor, WrongAnchor, anchor_at
from shoe_ctl.journal.part_processes import part_size
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, InvalidRow, Kind
from shoe_ctl.journal.verify import Walked, WalkInParts, walk_part

LEAST_RECORDS = 1_000_000
"""Records of a part at least: the process that walks one takes a tenth of that time to start."""


class Part(msgspec.Struct, frozen=True):
    """The records from an anchor up to and with ``upto``."""

    begins: Anchor
    upto: int

    @property
    def records(self) -> int:
        """Return the number of records."""
        return self.upto - self.begins.n + 1


class _Given(msgspec.Struct, frozen=True):
    """The part to walk, as it stands on a process's standard input."""

    path: str
    part: Part
    trusted: list[bytes]
    last_n: int


Kept = part_processes.Progress[Part, Walked]
"""A verification as its file keeps it. Its identity is the journal's first and last record and that
one's hash, the software, and the trusted keys."""


def in_parts(  # noqa: PLR0913 - all of it by name
    trusted: frozenset[bytes],
    *,
    jobs: int,
    software: str,
    state: Path | None = None,
    progress: Callable[[int, int], None] = lambda _n, _last_n: None,
    least: int = LEAST_RECORDS,
) -> WalkInParts:
    """Return what walks a journal by so many processes, in parts of ``least`` records or more.

    With ``state`` the parts that are done are kept in this file until all are. They are taken as
    they were found then, and are not read again; what the journal has grown by is walked too.
    ``software`` is the version that runs.

    What is returned raises:
        InputRefused: the state is that of another verification, or is none.
        JournalError: the journal cannot be read.
        EnvironmentFault: the state cannot be written.
    """
    keys = sorted(trusted)
    depends_on = f"{software}, trusted: {[key.hex() for key in keys]}"

    def plan(reader: Reader, begins: Anchor, last_n: int) -> Kept:
        work = part_processes.load(state, Kept, "verification")
        if work is None:
            parts = cut(reader, begins, last_n, jobs, least)
            return Kept(_identity(reader, begins.n, last_n, depends_on), parts)
        upto = work.parts[-1].upto
        if work.journal != _identity(reader, begins.n, upto, depends_on):
            raise InputRefused(
                f"{state}: of another journal, version of shoe-ctl or public key, or the journal's "
                "oldest records were taken out since; name another file, or remove it"
            )
        if upto < last_n:
            work.journal = _identity(reader, begins.n, last_n, depends_on)
            work.parts += cut(reader, _take_last(work), last_n, jobs, least)
        return work

    def walk(reader: Reader, begins: Anchor, last_n: int) -> Sequence[tuple[Anchor, Walked]]:
        try:
            work = plan(reader, begins, last_n)
            if len(work.parts) < 2 or reader.first_n() != work.parts[0].begins.n:
                return ()
        except InvalidRow:
            return ()  # whoever walks all records comes to it
        path = str(reader.path)
        found = part_processes.run(
            work,
            Walked,
            module=__spec__.name,
            given=lambda part: msgspec.json.encode(_Given(path, part, keys, last_n)),
            jobs=jobs,
            state=state,
            progress=progress,
        )
        if state is not None:
            state.unlink(missing_ok=True)
        if found is None:
            return ()
        progress(last_n, last_n)
        return [(part.begins, one) for part, one in zip(work.parts, found, strict=True)]

    return walk


def _identity(reader: Reader, first_n: int, n: int, depends_on: str) -> str:
    last = next(reader.records(after=n - 1, upto=n), None)
    return f"{first_n} to {n}, {'' if last is None else last.hash.hex()}, {depends_on}"


def _take_last(work: Kept) -> Anchor:
    """Return where the records behind those that were walked begin, and drop an unwalked end."""
    place = len(work.parts) - 1
    if place in work.done:
        found = work.done[place]
        after = work.parts[place].upto
        return Anchor(after + 1, found.ends, found.counters, found.size, found.frontier)
    return work.parts.pop().begins


def cut(reader: Reader, begins: Anchor, last_n: int, jobs: int, least: int) -> list[Part]:
    """Return the parts of the records from an anchor on, each of ``least`` records or more.

    Raises:
        JournalError: the journal cannot be read.
    """
    size = part_size(last_n - begins.n + 1, jobs, least=least)
    parts = []
    for behind in _checkpoints(reader, begins, last_n, size):
        parts.append(Part(begins, behind.n - 1))
        begins = behind
    return [*parts, Part(begins, last_n)]


def _checkpoints(reader: Reader, begins: Anchor, last_n: int, size: int) -> Iterator[Anchor]:
    """Yield the checkpoints that cut a journal, at least ``size`` records from one another."""
    n, counters = begins.n, begins.counters
    while n + size < last_n - size // 2:
        after = n + size
        found = next(reader.indexed_records(JOURNAL, Kind.CHECKPOINT, after=after), None)
        if found is None or found.n >= last_n:
            return
        counted = reader.count_events(after=n - 1, before=found.n)
        counters = {
            table: _sum(counters.get(table, (0, 0)), counted.get(table, (0, 0)))
            for table in counters.keys() | counted.keys()
        }
        n = found.n
        try:
            yield anchor_at(found, counters)
        except WrongAnchor:
            return  # whoever walks the records comes to it


def _sum(before: tuple[int, int], counted: tuple[int, int]) -> tuple[int, int]:
    return before[0] + counted[0], before[1] + counted[1]


# In the process of one part.


def _walk_part(given: _Given, progress: Callable[[int], None]) -> Walked | None:
    part = given.part
    with Reader.open(given.path) as reader:
        return walk_part(
            reader,
            frozenset(given.trusted),
            part.begins,
            part.upto,
            given.last_n,
            lambda n, _last_n: progress(n - part.begins.n),
        )


if __name__ == "__main__":
    part_processes.do_part(_Given, _walk_part)
