"""The leaf values that every part shares: events, audiences, ids, times.

In: nothing. Out: Record, Envelope, Audience, the number of the recorded form.
Must not know: the round, shoes, stores, sinks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

FORMAT = 2
"""The form in which records and the table's state are written: rises with every change of it.

A journal names it wherever it says what a table was started with and how it stood.
"""


class Audience(Enum):
    """The stream of an event; the value is the letter in event ids (``<table>/<p|r><n>``)."""

    PUBLIC = "p"
    RESTRICTED = "r"


class EventId(NamedTuple):
    """An event's id in its parts."""

    table: str
    audience: Audience
    number: int

    def __str__(self) -> str:
        """As it stands in the event."""
        return f"{self.table}/{self.audience.value}{self.number}"


def event_id(text: str) -> EventId:
    """Return the parts of an id such as ``bac-07/p31``.

    Raises:
        ValueError: it is no event's id.
    """
    table, slash, last = text.rpartition("/")
    number = last[1:]
    if not (table and slash and number.isascii() and number.isdigit() and len(number) < 16):
        raise ValueError(f"{text!r} is no event's id")
    return EventId(table, Audience(last[:1]), int(number))


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the journal: ``n`` is unique over all tables, ``body`` is its exact bytes."""

    n: int
    table: str
    kind: str
    body: bytes
    hash: bytes


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """One event as it leaves: CloudEvents attributes and data, and who may see it.

    ``id`` is ``<table>/<p|r><n>``, contiguous for each table and audience: the receiver applies
    each ``source`` and ``id`` once. ``time`` is UTC. ``subject`` is the round's or the shoe's id;
    it is left out where there is neither.
    """

    id: str
    source: str
    type: str
    time: str
    subject: str | UnsetType = UNSET
    data: dict[str, object]
    specversion: str = "1.0"


def key_difference(read: object, written: object, at: str = "") -> str | None:
    """Return in words how the keys of two JSON values differ; None where both have the same.

    ``written`` is what this version writes in the place of what was ``read``.
    """
    if isinstance(read, Mapping) and isinstance(written, Mapping):
        for key in read.keys() - written.keys():
            return f"{at}{key} is a key that it does not know"
        for key in written.keys() - read.keys():
            return f"{at}{key} is missing"
        pairs = [(read[key], written[key], f"{at}{key}.") for key in read]
    elif isinstance(read, Sequence) and isinstance(written, Sequence):
        pairs = [(*pair, f"{at}{n}.") for n, pair in enumerate(zip(read, written, strict=False))]
    else:
        return None
    found = (key_difference(*pair) for pair in pairs if not isinstance(pair[0], str))
    return next((how for how in found if how is not None), None)


NO_EPOCH = "00000000"
"""The epoch of what belongs to no journal that a daemon began: tests and tools."""


def source_of(epoch: str, table: str) -> str:
    """The ``source`` of a table's events; ``epoch``: 8 hex digits for a journal and its epoch."""
    return f"/journal/{epoch}/table/{table}"


def table_in(source: str) -> str:
    """The table whose events have this ``source``."""
    return source.rpartition("/table/")[2]


def epoch_in(source: str) -> str:
    """The epoch that a ``source`` names; empty where it names none."""
    start, found, rest = source.partition("/journal/")
    return rest.partition("/")[0] if found and not start else ""


class EventHead(msgspec.Struct):
    """An event's id, its type and its subject."""

    id: str = ""
    type: str = ""
    subject: str | None = None


read_event_head = msgspec.json.Decoder(EventHead).decode
"""Returns the head of an event. Raises ``ValueError`` if its bytes cannot be decoded."""


def event_head(body: bytes | None) -> EventHead:
    """Return the head of an event; an empty one if its bytes cannot be decoded."""
    with suppress(ValueError):
        return read_event_head(body or b"")
    return EventHead()


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def utc(t_us: int) -> str:
    """Microseconds since 1970 UTC as RFC 3339, always with six decimals and ``Z``."""
    second, fraction = divmod(t_us, 1_000_000)
    return f"{_second(second)}.{fraction:06d}Z"


def since_1970_us(time: str) -> int:
    """Return the microseconds since 1970 UTC of a time that ``utc`` wrote.

    Raises:
        ValueError: it is no such time.
    """
    since = datetime.fromisoformat(time) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@lru_cache(1 << 10)
def _second(since: int) -> str:
    """Return a second as RFC 3339: many events have the same."""
    hours, seconds = divmod(since, 3600)
    return f"{_hour(hours)}:{seconds // 60:02d}:{seconds % 60:02d}"


@lru_cache(1 << 6)
def _hour(since: int) -> str:
    return (_EPOCH + timedelta(hours=since)).isoformat()[:13]  # a third of strftime's time
