"""Checkpoints as they come to a witness: events of a file or standard input, or one request.

In: names of files. Out: submissions with the place where each stood, or why there is none. Must not
know: what a witness checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from shoe_ctl.audit.ledger import DamagedLines, read_lines
from shoe_ctl.audit.witness import (
    LONGEST_LINE,
    Refusal,
    Submission,
    read_event,
    read_request,
)


class Arrival(NamedTuple):
    """A checkpoint, or why there is none; ``where`` it stood, and whether it was in an event."""

    where: str
    given: Submission | Refusal
    in_event: bool


def read_source(name: str) -> Iterator[Arrival]:
    """Yield the checkpoints of a file, plain or compressed with gzip; ``-`` is standard input.

    A file that begins with a brace has an event a line; events of other types are passed over. Any
    other file is one note or request.

    Raises:
        EnvironmentFault: the file is not there or cannot be read.
    """
    number = 0
    try:
        lines = read_lines(name)
        for number, line in enumerate(lines, 1):
            if number == 1 and line and not line.startswith(b"{"):
                yield _whole(name, chain([line], lines))
                return
            if line and (found := _of_line(f"{name} line {number}", line)) is not None:
                yield found
    except DamagedLines as error:
        yield Arrival(f"{name} line {number + 1}", Refusal("unreadable", str(error)), True)


def _of_line(where: str, line: bytes) -> Arrival | None:
    try:
        given = read_event(line)
    except Refusal as error:
        return Arrival(where, error, True)
    return None if given is None else Arrival(where, given, True)


def _whole(name: str, lines: Iterator[bytes]) -> Arrival:
    request = b""
    try:
        for line in lines:
            request += line + b"\n"
            if len(request) > LONGEST_LINE:
                raise Refusal("unreadable", f"longer than {LONGEST_LINE:,} bytes")
        return Arrival(name, read_request(request), False)
    except Refusal as error:
        return Arrival(name, error, False)
