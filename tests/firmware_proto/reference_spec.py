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
