"""Keys as the ends of a connection are given them, and as a file holds them.

In: lines of text; keys and a source of nonces. Out: HostKeys, ShoeKeys.
Must not know: files, chance (whoever makes the nonces must use a good source of it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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
    """A shoe's own keys by id. The session forgets what a newer one, once proved, replaces."""

    keys: dict[int, bytes] = field(repr=False)
    nonce: Nonce


def parse_keys(text: str) -> dict[str, dict[int, bytes]]:
    """The keys in a file: a line each of device id, key id and 64 hex digits; ``#`` comments.

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
