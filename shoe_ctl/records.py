"""What is written down and what is handed on: the leaf values that every part shares.

In: nothing. Out: Record, Envelope, Audience, Principal.
Must not know: the round, shoes, stores, sinks.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from enum import Enum

import msgspec


class Audience(Enum):
    """Who may see an event; the value is the letter in event ids (``<table>/<p|r><n>``)."""

    PUBLIC = "p"
    RESTRICTED = "r"


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Who acts: the person and the position held."""

    person: str
    position: str


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
    each ``source`` and ``id`` once. ``time`` is UTC. ``subject`` is the round's or the shoe's id,
    or None.
    """

    id: str
    source: str
    type: str
    time: str
    subject: str | None
    data: dict[str, object]
    specversion: str = "1.0"


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


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def utc(t_us: int) -> str:
    """Microseconds since 1970 UTC as RFC 3339, always with six decimals and ``Z``."""
    moment = _EPOCH + timedelta(microseconds=t_us)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"
