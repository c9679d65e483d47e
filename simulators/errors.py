"""The errors that tell a person why a simulator cannot do as asked, each with its exit code.

In: nothing. Out: the error classes. Must not know: who prints them.
"""

from __future__ import annotations


class SimulatorError(Exception):
    """Base: ``str(error)`` is one clear line; ``exit_code`` is what a command exits with."""

    exit_code = 1

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that a person is shown: one, where there is not more than one mistake."""
        return (str(self),)


class WrongUsage(SimulatorError):
    """An option has a value that it cannot have."""

    exit_code = 2


class PortFault(SimulatorError):
    """A port, a link or a file cannot be made, opened or written."""

    exit_code = 3
