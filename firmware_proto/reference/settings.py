"""The profile's settings: capabilities of its shoes, and the firmware they are allowed to run.

In: a mapping as a configuration holds it; hello. Out: checked values; an event for other firmware.
Must not know: where the mapping came from, what refusing to arm takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from firmware_proto.events import Hello, UnknownFirmware
from firmware_proto.session import Capabilities

LOST_S = 10.0
"""Silence after four requests for hello: no shoe is there, or the link is dead (SPEC 8)."""

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
"""The capabilities of this profile's shoes; one that has proved itself with a key takes a new one
too."""

WITH_KEYS = replace(CAPABILITIES, authenticated=True, obeys=(*CAPABILITIES.obeys, "rotate_key"))

REPORT = "report"
REFUSE = "refuse_to_arm"
_DIGITS = 64


@dataclass(frozen=True, slots=True)
class AllowedFirmware:
    """SHA-256 digests in hex; with none, any firmware will do."""

    digests: frozenset[str] = frozenset()
    refuses: bool = False

    def check(self, hello: Hello) -> UnknownFirmware | None:
        """Return the event to report of this shoe's firmware, if it is not allowed."""
        if not self.digests or hello.firmware_digest in self.digests:
            return None
        return UnknownFirmware(
            firmware=hello.firmware, firmware_digest=hello.firmware_digest, refused=self.refuses
        )


def allowed_firmware(settings: Mapping[str, object]) -> AllowedFirmware:
    """The settings ``firmware`` (digests) and ``unknown_firmware`` (report, refuse_to_arm).

    Raises:
        ValueError: another setting, or a value that cannot be.
    """
    for key in settings:
        if key not in ("firmware", "unknown_firmware"):
            raise ValueError(f"the reference profile has no setting {key!r}")
    listed = settings.get("firmware", [])
    if not isinstance(listed, list | tuple) or not all(_is_digest(entry) for entry in listed):
        raise ValueError(f"firmware: a list of SHA-256 digests of {_DIGITS} hex digits each")
    policy = settings.get("unknown_firmware", REPORT)
    if policy not in (REPORT, REFUSE):
        raise ValueError(f"unknown_firmware: {REPORT} or {REFUSE}, not {policy!r}")
    return AllowedFirmware(frozenset(entry.lower() for entry in listed), policy == REFUSE)


def _is_digest(entry: object) -> bool:
    try:
        return isinstance(entry, str) and len(bytes.fromhex(entry)) * 2 == len(entry) == _DIGITS
    except ValueError:
        return False
