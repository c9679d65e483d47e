"""Arguments by name: what a text stands for, and which values each takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.arguments import Argument, Number, Text, WholeNumber, Word, YesNo, read_arguments
from simulators.table.fields import Fields, Wrong

WHOLE = WholeNumber(about="a", at_least=-5, at_most=300)
RATE = Number(about="a")
WORD = Word(about="a", words=("kept", "lost"))
CODE = Text(about="a", pattern="[a-z]{1,4}", form="up to four letters")
FLAG = YesNo(about="a")


@pytest.mark.parametrize(
    ("argument", "text", "value"),
    [
        (WHOLE, "300", 300), (WHOLE, "-5", -5), (WHOLE, "301", None), (WHOLE, "1.0", None),
        (WHOLE, "", None), (WHOLE, "1" * 20, None), (WHOLE, "true", None),
        (RATE, "0.25", 0.25), (RATE, ".5", 0.5), (RATE, "1", 1.0), (RATE, "1e-3", 0.001),
        (RATE, "nan", None), (RATE, "inf", None), (RATE, "-0.1", None), (RATE, "1.1", None),
        (WORD, "kept", "kept"), (WORD, "Kept", None),
        (CODE, "jam", "jam"), (CODE, "jammed", None), (CODE, "a\n", None),
        (FLAG, "true", True), (FLAG, "false", False), (FLAG, "1", None),
    ],
)  # fmt: skip
def test_a_text_stands_for_a_value_or_is_taken_for_none(
    argument: Argument, text: str, value: object
) -> None:
    read = argument.of_text(text)
    assert argument.takes(read) == (value is not None)
    assert value is None or (read == value and type(read) is type(value))


@given(st.integers(-5, 300))
def test_a_whole_number_in_its_range_is_read_back(value: int) -> None:
    assert WHOLE.of_text(str(value)) == value
    assert WHOLE.takes(value)


@given(st.floats(0, 1))
def test_a_number_in_its_range_is_read_back(value: float) -> None:
    assert RATE.of_text(str(value)) == value
    assert RATE.takes(value)


def test_what_is_missing_or_wrong_is_told_by_name_and_what_is_not_given_has_its_default() -> None:
    needed = {"ppm": WholeNumber(about="a", required=True, at_least=0, at_most=9), "flag": FLAG}
    assert read_arguments(needed, Fields({"ppm": 3}, "clock")) == {"ppm": 3, "flag": False}
    with pytest.raises(Wrong, match=r"^clock.ppm: missing, expected a whole number from 0 to 9$"):
        read_arguments(needed, Fields({}, "clock"))
    with pytest.raises(Wrong, match=r"^clock.ppm: expected a whole number from 0 to 9, not True$"):
        read_arguments(needed, Fields({"ppm": True}, "clock"))
