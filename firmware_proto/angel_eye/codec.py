"""Angel Eye streams: bytes in any portions to items, each with its bytes and their place.

In: what one end of a connection sends. Out: every frame, repeats too, and what did not fit.
Must not know: whether a command is outstanding, time, the round.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from firmware_proto.angel_eye import fields
from firmware_proto.angel_eye.compiled_layouts import COMMAND, OPERATION, SEQUENCE
from firmware_proto.angel_eye.fields import BCC_BYTES
from firmware_proto.angel_eye.frames import (
    CODE_AT,
    EITHER,
    EVENT_BYTES,
    SEQ_AT,
    Checks,
    CommandBcc,
    read_event,
    read_framed,
    read_reply,
)
from firmware_proto.angel_eye.scanner import HEAD_BYTES, MisfitError, Piece, RepeatFilter, Scanner
from firmware_proto.commands import VendorCommand
from firmware_proto.events import Discarded, HostTraffic, ShoeEvent
from firmware_proto.session import ReceivedEvent

_COMMAND_BYTES: Final = 1 + len(OPERATION) + COMMAND.size + 1 + BCC_BYTES
_FRAMED_BYTES: Final = {fields.ACK: 5, fields.NAK: 6, ord("O"): _COMMAND_BYTES}
_BARE_REFUSAL_BYTES: Final = 2


class Item(NamedTuple):
    """The content of one piece of a stream, with its bytes and their place.

    ``seq`` and ``code`` are an event's own characters, None for all else.
    """

    content: ShoeEvent | VendorCommand
    raw: bytes
    first: int
    seq: str | None = None
    code: str | None = None

    @property
    def last(self) -> int:
        """Where the next piece begins."""
        return self.first + len(self.raw)


def _measure_shoe(head: bytes) -> int:
    if head[0] == fields.ENQ:
        return _measure_event(head)
    if head[0] == fields.NAK:
        if head[1:2] == bytes((fields.ENQ,)):
            raise MisfitError("cut_short")
        return _BARE_REFUSAL_BYTES
    return 1 if head[0] == fields.ACK else _measure_framed(head)


def _measure_event(head: bytes) -> int:
    if len(head) <= SEQ_AT:
        return 0
    if head[SEQ_AT] not in SEQUENCE:
        raise MisfitError("cut_short" if head[SEQ_AT] == fields.ENQ else "sequence")
    if len(head) <= CODE_AT:
        return 0
    length = EVENT_BYTES.get(head[CODE_AT])
    if length is None:
        raise MisfitError("cut_short" if head[CODE_AT] == fields.ENQ else "code")
    return length


def _measure_framed(head: bytes) -> int:
    if len(head) == 1:
        return 0
    length = _FRAMED_BYTES.get(head[1])
    if length is None:
        raise MisfitError("cut_short" if head[1] == fields.ENQ else "framed")
    return length


def _measure_host(head: bytes) -> int:
    if len(head) == 1:
        return 0
    if head[1] != ord("O"):
        raise MisfitError("cut_short" if head[1] == fields.STX else "operation")
    return _COMMAND_BYTES


def _beginnings() -> dict[bytes, int]:
    start = bytes((fields.ENQ,))
    found = {start: HEAD_BYTES}
    for seq in SEQUENCE:
        head = start + bytes((seq,))
        found[head] = HEAD_BYTES
        found |= {head + bytes((code,)): length for code, length in EVENT_BYTES.items()}
    return found


EVENT_BEGINS: Final = _beginnings()
"""Up to so many bytes the frame of an event may have that begins so, before more can be said."""


class _Stream:
    """One direction of a connection: any split of it gives the same items, and none raises."""

    def __init__(self, scanner: Scanner, checks: Checks) -> None:
        self.scanner = scanner
        self._checks = checks

    @property
    def position(self) -> int:
        """The number of bytes fed so far."""
        return self.scanner.position

    def feed(self, data: bytes) -> list[Item]:
        """Every frame that these bytes complete, repeats too, and what did not fit."""
        return [self._item(piece) for piece in self.scanner.feed(data)]

    def end(self) -> list[Item]:
        """Return what is left when nothing more will come."""
        return [self._item(piece) for piece in self.scanner.end()]

    def _item(self, piece: Piece) -> Item:
        raw, first = piece.raw, piece.first
        if piece.reason is not None:
            return Item(Discarded(reason=piece.reason), raw, first)
        if raw[0] == fields.STX:
            return Item(read_framed(raw, self._checks), raw, first)
        if raw[0] != fields.ENQ:
            return Item(read_reply(raw), raw, first)
        event = read_event(raw)
        if isinstance(event, Discarded):
            return Item(event, raw, first)
        return Item(event, raw, first, seq=chr(raw[SEQ_AT]), code=chr(raw[CODE_AT]))


class Decoder(_Stream):
    """Decodes a shoe's bytes to items; commands that come back as an echo too."""

    def __init__(self, checks: Checks) -> None:
        starts = bytes((fields.ENQ, fields.ACK, fields.NAK, fields.STX))
        scanner = Scanner(_measure_shoe, starts=starts, restart=fields.ENQ)
        super().__init__(scanner, checks)


class CommandDecoder(_Stream):
    """Decodes a host's bytes to items."""

    def __init__(self, check: CommandBcc) -> None:
        scanner = Scanner(_measure_host, starts=bytes((fields.STX,)), restart=fields.STX)
        super().__init__(scanner, Checks(commands=(check,)))


class Listener:
    """Decodes a shoe's bytes without taking part in the exchange, for people to look at.

    It cannot know whether a command is outstanding: every reply is shown as one, and a command
    of the host, in a recording of both directions, as ``HostTraffic``. Nor does it know where their
    checks begin: both are accepted.
    """

    def __init__(self) -> None:
        self._decoder = Decoder(EITHER)
        self._repeats = RepeatFilter()

    def feed(self, data: bytes) -> list[ReceivedEvent]:
        """Every frame that these bytes complete; never raises."""
        return [self._received(item) for item in self._decoder.feed(data)]

    def end(self) -> list[ReceivedEvent]:
        """Return what is left when nothing more will come."""
        return [self._received(item) for item in self._decoder.end()]

    def _received(self, item: Item) -> ReceivedEvent:
        content = item.content
        if isinstance(content, VendorCommand):
            content = HostTraffic(command=f"{content.kind} {content.data}")
        elif item.seq is not None and item.code is not None:
            content = self._repeats.fresh_or_repeated(content, item.raw)
        return ReceivedEvent(content, item.seq, item.first, item.last)
