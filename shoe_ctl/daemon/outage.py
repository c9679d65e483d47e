"""Storage that failed: when, why, and waiting until it can be trusted again.

In: a journal's path, a clock. Out: the store, opened anew and verified from its first record.
Must not know: tables, links, sinks; who is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path

import msgspec

from shoe_ctl.daemon.host import Outside
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.evidence import Given, was_replaced
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.journal.verify import Verification, verify
from shoe_ctl.link.clock import Clock, sleep
from shoe_ctl.texts.catalogue import text
from shoe_ctl.texts.message import Message, message

FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 30.0

log = logging.getLogger(__name__)


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """Since when nothing can be stored (µs since 1970 UTC), and why, in one line."""

    since_us: int
    what: str

    def refusal(self) -> str:
        """What is answered to whoever asks for anything meanwhile."""
        return text(fault_of(self.what))


def fault_of(what: str) -> Message:
    """What is answered to whoever asks for anything after this failure."""
    return message("daemon_storage_fault", detail=what)


class Reopening:
    """Opens a journal again after 1 s, then each time after twice as long, up to 30 s.

    Each new reason is logged as a warning, one that only repeats the last for debugging.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        vfs: str | None,
        outside: Outside,
        given: Callable[[], Iterable[Given]] = tuple,
    ) -> None:
        self._path = path
        self._given = given
        self._clock = clock
        self._outside = outside
        self._vfs = vfs
        self._wait_s = FIRST_RETRY_S
        self._told = ""
        self._stored: Mapping[str, tuple[int, bytes]] = {}

    def begin(self, stored: Mapping[str, tuple[int, bytes]]) -> None:
        """Tables were at work: this outage is another than the last.

        ``stored`` are the ends of the chains until then, of which the world was told.
        """
        self._wait_s, self._told, self._stored = FIRST_RETRY_S, "", stored

    def failed(self, error: JournalError) -> None:
        """Storage does not work, for this reason."""
        level = logging.DEBUG if str(error) == self._told else logging.WARNING
        log.log(level, "storage fails: %s; trying again", error)
        self._told = str(error)

    def _attempt(self) -> _Attempt:
        return _Attempt(self._path, self._vfs, self._stored, self._given)

    async def at_once(self) -> Store:
        """The store, if it opens now and is whole.

        Raises:
            JournalError: it cannot be opened, or is not what was written.
        """
        with self._outside.thread("journal-again") as opener:
            return await self._attempt().made_in(opener)

    async def done(self) -> Store:
        """The store, once it opens and is whole."""
        with self._outside.thread("journal-again") as opener:
            while True:
                await sleep(self._clock, self._wait_s)
                self._wait_s = min(2 * self._wait_s, LONGEST_RETRY_S)
                try:
                    return await self._attempt().made_in(opener)
                except JournalError as error:
                    self.failed(error)


class _Attempt:
    """One attempt to open the journal and to verify all of it, with all that was ``stored``."""

    def __init__(
        self,
        path: Path,
        vfs: str | None,
        stored: Mapping[str, tuple[int, bytes]],
        given: Callable[[], Iterable[Given]],
    ) -> None:
        self._given = given
        self._path = path
        self._vfs = vfs
        self._stored = stored
        self._reader: Reader | None = None

    async def made_in(self, opener: Executor) -> Store:
        """The store; whoever stops waiting for it leaves nothing open.

        Raises:
            JournalError: it cannot be opened, or is not what was written.
        """
        opening = asyncio.get_running_loop().run_in_executor(opener, self._opened_whole)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            if self._reader is not None:
                self._reader.abandon()
            with suppress(JournalError):
                (await opening).close()
            raise

    def _opened_whole(self) -> Store:
        if was_replaced(self._path):
            # Files of different moments may lie side by side: nothing is written before that is
            # known, and closing what is damaged would write the log back into the journal.
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
        log.info("journal %s: opened again, %d records verified", self._path, found.records)
        return store

    def _refuse_damaged(self, found: Verification) -> None:
        if (bad := found.first_bad) is not None:
            raise JournalError(f"journal {self._path} is damaged: record {bad.n}: {bad.why}")

    def _lost(self, reader: Reader, first_n: int) -> int | None:
        """A record that was stored, and is not in this journal."""
        for table, (n, digest) in self._stored.items():
            there = [(row[1], row[4]) for row in reader.rows(after=n - 1, upto=n)]
            if n >= first_n and there != [(table, digest)]:
                return n
        return None
