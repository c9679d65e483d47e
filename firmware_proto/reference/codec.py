"""Bytes to messages and back; every frame is reported, repeats too.

In: bytes of either direction in any pieces; messages. Out: messages with their raw bytes; frames.
Must not know: who may speak, what was acknowledged, the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from firmware_proto.events import (
    Acknowledged,
    Armed,
    CardDrawn,
    Discarded,
    Hello,
    Overheard,
    Repeated,
    ShoeEvent,
)
from firmware_proto.session import Heard

from .derived import DERIVED, Derived, FrameError
from .framing import DELIMITER, Piece, Splitter, framed, unframed
from .layouts import FIRST_NUMBERED, FIRST_OF_HOST, VERSION, Kind
from .meanings import SAID, Said, values_of

HEADER_FIELDS = 3
"""Number, boot and time, with which every frame of a shoe begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One frame of either end.

    ``seq`` is a numbered event's own number; in hello, status and reply the number that the next
    event will have. ``boot_id`` and ``t_us`` (µs since that boot) are when it happened. All three
    are None in what a host says. ``raw`` is the frame as it came, with the delimiters it took.
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

# A frozen dataclass sets each field by name through object.__setattr__, which costs more than all
# the rest of decoding a card. These fill the same slots directly.
_new = object.__new__
_set_card = CardDrawn.__dict__["card"].__set__
_set_number = CardDrawn.__dict__["number"].__set__
_set_hand = CardDrawn.__dict__["hand"].__set__
_set_index = CardDrawn.__dict__["index"].__set__
_set_armed = CardDrawn.__dict__["armed"].__set__
_set_face_up = CardDrawn.__dict__["face_up"].__set__
_set_confidence = CardDrawn.__dict__["confidence"].__set__

_CARD_DRAWN = DERIVED[Kind.CARD_DRAWN]
_CARD_DRAWN_BYTES = _CARD_DRAWN.frame.size
_unpack_card_drawn = _CARD_DRAWN.frame.unpack
_CARDS = _CARD_DRAWN.table("card")
_ARMED = _CARD_DRAWN.table("armed")
_FACES = _CARD_DRAWN.table("face_up")
_PERCENT = _CARD_DRAWN.table("confidence")
_KIND_CARD_DRAWN = int(Kind.CARD_DRAWN)


def _read_card_drawn(frame: bytes) -> Checked:
    """As ``_reader`` does for every kind, in a third of the time: tests hold them equal."""
    if len(frame) == _CARD_DRAWN_BYTES:
        seq, boot_id, t_us, number, card, armed, face_up, confidence = _unpack_card_drawn(frame)
        event = _new(CardDrawn)
        try:
            _set_card(event, _CARDS[card])
            _set_number(event, number or None)
            _set_hand(event, None)
            _set_index(event, None)
            _set_armed(event, _ARMED[armed])
            _set_face_up(event, _FACES[face_up])
            _set_confidence(event, _PERCENT[confidence])
        except KeyError:
            pass
        else:
            if seq:
                return _KIND_CARD_DRAWN, event, seq, boot_id, t_us
    _CARD_DRAWN.unpack(frame)  # raises, and says which field
    raise FrameError("card_drawn: cannot be taken")


def _reader(derived: Derived) -> Callable[[bytes], Checked]:
    kind, means, unpack = int(derived.kind), SAID[derived.kind], derived.unpack
    if kind >= FIRST_OF_HOST:
        return lambda frame: (kind, means(unpack(frame)), 0, 0, 0)

    def read_frame(frame: bytes) -> Checked:
        seq, boot_id, t_us, *values = unpack(frame)
        said = means(tuple(values))
        if isinstance(said, Hello):
            said = replace(said, boot_id=boot_id)
        return kind, said, seq, boot_id, t_us

    return read_frame


_READERS: dict[bytes, Callable[[bytes], Checked]] = {
    bytes((VERSION, kind)): _reader(derived) for kind, derived in DERIVED.items()
}
_READERS[bytes((VERSION, Kind.CARD_DRAWN))] = _read_card_drawn


def read(stuffed: bytes) -> Checked:
    """What stands between two delimiters.

    Raises:
        FrameError: it is no frame of this version, whole and unchanged.
    """
    frame = unframed(stuffed)
    reader = _READERS.get(frame[:2])
    if reader is None:
        raise FrameError(_unknown(frame))
    return reader(frame)


def _unknown(frame: bytes) -> str:
    if len(frame) < 2 + 4:
        return "too short"
    return f"version {frame[0]}" if frame[0] != VERSION else f"kind {frame[1]:#04x}"


def encode(message: Message) -> bytes:
    """The frame with both its delimiters.

    Raises:
        ValueError: this profile cannot say it, or a value does not fit its field.
    """
    kind, values = values_of(message.said)
    if kind < FIRST_OF_HOST:
        values = (message.seq, message.boot_id, message.t_us, *values)
    return framed(DERIVED[kind].pack(values))


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
        kind, said, seq, boot_id, t_us = read(stuffed)
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


def _overheard(said: Said) -> ShoeEvent:
    command = values_of(said)[0].name.lower()
    match said:
        case Acknowledged(through):
            return Overheard(command=command, through=through)
        case Armed(number, hand, index):
            return Overheard(command=command, number=number, hand=hand, index=index)
        case _:
            return Overheard(command=command)
