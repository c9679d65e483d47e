"""The reference profile: our own open protocol, with keys (SPEC.md beside this module).

* ``profile``: both ends of a connection, for whoever picks a profile by name.
* ``host``, ``device``: the host's end, and the shoe's.
* ``authentication``, ``mac``: who is speaking: challenges, responses, keys and MACs.
* ``codec``, ``framing``: bytes to messages; where frames begin and end.
* ``messages``, ``fields``, ``packing``: which event a message carries; values of fields; bytes.
* ``layouts``: every layout, declared in construct; ``compiled_layouts`` is generated from it.
* ``settings``: what such shoes can do, and which firmware they may run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_proto.lazy_names import lazy_names

__all__ = [
    "CAPABILITIES",
    "SERIAL",
    "Decoder",
    "HostKeys",
    "Keyed",
    "Kind",
    "Listener",
    "Message",
    "Recorded",
    "ShoeKeys",
    "device_session",
    "encode",
    "host_session",
    "parse_keys",
]

if TYPE_CHECKING:
    from firmware_proto.reference.codec import Decoder, Listener, Message, encode
    from firmware_proto.reference.mac import HostKeys, ShoeKeys, parse_keys
    from firmware_proto.reference.packing import Kind
    from firmware_proto.reference.profile import (
        SERIAL,
        Keyed,
        Recorded,
        device_session,
        host_session,
    )
    from firmware_proto.reference.settings import CAPABILITIES
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "CAPABILITIES": "settings",
            "SERIAL": "profile",
            "Decoder": "codec",
            "HostKeys": "mac",
            "Keyed": "profile",
            "Kind": "packing",
            "Listener": "codec",
            "Message": "codec",
            "Recorded": "profile",
            "ShoeKeys": "mac",
            "device_session": "profile",
            "encode": "codec",
            "host_session": "profile",
            "parse_keys": "mac",
        },
    )
