"""Collect a round from the journal: its inputs with their raw bytes, and the events of each.

In: a reader, the location of a round. Out: a RoundReport of plain values.
Must not know: wording and layout, whether a replay gives the same.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from shoe_ctl.journal.record_format import Connection, Kind, Meta, UnknownFormat
from shoe_ctl.journal.recovery import unknown_format_error
from shoe_ctl.journal.round_index import OPENED, round_id
from shoe_ctl.records import Record
from shoe_ctl.round_report.lookup import (
    Frames,
    RawFrame,
    Records,
    RoundLocation,
    SentBytes,
    records_backwards,
    sent_bytes,
)

ENDS = ("round.settled", "round.void")
"""Events that end a round: settled, or void."""

REVISABLE_ROUNDS = 2
"""Up to no more bets of the next round all inputs are looked at for events about a round. Later
ones, such as a revision, are found by the index of rounds."""

_EVENTS = (Kind.PUBLIC.value, Kind.RESTRICTED.value)
_KINDS = (Kind.WIRE, Kind.INPUT, Kind.PUBLIC, Kind.RESTRICTED)


class ReportedEvent(msgspec.Struct, frozen=True):
    """An event's restricted copy; ``public`` is the id of its public one, None where there is none.

    Where the restricted copy is left out of a proof it is the public one, and ``restricted`` is
    empty. ``subject`` is the round's id, or the shoe's.
    """

    type: str
    restricted: str
    public: str | None
    subject: str | None
    data: dict[str, Any]


class Entry(msgspec.Struct, frozen=True):
    """One input as it was recorded, with its record's number and the events that followed from it.

    ``frame`` are the bytes of a shoe's message, None for any other input. ``bytes_sent`` went to
    the shoe since the input before.
    """

    n: int
    t_us: int
    input: dict[str, Any]
    frame: RawFrame | None
    events: tuple[ReportedEvent, ...]
    bytes_sent: tuple[SentBytes, ...] = ()


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The game, settings and software of a round; ``sha256`` is the game file's."""

    game: str
    title: str
    version: str | None
    date: str | None
    sha256: str
    settings: dict[str, Any]
    software: str


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """The shoe of a round, as it said who it is on the connection that was open.

    ``authenticated`` is True if that connection proved it with a key. ``device_id`` is None for a
    shoe without a name, and ``firmware`` where it said nothing near the round.
    """

    profile: str
    device_id: str | None = None
    firmware: str | None = None
    authenticated: bool = False


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The signature that a report stands on; ``why_not`` says why it stands on none.

    ``checkpoint`` of the journal ``origin`` was signed at ``t_us`` with ``public_key`` (hex), which
    is ``trusted`` if the verifier named it. ``witnesses`` cosigned it with keys that were named;
    ``cosigned_by`` says who else is said to have.
    """

    checkpoint: int = 0
    origin: str = ""
    t_us: int = 0
    public_key: str = ""
    trusted: bool = False
    witnesses: tuple[str, ...] = ()
    cosigned_by: tuple[str, ...] = ()
    why_not: str | None = None


class RoundReport(msgspec.Struct, frozen=True, kw_only=True):
    """A round: its inputs with their events, and ``afterwards`` later inputs with events about it.

    ``ended`` is the type of the event that ended it, None where the journal ends before.
    ``standing`` is None where nobody looked.
    """

    table: str
    round_id: str
    rules: Rules | None
    entries: tuple[Entry, ...]
    afterwards: tuple[Entry, ...]
    ended: str | None
    device: Device | None = None
    standing: Standing | None = None

    def events(self, *types: str) -> Iterator[ReportedEvent]:
        """Yield the events of these types, in order."""
        for entry in (*self.entries, *self.afterwards):
            yield from (event for event in entry.events if event.type in types)


def collect(reader: Records, location: RoundLocation) -> RoundReport:
    """Return the report on the round that was opened there.

    Raises:
        JournalError: the journal cannot be read.
    """
    first = _input_before(reader, location.table, location.n)
    entries: list[Entry] = []
    afterwards: list[Entry] = []
    ended: str | None = None
    rounds = last_n = 0
    for entry in _entries(reader, location.table, first):
        last_n = entry.n
        opened = sum(event.type == OPENED for event in entry.events)
        rounds += opened
        if ended is None and not (opened and rounds > 1):
            entries.append(entry)
            ended = next((e.type for e in entry.events if e.type in ENDS), None)
            continue
        if is_of(entry, location.round_id) or (rounds == 1 and entry.events):
            afterwards.append(entry)
        closed = any(event.type == "round.bets_closed" for event in entry.events)
        if rounds > REVISABLE_ROUNDS or (rounds == REVISABLE_ROUNDS and closed):
            break
    afterwards += _later_entries(reader, location, last_n)
    return RoundReport(
        table=location.table,
        round_id=location.round_id,
        rules=_rules(reader, location.table, first),
        entries=tuple(entries),
        afterwards=tuple(afterwards),
        ended=ended,
        device=_device(reader, location.table, first),
    )


def _input_before(reader: Records, table: str, n: int) -> int:
    """Return the record of the input that brought an event; the event's own where it is not there.

    Raises:
        JournalError: the journal cannot be read.
    """
    found = next(records_backwards(reader, (Kind.INPUT,), before=n, table=table), None)
    return n if found is None else found.n


def _later_entries(reader: Records, location: RoundLocation, after: int) -> Iterator[Entry]:
    """Yield the inputs long after a round that changed it, as a revision: the index has them.

    Raises:
        JournalError: the journal cannot be read.
    """
    of = round_id(location.round_id)
    indexed = reader.round(of) if of is not None and reader.has_rounds else None
    last = after
    for n in () if indexed is None else indexed.records:
        began = _input_before(reader, location.table, n) if n > last else 0
        if began > last:
            last = began
            yield next(_entries(reader, location.table, began))


def is_of(entry: Entry, of: str) -> bool:
    """Return True if an event of the entry is about this round."""
    return any(of in (e.subject, e.data.get("round_id")) for e in entry.events)


def _entries(reader: Records, table: str, first: int) -> Iterator[Entry]:
    """Yield the table's inputs from record ``first`` on, each with its bytes and its events."""
    frames = Frames(reader, table, first)
    held: Record | None = None
    before: tuple[SentBytes, ...] = ()
    since: list[SentBytes] = []
    events: list[Record] = []
    for record in reader.records(after=first - 1, table=table, kinds=_KINDS):
        if record.kind == Kind.WIRE.value:
            frames.add(record)
            if (went := sent_bytes(record)) is not None:
                since.append(went)
        elif record.kind in _EVENTS:
            events.append(record)
        else:
            if held is not None:
                yield _entry(held, events, frames, before)
            held, events, before, since = record, [], tuple(since), []
    if held is not None:
        yield _entry(held, events, frames, before)


class _Input(msgspec.Struct):
    t_us: int


class _Event(msgspec.Struct):
    id: str
    type: str
    data: dict[str, Any]
    subject: str | None = None


def _entry(
    record: Record, events: list[Record], frames: Frames, before: tuple[SentBytes, ...]
) -> Entry:
    input_values: dict[str, Any] = {"input": "unreadable", "bytes": record.body.hex()}
    t_us = 0
    with suppress(ValueError):
        t_us = msgspec.json.decode(record.body, type=_Input).t_us
        input_values = msgspec.json.decode(record.body, type=dict[str, Any])
    return Entry(
        n=record.n,
        t_us=t_us,
        input=input_values,
        frame=frames.of(input_values) if input_values["input"] == "shoe" else None,
        events=tuple(_reported_events(events)),
        bytes_sent=before,
    )


def _reported_events(events: list[Record]) -> Iterator[ReportedEvent]:
    """Yield each event once: a public copy stands right before its restricted one."""
    public: _Event | None = None
    for record in events:
        try:
            event = msgspec.json.decode(record.body, type=_Event)
        except ValueError:
            spoilt = f"record {record.n}"
            yield ReportedEvent("unreadable", spoilt, None, None, {"bytes": record.body.hex()})
            continue
        if record.kind == Kind.PUBLIC.value:
            if public is not None:
                yield _as_in_public(public)
            public = event
        else:
            of = None if public is None else public.id
            yield ReportedEvent(event.type, event.id, of, event.subject, event.data)
            public = None
    if public is not None:
        yield _as_in_public(public)


def _as_in_public(event: _Event) -> ReportedEvent:
    return ReportedEvent(event.type, "", event.id, event.subject, event.data)


def _rules(reader: Records, table: str, before: int) -> Rules | None:
    """Return what the table was last started with; None where that was removed or is damaged."""
    record = next(reader.indexed_records(table, Kind.META, before=before), None)
    if record is None:
        return None
    try:
        meta = Meta.from_bytes(record.body)
        game = tomllib.loads(meta.game.decode())
    except UnknownFormat as error:
        raise unknown_format_error(record, reader.path, error) from None
    except ValueError:
        return None
    return Rules(
        game=str(game.get("id")),
        title=str(game.get("title")),
        version=_text(game.get("version")),
        date=_text(game.get("date")),
        sha256=hashlib.sha256(meta.game).hexdigest(),
        settings=meta.settings,
        software=meta.software,
    )


class _Hello(msgspec.Struct):
    """An input by which a shoe says who it is."""

    device_id: str | None = None
    firmware: str | None = None


class _ShoeInput(msgspec.Struct):
    event: _Hello


class _Link(msgspec.Struct):
    profile: str = ""
    device_id: str | None = None
    authenticated: bool = False


class _Shoe(msgspec.Struct):
    link: _Link


class _State(msgspec.Struct):
    state: _Shoe


_HELLO = b'"type":"hello"'
_NEAR_DEVICE = 20_000
"""Records before a round in which a shoe is looked for; before them the table's state names it."""


def _device(reader: Records, table: str, before: int) -> Device | None:
    """Return the shoe that was connected before a record; None where nothing says it.

    Raises:
        JournalError: the journal cannot be read.
    """
    hello = _Hello()
    kinds = (Kind.CONNECTION, Kind.INPUT)
    for record in records_backwards(reader, kinds, before=before, table=table):
        if record.n < before - _NEAR_DEVICE:
            break
        with suppress(ValueError):
            if record.kind == Kind.CONNECTION.value:
                opened = Connection.from_bytes(record.body)
                return Device(
                    profile=opened.profile,
                    device_id=hello.device_id,
                    firmware=hello.firmware,
                    authenticated=opened.authenticated,
                )
            if hello.device_id is None and _HELLO in record.body:
                hello = msgspec.json.decode(record.body, type=_ShoeInput).event
    state = next(reader.indexed_records(table, Kind.SNAPSHOT, before=before), None)
    with suppress(ValueError):
        if state is not None:
            link = msgspec.json.decode(state.body, type=_State).state.link
            return Device(
                profile=link.profile,
                device_id=hello.device_id or link.device_id,
                firmware=hello.firmware,
                authenticated=link.authenticated,
            )
    return None


def _text(of: object) -> str | None:
    """Return None where the game's file says ``none``: its document gives nothing."""
    return None if of in (None, "none") else str(of)
