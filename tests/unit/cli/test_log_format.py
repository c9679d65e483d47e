"""Lines for systemd's journal: a priority before each, and nothing that the journal has itself."""

from __future__ import annotations

import logging
import os

import pytest

from shoe_ctl.cli.log_format import JournalFormatter, is_journal


@pytest.mark.parametrize(
    ("level", "priority"),
    [
        (logging.DEBUG, 7),
        (logging.INFO, 6),
        (logging.WARNING, 4),
        (logging.ERROR, 3),
        (logging.CRITICAL, 2),
    ],
)
def test_each_line_has_the_priority_of_its_level(level: int, priority: int) -> None:
    record = logging.LogRecord("x", level, "x.py", 1, "bac-07: link lost:\nport=%s", ("a",), None)
    lines = JournalFormatter().format(record).splitlines()
    assert lines == [f"<{priority}>bac-07: link lost:", f"<{priority}>port=a"]


def test_standard_error_is_the_journal_where_device_and_inode_say_so() -> None:
    found = os.fstat(2)
    assert is_journal({"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"})
    assert not is_journal({"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino + 1}"})
    assert not is_journal({"JOURNAL_STREAM": "nothing"})
    assert not is_journal({})
