"""The shoe's end of one connection: for simulated shoes. Sans I/O.

In: the host's bytes; events with the owner's numbers. Out: received commands, frames.
Must not know: cards in the shoe, ports, clocks, what a command does.
"""

from __future__ import annotations

from typing import Final

from firmware_proto.angel_eye.codec import CommandDecoder
from firmware_proto.angel_eye.frames import encode_event, encode_reply
from firmware_proto.angel_eye.settings import DeviceSettings
from firmware_proto.commands import HostMessage, VendorCommand
from firmware_proto.events import Discarded, Gap, Hello, Reply, ShoeEvent, ShoeLoaded, Status

SEQUENCE: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The sequence characters in order: number n is sent as the character at n modulo 36."""

NOT_SENT: Final = (Hello, ShoeLoaded, Status, Gap)
"""Facts that the shoe knows of itself and this wire cannot carry."""


class AngelEyeDevice:
    """A ``DeviceSession``. Replies go out bare, and once."""

    def __init__(self, settings: DeviceSettings) -> None:
        self._decoder = CommandDecoder(settings.command_bcc)
        self._sends = settings.sends
        self._outgoing = bytearray()

    def receive(self, data: bytes, t: float) -> list[HostMessage]:  # noqa: ARG002
        """The host's commands; what is none is ``Discarded``. Never raises."""
        return [
            item.content
            for item in self._decoder.feed(data)
            if isinstance(item.content, VendorCommand | Discarded)
        ]

    def send(  # this wire carries no times and no boots
        self,
        event: ShoeEvent,
        *,
        seq: int,
        t_us: int,  # noqa: ARG002
        boot_id: int | None = None,  # noqa: ARG002
    ) -> None:
        """Sends an event; the wire carries no time, and of ``seq`` its place in ``SEQUENCE``.

        What the wire cannot carry (``NOT_SENT``) is left out.

        Raises:
            ValueError: a value that the wire cannot carry, or an event that no such shoe sends.
        """
        if isinstance(event, NOT_SENT):
            return
        if isinstance(event, Reply):
            self._outgoing += encode_reply(event)
            return
        frame = encode_event(event, SEQUENCE[seq % len(SEQUENCE)])
        self._outgoing += frame * self._sends

    def tick(self, t: float) -> None:
        """Nothing is timed: this wire cannot send again what was lost."""

    @property
    def next_deadline(self) -> float | None:
        """Never."""
        return None

    def outgoing(self) -> bytes:
        """Takes the bytes to be sent now."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data
