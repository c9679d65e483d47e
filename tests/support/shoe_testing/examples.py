"""How many examples a property test tries: all in `make test-all`, two in five in other runs.

In: how many are all of them, and other settings of Hypothesis. Out: its decorator.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings

_ALL = 100
"""The examples of a test that names no number, in the profile that tries all."""


def examples(number: int, **more: Any) -> settings:
    """The settings of a test that tries so many examples where all are tried."""
    return settings(max_examples=max(1, number * settings.default.max_examples // _ALL), **more)
