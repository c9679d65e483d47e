"""The known name that a misspelled one most likely means: "did you mean".

In: a name, and the names that are known. Out: the nearest of them. It lies with the wire because
the controller and the simulators share nothing else. Must not know: what the names are of.
"""

from __future__ import annotations

from collections.abc import Iterable

LIKENESS = 0.7
"""The least likeness of two names, from 0 to 1, for one to be suggested for the other: with less,
names of three letters that share one are suggested."""


def nearest_names(name: str, known: Iterable[str], most: int) -> list[str]:
    """Return so many of the known names that are most like this one, the nearest first."""
    from difflib import get_close_matches  # late: it is needed only where something is wrong

    return get_close_matches(name, list(known), n=most, cutoff=LIKENESS)


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that this one most likely means; None where none is like it."""
    return next(iter(nearest_names(name, known, 1)), None)
