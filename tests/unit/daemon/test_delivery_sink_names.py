"""A sink's own name: the default, what is refused, and the cursor that goes with it."""

from __future__ import annotations

import pytest

from shoe_ctl.config.schema import parse
from shoe_ctl.errors import ConfigError

TABLE = """
[[table]]
id = "t1"
game = "tiger"
[table.shoe]
profile = "reference"
port = "/dev/none"
"""


def sink(path: str, *more: str) -> str:
    return "\n".join(["[[sink]]", 'kind = "jsonl"', f'path = "{path}"', *more, ""])


def names(*sinks: str) -> list[str]:
    return [each.known_as for each in parse((TABLE + "".join(sinks)).encode(), "t.toml").sink]


def test_a_sink_is_known_by_its_kind_and_path_unless_it_has_a_name() -> None:
    assert names(sink("a.jsonl"), sink("-"), sink("b.jsonl", 'name = "floor"')) == [
        "jsonl:a.jsonl",
        "jsonl:-",
        "floor",
    ]


def test_a_renamed_file_keeps_its_place_by_the_name_that_it_had() -> None:
    assert names(sink("new/b.jsonl", 'name = "jsonl:a.jsonl"')) == names(sink("a.jsonl"))


def test_a_sink_begins_at_the_beginning_unless_it_says_otherwise() -> None:
    sinks = [sink("a"), sink("b", 'from = "now"'), sink("c", 'from = "shoe"')]
    config = parse((TABLE + "".join(sinks)).encode(), "t.toml")
    assert [each.begins for each in config.sink] == ["beginning", "now", "shoe"]


@pytest.mark.parametrize(
    ("sinks", "said"),
    [
        (
            sink("a", 'name = "floor"') + sink("b", 'name = "floor"'),
            "sink: two sinks have the name 'floor': give each a name of its own",
        ),
        (
            sink("a", 'name = "jsonl:b"') + sink("b"),
            "sink: two sinks have the name 'jsonl:b': give each a name of its own",
        ),
        (
            sink("a", 'name = "floor"') + sink("a", 'name = "other"'),
            "sink: two sinks write to 'a'",
        ),
        (
            sink("a", 'name = ""'),
            "sink[0].name: expected 1 to 200 characters in one line, a letter first, found",
        ),
        (
            sink("a", 'name = "5"'),
            "sink[0].name: expected 1 to 200 characters in one line, a letter first, found",
        ),
        (
            sink("a", 'name = "a\\nb"'),
            "sink[0].name: expected 1 to 200 characters in one line, a letter first, found",
        ),
        (sink("a", 'from = "then"'), "sink[0].from: not a known value: 'then'"),
        (sink("a", 'begins = "now"'), "sink[0]: unknown key `begins`"),
        (sink("a", 'form = "now"'), "sink[0]: unknown key `form`: is it `from`?"),
    ],
)
def test_what_names_no_sink_of_its_own_is_refused_in_one_line(sinks: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse((TABLE + sinks).encode(), "t.toml")
    assert str(refused.value).startswith(f"t.toml: {said}")
