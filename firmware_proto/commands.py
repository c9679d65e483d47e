"""Messages of a host to a shoe: desired states, commands with ids, and the protocol's own requests.

In: nothing. Out: DesiredShoeState, ShoeCommand and HostMessage values.
Must not know: which profile sends them, bytes, the round.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from firmware_proto.events import Discarded


@dataclass(frozen=True, slots=True)
class Locked:
    """Desired state: no card may be drawn."""


@dataclass(frozen=True, slots=True)
class Armed:
    """Desired state: exactly draw ``number`` (from 1 in the loaded set), for this hand's slot."""

    number: int
    hand: str
    index: int


DesiredShoeState = Locked | Armed
"""The desired state of a shoe. A session sends it again on every connect."""


@dataclass(frozen=True, slots=True)
class Show:
    """Command: show this text on the shoe's display, nothing of it left of what stood there."""

    command_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Reset:
    """Command: lock, forget faults, clear the display. Cards, counts and memory stay."""

    command_id: int


@dataclass(frozen=True, slots=True)
class TestSelf:
    """Command: test yourself."""

    __test__ = False  # not one of pytest's
    command_id: int


@dataclass(frozen=True, slots=True)
class Query:
    """Command: report ``what``.

    clock: µs since 1970 UTC as last set; battery: percent; lifetime_draws: cards ever drawn;
    temperature: kelvin; progress: how far the game is, of shoes that judge it.
    """

    command_id: int
    what: str


@dataclass(frozen=True, slots=True)
class SetTime:
    """Command: it is ``unix_us`` now, in µs since 1970 UTC. Never sent twice: it would be wrong."""

    command_id: int
    unix_us: int


@dataclass(frozen=True, slots=True)
class RotateKey:
    """Command: from the next connection on, prove yourself with this key (32 bytes)."""

    command_id: int
    key_id: int
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClearError:
    """Command: your error is dealt with.

    ``overdraw``: ``keep`` the card drawn early or ``discard`` it and use the next; None for
    every other error.
    """

    command_id: int
    overdraw: str | None = None


@dataclass(frozen=True, slots=True)
class Challenge:
    """The host asks for a proof with key ``key_id``; ``nonce`` is in hex."""

    key_id: int
    nonce: str


ShoeCommand = Show | Reset | TestSelf | Query | SetTime | RotateKey
"""A command that is carried out once. ``command_id`` is the owner's, another for each: a shoe that
receives the same again sends the same answer and does nothing more."""

AnyCommand = ShoeCommand | ClearError
"""Any command of any profile. A shoe whose wire carries no id may carry out a command again when it
is sent again."""


@dataclass(frozen=True, slots=True)
class HelloRequest:
    """The host asks for hello; the shoe sends it, then every event that was not acknowledged."""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """The host has stored every event up to and including ``through`` durably."""

    through: int


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """The host asks for event number ``first`` and every one after it again."""

    first: int


@dataclass(frozen=True, slots=True)
class VendorCommand:
    """A vendor's command: operation, type and data as that profile's SPEC names them."""

    operation: str
    kind: str
    data: str


HostMessage = (
    HelloRequest
    | Acknowledge
    | ReplayRequest
    | VendorCommand
    | Armed
    | Locked
    | ShoeCommand
    | Challenge
    | Discarded
)
"""Any message of a host, as the shoe's end receives it."""
