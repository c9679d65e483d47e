"""Wire replay: decode every connection again from its first byte and compare the inputs.

In: a table's records in order; how to make a connection's session, with keys or without. Out:
differences. Must not know: what an input brings about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Protocol

from firmware_proto.commands import Armed, ClearError, Locked, Query
from firmware_proto.events import ShoeEvent
from firmware_proto.profiles import profile, with_recorded_verdicts
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_ctl.history.recorder import DECODING, in_runs, of_a_run, shoe_input
from shoe_ctl.journal.record_format import (
    Call,
    Calls,
    Commanded,
    Connection,
    Desired,
    Direction,
    Ended,
    Kind,
    Ticked,
    Wire,
)
from shoe_ctl.records import Record
from shoe_ctl.replay.difference import Difference, first_difference, text
from shoe_ctl.replay.wire_resync import (
    FAULT,
    OTHER,
    SHOE_INPUT,
    UNRECORDED,
    UNSAID,
    PartialConnection,
    RecordedRead,
    fault_in,
)
from shoe_ctl.table.inputs import FAULT_IN_SHOE_INPUT, Fault, ShoeSaid, from_bytes, to_bytes

VerdictOf = Callable[[int], ShoeEvent | None]
"""Returns what was recorded of the frame whose first byte stands here; None for nothing."""

_INPUT, _WIRE = Kind.INPUT.value, Kind.WIRE.value
_CALLS, _CONNECTION = Kind.CALLS.value, Kind.CONNECTION.value


class SessionOf(Protocol):
    """Makes the session of a connection again, as it was when that was opened.

    Raises:
        ValueError: this software knows no such profile, or not with these settings.
    """

    def __call__(self, opened: Connection, verdict_of: VerdictOf) -> HostSession: ...


class RecordedSessions:
    """Makes sessions of recorded connections: a ``SessionOf``.

    ``authenticated`` counts connections whose shoe had to prove itself.

    With ``keys`` every proof and MAC is checked again; ``missing`` are the keys that were not among
    them, by device and key id. Without keys the recorded verdicts are used as they are.
    """

    def __init__(self, keys: Mapping[str, Mapping[int, bytes]] | None = None) -> None:
        self.authenticated = 0
        self.missing: set[tuple[str, int]] = set()
        self._keys = keys

    @property
    def checks(self) -> bool:
        """Return whether keys were given."""
        return self._keys is not None

    def forget(self) -> None:
        """Start counting anew."""
        self.authenticated = 0
        self.missing.clear()

    def __call__(self, opened: Connection, verdict_of: VerdictOf) -> HostSession:
        """Make the session of this connection. See ``SessionOf``."""
        chosen = profile(opened.profile)
        if opened.authenticated:
            self.authenticated += 1
            chosen = with_recorded_verdicts(chosen, verdict_of, self._keys, self._miss)
        resume = next((Resume(known.device_id, known.seq) for known in opened.resume), None)
        return chosen.host_session(resume=resume, settings=opened.settings)

    def _miss(self, device_id: str, key_id: int) -> None:
        self.missing.add((device_id, key_id))


class WireReplay:
    """Replays one table's connections. ``connections`` and ``octets`` count what was decoded.

    In a journal that is not ``whole``, records before the first connection belong to one whose
    beginning was taken out: see ``PartialConnection``; ``overheard`` counts its bytes. With
    ``resynchronise`` a connection goes on like that behind a difference: what its session makes of
    the rest would only follow from that difference.
    """

    def __init__(
        self, table: str, session_of: SessionOf, *, whole: bool = True, resynchronise: bool = False
    ) -> None:
        self._resynchronise = resynchronise
        self._profile: str | None = None
        self._rest: PartialConnection | None = None  # of a connection that was out of step
        self.connections = 0
        self.octets = 0
        self._table = table
        self._session_of = session_of
        self._number: int | None = None
        self._passes_over = False
        self._beginning = None if whole else PartialConnection(table)
        self._session: HostSession | None = None  # None: what comes now cannot be decoded
        self._has_failed = False  # decoding failed: what was read along with it was only stored
        self._position = 0
        self._read: RecordedRead | None = None
        self._verdicts: dict[int, ShoeEvent] | None = None
        self._runs: list[tuple[int, int, ShoeEvent]] = []

    @property
    def overheard(self) -> int:
        """Return the number of bytes of a connection whose beginning is missing."""
        return 0 if self._beginning is None else self._beginning.octets

    def add(self, record: Record, round_id: str | None) -> Iterator[Difference]:
        """Take the table's next record; ``round_id`` is the round that is open at it, if any."""
        before = self._beginning if self._number is None else None
        overheard = before or self._rest
        if overheard is not None and record.kind != _CONNECTION:
            yield from overheard.add(record, round_id)
            return
        if record.kind == _INPUT:
            if record.body.startswith((SHOE_INPUT, FAULT)):
                yield from self._input(record, round_id)
            return
        try:
            if record.kind == _WIRE:
                wire = Wire.from_bytes(record.body)
                if wire.direction is Direction.FROM_SHOE:
                    yield from self._bytes(record, wire, round_id)
            elif record.kind == _CALLS:
                calls = Calls.from_bytes(record.body)
                yield from self.settle(round_id)
                if self._rest is None:
                    self._read = RecordedRead(record.n, calls.t_us, round_id)
                    self._read.calls = calls.calls
            elif record.kind == _CONNECTION:
                yield from self.settle(round_id)
                self._rest = None
                yield from self._open(record.n, Connection.from_bytes(record.body), round_id)
        except ValueError as error:
            yield from self.settle(round_id)
            self._session, self._passes_over = None, True
            yield self._difference(record.n, round_id, f"{record.kind} cannot be read: {error}")

    def settle(self, round_id: str | None) -> Iterator[Difference]:
        """Decode the last read, of which no more was recorded, and compare its inputs."""
        if self._beginning is not None:
            yield from self._beginning.settle(round_id)
        if self._rest is not None:
            yield from self._rest.settle(round_id)
        read, session = self._read, self._session
        if read is None or session is None:
            self._read = None
            return
        self._verdicts = None
        replayed = [] if self._has_failed else self._decoded(session, read)
        self._read = None
        recorded = [record.body for record in read.inputs]
        if recorded and fault_in(recorded[-1]) == DECODING:
            self._has_failed = True
        if replayed == recorded:
            return
        for at, body in enumerate(recorded[: len(replayed)]):
            if fault_in(body) == FAULT_IN_SHOE_INPUT:
                replayed[at] = body  # whatever it was, it could not be handled
        at, left, right = first_difference(recorded, replayed)
        if at < max(len(recorded), len(replayed)):
            n = read.inputs[at].n if at < len(recorded) else read.n
            why = OTHER if left and right else UNRECORDED if right else UNSAID
            if self._resynchronise:
                self._rest = PartialConnection(self._table, self._profile)
            yield self._difference(n, read.round_of(at, round_id), why, left, right)

    def _open(self, n: int, opened: Connection, round_id: str | None) -> Iterator[Difference]:
        self._number, self._session, self._position = opened.number, None, 0
        self._passes_over = self._has_failed = False
        self._profile = opened.profile
        try:
            self._session = self._session_of(opened, self._verdict_of)
        except Exception as error:  # noqa: BLE001 - its record may hold anything
            self._passes_over = True
            yield self._difference(n, round_id, f"the connection cannot be decoded: {error}")
        else:
            self.connections += 1

    def _bytes(self, record: Record, wire: Wire, round_id: str | None) -> Iterator[Difference]:
        n, read = record.n, self._read
        if read is None or read.data or read.inputs:
            yield from self.settle(round_id)
            if self._rest is not None:
                yield from self._rest.add(record, round_id)
                return
            read = self._read = RecordedRead(n, wire.t_us, round_id)
        if (wire.connection, wire.offset) == (self._number, self._position):
            read.data = wire.data
            self._position += len(wire.data)
            self.octets += len(wire.data) if self._session is not None else 0
        elif not self._passes_over:
            self._session, self._read, self._passes_over = None, None, True
            place = f"connection {wire.connection}, byte {wire.offset:,}"
            yield self._difference(n, round_id, f"what came before {place} is missing")

    def _input(self, record: Record, round_id: str | None) -> Iterator[Difference]:
        fault = fault_in(record.body)
        if self._session is None or (
            fault is not None and fault not in (DECODING, FAULT_IN_SHOE_INPUT)
        ):
            return
        if self._read is not None:
            self._read.inputs.append(record)
            self._read.rounds.append(round_id)
        elif fault is None:
            yield self._difference(record.n, round_id, UNSAID, record.body)

    def _decoded(self, session: HostSession, read: RecordedRead) -> list[bytes]:
        """Return the inputs that a read gives, as they would be recorded."""
        heard: list[ReceivedEvent] = []
        fault: str | None = None
        try:
            for call in read.calls:
                heard += _call(session, call)
            if read.data:
                heard += session.receive(read.data, read.t_us / 1_000_000)
        except Exception as error:  # noqa: BLE001 - as the link does, whatever it is
            fault = f"{type(error).__name__}: {error}"
        number, t_us = self._number or 0, read.t_us
        heard = in_runs(heard, read.data, self._position - len(read.data))
        said = [to_bytes(shoe_input(one, number, t_us)) for one in heard]
        if fault is not None:
            said.append(to_bytes(Fault(t_us=t_us, where=DECODING, what=fault)))
        return said

    def _verdict_of(self, first: int) -> ShoeEvent | None:
        """Return what was recorded of a frame of the read that is being decoded."""
        if self._verdicts is None:
            self._verdicts, self._runs = {}, []
            for record in () if self._read is None else self._read.inputs:
                with suppress(ValueError):
                    said = from_bytes(record.body)
                    if isinstance(said, ShoeSaid):
                        alone = of_a_run(said.event)
                        self._verdicts[said.first] = alone
                        if alone is not said.event:
                            self._runs.append((said.first, said.last, alone))
        inside = (event for begin, end, event in self._runs if begin <= first < end)
        return self._verdicts.get(first) or next(inside, None)

    def _difference(
        self,
        n: int,
        round_id: str | None,
        why: str,
        recorded: bytes | None = None,
        replayed: bytes | None = None,
    ) -> Difference:
        return Difference(
            table=self._table,
            n=n,
            round_id=round_id,
            why=why,
            recorded=text(recorded),
            replayed=text(replayed),
            replay="wire",
        )


def _call(session: HostSession, call: Call) -> list[ReceivedEvent]:
    match call:
        case Ticked(t_s):
            return session.tick(t_s)
        case Desired(armed):
            session.set_desired_state(Locked() if armed is None else Armed(*armed))
        case Ended():
            return session.end()
        case Commanded("query", number, of):
            session.command(Query(number, of or ""))
        case Commanded(_, number, of):
            session.command(ClearError(number, of))
    return []
