"""The Angel Eye profile: community-derived, not verified on hardware (SPEC.md beside this module).

* ``profile``: both ends of a connection, for whoever picks a profile by name.
* ``host``, ``command_queue``, ``device``: the host's end, its commands; the shoe's end.
* ``codec``, ``scanner``, ``frames``: streams to frames, repeats; one frame and its event.
* ``layouts``: every layout, declared in construct; ``compiled_layouts`` is generated from it.
* ``fields``, ``settings``: values of fields; where integrators disagree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_proto.lazy_names import lazy_names

__all__ = [
    "CAPABILITIES",
    "SERIAL",
    "Decoder",
    "DeviceSettings",
    "HostSettings",
    "Listener",
    "device_session",
    "encode_command",
    "encode_event",
    "encode_reply",
    "host_session",
]

if TYPE_CHECKING:
    from firmware_proto.angel_eye.codec import Decoder, Listener
    from firmware_proto.angel_eye.frames import encode_command, encode_event, encode_reply
    from firmware_proto.angel_eye.host import CAPABILITIES
    from firmware_proto.angel_eye.profile import SERIAL, device_session, host_session
    from firmware_proto.angel_eye.settings import DeviceSettings, HostSettings
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "CAPABILITIES": "host",
            "SERIAL": "profile",
            "Decoder": "codec",
            "DeviceSettings": "settings",
            "HostSettings": "settings",
            "Listener": "codec",
            "device_session": "profile",
            "encode_command": "frames",
            "encode_event": "frames",
            "encode_reply": "frames",
            "host_session": "profile",
        },
    )
