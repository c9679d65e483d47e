"""Where frames begin and end: COBS between 00 delimiters, CRC-32 inside.

In: bytes in any pieces. Out: what stood between delimiters, with its place; frames with CRC.
Must not know: versions, kinds, what a frame says.
"""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from cobs import cobs

from firmware_proto.events import Discarded

MAX_BODY_BYTES = 240
"""No frame of this version is longer before stuffing: SPEC 3. Below 254, so that stuffing adds
exactly one byte, and with room for a MAC after the longest payload."""

CRC_BYTES = 4


class FrameError(ValueError):
    """A frame that cannot be taken; the same error for the same bytes.

    ``reason``, ``of`` and ``field`` are as in ``Discarded``.
    """

    def __init__(self, reason: str, of: str | None = None, field: str | None = None) -> None:
        super().__init__(" ".join(filter(None, (of, field, reason))))
        self.reason = reason
        self.of = of
        self.field = field

    def discarded(self) -> Discarded:
        """Return what is reported in its place."""
        return Discarded(reason=self.reason, of=self.of, field=self.field)


DELIMITER = b"\0"

MAX_STUFFED_BYTES = MAX_BODY_BYTES + 1
"""Stuffing adds one byte to what is shorter than 255 bytes."""

CRC_RESIDUE = 0x2144DF1C
"""The CRC-32 of anything that ends in its own CRC-32, least significant byte first."""

BEFORE = "before_first_delimiter"
TOO_LONG = "too_long"
UNFINISHED = "unfinished"

unstuff: Callable[[bytes], bytes] = cobs.decode
"""Undo ``stuff``; raises ``DecodeError`` for bytes that cannot have been stuffed."""

DecodeError: type[Exception] = cobs.DecodeError

Piece = tuple[bytes, int, int, int, str | None]
"""Stuffed bytes; 1 when the piece took the delimiter before them, else 0; its range in the stream
with the delimiters it took (``last`` exclusive); why it is no frame, None where it may be one."""


def frame_body(body: bytes) -> bytes:
    """The body with its CRC, stuffed, a delimiter at each end (SPEC 2).

    Raises:
        ValueError: longer than any frame may be.
    """
    whole = body + crc32(body).to_bytes(4, "little")
    if len(whole) > MAX_BODY_BYTES:
        raise ValueError(f"{len(whole)} bytes, more than the {MAX_BODY_BYTES} of any frame")
    stuffed: bytes = cobs.encode(whole)
    return DELIMITER + stuffed + DELIMITER


class Splitter:
    """Cuts a stream at its delimiters. Keeps at most one frame's length; never raises.

    Every byte is in exactly one piece, but for delimiters between frames that no piece needs.
    A piece takes the delimiter before it, unless that one ended the piece before. While
    ``between_frames``, ``codec.next_card`` may take a frame: it moves ``at``, clears ``lead``.
    """

    __slots__ = ("_rest", "_why", "at", "between_frames", "lead")

    def __init__(self) -> None:
        self._rest = b""
        self._why: str | None = BEFORE  # why the run that is open is no frame, whatever comes
        self.between_frames = False  # the next delimiter begins a frame, nothing is left of others
        self.at = 0  # place of the first byte of _rest
        self.lead = 0  # 1 when the delimiter before _rest belongs to no piece yet

    def feed(self, data: bytes) -> list[Piece]:
        """The pieces that these bytes complete, in order."""
        if self._rest:
            data = self._rest + data
        whole = data.split(DELIMITER)
        rest = whole.pop()
        pieces: list[Piece] = []
        at, lead = self.at, self.lead
        for run in whole:
            size = len(run)
            if size == 0:
                at += 1
                lead = 1
                self._why = None
                continue
            if size > MAX_STUFFED_BYTES:
                kept, at, lead = self._cut(run, at, lead, pieces)
                size = len(kept)
            else:
                kept = run
            last = at + size + 1
            pieces.append((kept, lead, at - lead, last, self._why))
            at = last
            lead = 0
            self._why = None
        if len(rest) > MAX_STUFFED_BYTES:
            rest, at, lead = self._cut(rest, at, lead, pieces)
        self._rest, self.at, self.lead = rest, at, lead
        self.between_frames = not rest and self._why is None
        return pieces

    def end(self) -> list[Piece]:
        """The stream ended: what was left unfinished, if anything."""
        rest, at, lead = self._rest, self.at, self.lead
        if not rest:
            return []
        self._rest, self.at, self.lead = b"", at + len(rest), 0
        return [(rest, lead, at - lead, self.at, self._why or UNFINISHED)]

    def _cut(self, run: bytes, at: int, lead: int, pieces: list[Piece]) -> tuple[bytes, int, int]:
        """Gives what no frame can hold, a frame's length at a time, and keeps the last of it."""
        self._why = self._why or TOO_LONG
        while len(run) > MAX_STUFFED_BYTES:
            last = at + MAX_STUFFED_BYTES
            pieces.append((run[:MAX_STUFFED_BYTES], lead, at - lead, last, self._why))
            run, at, lead = run[MAX_STUFFED_BYTES:], last, 0
        return run, at, lead
