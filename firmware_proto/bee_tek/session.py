"""What the Bee-Tek profile offers to all else: capabilities, port settings, both sessions.

In: settings; the shoe's bytes, or its events. Out: heard events, or its bytes. Sans I/O.
Must not know: which port, whose shoe, the round: which hand a card is for follows elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from firmware_proto.events import (
    AnyCommand,
    DesiredShoeState,
    Discarded,
    Gap,
    Hello,
    HostSaid,
    ShoeEvent,
    ShoeLoaded,
    Status,
)
from firmware_proto.profiles import SerialSettings
from firmware_proto.session import Capabilities, DeviceSession, Heard, HostSession, Resume

from .codec import Decoder
from .lines import encode
from .settings import DeviceSettings, check_host, device_settings

CAPABILITIES = Capabilities(
    arm=False, replay=False, judges=False, names_hands=False, decks=("french52",)
)

SERIAL = SerialSettings(baud=9600)
"""8 data bits, no parity, 1 stop bit, no flow control."""

UNSAID: Final = (Hello, ShoeLoaded, Status, Gap)
"""What the shoe knows of itself and this wire cannot carry."""


class BeeTekHost:
    """A ``HostSession`` that only listens: no byte ever goes to the shoe."""

    capabilities = CAPABILITIES
    next_deadline: float | None = None
    """Never: nothing is sent, so nothing is waited for."""

    def __init__(self) -> None:
        self._decoder = Decoder()

    def receive(self, data: bytes, t: float) -> list[Heard]:  # noqa: ARG002
        """What these bytes say; any split of them gives the same events. Never raises."""
        return self._decoder.feed(data)

    def stored(self, seq: int | str) -> None:
        """Nothing to do: this wire has no numbers and no acknowledgements."""

    def desire(self, state: DesiredShoeState) -> None:
        """Nothing to do: the shoe cannot be told anything."""

    def command(self, command: AnyCommand) -> None:
        """Always refused.

        Raises:
            ValueError: no command of this shoe is known.
        """
        raise ValueError(f"no command of a bee_tek shoe is known: {type(command).__name__}")

    def tick(self, t: float) -> list[Heard]:  # noqa: ARG002
        """Nothing is timed."""
        return []

    def outgoing(self) -> bytes:
        """Nothing, always."""
        return b""


class BeeTekDevice:
    """A ``DeviceSession``: lines go out, each once; nothing a host sends is understood."""

    next_deadline: float | None = None
    """Never: this wire cannot send again what was lost."""

    def __init__(self, settings: DeviceSettings) -> None:
        self._settings = settings
        self._outgoing = bytearray()

    def receive(self, data: bytes, t: float) -> list[HostSaid]:  # noqa: ARG002
        """Whatever comes is ``Discarded``, one for each portion. Never raises."""
        return [Discarded(reason="no_commands")] if data else []

    def say(  # this wire carries no numbers, times or boots
        self,
        event: ShoeEvent,
        *,
        seq: int,  # noqa: ARG002
        t_us: int,  # noqa: ARG002
        boot_id: int | None = None,  # noqa: ARG002
    ) -> None:
        """Sends an event's line; what the wire cannot carry (``UNSAID``) is left unsaid.

        Raises:
            ValueError: a value that the wire cannot carry, or an event that no such shoe says.
        """
        if not isinstance(event, UNSAID):
            chosen = self._settings
            self._outgoing += encode(event, form=chosen.card_form, ten=chosen.ten)

    def tick(self, t: float) -> None:
        """Nothing is timed."""

    def outgoing(self) -> bytes:
        """Takes the bytes to be sent now."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data


def host_session(*, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:  # noqa: ARG001
    """The host's end of a fresh connection; ``resume`` means nothing to a shoe without memory.

    Raises:
        ValueError: a setting that the profile has not, or a value it cannot take.
    """
    check_host(settings)
    return BeeTekHost()


def device_session(*, settings: Mapping[str, object]) -> DeviceSession:
    """The shoe's end of a fresh connection.

    Raises:
        ValueError: a setting that the profile has not, or a value it cannot take.
    """
    return BeeTekDevice(device_settings(settings))
