"""The reference profile, for those that pick a profile by name; see ``Profile``.

In: what the host durably knows, settings, keys. Out: the ends of a connection.
Must not know: ports, clocks, files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from firmware_proto.profiles import SerialSettings
from firmware_proto.reference.authentication import (
    CheckingAuthenticator,
    HostAuthenticator,
    KeyAuthenticator,
    RecordedAuthenticator,
    ShoeAuthenticator,
    VerdictOf,
)
from firmware_proto.reference.device import ReferenceDevice
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.reference.mac import HostKeys, ShoeKeys
from firmware_proto.reference.settings import CAPABILITIES, WITH_KEYS, allowed_firmware
from firmware_proto.session import Capabilities, Resume

__all__ = ["CAPABILITIES", "SERIAL", "Keyed", "Recorded", "device_session", "host_session"]

SERIAL = SerialSettings(baud=115200)
"""SPEC 1."""


def host_session(
    *,
    resume: Resume | None,
    settings: Mapping[str, object],
    auth: HostAuthenticator | None = None,
) -> ReferenceHost:
    """Return a new session for one connection; without an authenticator it accepts any sender.

    Raises:
        ValueError: a setting that the profile has not, or a value it cannot take.
    """
    return ReferenceHost(resume, auth=auth, firmware=allowed_firmware(settings))


def device_session(
    *, settings: Mapping[str, object], keys: ShoeKeys | None = None
) -> ReferenceDevice:
    """Return the shoe's end of a new connection; with keys it obeys only a host that has one.

    Raises:
        ValueError: any setting: the shoe's end has none.
    """
    for key in settings:
        raise ValueError(f"the reference profile's shoe has no setting {key!r}")
    return ReferenceDevice(ShoeAuthenticator(keys) if keys is not None and keys.keys else None)


@dataclass(frozen=True, slots=True)
class Keyed:
    """The profile with a table's keys: a ``Profile`` whose sessions require authentication."""

    keys: HostKeys
    CAPABILITIES: Capabilities = WITH_KEYS
    SERIAL: SerialSettings = SERIAL

    def host_session(
        self, *, resume: Resume | None, settings: Mapping[str, object]
    ) -> ReferenceHost:
        """As the module's own, with an authenticator of its own for each connection."""
        return host_session(resume=resume, settings=settings, auth=KeyAuthenticator(self.keys))

    def device_session(self, *, settings: Mapping[str, object]) -> ReferenceDevice:
        """The shoe's end, without a key of its own."""
        return device_session(settings=settings)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The profile for replay of what keyed sessions received: a ``Profile`` that needs no key.

    With ``keys`` MACs and responses are checked again; see ``CheckingAuthenticator``.
    """

    verdict_of: VerdictOf
    keys: Mapping[str, Mapping[int, bytes]] | None = field(repr=False)
    missing: Callable[[str, int], None]
    CAPABILITIES: Capabilities = WITH_KEYS
    SERIAL: SerialSettings = SERIAL

    def host_session(
        self, *, resume: Resume | None, settings: Mapping[str, object]
    ) -> ReferenceHost:
        """As the module's own, with an authenticator of its own for each connection."""
        auth: HostAuthenticator = RecordedAuthenticator(self.verdict_of)
        if self.keys is not None:
            auth = CheckingAuthenticator(self.keys, self.verdict_of, self.missing)
        return host_session(resume=resume, settings=settings, auth=auth)

    def device_session(self, *, settings: Mapping[str, object]) -> ReferenceDevice:
        """The shoe's end, without a key of its own."""
        return device_session(settings=settings)
