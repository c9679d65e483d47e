"""The Angel Eye profile, as all else sees it: capabilities, port settings, both sessions.

In: settings. Out: fresh sessions. Must not know: which port, whose shoe.
"""

from __future__ import annotations

from collections.abc import Mapping

from firmware_proto.angel_eye.device import AngelEyeDevice
from firmware_proto.angel_eye.host import CAPABILITIES, AngelEyeHost
from firmware_proto.angel_eye.settings import device_settings, host_settings
from firmware_proto.profiles import SerialSettings
from firmware_proto.session import DeviceSession, HostSession, Resume

__all__ = ["CAPABILITIES", "SERIAL", "device_session", "host_session"]

SERIAL = SerialSettings(baud=4800, others=(9600,))
"""8 data bits, no parity, 1 stop bit, no flow control."""


def host_session(*, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:  # noqa: ARG001
    """The host's end of a fresh connection; ``resume`` means nothing to a shoe without memory.

    Raises:
        ValueError: a setting that the profile has not, or a value it cannot take.
    """
    return AngelEyeHost(host_settings(settings))


def device_session(*, settings: Mapping[str, object]) -> DeviceSession:
    """The shoe's end of a fresh connection.

    Raises:
        ValueError: a setting that the profile has not, or a value it cannot take.
    """
    return AngelEyeDevice(device_settings(settings))
