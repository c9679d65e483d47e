"""The bytes between shoe and daemon, for the report of a test that failed.

In: the journal of a daemon that has stopped, ``shoectl``. Out: a capture file, and its end as text.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firmware_proto.capture import HOST, Chunk, Lost, read_entry
from shoe_bench.table import TABLE

CHUNKS = 24
"""A report shows so many reads and writes, and so many messages: the last ones."""

WITHIN_S = 60.0


class NoCapture(Exception):
    """There are no bytes to show; says why."""


def capture(words: Sequence[str], journal: Path, output: Path) -> None:
    """Write what the journal has of the line to a capture file.

    Raises:
        NoCapture: it cannot be made.
    """
    output.unlink(missing_ok=True)
    options = ("--journal", str(journal), "--table", TABLE, "-o", str(output))
    _run(*words, "capture", *options)


def as_text(words: Sequence[str], path: Path) -> str:
    """Return the end of a capture: the bytes as they came and went, and what they say.

    Raises:
        NoCapture: the capture cannot be read.
    """
    entries = path.read_text("utf-8").splitlines()[1:]
    messages = _run(*words, "decode", str(path)).splitlines()
    lines = [f"{path}: shoectl decode reads it, shoe-sim play plays it", ""]
    lines += _cut(list(_lines(entries)), "reads and writes")
    lines += ["", "what the shoe said:", *_cut(messages, "messages")]
    return "\n".join(lines)


def first_hello(words: Sequence[str], journal: Path) -> Mapping[str, Any]:
    """Return what the shoe said of itself first; nothing where it does not.

    Raises:
        NoCapture: the journal cannot be read.
    """
    for line in _run(*words, "decode", str(journal), "--json").splitlines():
        event: Mapping[str, Any] = json.loads(line)
        if event.get("type") == "hello":
            return event
    return {}


def _lines(entries: Sequence[str]) -> Iterator[str]:
    for text in entries:
        entry = read_entry(text)
        at = f"{entry.t_us / 1e6:10.6f} s"
        if isinstance(entry, Chunk):
            arrow = "host > shoe" if entry.sender == HOST else "shoe > host"
            yield f"{at}  {arrow}  {entry.data.hex(' ')}"
        elif isinstance(entry, Lost):
            yield f"{at}  the port was lost: {entry.why}"
        else:
            yield f"{at}  the port was opened"


def _cut(lines: list[str], what: str) -> list[str]:
    left_out = len(lines) - CHUNKS
    return lines if left_out <= 0 else [f"({left_out} earlier {what})", *lines[-CHUNKS:]]


def _run(*words: str) -> str:
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", check=False, timeout=WITHIN_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoCapture(f"{shlex.join(words)}: {error}") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise NoCapture(said[-1] if said else f"{shlex.join(words)}: exit code {done.returncode}")
    return done.stdout
