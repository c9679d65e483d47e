"""A capture: what came over a line to a shoe, with times, as lines of JSON that people can read.

In: bytes with the time and the end that sent them. Out: lines, and the same values from lines.
Must not know: files, ports, what the bytes mean.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

VERSION = 1
"""Stands in the first line; rises with every change of what stands here."""

SHOE, HOST = "shoe", "host"

LONGEST_LINE = 1 << 20
"""Bytes of a line; no read of a port brings one that long."""

LATEST_US = 2**53
"""The latest time in a capture: three hundred years after it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line. ``started`` is when, in UTC; ``port`` is what it was captured at."""

    profile: str
    port: str
    started: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that were read together, ``t_us`` microseconds after the capture began."""

    t_us: int
    sender: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Opened:
    """The port was opened: a connection begins, and with it a stream of bytes."""

    t_us: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The port was lost; ``why`` is one line for people."""

    t_us: int
    why: str


Entry = Chunk | Opened | Lost


def header_line(header: Header) -> str:
    """The first line of a capture."""
    fields = {"profile": header.profile, "port": header.port, "started": header.started}
    return json.dumps({"capture": VERSION, **fields})


def line(entry: Entry) -> str:
    """An entry's line, without its end."""
    if isinstance(entry, Chunk):
        fields = {"from": entry.sender, "hex": entry.data.hex(" ")}
    elif isinstance(entry, Lost):
        fields = {"port": "lost", "why": entry.why}
    else:
        fields = {"port": "opened"}
    return json.dumps({"t_us": entry.t_us, **fields})


def is_capture(start: bytes) -> bool:
    """True if bytes that begin like this are a capture and not a shoe's own."""
    return start.startswith(b'{"capture":')


def read_header(text: str) -> Header:
    """The first line's values.

    Raises:
        ValueError: not a capture of this version; the text says what was expected.
    """
    fields = _object(text)
    if fields.get("capture") != VERSION:
        raise ValueError(f"expected a capture of version {VERSION}, got {fields.get('capture')!r}")
    profile, port, started = (_text(fields, key) for key in ("profile", "port", "started"))
    return Header(profile=profile, port=port, started=started)


def read_entry(text: str) -> Entry:
    """A later line's values.

    Raises:
        ValueError: not a line of a capture; the text says what was expected.
    """
    fields = _object(text)
    t_us = fields.get("t_us")
    if not isinstance(t_us, int) or isinstance(t_us, bool) or not 0 <= t_us <= LATEST_US:
        raise ValueError(f"t_us: expected microseconds, 0 or more, got {t_us!r}")
    if fields.get("port") == "opened":
        return Opened(t_us)
    if fields.get("port") == "lost":
        return Lost(t_us, _text(fields, "why"))
    sender = _text(fields, "from")
    if sender not in (SHOE, HOST):
        raise ValueError(f"from: expected {SHOE} or {HOST}, got {sender!r}")
    try:
        return Chunk(t_us, sender, bytes.fromhex(_text(fields, "hex")))
    except ValueError as error:
        raise ValueError(f"hex: {error}") from None


def _object(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ValueError("expected a JSON object")
    return fields


def _text(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key}: expected a text, got {value!r}")
    return value
