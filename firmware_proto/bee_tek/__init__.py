"""The Bee-Tek profile: community-derived, not verified on hardware (SPEC.md beside this module).

* ``profile``: both ends of a connection, for whoever picks a profile by name.
* ``codec``, ``lines``: streams to lines; one line and its event.
* ``layouts``: every layout, declared in construct; ``compiled_layouts`` is generated from it.
* ``fields``, ``settings``: words of the wire; how a simulated shoe writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_proto.lazy_names import lazy_names

__all__ = [
    "CAPABILITIES",
    "SERIAL",
    "CardForm",
    "Decoder",
    "DeviceSettings",
    "Listener",
    "TenForm",
    "device_session",
    "encode",
    "host_session",
    "read_line",
]

if TYPE_CHECKING:
    from firmware_proto.bee_tek.codec import Decoder, Listener
    from firmware_proto.bee_tek.lines import CardForm, TenForm, encode, read_line
    from firmware_proto.bee_tek.profile import CAPABILITIES, SERIAL, device_session, host_session
    from firmware_proto.bee_tek.settings import DeviceSettings
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "CAPABILITIES": "profile",
            "SERIAL": "profile",
            "CardForm": "lines",
            "Decoder": "codec",
            "DeviceSettings": "settings",
            "Listener": "codec",
            "TenForm": "lines",
            "device_session": "profile",
            "encode": "lines",
            "host_session": "profile",
            "read_line": "lines",
        },
    )
