"""The examples of the reference profile's SPEC.md, and the wire worked out apart from the package.

In: SPEC.md. Out: examples; stuffing and CRC by the book, bit by bit. Must not know: the codec.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import firmware_proto.reference

SPEC = Path(firmware_proto.reference.__path__[0]) / "SPEC.md"


@dataclass(frozen=True)
class Example:
    name: str
    plain: dict[str, Any]
    frame: bytes

    def __str__(self) -> str:
        return self.name


def examples() -> list[Example]:
    text = SPEC.read_text(encoding="utf-8")
    found = re.findall(r"\*\*([^*\n]+)\*\*\n\n```golden\n(\{.*\})\n([0-9A-F\s]+)```", text)
    return [Example(name, json.loads(plain), bytes.fromhex(hexed)) for name, plain, hexed in found]


EXAMPLES = examples()


def sealed_examples() -> list[Example]:
    """The frames with a MAC, in the order in which they are sent."""
    text = SPEC.read_text(encoding="utf-8")
    found = re.findall(r"\*\*([^*\n]+)\*\*\n\n```sealed\n(\{.*\})\n([0-9A-F\s]+)```", text)
    return [Example(name, json.loads(plain), bytes.fromhex(hexed)) for name, plain, hexed in found]


SEALED_EXAMPLES = sealed_examples()

_IV = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
_SIGMA = [
    [int(digit, 16) for digit in row]
    for row in (
        "0123456789abcdef", "ea489fd61c02b753",
        "b8c052fdae367194", "7931dcbe265a40f8",
        "905724afe1bc683d", "2c6a0b834d75fe19",
        "c51fed4a0763928b", "db7ec13950f4862a",
        "6fe9b308c2d714a5", "a2847615fb9e3cd0",
    )
]  # fmt: skip


def blake2s_by_the_book(key: bytes, data: bytes) -> bytes:
    """RFC 7693 with a key of 32 bytes and 32 bytes of output."""
    state = list(_IV)
    state[0] ^= 0x01010000 ^ len(key) << 8 ^ 32
    blocks = key.ljust(64, b"\0") + data
    count = 0
    while True:
        block, blocks = blocks[:64], blocks[64:]
        count += len(block)
        _mix(state, block.ljust(64, b"\0"), count, last=not blocks)
        if not blocks:
            return b"".join(word.to_bytes(4, "little") for word in state)


def _mix(state: list[int], block: bytes, count: int, *, last: bool) -> None:
    words = [int.from_bytes(block[n : n + 4], "little") for n in range(0, 64, 4)]
    v = state + list(_IV)
    v[12] ^= count & 0xFFFFFFFF
    v[13] ^= count >> 32
    v[14] ^= 0xFFFFFFFF if last else 0

    def turn(value: int, bits: int) -> int:
        return (value >> bits | value << 32 - bits) & 0xFFFFFFFF

    for sigma in _SIGMA:
        for n in range(8):
            slant = n // 4
            a, b = n % 4, 4 + (n + slant) % 4
            c, d = 8 + (n + 2 * slant) % 4, 12 + (n + 3 * slant) % 4
            for word, first, second in ((2 * n, 16, 12), (2 * n + 1, 8, 7)):
                v[a] = (v[a] + v[b] + words[sigma[word]]) & 0xFFFFFFFF
                v[d] = turn(v[d] ^ v[a], first)
                v[c] = (v[c] + v[d]) & 0xFFFFFFFF
                v[b] = turn(v[b] ^ v[c], second)
    for n in range(8):
        state[n] ^= v[n] ^ v[n + 8]


def crc32_by_the_book(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def stuffed_by_the_book(data: bytes) -> bytes:
    """COBS of what is shorter than 254 bytes."""
    return b"".join(bytes([len(run) + 1]) + run for run in data.split(b"\0"))


def framed_by_the_book(body: bytes) -> bytes:
    whole = body + crc32_by_the_book(body).to_bytes(4, "little")
    return b"\0" + stuffed_by_the_book(whole) + b"\0"


def unstuffed_by_the_book(frame: bytes) -> bytes:
    rest, out = frame[1:-1], b""
    while rest:
        out += rest[1 : rest[0]] + b"\0"
        rest = rest[rest[0] :]
    return out[:-1]
