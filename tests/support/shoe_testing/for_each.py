"""One test over many small cases: as many items of pytest would cost more than their checks.

In: the values of each argument, a test that takes them. Out: one item; its failure names every
combination that failed.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Values = Iterable[Any] | Callable[[], Iterable[Any]]


def for_each(*values: Values) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Call a test with each combination of values, as stacked ``parametrize`` marks would.

    Every combination is tried. Those that fail are listed in one failure, each with the first line
    of its error; the first error is its cause, so that pytest shows where it was raised. Without
    any combination the test fails, because it would check nothing. Use it for checks that take
    less than a millisecond and need no fixture; others are items of their own. Values that take
    time to find are given as a function: it is called when the test runs, not when it is collected.
    """

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        @functools.wraps(test)
        def run() -> None:
            given = [each() if callable(each) else each for each in values]
            _try_each(test, list(itertools.product(*given)))

        del run.__dict__["__wrapped__"]  # pytest would take its arguments for fixtures
        return run

    return decorate


def _try_each(test: Callable[..., None], cases: list[tuple[Any, ...]]) -> None:
    assert cases, "there is no case to check"
    failed: list[tuple[tuple[Any, ...], BaseException]] = []
    for case in cases:
        try:
            test(*case)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - reported
            failed.append((case, error))
    if failed:
        lines = [f"{_shown(case)}: {_first_line(error)}" for case, error in failed]
        summary = f"{len(failed)} of {len(cases)} cases failed"
        raise AssertionError("\n".join((summary, *lines))) from failed[0][1]


def _shown(case: tuple[Any, ...]) -> str:
    return ", ".join(map(str, case))


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0] or type(error).__name__
