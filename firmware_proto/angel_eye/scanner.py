"""Cuts a stream into whole frames, the same way however it is split, and filters repeats.

In: bytes in any portions, and how long a frame is once it has begun. Out: pieces in order.
Must not know: the content of a frame, its check, time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from firmware_proto.angel_eye.fields import ETX
from firmware_proto.events import Repeated, ShoeEvent, Started

REPEAT_WINDOW: Final = 8
"""Frames remembered. Digits alone wrap after ten: by then the first of them is forgotten."""


class RepeatKey(Enum):
    """What names an event within the window: integrators disagree."""

    SEQ_AND_CODE = "seq_and_code"
    SEQ = "seq"


class RepeatFilter:
    """Remembers the last frame under each of the latest keys.

    A frame is a repeat only when it equals that frame byte for byte: a key that comes again with
    other data is a fresh event, for the table to judge. A start of communication is a repeat only
    directly after itself, and forgets all else: the sequence begins anew.
    """

    def __init__(self, key: RepeatKey = RepeatKey.SEQ_AND_CODE) -> None:
        self._by_code = key is RepeatKey.SEQ_AND_CODE
        self._frames: dict[str, bytes] = {}
        self._latest = b""

    def fresh_or_repeated(self, event: ShoeEvent, seq: str, code: str, raw: bytes) -> ShoeEvent:
        """The event itself, or ``Repeated`` of its type."""
        key = seq + code if self._by_code else seq
        directly = raw == self._latest
        self._latest = raw
        if directly or (self._frames.get(key) == raw and not isinstance(event, Started)):
            return Repeated(of=event.type)
        if isinstance(event, Started):
            self._frames.clear()
        self._frames.pop(key, None)
        self._frames[key] = raw
        if len(self._frames) > REPEAT_WINDOW:
            del self._frames[next(iter(self._frames))]
        return event


RUN_BYTES: Final = 64
"""What does not fit is reported at this length at the latest; a frame has 12 bytes or fewer."""

_HEX: Final = frozenset(b"0123456789ABCDEF")
_TAIL: Final = 3


class MisfitError(Exception):
    """These bytes cannot begin a frame; ``str`` is the reason in one word."""


Measure = Callable[[bytes | bytearray], int]
"""The length in bytes of the frame that begins so; 0 while more bytes are needed to tell.

Raises MisfitError. Its answer may depend on the least bytes that settle it only: that is what
makes every split of a stream give the same pieces.
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """A whole frame by its length, or with a ``reason`` what did not fit.

    ``first`` is its place in the stream, the first byte being 0.
    """

    raw: bytes
    first: int
    reason: str | None = None


class Scanner:
    """One stream's scanner.

    ``starts`` are the bytes that may begin a frame; ``restart`` is the one of them that never
    stands inside a frame, so that one that does begins a new frame.

    Bytes outside frames end at any start. A frame that failed ends at ``restart`` only: its
    remains may look like a one-byte answer, and must not be taken for one (SPEC.md, "Cutting").
    """

    def __init__(self, measure: Measure, *, starts: bytes, restart: int) -> None:
        self._measure = measure
        self._starts = frozenset(starts)
        self._restart = frozenset((restart,))
        self._buffer = bytearray()
        self._base = 0
        self._reason: str | None = None
        self._ends: frozenset[int] = self._starts
        self._seen = 0

    def feed(self, data: bytes) -> list[Piece]:
        """The pieces that these bytes complete. Never raises."""
        self._buffer += data
        pieces: list[Piece] = []
        while self._buffer and (piece := self._next()):
            pieces.append(piece)
        return pieces

    def end(self) -> list[Piece]:
        """What is left when nothing more will come."""
        if not self._buffer:
            return []
        return [self._take(len(self._buffer), self._reason or "cut_short")]

    @property
    def position(self) -> int:
        """How many bytes were fed so far."""
        return self._base + len(self._buffer)

    def _next(self) -> Piece | None:
        if self._reason is None and self._buffer[0] not in self._starts:
            self._run("outside_frame", self._starts)
        if self._reason is not None:
            return self._close()
        try:
            length = self._measure(self._buffer)
        except MisfitError as misfit:
            self._run(str(misfit), self._restart)
            return self._close()
        if not length:
            return None
        for at in range(1, min(length, len(self._buffer))):
            if self._buffer[at] in self._restart:
                return self._take(at, "cut_short")
        return self._take(length, None) if len(self._buffer) >= length else None

    def _run(self, reason: str, ends: frozenset[int]) -> None:
        self._reason, self._ends, self._seen = reason, ends, 1

    def _close(self) -> Piece | None:
        """The run at the buffer's start, once its end is known."""
        for at in range(self._seen, len(self._buffer)):
            if self._buffer[at] in self._ends:
                return self._take(at, self._reason)
            if at + 1 == RUN_BYTES or self._is_tail(at):
                return self._take(at + 1, self._reason)
        self._seen = len(self._buffer)
        return None

    def _is_tail(self, at: int) -> bool:
        """Whether a frame's ETX and two digits of BCC end here: nothing later belongs to it."""
        tail = self._buffer[max(0, at + 1 - _TAIL) : at + 1]
        return len(tail) == _TAIL and tail[0] == ETX and tail[1] in _HEX and tail[2] in _HEX

    def _take(self, length: int, reason: str | None) -> Piece:
        piece = Piece(bytes(self._buffer[:length]), self._base, reason)
        del self._buffer[:length]
        self._base += length
        self._reason = None
        return piece
