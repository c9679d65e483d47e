"""The protocols of card-reading shoes, from both ends: a shoe's and its host's. No I/O, no clock.

A *profile* is one protocol: ``reference`` (our own, open), ``angel_eye`` and ``bee_tek``. Its host
session turns a shoe's bytes into events and a host's wishes into bytes; its device session is the
other end, for simulated shoes and as a model for firmware:

    from firmware_proto import profile

    session = profile("reference").host_session(resume=None, settings={})
    for received in session.receive(data, t):
        print(received.event)

* ``cards``: cards and decks.
* ``events``, ``commands``: what a shoe sends; what a host sends. The same for every profile.
* ``session``, ``profiles``: what the sessions of every profile offer; the profiles by name.
* ``capture``: recorded bytes as lines of JSON.
* ``reference``, ``angel_eye``, ``bee_tek``: each profile, with its SPEC.md.
* ``kit``: C sources for firmware, and what is derived from the layouts.
* ``suggestion``, ``version``: shared by all packages: the nearest known name, the version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_proto.lazy_names import lazy_names

__all__ = [
    "CARDS",
    "DECKS",
    "ELEMENT65",
    "EVENTS",
    "FRENCH52",
    "PROFILES",
    "Armed",
    "Capabilities",
    "Card",
    "DesiredShoeState",
    "DeviceSession",
    "HostMessage",
    "HostSession",
    "Locked",
    "Profile",
    "ReceivedEvent",
    "Resume",
    "SerialSettings",
    "ShoeCommand",
    "ShoeEvent",
    "card",
    "from_plain",
    "profile",
    "to_plain",
    "with_keys",
]

if TYPE_CHECKING:
    from firmware_proto.cards import CARDS, DECKS, ELEMENT65, FRENCH52, Card, card
    from firmware_proto.commands import Armed, DesiredShoeState, HostMessage, Locked, ShoeCommand
    from firmware_proto.events import EVENTS, ShoeEvent, from_plain, to_plain
    from firmware_proto.profiles import PROFILES, Profile, SerialSettings, profile, with_keys
    from firmware_proto.session import (
        Capabilities,
        DeviceSession,
        HostSession,
        ReceivedEvent,
        Resume,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "CARDS": "cards",
            "DECKS": "cards",
            "ELEMENT65": "cards",
            "EVENTS": "events",
            "FRENCH52": "cards",
            "PROFILES": "profiles",
            "Armed": "commands",
            "Capabilities": "session",
            "Card": "cards",
            "DesiredShoeState": "commands",
            "DeviceSession": "session",
            "HostMessage": "commands",
            "HostSession": "session",
            "Locked": "commands",
            "Profile": "profiles",
            "ReceivedEvent": "session",
            "Resume": "session",
            "SerialSettings": "profiles",
            "ShoeCommand": "commands",
            "ShoeEvent": "events",
            "card": "cards",
            "from_plain": "events",
            "profile": "profiles",
            "to_plain": "events",
            "with_keys": "profiles",
        },
    )
