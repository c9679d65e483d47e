"""An archive: a journal, its exports, and which records of its tables are in none of the files.

In: files that verify. Out: the runs of records that are missing, files that differ where they
should be alike, files of another journal. Must not know: how a file is verified, how it is shown.

A journal begins at record 1, and what is removed from it is exported. A table's chain goes on from
file to file: each says at which record, and behind which hash, its part of the chain begins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.batch import Head
from shoe_ctl.journal.chain import GENESIS, Checkpoint, read_checkpoint
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind

SUFFIXES = (".journal.gz", ".db")
"""The ends of names of exports and journals: such a file must be one."""

_MAGIC = (b"SQLite format 3\0", b"\x1f\x8b")


class Section(msgspec.Struct, frozen=True):
    """The part of a table's chain in one file: records behind ``after``, up to ``upto``.

    ``before`` and ``hash`` are the chain's hashes at both.
    """

    table: str
    after: int
    before: bytes
    upto: int
    hash: bytes


class ArchiveFile(msgspec.Struct, frozen=True):
    """A journal or an export. ``origin`` names its journal; None where no checkpoint does."""

    path: Path
    is_export: bool
    origin: str | None
    sections: tuple[Section, ...]


class Missing(msgspec.Struct, frozen=True):
    """Records of a table that are in no file: some of those from ``first`` to ``last``.

    Numbers between them may be other tables' records. ``behind`` and ``before`` are the files on
    both sides; None where there is none.
    """

    table: str
    first: int
    last: int
    behind: Path | None
    before: Path | None


class Fork(msgspec.Struct, frozen=True):
    """Two files that both have a table's record ``n``, but with another chain up to it."""

    table: str
    n: int
    one: Path
    other: Path


class Archive(msgspec.Struct, frozen=True):
    """The findings about the files of a folder as a whole.

    ``foreign`` are of a journal that is not in the folder, though another one is; ``cut`` are
    journals that end before one of their exports does.
    """

    missing: list[Missing]
    forks: list[Fork]
    foreign: list[Path]
    cut: list[Path]
    has_journal: bool

    @property
    def ok(self) -> bool:
        """True if nothing is missing, and all belongs together."""
        return not (self.missing or self.forks or self.foreign or self.cut)


def find_files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files that are, or should be, journals or exports; and the others.

    Read are the folder and the folders in it.

    What a daemon keeps beside a journal, under its name and a hyphen, is left out.

    Raises:
        JournalError: the folder or a file in it cannot be read.
    """
    found: list[Path] = []
    others: list[Path] = []
    try:
        for path in _files(folder):
            with path.open("rb") as file:
                begins = file.read(16)
            is_one = path.name.endswith(SUFFIXES) or (begins.startswith(_MAGIC) and _opens(path))
            (found if is_one else others).append(path)
    except OSError as error:
        where = error.filename or folder
        raise JournalError(f"{where} cannot be read: {error.strerror}") from None
    beside = tuple(f"{path}-" for path in found)
    return found, [path for path in others if not str(path).startswith(beside)]


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and in the folders in it, where archives commonly are."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from (file for file in sorted(path.iterdir()) if file.is_file())
        elif path.is_file():
            yield path


def _opens(path: Path) -> bool:
    try:
        with Reader.open(path):
            return True
    except JournalError:
        return False


def read_file(path: Path) -> ArchiveFile:
    """Read which parts of its tables' chains a file has.

    Raises:
        JournalError: it cannot be read.
    """
    with Reader.open(path) as reader:
        _, heads = reader.heads()
        first = next(reader.records(upto=reader.first_n() or 0), None)
        begins = None
        if first is not None and (first.table, first.kind) == (JOURNAL, Kind.CHECKPOINT.value):
            begins = _checkpoint(path, first.n, first.body)
        newest = next(reader.indexed_records(JOURNAL, Kind.CHECKPOINT), None)
        origin = None if newest is None else _checkpoint(path, newest.n, newest.body).origin
        sections = [
            _section(table, head, begins) for table, head in heads.items() if table != JOURNAL
        ]
        return ArchiveFile(path, reader.is_export, origin, tuple(sections))


def _checkpoint(path: Path, n: int, body: bytes) -> Checkpoint:
    try:
        return read_checkpoint(body)
    except ValueError:
        raise JournalError(f"{path}: record {n} is no checkpoint") from None


def _section(table: str, head: Head, begins: Checkpoint | None) -> Section:
    known = None if begins is None else begins.heads.get(table)
    after, before = (0, GENESIS) if known is None else (known.n, bytes.fromhex(known.hash))
    return Section(table, after, before, head.n, head.hash)


def compare_files(files: Sequence[ArchiveFile]) -> Archive:
    """Compare files that verify: what is missing between them, and what does not belong together.

    Without a journal only what is missing before and between its exports is known, not behind them.

    Raises:
        JournalError: one of them cannot be read.
    """
    journals = {file.origin for file in files if not file.is_export}
    by_table: dict[tuple[str | None, str], list[tuple[Section, Path]]] = defaultdict(list)
    for file in files:
        for section in file.sections:
            by_table[file.origin, section.table].append((section, file.path))
    missing, forks = [], []
    for (_, table), parts in sorted(by_table.items(), key=lambda one: (one[0][0] or "", one[0][1])):
        for found in _walk(table, sorted(parts, key=lambda part: (part[0].after, part[0].upto))):
            if isinstance(found, Fork):
                forks.append(found)
            else:
                missing.append(found)
    foreign = [file.path for file in files if journals and file.origin not in journals]
    return Archive(missing, forks, foreign, list(_cut(files)), bool(journals))


def _walk(table: str, parts: Iterable[tuple[Section, Path]]) -> Iterator[Missing | Fork]:
    """Yield what is wrong from one part of a table's chain to the next, in order."""
    reached, end, of = 0, GENESIS, None
    for section, path in parts:
        if section.after > reached:
            yield Missing(table, reached + 1, section.after, of, path)
        elif of is not None and not _joins(table, (reached, end, of), section, path):
            yield Fork(table, min(reached, section.upto), of, path)
        if section.upto > reached:
            reached, end, of = section.upto, section.hash, path


def _joins(table: str, reached: tuple[int, bytes, Path], section: Section, path: Path) -> bool:
    """Return True if a part has the chain that was reached: one equal hash shows it for all."""
    n, end, of = reached
    if section.after == n:
        return section.before == end
    if section.upto == n:
        return section.hash == end
    if section.upto < n:
        with Reader.open(of) as reader:
            return reader.has_end(table, section.upto, section.hash)
    with Reader.open(path) as reader:
        return reader.has_end(table, n, end)


def _cut(files: Iterable[ArchiveFile]) -> Iterator[Path]:
    """Yield journals that end, for a table, before an export of theirs does."""
    ends: dict[tuple[str | None, str], int] = {}
    for file in files:
        for section in file.sections:
            if file.is_export:
                key = file.origin, section.table
                ends[key] = max(section.upto, ends.get(key, 0))
    for file in files:
        if not file.is_export:
            upto = {section.table: section.upto for section in file.sections}
            if any(
                upto.get(table, 0) < end
                for (origin, table), end in ends.items()
                if origin == file.origin
            ):
                yield file.path
