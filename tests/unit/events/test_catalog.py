"""The catalogue knows every event that a table emits, with each of its keys."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import shoe_ctl
from shoe_ctl.docstrings import field_docstrings
from shoe_ctl.events import EVENTS, check
from shoe_ctl.events.event_type import Actor, Data
from shoe_ctl.records import Audience
from shoe_ctl.table.cases import CASES, list_cases
from shoe_testing import recorded_events as recorded
from shoe_testing.event_check import copies
from shoe_testing.for_each import for_each
from shoe_testing.tables import ROUNDS, TableHarness

CODE = Path(shoe_ctl.__file__).parent
FAMILIES = {name.partition(".")[0] for name in EVENTS}
PUBLIC, RESTRICTED = Audience.PUBLIC, Audience.RESTRICTED
SETTLED = {"round_id": "t1-s1-r1"}


def types_in_the_code() -> set[str]:
    """Every literal of the packages that emit events that has the form of a type.

    Cases of the table's tables have that form too.
    """
    found: set[str] = set()
    for package in ("table", "daemon", "history"):
        for path in (CODE / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    family, dot, name = node.value.partition(".")
                    if dot and family in FAMILIES and name.replace("_", "").isalpha():
                        found.add(node.value)
    return found - {case for trigger in CASES for case in list_cases(trigger)}


def emitted_literals() -> set[str]:
    """The first argument of each call that emits an event, where it is a literal."""
    calls = {"emit", "emit_restricted", "announce", "emit_irregularity", "TableEvent"}
    found: set[str] = set()
    for path in CODE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "attr", getattr(node.func, "id", None))
                first = node.args[0]
                if name in calls and isinstance(first, ast.Constant):
                    found.add(str(first.value))
    return found


def test_the_types_of_the_catalogue_are_those_of_the_code() -> None:
    assert types_in_the_code() == set(EVENTS)


def test_a_type_of_a_family_that_is_new_is_found_where_it_is_emitted() -> None:
    emitted = emitted_literals()
    assert len(emitted) > 40
    assert emitted <= set(EVENTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "one_in", [5, pytest.param(1, marks=pytest.mark.exhaustive(cpu_s=4))], ids=["some", "all"]
)
def test_every_recorded_event_is_as_the_catalogue_says(one_in: int) -> None:
    wrong: Counter[str] = Counter()
    seen: set[str] = set()
    for event in recorded.effects(one_in):
        seen.add(event.type)
        streams = dict(copies(event))
        if PUBLIC in streams and not streams[PUBLIC].keys() <= streams[RESTRICTED].keys():
            wrong[f"{event.type}: the restricted copy lacks a key"] += 1
        for audience, data in streams.items():
            try:
                check(event.type, audience, data)
            except ValueError as error:
                wrong[str(error)] += 1
    assert not wrong
    assert len(seen) > 50


@for_each(EVENTS)
def test_every_field_has_a_meaning_and_is_restricted_or_not_but_once(name: str) -> None:
    event = EVENTS[name]
    assert event.description.endswith(".")
    parts: tuple[type[Data], ...] = (event.data, *event.adds, Actor)
    keys = [f.encode_name for of in parts for f in msgspec.structs.fields(of)]
    assert len(keys) == len(set(keys))
    for of in parts:
        assert set(of.__struct_fields__) == set(field_docstrings(of)), of


def test_what_is_restricted_adds_to_what_is_public() -> None:
    for event in EVENTS.values():
        if event.public is not None:
            public = {f.encode_name: f.type for f in msgspec.structs.fields(event.public)}
            restricted = {f.encode_name: f.type for f in msgspec.structs.fields(event.restricted)}
            assert public.items() <= restricted.items()


@pytest.mark.parametrize(
    ("name", "audience", "data", "why"),
    [
        ("round.paid", PUBLIC, SETTLED, "round.paid is no type of the catalogue"),
        ("round.card_drawn", PUBLIC, {}, "round.card_drawn is restricted"),
        ("round.settled", PUBLIC, {}, "missing required field `round_id`"),
        ("round.settled", PUBLIC, SETTLED | {"at": 1}, "contains unknown field `at`"),
        ("round.settled", PUBLIC, {"round_id": 7}, r"Expected `str`, got `int` - at `\$.round_id`"),
        ("table.halted", RESTRICTED, {"reason": "two words"}, r"\$.reason"),
        ("round.first_hand", PUBLIC, {**SETTLED, "hand": "player"}, "`rule`"),
        ("round.settled", PUBLIC, SETTLED | {"person": "kim"}, "contains unknown field `person`"),
    ],
)
def test_what_is_not_in_the_catalogue_is_refused(
    name: str, audience: Audience, data: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        check(name, audience, data)


def test_a_table_of_the_tests_holds_its_events_against_the_catalogue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = TableHarness()
    table.open_shoe()
    table.play(ROUNDS["both draw"])
    changed = dict(EVENTS)
    del changed["round.opened"]
    monkeypatch.setattr("shoe_ctl.events.catalog.EVENTS", changed)
    with pytest.raises(ValueError, match=r"round\.opened is no type of the catalogue"):
        table.play(ROUNDS["both draw"])
