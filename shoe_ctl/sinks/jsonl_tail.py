"""The contents of a ``jsonl`` sink's files: the newest ids, and lines that the journal lost.

In: a path; which ids are lost. Out: ids, lines, and why not all could be read. It only reads, and
a bounded part of whatever lies there: the files may be a stranger's.
Must not know: the journal, what an event means, who compares.
"""

from __future__ import annotations

import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

import msgspec

from shoe_ctl.records import Audience, event_id

MOST_BYTES = 1 << 20
"""So much of the file's end is read: about two thousand events, of whichever tables were busy. A
file of years costs a start no more."""

MOST_KEPT_BYTES = 1 << 25
"""Lines of one file that are kept: about a thousand rounds. Further ones are counted."""

MOST_UNPACKED_BYTES = 1 << 28
"""So much of one compressed file is read, and so much backwards of one that is not."""

LONGEST_LINE = 1 << 18
"""A longer line is no event of ours."""

MOST_ROTATED = 100
"""So many rotated files are looked at, the newest ones."""

_ROTATED = r"(?:[-._][0-9][0-9._T-]*|[.](?:old|bak))"
"""The end of a rotated file's name: logrotate adds a number, a date or a time, people a word."""

_PACKED = r"(?:[.](?:gz|bz2|xz|zst|lz4|Z))"


class _Line(msgspec.Struct):
    id: str
    source: str


_decoder = msgspec.json.Decoder(_Line)

Newest = Mapping[tuple[str, Audience], int]
"""By source and audience: the highest number of an id; what was written last stands last."""

IsLost = Callable[[str, str], bool | None]
"""Given an id and its source: whether the event is lost; None if it is of no table of the journal.
"""


class LostLines(msgspec.Struct):
    """The lines of one file whose events are lost, in its order.

    ``not_kept`` counts further ones. ``trouble``: why not all of the file was read; empty if it
    was. ``has_known``: it also holds events that the journal has.
    """

    path: Path
    lines: list[bytes] = []
    not_kept: int = 0
    trouble: str = ""
    has_known: bool = False


def newest_ids(path: Path) -> Newest | None:
    """Return the highest numbers at the file's end; None where there is no such file.

    Where it holds none, it was rotated just now: then those of the newest rotated file. A line that
    was cut off, or is none of ours, says nothing.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        with _open_regular(path) as file:
            found = _newest_in(_end_of(file))
    except FileNotFoundError:
        found = None
    if found:
        return found
    for rotated in _rotated_files(path)[:1]:
        with suppress(EOFError, zlib.error), _open_regular(rotated) as file:
            unpacked = _unpacked(rotated, file)
            return _newest_in(_end_of(file) if unpacked is None else _end_of_packed(unpacked))
    return found


def _newest_in(lines: Iterable[bytes]) -> Newest:
    found: dict[tuple[str, Audience], int] = {}
    for line in lines:
        if (said := _read(line)) is not None:
            _, audience, number = event_id(said.id)
            key = (said.source, audience)
            found[key] = max(number, found.pop(key, 0))
    return found


def _end_of(file: IO[bytes]) -> list[bytes]:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MOST_BYTES))
    return file.read(MOST_BYTES).split(b"\n")


def _end_of_packed(unpacked: IO[bytes]) -> list[bytes]:
    end, read = b"", 0
    while read < MOST_UNPACKED_BYTES and (piece := unpacked.read(MOST_BYTES)):
        end = (end + piece)[-MOST_BYTES:]
        read += len(piece)
    return end.split(b"\n")


def find_lost_lines(path: Path, is_lost: IsLost) -> Iterator[LostLines]:
    """Yield what the sink's file and the files rotated from it hold of lost events, newest first.

    A file is in the order of the journal, and each rotated one is older than the last: the first
    rotated file that holds no lost event ends it. A file that cannot be read is named, with the
    reason.
    """
    yield _lost_in(path, is_lost)
    try:
        rotated = _rotated_files(path)
    except OSError as error:
        yield LostLines(path.parent, trouble=_why(error))
        return
    for each in rotated[:MOST_ROTATED]:
        found = _lost_in(each, is_lost)
        yield found
        if found.has_known and not found.lines:
            return


def _rotated_files(path: Path) -> list[Path]:
    """Return the files that logrotate made of this one, newest first."""
    stem, suffix = re.escape(path.stem), re.escape(path.suffix)
    rotated = re.compile(
        f"{re.escape(path.name)}(?:{_ROTATED}{_PACKED}?|{_PACKED})|{stem}{_ROTATED}{suffix}{_PACKED}?"
    ).fullmatch
    found = []
    with os.scandir(path.parent) as folder:
        for entry in folder:
            if entry.name != path.name and rotated(entry.name):
                with suppress(FileNotFoundError):
                    at = entry.stat(follow_symlinks=False)
                    found.append((at.st_mtime_ns, Path(entry.path)))
    return [each for _, each in sorted(found, reverse=True)]


def _lost_in(path: Path, is_lost: IsLost) -> LostLines:
    found = LostLines(path)
    try:
        with _open_regular(path) as file:
            unpacked = _unpacked(path, file)
            if unpacked is None:
                _search_backwards(file, found, is_lost)
            else:
                _search_forwards(unpacked, found, is_lost)
    except FileNotFoundError:
        found.trouble = "no such file"
    except (OSError, EOFError, zlib.error) as error:
        found.trouble = _why(error)
    return found


def _unpacked(path: Path, file: IO[bytes]) -> IO[bytes] | None:
    """Return what is in a compressed file; None where its name does not say that it is one.

    Raises:
        OSError: it is compressed in another way than gzip and bzip2.
    """
    if not re.search(f"{_PACKED}$", path.name):
        return None
    if path.suffix == ".gz":
        import gzip

        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if path.suffix == ".bz2":
        import bz2

        return bz2.BZ2File(file)
    raise OSError(f"{path.suffix} cannot be unpacked here: unpack it beside the others")


def _search_backwards(file: IO[bytes], found: LostLines, is_lost: IsLost) -> None:
    """Read back to the first piece of ``MOST_BYTES`` in which no line is lost."""
    size = start = file.seek(0, os.SEEK_END)
    rest, kept = b"", 0
    pieces: list[list[bytes]] = []
    while start:
        if size - start >= MOST_UNPACKED_BYTES:
            found.trouble = f"only its last {MOST_UNPACKED_BYTES >> 20} MB were read"
            break
        end, start = start, max(0, start - MOST_BYTES)
        file.seek(start)
        lines = (file.read(end - start) + rest).split(b"\n")
        rest = lines.pop(0) if start else b""
        lost = [line for line in lines if _is_lost(line, found, is_lost)]
        if not lost:
            break
        kept += sum(map(len, lost))
        if kept <= MOST_KEPT_BYTES:
            pieces.append(lost)
        else:
            found.not_kept += len(lost)
        if len(rest) > LONGEST_LINE:
            rest = b""
    found.lines = [line for piece in reversed(pieces) for line in piece]


def _search_forwards(file: IO[bytes], found: LostLines, is_lost: IsLost) -> None:
    """Read from the beginning: what is compressed cannot be read backwards."""
    rest, kept, read = b"", 0, 0
    while piece := file.read(MOST_BYTES):
        read += len(piece)
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if not _is_lost(line, found, is_lost):
                continue
            kept += len(line)
            if kept <= MOST_KEPT_BYTES:
                found.lines.append(line)
            else:
                found.not_kept += 1
        if len(rest) > LONGEST_LINE:
            rest = b""
        if read >= MOST_UNPACKED_BYTES:
            found.trouble = f"only its first {MOST_UNPACKED_BYTES >> 20} MB were read"
            return


def _is_lost(line: bytes, found: LostLines, is_lost: IsLost) -> bool:
    said = _read(line)
    lost = None if said is None else is_lost(said.id, said.source)
    found.has_known = found.has_known or lost is False
    return bool(lost)


def _read(line: bytes) -> _Line | None:
    """Return the id and source of an event's line; None if it is none."""
    if len(line) > LONGEST_LINE:
        return None
    try:
        said = _decoder.decode(line)
        event_id(said.id)
    except (ValueError, RecursionError):
        return None
    return said


def _open_regular(path: Path) -> IO[bytes]:
    """Open a file; a pipe or a device would be waited for.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError("not a regular file")
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def _why(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "it ends before its end: it was cut off, or is still being compressed"
    return getattr(error, "strerror", None) or str(error)
