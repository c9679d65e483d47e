"""Checkpoints as a journal would sign them, of trees that are computed by RFC 6962's definitions.

In: how many leaves, where a history differs. Out: notes, submissions, events, requests.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from shoe_ctl.audit.witness import Submission
from shoe_ctl.journal.record_format import Ruling
from shoe_ctl.journal.signed_note import CheckpointText, Note, sign
from shoe_ctl.journal.signing import Signer

ORIGIN = "casino.example/floor-2"
NAME = "gaming.example/w1"
NOW_S = 1_790_000_000


def key_of(number: int) -> Signer:
    return Signer(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))


KEY_RULING = Ruling(
    person="Ines", position="gaming_shift_manager", reason="a copy was seen", consented_by="Kim"
)
"""Why a journal's key is changed, and who ruled it."""

JOURNAL, OWN, STRANGER = key_of(1), key_of(2), key_of(3)


# A tree by the definitions of RFC 6962, section 2.1, as slow as they are.


def root(leaves: Sequence[bytes]) -> bytes:
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return sha256(b"\0" + leaves[0]).digest()
    half = largest_power_below(len(leaves))
    return sha256(b"\1" + root(leaves[:half]) + root(leaves[half:])).digest()


def proof(old: int, leaves: Sequence[bytes], *, is_whole: bool = True) -> list[bytes]:
    if old == len(leaves):
        return [] if is_whole else [root(leaves)]
    half = largest_power_below(len(leaves))
    if old <= half:
        return [*proof(old, leaves[:half], is_whole=is_whole), root(leaves[half:])]
    return [*proof(old - half, leaves[half:], is_whole=False), root(leaves[:half])]


def largest_power_below(size: int) -> int:
    power = 1
    while 2 * power < size:
        power *= 2
    return power


def leaves(size: int, *, other_from: int | None = None) -> list[bytes]:
    """A history; another one from the leaf ``other_from`` on."""
    changed = size if other_from is None else other_from
    return [b"%d" % n if n < changed else b"other %d" % n for n in range(size)]


def checkpoint(history: Sequence[bytes], *, origin: str = ORIGIN, by: Signer = JOURNAL) -> bytes:
    text = CheckpointText(origin, len(history), root(history)).to_text()
    return Note(text, (sign(text, origin, by),)).to_bytes()


def after(old: int, history: Sequence[bytes], **more: Any) -> Submission:
    hashes = proof(old, history) if old else []
    return Submission(checkpoint(history, **more), old, tuple(hashes))


def event_of(given: Submission) -> dict[str, Any]:
    return {
        "id": "t1/p9",
        "source": "/journal/0a0b0c0d/table/t1",
        "type": "checkpoint.signed",
        "time": "2026-11-24T00:00:00.000000Z",
        "data": {
            "note": given.note.decode(),
            "old_size": given.old_size,
            "proof": [base64.b64encode(each).decode() for each in given.proof],
        },
        "specversion": "1.0",
    }


def request_of(given: Submission) -> bytes:
    hashes = "".join(f"{base64.b64encode(each).decode()}\n" for each in given.proof)
    return f"old {given.old_size}\n{hashes}\n".encode() + given.note
