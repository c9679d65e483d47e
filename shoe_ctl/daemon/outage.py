"""An outage of the storage: when and why, the note for the next start, and reopening the journal.

In: a journal's path, a clock, places for small files. Out: the store, opened anew and verified from
its first record; a note that survives this process. Must not know: tables, links, sinks.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from shoe_ctl.clock import Clock, sleep
from shoe_ctl.config import Config
from shoe_ctl.daemon.environment import Environment
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.evidence import DeliveredEvent, was_replaced
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Ruling
from shoe_ctl.journal.store import Store
from shoe_ctl.texts.catalogue import text
from shoe_ctl.texts.message import Message, message

if TYPE_CHECKING:
    from shoe_ctl.journal.verify import Verification

FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 30.0

NOTE_SUFFIX = "-outage"
"""Added to the name of the file that a note lies beside."""

UNKNOWN_CAUSE = message("daemon_failed_before")

log = logging.getLogger(__name__)


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """Since when nothing can be stored (µs since 1970 UTC), and why."""

    since_us: int
    what: Message

    def refusal(self) -> str:
        """Return the answer to every request meanwhile."""
        return text(fault_of(self.what))


def journal_failed(line: str) -> Message:
    """Return what failed, as the journal or the operating system reports it."""
    return message("daemon_journal_failed", detail=line)


def loss_ruled(lost: Sequence[str], ruling: Ruling) -> Message:
    """Return that the journal lost something, and that a person ruled that it goes on."""
    return message(
        "daemon_loss_ruled",
        lost=lost,
        person=ruling.person,
        position=ruling.position,
        reason=ruling.reason,
    )


def fault_of(what: Message | str) -> Message:
    """Return the answer to every request after this failure."""
    return message("daemon_storage_fault", detail=what)


class JournalReopener:
    """Opens a journal again after 1 s, then each time after twice as long, up to 30 s.

    A new reason for a failure is logged as a warning, a repeated one at debug level.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        vfs: str | None,
        environment: Environment,
        given: Callable[[], Iterable[DeliveredEvent]] = tuple,
    ) -> None:
        self._path = path
        self._given = given
        self._clock = clock
        self._environment = environment
        self._vfs = vfs
        self._wait_s = FIRST_RETRY_S
        self._logged = ""
        self._stored: Mapping[str, tuple[int, bytes]] = {}

    def begin(self, stored: Mapping[str, tuple[int, bytes]]) -> None:
        """Begin a new outage: tables were at work since the last one.

        ``stored`` are the ends of the chains until then. The journal must still have them.
        """
        self._wait_s, self._logged, self._stored = FIRST_RETRY_S, "", stored

    def failed(self, error: JournalError) -> None:
        """Log why the storage does not work."""
        level = logging.DEBUG if str(error) == self._logged else logging.WARNING
        log.log(level, 'storage: fault: reason="%s". Retrying.', error)
        self._logged = str(error)

    def _attempt(self) -> _Attempt:
        return _Attempt(self._path, self._vfs, self._stored, self._given)

    async def at_once(self) -> Store:
        """Return the store, if it opens now and is whole.

        Raises:
            JournalError: it cannot be opened, or is not what was written.
        """
        with self._environment.thread("journal-again") as opener:
            return await self._attempt().open_in(opener)

    async def done(self) -> Store:
        """Return the store, once it opens and is whole."""
        with self._environment.thread("journal-again") as opener:
            while True:
                await sleep(self._clock, self._wait_s)
                self._wait_s = min(2 * self._wait_s, LONGEST_RETRY_S)
                try:
                    return await self._attempt().open_in(opener)
                except JournalError as error:
                    self.failed(error)


class _Attempt:
    """One attempt to open the journal and to verify all of it, with all that was ``stored``."""

    def __init__(
        self,
        path: Path,
        vfs: str | None,
        stored: Mapping[str, tuple[int, bytes]],
        given: Callable[[], Iterable[DeliveredEvent]],
    ) -> None:
        self._given = given
        self._path = path
        self._vfs = vfs
        self._stored = stored
        self._reader: Reader | None = None

    async def open_in(self, opener: Executor) -> Store:
        """Return the store. If the caller is cancelled, nothing is left open.

        Raises:
            JournalError: it cannot be opened, or is not what was written.
        """
        opening = asyncio.get_running_loop().run_in_executor(opener, self._open_verified)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            if self._reader is not None:
                self._reader.abandon()
            with suppress(JournalError):
                (await opening).close()
            raise

    def _open_verified(self) -> Store:
        from shoe_ctl.journal.verify import verify

        if was_replaced(self._path):
            # The files may be of different moments. Nothing is written before that is known, and
            # closing a damaged store would write its log back into the journal.
            with Reader.open(self._path, vfs=self._vfs) as reader:
                self._reader = reader
                self._refuse_damaged(verify(reader, newest=False))
        store = Store.open(
            self._path, vfs=self._vfs, new=False, given=self._given, head_needed=True
        )
        try:
            with store.reader() as reader:
                self._reader = reader
                found = verify(reader)
                lost = self._lost(reader, found.first_n)
            self._refuse_damaged(found)
            if lost is not None:
                raise JournalError(
                    f"journal {self._path} is another one: it has not record {lost}, which was "
                    "stored; put the right one back, or start again to go on with this one"
                )
        except BaseException:
            store.close()
            raise
        log.info("journal: reopened: path=%s records_verified=%d", self._path, found.records)
        return store

    def _refuse_damaged(self, found: Verification) -> None:
        if (bad := found.first_bad) is not None:
            raise JournalError(f"journal {self._path} is corrupt: record {bad.n}: {bad.text}")

    def _lost(self, reader: Reader, first_n: int) -> int | None:
        """Return the number of a record that was stored and is not in this journal, if any."""
        for table, (n, digest) in self._stored.items():
            if n >= first_n and not reader.has_end(table, n, digest):
                return n
        return None


class OutageMarker:
    """Marks an outage in small files, for a daemon that starts before it is stored.

    The marks are there from the announcement of an outage until every table has stored it. The
    place that most likely works comes first. A place that fails is logged: where all fail, and the
    daemon ends before the storage works, the outage is forgotten.
    """

    def __init__(self, places: Sequence[Path]) -> None:
        self.places = tuple(places)

    def found(self) -> Outage | None:
        """Return the outage that an earlier daemon marked and no table has stored, if any.

        A file that cannot be read, or is empty as on a full disk, marks an outage all the same:
        since the file was made, for an unknown reason.
        """
        found = [outage for place in self.places if (outage := _read_note(place)) is not None]
        return min(found, key=lambda outage: outage.since_us, default=None)

    def write(self, outage: Outage) -> None:
        """Mark an outage in all places, in their order. Never raises."""
        noted = [place for place in self.places if _write_note(place, outage)]
        if not noted:
            log.error(
                "storage: fault not marked in any place. If this daemon ends now, the next one "
                "asks nobody to resume."
            )

    def clear(self) -> None:
        """Remove the marks: every table has stored it. Never raises; one that stays asks again."""
        for place in self.places:
            try:
                place.unlink(missing_ok=True)
            except OSError as error:
                log.warning(
                    'storage: mark not removed: path=%s reason="%s". The next start asks people to '
                    "resume once more.",
                    place, error.strerror,
                )  # fmt: skip


def marker_for(config: Config) -> OutageMarker:
    """Return the marker of a configuration: a file beside the socket and one beside the journal.

    The first is mostly in memory, so that it can be written whatever happened to the disk. The
    second survives a reboot, where the disk takes it.
    """
    beside = (config.socket_path, config.path(config.journal.path))
    places = [path.parent / f"{path.name}{NOTE_SUFFIX}" for path in beside if path is not None]
    return OutageMarker(places)


def _write_note(place: Path, outage: Outage) -> bool:
    """Return whether there is a file now, be it an empty one."""
    try:
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as error:
        log.warning('storage: mark not created: path=%s reason="%s"', place, error.strerror)
        return False
    try:
        os.write(fd, msgspec.json.encode(outage) + b"\n")
        os.fsync(fd)
    except OSError as error:
        log.warning('storage: mark may not last: path=%s reason="%s"', place, error.strerror)
    finally:
        os.close(fd)
    return True


def _read_note(place: Path) -> Outage | None:
    try:
        made_us = place.stat().st_mtime_ns // 1000
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # nor can the journal be there: it says so itself
            return None
        log.warning('storage: mark not readable: path=%s reason="%s"', place, error.strerror)
        return None
    try:
        return msgspec.json.decode(place.read_bytes(), type=Outage)
    except (OSError, msgspec.MsgspecError):
        return Outage(since_us=made_us, what=UNKNOWN_CAUSE)
