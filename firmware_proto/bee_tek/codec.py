"""Bee-Tek streams: bytes in any portions to the event of each line, with its place.

In: what a shoe sends. Out: every line's event, and what did not fit; never raises.
Must not know: time, the round, ports.
"""

from __future__ import annotations

import re
from typing import Final

from firmware_proto.bee_tek.fields import CR, LF, LINE_END, LONGEST_LINE
from firmware_proto.bee_tek.lines import CARD_LINES, read_line
from firmware_proto.events import Discarded, ShoeEvent
from firmware_proto.frozen_values import slot_filled
from firmware_proto.session import ReceivedEvent

_END: Final = re.compile(rb"\r\n|[\r\n]")
"""An end of a line; a CR at the end of what came may have an LF yet."""

_SlotFilledEvent = slot_filled(ReceivedEvent)


class Decoder:
    """One connection's lines; any split of the same bytes gives the same (SPEC.md, "Cutting").

    CR LF, LF, or a CR that no LF follows ends a line. What has no end in ``LONGEST_LINE`` bytes
    is discarded in pieces of that length, up to the next end.
    """

    def __init__(self) -> None:
        self._line = b""  # what has no end yet; a CR at its end may have an LF yet
        self._first = 0
        self._too_long = False
        self.unfinished: int | None = None
        """Where the line began that has no end yet; None where all that came has its end."""

    @property
    def position(self) -> int:
        """The number of bytes fed so far."""
        return self._first + len(self._line)

    def feed(self, data: bytes) -> list[ReceivedEvent]:
        """Every line that these bytes complete, and what did not fit.

        Nearly all that a shoe sends are cards, whose lines have a fast path: one that was read
        before, with nothing behind it. Tests compare it with the path of all lines.
        """
        line = self._line + data
        if LF not in data:
            if CR not in data and self.unfinished is not None and len(line) < LONGEST_LINE:
                self._line = line
                return []
            return self._feed_other(line)
        card = CARD_LINES.get(line)
        if card is None or self._too_long:
            return self._feed_other(line)
        received = _SlotFilledEvent()
        received.event = card
        received.seq = None
        received.first = first = self._first
        received.last = self._first = first + len(line)
        received.device_us = None
        received.__class__ = ReceivedEvent
        self._line = b""
        self.unfinished = None
        return [received]

    def _feed_other(self, data: bytes) -> list[ReceivedEvent]:
        """The same of any bytes, from the beginning of the line that had no end."""
        received: list[ReceivedEvent] = []
        at, size = 0, len(data)
        while at < size:
            found = _END.search(data, at, at + LONGEST_LINE + 1)
            if found is not None and found.start() < at + LONGEST_LINE:
                end = found.end()
                if end == size and data[end - 1] == CR:
                    break
                self._close(data[at:end], received)
            elif size - at >= LONGEST_LINE:
                end = at + LONGEST_LINE
                self._too_long = True
                self._give(Discarded(reason="too_long"), LONGEST_LINE, received)
            else:
                break
            at = end
        line = self._line = data[at:]
        has_no_end = line and line[-1] != CR and line.strip(b" \t")
        self.unfinished = self._first if has_no_end else None
        return received

    def end(self) -> list[ReceivedEvent]:
        """Return what is left when nothing more will come: a line without its end is discarded."""
        received: list[ReceivedEvent] = []
        line, self._line, self.unfinished = self._line, b"", None
        if line.endswith(b"\r"):
            self._close(line, received)
        elif line:
            self._give(Discarded(reason="cut_short"), len(line), received)
        return received

    def _close(self, line: bytes, received: list[ReceivedEvent]) -> None:
        """The line has its end."""
        text = line.rstrip(LINE_END)
        event: ShoeEvent | None = None
        if text:
            event = Discarded(reason="too_long") if self._too_long else read_line(text)
        self._too_long = False
        self._give(event, len(line), received)

    def _give(self, event: ShoeEvent | None, size: int, received: list[ReceivedEvent]) -> None:
        first = self._first
        self._first = first + size
        if event is not None:
            received.append(ReceivedEvent(event, None, first, self._first))


class Listener(Decoder):
    """Decodes a shoe's bytes for people to look at.

    A host sends this shoe nothing, and receives no more than this.
    """
