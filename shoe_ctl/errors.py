"""The error tree: everything a user of shoe-ctl may be told in one line.

::

    ShoeCtlError
    ├── InputRefused          exit 1   a card list, a game file, a command was refused
    │   └── GameFileError              file, key and what was expected
    ├── UsageError            exit 2   wrong options or a wrong configuration file
    │   └── ConfigError                key and what was expected
    └── EnvironmentFault      exit 3   a port, a file or a broker is not as it should be
        ├── PortError
        └── JournalError
"""

from __future__ import annotations

from typing import Literal

EXIT_CODES = {
    0: "Done.",
    1: "Refused, or a check failed: a command, a card list, a game file, a journal, a scenario.",
    2: "Wrong usage: wrong options, or a wrong configuration file.",
    3: "The environment: a port, a file, a disk or the daemon is not as it should be.",
    130: "Interrupted, for example with Ctrl-C.",
}
"""The exit codes of every command of ``shoectl`` and ``shoe-sim``."""

PortCause = Literal[
    "no_such_port", "permission", "taken", "not_serial", "no_device", "kernel_driver",
    "two_devices", "no_libusb", "host_unknown", "refused", "no_answer", "no_way", "other",
]  # fmt: skip
"""Why a port does not open."""


class ShoeCtlError(Exception):
    """Base: ``str(error)`` is one clear line; ``exit_code`` is what the command line exits with."""

    exit_code = 1


class InputRefused(ShoeCtlError):
    """Something that was handed in cannot be taken."""


class GameFileError(InputRefused):
    """A game file is wrong: says file, key and what was expected."""


class UsageError(ShoeCtlError):
    """The command was called wrongly."""

    exit_code = 2


class ConfigError(UsageError):
    """The configuration is wrong: says key and what was expected."""


class EnvironmentFault(ShoeCtlError):
    """Something outside the program is not as it should be."""

    exit_code = 3


class PortError(EnvironmentFault):
    """The shoe's port cannot be opened or used. ``cause`` is one of a few words for programs."""

    def __init__(self, line: str, cause: PortCause = "other") -> None:
        super().__init__(line)
        self.cause = cause


class JournalError(EnvironmentFault):
    """The journal cannot be opened, written or trusted."""


class CorruptJournal(JournalError):
    """The journal does not hold what was written. ``what`` is the line without its advice."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what}. {advice}")
        self.what = what
