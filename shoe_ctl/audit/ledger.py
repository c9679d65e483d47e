"""A ledger: the events that a table system got, one JSON object a line, in one or several files.

In: paths of files, plain or compressed with gzip, or ``-`` for standard input. Out: its lines, and
those that are no events.
Must not know: the journal, what an event means.
"""

from __future__ import annotations

import gzip
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, NamedTuple, cast

import msgspec

from shoe_ctl.errors import EnvironmentFault, InputRefused
from shoe_ctl.records import Audience, event_id, table_in

LONGEST_LINE = 1 << 20
"""Bytes of a line that is read as an event: as long as the longest record's body."""

_GZIP = b"\x1f\x8b"
_SQLITE = b"SQLite format 3\0"
_MOST_TORN = 20
"""Torn lines of a file that are named one by one; further ones are counted with the last."""

DAMAGED = "its compressed data is cut off or damaged here"
TOO_LONG = b"a line that is too long"
TORN = "is no event: torn, or not of a ledger"


class _Attributes(msgspec.Struct):
    """The part of an event's envelope that says which event it is."""

    id: str
    source: str


_attributes = msgspec.json.Decoder(_Attributes)


class LedgerLine(NamedTuple):
    """An event in a ledger; ``file`` and ``line`` (from 1) say where. ``body`` is its JSON."""

    table: str
    audience: Audience
    number: int
    source: str
    file: str
    line: int
    body: bytes


class Trouble(msgspec.Struct, kw_only=True):
    """Lines of a ledger that cannot be compared: ``what`` is wrong with the one at ``line``.

    ``lines`` counts it and further ones like it in the same file.
    """

    file: str
    line: int
    what: str
    lines: int = 1


class Ledger:
    """A ledger's lines in the order of its files; ``troubles`` grows while they are read.

    Raises:
        EnvironmentFault: a file is not there or cannot be read.
        InputRefused: a file is given twice, is a journal, or is a pipe or a device.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.troubles: list[Trouble] = []
        self._by_source: dict[tuple[str, str], Trouble] = {}
        self._torn: dict[str, list[Trouble]] = {}
        seen: dict[object, str] = {}
        for name in names:
            is_same: object = name
            if name != "-":
                with _one_line(name), _open(name) as file:
                    if file.read(len(_SQLITE)) == _SQLITE:
                        raise InputRefused(f"{name}: it is a journal, not a ledger of JSON lines")
                is_same = Path(name).resolve()
            if is_same in seen:
                raise InputRefused(f"{name}: this file is given twice, also as {seen[is_same]}")
            seen[is_same] = name

    def __iter__(self) -> Iterator[LedgerLine]:
        for name in self._names:
            yield from self._lines(name)

    def _lines(self, name: str) -> Iterator[LedgerLine]:
        number = 0
        for line in self._read(name):
            number += 1
            if not line:
                continue
            try:
                found = _attributes.decode(line)
                at = event_id(found.id)
                if table_in(found.source) != at.table:
                    raise ValueError("its source names another table than its id")
                line.decode()
            except (ValueError, RecursionError):
                self._add_torn(name, number)
                continue
            yield LedgerLine(*at, found.source, name, number, line)

    def _read(self, name: str) -> Iterator[bytes]:
        number = 0
        try:
            for line in read_lines(name):
                number += 1
                yield line
        except DamagedLines:
            self.troubles.append(Trouble(file=name, line=number + 1, what=DAMAGED))

    def set_torn(self, line: LedgerLine) -> None:
        """Note a line that turned out to be no event."""
        self._add_torn(line.file, line.line)

    def _add_torn(self, name: str, number: int) -> None:
        torn = self._torn.setdefault(name, [])
        if len(torn) < _MOST_TORN:
            torn.append(Trouble(file=name, line=number, what=TORN))
            self.troubles.append(torn[-1])
        else:
            torn[-1].lines += 1

    def set_aside(self, line: LedgerLine, what: str) -> None:
        """Note a line that is of something else: the first of its file and source is named."""
        key = line.file, line.source
        if key in self._by_source:
            self._by_source[key].lines += 1
            return
        found = self._by_source[key] = Trouble(file=line.file, line=line.line, what=what)
        self.troubles.append(found)


class DamagedLines(InputRefused):
    """A file's compressed data is cut off or damaged."""


def read_lines(name: str) -> Iterator[bytes]:
    """Yield the lines of a file, plain or compressed with gzip; ``-`` is standard input.

    A line that is too long is not kept whole: ``TOO_LONG`` stands for it.

    Raises:
        EnvironmentFault: it is not there or cannot be read.
        InputRefused: it is a pipe or a device.
        DamagedLines: what follows the lines so far cannot be unpacked.
    """
    try:
        with _one_line(name), _opened(name) as file:
            while line := file.readline(LONGEST_LINE):
                end = line
                while not end.endswith(b"\n") and (end := file.readline(LONGEST_LINE)):
                    line = TOO_LONG
                yield line.rstrip(b"\r\n")
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DamagedLines(f"{name}: {DAMAGED}") from None


def is_json(body: bytes) -> bool:
    """Return True if all of a line can be decoded: what is behind its id may not."""
    try:
        return isinstance(msgspec.json.decode(body), dict)
    except (ValueError, RecursionError):
        return False


@contextmanager
def _one_line(name: str) -> Iterator[None]:
    """Say in one line what the operating system says of a file."""
    try:
        yield
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        raise EnvironmentFault(f"{name}: {error.strerror or error}") from None


def _open(name: str) -> BufferedReader:
    """Open a file. A device may have no end; a pipe is read once, and may wait for ever."""
    path = Path(name)
    if not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
        raise InputRefused(f"{name}: it is not a file; - reads standard input")
    return path.open("rb")


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    with ExitStack() as stack:
        file: BufferedReader
        if name == "-":
            # what is buffered already would wait for more than the line that came
            own = sys.stdin.buffer
            file = BufferedReader(cast("RawIOBase", getattr(own, "raw", own)))
            stack.callback(file.detach)  # it stays open: it is not ours
        else:
            file = stack.enter_context(_open(name))
        if file.peek(len(_GZIP)).startswith(_GZIP):
            yield cast("IO[bytes]", stack.enter_context(gzip.open(file)))
        else:
            yield file
