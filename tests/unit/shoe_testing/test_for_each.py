"""``for_each`` tries every case, and one failure names all that failed."""

from __future__ import annotations

import inspect

import pytest

from shoe_testing.for_each import for_each


def test_every_combination_is_tried() -> None:
    tried: list[tuple[str, int]] = []

    @for_each("ab", (1, 2))
    def check(letter: str, number: int) -> None:
        tried.append((letter, number))

    check()
    assert tried == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_every_case_that_failed_is_named_and_the_first_error_is_the_cause() -> None:
    @for_each([1, 2, 3])
    def check(number: int) -> None:
        assert number % 2 == 0, f"{number} is odd"

    with pytest.raises(AssertionError) as failed:
        check()
    assert str(failed.value).splitlines() == [
        "2 of 3 cases failed",
        "1: 1 is odd",
        "3: 3 is odd",
    ]
    assert str(failed.value.__cause__).startswith("1 is odd")


def test_an_error_and_a_failed_test_count_like_an_assertion() -> None:
    @for_each(["error", "failure"])
    def check(case: str) -> None:
        if case == "error":
            raise KeyError
        pytest.fail("it failed")

    with pytest.raises(AssertionError) as failed:
        check()
    assert str(failed.value).splitlines() == [
        "2 of 2 cases failed",
        "error: KeyError",
        "failure: it failed",
    ]


def test_no_case_at_all_is_a_failure() -> None:
    @for_each([])
    def check(case: str) -> None:
        raise AssertionError(case)

    with pytest.raises(AssertionError, match="no case to check"):
        check()


def test_values_given_as_a_function_are_found_when_the_test_runs() -> None:
    called: list[str] = []

    def found() -> list[int]:
        called.append("found")
        return [1]

    @for_each(found)
    def check(number: int) -> None:
        assert called == ["found"]

    assert called == []
    check()
    assert called == ["found"]


def test_pytest_sees_a_test_without_arguments_by_its_own_name() -> None:
    @for_each([1])
    def check(number: int) -> None:
        """What it checks."""

    assert list(inspect.signature(check).parameters) == []
    assert (check.__name__, check.__doc__) == ("check", "What it checks.")
