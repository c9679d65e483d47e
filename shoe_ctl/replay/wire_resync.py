"""Bytes of a connection whose beginning is not there any more, held frame by frame to the inputs.

In: a table's records before its first connection here. Out: differences.
Must not know: the conversation: what it adds to an event, or makes of it, is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, Protocol, cast

import msgspec

from firmware_proto.events import Hello, QueryAnswered, Redesignated, Reply, ShoeEvent, to_plain
from firmware_proto.link_events import (
    Authenticated,
    AuthenticationFailed,
    Challenged,
    CommandUnanswered,
    Discarded,
    Gap,
    Overheard,
    Repeated,
    UnknownFirmware,
)
from firmware_proto.profiles import PROFILES
from firmware_proto.session import Heard
from shoe_ctl.history.recorder import shoe_said
from shoe_ctl.journal.bodies import Direction, Kind, Snapshot, Wire
from shoe_ctl.records import Record
from shoe_ctl.replay.difference import Difference, text
from shoe_ctl.replay.portions import OTHER, SAID, UNRECORDED, UNSAID, Portion
from shoe_ctl.table.inputs import ShoeSaid, from_bytes, to_bytes

OF_THE_CONVERSATION = (
    *(Hello, Reply, QueryAnswered, Gap, Repeated, Discarded, Overheard, CommandUnanswered),
    *(Challenged, Authenticated, AuthenticationFailed, UnknownFirmware),
)
"""What no frame says by itself, or not alike to everyone who hears it."""

Differing = tuple[int | None, ShoeSaid | None, Heard | None]
"""Which input, what it says and what the bytes say; None where there is no such input or bytes."""


class _Listener(Protocol):
    def feed(self, data: bytes) -> list[Heard]: ...


class Overhearing:
    """One connection, from the byte at ``position`` on, which may stand within a frame.

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
        """What these bytes complete, beside what was recorded of them."""
        heard: dict[tuple[int, int], list[Heard]] = {}
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
    """A frame sent again is as it was."""
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


class _Stood(msgspec.Struct):
    link: _Link


class LateLine:
    """One table's line, from where a journal begins; ``octets`` counts the bytes held to inputs.

    Without a ``profile`` it is the one that the first snapshot names: every stretch of a journal
    begins with it.
    """

    def __init__(self, table: str, profile: str | None = None) -> None:
        self.octets = 0
        self._table = table
        self._profile = profile
        self._overhearing: Overhearing | None = None
        self._connection = 0
        self._position = 0
        self._portion: Portion | None = None

    def see(self, record: Record, round_id: str | None) -> Iterator[Difference]:
        """The table's next record; one that cannot be read is passed over: others find it."""
        with suppress(ValueError):
            if record.kind == Kind.WIRE.value:
                wire = Wire.from_bytes(record.body)
                if wire.direction is Direction.FROM_SHOE:
                    yield from self.settle(round_id)
                    self._bytes(record.n, wire, round_id)
            elif record.kind == Kind.SNAPSHOT.value and self._profile is None:
                state = Snapshot.from_bytes(record.body).state
                self._profile = msgspec.json.decode(state, type=_Stood).link.profile
            elif record.body.startswith(SAID) and self._portion is not None:
                self._portion.inputs.append(record)
                self._portion.rounds.append(round_id)

    def settle(self, round_id: str | None) -> Iterator[Difference]:
        """No more was recorded of the last portion."""
        portion, self._portion = self._portion, None
        if portion is None or self._overhearing is None:
            return
        recorded: dict[int, ShoeSaid] = {}
        for place, record in enumerate(portion.inputs):
            with suppress(ValueError):
                said = from_bytes(record.body)
                if isinstance(said, ShoeSaid):
                    recorded[place] = said
        for at, left, right in self._overhearing.differing(portion.data, recorded):
            shown = None if right is None else shoe_said(right, self._connection, portion.t_us)
            yield Difference(
                table=self._table,
                n=portion.n if at is None else portion.inputs[at].n,
                round_id=portion.round_of(len(portion.inputs) if at is None else at, round_id),
                why=UNSAID if right is None else UNRECORDED if left is None else OTHER,
                recorded=None if left is None else text(to_bytes(left)),
                replayed=None if shown is None else text(to_bytes(shown)),
                replay="wire",
            )

    def _bytes(self, n: int, wire: Wire, round_id: str | None) -> None:
        if (wire.connection, wire.offset) != (self._connection, self._position):
            self._connection, self._position = wire.connection, wire.offset
            self._overhearing = None
        if self._overhearing is None and self._profile is not None:
            self._overhearing = Overhearing(self._profile, wire.offset)
        self._position += len(wire.data)
        self._portion = Portion(n, wire.t_us, round_id)
        self._portion.data = wire.data
        self.octets += len(wire.data) if self._overhearing is not None else 0
