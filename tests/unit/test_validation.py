"""Mistakes in plain values are found one by one, and said in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
import pytest

from shoe_ctl.api.requests import Command
from shoe_ctl.config.schema import Config
from shoe_ctl.validation import find_mistakes

Name = Annotated[str, msgspec.Meta(pattern="^[a-z]+$", description="small letters")]


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    """What has its own rule: the sum is at most ten."""

    one: int = 0
    other: int = 0

    def __post_init__(self) -> None:
        if self.one + self.other > 10:
            raise ValueError("the sum is above 10")


class Tagged(msgspec.Struct, tag_field="kind", tag="tagged", forbid_unknown_fields=True):
    """One kind of a section."""

    size: Annotated[int, msgspec.Meta(ge=1, le=5)]


class Other(msgspec.Struct, tag_field="kind", tag="other", forbid_unknown_fields=True):
    """Another kind."""

    place: str


class Form(msgspec.Struct, forbid_unknown_fields=True):
    """All kinds of values."""

    name: Name | None = None
    text: Annotated[str, msgspec.Meta(min_length=2, max_length=3)] = "ab"
    at_least: Annotated[int, msgspec.Meta(ge=1)] = 1
    number: float = 0
    flag: bool = False
    word: Literal["up", "down"] | None = None
    owner: str | Annotated[int, msgspec.Meta(ge=0)] = ""
    inner: Inner = msgspec.field(default_factory=Inner)
    several: list[Inner] = []
    named: dict[str, Inner] = {}
    kinds: list[Tagged | Other] = []


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ({"name": "A1"}, "name: expected small letters, found 'A1'"),
        ({"name": 8}, "name: expected a text, found 8"),
        ({"text": "a"}, "text: expected a text of 2 to 3 characters, found 1"),
        ({"at_least": 0}, "at_least: expected a whole number of at least 1, found 0"),
        ({"at_least": "8"}, 'at_least: expected a whole number of at least 1, found the text "8"'),
        ({"at_least": True}, "at_least: expected a whole number of at least 1, found true"),
        ({"number": "x"}, 'number: expected a number, found the text "x"'),
        ({"flag": 1}, "flag: expected true or false, found 1"),
        ({"flag": None}, "flag: expected true or false, found null"),
        ({"word": "left"}, "word: not a known value: 'left' (known: down, up)"),
        ({"word": 3}, "word: not a known value: 3 (known: down, up)"),
        ({"owner": -1}, "owner: expected a whole number of at least 0, found -1"),
        ({"owner": []}, "owner: expected a text or a whole number of at least 0, found a list"),
        ({"inner": 5}, "inner: expected a section, found 5"),
        ({"inner": {"one": 6, "other": 5}}, "inner: the sum is above 10"),
        ({"inner": {"othr": 6}}, "inner: unknown key `othr`: is it `other`?"),
        ({"several": {"one": 1}}, "several: expected a list, found a section: write [[several]]"),
        ({"several": "x"}, 'several: expected a list, found the text "x"'),
        ({"several": [{}, {"one": 1.5}]}, "several[1].one: expected a whole number, found 1.5"),
        ({"named": {"tie": {"one": "x"}}}, 'named.tie.one: expected a whole number, found the '
         'text "x"'),
        ({"kinds": [{"size": 1}]}, "kinds[0]: missing key `kind`"),
        ({"kinds": [{"kind": 1}]}, "kinds[0].kind: not a known value: 1 (known: tagged, other)"),
        ({"kinds": [{"kind": "tagged"}]}, "kinds[0]: missing key `size`"),
        (
            {"kinds": [{"kind": "tagged", "size": 9}]},
            "kinds[0].size: expected a whole number from 1 to 5, found 9",
        ),
        (
            {"kinds": [{"kind": "tagged", "size": 1, "place": "x"}]},
            "kinds[0]: unknown key `place`",
        ),
        ([], "expected a section, found a list"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_place_what_is_expected_and_what_is_there(plain: Any, said: str) -> None:
    assert [str(one) for one in find_mistakes(plain, Form)] == [said]


def test_every_mistake_is_found_and_what_is_right_is_none() -> None:
    plain = {"flag": 1, "several": [{"one": "x"}, {"other": None}], "nmae": "a", "number": 1}
    assert [str(one) for one in find_mistakes(plain, Form)] == [
        "unknown key `nmae`: is it `name`?",
        "flag: expected true or false, found 1",
        'several[0].one: expected a whole number, found the text "x"',
        "several[1].other: expected a whole number, found null",
    ]
    assert find_mistakes({"name": "a", "owner": 3, "number": 1, "word": "up"}, Form) == []


VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 2**60, 1.5, "", "x" * 300, "a b\n", [], [[]], {}, {"a": 1},
)  # fmt: skip

CONFIGURATION: dict[str, Any] = {
    "table": [
        {
            "id": "t",
            "game": "tiger",
            "shoe": {"profile": "reference", "port": "/dev/x"},
            "limits": {"minimum": 1, "currency": {"unit": 5, "rounding": "up"}},
        }
    ],
    "journal": {"path": "j"},
    "socket": {"user": [{"user": 0, "position": "dealer"}]},
    "sink": [
        {"kind": "jsonl", "path": "p"},
        {"kind": "mqtt", "address": "a", "sender": [{"user": "u", "position": "dealer"}]},
        {"kind": "nats", "address": "a", "replicas": 1},
    ],
}
COMMAND: dict[str, Any] = {
    "command_id": "c", "table": "t", "command": "expose", "person": "Ann", "position": "dealer",
    "args": {"hand": "player", "cards": [{"index": 1}]},
}  # fmt: skip


def changed(plain: Any) -> Iterator[Any]:
    """Each copy in which one value is another or is not there, or nobody knows a key."""
    if isinstance(plain, dict):
        yield {**plain, "nobody": 1}
        for key, value in plain.items():
            yield {other: plain[other] for other in plain if other != key}
            yield from ({**plain, key: new} for new in (*VALUES, *changed(value)))
    elif isinstance(plain, list):
        for at, value in enumerate(plain):
            for new in (*VALUES, *changed(value)):
                yield [*plain[:at], new, *plain[at + 1 :]]


def fits(plain: Any, form: type) -> bool:
    try:
        msgspec.convert(plain, form)
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.parametrize(("form", "right"), [(Config, CONFIGURATION), (Command, COMMAND)])
def test_what_msgspec_refuses_is_found_and_no_type_or_expression_is_named(
    form: type, right: dict[str, Any]
) -> None:
    assert find_mistakes(right, form) == []
    for plain in changed(right):
        told = [str(one) for one in find_mistakes(plain, form)]
        assert bool(told) is not fits(plain, form), (plain, told)
        for one in told:
            assert not re.search(r"`(str|int|bool|float|object|array|null)\b|regex|\[\^", one), one
