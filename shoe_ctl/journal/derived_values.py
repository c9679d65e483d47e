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


class DerivedValues:
    """The values that one table's records lead to.

    ``whole``: its first record is among those walked.
    """

    def __init__(self, table: str, *, whole: bool) -> None:
        self._table = table
        self._whole = whole
        self._connection: bytes | None = None
        self._input: bytes | None = None
        self._numbered: bytes | None = None
        self._speaking: str | None = None
        self._devices: dict[str, int] = {}
        self._unsure: set[str] = set()
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
                self._connection = record
                self._settle()  # its device is not known yet
                self._speaking = None
            else:
                self._input = record
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
                self._input, is_last = inputs[-1], False
            last = next((body for body in reversed(inputs) if _is_numbered(body)), None)
            if last is not None:
                self._numbered = last
                break
        self._waiting.clear()

    def _look_at(self, body: bytes) -> None:
        if body.startswith(_SHOE):
            if _is_numbered(body):
                if HELLO in body:
                    self._meet(body)
                self._numbered = body
        elif body.startswith(FAULT_INPUT) and self._speaking is not None:
            # What was to be an event of the shoe could not be handled; its number was stored.
            self._unsure.add(self._speaking)

    def _meet(self, body: bytes) -> None:
        with suppress(ValueError):
            event = _shoe_input.decode(body).event
            if event.type == "hello":
                self._settle()
                self._speaking = event.device_id

    def _settle(self) -> None:
        """Store the last number of the device that is connected."""
        body, self._numbered = self._numbered, None
        if body is None or self._speaking is None:
            return
        with suppress(ValueError):
            seq = _shoe_input.decode(body).seq
            if isinstance(seq, int):
                self._devices[self._speaking] = seq

    def wrong(self, head: Head, devices: Mapping[str, int]) -> str | None:
        """Return how the table's notes differ from its records, once all records were walked."""
        self.take()
        self._settle()
        return self._wrong_head(head) or self._wrong_devices(devices)

    def _wrong_head(self, head: Head) -> str | None:
        with suppress(ValueError):  # of a body of another form nothing follows
            if self._connection is not None or self._whole:
                last = 0 if self._connection is None else _opened.decode(self._connection).number
                if head.connection != last:
                    return f"the head counts {head.connection} connections, there were {last}"
        with suppress(ValueError):
            if self._input is not None or self._whole:
                at = 0 if self._input is None else _timed.decode(self._input).t_us
                if head.t_us != at:
                    return "the head has another time than the last input"
        return None

    def _wrong_devices(self, devices: Mapping[str, int]) -> str | None:
        for device in sorted(self._devices.keys() - devices.keys()):
            return f"the note of shoe {device} is missing"
        for device, seq in sorted(devices.items()):
            stored = self._devices.get(device)
            if stored is None:
                if self._whole:
                    return f"the note of shoe {device} is added: it was never heard"
                continue  # of long ago: what it said was taken out
            if seq != stored and not (seq > stored and device in self._unsure):
                return f"the note of shoe {device} is altered: it says {seq}, {stored} is its last"
        return None


class IndexedRounds:
    """The journal's index of rounds, beside the events of its rounds as they are walked.

    Each event is looked up, and so many are counted: an index that leads to all of them, and to no
    more, is right.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._waiting: list[tuple[Row, Header]] = []
        self.see_group: Callable[[tuple[Row, Header]], None] = self._waiting.append
        """The journal's next group that has events, and its header. They are looked at together,
        with ``take``, now and then."""
        self._rounds = self._events = 0
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
            self._events += 1
            self._rounds += n == found.records[0]

    def wrong(self, upto: int) -> BadRecord | None:
        """Return how the index differs from the records up to one, once all were walked."""
        self.take()
        if self._wrong is not None:
            return self._wrong
        rounds = events = 0
        for found in self._reader.rounds(RoundQuery()):
            if found.records[0] > upto:
                break
            rounds += 1
            events += sum(n <= upto for n in found.records)
        if (rounds, events) != (self._rounds, self._events):
            return BadRecord(None, upto, Fault.ALTERED, _TOO_MUCH)
        return None
