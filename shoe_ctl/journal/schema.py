"""The journal's file: its tables, its version, and how a connection to it is opened.

In: a path. Out: checked apsw connections; SQLite's errors as one clear line.
Must not know: groups, chains, what is stored.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import apsw

from shoe_ctl.errors import JournalError

from . import files, place

APPLICATION_ID = 0x53484F45
"""``SHOE`` in ASCII: how the file is told from any other SQLite file."""

EXPORT_ID = 0x53484F58
"""``SHOX``: how an export, which is never written on, is told from a journal."""

PACKED = b"\x1f\x8b"
"""How a compressed file begins (gzip)."""

MOST_UNPACKED_BYTES = 1 << 30
"""The longest export that is read: hundreds of sets of cards. It is held in memory."""

VERSION = 2
"""``PRAGMA user_version``: rises with every change of what stands below."""

OLDEST = 1
"""The oldest version that is read; a writer brings it up to ``VERSION`` as it opens it."""

BEYOND = 2**63 - 1
"""A number that no record comes to."""

BUSY_TIMEOUT_MS = 5000
"""How long to wait for another program that has the file locked, say ``sqlite3``."""

CACHE_KIB = 1024
"""Pages a connection keeps in memory: appending touches few of them."""

LANDMARKS = "kind IN ('meta', 'snapshot', 'checkpoint')"
"""The records that a restart looks for. They are few, so that their index costs a commit nothing;
a query that is to use it says these very words."""

_INDEX = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = 'landmark'"

_MIGRATIONS = {
    1: f'CREATE INDEX landmark ON record ("table", kind, n) WHERE {LANDMARKS};',
}
"""What brings a journal of a version up to the next one."""

_TABLES = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
CREATE TABLE record (
    n       INTEGER PRIMARY KEY,
    "table" TEXT NOT NULL,
    kind    TEXT NOT NULL,
    body    BLOB NOT NULL,
    hash    BLOB NOT NULL
) STRICT;
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
{"".join(_MIGRATIONS.values())}
"""


@contextmanager
def one_line(path: Path) -> Iterator[None]:
    """Turns errors of SQLite, and of what a damaged file holds, into one clear ``JournalError``."""
    try:
        yield
    except apsw.Error as error:
        raise JournalError(f"journal {path} {_reason(error)}") from error
    except OSError as error:
        raise JournalError(f"journal {path} cannot be used: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise JournalError(f"journal {path} is damaged: a text in it is not UTF-8") from error
    except OverflowError as error:
        raise JournalError(f"journal {path} is damaged: it names a number beyond any") from error


def _reason(error: apsw.Error) -> str:
    detail = " ".join(str(error).split())
    match error:
        case apsw.NotADBError():
            return "is not a journal of shoe-ctl: it is not an SQLite file"
        case apsw.FullError():
            return "cannot grow: the disk is full"
        case apsw.ReadOnlyError():
            return "is not writable"
        case apsw.BusyError() | apsw.LockedError():
            return "is locked by another program"
        case apsw.CantOpenError():
            return "cannot be opened: is it there, and may you read it?"
        case apsw.CorruptError():
            return f"is damaged: {detail}"
        case apsw.IOError():
            return f"cannot be read or written: {detail}"
        case _:
            return f"cannot be used: {detail}"


def close(connection: apsw.Connection) -> None:
    """Ends a connection of which nothing is wanted any more, whatever the disk says to it."""
    with suppress(apsw.Error):
        connection.close()


def create(path: Path, vfs: str | None) -> None:
    """Makes a new journal here, whole or not at all: made beside it and then moved into place.

    Raises:
        apsw.Error, OSError: nothing was made.
    """
    new = path.with_name(path.name + "-new")
    new.unlink(missing_ok=True)
    try:
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = apsw.Connection(str(new), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
            with connection:
                connection.execute(_TABLES)
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        new.rename(path)
    finally:
        new.unlink(missing_ok=True)
    files.sync_folder(path)


def check(connection: apsw.Connection, path: Path) -> int:
    """Refuses any file that is not a journal of this version; which of our ids it bears.

    Raises:
        JournalError: another program's file, another version.
        apsw.Error: it cannot be read.
    """
    application_id = int(connection.pragma("application_id"))
    if application_id not in (APPLICATION_ID, EXPORT_ID):
        raise JournalError(f"journal {path} is not a journal of shoe-ctl: another program's file")
    version = connection.pragma("user_version")
    if not OLDEST <= version <= VERSION:
        raise JournalError(
            f"journal {path} has version {version}; this shoe-ctl reads versions {OLDEST} "
            f"to {VERSION}"
        )
    return application_id


def has_index(connection: apsw.Connection) -> bool:
    """Whether landmarks are looked up in an index: not in a file of before there was one.

    Raises:
        apsw.Error: it cannot be read.
    """
    return bool(connection.execute(_INDEX).fetchall())


def altered(connection: apsw.Connection) -> str | None:
    """What the file's own tables, indexes, views and triggers are otherwise than they are made.

    Raises:
        apsw.Error: it cannot be read.
    """
    there = _form(connection)
    with closing(apsw.Connection(":memory:")) as made:
        made.execute(_TABLES)
        due = _form(made)
    if connection.pragma("user_version") < 2:
        due.pop("landmark")  # what it had before there was one
    for name in sorted(there.keys() | due.keys()):
        if name not in there:
            return f"missing: the file's {due[name][0]} {name}"
        if name not in due:
            return f"added: the file's {there[name][0]} {name}"
        if there[name] != due[name]:
            return f"altered: the file's {there[name][0]} {name}"
    return None


def _form(connection: apsw.Connection) -> dict[str, tuple[str, str, str]]:
    rows = connection.execute("SELECT name, type, tbl_name, coalesce(sql, '') FROM sqlite_schema")
    return {name: (kind, table, " ".join(sql.split())) for name, kind, table, sql in rows}


def migrate(connection: apsw.Connection) -> None:
    """Brings a checked journal up to ``VERSION`` in one transaction: wholly or not at all.

    Raises:
        apsw.Error: it was not changed.
    """
    version = connection.pragma("user_version")
    if version == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for before in range(version, VERSION):
            connection.execute(_MIGRATIONS[before])
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if not connection.get_autocommit():
            connection.execute("ROLLBACK")
        raise


def writing(path: Path, vfs: str | None, *, synchronous: str) -> apsw.Connection:
    """A checked connection that writes.

    Raises:
        JournalError: another program's file, another version, not writable.
        apsw.Error: it cannot be opened.
    """
    found = reading(path, vfs=vfs)  # so that a foreign file is not touched
    close(found.connection)
    if found.is_export:
        raise JournalError(f"journal {path} is an export: it can be read, not written on")
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    try:
        if connection.readonly("main"):
            raise JournalError(f"journal {path} is not writable")
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        check(connection, path)
        mode = connection.pragma("journal_mode", "wal")
        if mode != "wal":
            raise JournalError(f"journal {path} cannot be kept in WAL mode here (got {mode})")
    except BaseException:
        close(connection)
        raise
    return connection


def exporting() -> apsw.Connection:
    """A new export in memory, without records.

    Raises:
        apsw.Error: there is no memory for it.
    """
    connection = apsw.Connection(":memory:")
    connection.execute(_TABLES)
    connection.execute(f"PRAGMA application_id = {EXPORT_ID}")
    return connection


def _unpacked(path: Path) -> apsw.Connection:
    """A compressed file, in memory.

    Raises:
        JournalError: it is cut short, damaged, or too long.
    """
    try:
        with gzip.open(path) as file:
            content = file.read(MOST_UNPACKED_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise JournalError(f"journal {path} is damaged: it cannot be unpacked") from None
    if len(content) > MOST_UNPACKED_BYTES:
        raise JournalError(f"journal {path} is longer than any export: unpack it with gunzip")
    if not content:
        raise JournalError(f"journal {path} is not a journal of shoe-ctl: there is nothing in it")
    connection = apsw.Connection(":memory:")
    # a whole journal that was compressed says that it has a log, which nothing in memory has
    connection.deserialize("main", content[:18] + b"\x01\x01" + content[20:])
    return connection


def has_writer(path: Path) -> bool:
    """Whether a process writes this journal, or was cut off writing: its log lies beside it."""
    return place.log_of(path).exists()


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(PACKED)) == PACKED


class Reading(NamedTuple):
    """A connection that reads. ``at_rest``: nobody wrote the journal when it was opened.

    ``is_export``: the file holds one table's records of a while, not a whole journal.
    """

    connection: apsw.Connection
    at_rest: bool
    is_export: bool


def reading(path: Path, *, vfs: str | None = None, in_use: bool = False) -> Reading:
    """A checked connection that can only read.

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
        is_export = check(connection, path) == EXPORT_ID
    except BaseException as error:
        close(connection)
        unshared = isinstance(error, apsw.CantOpenError) and not at_rest
        if unshared and not os.access(path.parent, os.W_OK):
            raise JournalError(
                f"journal {path} has a log beside it, which is read only where files can be made: "
                f"copy both, {path.name} and {place.log_of(path).name}, to a folder of yours"
            ) from None
        raise
    return Reading(connection, at_rest, is_export)
