"""The journal's file: its tables, its version, and how a connection to it is opened.

In: a path. Out: checked apsw connections; SQLite's errors as one clear line.
Must not know: batches, chains, what is stored.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple
from urllib.parse import quote

import apsw

from shoe_ctl.errors import JournalError
from shoe_ctl.interruptions import undisturbed
from shoe_ctl.journal import files, past_checkpoints, round_index
from shoe_ctl.journal.files import corrupt_journal

APPLICATION_ID = 0x53484F45
"""``SHOE`` in ASCII: how the file is told from any other SQLite file."""

EXPORT_ID = 0x53484F58
"""``SHOX``: how an export, which is never written on, is told from a journal."""

PACKED = b"\x1f\x8b"
"""The beginning of a compressed file (gzip)."""

MOST_UNPACKED_BYTES = 1 << 30
"""The longest export that is read: hundreds of sets of cards."""

IN_MEMORY_BYTES = 1 << 23
"""An export of this length is unpacked in memory, a longer one to an unnamed temporary file. A set
of cards is about a third of it."""

LEAST_LEFT_BYTES = 1 << 26
"""Bytes of the disk that unpacking leaves to others."""

LONGEST_BODY_BYTES = 1 << 24
"""No record is read that has a longer body; a writer's have a hundredth of it."""

_PIECE = 1 << 18
_LOOKS_AT_ROOM = 64
"""Pieces between two looks at the disk's room: 16 MiB, a quarter of ``LEAST_LEFT_BYTES``."""

_MAGIC = b"SQLite format 3\0"

VERSION = 9
"""``PRAGMA user_version``: rises with every change of what stands below. Up to 6 it was written by
builds before 0.3.0, the first release. They are not read."""

BEYOND = 2**63 - 1
"""A number that no record comes to."""

BUSY_TIMEOUT_MS = 5000
"""The wait for another program that has the file locked, say ``sqlite3``. Without it, such a lock
would be a storage fault and halt every table."""

STATEMENT_CACHE = 512
"""A connection that writes drops a compiled statement after so many executions of others, counting
repeats; apsw allows no more. The store has a hundred statements, and uses six or more a commit."""

CACHE_KIB = 256
"""Pages a connection keeps in memory: appending touches few, and the system has the rest."""

_INDEX = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?"

_TABLES = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
CREATE TABLE record_group (
    n       INTEGER PRIMARY KEY,
    "table" TEXT NOT NULL,
    body    BLOB NOT NULL,
    hash    BLOB NOT NULL
) STRICT;
CREATE INDEX of_table ON record_group ("table");
CREATE TABLE landmark (
    "table" TEXT NOT NULL,
    kind    TEXT NOT NULL,
    n       INTEGER NOT NULL,
    PRIMARY KEY ("table", kind, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE head (
    "table"    TEXT PRIMARY KEY,
    n          INTEGER NOT NULL,
    hash       BLOB NOT NULL,
    public     INTEGER NOT NULL,
    restricted INTEGER NOT NULL,
    connection INTEGER NOT NULL,
    t_us       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE device (
    "table"   TEXT NOT NULL,
    device_id TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY ("table", device_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE cursor (
    sink    TEXT NOT NULL,
    "table" TEXT NOT NULL,
    n       INTEGER NOT NULL,
    PRIMARY KEY (sink, "table")
) STRICT, WITHOUT ROWID;
"""


_UNPACKED = """
CREATE TABLE record (n INTEGER PRIMARY KEY, "table" TEXT, kind TEXT, body BLOB);
CREATE TABLE head ("table" TEXT PRIMARY KEY, n INTEGER, hash BLOB);
"""


ERRORS = (apsw.Error, OSError, UnicodeDecodeError, OverflowError)
"""Errors of SQLite and of damaged content: whatever a journal's file may raise."""


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn ``ERRORS`` into one clear ``JournalError``."""
    try:
        yield
    except ERRORS as error:
        raise journal_error(path, error) from error


def journal_error(path: Path, error: Exception) -> JournalError:
    """Return one of ``ERRORS`` as one clear line."""
    if isinstance(error, UnicodeDecodeError | OverflowError):
        is_text = isinstance(error, UnicodeDecodeError)
        return corrupt_journal(path, "a text is not UTF-8" if is_text else "integer out of range")
    detail = " ".join(str(error).split())
    match error:
        case OSError():
            what = f"cannot be used: {error.strerror}"
        case apsw.CorruptError() | apsw.TooBigError():
            return corrupt_journal(path, detail)
        case apsw.NotADBError():
            what = "is not a journal of shoe-ctl: it is not an SQLite file"
        case apsw.FullError():
            what = "cannot grow: the disk is full. Free some space."
        case apsw.ReadOnlyError():
            what = "is not writable"
        case apsw.BusyError() | apsw.LockedError():
            what = "is locked by another program"
        case apsw.CantOpenError():
            what = "cannot be opened. Check that it exists and that you may read it."
        case apsw.IOError():
            what = f"cannot be read or written: {detail}"
        case _:
            what = f"cannot be used: {detail}"
    return JournalError(f"journal {path} {what}")


def close(connection: apsw.Connection) -> None:
    """Close a connection, whatever errors the disk reports."""
    with suppress(apsw.Error):
        connection.close()


def create(path: Path, vfs: str | None) -> None:
    """Create a new journal, whole or not at all: made beside its path, then moved there.

    Raises:
        apsw.Error, OSError: nothing was made.
    """
    new = path.with_name(path.name + "-new")
    new.unlink(missing_ok=True)
    try:
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = apsw.Connection(str(new), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
        try:
            # Not in WAL mode yet: EXTRA also syncs the removal of the rollback journal.
            connection.execute("PRAGMA synchronous = EXTRA")
            with connection:
                connection.execute(_TABLES)
                connection.execute(round_index.TABLES)
                connection.execute(past_checkpoints.TABLE)
            # Last: a log with content would be named after the file as it is called now.
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        new.rename(path)
    finally:
        new.unlink(missing_ok=True)
    files.sync_folder(path)


def check_file(connection: apsw.Connection, path: Path) -> int:
    """Refuse a file that is not a journal of this version; return its application id.

    Raises:
        JournalError: another program's file, another version.
        apsw.Error: it cannot be read.
    """
    application_id = int(connection.pragma("application_id"))
    if application_id not in (APPLICATION_ID, EXPORT_ID):
        raise JournalError(f"journal {path} is not a journal of shoe-ctl: another program's file")
    version = int(connection.pragma("user_version"))
    if version < VERSION:
        raise JournalError(
            f"journal {path} has version {version}, written by a build before shoe-ctl 0.3.0, the "
            f"first release; this version reads {VERSION}: use that build for this journal, or "
            "begin a new one"
        )
    if version > VERSION:
        raise JournalError(
            f"journal {path} has version {version}, written by a newer shoe-ctl; this version "
            f"reads {VERSION}: use the newer shoe-ctl for this journal, or begin a new one"
        )
    return application_id


_LOOSE = re.compile(r"STRICT|NOT NULL|[\s,]")
"""The parts of a table's form that do not count: spaces, and words that limit what it holds.
Without these words its rows are read, and found bad."""


def check_tables(connection: apsw.Connection, path: Path, *, is_export: bool) -> None:
    """Refuse a file whose tables are no plain tables of this form, before a row of it is read.

    An export has no index of rounds and no past checkpoints. A stranger's file may have an endless
    view or a table that computes its rows under their names.

    Raises:
        JournalError: one of them is missing or of another form.
        apsw.Error: it cannot be read.
    """
    query = "SELECT name, type, coalesce(sql, '') FROM sqlite_schema WHERE name = ? COLLATE NOCASE"
    for name, form in _tables(is_export=is_export).items():
        there = connection.execute(query, (name,)).fetchall()
        if not there:
            raise corrupt_journal(path, f"it has no table {name}")
        if any(
            (each, kind, _loose(str(sql))) != (name, "table", form) for each, kind, sql in there
        ):
            raise corrupt_journal(path, f"its {there[0][1]} {name} has another form")


@functools.cache
def _tables(*, is_export: bool) -> Mapping[str, str]:
    """Return the statement that makes each table, without its strictness."""
    with _new_tables(is_export=is_export) as made:
        query = "SELECT name, sql FROM sqlite_schema WHERE type = 'table'"
        return {str(name): _loose(str(sql)) for name, sql in made.execute(query)}


@contextmanager
def _new_tables(*, is_export: bool) -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(":memory:")) as made:
        made.execute(_TABLES)
        if not is_export:
            made.execute(round_index.TABLES)
            made.execute(past_checkpoints.TABLE)
        yield made


def _loose(sql: str) -> str:
    return _LOOSE.sub("", sql)


def has_index(connection: apsw.Connection, name: Literal["of_table"]) -> bool:
    """Return True if the file has this index: somebody may have dropped it.

    Raises:
        apsw.Error: it cannot be read.
    """
    return bool(connection.execute(_INDEX, (name,)).fetchall())


class SchemaDifference(NamedTuple):
    """One of the file's own tables, indexes, views or triggers that is not as it was made."""

    fault: Literal["missing", "added", "altered"]
    what: str


def schema_difference(connection: apsw.Connection) -> SchemaDifference | None:
    """Return how the file's tables, indexes, views or triggers differ from those made here.

    Raises:
        apsw.Error: it cannot be read.
    """
    there = _form(connection)
    with _new_tables(is_export=connection.pragma("application_id") == EXPORT_ID) as made:
        due = _form(made)
    for name in sorted(there.keys() | due.keys()):
        if name not in there:
            return SchemaDifference("missing", f"the file's {due[name][0]} {name}")
        if name not in due:
            return SchemaDifference("added", f"the file's {there[name][0]} {name}")
        if there[name] != due[name]:
            return SchemaDifference("altered", f"the file's {there[name][0]} {name}")
    return None


def _form(connection: apsw.Connection) -> dict[str, tuple[str, str, str]]:
    rows = connection.execute("SELECT name, type, tbl_name, coalesce(sql, '') FROM sqlite_schema")
    return {name: (kind, table, " ".join(sql.split())) for name, kind, table, sql in rows}


def open_writing(path: Path, vfs: str | None, *, synchronous: str) -> apsw.Connection:
    """Open a checked connection that writes.

    Raises:
        JournalError: another program's file, another version, not writable.
        apsw.Error: it cannot be opened.
    """
    found = open_reading(path, vfs=vfs)  # so that a foreign file is not touched
    close(found.connection)
    if found.is_export:
        raise JournalError(f"journal {path} is an export: it can be read, not written on")
    connection = apsw.Connection(
        str(path),
        flags=apsw.SQLITE_OPEN_READWRITE,
        vfs=vfs,
        statementcachesize=STATEMENT_CACHE,
    )
    try:
        if connection.readonly("main"):
            raise JournalError(f"journal {path} is not writable")
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        check_file(connection, path)
        mode = connection.pragma("journal_mode", "wal")
        if mode != "wal":
            raise JournalError(f"journal {path} cannot be kept in WAL mode here (got {mode})")
    except BaseException:
        close(connection)
        raise
    return connection


@contextmanager
def new_export(folder: Path) -> Iterator[tuple[apsw.Connection, BinaryIO]]:
    """Open a new export without records, and the unnamed file that they are written to.

    Raises:
        apsw.Error: it cannot be written.
        OSError: no file can be made in this folder.
    """
    import tempfile

    fd, name = tempfile.mkstemp(prefix=".shoe-export-", dir=folder)
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor
        try:
            connection = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READWRITE)
        finally:
            os.unlink(name)  # noqa: PTH108 - whatever becomes of this process, nothing stays
        try:
            connection.execute("PRAGMA journal_mode = OFF")  # what fails is thrown away whole
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            connection.execute(_TABLES)
            connection.execute(f"PRAGMA application_id = {EXPORT_ID}")
            yield connection, file
        finally:
            close(connection)


def new_unpacked(
    path: Path,
    records: Iterable[tuple[int, str, str, bytes]],
    heads: Mapping[str, tuple[int, bytes]],
) -> None:
    """Fill an empty file with records (number, table, kind, body), and where each chain ends.

    Raises:
        apsw.Error: it cannot be written.
    """
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")  # what fails is thrown away whole
        with connection:
            connection.execute(_UNPACKED)
            connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?)", records)
            ends = [(table, n, digest) for table, (n, digest) in heads.items()]
            connection.executemany("INSERT INTO head VALUES (?, ?, ?)", ends)


def _unpacked(path: Path) -> apsw.Connection:
    """Open a compressed file: a short one in memory, a longer one in an unnamed temporary file.

    Raises:
        JournalError: it is cut short, damaged, or too long; there is no room for it.
        OSError: there is no place for temporary files.
    """
    pieces = _pieces(path)
    content = bytearray()
    for piece in pieces:
        content += piece
        if len(content) > IN_MEMORY_BYTES:
            return _in_a_file(path, chain((bytes(content),), pieces))
    connection = apsw.Connection(":memory:")
    connection.deserialize("main", bytes(content))
    return connection


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield the unpacked content of a compressed file; no more than its header says.

    Raises:
        JournalError: it is no SQLite file, cut short, damaged, or too long.
    """
    import gzip

    left = MOST_UNPACKED_BYTES
    try:
        with gzip.open(path) as file:
            first = file.read(_PIECE)
            if not first:
                why = "there is nothing in it"
                raise JournalError(f"journal {path} is not a journal of shoe-ctl: {why}")
            if not first.startswith(_MAGIC):
                raise apsw.NotADBError
            if (says := _says_length(first)) is not None:
                left = says
            if left > MOST_UNPACKED_BYTES:
                raise JournalError(
                    f"journal {path} is longer than any export: unpack it with gunzip"
                )
            # a whole journal that was compressed says that it has a log, which nothing here has
            piece = first[:18] + b"\x01\x01" + first[20:]
            while piece:
                left -= len(piece)
                if left < 0:
                    longer = "than it says" if says is not None else "than any export"
                    raise corrupt_journal(path, f"it unpacks to more {longer}")
                yield piece
                piece = file.read(_PIECE)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise corrupt_journal(path, "it cannot be unpacked") from None


def _says_length(first: bytes) -> int | None:
    """Return the length of an SQLite file by its header; None where the header has none.

    See "The Database Header" in SQLite's file format: bytes 16, 24, 28 and 92.
    """
    page = int.from_bytes(first[16:18]) or 1
    pages, changed, known_at = (int.from_bytes(first[at : at + 4]) for at in (28, 24, 92))
    if not pages or changed != known_at:
        return None
    return pages * (65536 if page == 1 else page)


def _in_a_file(path: Path, pieces: Iterator[bytes]) -> apsw.Connection:
    """Open these pieces in a temporary file that has no name any more once this returns.

    Raises:
        JournalError: there is no room for it. What ``pieces`` raises, too.
        OSError: there is no place for temporary files.
    """
    import tempfile

    with undisturbed():
        fd, name = tempfile.mkstemp(prefix="shoe-export-")
        file = open(fd, "wb")  # noqa: PTH123, SIM115 - a descriptor, closed below
        try:
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            connection = apsw.Connection(f"file:{quote(name)}?mode=ro", flags=flags)
        except BaseException:
            file.close()
            raise
        finally:
            os.unlink(name)  # noqa: PTH108 - whatever becomes of this process, nothing stays
    with file:
        try:
            for number, piece in enumerate(pieces):
                if number % _LOOKS_AT_ROOM == 0:
                    room = os.fstatvfs(fd)
                    if room.f_bavail * room.f_frsize < LEAST_LEFT_BYTES:
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                file.write(piece)
            file.flush()
        except OSError as error:
            close(connection)
            if error.errno != errno.ENOSPC:
                raise
            raise JournalError(
                f"journal {path} cannot be unpacked: {Path(name).parent} is full; name a folder "
                "with more room in TMPDIR"
            ) from None
        except BaseException:
            close(connection)
            raise
    return connection


def has_writer(path: Path) -> bool:
    """Return True if a process writes this journal, or was interrupted: its log is there."""
    return files.log_path(path).exists()


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(PACKED)) == PACKED


class ReadConnection(NamedTuple):
    """A connection that reads. ``at_rest``: nobody wrote the journal when it was opened.

    ``is_export``: the file holds one table's records of a while, not a whole journal.
    """

    connection: apsw.Connection
    at_rest: bool
    is_export: bool


def open_reading(path: Path, *, vfs: str | None = None, in_use: bool = False) -> ReadConnection:
    """Open a checked connection that can only read.

    A journal at rest (nobody's ``-wal`` beside it) is read as it stands, so that reading leaves no
    files behind and works from read-only media; ``in_use`` says that it has a writer anyhow.

    Raises:
        JournalError: another program's file, another version.
        apsw.Error: it cannot be opened or read.
    """
    at_rest = not in_use and not has_writer(path)
    if at_rest and _is_packed(path):
        connection = _unpacked(path)
    else:
        name = f"file:{quote(str(path))}?mode=ro" + ("&immutable=1" if at_rest else "")
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(name, flags=flags, vfs=vfs)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        # What a stranger's file defines is not run: no function of it, no view, no trigger.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_BODY_BYTES)
        is_export = check_file(connection, path) == EXPORT_ID
        check_tables(connection, path, is_export=is_export)
    except BaseException as error:
        close(connection)
        unshared = isinstance(error, apsw.CantOpenError) and not at_rest
        if unshared and not os.access(path.parent, os.W_OK):
            raise JournalError(
                f"journal {path} has a log beside it, which is read only where files can be made: "
                f"copy both, {path.name} and {files.log_path(path).name}, to a folder of yours"
            ) from None
        raise
    return ReadConnection(connection, at_rest, is_export)
