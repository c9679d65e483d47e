"""Reading TOML: an error names the place and what is wrong, in words that need no parser."""

from __future__ import annotations

import pytest

from shoe_ctl.toml import parse

WRONG = (
    ("a = 1\nb = 2 3\n", "line 2, column 7", "something stands behind the value"),
    ("a = player", "line 1, column 5", "there is no value here"),
    ("a = \n", "line 1, column 5", "there is no value here"),
    ("a\n", "line 1, column 2", "the = is missing that belongs behind a key"),
    ("= 1", "line 1, column 1", "this is neither key = value nor a [section]"),
    ("[]", "line 1, column 2", "there is no key here"),
    ("[a\n", "line 1, column 3", "the ] is missing behind the section's name"),
    ("[[a]\n", "line 1, column 4", "the ]] is missing behind the section's name"),
    ("a = 1\na = 2\n\n", "line 2, column 6", "the key is there twice"),
    ("a = {b = 1, b = 2}", "line 1, column 18", "the key is there twice"),
    ("[a]\n[a]", "line 2, column 3", "the section is there twice"),
    ("a = [1\n2]", "line 2, column 1", "the ] or a comma is missing in the list"),
    ("a = {b = 1", "end of line 1", "the } or a comma is missing in the group"),
    ('a = "x\n', "line 1, column 7", "the quotes of a text are not closed"),
    ("a = 1\nb = 'x", "end of line 2", "the quotes of a text are not closed"),
    ('a = "C:\\dir"', "line 1, column 10", "a \\ in a text is written as \\\\"),
    ("# \x01", "line 1, column 3", "Found invalid character"),
)


@pytest.mark.parametrize(("text", "place", "says"), WRONG)
def test_an_error_names_line_and_column_and_what_is_missing_in_plain_words(
    text: str, place: str, says: str
) -> None:
    with pytest.raises(ValueError, match="expected TOML") as refused:
        parse(text.encode())
    assert str(refused.value).startswith(f"{place}: expected TOML: {says}")
    assert "\n" not in str(refused.value)


def test_values_are_read_as_they_stand() -> None:
    assert parse(b"a = 'x'\n[b]\nc = [1, true]\n") == {"a": "x", "b": {"c": [1, True]}}
