"""The Bee-Tek profile, as all else sees it: capabilities, port settings, both sessions.

In: settings; the shoe's bytes, or its events. Out: received events, or its bytes. Sans I/O.
Must not know: which port, whose shoe, the round: which hand a card is for follows elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from firmware_proto.bee_tek.codec import Decoder
from firmware_proto.bee_tek.lines import encode
from firmware_proto.bee_tek.settings import DeviceSettings, check_host, device_settings
from firmware_proto.commands import AnyCommand, DesiredShoeState, HostMessage
from firmware_proto.events import Discarded, Gap, Hello, ShoeEvent, ShoeLoaded, Status
from firmware_proto.profiles import SerialSettings
from firmware_proto.session import Capabilities, DeviceSession, HostSession, ReceivedEvent, Resume

CAPABILITIES = Capabilities(
    arm=False, replay=False, judges=False, names_hands=False, decks=("french52",), timed=True
)

LINE_S: Final = 2.0
"""The longest line takes 0.14 s at 9600 baud: one that is not finished after this has no end."""

SERIAL = SerialSettings(baud=9600)
"""8 data bits, no parity, 1 stop bit, no flow control."""

NOT_SENT: Final = (Hello, ShoeLoaded, Status, Gap)
"""Facts that the shoe knows of itself and this wire cannot carry."""


class BeeTekHost:
    """A ``HostSession`` that only listens: no byte ever goes to the shoe.

    A line that has no end is reported once, and read all the same should its end come. When that is
    depends on ticks alone, so that a replay has the same.
    """

    capabilities = CAPABILITIES

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._began: int | None = None  # where the line began that the last tick found unfinished
        self._reported: int | None = None  # where the last reported one began
        self._look_at: float | None = None

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:
        """Return the events of these bytes; any split gives the same events. Never raises."""
        received = self._decoder.feed(data)
        began = self._decoder.unfinished
        if began is None or began == self._reported:
            self._look_at = None
        elif self._look_at is None:
            self._look_at = t + LINE_S
        return received

    def stored(self, seq: int | str) -> None:
        """Nothing to do: this wire has no numbers and no acknowledgements."""

    def set_desired_state(self, state: DesiredShoeState) -> None:
        """Do nothing: the shoe takes no commands."""

    def command(self, command: AnyCommand) -> None:
        """Always refused.

        Raises:
            ValueError: no command of this shoe is known.
        """
        raise ValueError(f"no command of a bee_tek shoe is known: {type(command).__name__}")

    def tick(self, t: float) -> list[ReceivedEvent]:
        """Report a line that two ticks found unfinished: it has no end."""
        began, before = self._decoder.unfinished, self._began
        self._began, self._look_at = began, None
        if began is None or began == self._reported:
            return []
        if began != before:
            self._look_at = t + LINE_S
            return []
        self._reported = began
        return [ReceivedEvent(Discarded(reason="no_end"), None, began, self._decoder.position)]

    def end(self) -> list[ReceivedEvent]:
        """The connection ended: the line that was not finished, if any."""
        return self._decoder.end()

    @property
    def next_deadline(self) -> float | None:
        """While a line is not finished: when ``tick`` wants to be called."""
        return self._look_at

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

    def receive(self, data: bytes, t: float) -> list[HostMessage]:  # noqa: ARG002
        """Whatever comes is ``Discarded``, one for each portion. Never raises."""
        return [Discarded(reason="no_commands")] if data else []

    def send(  # this wire carries no numbers, times or boots
        self,
        event: ShoeEvent,
        *,
        seq: int,  # noqa: ARG002
        t_us: int,  # noqa: ARG002
        boot_id: int | None = None,  # noqa: ARG002
    ) -> None:
        """Send an event's line; what the wire cannot carry (``NOT_SENT``) is left out.

        Raises:
            ValueError: a value that the wire cannot carry, or an event that no such shoe sends.
        """
        if not isinstance(event, NOT_SENT):
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
