"""Where in a journal a round stands: found by its number, however long the journal is.

In: a reader, a round's id. Out: the record that opened it; the last rounds; which are known.
Must not know: what a round is made of, who reads of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.bodies import JOURNAL, Kind
from shoe_ctl.journal.reader import BATCH, Reader
from shoe_ctl.records import Record

OPENED = "round.opened"

_MARK = f'"type":"{OPENED}"'.encode()
_ID = re.compile(r"(?P<table>.+)-s(?P<shoe>[0-9]+)-r(?P<round>[0-9]+)")
_NEAR = 4 * BATCH
"""Records that are read one after the other rather than halved again."""


class Place(msgspec.Struct, frozen=True):
    """A round, and the record of the event that opened it."""

    table: str
    round_id: str
    n: int


class _Event(msgspec.Struct):
    subject: str | None


def opened_after(reader: Reader, table: str, n: int, upto: int | None = None) -> Iterator[Place]:
    """The rounds of a table that were opened behind record ``n``, in order.

    Raises:
        JournalError: the journal cannot be read.
    """
    for record in reader.records(after=n, upto=upto, table=table, kinds=(Kind.RESTRICTED,)):
        if (place := _opened(record)) is not None:
            yield place


def find(reader: Reader, round_id: str) -> Place:
    """Where this round was opened.

    A table numbers its shoes and their rounds as they come, so that half of what is left can be
    passed over at each look.

    Raises:
        InputRefused: the journal has no such round; the line says which it has.
        JournalError: it cannot be read.
    """
    last_n, heads = reader.heads()
    named = _ID.fullmatch(round_id)
    table = None if named is None else named["table"]
    if table in heads:
        low, high = 0, last_n
        while high - low > _NEAR:
            middle = (low + high) // 2
            found = next(opened_after(reader, table, middle, high), None)
            if found is not None and found.round_id == round_id:
                return found
            if found is None or _number(found.round_id) > _number(round_id):
                high = middle
            else:
                low = found.n
        for place in opened_after(reader, table, low, high):
            if place.round_id == round_id:
                return place
    raise InputRefused(f"{reader.path}: no round {round_id} ({_known(reader, table)})")


def last(reader: Reader, count: int, table: str | None = None) -> list[Place]:
    """The last rounds that were opened, at one table or at all of them, the oldest first.

    Raises:
        InputRefused: there is no such table.
        JournalError: the journal cannot be read.
    """
    tables = reader.heads()[1].keys() - {JOURNAL}
    if table is not None and table not in tables:
        have = ", ".join(sorted(tables)) or "none"
        raise InputRefused(f"{reader.path}: no table {table} (have: {have})")
    places: list[Place] = []
    for record in backwards(reader, (Kind.RESTRICTED,), table=table):
        if (place := _opened(record)) is not None:
            places.append(place)
            if len(places) == count:
                break
    return places[::-1]


def backwards(
    reader: Reader, kinds: Sequence[Kind], *, before: int | None = None, table: str | None = None
) -> Iterator[Record]:
    """The records before one, or before the end, newest first.

    Raises:
        JournalError: the journal cannot be read.
    """
    while (newest := reader.newest(before)) is not None:
        before = newest - BATCH + 1
        read = reader.records(after=newest - BATCH, upto=newest, table=table, kinds=kinds)
        yield from reversed(list(read))


def _opened(record: Record) -> Place | None:
    """The round that this event opened; nothing where it is another, or was spoilt."""
    if _MARK not in record.body:
        return None
    with suppress(ValueError):
        subject = msgspec.json.decode(record.body, type=_Event).subject
        if subject is not None and _ID.fullmatch(subject):
            return Place(record.table, subject, record.n)
    return None


def _number(round_id: str) -> tuple[int, int]:
    named = _ID.fullmatch(round_id)
    assert named is not None
    return int(named["shoe"]), int(named["round"])


def _known(reader: Reader, table: str | None) -> str:
    named = reader.heads()[1].keys() - {JOURNAL}
    tables = [table] if table in named else sorted(named)
    known: list[str] = []
    for name in tables:
        assert name is not None
        first = next(opened_after(reader, name, 0), None)
        if first is None:
            known.append(f"{name} has none")
        else:
            known.append(f"{name} has {first.round_id} to {last(reader, 1, name)[0].round_id}")
    return "; ".join(known) or "it has no tables"
