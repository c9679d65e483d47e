"""Bytes to messages and back; every frame is reported, repeats too.

In: bytes of either direction in any pieces; messages. Out: messages with their raw bytes; frames.
Must not know: who may speak, what was acknowledged, the time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any
from zlib import crc32

from firmware_proto.events import (
    CardDrawn,
    Discarded,
    Gap,
    Hello,
    Overheard,
    Repeated,
    ShoeEvent,
)
from firmware_proto.session import Heard

from .blank import blank
from .derived import DERIVED, Derived, FrameError
from .framing import CRC_RESIDUE, DELIMITER, DecodeError, Piece, Splitter, framed, unstuff
from .layouts import FIRST_NUMBERED, FIRST_OF_HOST, SEAL_BYTES, SEALED, VERSION, Kind
from .meanings import SAID, Said, values_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One frame of either end.

    ``seq`` is a numbered event's own number; in hello, status and reply the number that the next
    event will have. ``boot_id`` and ``t_us`` (µs since that boot) are when it happened. All three
    are None in what a host says. Whether a MAC holds is for a session to say. ``raw`` is the
    frame as it came, with the delimiters it took.
    """

    said: Said
    seq: int | None = None
    boot_id: int | None = None
    t_us: int | None = None
    raw: bytes = field(default=b"", compare=False)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A message, or bytes that are none, and the range (``last`` exclusive) where they stood."""

    said: Message | Discarded
    raw: bytes
    first: int
    last: int


Checked = tuple[int, Any, int, int, int]
"""Kind, what it says, number, boot and µs since boot (0, 0, 0 in what a host says)."""

_BlankCardDrawn = blank(CardDrawn)

_CARD_DRAWN = DERIVED[Kind.CARD_DRAWN]
_CARDS = _CARD_DRAWN.table("card")
_ARMED = _CARD_DRAWN.table("armed")
_FACES = _CARD_DRAWN.table("face_up")
_PERCENT = _CARD_DRAWN.table("confidence")
_KIND_CARD_DRAWN = int(Kind.CARD_DRAWN)


Reader = Callable[[bytes], Checked]


def _card_reader(unpack: Callable[[bytes], tuple[Any, ...]], read_any: Reader) -> Reader:
    """As ``_reader`` does for every kind, in a third of the time: tests hold them equal."""

    def read_card(frame: bytes) -> Checked:
        try:
            seq, boot_id, t_us, number, card, armed, face_up, confidence = unpack(frame)
            event = _BlankCardDrawn()
            event.card = _CARDS[card]
            event.number = number or None
            event.hand = event.index = None
            event.armed = _ARMED[armed]
            event.face_up = _FACES[face_up]
            event.confidence = _PERCENT[confidence]
            event.__class__ = CardDrawn
            if seq:
                return _KIND_CARD_DRAWN, event, seq, boot_id, t_us
        except (KeyError, struct.error):
            pass
        return read_any(frame)  # says which field it is

    return read_card


def _reader(derived: Derived, *, sealed: bool) -> Reader:
    kind, means = int(derived.kind), SAID[derived.kind]
    unpack = partial(derived.unpack, sealed=sealed)
    if kind >= FIRST_OF_HOST:
        return lambda frame: (kind, means(unpack(frame)), 0, 0, 0)

    def read_frame(frame: bytes) -> Checked:
        seq, boot_id, t_us, *values = unpack(frame)
        said = means(tuple(values))
        if isinstance(said, Hello):
            said = replace(said, boot_id=boot_id)
        elif isinstance(said, Gap):
            if said.last < seq:
                raise FrameError(f"{derived.name}: last has no meaning")
            said = replace(said, first=seq)
        return kind, said, seq, boot_id, t_us

    return read_frame


def _no_such_kind(frame: bytes) -> Checked:
    raise FrameError(f"kind {frame[1]:#04x}")


def _readers(card_frame: struct.Struct, *, sealed: bool) -> list[Reader]:
    readers: list[Reader] = [_no_such_kind] * 256
    for kind, derived in DERIVED.items():
        readers[kind] = _reader(derived, sealed=sealed)
    read_any_card = readers[_KIND_CARD_DRAWN]
    readers[_KIND_CARD_DRAWN] = _card_reader(card_frame.unpack, read_any_card)
    return readers


_READERS = _readers(_CARD_DRAWN.frame, sealed=False)
SEALED_READERS = _readers(_CARD_DRAWN.sealed, sealed=True)
"""What a frame with a MAC and its CRC says, by its kind; whether the MAC holds is not looked at."""


def unwrapped(stuffed: bytes) -> bytes:
    """The frame between two delimiters, with its CRC, which holds; of whichever version.

    Raises:
        FrameError: it is none.
    """
    try:
        frame = unstuff(stuffed)
    except DecodeError:
        raise FrameError("stuffing") from None
    if crc32(frame) != CRC_RESIDUE:
        raise FrameError("CRC")
    return frame


def read_sealed(frame: bytes) -> Checked:
    """What a frame with a MAC says, whether or not the MAC holds.

    Raises:
        FrameError: it is no frame of this version.
    """
    if len(frame) < SEAL_BYTES:
        raise FrameError("too short for a MAC")
    return SEALED_READERS[frame[1]](frame)


def read(stuffed: bytes) -> Checked:
    """What stands between two delimiters.

    Raises:
        FrameError: it is no frame of this version, whole and unchanged.
    """
    try:
        frame = unstuff(stuffed)
    except DecodeError:
        raise FrameError("stuffing") from None
    if crc32(frame) != CRC_RESIDUE:
        raise FrameError("CRC")
    if frame[0] != VERSION:
        raise FrameError(f"version {frame[0]}")
    return _READERS[frame[1]](frame)


def encode(message: Message) -> bytes:
    """The frame with both its delimiters; raises like ``body_of``."""
    return framed(body_of(message))


def body_of(message: Message) -> bytes:
    """Version, kind and payload.

    Raises:
        ValueError: this profile cannot say it, or a value does not fit its field.
    """
    kind, values = values_of(message.said)
    if kind < FIRST_OF_HOST:
        values = (message.seq, message.boot_id, message.t_us, *values)
    return DERIVED[kind].pack(values)


class Decoder:
    """One stream of bytes, of either direction, to all that is in it. Feeding never raises."""

    def __init__(self) -> None:
        self._splitter = Splitter()

    def feed(self, data: bytes) -> list[Decoded]:
        """Every frame and everything discarded that these bytes complete, in order."""
        return [_decoded(piece) for piece in self._splitter.feed(data)]

    def end(self) -> list[Decoded]:
        """The stream ended: the rest of an unfinished frame."""
        return [_decoded(piece) for piece in self._splitter.end()]


def _decoded(piece: Piece) -> Decoded:
    stuffed, lead, first, last, reason = piece
    behind = last - first - lead - len(stuffed)
    raw = DELIMITER * lead + stuffed + DELIMITER * behind
    if reason is not None:
        return Decoded(Discarded(reason=reason), raw, first, last)
    try:
        frame = unwrapped(stuffed)
        kind, said, seq, boot_id, t_us = (
            read_sealed(frame) if frame[:1] == bytes((SEALED,)) else read(stuffed)
        )
    except FrameError as error:
        return Decoded(Discarded(reason=str(error)), raw, first, last)
    if kind >= FIRST_OF_HOST:
        return Decoded(Message(said=said, raw=raw), raw, first, last)
    message = Message(said=said, seq=seq, boot_id=boot_id, t_us=t_us, raw=raw)
    return Decoded(message, raw, first, last)


class Listener:
    """Names all that a recording holds, of either direction; for people and for ``decode``."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._device_id: str | None = None
        self._heard: dict[int, ShoeEvent] = {}

    def feed(self, data: bytes) -> list[Heard]:
        """What these bytes complete, in order. Never raises."""
        return [self._heard_as(found) for found in self._decoder.feed(data)]

    def end(self) -> list[Heard]:
        """The recording ended: the rest of an unfinished frame, discarded."""
        return [self._heard_as(found) for found in self._decoder.end()]

    def _heard_as(self, found: Decoded) -> Heard:
        message = found.said
        if isinstance(message, Discarded):
            return Heard(message, None, found.first, found.last)
        said, seq = message.said, None
        if not isinstance(said, ShoeEvent):
            return Heard(_overheard(said), None, found.first, found.last)
        if isinstance(said, Hello):
            self._met(said.device_id)
        elif message.seq is not None and values_of(said)[0] >= FIRST_NUMBERED:
            seq = message.seq
            if self._heard.setdefault(seq, said) is not said and self._heard[seq] == said:
                said = Repeated(of=said.type)
        return Heard(said, seq, found.first, found.last)

    def _met(self, device_id: str) -> None:
        if self._device_id not in (None, device_id):
            self._heard.clear()  # another shoe counts for itself
        self._device_id = device_id


_OVERHEARD = tuple(f.name for f in fields(Overheard) if f.name != "command")


def _overheard(said: Said) -> ShoeEvent:
    command = values_of(said)[0].name.lower()
    carried = {name: getattr(said, name) for name in _OVERHEARD if hasattr(said, name)}
    return Overheard(command=command, **carried)
