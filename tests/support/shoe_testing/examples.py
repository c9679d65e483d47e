"""How much is tried in which run: all in `make test-all`, a part of it in other runs.

In: the number of a property's examples, or a test's cases. Out: settings of Hypothesis, parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

_ALL = 100
"""The examples of a test that names no number, in the profile that tries all."""


def examples(number: int, **more: Any) -> settings:
    """The settings of a test that tries so many examples where all are tried."""
    return settings(max_examples=max(1, number * settings().max_examples // _ALL), **more)


def sampled(cases: Iterable[Any], *, one_in: int, cpu_s: float) -> list[Any]:
    """Parameters of a test: one case in so many is tried in every run, the others in all tests.

    ``cpu_s`` is what a case takes. A case is a value, or a parameter with its values and id.
    """
    found = []
    for number, case in enumerate(cases):
        given = case if isinstance(case, type(pytest.param())) else pytest.param(case)
        marks = [pytest.mark.exhaustive(cpu_s=cpu_s)] * bool(number % one_in)
        found.append(pytest.param(*given.values, id=given.id, marks=[*given.marks, *marks]))
    return found
