"""Why a shoe and this host do not believe each other, and what to do about it.

In: a failed authentication. Out: its cause for programs, the next step for people.
Must not know: keys, who is told.
"""

from __future__ import annotations

from typing import Literal

from firmware_proto.events import (
    CANNOT_AUTHENTICATE,
    HOST_WITHOUT_KEY,
    NO_KEY,
    WRONG_PROOF,
    AuthenticationFailed,
)

RefusalCause = Literal["no_key", "unauthenticated", "wrong_key"]


def remedy(failed: AuthenticationFailed) -> tuple[RefusalCause, str]:
    """The cause, and what to do."""
    who = failed.device_id
    causes: dict[str, tuple[RefusalCause, str]] = {
        HOST_WITHOUT_KEY: ("no_key", "name a key_file with its key"),
        NO_KEY: ("no_key", f"add a key of {who} to the key_file, or is it the wrong shoe?"),
        CANNOT_AUTHENTICATE: ("unauthenticated", "give the shoe a key, or take key_file away"),
        WRONG_PROOF: ("wrong_key", "put the key that the shoe has into the key_file"),
    }
    return causes.get(failed.reason, ("wrong_key", "put a key that the shoe has into the key_file"))
