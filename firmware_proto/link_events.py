"""What is to be told of the line itself: frames lost, repeated, refused, and who is speaking.

In: nothing. Out: ShoeEvent values; ``events`` gives them to everyone.
Must not know: which profile said it, bytes, keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from .shoe_event import ShoeEvent

KEYLESS: Final = "the shoe wants a key, and this host has none"
NO_KEY: Final = "no key for this shoe"
NO_PROOF: Final = "the shoe cannot prove who it is"
WRONG_PROOF: Final = "wrong proof"

_REFUSED_FOR: Final = {KEYLESS: "no_key", NO_KEY: "no_key", NO_PROOF: "unauthenticated"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(ShoeEvent):
    """Events the shoe sent that this host never got and never will. Both ends inclusive."""

    type: ClassVar[str] = "gap"
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated(ShoeEvent):
    """A frame already heard, sent again by the shoe; ``count`` of them, where there were more."""

    type: ClassVar[str] = "repeated"
    of: str
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overheard(ShoeEvent):
    """What the host said, in a recording of both directions; no session ever gives it.

    ``command`` is the profile's own name for it, the rest what it carried, where it carried it.
    """

    type: ClassVar[str] = "command"
    command: str
    through: int | None = None
    first: int | None = None
    number: int | None = None
    hand: str | None = None
    index: int | None = None
    command_id: int | None = None
    text: str | None = None
    what: str | None = None
    unix_us: int | None = None
    key_id: int | None = None
    nonce: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded(ShoeEvent):
    """Bytes that did not fit. Counted, logged, journaled; never silently dropped.

    ``history``: they fit, but tell of a time before this host knew the shoe. A run of ``count``
    such pieces that came in one go is recorded as one, with its first and last bytes in hex;
    ``reason`` is ``several`` where they had different ones. No session gives a run.
    """

    type: ClassVar[str] = "discarded"
    reason: str
    history: bool | None = None
    count: int | None = None
    first_bytes: str | None = None
    last_bytes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandUnanswered(ShoeEvent):
    """The host gave a command up: it is not known whether the shoe did it. ``reason`` says why."""

    type: ClassVar[str] = "command_unanswered"
    command_id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenged(ShoeEvent):
    """A shoe named itself and was asked to prove it. Nothing that it says is believed yet.

    ``nonce`` is the host's, in hex.
    """

    type: ClassVar[str] = "challenged"
    device_id: str
    key_id: int
    nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeAnswered(ShoeEvent):
    """A shoe's answer to a challenge, in a recording; sessions say what came of it instead.

    ``key_id`` is another than was asked for where the shoe has not that one; ``nonce``, the
    shoe's, and ``proof`` are in hex.
    """

    type: ClassVar[str] = "challenge_answered"
    key_id: int
    nonce: str
    proof: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticated(ShoeEvent):
    """The shoe proved that it is ``device_id``: from here on only it can be heard.

    With ``key_id`` and both nonces, in hex, whoever has the key can check every MAC of this
    connection again.
    """

    type: ClassVar[str] = "authenticated"
    device_id: str
    boot_id: int
    key_id: int
    host_nonce: str
    shoe_nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationFailed(ShoeEvent):
    """Who speaks did not prove to be a shoe of this table: nothing of it is given."""

    type: ClassVar[str] = "authentication_failed"
    reason: str
    device_id: str
    key_id: int | None = None

    @property
    def code(self) -> str:
        """The reason for programs: ``no_key``, ``unauthenticated`` or ``wrong_key``."""
        return _REFUSED_FOR.get(self.reason, "wrong_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownFirmware(ShoeEvent):
    """The shoe runs a firmware that is not on the list; ``refused``: so it is not armed."""

    type: ClassVar[str] = "unknown_firmware"
    firmware: str
    firmware_digest: str | None = None
    refused: bool
