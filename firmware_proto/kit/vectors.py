"""``python -m firmware_proto.kit.vectors [-o FILE]``: frames to test a shoe's firmware with.

In: the construct layouts. Out: JSON lines: good frames of every kind with their values as the line
carries them, frames with a MAC, and frames to be refused, each with its reason.
Must not know: the codec under test; who reads the file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from firmware_proto.kit.c_header import allowed, is_number, rule_of, size_of, write_out
from firmware_proto.kit.reference_layouts import LAYOUTS
from firmware_proto.reference.fields import CARD_CODES, NO_CARD
from firmware_proto.reference.framing import (
    CRC_BYTES,
    MAX_BODY_BYTES,
    MAX_STUFFED_BYTES,
    frame_body,
)
from firmware_proto.reference.mac import SessionKeys, Transcript
from firmware_proto.reference.packing import (
    FIRST_OF_HOST,
    VERSION,
    VERSION_WITH_MAC,
    CompiledField,
    CompiledLayout,
    Kind,
)

KEY = bytes(range(32))
TRANSCRIPT = Transcript(
    key_id=2,
    host_nonce=bytes(range(0x10, 0x20)),
    shoe_nonce=bytes(range(0x20, 0x30)),
    boot_id=7,
    device_id="SH-0042",
)
"""Those of SPEC 12."""

Wire = int | bytes
Vector = dict[str, Any]

_CARDS = sorted(CARD_CODES.values())


def generate_vectors() -> Iterator[Vector]:
    """Every vector: first what the keys are, then good frames, sealed ones, and those to refuse.

    A vector has ``name``, ``frame`` (hex, as on the line) and either ``kind`` with ``values`` (in
    the order of the layout; numbers, or bytes as hex) or ``refused`` with the reason. One with
    ``sealed_by`` is of one connection, in its order; its MAC is made with that end's key.
    """
    shoe = SessionKeys.by_shoe(TRANSCRIPT, KEY)
    yield {
        "name": "key",
        "key": KEY.hex(),
        "key_id": TRANSCRIPT.key_id,
        "host_nonce": TRANSCRIPT.host_nonce.hex(),
        "shoe_nonce": TRANSCRIPT.shoe_nonce.hex(),
        "boot_id": TRANSCRIPT.boot_id,
        "device_id": TRANSCRIPT.device_id,
        "proof": TRANSCRIPT.proof(KEY).hex(),
        "mask": shoe.masked(bytes(32), 20, 3).hex(),
        "mask_of": {"command_id": 20, "key_id": 3},
    }
    for layout in LAYOUTS.values():
        yield from _good(layout)
    yield from _sealed()
    for layout in LAYOUTS.values():
        yield from _bad(layout)
    yield from _no_frames()


def text() -> str:
    """The file, a vector a line."""
    return "".join(json.dumps(vector) + "\n" for vector in generate_vectors())


def values_with_meaning(kind: Kind, field: CompiledField) -> list[Wire]:
    """The ends of a field's range, and every code where it is one."""
    size, rule = size_of(field), rule_of(kind, field.name)
    match rule:
        case "ONE_OF":
            return [*sorted(allowed(kind, field))]
        case "PARTS":
            return [0, *(1 << bit for bit in range(8)), 0xFF]
        case "NAME":
            return [_padded(b"SH-0042", size), b"~" * size, _padded(b" ", size)]
        case "TEXT":
            return [bytes(size), _padded(b"SH-0042-19", size), b"~" * size]
        case "TOGETHER":
            return [bytes((*_CARDS[:n], *[NO_CARD] * (size - n))) for n in range(2, size + 1)]
    if not is_number(field):
        return [bytes(size), bytes(range(1, size + 1)), b"\xff" * size]
    most = (1 << 8 * size) - 1
    middle = int.from_bytes(bytes(range(1, size + 1)), "little")
    return [1, most, middle] if rule == "POSITIVE" else [0, 1, most, middle]


def values_without(kind: Kind, field: CompiledField) -> list[Wire]:
    """Values that have no meaning in this field; none where all have one."""
    size = size_of(field)
    match rule_of(kind, field.name):
        case "POSITIVE":
            return [0]
        case "ONE_OF":
            free = sorted(set(range(256)) - allowed(kind, field))
            return [free[0], free[-1]]
        case "PARTS":
            return [0x100, 0x8001]
        case "NAME":
            return [bytes(size), *_no_texts(size)]
        case "TEXT":
            return _no_texts(size)
        case "TOGETHER":
            one = bytes((_CARDS[1], *[NO_CARD] * (size - 1)))
            gap = bytes((_CARDS[1], NO_CARD, *[_CARDS[1]] * (size - 2)))
            return [one, gap, b"\x0f" * size]
    return []


def _no_texts(size: int) -> list[Wire]:
    return [_padded(b"A\0B", size), _padded(b"\x1f", size), _padded(b"\x7f", size), b"\xe9" * size]


def _padded(text: bytes, size: int) -> bytes:
    return text.ljust(size, b"\0")


def _body(layout: CompiledLayout, wire: list[Wire]) -> bytes:
    return bytes((VERSION, layout.kind)) + layout.payload.pack(*wire)


def _vector(name: str, layout: CompiledLayout, wire: list[Wire], frame: bytes) -> Vector:
    values = {
        field.name: value.hex() if isinstance(value, bytes) else value
        for field, value in zip(layout.fields, wire, strict=True)
    }
    return {"name": name, "kind": int(layout.kind), "values": values, "frame": frame.hex()}


def _wires(layout: CompiledLayout) -> list[list[Wire]]:
    """Every value of every field at least once, several in one frame."""
    choices = [values_with_meaning(layout.kind, field) for field in layout.fields]
    count = max((len(values) for values in choices), default=1)
    wires = [[values[n % len(values)] for values in choices] for n in range(count)]
    if layout.kind == Kind.EVENTS_LOST:
        return [[first, *between, max(first, last)] for first, *between, last in wires]
    return wires


def _good(layout: CompiledLayout) -> Iterator[Vector]:
    for n, wire in enumerate(_wires(layout), start=1):
        yield _vector(f"{layout.name} {n}", layout, wire, frame_body(_body(layout, wire)))


def _sealed() -> Iterator[Vector]:
    by = {
        "shoe": SessionKeys.by_shoe(TRANSCRIPT, KEY),
        "host": SessionKeys.by_host(TRANSCRIPT, KEY),
    }
    for layout in LAYOUTS.values():
        who = "host" if layout.kind >= FIRST_OF_HOST else "shoe"
        wire = _wires(layout)[0]
        sealed = by[who].signer.sign(_body(layout, wire)) or b""
        vector = _vector(f"{layout.name} with a MAC", layout, wire, frame_body(sealed))
        yield vector | {"sealed_by": who}
    for who, kind in (("shoe", Kind.CUTTING_CARD), ("host", Kind.LOCK)):
        layout = LAYOUTS[kind]
        sealed = by[who].signer.sign(_body(layout, _wires(layout)[0])) or b""
        for name, frame, reason in (
            ("a MAC with a flipped bit", sealed[:-1] + bytes((sealed[-1] ^ 1,)), "mac"),
            ("another version than was signed", bytes((VERSION,)) + sealed[1:], "version"),
            ("another kind than was signed", sealed[:1] + b"\x20" + sealed[2:], "mac"),
            ("too short for a MAC", bytes((VERSION_WITH_MAC, kind)) + bytes(8), "mac"),
        ):
            yield _refused(f"{layout.name}: {name}", frame_body(frame), reason) | {"sealed_by": who}
        taken = _vector(f"{layout.name}, the last", layout, _wires(layout)[0], frame_body(sealed))
        yield taken | {"sealed_by": who}
        again = _refused(f"{layout.name}: sent before", frame_body(sealed), "sent before")
        yield again | {"sealed_by": who}


def _bad(layout: CompiledLayout) -> Iterator[Vector]:
    wire = _wires(layout)[0]
    body = _body(layout, wire)
    frame = frame_body(body)
    for at, field in enumerate(layout.fields):
        for n, value in enumerate(values_without(layout.kind, field), start=1):
            spoilt = _body(layout, [*wire[:at], value, *wire[at + 1 :]])
            name = f"{layout.name}: {field.name} without a meaning {n}"
            yield _refused(name, frame_body(spoilt), "field")
    yield _refused(f"{layout.name}: a byte too many", frame_body(body + b"\1"), "length")
    if layout.fields:
        yield _refused(f"{layout.name}: a byte too few", frame_body(body[:-1]), "length")
    crc_first = bytearray(frame)
    crc_first[3] ^= 2  # the kind, which is nowhere 00 and does not become it
    if crc_first[3]:
        yield _refused(f"{layout.name}: a flipped bit", bytes(crc_first), "crc")


def _no_frames() -> Iterator[Vector]:
    lock = bytes((VERSION, Kind.LOCK))
    backwards = LAYOUTS[Kind.EVENTS_LOST]
    yield _refused(
        "events_lost: last below seq", frame_body(_body(backwards, [9, 7, 0, 8])), "field"
    )
    yield _refused("of version 2", frame_body(b"\2" + lock[1:]), "version")
    yield _refused(
        "with a MAC, and no key", frame_body(bytes((VERSION_WITH_MAC,)) + lock[1:]), "version"
    )
    yield _refused("of a kind that is none", frame_body(bytes((VERSION, 0x7F))), "kind")
    yield _refused("no body", frame_body(b""), "version")
    yield _refused("a code byte beyond the end", b"\0\x05\1\2\0", "stuffing")
    yield _refused("shorter than a CRC", b"\0\x04\1\2\3\0", "crc")
    longest = lock + b"\1" * (MAX_BODY_BYTES - CRC_BYTES - len(lock))
    yield _refused("as long as any frame may be", frame_body(longest), "length")
    yield _refused("longer than any frame", b"\0" + b"\1" * (MAX_STUFFED_BYTES + 1) + b"\0", "long")
    yield _refused("before the first delimiter", frame_body(lock)[1:], "cut")


def _refused(name: str, frame: bytes, reason: str) -> Vector:
    return {"name": name, "refused": reason, "frame": frame.hex()}


def main() -> None:
    """Writes the vectors to a file, or to stdout."""
    parser = argparse.ArgumentParser(
        prog="python -m firmware_proto.kit.vectors",
        description="Frames to test a shoe's firmware with, as JSON lines.",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="instead of stdout")
    write_out(text(), parser.parse_args().output)


if __name__ == "__main__":
    main()
