"""``python -m firmware_proto.kit.c_header [-o FILE]``: the reference profile as a C header.

In: the construct layouts. Out: kinds, codes, a struct a kind, and with SHOE_TABLES the tables by
which ``kit/shoe_codec.c`` packs and checks. Must not know: stuffing, MACs, what events mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from firmware_proto.kit.reference_layouts import LAYOUTS
from firmware_proto.reference import fields, framing, mac, packing
from firmware_proto.reference.packing import CompiledField, CompiledLayout

_HEAD = """\
/* The reference profile, version {version}: kinds, codes and layouts.
 * Made by `python -m firmware_proto.kit.c_header`: do not edit. SPEC.md describes the fields.
 */
#ifndef SHOE_WIRE_H
#define SHOE_WIRE_H

#include <stdint.h>
"""

_TABLES = """\
#ifdef SHOE_TABLES
#include <stddef.h>

enum shoe_rule {
    SHOE_ANY,      /* every value has a meaning */
    SHOE_POSITIVE, /* a number that starts from 1 */
    SHOE_ONE_OF,   /* a byte whose bit stands in `set` */
    SHOE_PARTS,    /* a bit for each part, the others 0 */
    SHOE_TEXT,     /* printable ASCII, filled with 00 */
    SHOE_NAME,     /* the same, not empty */
    SHOE_TOGETHER  /* two cards or more of `set`, then FF */
};

struct shoe_field {
    uint16_t at;        /* in the struct */
    uint8_t size;       /* on the line and in the struct */
    uint8_t is_number;  /* else bytes */
    uint8_t rule;
    const uint8_t *set; /* 256 bits, or NULL */
};

struct shoe_layout {
    uint8_t kind;
    uint8_t size; /* of the payload */
    uint8_t fields;
    const struct shoe_field *field;
};
"""

_NUMBERS = {"B": 1, "H": 2, "L": 4, "Q": 8}

_RULES: dict[type[fields.Converter], str] = {
    fields.Unchanged: "ANY",
    fields.Codes: "ONE_OF",
    fields.OrNone: "ANY",
    fields.OrUnknown: "ANY",
    fields.Positive: "POSITIVE",
    fields.Text: "TEXT",
    fields.Line: "TEXT",
    fields.Name: "NAME",
    fields.Digest: "ANY",
    fields.Hex: "ANY",
    fields.CardsTogether: "TOGETHER",
    fields.Failures: "PARTS",
}
"""By the exact type of a field's converter: a new one needs a rule in C first."""

_CODES: dict[str, Mapping[Any, int]] = {
    "DECK": fields.DECK_CODES,
    "SUIT": {suit.name: code for suit, code in fields.SUIT_CODES.items()},
    "HAND": fields.HAND_CODES,
    "REASON": {name or "accepted": code for name, code in fields.REASON_CODES.items()},
    "FAULT": fields.FAULT_CODES,
    "TAMPER": fields.TAMPER_CODES,
    "QUERY": fields.QUERY_CODES,
    "PART": {name: 1 << bit for bit, name in enumerate(fields.PARTS)},
    "CAN": {"arm": fields.CAN_ARM, "authenticate": fields.AUTHENTICATES},
}


def generate_header() -> str:
    """The whole header, ending in a newline; the same text for the same layouts.

    Raises:
        TypeError: a layout uses a field that C has no rule for yet.
    """
    parts = [
        _HEAD.format(version=packing.VERSION),
        *_constants(),
        _enum("shoe_kind", "KIND", {kind.name: int(kind) for kind in packing.Kind}),
        *(_enum(f"shoe_{name.lower()}_code", name, values) for name, values in _CODES.items()),
        *(_struct(layout) for layout in LAYOUTS.values() if layout.fields),
        _message(),
        *_tables(),
        "#endif\n",
    ]
    return "\n".join(parts)


def size_of(field: CompiledField) -> int:
    """Bytes of a field, on the line and in a C struct."""
    return _NUMBERS.get(field.format) or int(field.format.removesuffix("s"))


def is_number(field: CompiledField) -> bool:
    """True if C has it as an unsigned number; else it is an array of bytes."""
    return field.format in _NUMBERS


def rule_of(kind: packing.Kind, name: str) -> str:
    """Return the rule of a field's values: a name of ``enum shoe_rule``, without its prefix.

    Raises:
        TypeError: a field that C has no rule for.
    """
    converter = type(LAYOUTS[kind].field(name).converter)
    if converter not in _RULES:
        raise TypeError(f"{kind.name.lower()}: no rule in C for {converter.__name__}")
    return _RULES[converter]


def allowed(kind: packing.Kind, field: CompiledField) -> frozenset[int]:
    """The bytes that have a meaning, of a field that is a code, a byte each or together."""
    if rule_of(kind, field.name) == "TOGETHER":
        return frozenset(fields.CARD_CODES.values())
    return frozenset(field.table or ())


def _constants() -> Iterator[str]:
    values = {
        "VERSION": packing.VERSION,
        "SEALED": packing.VERSION_WITH_MAC,
        "FIRST_NUMBERED": packing.FIRST_NUMBERED,
        "FIRST_OF_HOST": packing.FIRST_OF_HOST,
        "MAX_BODY_BYTES": framing.MAX_BODY_BYTES,
        "SEAL_BYTES": packing.COUNTER_AND_MAC_BYTES,
        "COUNTER_BYTES": mac.COUNTER_BYTES,
        "KEY_BYTES": mac.KEY_BYTES,
        "NONCE_BYTES": mac.NONCE_BYTES,
        "PROOF_BYTES": mac.PROOF_BYTES,
        "DEVICE_ID_BYTES": size_of(LAYOUTS[packing.Kind.HELLO].field("device_id")),
        "NO_CARD": fields.NO_CARD,
    }
    yield "".join(f"#define SHOE_{name} {value}u\n" for name, value in values.items())


def _enum(tag: str, prefix: str, values: Mapping[Any, int]) -> str:
    lines = [f"    SHOE_{prefix}_{_upper(name)} = {value:#04x}" for name, value in values.items()]
    return f"enum {tag} {{\n" + ",\n".join(lines) + "\n};\n"


def _upper(name: str) -> str:
    return name.upper().replace(" ", "_")


def _struct(layout: CompiledLayout) -> str:
    lines = []
    for field in layout.fields:
        size = size_of(field)
        if is_number(field):
            lines.append(f"    uint{8 * size}_t {field.name};")
        else:
            lines.append(f"    uint8_t {field.name}[{size}];")
    return f"struct shoe_{layout.name} {{\n" + "\n".join(lines) + "\n};\n"


def _message() -> str:
    lines = [f"        struct shoe_{d.name} {d.name};" for d in LAYOUTS.values() if d.fields]
    return (
        "/* Frames without a payload are their kind alone. */\n"
        "struct shoe_message {\n    uint8_t kind;\n    union {\n"
        + "\n".join(lines)
        + "\n    } as;\n};\n"
    )


def _tables() -> Iterator[str]:
    yield _TABLES
    sets: dict[frozenset[int], str] = {}
    for layout in LAYOUTS.values():
        for field in layout.fields:
            values = allowed(layout.kind, field)
            if values and values not in sets:
                sets[values] = name = f"shoe_set_{len(sets)}"
                bits = f"{{ /* {field.name} */\n{_bits(values)}\n}};\n"
                yield f"static const uint8_t {name}[32] = {bits}"
    for layout in LAYOUTS.values():
        if layout.fields:
            rows = ",\n".join(_row(layout, field, sets) for field in layout.fields)
            yield f"static const struct shoe_field shoe_fields_{layout.name}[] = {{\n{rows}\n}};\n"
    rows = ",\n".join(_layout(layout) for layout in LAYOUTS.values())
    yield f"static const struct shoe_layout shoe_layouts[] = {{\n{rows}\n}};\n#endif\n"


def _bits(values: frozenset[int]) -> str:
    bits = sum(1 << value for value in values).to_bytes(32, "little")
    lines = [", ".join(f"{byte:#04x}" for byte in bits[n : n + 8]) for n in range(0, 32, 8)]
    return ",\n".join(f"    {line}" for line in lines)


def _row(layout: CompiledLayout, field: CompiledField, sets: Mapping[frozenset[int], str]) -> str:
    values = allowed(layout.kind, field)
    return (
        f"    {{offsetof(struct shoe_message, as.{layout.name}.{field.name}), {size_of(field)}, "
        f"{int(is_number(field))}, SHOE_{rule_of(layout.kind, field.name)}, "
        f"{sets[values] if values else 'NULL'}}}"
    )


def _layout(layout: CompiledLayout) -> str:
    table = f"shoe_fields_{layout.name}" if layout.fields else "NULL"
    kind = f"SHOE_KIND_{layout.kind.name}"
    return f"    {{{kind}, {layout.payload.size}, {len(layout.fields)}, {table}}}"


def main() -> None:
    """Writes the header to a file, or to stdout."""
    parser = argparse.ArgumentParser(
        prog="python -m firmware_proto.kit.c_header",
        description="The reference profile's kinds, codes and layouts as a C header.",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="instead of stdout")
    write_out(generate_header(), parser.parse_args().output)


def write_out(text: str, path: str | None) -> None:
    """To the file, or to stdout where none is named."""
    if path is None:
        print(text, end="")  # noqa: T201 - it is what was asked for
        return
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - no paths in the wire
        file.write(text)


if __name__ == "__main__":
    main()
