"""The profiles by name. Each is imported only when asked for: a command pays for what it uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Protocol, cast

from firmware_proto.events import ShoeEvent
from firmware_proto.session import Capabilities, DeviceSession, HostSession, Resume

PROFILES = ("reference", "angel_eye", "bee_tek")
"""The names a configuration may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialSettings:
    """The settings of a profile's serial port. ``parity`` is N, E or O.

    ``others``: rates that shoes of the profile have been met at, too.
    """

    baud: int
    others: tuple[int, ...] = ()
    bits: int = 8
    parity: str = "N"
    stop_bits: int = 1

    @property
    def rates(self) -> tuple[int, ...]:
        """Every rate that is known, in baud, the usual one first."""
        return (self.baud, *self.others)

    def at(self, baud: int | None) -> SerialSettings:
        """The same at another of the rates that are known; None: as they are.

        Raises:
            ValueError: a rate that shoes of the profile are not known to have.
        """
        if baud is None or baud == self.baud:
            return self
        if baud not in self.rates:
            raise ValueError(f"baud: expected {' or '.join(map(str, self.rates))}, not {baud}")
        others = tuple(rate for rate in self.rates if rate != baud)
        return replace(self, baud=baud, others=others)


class Profile(Protocol):
    """The names that each profile's module ``profile`` has."""

    CAPABILITIES: Capabilities
    SERIAL: SerialSettings

    def host_session(self, *, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:
        """A fresh session for one connection.

        Raises:
            ValueError: a setting that the profile has not, or a value it cannot take.
        """

    def device_session(self, *, settings: Mapping[str, object]) -> DeviceSession:
        """The shoe's end of one fresh connection; raises like ``host_session``."""


def profile(name: str) -> Profile:
    """The profile of this name.

    Raises:
        ValueError: no such profile.
    """
    if name not in PROFILES:
        raise ValueError(f"unknown profile {name!r} (have: {', '.join(PROFILES)})")
    return cast(Profile, import_module(f"firmware_proto.{name}.profile"))


def with_keys(
    chosen: Profile, keys: Mapping[str, Mapping[int, bytes]], nonce: Callable[[], bytes]
) -> Profile:
    """The same profile, whose host sessions accept only shoes that prove one of these keys.

    ``keys`` are by device id, then by key id; ``nonce`` returns 16 bytes, never the same twice.

    Raises:
        ValueError: shoes of this profile cannot prove anything.
    """
    if not hasattr(chosen, "Keyed"):
        raise ValueError("shoes of this profile have no keys")
    from firmware_proto.reference.mac import HostKeys

    return cast(Profile, chosen.Keyed(HostKeys(keys, nonce)))


def with_recorded_verdicts(
    chosen: Profile,
    verdict_of: Callable[[int], ShoeEvent | None],
    keys: Mapping[str, Mapping[int, bytes]] | None,
    missing: Callable[[str, int], None],
) -> Profile:
    """The same profile, whose host sessions receive again what keyed ones received, for a replay.

    ``verdict_of`` returns the event recorded of the frame at this place. With ``keys`` responses
    and MACs are checked again; ``missing`` is called with the device and id of a missing key.

    Raises:
        ValueError: shoes of this profile cannot prove anything.
    """
    if not hasattr(chosen, "Recorded"):
        raise ValueError("shoes of this profile have no keys")
    return cast(Profile, chosen.Recorded(verdict_of, keys, missing))
