"""A capture made into a test's fixture: the capture itself, and beside it the events it holds.

In: a capture's file. Out: two files of one name in a folder; a test decodes the one to the other.
Must not know: what the bytes mean, how events are found.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from shoe_ctl.cli.captured import Captured
from shoe_ctl.errors import EnvironmentFault, InputRefused

CAPTURE, EVENTS = ".capture", ".events"
"""What the two files' names end in."""

MOST_BYTES = 16 << 20
"""The longest capture that is made into a fixture: it is held in memory."""


def make(file: Path, folder: Path, events: Callable[[Captured], Iterable[str]]) -> Path:
    """Puts both files into the folder, or neither; returns the capture's.

    Raises:
        EnvironmentFault: a file cannot be read or written, or stands there already.
        InputRefused: it is no capture, or a damaged one.
    """
    try:
        with file.open("rb") as source:
            body = source.read(MOST_BYTES + 1)
    except OSError as error:
        raise EnvironmentFault(f"{file}: {error.strerror}") from None
    if len(body) > MOST_BYTES:
        raise InputRefused(f"{file}: more than {MOST_BYTES >> 20} MB is too much for a fixture")
    if not body.strip():
        raise InputRefused(f"{file} is empty: no capture")
    lines = "".join(f"{line}\n" for line in events(Captured([body], str(file))))
    copy = folder / (file.stem + CAPTURE)
    made: list[Path] = []
    try:
        for path, content in ((copy, body), (copy.with_suffix(EVENTS), lines.encode())):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as new:
                made.append(path)
                new.write(content)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        raise EnvironmentFault(f"{error.filename or folder}: {error.strerror}") from None
    return copy
