"""Keys, challenge responses and MACs (SPEC 7): BLAKE2s with a key, a counter for each direction.

In: keys, nonces, frames. Out: challenge responses, frames with a MAC, the reason of a refusal.
Must not know: where keys and nonces come from, the content of a frame.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2s
from hmac import compare_digest

from firmware_proto.reference.packing import COUNTER_AND_MAC_BYTES, VERSION_WITH_MAC

KEY_BYTES = 32
LONGEST_ID = 36

Nonce = Callable[[], bytes]
"""Gives 16 bytes, never the same twice."""


@dataclass(frozen=True, slots=True)
class HostKeys:
    """The keys of the shoes that a table knows: by device id, then by key id."""

    keys: Mapping[str, Mapping[int, bytes]] = field(repr=False)
    nonce: Nonce


@dataclass(frozen=True, slots=True)
class ShoeKeys:
    """A shoe's own keys by id. The session removes those that a newer one, once used, replaces."""

    keys: dict[int, bytes] = field(repr=False)
    nonce: Nonce


def parse_keys(text: str) -> dict[str, dict[int, bytes]]:
    """Parse the keys in a file: a line each of device id, key id and 64 hex digits; ``#`` comments.

    Raises:
        ValueError: a line is wrong; it is named by its number, and nothing of it is shown.
    """
    keys: dict[str, dict[int, bytes]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            device_id, key_id, key = words[0], int(words[1]), bytes.fromhex(words[2])
        except (IndexError, ValueError):
            raise ValueError(f"line {number}: expected DEVICE_ID KEY_ID KEY (hex)") from None
        if len(words) != 3 or len(key) != KEY_BYTES:
            raise ValueError(f"line {number}: a key has {2 * KEY_BYTES} hex digits")
        if not device_id.isascii() or len(device_id) > LONGEST_ID:
            raise ValueError(f"line {number}: a device id has up to {LONGEST_ID} ASCII characters")
        if not 1 <= key_id < 2**32:
            raise ValueError(f"line {number}: a key id is 1 or more")
        if key_id in keys.setdefault(device_id, {}):
            raise ValueError(f"line {number}: this shoe has that key id already")
        keys[device_id][key_id] = key
    return keys


NONCE_BYTES = 16
PROOF_BYTES = 16

COUNTER_BYTES = 4
LAST_COUNTER = 2**32 - 1

BAD_MAC = "mac"
SENT_BEFORE = "sent_before"
NO_SESSION = "mac_before_challenge"
VERDICTS = (BAD_MAC, SENT_BEFORE, NO_SESSION)
"""Why a frame with a MAC is refused: the reasons that only a holder of the key can find."""

_PROOF, _FROM_SHOE, _FROM_HOST, _NEW_KEY = b"\1", b"\2", b"\3", b"\4"
_BYTES_OF_ID = 36
_unpack_counter_and_mac = struct.Struct("<L12s").unpack_from


@dataclass(frozen=True, slots=True)
class Transcript:
    """The values that both ends agreed on; only holders of the key can derive ``secret``."""

    key_id: int
    host_nonce: bytes
    shoe_nonce: bytes
    boot_id: int
    device_id: str

    def secret(self, key: bytes, label: bytes, more: bytes = b"") -> bytes:
        """Return 32 bytes, different for each label (SPEC 7)."""
        parts = (
            label,
            self.key_id.to_bytes(4, "little"),
            self.host_nonce,
            self.shoe_nonce,
            self.boot_id.to_bytes(4, "little"),
            self.device_id.encode("ascii").ljust(_BYTES_OF_ID, b"\0"),
            more,
        )
        return blake2s(b"".join(parts), key=key).digest()

    def proof(self, key: bytes) -> bytes:
        """Return the challenge response of a shoe that has the key."""
        return self.secret(key, _PROOF)[:PROOF_BYTES]

    def is_proof(self, key: bytes, proof: bytes) -> bool:
        """Return whether this proof was made with the key."""
        return compare_digest(self.proof(key), proof)


class MacSigner:
    """Puts counter and MAC behind the bodies of one direction."""

    def __init__(self, key: bytes) -> None:
        self._keyed = blake2s(key=key)
        self._counter = 0

    def sign(self, body: bytes) -> bytes | None:
        """Return the body with its counter and MAC; None when the counter is used up."""
        if self._counter == LAST_COUNTER:
            return None
        self._counter += 1
        signed = (
            bytes((VERSION_WITH_MAC,)) + body[1:] + self._counter.to_bytes(COUNTER_BYTES, "little")
        )
        mac = self._keyed.copy()
        mac.update(signed)
        return signed + mac.digest()[: COUNTER_AND_MAC_BYTES - COUNTER_BYTES]


class MacVerifier:
    """Checks counter and MAC of the frames of one direction."""

    __slots__ = ("fresh", "last")

    def __init__(self, key: bytes) -> None:
        self.fresh = blake2s(key=key).copy
        self.last = 0

    def check(self, frame: bytes) -> str | None:
        """Return why this frame, with its CRC, is refused; None accepts it, once."""
        mac = self.fresh()
        mac.update(frame[:-16])
        try:
            counter, mac_received = _unpack_counter_and_mac(frame, len(frame) - 20)
        except struct.error:
            return BAD_MAC  # it has not even room for one
        if not compare_digest(mac.digest()[:12], mac_received):
            return BAD_MAC
        if counter <= self.last:
            return SENT_BEFORE
        self.last = counter
        return None


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """The keys that follow from one challenge and its answer, for one end."""

    transcript: Transcript
    key: bytes
    signer: MacSigner
    verifier: MacVerifier

    @classmethod
    def by_host(cls, transcript: Transcript, key: bytes) -> SessionKeys:
        """Return the host's end: it signs what goes to the shoe."""
        to_shoe, to_host = _secrets(transcript, key)
        return cls(transcript, key, MacSigner(to_shoe), MacVerifier(to_host))

    @classmethod
    def by_shoe(cls, transcript: Transcript, key: bytes) -> SessionKeys:
        """The shoe's end."""
        to_shoe, to_host = _secrets(transcript, key)
        return cls(transcript, key, MacSigner(to_host), MacVerifier(to_shoe))

    def masked(self, new_key: bytes, command_id: int, key_id: int) -> bytes:
        """A new key as the line carries it, and back (SPEC 7).

        Raises:
            ValueError: it has not 32 bytes.
        """
        if len(new_key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(new_key)}")
        ids = command_id.to_bytes(4, "little") + key_id.to_bytes(4, "little")
        mask = self.transcript.secret(self.key, _NEW_KEY, ids)
        return bytes(a ^ b for a, b in zip(new_key, mask, strict=True))


def _secrets(transcript: Transcript, key: bytes) -> tuple[bytes, bytes]:
    return transcript.secret(key, _FROM_HOST), transcript.secret(key, _FROM_SHOE)
