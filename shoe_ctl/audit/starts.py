"""Starts of the daemon: with what software, and by which configuration; and what changed.

In: a reader. Out: each start, and how it differs from the one before. Must not know: how that is
shown, what a setting does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, DaemonStart, Kind
from shoe_ctl.records import utc

MOST_NAMED = 20
"""Settings that a line names; an incident lists them all."""


_NAMES = ("id", "name", "path", "address", "user")
"""The keys that tell a section of the configuration from others of its kind, the first that it
has: tables, users, sinks."""


class Change(msgspec.Struct, frozen=True):
    """A start, record ``n``, and what is other than at the start before; nothing at the first.

    ``software`` and ``configuration`` name each value that differs, with both.
    """

    n: int
    time: str
    files: str
    version: str
    configuration_sha256: str
    software: list[str] = []
    configuration: list[str] = []

    @property
    def differs(self) -> bool:
        """Return True if something is other than before."""
        return bool(self.software or self.configuration)


def changes(reader: Reader) -> Iterator[Change]:
    """Yield every start of the daemon that the journal or export has, oldest first.

    What is no such record is passed over: ``verify`` reports it.

    Raises:
        JournalError: the journal cannot be read.
    """
    before: DaemonStart | None = None
    for record in reader.indexed_records(JOURNAL, Kind.META, after=0):
        if not DaemonStart.is_one(record.body):
            continue
        with suppress(ValueError):
            start = DaemonStart.from_bytes(record.body)
            yield compare(record.n, before, start)
            before = start


def compare(n: int, before: DaemonStart | None, start: DaemonStart) -> Change:
    """Return a start as a change from the one before."""
    software: list[str] = []
    configuration: list[str] = []
    if before is not None:
        for name in ("software", "python", "files"):
            software += difference(name, getattr(before, name), getattr(start, name))
        configuration += differences(before.configuration, start.configuration)
    return Change(
        n,
        utc(start.t_us),
        start.files,
        start.software,
        start.configuration_sha256,
        software,
        configuration,
    )


def differences(before: object, now: object, at: str = "") -> Iterator[str]:
    """Yield each value that differs, by its name, with both."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in sorted({*before, *now}):
            yield from differences(before.get(key), now.get(key), f"{at}.{key}" if at else key)
    elif isinstance(before, list) and isinstance(now, list):
        yield from _of_lists(before, now, at)
    else:
        yield from difference(at, before, now)


def _of_lists(before: list[object], now: list[object], at: str) -> Iterator[str]:
    """Yield how lists of sections differ: one is known by its name, whatever its place."""
    was, is_ = _by_name(before), _by_name(now)
    if was is None or is_ is None:
        yield from difference(at, before, now)
        return
    for name in dict.fromkeys((*was, *is_)):
        yield from differences(was.get(name), is_.get(name), f"{at}[{name}]")


def _by_name(sections: list[object]) -> dict[str, object] | None:
    """Return sections by what tells them apart; None where they are none, or alike in that."""
    found: dict[str, object] = {}
    for one in sections:
        if not isinstance(one, Mapping):
            return None
        name = next((f"{one[key]}" for key in _NAMES if one.get(key)), "")
        if name in found:
            return None
        found[name] = one
    return found


def difference(at: str, before: object, now: object) -> list[str]:
    """Return both values in one line, or nothing where they are equal."""
    if before == now:
        return []
    both = " -> ".join(msgspec.json.encode(one).decode() for one in (before, now))
    return [f"{at}: {both}" if at else both]


def lines(found: list[Change]) -> list[str]:
    """Return for people what software ran, and each change of it or of the configuration."""
    if not found:
        return []
    first = found[0]
    shown = [f"{first.version}, files {first.files[:16]}…, from record {first.n:,} on"]
    for one in found[1:]:
        at = f"record {one.n:,}, {one.time[:19]}Z"
        if one.software:
            shown.append(f"other software at {at}: {_named(one.software)}")
        if one.configuration:
            shown.append(f"other configuration at {at}: {_named(one.configuration)}")
    return shown


def _named(values: list[str]) -> str:
    more = len(values) - MOST_NAMED
    said = "; ".join(values[:MOST_NAMED])
    return f"{said}; and {more} more" if more > 0 else said
