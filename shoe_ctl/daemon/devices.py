"""The last event number stored of each device that a table has had: where it is to go on from.

In: receptions. Out: numbers for the group that stores them, what a connection resumes from.
Must not know: what the events mean, when they are stored.
"""

from __future__ import annotations

from firmware_proto.events import Hello
from firmware_proto.session import Resume
from shoe_ctl.journal.group import Group
from shoe_ctl.link.connection import Reception


class Devices:
    """``stored`` holds each device's last number so far."""

    def __init__(self, table: str, stored: dict[str, int]) -> None:
        self._table = table
        self._stored = stored
        self._speaking: str | None = None

    def connected(self) -> None:
        """On a new connection nobody has said yet who speaks."""
        self._speaking = None

    def resume(self, device_id: str | None) -> Resume | None:
        """What this device is asked to go on from; None where nothing is known of it."""
        if device_id is None or device_id not in self._stored:
            return None
        return Resume(device_id, self._stored[device_id])

    def stored(self, device_id: str) -> int | None:
        """The last event number stored of this device; None where nothing is known of it."""
        return self._stored.get(device_id)

    def note(self, group: Group, reception: Reception) -> int | str | None:
        """The last event number that this reception brings, kept with the group."""
        last: int | str | None = None
        for heard in reception.heard:
            if isinstance(heard.event, Hello):
                self._speaking = heard.event.device_id
            if heard.seq is not None:
                last = heard.seq
            if isinstance(heard.seq, int) and self._speaking is not None:
                self._stored[self._speaking] = heard.seq
                group.device_seq(self._table, self._speaking, heard.seq)
        return last
