"""Compare what is stored beside a table's records with the records: last numbers, times, devices.

In: a table's connections and inputs as they are walked, the stored values. Out: the first value
that does not follow from the records. Must not know: more of a body than such a value needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from shoe_ctl.journal.packing import FAULT_INPUT, HELLO, unpack
from shoe_ctl.journal.reader import Head
from shoe_ctl.journal.record_format import Kind

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


_shoe_input = msgspec.json.Decoder(_ShoeInput)
_timed = msgspec.json.Decoder(_Timed)
_opened = msgspec.json.Decoder(_Numbered)


def _is_numbered(body: bytes) -> bool:
    """Return True if an input is a shoe's event with a number."""
    return body.startswith(_SHOE) and _NO_NUMBER not in body


class DerivedValues:
    """The values that one table's records lead to.

    ``whole``: its first record is among those walked. Bodies are given as the file holds them.
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
        self.see_input: Callable[[bytes], None] = self._waiting.append
        """The table's next record is this input. There are millions: they are looked at together,
        with ``take``, now and then."""

    def see_connection(self, body: bytes) -> None:
        """Take the table's next record, a connection: its device is not known yet."""
        self.take()
        self._connection = unpack(self._table, Kind.CONNECTION.value, body)
        self._settle()
        self._speaking = None

    def take(self) -> None:
        """Process the inputs since the last call."""
        if not self._waiting:
            return
        self._input = self._unpacked(self._waiting[-1])
        together = b"\n".join(self._waiting)
        if HELLO in together or FAULT_INPUT in together:  # these are not packed
            for body in self._waiting:
                self._look_at(self._unpacked(body))
        else:
            bodies = map(self._unpacked, reversed(self._waiting))
            last = next((body for body in bodies if _is_numbered(body)), None)
            self._numbered = self._numbered if last is None else last
        self._waiting.clear()

    def _unpacked(self, body: bytes) -> bytes:
        return unpack(self._table, Kind.INPUT.value, body)

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
