"""The next card, a whole frame in one feed, in half the time: nearly all that a shoe ever sends.

In: a feed, where its stream stands, what is expected. Out: the event with its place, or None.
Must not know: why a frame is refused. Whatever is not exactly the next card is left untaken for the
way that every frame can go; tests hold both ways equal.
"""

from __future__ import annotations

import struct
from hmac import compare_digest
from zlib import crc32

from firmware_proto.events import CardDrawn
from firmware_proto.session import Heard

from .blank import blank
from .derived import DERIVED
from .framing import CRC_RESIDUE, DecodeError, Splitter, unstuff
from .layouts import SEALED, VERSION, Kind
from .seal import Opener

_LAYOUT = DERIVED[Kind.CARD_DRAWN]
_CARDS = _LAYOUT.table("card")
_ARMED = _LAYOUT.table("armed")
_FACES = _LAYOUT.table("face_up")
_PERCENT = _LAYOUT.table("confidence")

_PAYLOAD = _LAYOUT.payload.format.removeprefix("<")
_OPEN = struct.Struct(f"<H{_PAYLOAD}4x")
_SEALED = struct.Struct(f"<H{_PAYLOAD}L12s4x")
_OPEN_STARTS, _SEALED_STARTS = (first | Kind.CARD_DRAWN << 8 for first in (VERSION, SEALED))
_WRAPPING_BYTES = 3  # a byte of stuffing and both delimiters
_OPEN_BYTES = _OPEN.size + _WRAPPING_BYTES
_SEALED_BYTES = _SEALED.size + _WRAPPING_BYTES
_unpack_open, _unpack_sealed = _OPEN.unpack, _SEALED.unpack

_BlankCardDrawn = blank(CardDrawn)
_BlankHeard = blank(Heard)


def next_card(
    data: bytes, splitter: Splitter, opener: Opener | None, expected: int, boot_id: int
) -> Heard | None:
    """The card with the number ``expected``, drawn in this boot; the splitter is between frames.

    With an ``opener`` it must have a MAC that holds and a counter above all before it, without one
    neither. Only with what is given are splitter and opener moved on.
    """
    size = len(data)
    if size != (_OPEN_BYTES if opener is None else _SEALED_BYTES) or data[0] or data[-1]:
        return None
    try:
        frame = unstuff(data[1:-1])  # finds a delimiter within, too
        if crc32(frame) != CRC_RESIDUE:
            return None
        if opener is None:
            starts, seq, boot, _, number, card, armed, face_up, confidence = _unpack_open(frame)
            if seq != expected or boot != boot_id or starts != _OPEN_STARTS:
                return None
            counter = 0
        else:
            starts, seq, boot, _, number, card, armed, face_up, confidence, counter, told = (
                _unpack_sealed(frame)
            )
            if seq != expected or boot != boot_id or starts != _SEALED_STARTS:
                return None
            mac = opener.fresh()
            mac.update(frame[:-16])
            if not compare_digest(mac.digest()[:12], told) or counter <= opener.last:
                return None
        event = _BlankCardDrawn()
        event.card = _CARDS[card]
        event.number = number or None
        event.hand = event.index = None
        event.armed = _ARMED[armed]
        event.face_up = _FACES[face_up]
        event.confidence = _PERCENT[confidence]
        event.__class__ = CardDrawn
    except (DecodeError, KeyError, struct.error):
        return None
    if opener is not None:
        opener.last = counter
    heard = _BlankHeard()
    heard.event = event
    heard.seq = seq
    heard.first = splitter.at
    splitter.at = heard.last = splitter.at + size
    splitter.lead = 0
    heard.__class__ = Heard
    given: Heard = heard
    return given
