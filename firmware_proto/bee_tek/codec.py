"""Bee-Tek streams: bytes in any portions to what each line says, with its place.

In: what a shoe sends. Out: every line's event, and what did not fit; never raises.
Must not know: time, the round, ports.
"""

from __future__ import annotations

from firmware_proto.bee_tek.fields import CR, LF, LONGEST_LINE
from firmware_proto.bee_tek.lines import read_line
from firmware_proto.events import Discarded, ShoeEvent
from firmware_proto.session import ReceivedEvent


class Decoder:
    """One connection's lines; any split of the same bytes gives the same (SPEC.md, "Cutting").

    CR LF, LF, or a CR that no LF follows ends a line. What has no end in ``LONGEST_LINE`` bytes
    is discarded in pieces of that length, up to the next end.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._first = 0
        self._too_long = False
        self._ended = False  # by a CR, and whether an LF belongs to it is not known yet

    @property
    def position(self) -> int:
        """How many bytes were fed so far."""
        return self._first + len(self._line)

    @property
    def unfinished(self) -> int | None:
        """Where the line began that has no end yet; None where all that came has its end."""
        return self._first if not self._ended and self._line.strip(b" \t") else None

    def feed(self, data: bytes) -> list[ReceivedEvent]:
        """Every line that these bytes complete, and what did not fit."""
        heard: list[ReceivedEvent] = []
        for byte in data:
            if self._ended and byte != LF:
                self._close(heard)
            self._line.append(byte)
            if byte == LF:
                self._close(heard)
            elif byte == CR:
                self._ended = True
            elif len(self._line) == LONGEST_LINE:
                self._too_long = True
                self._give(Discarded(reason="too_long"), heard)
        return heard

    def end(self) -> list[ReceivedEvent]:
        """What is left when nothing more will come: a line without its end is not believed."""
        heard: list[ReceivedEvent] = []
        if self._ended:
            self._close(heard)
        elif self._line:
            self._give(Discarded(reason="cut_short"), heard)
        return heard

    def _close(self, heard: list[ReceivedEvent]) -> None:
        """The line has its end."""
        text = bytes(self._line).rstrip(b"\r\n")
        event = Discarded(reason="too_long") if self._too_long else read_line(text)
        self._ended = self._too_long = False
        self._give(event if text else None, heard)

    def _give(self, event: ShoeEvent | None, heard: list[ReceivedEvent]) -> None:
        last = self._first + len(self._line)
        if event is not None:
            heard.append(ReceivedEvent(event, None, self._first, last))
        self._first = last
        self._line.clear()


class Listener(Decoder):
    """Hears a shoe's bytes without any part in the conversation, for people to look at.

    There is no conversation: a host says nothing to this shoe, and hears no more than this.
    """
