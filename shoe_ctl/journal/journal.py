"""The journal on the daemon's event loop: commits, and the feeds that sinks read.

In: a store, the executor of its one writer thread, batches. Out: commit results; a call to each
listener when there is more to read; events after a sink's cursor, the newest from memory.
Must not know: sinks, what a body means.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import cached_property, partial
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.journal.batch import Batch, CommitResult, Head, StoredEvent
from shoe_ctl.journal.chain import AnchorRecord, Checkpoint
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signing import Signer
from shoe_ctl.journal.store import Cursor, Store
from shoe_ctl.records import Audience, EventId

_T = TypeVar("_T")


CURSOR_DELAY_S = 1.0
"""A cursor that no commit took along is written after this time. Most are taken along, and
cost no transaction of their own."""

MOST_UNWRITTEN = 64
"""So many events at most are delivered to a sink before its cursor is written: after a crash these
come again."""

RECENT_BYTES = 1 << 16
"""Bytes of events that are kept in memory, about two hundred events. A sink that is further behind
reads the journal."""

FEW_TABLES = 16
"""With more tables than these, ``RECENT_BYTES`` grows in proportion: each brings events, and a sink
is given the same time to fetch them."""


class RecentEvents:
    """The newest events that were committed, for sinks that keep up: they need not read.

    ``after``: every event behind this record is in memory. ``last_n`` is the last committed record.
    """

    def __init__(self, last_n: int) -> None:
        self.after = self.last_n = last_n
        self.tables = 0
        self._events: deque[StoredEvent] = deque()
        self._bytes = 0

    def add(self, result: CommitResult) -> None:
        """Add what a commit stored, and forget the oldest."""
        self.last_n = result.last_n
        self._events.extend(result.events)
        for event in result.events:
            self._bytes += len(event.body)
        most = RECENT_BYTES * max(1, self.tables // FEW_TABLES)
        while self._bytes > most:
            oldest = self._events.popleft()
            self._bytes -= len(oldest.body)
            self.after = oldest.n

    def upcoming(
        self, audience: Audience, *, after: int, limit: int, table: str | None
    ) -> tuple[list[tuple[int, bytes]], int] | None:
        """As ``Reader.events``; None where some of them are not in memory any more."""
        if after < self.after:
            return None
        found: list[tuple[int, bytes]] = []
        for event in reversed(self._events):
            if event.n <= after:
                break
            if event.audience is audience and table in (None, event.table):
                found.append((event.n, event.body))
        events = found[: -limit - 1 : -1]
        return events, events[-1][0] if len(events) == limit else self.last_n


MOST_BATCHES = 100
"""Batches that one sync stores at most: the loop packs them in one go, and does nothing else."""

LATER_S = 0.25
"""A batch that nobody waits for may wait for so long for one that somebody waits for: both cost one
sync. It is a shoe's status, mostly, which comes with each card. A table that is dealt quickly then
has one transaction a card, and people see a status later by no more than they notice."""


class Ends(Protocol):
    """Where a journal ends, and each table's chain in it: all of it stored.

    ``last_n`` is the last record's number, 0 in an empty journal; ``tables`` counts the tables that
    have records.
    """

    last_n: int
    tables: int

    def head(self, table: str) -> Head:
        """Return the end of this table's chain."""


class Journal:
    """Collects batches while a sync is under way, so that one more sync stores them all.

    ``writer`` must run one call at a time and in order (one thread). ``ends`` is what is stored.
    """

    def __init__(self, store: Store, writer: Executor) -> None:
        self._store = store
        self.ends: Ends = store
        self._writer = writer
        self._waiting: list[tuple[Batch, asyncio.Future[CommitResult]]] = []
        self._idle: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._failed: asyncio.Future[None] | None = None
        self._listeners: list[Callable[[], None]] = []
        self._cursors: dict[str, int] = {}
        self._unwritten: Counter[str] = Counter()
        self._delivered: dict[str, int] = {}
        self._cursor_timer: asyncio.TimerHandle | None = None
        self._cursors_moving: asyncio.Task[None] | None = None
        self.recent = RecentEvents(store.last_n)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop that it is used in. Asked once: Python asks the kernel which process this is."""
        return asyncio.get_running_loop()

    def on_commit(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` on the loop after every commit that stored something."""
        self._listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        """Do not call this listener any more."""
        self._listeners.remove(listener)

    @property
    def last_n(self) -> int:
        """The last stored record's number; 0 in an empty journal."""
        return self.ends.last_n

    @property
    def last_checkpoint(self) -> Checkpoint | None:
        """The last checkpoint; None before the first."""
        return self._store.last_checkpoint

    async def commit(self, batch: Batch) -> CommitResult:
        """Store the batch; batches are stored in the order of the calls.

        A cancelled call may still store its batch.

        Raises:
            JournalError: the batch is not to be relied upon, and the store takes nothing more.
        """
        future = self._add(batch)
        self._write_now()
        return await future

    def store_later(self, batch: Batch) -> asyncio.Future[CommitResult]:
        """Store the batch with the next one, ``LATER_S`` from now at the latest.

        It is for what nobody waits for. If it cannot be stored, ``watch`` raises that, too.
        """
        future = self._add(batch)
        future.add_done_callback(self._note_failure)
        if self._idle is None and self._timer is None:
            self._timer = self._loop.call_later(LATER_S, self._write_now)
        return future

    async def store_waiting(self) -> None:
        """Return once all that was handed in is stored, or failed."""
        self._write_now()
        while self._idle is not None:
            await asyncio.shield(self._idle)

    async def watch(self) -> None:
        """Wait until a batch that nobody waits for cannot be stored.

        Raises:
            JournalError: why.
        """
        self._failed = self._loop.create_future()
        await self._failed

    def _note_failure(self, stored: asyncio.Future[CommitResult]) -> None:
        error = None if stored.cancelled() else stored.exception()
        if error is not None and self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)

    def _add(self, batch: Batch) -> asyncio.Future[CommitResult]:
        future: asyncio.Future[CommitResult] = self._loop.create_future()
        self._waiting.append((batch, future))
        return future

    async def move_cursor(self, sink: str, n: int, table: str | None = None) -> None:
        """Call ``Store.move_cursor`` in the writer's thread.

        Raises:
            JournalError: the store takes nothing more.
        """
        loop = asyncio.get_running_loop()
        move = partial(self._store.move_cursor, sink, n, table)
        if table is not None:
            await loop.run_in_executor(self._writer, move)
            return
        self._cursors.pop(sink, None)
        self._delivered[sink] = n
        events = self._unwritten[sink]
        await loop.run_in_executor(self._writer, move)
        self._unwritten -= Counter({sink: events})

    def move_cursor_soon(self, sink: str, n: int, events: int) -> None:
        """Move a cursor by so many events with the next commit, or after ``CURSOR_DELAY_S``.

        Raises:
            JournalError: the store takes nothing more.
        """
        self.check()
        self._cursors[sink] = self._delivered[sink] = n
        self._unwritten[sink] += events
        if self._cursor_timer is None:
            self._cursor_timer = self._loop.call_later(CURSOR_DELAY_S, self._move_cursors)

    def check(self) -> None:
        """Refuse to go on with a store that takes nothing more.

        Raises:
            JournalError: it is one.
        """
        if self._store.failure is not None:
            raise JournalError(self._store.failure)

    def delivered(self, sink: str) -> int:
        """Return the last record that was delivered to a sink since the start; 0 without any."""
        return self._delivered.get(sink, 0)

    def unwritten(self, sink: str) -> int:
        """Return how many events were delivered that are not behind the sink's stored cursor."""
        return self._unwritten[sink]

    def _take_cursors(self) -> tuple[list[Cursor], Counter[str]]:
        """Return the cursors to be written now, and by how many events each moves."""
        if self._cursor_timer is not None:
            self._cursor_timer.cancel()
            self._cursor_timer = None
        if not self._cursors:
            return [], Counter()
        cursors = [(sink, "", n) for sink, n in self._cursors.items()]
        events = Counter({sink: self._unwritten[sink] for sink in self._cursors})
        self._cursors.clear()
        return cursors, events

    def _move_cursors(self) -> None:
        self._cursors_moving = asyncio.create_task(self._write_cursors(), name="journal cursors")

    async def _write_cursors(self) -> None:
        cursors, events = self._take_cursors()
        if not cursors:
            return
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._writer, self._store.move_cursors, cursors)
        except JournalError:
            self._wake_listeners()  # the sinks meet it, and say so
        else:
            self._unwritten -= events

    def reader(self) -> Reader:
        """Open a further connection to the same journal, for reading.

        Raises:
            JournalError: the file cannot be read.
        """
        return self._store.reader()

    async def checkpoint(self, signer: Signer, t_us: int) -> int | None:
        """Call ``Store.checkpoint`` in the writer's thread.

        Raises:
            JournalError: the store takes nothing more.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, self._store.checkpoint, signer, t_us)

    async def truncate_before(self, begins: AnchorRecord, signer: Signer, t_us: int) -> int:
        """Call ``Store.truncate_before`` in the writer's thread.

        Raises:
            JournalError: the store takes nothing more.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._writer, self._store.truncate_before, begins, signer, t_us
        )

    async def close(self) -> None:
        """Wait until every batch is stored, then close the store."""
        await self.store_waiting()
        if self._cursors_moving is not None:
            await self._cursors_moving
        await self._write_cursors()
        await asyncio.get_running_loop().run_in_executor(self._writer, self._store.close)

    def _write_now(self) -> None:
        """Give the writer what waits, unless it is at work: then it gets that next."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._idle is None and self._waiting:
            self._idle = self._loop.create_future()
            self._write()

    def _write(self) -> None:
        # A table's batches follow one another: so they share a group.
        waiting = sorted(self._waiting[:MOST_BATCHES], key=_table_of)
        del self._waiting[:MOST_BATCHES]
        try:
            prepared = self._store.prepare([batch for batch, _ in waiting])
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            failed: Future[list[CommitResult]] = Future()
            failed.set_exception(error)
            self._written(waiting, Counter(), failed)
            return
        cursors, events = self._take_cursors()
        self._submit(
            partial(self._store.commit_prepared, prepared, cursors),
            partial(self._written, waiting, events),
        )

    def _written(
        self,
        waiting: list[tuple[Batch, asyncio.Future[CommitResult]]],
        events: Counter[str],
        done: Future[list[CommitResult]],
    ) -> None:
        error = done.exception()
        try:
            if error is not None:
                _answer(waiting, error)
            else:
                results = done.result()
                if events:
                    self._unwritten -= events
                _answer(waiting, results)
                self._notify(results)
        finally:  # whatever a listener does, the next batch is stored
            if self._waiting:
                self._write()
            elif error is None and self._store.is_head_file_due:
                self._submit(self._store.sync_head_file, self._went_on)
            else:
                self._rest()

    def _went_on(self, _: Future[None]) -> None:
        """The head file is synced, or not: then the next commit fails, and says why."""
        if self._waiting:
            self._write()
        else:
            self._rest()

    def _rest(self) -> None:
        idle, self._idle = self._idle, None
        assert idle is not None
        idle.set_result(None)

    def _submit(self, work: Callable[[], _T], done: Callable[[Future[_T]], None]) -> None:
        """Run ``work`` in the writer's thread, and call ``done`` on the loop after it.

        Fewer steps than a future of the loop takes: this is on the way of every card.
        """
        loop = self._loop

        def ended(future: Future[_T]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(done, future)

        self._writer.submit(work).add_done_callback(ended)

    def _notify(self, results: list[CommitResult]) -> None:
        self.recent.tables = self._store.tables
        for result in results:
            self.recent.add(result)
        if any(result.last_n >= result.first_n for result in results):
            self._wake_listeners()

    def _wake_listeners(self) -> None:
        for listener in self._listeners:
            listener()


def _table_of(waiting: tuple[Batch, asyncio.Future[CommitResult]]) -> str:
    entries = waiting[0].entries
    return entries[0].table if entries else ""


def _answer(
    waiting: list[tuple[Batch, asyncio.Future[CommitResult]]],
    outcome: list[CommitResult] | BaseException,
) -> None:
    for position, (_, future) in enumerate(waiting):
        if future.done():  # its caller was cancelled meanwhile
            continue
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome[position])


class DeadLetters(Protocol):
    """Stores which events a sink rejects, and which it accepts after all."""

    async def parked(self, n: int, event: bytes, why: str) -> None:
        """Store that the sink rejected this event, record ``n``."""

    async def taken(self, n: int, event: bytes) -> None:
        """Store that the sink accepted the event when it was redelivered."""


class DeliveryGate:
    """Holds back events stored since a start until each table's shoe was compared.

    A shoe may show that the journal lost its newest part, when nothing else can: ids given since
    the start would then be used. ``after`` is the last record of before the start. ``withheld``
    are stretches of a table's records that are never published (first and last, inclusive).
    ``published`` is the last record that any sink was given before the start.
    """

    def __init__(
        self, after: int, withheld: Iterable[tuple[str, int, int]] = (), published: int = 0
    ) -> None:
        self._after = after
        self._published = max(after, published)
        self._withheld = [(f'{{"id":"{t}/'.encode(), first, last) for t, first, last in withheld]
        self._waiting: set[str] = set()
        self._listeners: list[Callable[[], None]] = []

    @property
    def after(self) -> int:
        """The last record of before the start, up to which everything was compared."""
        return self._after

    @property
    def published(self) -> int:
        """The last record that was published to any sink."""
        return self._published

    @property
    def waiting(self) -> frozenset[str]:
        """The tables whose shoes are still to be compared."""
        return frozenset(self._waiting)

    def wait_for(self, table: str) -> None:
        """Hold events back until this table's shoe was compared: it may show a loss."""
        self._waiting.add(table)

    def open(self, table: str) -> None:
        """Stop waiting for this table's shoe: it showed no loss, or the wait is over."""
        if table in self._waiting:
            self._waiting.discard(table)
            if not self._waiting:
                self._tell()

    def open_all(self) -> None:
        """Stop waiting for any shoe: ids given from now on cannot have been used."""
        if self._waiting:
            self._waiting.clear()
            self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def withhold(self, table: str, first: int, last: int) -> None:
        """Never publish these records of a table."""
        self._withheld.append((f'{{"id":"{table}/'.encode(), first, last))

    def on_open(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` when no table is waited for any more."""
        self._listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        """Do not call this listener any more."""
        self._listeners.remove(listener)

    def passes(self, events: Sequence[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Return those of these events that may be published now."""
        passed = list(events)
        if self._waiting:
            passed = [event for event in passed if event[0] <= self._after]
        for start, first, last in self._withheld:
            passed = [
                (n, body)
                for n, body in passed
                if not (first <= n <= last and body.startswith(start))
            ]
        if passed:
            self._published = max(self._published, passed[-1][0])
        return passed

    def holds(self, n: int) -> bool:
        """Return True if record ``n`` waits for a shoe."""
        return bool(self._waiting) and n > self._after


class EventRange(NamedTuple):
    """Events of one table after a record, up to another, and how many they are."""

    after: int
    upto: int
    events: int


class HeldEvent(NamedTuple):
    """An event that a sink holds, or held: of a table, by its source and number."""

    table: str
    source: str
    number: int


class LostRange(NamedTuple):
    """Events that a sink lost: behind record ``after`` up to ``upto``, and by their numbers."""

    after: int
    upto: int
    first: int
    last: int


class _Source(msgspec.Struct):
    source: str


_source = msgspec.json.Decoder(_Source)


class UnknownEvent(InputRefused):
    """No event has this id, or the journal does not have it any more.

    ``last`` is the last event of its table, ``first`` the first that is there, where it has any.
    """

    def __init__(
        self, line: str, *, first: EventId | None = None, last: EventId | None = None
    ) -> None:
        super().__init__(line)
        self.first = first
        self.last = last


class EventsRemoved(InputRefused):
    """Events that were still to be read are not in the journal any more."""


def check_kept(reader: Reader, after: EventId) -> None:
    """Refuse an id that no event has, and one behind which events are not in the journal any more.

    Raises:
        UnknownEvent: it is one of these.
        JournalError: the journal cannot be read.
    """
    kept = reader.event_numbers(after.table, after.audience)
    if kept is None:
        raise UnknownEvent(f"there is no event {after}: the last of its table is none")
    first, last = (after._replace(number=number) for number in kept)
    if after.number > last.number:
        raise UnknownEvent(
            f"there is no event {after}: the last of its table is {last}", first=first, last=last
        )
    if after.number < first.number - 1:
        raise UnknownEvent(
            f"what follows {after} is not in the journal: it begins at {first}",
            first=first,
            last=last,
        )


class EventFeed:
    """A place in one stream, oldest first; ``table`` narrows it to one table.

    ``gate`` holds back what may have used ids, until that is known. The journal is read only for
    what is not in memory: where the place is behind.

    ``readers`` is the executor that ``reader`` is used in, one call at a time; it may be shared.
    """

    _position: int | None

    def __init__(  # noqa: PLR0913 - what it reads, and how it is narrowed
        self,
        journal: Journal,
        reader: Reader,
        readers: Executor,
        *,
        audience: Audience,
        table: str | None = None,
        gate: DeliveryGate | None = None,
        after: int | None = None,
    ) -> None:
        self._gate = gate
        self._journal = journal
        self._reader = reader
        self._readers = readers
        self._audience = audience
        self._table = table
        self._position = after

    async def upcoming(self, limit: int) -> list[tuple[int, bytes]]:
        """Return up to ``limit`` events behind its place: record number and the envelope's bytes.

        Raises:
            JournalError: the journal cannot be read.
        """
        if self._position is None:
            self._position = await self._read(self._first_position)
        while True:
            after, table = self._position, self._table
            found = self._journal.recent.upcoming(
                self._audience, after=after, limit=limit, table=table
            )
            if found is None:
                found = await self._read(partial(self._read_events, after, limit))
            events, looked = found
            if not events and not (self._gate is not None and self._gate.holds(looked)):
                # so that a quiet stream is not searched again and again; never back
                self._position = max(self._position, looked)
            if not events or self._gate is None:
                return events
            if passed := self._gate.passes(events):
                return passed
            free = [n for n, _ in events if not self._gate.holds(n)]
            if not free:
                return []
            self._position = free[-1]  # all of these are withheld

    def _first_position(self) -> int:
        """Return where it begins. It runs in the thread of ``readers``, as ``_read_events``."""
        return 0

    def _read_events(self, after: int, limit: int) -> tuple[list[tuple[int, bytes]], int]:
        return self._reader.events(self._audience, after=after, limit=limit, table=self._table)

    async def _read(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, call)


class LiveFeed(EventFeed):
    """A place that nobody keeps: it begins behind record ``after``.

    Records that were taken out before they were read are missed, and that is said.
    """

    def _read_events(self, after: int, limit: int) -> tuple[list[tuple[int, bytes]], int]:
        found = super()._read_events(after, limit)
        first = self._reader.first_n()
        if first is not None and first > after + 1:
            raise EventsRemoved(f"records {after + 1} to {first - 1} are not in the journal")
        return found

    def sent(self, n: int) -> None:
        """Move its place: everything up to record ``n`` was sent."""
        self._position = n


class SinkFeed(EventFeed):
    """One sink's place in one stream, which the journal keeps.

    A sink not known to the journal starts at the journal's first event. The journal is read only
    for what is not in memory: by a sink that is behind, and for what is offered again.
    """

    def __init__(  # noqa: PLR0913 - what it reads, where it writes, and whose it is
        self,
        journal: Journal,
        reader: Reader,
        readers: Executor,
        *,
        sink: str,
        audience: Audience,
        dead_letters: DeadLetters,
        table: str | None = None,
        gate: DeliveryGate | None = None,
    ) -> None:
        super().__init__(journal, reader, readers, audience=audience, table=table, gate=gate)
        self._sink = sink
        self._dead_letters = dead_letters
        self._offered = 0

    def _first_position(self) -> int:
        return self._journal.delivered(self._sink) or self._reader.cursor(self._sink)

    async def upcoming(self, limit: int) -> list[tuple[int, bytes]]:
        """As ``EventFeed.upcoming``; less by what was delivered and is not behind the cursor yet.

        So after a crash no more than ``limit`` events come again.

        Raises:
            JournalError: the journal cannot be read, or takes nothing more.
        """
        self._journal.check()
        unwritten = self._journal.unwritten(self._sink)
        events = await super().upcoming(max(1, limit - unwritten))
        self._offered = len(events)
        return events

    async def delivered(self, n: int) -> None:
        """Move the cursor: everything up to record ``n`` has been delivered.

        A few events wait for the next commit, which takes the cursor along.

        Raises:
            JournalError: the journal takes nothing more.
        """
        if self._journal.unwritten(self._sink) + self._offered < MOST_UNWRITTEN:
            self._journal.move_cursor_soon(self._sink, n, self._offered)
            self._position = n
        else:
            await self._move_cursor(n)

    async def _move_cursor(self, n: int) -> None:
        await self._journal.move_cursor(self._sink, n)
        self._position = n

    async def parked(self, n: int, event: bytes, why: str) -> None:
        """Skip this event, record ``n``, for good; everything before it was delivered.

        Raises:
            JournalError: the journal takes nothing more.
        """
        await self._dead_letters.parked(n, event, why)
        await self._move_cursor(n)

    async def event(self, n: int) -> bytes | None:
        """Return the event of this stream at record ``n``; None where the journal does not have it.

        Raises:
            JournalError: the journal cannot be read.
        """
        return await self._read(partial(self._event, n))

    def _event(self, n: int) -> bytes | None:
        found, _ = self._reader.events(self._audience, after=n - 1, limit=1, table=self._table)
        return found[0][1] if found and found[0][0] == n else None

    async def find_range(
        self, after: EventId, last: EventId | None = None, *, in_flight: int = 0
    ) -> EventRange:
        """Return the events of a table behind this one, up to the ``last``, that were delivered.

        Up to record ``in_flight`` they count as delivered, although the cursor is not there yet.

        Raises:
            UnknownEvent: the journal does not have the event, or not what follows it.
            JournalError: the journal cannot be read.
        """
        return await self._read(partial(self._find_range, after, last, in_flight))

    def _find_range(self, after: EventId, last: EventId | None, in_flight: int) -> EventRange:
        upto = self._position
        if upto is None:
            upto = self._reader.cursor(self._sink)
        upto = max(upto, in_flight)
        check_kept(self._reader, after)
        n = self._reader.find_event(after)
        if last is not None and (end := self._reader.find_event(last)) is not None:
            upto = min(upto, end)
        given = self._reader.event_numbers(after.table, self._audience, upto=upto)
        last_given = 0 if given is None else given[1]
        return EventRange(n or 0, upto, max(0, last_given - after.number))

    async def find_lost(
        self, had: HeldEvent, ends: HeldEvent | None, parked: Collection[int]
    ) -> LostRange | None:
        """Return the events that the journal has of those a sink lost; None where it lost none.

        It had ``had`` and all of its table before it, and now ``ends`` with that, if with any.
        What was never given to the sink is not lost: what lies before its beginning, what is never
        published, and the records that it ``parked``.

        Raises:
            JournalError: the journal cannot be read.
        """
        found = await self._read(partial(self._find_lost, had, ends))
        if found is None:
            return None
        given = await self.earlier(
            had.table, after=found.after, upto=found.upto, limit=len(parked) + 1
        )
        return found if {n for n, _ in given}.difference(parked) else None

    def _find_lost(self, had: HeldEvent, ends: HeldEvent | None) -> LostRange | None:
        table = had.table
        kept = self._reader.event_numbers(table, self._audience)
        if kept is None:
            return None
        last = min(had.number, kept[1])
        beginning = self._reader.beginning(self._sink)
        before = self._reader.event_numbers(table, self._audience, upto=beginning)
        has = max(kept[0] - 1, 0 if before is None else before[1], self._still_there(had, ends))
        if has >= last:
            return None
        ids = (EventId(table, self._audience, number) for number in (has + 1, last))
        first_n, last_n = (self._reader.find_event(each) for each in ids)
        if first_n is None or last_n is None:
            return None
        return LostRange(first_n - 1, last_n, has + 1, last)

    def _still_there(self, had: HeldEvent, ends: HeldEvent | None) -> int:
        """Return the number of the last event of this journal that the sink still has."""
        if ends is None:
            return 0
        if ends.source in (had.source, self._source_of(ends)):
            return ends.number
        # It ends with what this journal lost, or with another journal. The first event under the
        # new source follows on that.
        return had.number if self._source_of(had) != had.source else 0

    def _source_of(self, event: HeldEvent) -> str | None:
        """Return the source of this journal's event with the same number."""
        n = self._reader.find_event(EventId(event.table, self._audience, event.number))
        body = None if n is None else self._event(n)
        return None if body is None else _source.decode(body).source

    async def earlier(
        self, table: str, *, after: int, upto: int, limit: int
    ) -> list[tuple[int, bytes]]:
        """Return up to ``limit`` events of a table after one record, up to another.

        What is never published is left out.

        Raises:
            JournalError: the journal cannot be read.
        """
        while True:
            read = partial(
                self._reader.events, self._audience, after=after, limit=limit, table=table
            )
            events = [event for event in (await self._read(read))[0] if event[0] <= upto]
            passed = events if self._gate is None else self._gate.passes(events)
            if passed or not events:
                return passed
            after = events[-1][0]

    async def taken(self, n: int, event: bytes) -> None:
        """Store that this event, record ``n``, was delivered after all; the cursor stays.

        Raises:
            JournalError: the journal takes nothing more.
        """
        await self._dead_letters.taken(n, event)
