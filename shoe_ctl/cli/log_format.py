"""The lines of the log: with time and level, or as systemd's journal takes them.

In: the environment, records of ``logging``. Out: lines. Must not know: what is logged.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

PRIORITIES: Mapping[int, int] = {
    logging.CRITICAL: 2,
    logging.ERROR: 3,
    logging.WARNING: 4,
    logging.INFO: 6,
    logging.DEBUG: 7,
}
"""The priority of each level, as sd-daemon(3) and syslog(3) number them."""

STDERR = 2


def is_journal(environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if standard error is a stream of systemd's journal ($JOURNAL_STREAM)."""
    named = environment.get("JOURNAL_STREAM")
    if named is None:
        return False
    try:
        found = os.fstat(STDERR)
    except OSError:
        return False
    return named == f"{found.st_dev}:{found.st_ino}"


def with_priority(text: str, level: int) -> str:
    """Return each line with its priority before it, by which the journal files it."""
    return "\n".join(f"<{PRIORITIES.get(level, 6)}>{line}" for line in text.splitlines())


class JournalFormatter(logging.Formatter):
    """The message alone: the journal has the time, and shows the level by the priority."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        return with_priority(super().format(record), record.levelno)


def log_to_stderr(level: int) -> None:
    """Log to standard error from ``level`` on, in the form that suits what it leads to."""
    if is_journal():
        handler = logging.StreamHandler()
        handler.setFormatter(JournalFormatter())
        logging.basicConfig(handlers=[handler], level=level)
    else:
        logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=level)
