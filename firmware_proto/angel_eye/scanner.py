"""Cuts a stream into whole frames, the same way however it is split, and filters repeats.

In: bytes in any portions, and how long a frame is once it has begun. Out: pieces in order.
Must not know: the content of a frame, its check, time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple

from firmware_proto.angel_eye.fields import ETX
from firmware_proto.angel_eye.frames import CODE_AT, SEQ_AT
from firmware_proto.events import Repeated, ShoeEvent, Started

REPEAT_WINDOW: Final = 8
"""Frames remembered. Digits alone wrap after ten: by then the first of them is forgotten."""


class RepeatKey(Enum):
    """The key that names an event within the window: integrators disagree."""

    SEQ_AND_CODE = "seq_and_code"
    SEQ = "seq"


class RepeatFilter:
    """Remembers the last frame under each of the latest keys.

    A frame is a repeat only when it equals that frame byte for byte: a key that comes again with
    other data is a fresh event, for the table to judge. A start of communication is a repeat only
    directly after itself, and forgets all else: the sequence begins anew.

    ``frames`` are the last ones under each key, the latest behind; ``key`` is where a key stands.
    """

    __slots__ = ("frames", "key")

    def __init__(self, key: RepeatKey = RepeatKey.SEQ_AND_CODE) -> None:
        ends = CODE_AT if key is RepeatKey.SEQ_AND_CODE else SEQ_AT
        self.key = slice(SEQ_AT, ends + 1)
        self.frames: dict[bytes, bytes] = {}

    def fresh_or_repeated(self, event: ShoeEvent, raw: bytes) -> ShoeEvent:
        """The event of these bytes itself, or ``Repeated`` of its type."""
        frames, key = self.frames, raw[self.key]
        last = frames.get(key)
        if last is not None:
            if last == raw and self._is_remembered(key, event):
                return Repeated(of=event.type)
            del frames[key]  # it becomes the latest
        if isinstance(event, Started):
            frames.clear()
        frames[key] = raw
        return event

    def _is_remembered(self, key: bytes, event: ShoeEvent) -> bool:
        if isinstance(event, Started):
            return len(self.frames) == 1  # all that follows a start stands beside it
        return key in islice(reversed(self.frames), REPEAT_WINDOW)


RUN_BYTES: Final = 64
"""Bytes that do not fit are reported at this length at the latest; a frame has 12 or fewer."""

HEAD_BYTES: Final = 3
"""So many bytes settle how long a frame is, or that it is none."""


class MisfitError(Exception):
    """These bytes cannot begin a frame; ``str`` is the reason in one word."""


Measure = Callable[[bytes], int]
"""The length in bytes of the frame that begins so (``HEAD_BYTES``, or fewer where no more came
yet); 0 while more bytes are needed to tell.

Raises MisfitError. Its answer may depend on the least bytes that settle it only: that is what
makes every split of a stream give the same pieces.
"""


class Piece(NamedTuple):
    """A whole frame by its length, or with a ``reason`` what did not fit.

    ``first`` is its place in the stream, the first byte being 0.
    """

    raw: bytes
    first: int
    reason: str | None = None


_TAIL: Final = re.compile(rb"%b[0-9A-F]{2}" % bytes((ETX,)))
"""ETX and two digits of BCC: nothing later belongs to the same frame."""


def _run_to(ends: bytes) -> re.Pattern[bytes]:
    """Finds the end of what does not fit: one of these bytes, or a frame's tail."""
    return re.compile(rb"[%b]|%b" % (re.escape(ends), _TAIL.pattern))


Run = tuple[str, re.Pattern[bytes]]
"""Why bytes do not fit, and what finds their end."""


class Scanner:
    """One stream's scanner.

    ``starts`` are the bytes that may begin a frame; ``restart`` is the one of them that never
    stands inside a frame, so that one that does begins a new frame.

    Bytes outside frames end at any start. A frame that failed ends at ``restart`` only: its
    remains may look like a one-byte answer, and must not be taken for one (SPEC.md, "Cutting").

    ``rest`` are the bytes that no piece has yet, ``at`` is their place, ``run`` why they do not
    fit. A fast path may take a frame of which the scanner has the beginning: it then moves ``rest``
    and ``at``. ``missing`` is for the scanner alone: how many bytes of that frame are missing at
    least, 0 if not known.
    """

    __slots__ = (
        "_failed", "_measure", "_outside", "_restart", "_starts", "at", "missing", "rest", "run",
    )  # fmt: skip

    def __init__(self, measure: Measure, *, starts: bytes, restart: int) -> None:
        self._measure = measure
        self._starts = starts
        self._restart = restart
        self._outside = _run_to(starts)
        self._failed = _run_to(bytes((restart,)))
        self.rest = b""
        self.at = 0
        self.missing = 0
        self.run: Run | None = None

    def feed(self, data: bytes) -> list[Piece]:
        """The pieces that these bytes complete. Never raises."""
        data = self.rest + data
        pieces: list[Piece] = []
        at, size = 0, len(data)
        run = self.run
        self.run = None
        while at < size:
            begins = run or self._begin(data, at)
            run = None
            if isinstance(begins, int):
                length, reason = self._end_of_frame(data, at, begins)
            else:
                length, reason = self._end_of_run(data, at, begins)
                self.run = None if length else begins
            if not length:
                break
            pieces.append(Piece(data[at : at + length], self.at + at, reason))
            at += length
        self.rest = data[at:]
        self.at += at
        self.missing = 0
        return pieces

    def end(self) -> list[Piece]:
        """Return what is left when nothing more will come."""
        rest, at = self.rest, self.at
        if not rest:
            return []
        begins = self.run or self._begin(rest, 0)
        reason = "cut_short" if isinstance(begins, int) else begins[0]
        self.rest, self.at, self.run = b"", at + len(rest), None
        return [Piece(rest, at, reason)]

    @property
    def position(self) -> int:
        """The number of bytes fed so far."""
        return self.at + len(self.rest)

    def _begin(self, data: bytes, at: int) -> int | Run:
        """The length of the frame that begins at this place, 0 if not known; or a run."""
        if data[at] not in self._starts:
            return "outside_frame", self._outside
        try:
            return self._measure(data[at : at + HEAD_BYTES])
        except MisfitError as misfit:
            return str(misfit), self._failed

    def _end_of_frame(self, data: bytes, at: int, length: int) -> tuple[int, str | None]:
        """Length and reason of the frame at this place; 0 while it has no end."""
        cut = data.find(self._restart, at + 1, at + length)
        if cut > 0:
            return cut - at, "cut_short"
        return (length if at + length <= len(data) else 0), None

    @staticmethod
    def _end_of_run(data: bytes, at: int, run: Run) -> tuple[int, str]:
        """Length and reason of the run at this place; 0 while it has no end."""
        reason, end = run
        until = at + RUN_BYTES
        found = _TAIL.match(data, at, until) or end.search(data, at + 1, until)
        if found is not None:
            first, last = found.span()
            return (first if last == first + 1 else last) - at, reason
        return (RUN_BYTES if len(data) >= until else 0), reason
