"""The seam between a profile and everything else: what each profile's sessions offer.

In: bytes, the time. Out: received events with their place in the stream, bytes to send.
Must not know: ports, clocks, threads, the journal, the round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from firmware_proto.commands import AnyCommand, DesiredShoeState, HostMessage
from firmware_proto.events import ShoeEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The capabilities of a profile's shoes.

    ``arm``: can be armed for one draw and locked by the host. ``replay``: sends again what was
    not acknowledged. ``judges``: sends its own result of a round. ``names_hands``: reports which
    hand a card belongs to. ``decks``: the decks whose cards it can name. ``authenticated``: what
    a session returns of a shoe was proved to be that shoe's with a key; where it is false, the link
    is to be shown as unauthenticated. ``silence_s``: a shoe that is there, and asked as the
    session asks, is never silent for so many seconds; None: it may be silent for hours. ``timed``:
    the events of a session depend not on the bytes alone but on the desired states, commands and
    ticks too: decoding the bytes again needs those, in their order among the bytes.
    ``obeys``: the commands that such a shoe has, by name; ``tells``: what a query can ask;
    ``commands``: whether it may be sent any.
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
    no single frame carried (a gap) names the frame that revealed it. ``device_us`` is the device's
    own time of a numbered event of its present boot, in µs since that boot; None of all else, and
    where the profile's frames carry no time.
    """

    event: ShoeEvent
    seq: int | str | None
    first: int
    last: int
    device_us: int | None = None


@dataclass(frozen=True, slots=True)
class Resume:
    """The part of a device's history that the host has stored: its id and its last event number."""

    device_id: str
    seq: int


class HostSession(Protocol):
    """The host's end of one connection; used once and thrown away. Sans I/O.

    Feeding it bytes never raises. Times are in seconds on any one monotonic scale.
    """

    capabilities: Capabilities

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:
        """Return the events of these bytes. Any split of the same bytes gives the same events."""

    def stored(self, seq: int | str) -> None:
        """Acknowledge this event and all before it: they are stored durably."""

    def set_desired_state(self, state: DesiredShoeState) -> None:
        """Set the state the shoe should be in; it is sent again until the shoe confirms it."""

    def command(self, command: AnyCommand) -> None:
        """Send a command on this connection; its answer names the command's id.

        A command that was not answered when the connection ends is forgotten with it.

        Raises:
            ValueError: such a shoe has no such command, or it cannot be sent now. The message
                never holds a key.
        """

    def tick(self, t: float) -> list[ReceivedEvent]:
        """Let time pass; call at ``next_deadline`` at the latest."""

    def end(self) -> list[ReceivedEvent]:
        """End the connection; return what is left unfinished, if anything. It is the last call."""

    @property
    def next_deadline(self) -> float | None:
        """When to call ``tick`` next, or None."""

    def outgoing(self) -> bytes:
        """Take the bytes to send now, in order; empty when there are none."""


@runtime_checkable
class Acknowledging(Protocol):
    """The further part of sessions of shoes that replay."""

    acknowledged: Resume | None
    """The last event that the shoe reports as acknowledged; None before it has reported it.

    Where that is beyond what the host stored, the host lost what it had, or another one had it.
    """


@runtime_checkable
class Heeding(Protocol):
    """The further part of sessions of shoes that show whether they receive what is sent."""

    heeded: int
    """A count of the times when the shoe showed that it received something: an acknowledgement, an
    arm, a request."""

    unheeded: int
    """A count of the frames since then that show that something sent to the shoe had no effect; 0
    again once a status shows that nothing is outstanding. Messages cross: only its going on means
    anything."""

    def ask_hello(self) -> None:
        """Ask the shoe for its hello, which it sends only if it receives that."""


class DeviceSession(Protocol):
    """The shoe's end of one connection, for simulated shoes and as a model for firmware. Sans I/O.

    The shoe's memory is its owner's: on ``HelloRequest`` the owner sends ``Hello`` and then every
    event that was not acknowledged, in order. A session replays by itself the events that it still
    has; on ``ReplayRequest`` it has not, and the owner sends every event that it keeps,
    acknowledged or not, from that number on.
    """

    def receive(self, data: bytes, t: float) -> list[HostMessage]:
        """Return the host messages of these bytes. Never raises; garbage becomes ``Discarded``."""

    def send(self, event: ShoeEvent, *, seq: int, t_us: int, boot_id: int | None = None) -> None:
        """Send an event with its number; ``t_us`` is the shoe's own time since ``boot_id``.

        ``boot_id`` is the boot in which it happened, by default the one that hello named.

        ``Hello``, ``Status``, ``Reply`` and ``QueryAnswered`` have no number of their own: ``seq``
        is then the number that the next numbered event will have. A ``Gap`` has the number of its
        first.
        """

    def tick(self, t: float) -> None:
        """Let time pass: send again what was not acknowledged in time, where a profile can."""

    @property
    def next_deadline(self) -> float | None:
        """When to call ``tick`` next, or None."""

    def outgoing(self) -> bytes:
        """Take the bytes to send now, in order; empty when there are none."""
