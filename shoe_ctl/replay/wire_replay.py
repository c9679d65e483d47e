"""Wire replay: decodes every connection again from its first byte and compares the inputs.

In: a table's records in order; what makes a connection's session again. Out: differences.
Must not know: profiles, keys, what an input brings about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol

from firmware_proto.events import Armed, ClearError, Locked, Query, ShoeEvent
from firmware_proto.session import Heard, HostSession
from shoe_ctl.history.recorder import DECODING, in_runs, of_a_run, shoe_said
from shoe_ctl.journal.bodies import (
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
from shoe_ctl.replay.portions import OTHER, SAID, UNRECORDED, UNSAID, Portion
from shoe_ctl.replay.wire_resync import LateLine
from shoe_ctl.table.inputs import Fault, ShoeSaid, from_bytes, to_bytes

VerdictOf = Callable[[int], ShoeEvent | None]
"""What was recorded of the frame whose first byte stands here; None where nothing was."""

_INPUT, _WIRE = Kind.INPUT.value, Kind.WIRE.value
_CALLS, _CONNECTION = Kind.CALLS.value, Kind.CONNECTION.value

_FAULT = b'{"input":"fault"'
"""How the bytes of such an input begin."""

_HANDLING = ShoeSaid.__name__
"""Where a fault was that stands in the place of what the shoe said."""


class SessionOf(Protocol):
    """Makes the session of a connection again, as it was when that was opened.

    Raises:
        ValueError: this software knows no such profile, or not with these settings.
    """

    def __call__(self, opened: Connection, verdict_of: VerdictOf) -> HostSession: ...


class Redecoding:
    """One table's connections. ``connections`` and ``octets`` count what was decoded.

    Of a journal that is not ``whole``, what stands before the first connection is of one whose
    beginning is not there any more: see ``LateLine``; ``overheard`` counts its bytes. With
    ``resynchronise`` a connection is gone on with like that where its bytes said something else:
    what its session makes of all that comes behind would only follow from that.
    """

    def __init__(
        self,
        table: str,
        session_of: SessionOf,
        *,
        whole: bool = True,
        resynchronise: bool = False,
    ) -> None:
        self._resynchronise = resynchronise
        self._profile: str | None = None
        self._rest: LateLine | None = None  # of a connection that was out of step
        self.connections = 0
        self.octets = 0
        self._table = table
        self._session_of = session_of
        self._number: int | None = None
        self._passes_over = False
        self._late = None if whole else LateLine(table)
        self._session: HostSession | None = None  # None: what comes now cannot be decoded
        self._position = 0
        self._portion: Portion | None = None
        self._verdicts: dict[int, ShoeEvent] | None = None
        self._runs: list[tuple[int, int, ShoeEvent]] = []

    @property
    def overheard(self) -> int:
        """Bytes of a connection whose beginning is not there."""
        return 0 if self._late is None else self._late.octets

    def see(self, record: Record, round_id: str | None) -> Iterator[Difference]:
        """The table's next record; ``round_id`` is the round that is open at it, if any."""
        before = self._late if self._number is None else None
        overheard = before or self._rest
        if overheard is not None and record.kind != _CONNECTION:
            yield from overheard.see(record, round_id)
            return
        if record.kind == _INPUT:
            if record.body.startswith((SAID, _FAULT)):
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
                    self._portion = Portion(record.n, calls.t_us, round_id)
                    self._portion.calls = calls.calls
            elif record.kind == _CONNECTION:
                yield from self.settle(round_id)
                self._rest = None
                yield from self._open(record.n, Connection.from_bytes(record.body), round_id)
        except ValueError as error:
            yield from self.settle(round_id)
            self._session, self._passes_over = None, True
            yield self._differs(record.n, round_id, f"{record.kind} cannot be read: {error}")

    def settle(self, round_id: str | None) -> Iterator[Difference]:
        """No more was recorded of the last portion: decodes it and compares."""
        if self._late is not None:
            yield from self._late.settle(round_id)
        if self._rest is not None:
            yield from self._rest.settle(round_id)
        portion, session = self._portion, self._session
        if portion is None or session is None:
            self._portion = None
            return
        self._verdicts = None
        replayed = self._decoded(session, portion)
        self._portion = None
        recorded = [record.body for record in portion.inputs]
        if replayed == recorded:
            return
        for at, body in enumerate(recorded[: len(replayed)]):
            if _fault_in(body) == _HANDLING:
                replayed[at] = body  # whatever it was, it could not be handled
        at, left, right = first_difference(recorded, replayed)
        if at < max(len(recorded), len(replayed)):
            n = portion.inputs[at].n if at < len(recorded) else portion.n
            why = OTHER if left and right else UNRECORDED if right else UNSAID
            if self._resynchronise:
                self._rest = LateLine(self._table, self._profile)
            yield self._differs(n, portion.round_of(at, round_id), why, left, right)

    def _open(self, n: int, opened: Connection, round_id: str | None) -> Iterator[Difference]:
        self._number, self._session, self._position = opened.number, None, 0
        self._passes_over = False
        self._profile = opened.profile
        try:
            self._session = self._session_of(opened, self._verdict_of)
        except Exception as error:  # noqa: BLE001 - its record may hold anything
            self._passes_over = True
            yield self._differs(n, round_id, f"the connection cannot be decoded: {error}")
        else:
            self.connections += 1

    def _bytes(self, record: Record, wire: Wire, round_id: str | None) -> Iterator[Difference]:
        n, portion = record.n, self._portion
        if portion is None or portion.data or portion.inputs:
            yield from self.settle(round_id)
            if self._rest is not None:
                yield from self._rest.see(record, round_id)
                return
            portion = self._portion = Portion(n, wire.t_us, round_id)
        if (wire.connection, wire.offset) == (self._number, self._position):
            portion.data = wire.data
            self._position += len(wire.data)
            self.octets += len(wire.data) if self._session is not None else 0
        elif not self._passes_over:
            self._session, self._portion, self._passes_over = None, None, True
            place = f"connection {wire.connection}, byte {wire.offset:,}"
            yield self._differs(n, round_id, f"what came before {place} is missing")

    def _input(self, record: Record, round_id: str | None) -> Iterator[Difference]:
        fault = _fault_in(record.body)
        if self._session is None or (fault is not None and fault not in (DECODING, _HANDLING)):
            return
        if self._portion is not None:
            self._portion.inputs.append(record)
            self._portion.rounds.append(round_id)
        elif fault is None:
            yield self._differs(record.n, round_id, UNSAID, record.body)

    def _decoded(self, session: HostSession, portion: Portion) -> list[bytes]:
        """The inputs that a portion gives, as they would be recorded."""
        heard: list[Heard] = []
        fault: str | None = None
        try:
            for call in portion.calls:
                heard += _tell(session, call)
            if portion.data:
                heard += session.receive(portion.data, portion.t_us / 1_000_000)
        except Exception as error:  # noqa: BLE001 - as the link does, whatever it is
            fault = f"{type(error).__name__}: {error}"
        number, t_us = self._number or 0, portion.t_us
        heard = in_runs(heard, portion.data, self._position - len(portion.data))
        said = [to_bytes(shoe_said(one, number, t_us)) for one in heard]
        if fault is not None:
            said.append(to_bytes(Fault(t_us=t_us, where=DECODING, what=fault)))
        return said

    def _verdict_of(self, first: int) -> ShoeEvent | None:
        """Of the portion that is being decoded."""
        if self._verdicts is None:
            self._verdicts, self._runs = {}, []
            for record in () if self._portion is None else self._portion.inputs:
                with suppress(ValueError):
                    said = from_bytes(record.body)
                    if isinstance(said, ShoeSaid):
                        alone = of_a_run(said.event)
                        self._verdicts[said.first] = alone
                        if alone is not said.event:
                            self._runs.append((said.first, said.last, alone))
        inside = (event for begin, end, event in self._runs if begin <= first < end)
        return self._verdicts.get(first) or next(inside, None)

    def _differs(
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


def _fault_in(body: bytes) -> str | None:
    """Where a fault was; None where the input is none, or cannot be read."""
    if body.startswith(_FAULT):
        with suppress(ValueError):
            fault = from_bytes(body)
            return fault.where if isinstance(fault, Fault) else None
    return None


def _tell(session: HostSession, call: Call) -> list[Heard]:
    match call:
        case Ticked(t_s):
            return session.tick(t_s)
        case Desired(armed):
            session.desire(Locked() if armed is None else Armed(*armed))
        case Ended():
            return session.end()
        case Commanded("query", number, of):
            session.command(Query(number, of or ""))
        case Commanded(_, number, of):
            session.command(ClearError(number, of))
    return []
