"""Replay a journal in parts, each by a process of its own, and go on where that was stopped.

In: a journal's path, how many processes, a file for what is done. Out: the same Replay as of one
process. Must not know: which options a person gave, how a difference is shown.

A table's inputs are cut at its snapshots: the part before one ends with a comparison to it, and the
next part begins from it. Its connections are cut where one is opened. Where any part finds a
difference, all is replayed by one process: what follows from a difference depends on what came
before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.history import snapshots
from shoe_ctl.journal import part_processes
from shoe_ctl.journal.part_processes import Progress, part_size
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.recovery import last_start, read_snapshot
from shoe_ctl.replay.replay import MOST_MISSING, Part, Replay, Span, add_up, replay
from shoe_ctl.replay.wire_replay import RecordedSessions

LEAST_RECORDS = 200_000
"""Records of a part at least: the process that replays one takes a third of a second to start."""

_TRIES = 3
"""Snapshots behind a cut that are tried: one by another version of the software is not used."""

Keys = Mapping[str, Mapping[int, bytes]]


class PartResult(msgspec.Struct, frozen=True):
    """The result of one part: its Replay, and what ``RecordedSessions`` counted in it."""

    replay: Replay
    authenticated: int
    missing: list[tuple[str, int]]


class _Given(msgspec.Struct, frozen=True):
    """The part to replay, as it stands on a process's standard input."""

    path: str
    part: Part
    keys: dict[str, dict[int, bytes]] | None


Kept = Progress[Part, PartResult]
"""A replay as its file keeps it. Its identity is the journal's last record and its hash, the
software, and whether keys were given."""


def replay_in_parts(  # noqa: PLR0913 - all of it by name
    path: Path,
    sessions: RecordedSessions,
    *,
    jobs: int,
    keys: Keys | None = None,
    state: Path | None = None,
    progress: Callable[[int, int], None] = lambda _n, _last_n: None,
    least: int = LEAST_RECORDS,
) -> Replay | None:
    """Replay a journal by so many processes; None if one process must do it as a whole.

    That is so where a part finds a difference or cannot be read, and where the journal is too short
    to be cut. With ``state`` the parts that are done are kept in this file until all are.
    ``sessions`` gets what the sessions of all parts counted.

    Raises:
        InputRefused: the state is that of another replay, or is none.
        JournalError: the journal cannot be read.
        EnvironmentFault: the state cannot be written.
    """
    with Reader.open(path) as reader:
        work = _resumed(reader, keys, state)
        if work is None:
            identity = _identity(reader, reader.newest() or 0, keys)
            work = Kept(identity, cut(reader, jobs, least=least))
    last_n = work.parts[-1].upto if work.parts else 0
    if len(work.parts) < 2:
        return None
    plain = None if keys is None else {name: dict(known) for name, known in keys.items()}
    found = part_processes.run(
        work,
        PartResult,
        module=__spec__.name,
        given=lambda part: msgspec.json.encode(_Given(str(path), part, plain)),
        jobs=jobs,
        state=state,
        progress=progress,
    )
    if state is not None:
        state.unlink(missing_ok=True)
    if found is None:
        return None
    progress(last_n, last_n)
    sessions.authenticated = sum(one.authenticated for one in found)
    sessions.missing.update(miss for one in found for miss in one.missing)
    return Replay(
        rounds=sum(one.replay.rounds for one in found),
        differences=[],
        connections=sum(one.replay.connections for one in found),
        bytes=sum(one.replay.bytes for one in found),
        overheard=sum(one.replay.overheard for one in found),
        not_compared=add_up(one.replay.not_compared for one in found),
        missing=[gap for one in found for gap in one.replay.missing][:MOST_MISSING],
    )


# Where a journal is cut.


def _resumed(reader: Reader, keys: Keys | None, state: Path | None) -> Kept | None:
    """Return the replay that the file keeps; None where there is no such file."""
    kept = part_processes.load(state, Kept, "replay")
    if kept is not None and kept.journal != _identity(reader, kept.parts[-1].upto, keys):
        raise InputRefused(
            f"{state}: of another journal, version of shoe-ctl or key file; name another file, or "
            "remove it"
        )
    return kept


def _identity(reader: Reader, last_n: int, keys: Keys | None) -> str:
    last = next(reader.records(after=last_n - 1, upto=last_n), None)
    end = "" if last is None else last.hash.hex()
    with_keys = "without keys" if keys is None else "with keys"
    return f"{reader.first_n()} to {last_n}, {end}, {snapshots.software()}, {with_keys}"


def cut(reader: Reader, jobs: int, *, least: int) -> list[Part]:
    """Return the parts of a journal for so many processes, each of ``least`` records or more.

    Raises:
        JournalError: the journal cannot be read.
    """
    last_n, heads = reader.heads()
    first = (reader.first_n() or 1) - 1
    records = last_n - first
    size = part_size(records, jobs, least=least)
    at = list(range(first + size, last_n - size // 2, size))
    tables = sorted(heads.keys() - {JOURNAL})
    spans: list[tuple[dict[str, Span], dict[str, Span]]] = [({}, {}) for _ in range(len(at) + 1)]
    for table in tables:
        inputs = [_snapshot_behind(reader, table, place) for place in at]
        for part, span in _spans(inputs, last_n):
            spans[part][0][table] = span
    opened = _connections_behind(reader, at, tables, last_n)
    for table in tables:
        for part, span in _spans([found.get(table) for found in opened], last_n):
            spans[part][1][table] = span
    parts = []
    for inputs_of, wire_of in spans:
        both = [*inputs_of.values(), *wire_of.values()]
        if both:
            after = min(span.after for span in both)
            parts.append(Part(after, max(span.upto for span in both), inputs_of, wire_of))
    return parts


def _spans(cuts: Sequence[int | None], last_n: int) -> Iterator[tuple[int, Span]]:
    """Yield which part has which records of a table, which is cut here, or not at all (None)."""
    after, part = 0, 0
    for place, n in enumerate(cuts):
        if n is not None and n > after:
            yield part, Span(after, n)
            after, part = n, place + 1
    yield part, Span(after, last_n)


def _snapshot_behind(reader: Reader, table: str, n: int) -> int | None:
    """Return the table's first snapshot from record ``n`` on from which it can be run."""
    behind = reader.indexed_records(table, Kind.SNAPSHOT, after=n - 1)
    for record, _ in zip(behind, range(_TRIES), strict=False):
        meta = last_start(reader, table, record.n)
        with suppress(ValueError):
            snapshot = read_snapshot(record, reader.path)
            if meta is not None and (snapshot.software, snapshot.rules) == (
                snapshots.software(),
                meta.rules,
            ):
                return record.n
    return None


def _connections_behind(
    reader: Reader, at: Sequence[int], tables: Sequence[str], last_n: int
) -> list[dict[str, int]]:
    """Return for each place the record before the next one that opens a connection, by table."""
    found: list[dict[str, int]] = []
    for place, following in pairwise([*at, last_n] if at else []):
        opened: dict[str, int] = {}
        kinds = (Kind.CONNECTION,)
        for record in reader.records(after=place, upto=following, kinds=kinds):
            opened.setdefault(record.table, record.n - 1)
            if len(opened) == len(tables):
                break
        found.append(opened)
    return found


# In the process of one part.


def _replay_part(given: _Given, progress: Callable[[int], None]) -> PartResult | None:
    sessions = RecordedSessions(given.keys)
    with Reader.open(given.path) as reader:
        found = replay(
            reader,
            snapshots.controller_for,
            snapshots.agrees,
            sessions,
            lambda n, _last_n: progress(n - given.part.after),
            from_first_snapshot=snapshots.from_first_snapshot,
            first_only=True,
            part=given.part,
        )
    return (
        None if found.found else PartResult(found, sessions.authenticated, sorted(sessions.missing))
    )


if __name__ == "__main__":
    part_processes.do_part(_Given, _replay_part)
