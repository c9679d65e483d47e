"""Compare bytes of a connection whose beginning is missing with the inputs, frame by frame.

In: a table's records before its first connection here, or behind a difference. Out: differences.
Must not know: the conversation. What a session adds to an event, or makes of it, is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, Protocol, cast

import msgspec

from firmware_proto.events import (
    Authenticated,
    AuthenticationFailed,
    Challenged,
    CommandUnanswered,
    Discarded,
    Gap,
    Hello,
    HostTraffic,
    QueryAnswered,
    Redesignated,
    Repeated,
    Reply,
    ShoeEvent,
    UnknownFirmware,
    to_plain,
)
from firmware_proto.profiles import PROFILES
from firmware_proto.session import ReceivedEvent
from shoe_ctl.history.recorder import DECODING, shoe_input
from shoe_ctl.journal.record_format import Call, Direction, Kind, Snapshot, Wire
from shoe_ctl.records import Record
from shoe_ctl.replay.difference import Difference, text
from shoe_ctl.table.inputs import Fault, ShoeSaid, from_bytes, to_bytes

SHOE_INPUT = b'{"input":"shoe"'
"""The first bytes of an input that came from a shoe."""

FAULT = b'{"input":"fault"'
"""The first bytes of a fault that is an input."""

OTHER = "the bytes say something else"
UNSAID = "an input that no bytes say"
UNRECORDED = "the bytes say what is not recorded"

OF_THE_CONVERSATION = (
    *(Hello, Reply, QueryAnswered, Gap, Repeated, Discarded, HostTraffic, CommandUnanswered),
    *(Challenged, Authenticated, AuthenticationFailed, UnknownFirmware),
)
"""Events that no frame gives by itself, or not the same to every listener."""

Differing = tuple[int | None, ShoeSaid | None, ReceivedEvent | None]
"""The input's number, what it says and what the bytes say; None where there is no such input or
bytes."""


def fault_in(body: bytes) -> str | None:
    """Return the place of a fault; None where the input is none, or cannot be read."""
    if body.startswith(FAULT):
        with suppress(ValueError):
            fault = from_bytes(body)
            return fault.where if isinstance(fault, Fault) else None
    return None


class RecordedRead:
    """The bytes that were read in one go, and the inputs recorded of them.

    ``n`` is the first record, ``inputs`` are those that stand behind the bytes.
    """

    def __init__(self, n: int, t_us: int, round_id: str | None) -> None:
        self.n = n
        self.t_us = t_us
        self.rounds = [round_id]  # that were open before it, and at each input
        self.calls: tuple[Call, ...] = ()
        self.data = b""
        self.inputs: list[Record] = []

    def round_of(self, at: int, open_now: str | None) -> str | None:
        """Return the round that this input opened, or that was open at it."""
        rounds = [*self.rounds, open_now]
        end = len(rounds) - 1
        return rounds[min(at + 2, end)] or rounds[min(at + 1, end)] or rounds[0]


class _Listener(Protocol):
    def feed(self, data: bytes) -> list[ReceivedEvent]: ...


class FrameScan:
    """Scans one connection from the byte at ``position`` on, which may stand within a frame.

    Raises:
        ValueError: no such profile.
    """

    def __init__(self, profile: str, position: int) -> None:
        if profile not in PROFILES:
            raise ValueError(f"unknown profile {profile}")
        codec = import_module(f"firmware_proto.{profile}.codec")
        self._listener = cast(_Listener, codec.Listener())
        self._began = position
        self._keeps_step = False  # whether a frame was found where an input says one is

    def differing(self, data: bytes, recorded: Mapping[int, ShoeSaid]) -> Iterator[Differing]:
        """Yield where the frames that these bytes complete differ from what was recorded."""
        heard: dict[tuple[int, int], list[ReceivedEvent]] = {}
        for found in self._listener.feed(data):
            first, last = found.first + self._began, found.last + self._began
            one = replace(found, first=first, last=last)
            heard.setdefault((one.first, one.last), []).append(one)
        for at, said in recorded.items():
            there = heard.pop((said.first, said.last), [])
            if getattr(said.event, "count", None) is not None:  # a run: all that is in it
                for place in [p for p in heard if said.first <= p[0] and p[1] <= said.last]:
                    there += heard.pop(place)
            self._keeps_step = self._keeps_step or any(_counts(one.event) for one in there)
            if not _counts(said.event) or said.first == said.last or not self._keeps_step:
                continue
            if not any(_same(said.event, one.event) for one in there):
                yield at, said, there[0] if there else None
        if self._keeps_step:
            for left in heard.values():
                yield from ((None, None, one) for one in left if _counts(one.event))


def _counts(event: ShoeEvent) -> bool:
    return not isinstance(event, OF_THE_CONVERSATION)


def _same(recorded: ShoeEvent, heard: ShoeEvent) -> bool:
    """True if both are the same event; a repeated frame counts as the first one."""
    if isinstance(heard, Repeated):
        return heard.of == recorded.type
    return _plain(recorded) == _plain(heard)


def _plain(event: ShoeEvent) -> dict[str, Any]:
    plain = to_plain(event)
    if isinstance(event, Redesignated):
        plain.pop("meaning", None)  # integrators disagree: a setting says
    return plain


class _Link(msgspec.Struct):
    profile: str


class _State(msgspec.Struct):
    link: _Link


class PartialConnection:
    """A table's connection from somewhere in it on; ``octets`` counts the bytes that were compared.

    Without a ``profile`` it is the one that the first snapshot names: every journal that begins
    late begins with a snapshot.
    """

    def __init__(self, table: str, profile: str | None = None) -> None:
        self.octets = 0
        self._table = table
        self._profile = profile
        self._scan: FrameScan | None = None
        self._connection = 0
        self._position = 0
        self._has_failed = False  # decoding failed: what was read along with it was only stored
        self._read: RecordedRead | None = None

    def add(self, record: Record, round_id: str | None) -> Iterator[Difference]:
        """Take the table's next record. One that cannot be read is left to others to report."""
        with suppress(ValueError):
            if record.kind == Kind.WIRE.value:
                wire = Wire.from_bytes(record.body)
                if wire.direction is Direction.FROM_SHOE:
                    yield from self.settle(round_id)
                    self._bytes(record.n, wire, round_id)
            elif record.kind == Kind.SNAPSHOT.value and self._profile is None:
                state = Snapshot.from_bytes(record.body).state
                self._profile = msgspec.json.decode(state, type=_State).link.profile
            elif record.body.startswith(SHOE_INPUT) and self._read is not None:
                self._read.inputs.append(record)
                self._read.rounds.append(round_id)
            elif fault_in(record.body) == DECODING:
                if self._read is not None and self._read.inputs:
                    yield from self.settle(round_id)
                self._has_failed, self._read = True, None

    def settle(self, round_id: str | None) -> Iterator[Difference]:
        """Compare the last read, of which no more was recorded."""
        read, self._read = self._read, None
        if read is None or self._scan is None:
            return
        recorded: dict[int, ShoeSaid] = {}
        for place, record in enumerate(read.inputs):
            with suppress(ValueError):
                said = from_bytes(record.body)
                if isinstance(said, ShoeSaid):
                    recorded[place] = said
        for at, left, right in self._scan.differing(read.data, recorded):
            shown = None if right is None else shoe_input(right, self._connection, read.t_us)
            yield Difference(
                table=self._table,
                n=read.n if at is None else read.inputs[at].n,
                round_id=read.round_of(len(read.inputs) if at is None else at, round_id),
                why=UNSAID if right is None else UNRECORDED if left is None else OTHER,
                recorded=None if left is None else text(to_bytes(left)),
                replayed=None if shown is None else text(to_bytes(shown)),
                replay="wire",
            )

    def _bytes(self, n: int, wire: Wire, round_id: str | None) -> None:
        if (wire.connection, wire.offset) != (self._connection, self._position):
            self._connection, self._position = wire.connection, wire.offset
            self._scan, self._has_failed = None, False
        self._position += len(wire.data)
        if self._has_failed:
            return
        if self._scan is None and self._profile is not None:
            self._scan = FrameScan(self._profile, wire.offset)
        self._read = RecordedRead(n, wire.t_us, round_id)
        self._read.data = wire.data
        self.octets += len(wire.data) if self._scan is not None else 0
