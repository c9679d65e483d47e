"""Which firmware a shoe may run, as a table's settings say.

In: settings, hello. Out: what to say of a firmware that is not on the list.
Must not know: who reads the settings, what refusing to arm takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from firmware_proto.events import Hello, UnknownFirmware

REPORT = "report"
REFUSE = "refuse_to_arm"
_DIGITS = 64


@dataclass(frozen=True, slots=True)
class AllowedFirmware:
    """SHA-256 digests in hex; with none, any firmware will do."""

    digests: frozenset[str] = frozenset()
    refuses: bool = False

    def objects_to(self, hello: Hello) -> UnknownFirmware | None:
        """What is to be said of this shoe's firmware, if anything."""
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
