"""Why a test at the bench ends: each error's text is what its reader needs, without a traceback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulators.errors import SimulatorError


class BenchError(Exception):
    """Base of all errors of the bench."""


class NotInTime(BenchError):
    """Something that a test waited for did not come within its limit."""


class Unasked(BenchError):
    """The shoe did what the test did not ask for."""


class NoKnownState(BenchError):
    """A test cannot begin: shoe and table are not in the state that every test begins in."""


class DaemonEnded(BenchError):
    """The daemon ended, or did not start."""


class WrongEvent(BenchError, ValueError):
    """A test names an event in a way that cannot be read."""


class LeftOut(BenchError):
    """This shoe does not do that on command: the test is left out, and the text says why."""


class CommandRefused(BenchError):
    """The table refused a command. ``answer`` is its answer; ``code`` and ``needs`` are of it."""

    def __init__(self, command: str, answer: Mapping[str, Any]) -> None:
        error = answer.get("error") or {}
        super().__init__(f"{command}: {error.get('text') or error.get('code') or answer}")
        self.answer = answer
        self.code: str | None = error.get("code")
        self.needs: Mapping[str, Any] = answer.get("needs") or {}


def is_told_by_its_text(error: Any) -> bool:
    """Return whether the text of an error (pytest's ``ExceptionInfo``) says all that is needed.

    Modules have it as ``__tracebackhide__``: a report then shows the lines of the test, and none of
    theirs. Any other error is a fault of the plugin, and shown with all lines.
    """
    return isinstance(error.value, BenchError | SimulatorError | AssertionError)
