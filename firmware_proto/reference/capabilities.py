"""What shoes of this profile can do, as a host's session tells it.

In: nothing. Out: the capabilities, without a key and with one.
Must not know: frames, sessions.
"""

from __future__ import annotations

from dataclasses import replace

from firmware_proto.session import Capabilities

LOST_S = 10.0
"""Silence, and four times asked who speaks: nobody is there, or the way there is dead (SPEC 8)."""

CAPABILITIES = Capabilities(
    arm=True,
    replay=True,
    judges=False,
    names_hands=False,
    decks=("french52", "element65"),
    silence_s=LOST_S,
    obeys=("reset", "self_test", "query", "set_time", "show"),
    tells=("clock", "battery", "lifetime_draws", "temperature"),
    commands=True,
)
"""What shoes of this profile can do; one that has proved itself with a key takes a new one too."""

WITH_KEYS = replace(CAPABILITIES, authenticated=True, obeys=(*CAPABILITIES.obeys, "rotate_key"))
