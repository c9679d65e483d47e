"""The seam between a profile and everything else: what each profile's sessions offer.

In: bytes as they come, the time. Out: heard events with their place in the stream, bytes to send.
Must not know: ports, clocks, threads, the journal, the round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from firmware_proto.commands import AnyCommand, DesiredShoeState, HostMessage
from firmware_proto.events import ShoeEvent

COMMANDS = ("reset", "self_test", "query", "clear_error", "rotate_key", "set_time", "show")
"""What a shoe may be told once, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What shoes of a profile can do.

    ``arm``: can be armed for one draw and locked by the host. ``replay``: sends again what was
    not acknowledged. ``judges``: sends its own result of a round. ``names_hands``: says which
    hand a card belongs to. ``decks``: the decks whose cards it can name. ``authenticated``: what
    a session gives of a shoe was proved to be that shoe's with a key; where it is false, the link
    is to be shown as unauthenticated. ``silence_s``: a shoe that is there, and asked as the
    session asks, is never silent for so many seconds; None: it may be silent for hours. ``timed``:
    what a session gives depends not on the bytes alone but on what it was told to desire, on its
    commands and its ticks: whoever decodes the bytes again needs those too, in their order among
    the bytes.
    ``obeys``: the commands that such a shoe has (of ``COMMANDS``); ``tells``: what it can be asked
    with a query; ``commands``: whether it may be sent any.
    """

    arm: bool
    replay: bool
    judges: bool
    names_hands: bool
    decks: tuple[str, ...]
    authenticated: bool = False
    silence_s: float | None = None
    timed: bool = False
    obeys: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()
    commands: bool = False


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """One event and where it came from.

    ``seq`` is the profile's own number for it (None where it has none): once the event is stored
    durably, the owner calls ``stored(seq)``. ``first`` and ``last`` are the byte range in this
    connection's stream, ``last`` exclusive, the connection's first byte being 0. An event that
    no single frame carried (a gap) names the frame that revealed it.
    """

    event: ShoeEvent
    seq: int | str | None
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Resume:
    """What the host durably knows of a device: its id and the last event number it stored."""

    device_id: str
    seq: int


class HostSession(Protocol):
    """The host's end of one connection; used once and thrown away. Sans I/O.

    Feeding it bytes never raises. Times are in seconds on any one monotonic scale.
    """

    capabilities: Capabilities

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:
        """What these bytes say. Any split of the same bytes gives the same events."""

    def stored(self, seq: int | str) -> None:
        """The event with this number (and all before it) is stored durably: acknowledge it."""

    def set_desired_state(self, state: DesiredShoeState) -> None:
        """What the shoe should be from now on; asserted again until the shoe confirms it."""

    def command(self, command: AnyCommand) -> None:
        """Tells the shoe this on this connection; what it answers names the command's id.

        A command that was not answered when the connection ends is forgotten with it.

        Raises:
            ValueError: such a shoe has no such command, or it cannot be sent now. The message
                never holds a key.
        """

    def tick(self, t: float) -> list[ReceivedEvent]:
        """Time passed; call at ``next_deadline`` at the latest."""

    def end(self) -> list[ReceivedEvent]:
        """The connection ended: what is left unfinished, if anything. Nothing is called after."""

    @property
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called next, or None."""

    def outgoing(self) -> bytes:
        """Takes the bytes to be sent now, in order; empty when there are none."""


class Acknowledging(Protocol):
    """What sessions of shoes that replay say besides."""

    acknowledged: Resume | None
    """Up to which event the shoe says that all were acknowledged; None while it has not said so.

    Where that is beyond what the host stored, the host lost what it had, or another one had it.
    """


class DeviceSession(Protocol):
    """The shoe's end of one connection, for simulated shoes and as a model for firmware. Sans I/O.

    The shoe's memory is its owner's: on ``HelloRequest`` the owner says ``Hello`` and then every
    event that was not acknowledged, in order. A session that still has what the host wants said
    again says it by itself; on ``ReplayRequest`` it has not, and the owner says every event that it
    keeps, acknowledged or not, from that number on.
    """

    def receive(self, data: bytes, t: float) -> list[HostMessage]:
        """What these bytes of the host say. Never raises; garbage becomes ``Discarded``."""

    def send(self, event: ShoeEvent, *, seq: int, t_us: int, boot_id: int | None = None) -> None:
        """Sends an event with its number; ``t_us`` is the shoe's own time since ``boot_id``.

        ``boot_id`` is the boot in which it happened, by default the one that hello named.

        ``Hello``, ``Status``, ``Reply`` and ``QueryAnswered`` have no number of their own: ``seq``
        is then the number that the next numbered event will have. A ``Gap`` has the number of its
        first.
        """

    def tick(self, t: float) -> None:
        """Time passed: what was not acknowledged in time is sent again, where a profile can."""

    @property
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called next, or None."""

    def outgoing(self) -> bytes:
        """Takes the bytes to be sent now, in order; empty when there are none."""
