"""Hands a journal's events to one sink, in order, each at least once.

In: a feed (events behind the sink's cursor), wake-ups after commits. Out: deliveries, the cursor
moved after each.
Must not know: the journal, the link, other sinks: none of them ever waits for this one.
"""

from __future__ import annotations

import asyncio
import logging
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol, runtime_checkable

from shoe_ctl.records import EventId

BATCH = 256
"""Events delivered at a time. After a crash these come again, with those before them whose cursor
was not stored yet."""

MANY = BATCH // 2
"""After a delivery of this many events the next one follows at once, even to a sink that gathers:
it is behind."""

FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 5.0
"""The pauses between attempts double from the first to the longest: a sink that is restarted gets
its events soon, and one that is away for hours is not tried all the time."""

MOST_PARKED = 10
"""A sink that refuses so many events in a row is itself at fault: no further ones are parked."""

LONGEST_WHY = 200
"""Characters of a sink's reason that are kept: it stands in an event and in the status, on a
line."""

STALLED_S = 5.0
"""Stopping waits for so long for a sink that takes nothing: its cursor stays, so that nothing is
lost, and a service manager does not wait for it."""

_log = logging.getLogger(__name__)


class Feed(Protocol):
    """A sink's place in its stream."""

    async def upcoming(self, limit: int) -> Sequence[tuple[int, bytes]]:
        """Return up to ``limit`` events after the cursor: number and the envelope's JSON."""

    async def delivered(self, n: int) -> None:
        """Record that everything up to number ``n`` has been delivered."""

    async def parked(self, n: int, event: bytes, why: str) -> None:
        """Park event ``n``, which the sink rejected: record it and emit an event about it."""

    async def event(self, n: int) -> bytes | None:
        """Return the parked event ``n`` of the stream; None where it is not kept any more."""

    async def earlier(
        self, table: str, *, after: int, upto: int, limit: int
    ) -> Sequence[tuple[int, bytes]]:
        """Return up to ``limit`` events of a table after one record, up to another; oldest first.

        They were published before.
        """

    async def taken(self, n: int, event: bytes) -> None:
        """Record that the sink accepted event ``n`` after all; the cursor stays."""


class Sink(Protocol):
    """Where events are delivered to."""

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Deliver them all, durably; after an error they are all delivered again.

        Raises:
            EventRefused: one of these events cannot be taken, now or ever.
            SinkEnded: nobody takes events any more; do not retry.
            Exception: any other: the sink is away; retry.
        """


@runtime_checkable
class AppendingSink(Sink, Protocol):
    """A sink that knows which events it has, and skips them when they come again."""

    async def deliver_again(self, events: Sequence[bytes]) -> None:
        """Deliver events that were delivered or refused before; the sink skips none of them.

        Raises:
            EventRefused, SinkEnded, Exception: as ``deliver``.
        """


class Loss(NamedTuple):
    """The stream of a table ends before what it had acknowledged.

    ``number`` is that of the last event that it had, of the journal's ``source``. ``ends`` is the
    source and number of the newest event that it still has, None where it has none.
    """

    table: str
    source: str
    number: int
    ends: tuple[str, int] | None


@runtime_checkable
class StreamSink(AppendingSink, Protocol):
    """A sink that keeps events, and finds out when it lost some that it had acknowledged."""

    losses: asyncio.Queue[Loss]
    """The losses found: whether anything is to be offered again, the journal knows."""


@runtime_checkable
class GatheringSink(Sink, Protocol):
    """A sink that takes many events at hardly more cost than a few."""

    gather_s: float
    """The time that events are gathered before a delivery, in seconds."""


@runtime_checkable
class SinkWithState(Sink, Protocol):
    """A sink that also shows each table's status, and the last event that it published."""

    def set_last_events(self, last: Mapping[str, EventId]) -> None:
        """Show these, by table, until it publishes others: it published them before the start."""


class EventRefused(Exception):
    """The sink refuses an event, or one of several. Its text is the reason, for people.

    Only this parks an event. After any other error the sink is away, and gets the event later.
    """


class SinkEnded(Exception):
    """The other end closed the sink for good."""


class SinkAway(Exception):
    """The sink is away, and has logged that itself. Its text is the reason, for people.

    ``back`` is set once the sink is back; without it the pump retries after some time.
    """

    def __init__(self, why: str, back: asyncio.Event | None = None) -> None:
        super().__init__(why)
        self.back = back


class SinkTrouble(NamedTuple):
    """Why a sink takes nothing, and since when (µs since 1970 UTC).

    ``ended``: there is no retry before the next start.
    """

    since_us: int
    why: str
    ended: bool = False


class Resend:
    """A range of one table's events that a sink is offered again, and its progress.

    ``after`` and ``upto`` are record numbers, ``events`` is how many lie between. The result of
    ``done`` is None once all of them were offered, or why no more of them will be.

    ``in_background``: each event is offered alone, so that a new one waits for one at most, and
    a stop does not wait for the rest.
    """

    def __init__(
        self, table: str, *, after: int, upto: int, events: int, in_background: bool = False
    ) -> None:
        self.table = table
        self.in_background = in_background
        self.after = after
        self.upto = upto
        self.events = events
        self.taken = self.refused = 0
        self.position = after
        self.has_begun = False
        self.done: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    @property
    def waiting(self) -> int:
        """The number of events still to be offered."""
        if self.done.done() and self.done.result() is None:
            return 0
        return self.events - self.taken - self.refused


def wall_us() -> int:
    """Return the system's time in µs since 1970 UTC."""
    return time.time_ns() // 1000


class Pump:
    """One sink's pump. ``run`` it as a task, ``wake`` it after commits, ``stop`` it in the end.

    After a failure it retries after 0.1 s, then after twice as long each time, up to 30 s. The
    first failure of an outage is logged as a warning, further ones as debug. A sink that reports
    its own return (``SinkAway``) gets the retry as soon as it is back.

    An event that the sink refuses both with others and alone is parked, and the next ones are
    delivered. On request, parked events and ranges of earlier events are delivered again, after
    what was committed by then. ``now_us`` is the wall clock, in µs since 1970 UTC.
    """

    def __init__(
        self, name: str, feed: Feed, sink: Sink, now_us: Callable[[], int] = wall_us
    ) -> None:
        self.name = name
        self.trouble: SinkTrouble | None = None
        self.in_flight = 0
        """The last record of the batch that the sink is taking now; 0 while it takes none."""
        self._feed = feed
        self._sink = sink
        self._now_us = now_us
        self._gather_s = sink.gather_s if isinstance(sink, GatheringSink) else 0.0
        self._gathering: asyncio.TimerHandle | None = None
        self._news = asyncio.Event()
        self._stopping = asyncio.Event()
        self._batches = 0
        self._parked_in_a_row = 0
        self._again: dict[int, asyncio.Future[str | None]] = {}
        self._resends: list[Resend] = []
        self._ended: str | None = None

    def wake(self) -> None:
        """Look for more to deliver, once it was gathered. Call it on the loop."""
        if not self._gather_s:
            self._news.set()
        elif self._gathering is None:
            loop = asyncio.get_running_loop()
            self._gathering = loop.call_later(self._gather_s, self._gathered)

    def _gathered(self) -> None:
        self._gathering = None
        self._news.set()

    def offer_again(self, n: int) -> asyncio.Future[str | None]:
        """Redeliver parked event ``n``: once, even if this is called twice before that.

        The result is None once the sink has taken it, else why not. It stays pending while the sink
        is away, and for good if the pump is stopped before.
        """
        if n not in self._again:
            self._again[n] = asyncio.get_running_loop().create_future()
            self._news.set()
        offer = self._again[n]
        if self._ended is not None:
            self._give_up(self._ended)
        return offer

    def resend(self, asked: Resend) -> Resend:
        """Offer a range again, after what was committed by now; return its progress.

        If a range that begins at the same record is still waiting, it is extended to the later end
        and returned: both are offered as one. One that has begun is left alone: the caller may have
        missed its first events.
        """
        for waiting in self._resends:
            if not waiting.has_begun and (waiting.table, waiting.after, waiting.in_background) == (
                asked.table,
                asked.after,
                asked.in_background,
            ):
                waiting.upto = max(waiting.upto, asked.upto)
                waiting.events = max(waiting.events, asked.events)
                return waiting
        self._resends.append(asked)
        self._news.set()
        if self._ended is not None:
            self._give_up(self._ended)
        return asked

    def _give_up(self, why: str) -> None:
        """Give up every redelivery: the sink has ended."""
        self._ended = why
        while self._again:
            self._again.popitem()[1].set_result(why)
        while self._resends:
            self._resends.pop().done.set_result(why)

    def stop(self) -> None:
        """Let ``run`` return once what is committed now has been delivered.

        From now on nothing is retried. A sink that takes nothing for ``STALLED_S`` is abandoned:
        the next start delivers the rest.
        """
        self._stopping.set()
        self._news.set()

    async def run(self) -> None:
        """Deliver until ``stop``, or until the sink has ended.

        Raises:
            JournalError: the feed cannot be read or its cursor not moved.
        """
        work = asyncio.create_task(self._work(), name=f"pump {self.name}")
        stop = asyncio.create_task(self._stopping.wait(), name=f"pump {self.name} stop")
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not await self._finish(work):
                _log.warning("sink %s: abandoned: stalled_s=%g", self.name, STALLED_S)
        finally:
            if self._gathering is not None:
                self._gathering.cancel()
            for task in (work, stop):
                task.cancel()
            await asyncio.wait({work, stop})
        if not work.cancelled():
            work.result()

    async def _finish(self, work: asyncio.Task[None]) -> bool:
        """Wait for ``work`` as long as it makes progress; return True if it ended."""
        while not work.done():
            before = self._batches
            await asyncio.wait({work}, timeout=STALLED_S)
            if self._batches == before:
                break
        return work.done()

    async def _work(self) -> None:
        while True:
            last_pass = self._stopping.is_set()  # read first: this pass then has all until ``stop``
            self._news.clear()
            try:
                if not (
                    await self._drain()
                    and await self._offer_parked()
                    and await self._resend_ranges()
                ):
                    return
            except SinkEnded as end:
                _log.warning('sink %s: ended: reason="%s"', self.name, end)
                self.trouble = SinkTrouble(self._now_us(), _reason(end), ended=True)
                self._give_up(f"it has ended: {end}")
                return
            if last_pass:
                return
            await self._news.wait()

    async def _drain(self) -> bool:
        """Deliver all there is; return False if it was stopped before."""
        while events := await self._feed.upcoming(BATCH):
            try:
                went_on = await self._hand_over(events)
            except EventRefused:
                went_on = await self._hand_over_singly(events)
            if not went_on:
                return False
            if self._gather_s and len(events) < MANY:
                break  # what came meanwhile is gathered
        return True

    async def _hand_over(self, events: Sequence[tuple[int, bytes]]) -> bool:
        if not await self._deliver([body for _, body in events], upto=events[-1][0]):
            return False
        await self._feed.delivered(events[-1][0])
        self.in_flight = 0
        self._batches += 1
        self._parked_in_a_row = 0
        return True

    async def _hand_over_singly(self, events: Sequence[tuple[int, bytes]]) -> bool:
        """Deliver events one at a time, and park those that are rejected again."""
        for n, body in events:
            try:
                if not await self._hand_over([(n, body)]):
                    return False
            except EventRefused as refused:
                why = _reason(refused)
                _log.error('sink %s: event parked: record=%d reason="%s"', self.name, n, why)
                await self._feed.parked(n, body, why)
                self._batches += 1
                self._parked_in_a_row += 1
        return True

    async def _offer_parked(self) -> bool:
        """Redeliver the requested parked events, in order; return False if it was stopped."""
        while self._again:
            n = min(self._again)
            body = await self._feed.event(n)
            why = None if body is not None else "the journal does not keep it any more"
            if body is not None:
                try:
                    if not await self._deliver([body], again=True):
                        return False
                except EventRefused as refused:
                    why = _reason(refused)
                    _log.error(
                        'sink %s: event still parked: record=%d reason="%s"', self.name, n, why
                    )
                else:
                    self._parked_in_a_row = 0
                    await self._feed.taken(n, body)
            self._batches += 1
            self._again.pop(n).set_result(why)
        return True

    async def _resend_ranges(self) -> bool:
        """Offer the requested ranges again; return False if it was stopped.

        Between two batches, what was committed meanwhile is delivered. What people ask for goes
        before what is offered in the background.
        """
        while self._resends:
            asked = min(self._resends, key=lambda each: each.in_background)
            if asked.in_background and self._stopping.is_set():
                return False
            asked.has_begun = True
            events = await self._feed.earlier(
                asked.table, after=asked.position, upto=asked.upto, limit=BATCH
            )
            if not events:
                self._resends.remove(asked)
                asked.done.set_result(None)
                continue
            at_once = 1 if asked.in_background else len(events)
            for begin in range(0, len(events), at_once):
                if asked.in_background and self._stopping.is_set():
                    return False
                if not (
                    await self._offer_batch(asked, events[begin : begin + at_once])
                    and await self._drain()
                ):
                    return False
        return True

    async def _offer_batch(self, asked: Resend, events: Sequence[tuple[int, bytes]]) -> bool:
        """Offer these; if the sink refuses one, each alone. Return False if it was stopped."""
        try:
            if not await self._deliver([body for _, body in events], again=True):
                return False
            asked.taken += len(events)
        except EventRefused as refused:
            if len(events) > 1:
                for event in events:
                    if not await self._offer_batch(asked, [event]):
                        return False
                return True
            asked.refused += 1
            _log.error(
                'sink %s: event refused again: record=%d reason="%s"',
                self.name, events[0][0], _reason(refused),
            )  # fmt: skip
        asked.position = events[-1][0]
        self._batches += 1
        return True

    async def _deliver(
        self, bodies: Sequence[bytes], *, upto: int = 0, again: bool = False
    ) -> bool:
        deliver = self._sink.deliver
        if again and isinstance(self._sink, AppendingSink):
            deliver = self._sink.deliver_again
        retry_s, warned = FIRST_RETRY_S, False
        while True:
            self.in_flight = upto
            try:
                await deliver(bodies)
            except SinkEnded:
                raise
            except Exception as error:
                self.in_flight = 0
                if isinstance(error, EventRefused) and self._parked_in_a_row < MOST_PARKED:
                    self.trouble = None
                    raise
                why = _reason(error)
                self.trouble = SinkTrouble(
                    self._now_us() if self.trouble is None else self.trouble.since_us, why
                )
                if self._stopping.is_set():
                    _log.warning('sink %s: stopped during a failure: reason="%s"', self.name, why)
                    return False
                reported = warned or isinstance(error, SinkAway)
                level = logging.DEBUG if reported else logging.WARNING
                warned |= level == logging.WARNING
                back = error.back if isinstance(error, SinkAway) else None
                _log.log(level, 'sink %s: delivery failed: reason="%s". Retrying.', self.name, why)
            else:
                self.trouble = None
                if warned:
                    _log.info("sink %s: delivery resumed", self.name)
                return True
            if back is None:
                await self._pause(retry_s)
            else:
                await self._wait_for(back, retry_s)
            retry_s = min(2 * retry_s, LONGEST_RETRY_S)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _wait_for(self, back: asyncio.Event, seconds: float) -> None:
        """Wait until the sink is back or ``stop`` is called, at most for these seconds."""
        waits = [asyncio.create_task(event.wait()) for event in (back, self._stopping)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _reason(error: Exception) -> str:
    """Return an error in one line, with its type's name unless its text is made for people."""
    text, known = str(error), isinstance(error, EventRefused | SinkAway | SinkEnded | OSError)
    said = text if known and text else f"{type(error).__name__}: {text}" if text else ""
    return textwrap.shorten(said or type(error).__name__, LONGEST_WHY, placeholder=" ...")
