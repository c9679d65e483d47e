"""Compiles the layouts of the Angel Eye profile, and derives the table of bits in its SPEC.md.

A payload byte made of bits is compiled by parsing each of its 256 values with construct: what
construct takes is listed, with its fields, and nothing else is taken by a session.

In: the construct declarations. Out: the module of compiled layouts, the table of SPEC.md.
Must not know: events, sessions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from construct import (
    Array,
    BitsInteger,
    Const,
    Construct,
    ConstructError,
    Pass,
    Renamed,
    Restreamed,
    Struct,
    Switch,
    Terminated,
    Transformed,
)

from firmware_proto.angel_eye.fields import Characters, Coded, CompiledLayout
from firmware_proto.angel_eye.layouts import COMMAND, DATA, EVENT, REPLY
from firmware_proto.kit.spec_tables import replace_generated

_HEAD = '''\
"""Compiled layouts of the Angel Eye profile: every value that a payload byte may have.

Generated from ``layouts.py`` by ``make layouts``: do not edit. A test holds the two equal. Sessions
read and write by this module, so that they need not import construct.
"""

from __future__ import annotations

from typing import Final

from firmware_proto.angel_eye.fields import Characters, Coded, CompiledLayout

'''


_BITS = (Transformed, Restreamed)
"""The classes that BitStruct makes: the latter where its length is not known beforehand."""


def compile_layout(layout: Construct) -> CompiledLayout:
    """The compiled form of one declared payload.

    Raises:
        TypeError: the layout uses something that has no compiled form.
    """
    if layout is Pass:
        return CompiledLayout()
    if isinstance(layout, _BITS):
        return CompiledLayout(_coded(layout))
    fields = [field for field in layout.subcons if field is not Terminated]
    return CompiledLayout(*(_field(f) for f in fields if not isinstance(f.subcon, Const)))


def _field(field: Construct) -> Coded | Characters:
    if isinstance(field.subcon, _BITS):
        return _coded(field.subcon)
    if not isinstance(field.subcon, Array):
        raise TypeError(f"no compiled form for {field!r}")
    return Characters(field.name, field.subcon.count, _accepted(field.subcon.subcon))


def _accepted(byte: Construct) -> bytes:
    """The bytes that a construct of one byte takes."""
    return bytes(value for value in range(256) if _parsed(byte, bytes((value,))) is not None)


def _parsed(layout: Construct, wire: bytes) -> Any:
    try:
        return layout.parse(wire)
    except ConstructError:
        return None


def _coded(bits: Construct) -> Coded:
    width = sum(map(_width, bits.subcon.subcons))
    if width != 8:
        raise TypeError(f"no compiled form for {width} bits")
    names = tuple(field.name for field in bits.subcon.subcons if isinstance(field, Renamed))
    found = ((value, _parsed(bits, bytes((value,)))) for value in range(256))
    return Coded(names, {value: tuple(at[n] for n in names) for value, at in found if at})


def _width(part: Construct) -> int:
    while not isinstance(part, BitsInteger):
        part = next(iter(part.cases.values())) if isinstance(part, Switch) else part.subcon
    return int(part.length)


LAYOUTS = {code: compile_layout(payload) for code, payload in DATA.items()}
"""Each event's payload, compiled straight from the declarations."""

_COMMAND = compile_layout(COMMAND)


def replies() -> dict[bytes, str | None]:
    """Every bare reply, and the reason of a refusal; None for an acceptance."""
    one = [bytes((value,)) for value in range(256)]
    bare = [wire for wire in one if _parsed(REPLY, wire) is not None]
    others = [a + b for a in one if a not in bare and _starts_a_reply(a) for b in one]
    found = {wire: _parsed(REPLY, wire) for wire in (*bare, *others)}
    return {
        wire: reply.refusal.reason if reply.refusal is not None else None
        for wire, reply in found.items()
        if reply is not None
    }


def _starts_a_reply(wire: bytes) -> bool:
    return _parsed(REPLY.subcons[0], wire) is not None


# --- the module ------------------------------------------------------------------------------


def compiled() -> str:
    """The text of ``compiled_layouts.py``."""
    tables: dict[str, str] = {}
    events = []
    for code, layout in LAYOUTS.items():
        events.append(f'    "{code}": {_layout(layout, tables)},\n')
    command = _layout(_COMMAND, tables)
    sequence = _accepted(next(f for f in EVENT.subcons if f.name == "seq").subcon)
    operation = next(f for f in COMMAND.subcons if f.name == "operation").subcon.value
    rows = "".join(
        f"    {_bytes(wire)}: {json.dumps(reason) if reason else 'None'},\n"
        for wire, reason in replies().items()
    )
    return (
        _HEAD
        + f'SEQUENCE: Final = {_bytes(sequence)}\n"""The values of a sequence character."""\n\n'
        + f'OPERATION: Final = {_bytes(operation)}\n"""The beginning of every command."""\n\n'
        + "".join(tables.values())
        + "EVENTS: Final = {\n"
        + "".join(events)
        + '}\n"""The payload of each event by its code."""\n\n'
        + f'COMMAND: Final = {command}\n"""The layout of a command behind its operation."""\n\n'
        + f"REPLIES: Final[dict[bytes, str | None]] = {{\n{rows}}}\n"
        + '"""Every bare reply, and the reason of a refusal; None for an acceptance."""\n'
    )


def _layout(layout: CompiledLayout, tables: dict[str, str]) -> str:
    return f"CompiledLayout({', '.join(_named(field, tables) for field in layout.fields)})"


def _named(field: Coded | Characters, tables: dict[str, str]) -> str:
    """The name of a field's table, which is among the tables from now on."""
    if isinstance(field, Characters):
        name = "_" + field.names[0].upper()
        allowed = _bytes(bytes(sorted(field.allowed)))
        text = f'{name} = Characters("{field.names[0]}", {field.size}, {allowed})\n\n'
    else:
        name = "_" + "_".join(field.names).upper()
        rows = "".join(f"        0x{b:02X}: {_values(v)},\n" for b, v in field.from_wire.items())
        names = _values(field.names)
        text = f"{name} = Coded(\n    {names},\n    {{\n{rows}    }},\n)\n\n"
    if tables.setdefault(name, text) != text:
        raise TypeError(f"two tables of the fields {field.names}")
    return name


def _values(values: tuple[Any, ...]) -> str:
    shown = [json.dumps(value) if isinstance(value, str) else str(value) for value in values]
    return f"({', '.join(shown)}{',' if len(shown) == 1 else ''})"


def _bytes(wire: bytes) -> str:
    if wire == bytes(range(wire[0], wire[-1] + 1)) and len(wire) > 2:
        return f"bytes(range(0x{wire[0]:02X}, 0x{wire[-1] + 1:02X}))"
    if wire.isalnum():
        return f'b"{wire.decode()}"'
    return 'b"' + "".join(f"\\x{byte:02x}" for byte in wire) + '"'


# --- the table of bits in SPEC.md ----------------------------------------------------------------


def spec(text: str) -> str:
    """SPEC.md with the table of every payload byte as the layouts have it."""
    codes_of: dict[str, list[str]] = {}
    for code, payload in DATA.items():
        for name, bits in _bit_bytes(payload):
            codes_of.setdefault(f"{name} | " + "\n".join(_lines(bits)), []).append(f"`{code}`")
    rows = ["| code | byte | bits | field | values |", "|---|---|---|---|---|"]
    for byte, codes in codes_of.items():
        first, *rest = byte.split("\n")
        rows.append(f"| {', '.join(codes)} | {first}")
        rows += [f"| | | | {line}" for line in rest]
    return replace_generated(text, rows)


def _bit_bytes(payload: Construct) -> Iterator[tuple[str, Construct]]:
    if isinstance(payload, _BITS):
        yield "payload", payload
    elif isinstance(payload, Struct):
        for field in payload.subcons:
            if isinstance(field.subcon, _BITS):
                yield field.name, field.subcon


def _lines(bits: Construct) -> Iterator[str]:
    """The end of a row for each field of a byte, the first with the byte's bits."""
    parts = [(part, _width(part)) for part in bits.subcon.subcons]
    shape = " ".join(
        format(part.value, f"0{width}b") if isinstance(part, Const) else part.name[0] * width
        for part, width in parts
    )
    at, coded, names = 8, _coded(bits), [part.name for part, _ in parts]
    before = f"`{shape}` | "
    for part, width in parts:
        at -= width
        if part.name is not None:
            others = [coded.names.index(n) for n in names[: names.index(part.name)] if n]
            listed = _meanings(coded, coded.names.index(part.name), others, at, width)
            yield f"{before}{part.name} | {listed} |"
            before = ""


def _meanings(coded: Coded, index: int, others: list[int], at: int, width: int) -> str:
    """Return what each number of a field means, apart for each value of the fields before it."""
    found: dict[Any, dict[int, Any]] = {}
    for byte, values in coded.from_wire.items():
        before = tuple(values[other] for other in others)
        found.setdefault(before, {})[byte >> at & (1 << width) - 1] = values[index]
    alike: dict[str, list[str]] = {}
    for before, numbers in found.items():
        alike.setdefault(_listed(numbers), []).append(" ".join(str(b) or "none" for b in before))
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{', '.join(which)}: {numbers}" for numbers, which in alike.items())


def _listed(numbers: dict[int, Any]) -> str:
    if all(number == meaning for number, meaning in numbers.items()):
        return f"{min(numbers):X} to {max(numbers):X}"
    return ", ".join(f"{number:X} {meaning or 'none'}" for number, meaning in numbers.items())
