"""Tables whose journals wire replay is held against, and what stands in them.

In: the path of a journal. Out: what the shoe said, where its cards are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from shoe_ctl.journal.codec import Kind
from shoe_ctl.records import Record
from shoe_ctl.replay.difference import OPENED
from shoe_testing.journals import records
from simulators.faults import Faults, FaultyLine

FAULTS = Faults(split=0.3, merge=0.1, drop=0.02, flip=0.02, repeat=0.05, delay=0.1, unplug=0.03)
"""Frames cut in two, damaged, doubled; cables that come off in the midst of them."""

ROUNDS = 20

SPLIT = Faults(split=0.5)


def bad_lines() -> dict[str, Any]:
    return {"to_host": FaultyLine(3, FAULTS), "to_shoe": FaultyLine(4, FAULTS)}


TABLES: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "reference": ("reference", dict),
    "keyed": ("reference", lambda: {"keyed": True, **bad_lines()}),
    "bad_lines": ("reference", bad_lines),
    "angel_eye": ("angel_eye", lambda: {"pace_s": 0.35, "to_host": FaultyLine(2, SPLIT)}),
    "told": ("angel_eye", lambda: {"session_settings": {"commands": True}}),
    "bee_tek": ("bee_tek", lambda: {"to_host": FaultyLine(2, SPLIT)}),
}


class Drawn(msgspec.Struct):
    """Where an input says that a card was drawn: its record, its round."""

    n: int
    round_id: str | None


def drawn(path: Path, number: int) -> Drawn:
    """The input of this card, counted from 1, and the round that it belongs to."""
    found: Drawn | None = None
    opened: str | None = None
    for record in records(path):
        if found is not None and record.kind == Kind.INPUT.value:
            break
        if record.kind == Kind.RESTRICTED.value and f'"{OPENED}"'.encode() in record.body:
            opened = msgspec.json.decode(record.body)["subject"]
        if record.kind == Kind.INPUT.value and b'"type":"card_drawn"' in record.body:
            number -= 1
            if not number:
                found = Drawn(record.n, opened)
    assert found is not None
    return Drawn(found.n, opened)


def said(path: Path) -> list[dict[str, Any]]:
    """What the shoe said, as it stands in the journal."""
    inputs = [msgspec.json.decode(r.body) for r in records(path) if r.kind == Kind.INPUT.value]
    return [one for one in inputs if one["input"] == "shoe"]


def cards_of(path: Path) -> Iterator[tuple[Record, str | None]]:
    """Each input that a card was drawn, and its round."""
    number = 0
    for record in records(path):
        if record.kind == Kind.INPUT.value and b'"type":"card_drawn"' in record.body:
            number += 1
            yield record, drawn(path, number).round_id
