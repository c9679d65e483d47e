"""Tells a frame sent again from a fresh one (SPEC.md, "Repeats").

In: the good event frames of a connection, in order. Out: each event, or that it is a repeat.
Must not know: commands, replies, time, the round.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from firmware_proto.events import Repeated, ShoeEvent, Started

WINDOW: Final = 8
"""Frames remembered. Digits alone wrap after ten: by then the first of them is forgotten."""


class RepeatKey(Enum):
    """What names an event within the window: integrators disagree."""

    SEQ_AND_CODE = "seq_and_code"
    SEQ = "seq"


class Repeats:
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
        if len(self._frames) > WINDOW:
            del self._frames[next(iter(self._frames))]
        return event
