"""Bytes to messages and back. Every frame is reported, repeats too.

In: bytes of either direction in any pieces; messages. Out: messages with their raw bytes; frames.
Must not know: who may speak, what was acknowledged, the time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from hmac import compare_digest
from typing import Any
from zlib import crc32

from firmware_proto.commands import Acknowledge, Armed, HostMessage
from firmware_proto.events import (
    CardDrawn,
    Discarded,
    Gap,
    Hello,
    HostTraffic,
    Repeated,
    ShoeEvent,
    Status,
)
from firmware_proto.frozen_values import slot_filled
from firmware_proto.reference.compiled_layouts import COMPILED
from firmware_proto.reference.framing import (
    CRC_RESIDUE,
    DELIMITER,
    DecodeError,
    FrameError,
    Piece,
    Splitter,
    frame_body,
    unstuff,
)
from firmware_proto.reference.mac import MacVerifier
from firmware_proto.reference.messages import CONTENT_OF, Content, values_of
from firmware_proto.reference.packing import (
    COUNTER_AND_MAC_BYTES,
    FIRST_NUMBERED,
    FIRST_OF_HOST,
    VERSION,
    VERSION_WITH_MAC,
    CompiledLayout,
    Kind,
)
from firmware_proto.session import ReceivedEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One frame of either end.

    ``seq`` is a numbered event's own number; in hello, status and reply the number that the next
    event will have. ``boot_id`` and ``t_us`` (µs since that boot) are when it happened. All three
    are None in host messages. Whether a MAC is right is checked by a session. ``raw`` is the
    frame as received, with its delimiters.
    """

    content: Content
    seq: int | None = None
    boot_id: int | None = None
    t_us: int | None = None
    raw: bytes = field(default=b"", compare=False)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A message, or bytes that are none, and the range (``last`` exclusive) where they stood."""

    content: Message | Discarded
    raw: bytes
    first: int
    last: int


DecodedFrame = tuple[int, Any, int, int, int]
"""Kind, content, number, boot and µs since boot (0, 0, 0 in host messages)."""

# --- the fast path of a card, of a status and of what answers them -------------------------------
# Nearly all that a shoe sends are cards and statuses, and a frozen dataclass costs more to make
# than a frame to decode. So they are filled slot by slot, here and in ``next_card``, and packed
# from their fields, as is what a host answers; tests compare the results with the path of every
# other frame.


_SlotFilledCard = slot_filled(CardDrawn)

_CARD_DRAWN = COMPILED[Kind.CARD_DRAWN]
# The fast path takes these fields by position: a changed layout stops here, at import.
_CARD_DRAWN.require("seq", "boot_id", "t_us", "number", "card", "armed", "face_up", "confidence")
_CARDS = _CARD_DRAWN.table("card")
_ARMED = _CARD_DRAWN.table("armed")
_FACES = _CARD_DRAWN.table("face_up")
_PERCENT = _CARD_DRAWN.table("confidence")
_KIND_CARD_DRAWN = int(Kind.CARD_DRAWN)

_SlotFilledStatus = slot_filled(Status)

_STATUS = COMPILED[Kind.STATUS]
_STATUS.require("seq", "boot_id", "t_us", "armed", "drawn", "unacknowledged", "locked_by_key")
_LOCKED = _STATUS.table("locked_by_key")
_KIND_STATUS = int(Kind.STATUS)


Reader = Callable[[bytes], DecodedFrame]


def _card_reader(unpack: Callable[[bytes], tuple[Any, ...]], read_any: Reader) -> Reader:
    """Return the fast path of cards: a third of the time of ``_reader``; tests compare both."""

    def read_card(frame: bytes) -> DecodedFrame:
        try:
            seq, boot_id, t_us, number, card, armed, face_up, confidence = unpack(frame)
            event = _SlotFilledCard()
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
        return read_any(frame)  # names the wrong field

    return read_card


def _status_reader(unpack: Callable[[bytes], tuple[Any, ...]], read_any: Reader) -> Reader:
    """Return the fast path of statuses; a shoe sends two for each card."""

    def read_status(frame: bytes) -> DecodedFrame:
        try:
            seq, boot_id, t_us, armed, drawn, unacknowledged, locked = unpack(frame)
            event = _SlotFilledStatus()
            event.armed = armed or None
            event.drawn = drawn
            event.unacknowledged = unacknowledged
            event.locked_by_key = _LOCKED[locked]
            event.__class__ = Status
            if seq:
                return _KIND_STATUS, event, seq, boot_id, t_us
        except (KeyError, struct.error):
            pass
        return read_any(frame)  # names the wrong field

    return read_status


_SlotFilledArmed = slot_filled(Armed)

_ACKNOWLEDGE, _ARM = COMPILED[Kind.ACKNOWLEDGE], COMPILED[Kind.ARM]
_ACKNOWLEDGE.require("through")
_ARM.require("number", "hand", "index")
_HANDS = _ARM.table("hand")
_KIND_ACKNOWLEDGE, _KIND_ARM = int(Kind.ACKNOWLEDGE), int(Kind.ARM)


def _acknowledge_reader(unpack: Callable[[bytes], tuple[Any, ...]], read_any: Reader) -> Reader:
    """Return the fast path of acknowledgements; a host sends one for each card."""

    def read_acknowledge(frame: bytes) -> DecodedFrame:
        try:
            return _KIND_ACKNOWLEDGE, Acknowledge(*unpack(frame)), 0, 0, 0
        except struct.error:
            return read_any(frame)  # names what is wrong

    return read_acknowledge


def _arm_reader(unpack: Callable[[bytes], tuple[Any, ...]], read_any: Reader) -> Reader:
    """Return the fast path of arm orders; a host sends one for each card."""

    def read_arm(frame: bytes) -> DecodedFrame:
        try:
            number, hand, index = unpack(frame)
            if number:
                order = _SlotFilledArmed()
                order.number = number
                order.hand = _HANDS[hand]
                order.index = index
                order.__class__ = Armed
                return _KIND_ARM, order, 0, 0, 0
        except (KeyError, struct.error):
            pass
        return read_any(frame)  # names the wrong field

    return read_arm


_CARD_START, _STATUS_START = (bytes((VERSION, kind)) for kind in (_KIND_CARD_DRAWN, _KIND_STATUS))
_CARD_CODES, _ARMED_CODES, _FACE_CODES, _PERCENT_CODES, _LOCKED_CODES = (
    {meaning: code for code, meaning in table.items()}
    for table in (_CARDS, _ARMED, _FACES, _PERCENT, _LOCKED)
)


def event_body(event: ShoeEvent, seq: int, boot_id: int, t_us: int) -> bytes:
    """As ``body_of``, of a shoe's event with its header; cards and statuses have a fast path."""
    try:
        if type(event) is Status and seq:
            armed, locked = event.armed or 0, _LOCKED_CODES[event.locked_by_key]
            return _STATUS_START + _STATUS.payload.pack(
                seq, boot_id, t_us, armed, event.drawn, event.unacknowledged, locked
            )
        if type(event) is CardDrawn and seq:
            return _CARD_START + _CARD_DRAWN.payload.pack(
                *(seq, boot_id, t_us, event.number or 0, _CARD_CODES[event.card]),
                *(_ARMED_CODES[event.armed], _FACE_CODES[event.face_up]),
                _PERCENT_CODES[event.confidence],
            )
    except (LookupError, TypeError, struct.error):
        pass  # the layout names what does not fit
    kind, values = values_of(event)
    return COMPILED[kind].pack((seq, boot_id, t_us, *values))


_HAND_CODES = {meaning: code for code, meaning in _HANDS.items()}
_ACKNOWLEDGE_START = bytes((VERSION, Kind.ACKNOWLEDGE))
_ARM_START = bytes((VERSION, Kind.ARM))


def encode_host_message(content: HostMessage) -> bytes:
    """As ``encode``, of a message of a host; acknowledgements and arms have a fast path."""
    try:
        if type(content) is Acknowledge:
            return frame_body(_ACKNOWLEDGE_START + _ACKNOWLEDGE.payload.pack(content.through))
        if type(content) is Armed and content.number:
            hand = _HAND_CODES[content.hand]
            return frame_body(_ARM_START + _ARM.payload.pack(content.number, hand, content.index))
    except (LookupError, TypeError, struct.error):
        pass  # the layout names what does not fit
    kind, values = values_of(content)
    return frame_body(COMPILED[kind].pack(values))


# --- every frame ---------------------------------------------------------------------------------


def _reader(layout: CompiledLayout, *, with_mac: bool) -> Reader:
    kind, means = int(layout.kind), CONTENT_OF[layout.kind]
    unpack = partial(layout.unpack, with_mac=with_mac)
    if kind >= FIRST_OF_HOST:
        return lambda frame: (kind, means(unpack(frame)), 0, 0, 0)

    def read_frame(frame: bytes) -> DecodedFrame:
        seq, boot_id, t_us, *values = unpack(frame)
        content = means(tuple(values))
        if isinstance(content, Hello):
            content = replace(content, boot_id=boot_id)
        elif isinstance(content, Gap):
            if content.last < seq:
                raise FrameError("field_without_meaning", layout.name, "last")
            content = replace(content, first=seq)
        return kind, content, seq, boot_id, t_us

    return read_frame


def _no_such_kind(_: bytes) -> DecodedFrame:
    raise FrameError("unknown_kind")


_FAST_READERS = {
    Kind.CARD_DRAWN: _card_reader,
    Kind.STATUS: _status_reader,
    Kind.ACKNOWLEDGE: _acknowledge_reader,
    Kind.ARM: _arm_reader,
}


def _readers(*, with_mac: bool) -> list[Reader]:
    readers: list[Reader] = [_no_such_kind] * 256
    for kind, layout in COMPILED.items():
        readers[kind] = _reader(layout, with_mac=with_mac)
    for kind, fast in _FAST_READERS.items():
        frame = COMPILED[kind].frame_with_mac if with_mac else COMPILED[kind].frame
        readers[kind] = fast(frame.unpack, readers[kind])
    return readers


_READERS = _readers(with_mac=False)
READERS_WITH_MAC = _readers(with_mac=True)
"""The reader of a frame with a MAC and its CRC, by its kind; it does not check the MAC."""


def unwrap(stuffed: bytes) -> bytes:
    """Return the frame between two delimiters, with its CRC, which is right; any version.

    Raises:
        FrameError: it is none.
    """
    try:
        frame = unstuff(stuffed)
    except DecodeError:
        raise FrameError("stuffing") from None
    if crc32(frame) != CRC_RESIDUE:
        raise FrameError("crc")
    return frame


def read_with_mac(frame: bytes) -> DecodedFrame:
    """Decode a frame with a MAC, without checking the MAC.

    Raises:
        FrameError: it is no frame of this version.
    """
    if len(frame) < COUNTER_AND_MAC_BYTES:
        raise FrameError("too_short_for_mac")
    return READERS_WITH_MAC[frame[1]](frame)


def read(stuffed: bytes) -> DecodedFrame:
    """Decode the bytes between two delimiters.

    Raises:
        FrameError: it is no frame of this version, whole and unchanged.
    """
    try:
        frame = unstuff(stuffed)
    except DecodeError:
        raise FrameError("stuffing") from None
    if crc32(frame) != CRC_RESIDUE:
        raise FrameError("crc")
    if frame[0] != VERSION:
        raise FrameError("unknown_version")
    return _READERS[frame[1]](frame)


def encode(message: Message) -> bytes:
    """Return the frame with both its delimiters; raises like ``body_of``."""
    return frame_body(body_of(message))


def body_of(message: Message) -> bytes:
    """Return version, kind and payload.

    Raises:
        ValueError: this profile has no frame for it, or a value does not fit its field.
    """
    kind, values = values_of(message.content)
    if kind < FIRST_OF_HOST:
        values = (message.seq, message.boot_id, message.t_us, *values)
    return COMPILED[kind].pack(values)


# --- streams -------------------------------------------------------------------------------------


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
        frame = unwrap(stuffed)
        kind, content, seq, boot_id, t_us = (
            read_with_mac(frame) if frame[:1] == bytes((VERSION_WITH_MAC,)) else read(stuffed)
        )
    except FrameError as error:
        return Decoded(error.discarded(), raw, first, last)
    if kind >= FIRST_OF_HOST:
        return Decoded(Message(content=content, raw=raw), raw, first, last)
    message = Message(content=content, seq=seq, boot_id=boot_id, t_us=t_us, raw=raw)
    return Decoded(message, raw, first, last)


class Listener:
    """Decodes a recording of one or both directions, for people and for ``decode``."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._device_id: str | None = None
        self._seen: dict[int, ShoeEvent] = {}

    def feed(self, data: bytes) -> list[ReceivedEvent]:
        """Return the events that these bytes complete, in order. Never raises."""
        return [self._received(found) for found in self._decoder.feed(data)]

    def end(self) -> list[ReceivedEvent]:
        """The recording ended: the rest of an unfinished frame, discarded."""
        return [self._received(found) for found in self._decoder.end()]

    def _received(self, found: Decoded) -> ReceivedEvent:
        message = found.content
        if isinstance(message, Discarded):
            return ReceivedEvent(message, None, found.first, found.last)
        content, seq = message.content, None
        if not isinstance(content, ShoeEvent):
            return ReceivedEvent(_host_traffic(content), None, found.first, found.last)
        if isinstance(content, Hello):
            self._met(content.device_id)
        elif message.seq is not None and values_of(content)[0] >= FIRST_NUMBERED:
            seq = message.seq
            if self._seen.setdefault(seq, content) is not content and self._seen[seq] == content:
                content = Repeated(of=content.type)
        return ReceivedEvent(content, seq, found.first, found.last)

    def _met(self, device_id: str) -> None:
        if self._device_id not in (None, device_id):
            self._seen.clear()  # another shoe counts for itself
        self._device_id = device_id


_HOST_TRAFFIC_FIELDS = tuple(f.name for f in fields(HostTraffic) if f.name != "command")


def _host_traffic(content: Content) -> ShoeEvent:
    command = values_of(content)[0].name.lower()
    carried = {
        name: getattr(content, name) for name in _HOST_TRAFFIC_FIELDS if hasattr(content, name)
    }
    return HostTraffic(command=command, **carried)


# --- the next card, a whole frame in one feed ----------------------------------------------------

_PAYLOAD = _CARD_DRAWN.payload.format.removeprefix("<")
_FRAME = struct.Struct(f"<H{_PAYLOAD}4x")
_FRAME_WITH_MAC = struct.Struct(f"<H{_PAYLOAD}L12s4x")
_START, _START_WITH_MAC = (first | Kind.CARD_DRAWN << 8 for first in (VERSION, VERSION_WITH_MAC))
_WRAPPING_BYTES = 3  # a byte of stuffing and both delimiters
_BYTES = _FRAME.size + _WRAPPING_BYTES
_BYTES_WITH_MAC = _FRAME_WITH_MAC.size + _WRAPPING_BYTES
_unpack_frame, _unpack_with_mac = _FRAME.unpack, _FRAME_WITH_MAC.unpack
_SlotFilledEvent = slot_filled(ReceivedEvent)


def next_card(
    data: bytes, splitter: Splitter, verifier: MacVerifier | None, expected: int, boot_id: int
) -> ReceivedEvent | None:
    """Return the card with the number ``expected``, drawn in this boot; else None.

    The fast path of nearly all that a shoe sends: a whole frame in one feed, the splitter between
    frames. Everything else goes through ``read``, which finds the reason; tests compare the two.

    With a ``verifier`` the frame needs a right MAC and a new counter, without one neither. Splitter
    and verifier move on only where a card is returned.
    """
    size = len(data)
    if size != (_BYTES if verifier is None else _BYTES_WITH_MAC) or data[0] or data[-1]:
        return None
    try:
        frame = unstuff(data[1:-1])  # finds a delimiter within, too
        if crc32(frame) != CRC_RESIDUE:
            return None
        if verifier is None:
            starts, seq, boot, t_us, number, card, armed, face_up, confidence = _unpack_frame(frame)
            if seq != expected or boot != boot_id or starts != _START:
                return None
            counter = 0
        else:
            (
                starts,
                seq,
                boot,
                t_us,
                number,
                card,
                armed,
                face_up,
                confidence,
                counter,
                mac_received,
            ) = _unpack_with_mac(frame)
            if seq != expected or boot != boot_id or starts != _START_WITH_MAC:
                return None
            mac = verifier.fresh()
            mac.update(frame[:-16])
            if not compare_digest(mac.digest()[:12], mac_received) or counter <= verifier.last:
                return None
        event = _SlotFilledCard()
        event.card = _CARDS[card]
        event.number = number or None
        event.hand = event.index = None
        event.armed = _ARMED[armed]
        event.face_up = _FACES[face_up]
        event.confidence = _PERCENT[confidence]
        event.__class__ = CardDrawn
    except (DecodeError, KeyError, struct.error):
        return None
    if verifier is not None:
        verifier.last = counter
    received = _SlotFilledEvent()
    received.event = event
    received.seq = seq
    received.first = splitter.at
    splitter.at = received.last = splitter.at + size
    received.device_us = t_us
    splitter.lead = 0
    received.__class__ = ReceivedEvent
    card_received: ReceivedEvent = received
    return card_received
