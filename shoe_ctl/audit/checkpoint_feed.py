"""Checkpoints as they come to a witness: events of a file or standard input, or one request.

In: names of files, a witness. Out: submissions with the place where each stood, or why there is
none; what the witness hands out for each. Must not know: what a witness checks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from shoe_ctl.audit.ledger import DamagedLines, read_lines
from shoe_ctl.audit.witness import (
    LONGEST_LINE,
    Refusal,
    Submission,
    Witness,
    read_event,
    read_request,
)
from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.journal.checkpoint_event import CHECKPOINT_SIGNED
from shoe_ctl.journal.cosignatures import encode_cosigned, encode_refused

MARK = f'"{CHECKPOINT_SIGNED}"'.encode()
"""Stands in each event that has a checkpoint."""

log = logging.getLogger(__name__)


class Arrival(NamedTuple):
    """A checkpoint, or why there is none; ``where`` it stood, and whether it was in an event."""

    where: str
    given: Submission | Refusal
    in_event: bool


class Answer(NamedTuple):
    """The bytes that a witness hands out for a checkpoint of ``origin``, or why it refused.

    An alarm that came in an event has both.
    """

    given_out: bytes = b""
    origin: str = ""
    refusal: Refusal | None = None


def answer(own: Witness, arrival: Arrival) -> Answer:
    """Let a witness cosign what arrived, and put it in the form in which that came.

    Raises:
        EnvironmentFault: the witness's state cannot be stored.
    """
    if isinstance(arrival.given, Refusal):
        return Answer(refusal=arrival.given)
    try:
        found = own.cosign(arrival.given)
    except Refusal as error:
        alarm = b""
        if error.is_loud and arrival.in_event:
            note, now_s = arrival.given.note, own.now_s()
            alarm = encode_refused(own.key.name, error.why, str(error), note, now_s)
        return Answer(alarm, error.origin, error)
    if arrival.in_event:
        stamp = own.stamp(found.note.to_bytes())
        event = encode_cosigned(own.key.name, found.said, found.note, found.t_s, stamp)
        return Answer(event, found.said.origin)
    return Answer(found.note.to_bytes(), found.said.origin)


def answer_loudly(own: Witness, arrival: Arrival, hand_out: Callable[[bytes], None]) -> Answer:
    """As ``answer``, for checkpoints that come by themselves: a refusal is logged.

    Raises:
        EnvironmentFault: the witness's state cannot be stored, or nothing can be handed out.
    """
    found = answer(own, arrival)
    if found.refusal is not None:
        level = logging.CRITICAL if found.refusal.is_loud else logging.WARNING
        log.log(level, "refused: %s: %s", arrival.where, found.refusal)
    if found.given_out:
        try:
            hand_out(found.given_out)
        except OSError as error:
            raise EnvironmentFault(f"standard output: {error.strerror}") from None
    return found


def read_source(name: str) -> Iterator[Arrival]:
    """Yield the checkpoints of a file, plain or compressed with gzip; ``-`` is standard input.

    A file that begins with a brace has an event a line; events of other types are passed over. Any
    other file is one note or request.

    Raises:
        EnvironmentFault: the file is not there or cannot be read.
        InputRefused: it is a pipe or a device.
    """
    number = 0
    try:
        lines = read_lines(name)
        for number, line in enumerate(lines, 1):
            if number == 1 and line and not line.startswith(b"{"):
                yield _whole(name, chain([line], lines))
                return
            if line and (found := read_arrival(f"{name} line {number}", line)) is not None:
                yield found
    except DamagedLines as error:
        yield Arrival(f"{name} line {number + 1}", Refusal("unreadable", str(error)), True)


def read_arrival(where: str, line: bytes) -> Arrival | None:
    """Return the checkpoint in an event; None if it is of another type."""
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
