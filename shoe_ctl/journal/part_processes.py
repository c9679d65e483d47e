"""Read a long journal in parts, each by a process of its own, and go on where that was stopped.

In: parts, the module whose ``main`` does one, a file for what is done. Out: the results, by part.
Must not know: where a journal is cut, what is done with a part.

A process gets its part as JSON on its standard input, and writes lines: now and then how many
records it has read, at last its result as JSON.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from shoe_ctl.errors import EnvironmentFault, InputRefused, ShoeCtlError
from shoe_ctl.journal.files import write_atomically

PARTS_A_JOB = 2
"""Parts for each process: one that is done early takes the next."""

ENDS_WITHIN_S = 5.0
"""The time that a process which is told to end may take."""

MOST_RECORDS = 2_000_000
"""Records of a part at most: so much is read again after a stop."""

MOST_PARTS = 1_000
"""Parts at most, as many as two billion records make: a stranger's journal may number its records
as it likes."""


class Part(Protocol):
    """Some of a journal's records."""

    @property
    def records(self) -> int:
        """Return the number of records that are read."""


P = TypeVar("P", bound=Part)
R = TypeVar("R")
_K = TypeVar("_K")
_D = TypeVar("_D")


class Progress(msgspec.Struct, Generic[_K, _D]):
    """All parts of a journal with the results so far, as a file keeps them."""

    journal: str
    """The identity of the journal, and of all else that the results depend on."""
    parts: list[_K]
    done: dict[int, _D] = {}
    """The results, by the part's place."""

    def save(self, file: Path | None) -> None:
        """Write it to this file, if any.

        Raises:
            EnvironmentFault: it cannot be written.
        """
        if file is None:
            return
        try:
            write_atomically(file, msgspec.json.encode(self))
        except OSError as error:
            raise EnvironmentFault(
                f"{file}: the state cannot be written: {error.strerror}"
            ) from None


def part_size(records: int, jobs: int, *, least: int) -> int:
    """Return how many records a part has where so many processes share a journal."""
    return max(least, min(MOST_RECORDS, records // (jobs * PARTS_A_JOB)), records // MOST_PARTS)


def load(file: Path | None, of: type[Progress[P, R]], what: str) -> Progress[P, R] | None:
    """Return what the file keeps; None where there is no such file.

    Raises:
        InputRefused: it is not the state of ``what``.
    """
    if file is None:
        return None
    try:
        kept = msgspec.json.decode(file.read_bytes(), type=of)
        if not kept.parts or not kept.done.keys() <= set(range(len(kept.parts))):
            raise ValueError("its parts are not those of its results")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputRefused(f"{file}: not the state of a {what}: {why}") from None
    return kept


def run(  # noqa: PLR0913 - all of it by name
    work: Progress[P, R],
    result: type[R],
    *,
    module: str,
    given: Callable[[P], bytes],
    jobs: int,
    state: Path | None,
    progress: Callable[[int, int], None],
) -> list[R] | None:
    """Do the parts that are left; return all results, or None as soon as a process has none.

    ``module`` is run in each process; ``given`` is what it reads. ``progress`` gets how many
    records of all are read.

    Raises:
        EnvironmentFault: the state cannot be written.
    """
    work.save(state)
    left = [place for place in range(len(work.parts)) if place not in work.done]
    before = sum(work.parts[place].records for place in work.done)
    total = sum(part.records for part in work.parts)
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        while left or selector.get_map():
            while left and len(selector.get_map()) < jobs:
                place = left.pop(0)
                process = stack.enter_context(_Process(module, place, given(work.parts[place])))
                selector.register(process.output, selectors.EVENT_READ, process)
            for key, _ in selector.select():
                process = key.data
                if process.read():
                    continue
                selector.unregister(process.output)
                found = None
                with suppress(ValueError):
                    found = msgspec.json.decode(process.result, type=result)
                if found is None:
                    return None
                work.done[process.place] = found
                before += work.parts[process.place].records
                work.save(state)
            at_work = (key.data.reached for key in selector.get_map().values())
            progress(before + sum(at_work), total)
    return [work.done[place] for place in range(len(work.parts))]


class _Process:
    """A process that does one part. It ends with its parent, whatever ends that.

    Attributes:
        reached: how many records it has read.
        result: the last line that it wrote, once it has ended; empty if it failed.
    """

    def __init__(self, module: str, place: int, given: bytes) -> None:
        self.place = place
        self.reached = 0
        self.result = b""
        self._lines = b""
        # In a group of its own: Ctrl-C is for the parent, which keeps what is done.
        self._popen = subprocess.Popen(
            (sys.executable, "-P", "-m", module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        assert self._popen.stdin is not None and self._popen.stdout is not None
        self.output = self._popen.stdout
        with suppress(BrokenPipeError), self._popen.stdin as its_input:
            its_input.write(given)

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._popen.terminate()  # it holds that back while it has a file to remove
        self.output.close()
        try:
            self._popen.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def read(self) -> bool:
        """Take what it has written; return False once it has ended."""
        some = os.read(self.output.fileno(), 1 << 16)
        *lines, self._lines = (self._lines + some).split(b"\n")
        for line in lines:
            if line.isdigit():
                self.reached = int(line)
            else:
                self.result = line
        return bool(some)


# In the process of one part.


def do_part(of: type[_K], do: Callable[[_K, Callable[[int], None]], object]) -> None:
    """Do the part that standard input gives, and write its result as the last line.

    ``do`` gets the part and what to call now and then with the number of records read. It returns
    None where all is to be done by one process instead; to that errors are left too.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    part = msgspec.json.decode(sys.stdin.buffer.read(), type=of)
    with suppress(ShoeCtlError):
        _write_line(msgspec.json.encode(do(part, lambda n: _write_line(b"%d" % n))))


def _write_line(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
