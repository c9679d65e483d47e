"""The files of a folder that an inspector was given, told apart by what they hold.

In: a folder. Out: each file with its kind, its length and its SHA-256, and what could not be
opened. Must not know: whether what a file says is true.

Anybody may have made the files. A link is not followed, a pipe or a device never opened, and of a
file no more is kept than its beginning. Nothing is written to the folder.
"""

from __future__ import annotations

import os
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Literal

import msgspec

from firmware_proto.reference.mac import parse_keys
from shoe_ctl.audit.round_proof import is_proof
from shoe_ctl.errors import GameFileError, JournalError, UsageError
from shoe_ctl.games import game_file
from shoe_ctl.journal import files, schema
from shoe_ctl.journal.chain import ORIGIN
from shoe_ctl.journal.checkpoint_event import CHECKPOINT_SIGNED
from shoe_ctl.journal.cosignatures import CHECKPOINT_COSIGNED, CHECKPOINT_REFUSED
from shoe_ctl.journal.signed_note import COSIGNATURE, NoteError, VerifierKey, read_verifier_key
from shoe_ctl.journal.signing import parse_public_key
from shoe_ctl.records import event_id

FileKind = Literal[
    "journal", "export", "beside", "proof", "ledger", "checkpoint", "cosignatures", "game_file",
    "public_key", "verifier_keys", "shoe_keys", "signing_key", "unknown", "unopened",
]  # fmt: skip
"""``beside`` is what a daemon keeps beside a journal: its log, its head file and the like.
``verifier_keys`` are of journals and witnesses, ``signing_key`` is a private key, and ``unopened``
is what cannot be read or is no file."""

MOST_FILES = 10_000
"""Files of a folder that are read; further ones are counted."""

LOOK_BYTES = 1 << 16
"""Bytes of a file, unpacked, by which its kind is told."""

_PIECE = 1 << 20
_MOST_LINES = 50
_SQLITE = b"SQLite format 3\0"
_AT_APPLICATION_ID = slice(68, 72)
_LONGEST_GAME_FILE = 1 << 20
_NAMED_JOURNALS = (".journal.gz", ".db")
_BESIDE = ("-wal", "-shm", "-head", "-lock", "-lost-")
_KINDS_OF_EVENTS: dict[str, FileKind] = {
    CHECKPOINT_SIGNED: "checkpoint",
    CHECKPOINT_COSIGNED: "cosignatures",
    CHECKPOINT_REFUSED: "cosignatures",
}


class EvidenceFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file, by its path in the folder. ``sha256`` is in hex; None where it was not read.

    ``note`` says why it was not, or what makes it the kind that it is; empty where there is nothing
    to say.
    """

    path: str
    kind: FileKind
    bytes: int = 0
    sha256: str | None = None
    note: str = ""


class Listing(msgspec.Struct, frozen=True):
    """All files of a folder by their paths; ``further`` counts those beyond ``MOST_FILES``.

    ``sha256`` is that of the lines ``HASH  PATH`` of all files that were read, as ``sha256sum``
    prints them: one number for the whole folder.
    """

    files: list[EvidenceFile]
    further: int
    sha256: str

    def of_kind(self, *kinds: FileKind) -> list[EvidenceFile]:
        """Return the files of these kinds."""
        return [file for file in self.files if file.kind in kinds]


def list_files(
    folder: Path, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> Listing:
    """List the files of a folder and of the folders in it, and read each once.

    ``progress`` is called with the bytes that were read, and all that there are.

    Raises:
        JournalError: the folder itself cannot be read.
    """
    if not folder.is_dir():
        raise JournalError(f"{folder} is not a folder")
    try:
        paths = list(_walk(folder))
    except OSError as error:
        raise JournalError(f"{error.filename or folder} cannot be read: {error.strerror}") from None
    total, done = sum(size for _, size in paths), 0
    found: list[EvidenceFile] = []
    for path, size in paths[:MOST_FILES]:

        def passing(read: int, before: int = done) -> None:
            progress(before + read, total)

        found.append(_file(folder, path, passing))
        done += size
    lines = (f"{file.sha256}  {file.path}\n" for file in found if file.sha256 is not None)
    listing = sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    return Listing(found, max(0, len(paths) - MOST_FILES), listing)


def _walk(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield what is in a folder that is no folder itself, with its length, in the order of names.

    A folder in it that cannot be read is yielded as if it were a file, and named by whoever reads
    it.
    """

    def refuse(error: OSError) -> None:
        if error.filename is None or Path(error.filename) == folder:
            raise error
        unread.append(Path(error.filename))

    unread: list[Path] = []
    for at, folders, names in os.walk(folder, onerror=refuse):
        folders.sort()
        linked = [name for name in folders if (Path(at) / name).is_symlink()]
        for name in sorted([*names, *linked]):
            path = Path(at) / name
            with suppress(OSError):
                yield path, path.lstat().st_size
    for path in unread:
        yield path, 0


def _file(folder: Path, path: Path, progress: Callable[[int], None]) -> EvidenceFile:
    named = str(path.relative_to(folder))
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode):
            return EvidenceFile(path=named, kind="unopened", note=_no_file(about.st_mode))
        begins, digest, size = _read(path, progress)
    except OSError as error:
        return EvidenceFile(path=named, kind="unopened", note=error.strerror or str(error))
    kind, note = _kind(path, begins, size)
    return EvidenceFile(path=named, kind=kind, bytes=size, sha256=digest, note=note)


def _no_file(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a link, which is not followed"
    return "a folder that cannot be read" if stat.S_ISDIR(mode) else "not a file"


def _read(path: Path, progress: Callable[[int], None]) -> tuple[bytes, str, int]:
    """Return the beginning of a file, its hash and its length."""
    digest, begins, size = sha256(), b"", 0
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags), "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor
        while piece := file.read(_PIECE):
            if len(begins) < LOOK_BYTES:
                begins += piece[: LOOK_BYTES - len(begins)]
            digest.update(piece)
            size += len(piece)
            progress(size)
    return begins, digest.hexdigest(), size


# Kinds.


def _kind(path: Path, begins: bytes, size: int) -> tuple[FileKind, str]:
    """Return a file's kind by what it holds, and a note on it."""
    if _is_beside_a_journal(path):
        return "beside", ""
    if not begins:
        return "unknown", "empty"
    content = begins
    if begins.startswith(schema.PACKED):
        with suppress(zlib.error):
            content = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(begins, LOOK_BYTES)
    if content.startswith(_SQLITE):
        return _kind_of_database(content)
    if path.name.endswith(_NAMED_JOURNALS):
        is_export = path.name.endswith(_NAMED_JOURNALS[0])
        return "export" if is_export else "journal", "by its name only"
    if content is not begins:
        size = LOOK_BYTES + 1
    return _kind_of_text(path, content, is_whole=size <= len(content))


def _is_beside_a_journal(path: Path) -> bool:
    """Return True if a file with a part of this name, up to a known ending, stands beside it."""
    for ending in _BESIDE:
        journal, found, _ = path.name.partition(ending)
        if found and journal and (path.parent / journal).is_file():
            return True
    return False


def _kind_of_database(content: bytes) -> tuple[FileKind, str]:
    known: dict[int, FileKind] = {schema.APPLICATION_ID: "journal", schema.EXPORT_ID: "export"}
    kind = known.get(int.from_bytes(content[_AT_APPLICATION_ID], "big"))
    return (kind, "") if kind is not None else ("unknown", "a database of another program")


def _kind_of_text(path: Path, content: bytes, *, is_whole: bool) -> tuple[FileKind, str]:
    if is_proof(path):
        return "proof", ""
    text = content.decode("utf-8", "replace")
    if text.startswith((ORIGIN, "old ")) and "\n\n" in text:
        return "checkpoint", ""
    if (kind := _kind_of_lines(content)) is not None:
        return kind, ""
    if "PRIVATE KEY-----" in text:
        return "signing_key", ""
    if is_whole and (kind := _kind_of_keys(path, text)) is not None:
        return kind, ""
    if path.name.endswith(".toml"):
        return _kind_of_toml(path)
    return "unknown", ""


def _kind_of_lines(content: bytes) -> FileKind | None:
    """Return the kind of a file of JSON lines by the first that is an event; None without one."""
    for line in content.splitlines()[:_MOST_LINES]:
        with suppress(ValueError, RecursionError):
            event = msgspec.json.decode(line)
            if not isinstance(event, dict):
                return None
            if (kind := _KINDS_OF_EVENTS.get(str(event.get("type")))) is not None:
                return kind
            event_id(str(event.get("id")))
            if isinstance(event.get("source"), str):
                return "ledger"
    return None


def _kind_of_keys(path: Path, text: str) -> FileKind | None:
    with suppress(ValueError, NoteError):
        if read_keys_of(text):
            return "verifier_keys"
    with suppress(ValueError):
        if parse_keys(text):
            return "shoe_keys"
    with suppress(UsageError):
        if "PUBLIC KEY-----" in text or len(text.strip()) == 64:
            parse_public_key(str(path))
            return "public_key"
    return None


def read_keys_of(text: str) -> list[VerifierKey]:
    """Return the verifier keys of a file: one a line, ``#`` begins a comment.

    Raises:
        NoteError: a line is none.
    """
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [read_verifier_key(line) for line in lines if line]


def _kind_of_toml(path: Path) -> tuple[FileKind, str]:
    try:
        if path.stat().st_size <= _LONGEST_GAME_FILE:
            game_file.parse(path.read_bytes(), path.name)
            return "game_file", ""
    except (OSError, GameFileError):
        pass
    return "unknown", "no game file that can be read"


def is_of_witness(key: VerifierKey) -> bool:
    """Return True if this is a key that cosigns."""
    return key.kind == COSIGNATURE


# Reading a journal without leaving anything behind.


@contextmanager
def undisturbed(journal: Path) -> Iterator[Path]:
    """Yield where to read a journal so that its folder stays as it is.

    Whoever reads a journal with a log beside it makes files there. Unless a daemon is at work on
    it, which has them already, it is copied with its log and its head file, and removed in the end.

    Raises:
        JournalError: there is no room for the copy, or it cannot be made.
    """
    if not schema.has_writer(journal) or files.is_held(journal):
        yield journal
        return
    together = [journal, files.log_path(journal), files.head_path(journal)]
    together = [path for path in together if path.is_file()]
    size = sum(path.stat().st_size for path in together)
    if shutil.disk_usage(gettempdir()).free < size + schema.LEAST_LEFT_BYTES:
        raise JournalError(
            f"{journal} has a log beside it and is read from a copy, but {gettempdir()} has no "
            f"room for {size:,} bytes: set TMPDIR to a folder with room"
        )
    try:
        folder = TemporaryDirectory(prefix="shoectl-")
    except OSError as error:
        raise JournalError(f"{gettempdir()}: no copy can be made: {error.strerror}") from None
    with folder as made:
        try:
            for path in together:
                shutil.copyfile(path, Path(made) / path.name)
        except OSError as error:
            raise JournalError(f"{journal} cannot be copied: {error.strerror}") from None
        yield Path(made) / journal.name
