"""The write-ahead log beside a journal: synced before anything in it is relied upon, kept short.

In: the journal's path, its connections. Out: a log that is on the disk; errors where it is not; the
frames that SQLite skips.
Must not know: what is stored, who reads.

SQLite reads a log up to its first frame that is not as it was written, and drops all behind it
without a word. After a crash that is right: the end may be torn. Of a log that was damaged later it
drops what was synced long ago.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from shoe_ctl.journal.files import log_path

PAGES = 1000
"""Its length when it is written back into the journal: about four megabytes, SQLite's own default.
A longer log makes each read slower, a shorter one is written back more often."""

_PIECE = 1 << 16
"""Bytes a call: SQLite's file layer takes fewer than 128 KiB at once."""


def sync_log(journal: Path, vfs: str | None) -> None:
    """Write the log that a writer left once more, as it is, and sync it.

    What it left may be there to be read and yet be lost with the power: it was killed before its
    sync, or the sync failed, after which the system holds for written what it never wrote. Readers
    are not disturbed, and no other writer may be there.

    Raises:
        apsw.Error, OSError: it cannot be relied upon.
    """
    path = log_path(journal)
    if not path.exists() or path.stat().st_size == 0:
        return
    flags = [apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_WAL, 0]
    with closing(_File(vfs or "", str(path), flags)) as log:
        size = log.xFileSize()
        for offset in range(0, size, _PIECE):
            log.xWrite(log.xRead(min(_PIECE, size - offset), offset), offset)
        log.xSync(apsw.SQLITE_SYNC_FULL)


_HEADER = struct.Struct(">8I")
"""Magic, version, page size, checkpoint number, two salts, two check sums."""

_FRAME = struct.Struct(">4I")
"""Page number, the journal's pages after a commit (else 0), two salts; two check sums follow."""

_FRAME_BYTES = 24
_MAGICS = (0x377F0682, 0x377F0683)


class _Frame(NamedTuple):
    page: int
    commits: bool
    salts: tuple[int, int]
    offset: int


class SkippedFrames(NamedTuple):
    """The frames that SQLite skips in a log: whether some were ``lost``, and where they begin.

    ``valid`` frames are read. ``frames`` behind them are of the same writing as they; ``stale``
    says that there are any, lost or never committed.
    """

    lost: bool
    valid: int
    frames: int
    page_bytes: int

    @property
    def stale(self) -> bool:
        """True if frames of the same log stand behind its end."""
        return self.frames > 0

    @property
    def end(self) -> int:
        """The end of what SQLite reads, in bytes."""
        return _HEADER.size + self.valid * (_FRAME_BYTES + self.page_bytes)


def skipped_frames(journal: Path, cursor_page: int) -> SkippedFrames | None:
    """Return what of the log SQLite does not read; None without a log. A reader must be open.

    A transaction that no sync was waited for may be torn, in any of its frames: those of cursors
    (of which ``cursor_page`` is the page), and one that stores records behind them. A frame behind
    that one was only written once it was synced: then the log was damaged. So it is where whole
    transactions stand in a log whose header is not one, unless all of them are in the journal.

    Raises:
        OSError: the log or its index cannot be read.
    """
    log = log_path(journal)
    try:
        content = log.read_bytes()
    except FileNotFoundError:
        return None
    if len(content) < _HEADER.size:
        return None
    header = _HEADER.unpack_from(content)
    whole = _is_header(content)
    page_bytes = header[2] if whole else _page_bytes(journal)
    frames = list(_frames(content, page_bytes))
    if whole:
        valid, salts = _valid_frames(journal), (header[4], header[5])
    else:
        common = Counter(frame.salts for frame in frames[:3]).most_common(1)
        valid, salts = 0, common[0][0] if common else (0, 0)
    behind = [frame if frame.salts == salts else None for frame in frames[valid:]]
    while behind and behind[-1] is None:
        behind.pop()
    found = SkippedFrames(False, valid, len(behind), page_bytes)
    first = _first_stored(behind, cursor_page) if whole else _first_commit(behind)
    if first is None or (whole and len(behind) <= first + 1):
        return found
    if _is_in_journal(journal, content, page_bytes, salts):
        return found
    return found._replace(lost=True)


def truncate_log(journal: Path, vfs: str | None, size: int) -> None:
    """Truncate the log to this size: nobody reads the rest.

    Raises:
        apsw.Error: it cannot be.
    """
    flags = [apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_WAL, 0]
    with closing(_File(vfs or "", str(log_path(journal)), flags)) as log:
        log.xTruncate(size)
        log.xSync(apsw.SQLITE_SYNC_FULL)


def _is_header(content: bytes) -> bool:
    """Return True if SQLite accepts a log with this header."""
    magic, _, page_bytes, *_, first, second = _HEADER.unpack_from(content)
    if magic not in _MAGICS or page_bytes < 512 or page_bytes > 65536:
        return False
    words = struct.unpack_from(">6I" if magic & 1 else "<6I", content)
    s0 = s1 = 0
    for at in range(0, 6, 2):
        s0 = (s0 + words[at] + s1) & 0xFFFFFFFF
        s1 = (s1 + words[at + 1] + s0) & 0xFFFFFFFF
    return (s0, s1) == (first, second)


def _page_bytes(journal: Path) -> int:
    with journal.open("rb") as file:
        said = int.from_bytes(file.read(18)[16:], "big")
    return said if said >= 512 else 65536


def _valid_frames(journal: Path) -> int:
    """Return how many frames SQLite reads, by the shared index that any reader builds."""
    with journal.with_name(journal.name + "-shm").open("rb") as file:
        return int(struct.unpack_from("=I", file.read(20), 16)[0])


def _frames(content: bytes, page_bytes: int) -> Iterator[_Frame]:
    step = _FRAME_BYTES + page_bytes
    for offset in range(_HEADER.size, len(content) - step + 1, step):
        page, pages, *salts = _FRAME.unpack_from(content, offset)
        yield _Frame(page, pages != 0, (salts[0], salts[1]), offset)


def _first_stored(frames: list[_Frame | None], cursor_page: int) -> int | None:
    """Return where the first transaction ends that stored more than cursors.

    Records take two pages or more, a cursor one: a single torn frame is a cursor's.
    """
    others = torn = 0
    for place, frame in enumerate(frames):
        if frame is None:
            torn += 1
            continue
        others += frame.page != cursor_page
        if frame.commits:
            if others or torn > 1:
                return place
            others = torn = 0
    return None


def _first_commit(frames: list[_Frame | None]) -> int | None:
    return next((at for at, frame in enumerate(frames) if frame and frame.commits), None)


def _is_in_journal(journal: Path, content: bytes, page_bytes: int, salts: tuple[int, int]) -> bool:
    """Return True if all that was committed in the log was written back into the journal."""
    newest: dict[int, int] = {}
    open_: dict[int, int] = {}
    for frame in _frames(content, page_bytes):
        if frame.salts != salts:
            continue
        open_[frame.page] = frame.offset + _FRAME_BYTES
        if frame.commits:
            newest.update(open_)
            open_.clear()
    with journal.open("rb") as file:
        for page, offset in newest.items():
            file.seek((page - 1) * page_bytes)
            if file.read(page_bytes) != content[offset : offset + page_bytes]:
                return False
    return True


class _File(apsw.VFSFile):
    """A file of the file layer that the journal is on."""

    def close(self) -> None:
        self.xClose()


def write_back(connection: apsw.Connection) -> None:
    """Write the log back into the journal, as far as readers let it.

    SQLite does so too, but does not report failures.

    Raises:
        apsw.Error: it could not be: nothing is lost that was committed, but no more may be.
    """
    with suppress(apsw.BusyError):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
