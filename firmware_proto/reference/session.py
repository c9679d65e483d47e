"""What the reference profile offers to those that pick a profile by name; see ``Profile``.

In: what the host durably knows, settings. Out: the ends of a connection.
Must not know: ports, clocks.
"""

from __future__ import annotations

from collections.abc import Mapping

from firmware_proto.profiles import SerialSettings
from firmware_proto.session import DeviceSession, HostSession, Resume

from .device import ReferenceDevice
from .host import CAPABILITIES, ReferenceHost

__all__ = ["CAPABILITIES", "SERIAL", "device_session", "host_session"]

SERIAL = SerialSettings(baud=115200)
"""SPEC 1."""


def host_session(*, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:
    """A fresh session for one connection.

    Raises:
        ValueError: any setting: the profile has none.
    """
    _refuse(settings)
    return ReferenceHost(resume)


def device_session(*, settings: Mapping[str, object]) -> DeviceSession:
    """The shoe's end of one fresh connection.

    Raises:
        ValueError: any setting: the profile has none.
    """
    _refuse(settings)
    return ReferenceDevice()


def _refuse(settings: Mapping[str, object]) -> None:
    for key in settings:
        raise ValueError(f"the reference profile has no setting {key!r}")
