"""States of tables for who asks at the socket: how each stands, then each change, then beats.

In: requests of known callers, tables at work. Out: lines, some at a time, without end.
Must not know: the socket, the journal, how a status is made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from shoe_ctl.api.answers import RequestRefused, audience_of, in_language
from shoe_ctl.api.requests import Caller, Language, StatesRequest
from shoe_ctl.api.unix_socket import Lines
from shoe_ctl.clock import Clock, Timer, sleep
from shoe_ctl.daemon.beats import BEAT_S, beat
from shoe_ctl.daemon.disk_use import DiskUse, with_warning
from shoe_ctl.daemon.outage import fault_of, journal_failed
from shoe_ctl.daemon.table_runner import StatusBasis, TableRunner, first_failure
from shoe_ctl.records import Audience, utc
from shoe_ctl.texts.catalogue import with_texts
from shoe_ctl.texts.message import Message

BETWEEN_S = 0.2
"""Time between two lines of a table at least. What changes meanwhile comes with the second."""

SECOND_US = 1_000_000

log = logging.getLogger(__name__)


class StateStreams:
    """Everybody who gets states. A line is made once for all readers of a table and an audience.

    Nothing is made of a table without readers.
    """

    def __init__(
        self, tables: Mapping[str, TableRunner], clock: Clock, disk: DiskUse | None = None
    ) -> None:
        self._tables = tables
        self._clock = clock
        self._disk = disk
        self._warning: Message | None = None
        self._views: dict[_Kind, _View] = {}
        self._timer: Timer | None = None

    async def open(self, caller: Caller, asked: StatesRequest) -> Lines:
        """Return the states that were asked for.

        Raises:
            RequestRefused: the caller may not see them.
        """
        audience = audience_of(caller, asked.audience)
        log.info(
            "states: stream started: user=%s audience=%s table=%s",
            caller.user, audience.name.lower(), asked.table or "all",
        )  # fmt: skip
        tables = self._tables if asked.table is None else (asked.table,)
        language = None if asked.language == "en" else asked.language
        return self._lines([_Kind(table, audience, language, asked.staff) for table in tables])

    async def _lines(self, kinds: list[_Kind]) -> Lines:
        reader = _Reader()
        try:
            for kind in kinds:
                view = self._read(kind, reader)
                self._check_storage()
                reader.changed.pop(view, None)
                yield [view.line]
                await asyncio.sleep(0)  # a card of any table goes before the next one's status
            while True:
                if not reader.changed:
                    await sleep(self._clock, BEAT_S, unless=reader.news)
                reader.news.clear()
                self._check_storage()
                changed, reader.changed = reader.changed, {}
                yield [view.line for view in changed] or [beat(self._clock)]
        finally:
            for view in reader.views:
                self._leave(view, reader)

    def _check_storage(self) -> None:
        """Show nobody an old state as new, where nothing more can be stored."""
        if (failure := first_failure(self._tables.values())) is not None:
            raise RequestRefused(fault_of(journal_failed(failure)))

    def _read(self, kind: _Kind, reader: _Reader) -> _View:
        """Return the view, which the reader gets from now on."""
        view = self._views.get(kind)
        if view is None:
            if not self._views:
                self._look_at_disk()
            view = _View(self._tables[kind.table], kind, self._clock, self._warning)
            self._views[kind] = view
        view.readers.append(reader)
        reader.views.append(view)
        if self._timer is None:
            self._wait_a_second()
        return view

    def _leave(self, view: _View, reader: _Reader) -> None:
        view.readers.remove(reader)
        if view.readers:
            return
        del self._views[view.kind]
        view.close()
        if not self._views and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait_a_second(self) -> None:
        next_us = (self._clock.wall_us() // SECOND_US + 1) * SECOND_US
        self._timer = self._clock.call_when(next_us, self._second_passed)

    def _second_passed(self) -> None:
        """Look for what changes by time alone, or is not stored: no input tells of it."""
        self._wait_a_second()
        self._look_at_disk()
        for view in self._views.values():
            view.warning = self._warning
            view.look()

    def _look_at_disk(self) -> None:
        self._warning = None if self._disk is None else self._disk.trouble


class _Kind(NamedTuple):
    """The lines that several readers share."""

    table: str
    audience: Audience
    language: Language | None
    staff: bool


class _Reader:
    """One stream: the views it has, and those with a line that it was not sent yet."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.views: list[_View] = []
        self.changed: dict[_View, None] = {}

    def note(self, view: _View) -> None:
        self.changed[view] = None
        self.news.set()


class _View:
    """The status of one table for one audience and in one language, as a line.

    When a line is sent follows from the lines alone, and from whole seconds of the clock: what this
    audience does not see may happen at any time, and must not show in when a line comes.
    """

    def __init__(
        self, runner: TableRunner, kind: _Kind, clock: Clock, warning: Message | None
    ) -> None:
        self.kind = kind
        self.readers: list[_Reader] = []
        self._runner = runner
        self._clock = clock
        self.warning = warning
        self._basis: tuple[StatusBasis, Message | None] | None = None
        self._timer: Timer | None = None
        self.line = self._told = b""
        self._make()
        runner.transactions.on_stored(self._changed)

    def close(self) -> None:
        """The last reader has left."""
        self._runner.transactions.forget(self._changed)
        if self._timer is not None:
            self._timer.cancel()

    def _changed(self) -> None:
        """Look once what is stored has taken effect: no card waits for a line."""
        asyncio.get_running_loop().call_soon(self.look)

    def look(self) -> None:
        """Make the line anew, now or as soon as another one may be sent."""
        if self._timer is not None or not self.readers:
            return
        wait_s = self._made_s + BETWEEN_S - self._clock.monotonic()
        if wait_s > 0:
            self._timer = self._clock.call_later(wait_s, self._look_again)
        else:
            self._make()

    def _look_again(self) -> None:
        self._timer = None
        self._make()

    def _make(self) -> None:
        """Make the line, if it differs from the last one."""
        # To the second: what passes between two seconds is then nothing that a line can show.
        second_us = self._clock.wall_us() // SECOND_US * SECOND_US
        now_us = self._runner.transactions.table_time(second_us)
        basis = self._runner.status_basis(now_us)
        before = self._basis
        if before is not None and before[1] == self.warning and basis.equals(before[0]):
            return
        self._basis = basis, self.warning
        stands = self._runner.stored_status(self.kind.audience, now_us, staff=self.kind.staff)
        stands = with_warning(stands, self.warning)
        told = msgspec.json.encode(in_language(with_texts(stands), self.kind.language))
        if told == self._told:
            return
        self._told, self._made_s = told, self._clock.monotonic()
        # Behind the comparison: the time alone is no change.
        self.line = b'{"time":' + msgspec.json.encode(utc(now_us)) + b"," + told[1:]
        for reader in self.readers:
            reader.note(self)
