"""Compare what is stored beside the records with them: last numbers, times, devices, rounds.

In: connections, inputs and events as they are walked, the stored values. Out: the first value that
does not follow from the records. Must not know: more of a body than such a value needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from shoe_ctl.journal.batch import Head
from shoe_ctl.journal.chain import BadRecord, Fault
from shoe_ctl.journal.group import (
    FAULT_INPUT,
    HELLO,
    LETTERS,
    Header,
    InvalidGroup,
    Letter,
    packed_parts,
    unpack_group,
)
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import InvalidRow, Kind, Row
from shoe_ctl.journal.round_index import (
    OPENED,
    TYPES,
    IndexedRound,
    RoundId,
    RoundQuery,
    round_of,
)
from shoe_ctl.records import utc

_SHOE = b'{"input":"shoe"'
_NO_NUMBER = b'"seq":null'


class _Event(msgspec.Struct):
    type: str = ""
    device_id: str = ""


class _ShoeInput(msgspec.Struct):
    event: _Event
    seq: int | str | None = None


class _Timed(msgspec.Struct):
    t_us: int


class _Numbered(msgspec.Struct):
    number: int


class _RoundEvent(msgspec.Struct):
    type: str
    time: str = ""
    subject: str | None = None


_TYPES = [b'%b"' % type_.encode() for type_ in sorted(TYPES)]
_OF_ROUNDS = re.compile(b'"type":"(%b)' % b"|".join(map(re.escape, _TYPES))).search
_RESTRICTED = LETTERS[Kind.RESTRICTED]
_NOT_LED_TO = "the file's index of rounds, that does not lead to it"
_TOO_MUCH = "the file's index of rounds, that leads to what is no event of a round"

_INPUTS = LETTERS[Kind.INPUT]
_NOTED = _INPUTS + bytes((Letter.CONNECTION,))

_shoe_input = msgspec.json.Decoder(_ShoeInput)
_timed = msgspec.json.Decoder(_Timed)
_opened = msgspec.json.Decoder(_Numbered)
_round_event = msgspec.json.Decoder(_RoundEvent)


def _is_numbered(body: bytes) -> bool:
    """Return True if an input is a shoe's event with a number."""
    return body.startswith(_SHOE) and _NO_NUMBER not in body


def _has_type(parts: bytes) -> bool:
    return any(type_ in parts for type_ in _TYPES)


class TableValues(msgspec.Struct):
    """The values that records of a table lead to: of all of them, or of a part.

    ``connection``, ``input`` and ``numbered`` are the bodies of the last connection, input and
    numbered event. ``met`` says that a connection or a hello was among them: only then it is known
    who is ``speaking``. What is ``_before`` that is of whoever spoke before.
    """

    connection: bytes | None = None
    input: bytes | None = None
    numbered: bytes | None = None
    met: bool = False
    speaking: str | None = None
    devices: dict[str, int] = {}
    unsure: set[str] = set()
    numbered_before: bytes | None = None
    unsure_before: bool = False

    def meet(self, device: str | None) -> None:
        """From here on another device is speaking; None: it is not known yet, which."""
        self.settle()
        self.met, self.speaking = True, device

    def settle(self) -> None:
        """Store the last number of the device that is speaking."""
        body, self.numbered = self.numbered, None
        if not self.met:
            self.numbered_before = body
        elif body is not None and self.speaking is not None:
            with suppress(ValueError):
                seq = _shoe_input.decode(body).seq
                if isinstance(seq, int):
                    self.devices[self.speaking] = seq

    def doubt(self) -> None:
        """Note that the last number of the device that is speaking may not be among the inputs."""
        if self.speaking is not None:
            self.unsure.add(self.speaking)
        elif not self.met:
            self.unsure_before = True

    def extend(self, later: TableValues) -> None:
        """Add the values of the records that follow."""
        if later.unsure_before:
            self.doubt()
        numbered = later.numbered_before if later.met else later.numbered
        if numbered is not None:
            self.numbered = numbered
        if later.met:
            self.meet(later.speaking)
            self.numbered = later.numbered
        if later.connection is not None:
            self.connection = later.connection
        if later.input is not None:
            self.input = later.input
        self.devices |= later.devices
        self.unsure |= later.unsure


class DerivedValues:
    """The values that one table's records lead to.

    ``whole``: its first record is among those walked.
    """

    def __init__(self, table: str, *, whole: bool) -> None:
        self._table = table
        self._whole = whole
        self.values = TableValues()
        self._waiting: list[bytes] = []
        self.see_inputs: Callable[[bytes], None] = self._waiting.append
        """The table's next group, as the file holds it: its inputs are of the common form. There
        are millions: they are looked at together, with ``take``, now and then."""

    def see_group(self, body: bytes) -> None:
        """Take the table's next group, which has other inputs or a connection.

        Raises:
            InvalidGroup: it cannot be unpacked.
        """
        self.take()
        for _, kind, record in unpack_group(self._table, body, _NOTED):
            if kind == Kind.CONNECTION.value:
                self.values.connection = record
                self.values.meet(None)
            else:
                self.values.input = record
                self._look_at(record)

    def take(self) -> None:
        """Process the groups since the last call.

        Raises:
            InvalidGroup: one cannot be unpacked.
        """
        is_last = True
        for group in reversed(self._waiting):
            inputs = [body for _, _, body in unpack_group(self._table, group, _INPUTS)]
            if is_last:
                self.values.input, is_last = inputs[-1], False
            last = next((body for body in reversed(inputs) if _is_numbered(body)), None)
            if last is not None:
                self.values.numbered = last
                break
        self._waiting.clear()

    def _look_at(self, body: bytes) -> None:
        if body.startswith(_SHOE):
            if _is_numbered(body):
                if HELLO in body:
                    self._meet(body)
                self.values.numbered = body
        elif body.startswith(FAULT_INPUT):
            # What was to be an event of the shoe could not be handled; its number was stored.
            self.values.doubt()

    def _meet(self, body: bytes) -> None:
        with suppress(ValueError):
            event = _shoe_input.decode(body).event
            if event.type == "hello":
                self.values.meet(event.device_id)

    def wrong(self, head: Head, devices: Mapping[str, int]) -> str | None:
        """Return how the table's notes differ from its records, once all records were walked."""
        self.take()
        self.values.settle()
        return self._wrong_head(head) or self._wrong_devices(devices)

    def _wrong_head(self, head: Head) -> str | None:
        with suppress(ValueError):  # of a body of another form nothing follows
            if self.values.connection is not None or self._whole:
                last = (
                    0
                    if self.values.connection is None
                    else _opened.decode(self.values.connection).number
                )
                if head.connection != last:
                    return f"the head counts {head.connection} connections, there were {last}"
        with suppress(ValueError):
            if self.values.input is not None or self._whole:
                at = 0 if self.values.input is None else _timed.decode(self.values.input).t_us
                if head.t_us != at:
                    return "the head has another time than the last input"
        return None

    def _wrong_devices(self, devices: Mapping[str, int]) -> str | None:
        for device in sorted(self.values.devices.keys() - devices.keys()):
            return f"the note of shoe {device} is missing"
        for device, seq in sorted(devices.items()):
            stored = self.values.devices.get(device)
            if stored is None:
                if self._whole:
                    return f"the note of shoe {device} is added: it was never heard"
                continue  # of long ago: what it said was taken out
            if seq != stored and not (seq > stored and device in self.values.unsure):
                return f"the note of shoe {device} is altered: it says {seq}, {stored} is its last"
        return None


class RoundCounts(msgspec.Struct):
    """The numbers of rounds and of their events: among the records, and in the index."""

    rounds: int = 0
    events: int = 0
    indexed_rounds: int = 0
    indexed_events: int = 0

    def extend(self, later: RoundCounts) -> None:
        """Add the counts of the records that follow."""
        self.rounds += later.rounds
        self.events += later.events
        self.indexed_rounds += later.indexed_rounds
        self.indexed_events += later.indexed_events


class IndexedRounds:
    """The journal's index of rounds, beside the events of its rounds as they are walked.

    Each event is looked up, and so many are counted: an index that leads to all of them, and to no
    more, is right. ``after``: only rounds opened by later records are counted in the index.
    """

    def __init__(self, reader: Reader, after: int | None) -> None:
        self._reader = reader
        self._counted_upto = after
        self._waiting: list[tuple[Row, Header]] = []
        self.see_group: Callable[[tuple[Row, Header]], None] = self._waiting.append
        """The journal's next group that has events, and its header. They are looked at together,
        with ``take``, now and then."""
        self.counts = RoundCounts()
        self._wrong: BadRecord | None = None

    def take(self) -> None:
        """Process the groups since the last call.

        Raises:
            InvalidRow: one cannot be unpacked.
        """
        known: dict[RoundId, IndexedRound | None] = {}
        for (n, table, body, _), header in self._waiting:
            try:
                if not _has_type(packed_parts(body, header)):  # most need no more unpacking
                    continue
                first = n - header.records + 1
                for place, _, event in unpack_group(table, body, _RESTRICTED, header=header):
                    if _OF_ROUNDS(event) is not None:
                        self._look_up(first + place, table, event, known)
            except InvalidGroup as error:
                raise InvalidRow(self._reader.path, n, table, str(error)) from None
        self._waiting.clear()

    def _look_up(
        self, n: int, table: str, body: bytes, known: dict[RoundId, IndexedRound | None]
    ) -> None:
        try:
            event = _round_event.decode(body)
        except ValueError:  # it is none of ours
            return
        of = round_of(table, event.type, event.subject)
        if of is None or self._wrong is not None:
            return
        if of not in known:
            known[of] = self._reader.round(of)
        found = known[of]
        opens = event.type == OPENED
        if found is None and not opens:
            return  # the round was opened in records that were taken out
        if found is None or n not in found.records:
            self._wrong = BadRecord(table, n, Fault.ALTERED, _NOT_LED_TO)
        elif n == found.records[0] and not (opens and event.time == utc(found.t_us)):
            self._wrong = BadRecord(table, n, Fault.ALTERED, _TOO_MUCH)
        else:
            self.counts.events += 1
            self.counts.rounds += n == found.records[0]

    def count_index(self, upto: int, last_n: int) -> bool:
        """Count what the index has of further rounds, opened up to a record; False if it is wrong.

        Of their events those up to ``last_n`` are counted, the journal's last record.
        """
        self.take()
        if self._wrong is not None:
            return False
        for found in self._reader.rounds(RoundQuery(after=self._counted_upto)):
            if found.records[0] > upto:
                break
            events = found.records
            self.counts.indexed_rounds += 1
            self.counts.indexed_events += (
                len(events) if events[-1] <= last_n else sum(n <= last_n for n in events)
            )
        self._counted_upto = upto
        return True

    def extend(self, later: RoundCounts, upto: int) -> None:
        """Add the counts of the records that follow, up to this one."""
        self.counts.extend(later)
        self._counted_upto = upto

    def wrong(self, upto: int) -> BadRecord | None:
        """Return how the index differs from the records up to one, once all were walked."""
        if not self.count_index(upto, upto):
            return self._wrong
        counts = self.counts
        if (counts.rounds, counts.events) != (counts.indexed_rounds, counts.indexed_events):
            return BadRecord(None, upto, Fault.ALTERED, _TOO_MUCH)
        return None
