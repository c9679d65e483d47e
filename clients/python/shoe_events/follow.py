"""Read a transport for good: apply what is due, ask for what is missing, connect again.

In: a way to connect, a consumer, a function that applies an event in a transaction. Out: nothing;
it ends when it is cancelled or when that function raises.
Must not know: which transport it is, what an event means.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import NamedTuple, Protocol

from shoe_events.consumer import Consumer, Due, Resend
from shoe_events.event import InvalidEvent, number_of, read_event
from shoe_events.reports import Asker, Reports

FIRST_RETRY_S = 0.5
LONGEST_RETRY_S = 3.0
"""An outage of the broker costs so much at most once it is back. A hall has few readers."""

REFUSED_RETRY_S = 30.0
"""A right that is missing is given by a person, not by a restart."""

ASK_AGAIN_S = 5.0

COMES_WITHIN_S = 0.1
"""Where events come unasked, the first of them show within about this time what is missing."""

CANCELLED_AGAIN_S = 3.0
"""After so long a task that goes on is cancelled once more: longer than any cleaning up takes."""

Apply = Callable[[Due], Awaitable[None] | None]
"""Applies an event and stores its position, in one transaction."""

log = logging.getLogger(__name__)


class ConnectionLost(Exception):
    """The transport is away. Its text says why; it is tried again."""


class NotAllowed(ConnectionLost):
    """The transport refuses this user. Its text says what is not allowed."""


class NotFound(Exception):
    """There is no event behind which to send again; ``last`` is the last number, if known."""

    def __init__(self, text: str, last: int | None = None) -> None:
        super().__init__(text)
        self.last = last


class NotKept(Exception):
    """What was asked for is not kept any more. Its text says what is."""


class NotAnswered(Exception):
    """Nobody answered. It is asked again."""


class Received(NamedTuple):
    """What came: an envelope as JSON. ``seamless`` as for ``Consumer.offer``."""

    body: bytes | str
    seamless: bool = False


class Shown(NamedTuple):
    """What a table shows: there is an event with this id. As for ``Consumer.expect``."""

    event_id: str


class Connection(Protocol):
    """A transport that is connected.

    One whose events come before they are asked for has a true ``comes_unasked``.
    """

    def events(self) -> AsyncIterator[Received | Shown]:
        """Return what comes, also what is sent again.

        Raises:
            ConnectionLost: nothing more comes.
        """

    async def resend(self, asked: Resend) -> None:
        """Ask for events; they come as others do.

        Raises:
            ConnectionLost: the transport is away.
            NotAllowed: this user may not ask.
            NotFound: there is no event ``asked.after``.
            NotKept: what follows it is not kept any more.
            NotAnswered: nobody answered in time.
        """


Connect = Callable[[], AbstractAsyncContextManager[Connection]]


def never_give_up(asked: Resend) -> bool:
    """Wait until a person has seen to it: what is missing is applied, or given up by hand."""
    log.error("events behind %s are not kept any more: the table waits for them", asked.after)
    return False


async def follow(  # noqa: PLR0913 - how patient it is, each by name
    connect: Connect,
    consumer: Consumer,
    apply: Apply,
    *,
    may_give_up: Callable[[Resend], bool] = never_give_up,
    reports: Reports | None = None,
    ask_again_s: float = ASK_AGAIN_S,
    first_retry_s: float = FIRST_RETRY_S,
) -> None:
    """Apply all that comes, without end.

    ``may_give_up`` is called for what is not kept any more; True goes on without it. ``reports``
    tells the daemon what was applied, over a connection that takes requests.
    """
    retry_s = first_retry_s
    while True:
        reading = _Reading(consumer, apply, may_give_up, ask_again_s, reports)
        # In a task of its own: clients lose cancellations while they connect.
        work = asyncio.create_task(reading.run(connect))
        try:
            await asyncio.wait({work})
        finally:
            failures = await _end({work})
        if reading.failure is not None:  # even if closing the connection failed as well
            raise reading.failure
        if reading.has_applied:
            retry_s = first_retry_s
        pause_s = retry_s
        for failure in failures:
            if not isinstance(failure, ConnectionLost):
                raise failure
            log.warning("connection lost: %s", failure)
            if isinstance(failure, NotAllowed):
                pause_s = REFUSED_RETRY_S
        # So that the readers of a hall do not all come back in the same moment.
        await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
        retry_s = min(2 * retry_s, LONGEST_RETRY_S)


class _Reading:
    """One connection, from its beginning to its end."""

    _connection: Connection

    def __init__(
        self,
        consumer: Consumer,
        apply: Apply,
        may_give_up: Callable[[Resend], bool],
        ask_again_s: float,
        reports: Reports | None,
    ) -> None:
        self._reports = reports
        self._consumer = consumer
        self._apply = apply
        self._may_give_up = may_give_up
        self._ask_again_s = ask_again_s
        self.failure: Exception | None = None
        """What applying an event failed with."""
        self.has_applied = False
        """An event came, and was applied: the transport works."""
        self._waits = asyncio.Event()
        self._applying = asyncio.Lock()
        self._asked: dict[tuple[str, str], tuple[str, float]] = {}

    async def run(self, connect: Connect) -> None:
        """Connect and read.

        Raises:
            ConnectionLost: nothing more comes. Else what reading failed with.
        """
        async with connect() as self._connection:
            tasks = {asyncio.create_task(self._receive()), asyncio.create_task(self._ask())}
            if self._reports is not None:
                tasks.add(asyncio.create_task(self._report(self._reports)))
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                failures = await _end(tasks)
            for failure in failures:
                raise failure

    async def _receive(self) -> None:
        async for received in self._connection.events():
            was_waiting = self._consumer.is_waiting
            try:
                async with self._applying:
                    self._take(received)
                    await self._apply_due()
            except InvalidEvent as error:
                log.error("not an event: %s: %.200r", error, received)  # noqa: TRY400
            if self._consumer.is_waiting and not was_waiting:
                self._waits.set()
        raise ConnectionLost("the other end closed it")

    def _take(self, received: Received | Shown) -> None:
        if isinstance(received, Shown):
            self._consumer.expect(received.event_id)
        else:
            self._consumer.offer(read_event(received.body), seamless=received.seamless)

    async def _apply_due(self) -> None:
        while (due := self._consumer.due()) is not None:
            try:
                if (pending := self._apply(due)) is not None and inspect.isawaitable(pending):
                    await pending
            except Exception as error:
                self.failure = error
                raise
            self._consumer.applied(due)
            self.has_applied = True
            if self._reports is not None:
                self._reports.applied(due)

    async def _ask(self) -> None:
        """Ask for what is missing, at once and every few seconds while nothing of it comes."""
        try:
            await self._ask_on()
        except NotAllowed as error:
            log.error("missing events cannot be asked for: %s", error)  # noqa: TRY400 - in one line
            await asyncio.get_running_loop().create_future()  # reading goes on

    async def _report(self, reports: Reports) -> None:
        """Tell the daemon what was applied; where it does not answer, again after a while."""
        while True:
            try:
                if not isinstance(self._connection, Asker):
                    raise NotAllowed("this transport takes no requests")
                await reports.send(self._connection, self._ask_again_s)
            except NotAnswered:
                await asyncio.sleep(self._ask_again_s)
            except NotAllowed as error:
                log.error("what was applied cannot be reported: %s", error)  # noqa: TRY400
                await asyncio.get_running_loop().create_future()  # reading goes on

    async def _ask_on(self) -> None:
        if getattr(self._connection, "comes_unasked", False):
            await asyncio.sleep(COMES_WITHIN_S)
        unanswered = {_table(asked) for asked in self._consumer.resume()}
        while True:
            resumed: dict[tuple[str, str], int] = {}
            for asked in self._consumer.resume():  # from where it is now
                if _table(asked) in unanswered and await self._resend(asked):
                    unanswered.discard(_table(asked))
                    resumed[_table(asked)] = number_of(asked.after)
            for asked in self._due_again(self._consumer.wanted()):
                if number_of(asked.after) >= resumed.get(_table(asked), math.inf):
                    continue  # it is on its way
                log.warning(
                    "events are missing: after=%s upto=%s. Asking for them.",
                    asked.after, asked.upto,
                )  # fmt: skip
                await self._resend(asked)
            is_done = not (unanswered or self._consumer.is_waiting)
            with suppress(TimeoutError):
                async with asyncio.timeout(None if is_done else self._ask_again_s):
                    await self._waits.wait()
            self._waits.clear()

    def _due_again(self, wanted: Sequence[Resend]) -> list[Resend]:
        """Return what was not asked for yet, and that of which nothing came for so long."""
        now = asyncio.get_running_loop().time()
        before, self._asked, due = self._asked, {}, []
        for each in wanted:
            asked = before.get(_key(each), (each.after, -math.inf))
            is_due = asked[0] == each.after and now >= asked[1] + self._ask_again_s
            due += [each] * is_due
            self._asked[_key(each)] = (
                (each.after, now) if is_due or asked[0] != each.after else asked
            )
        return due

    async def _resend(self, asked: Resend) -> bool:
        """Ask for events; where there are none, go back as far as there are.

        Return False if nobody answered.
        """
        wanted: Resend | None = asked
        while wanted is not None:
            try:
                await self._connection.resend(wanted)
            except NotAnswered:
                return False
            except NotFound as error:
                wanted = self._consumer.step_back(wanted, error.last)
            except NotKept as error:
                log.warning("not sent again: %s", error)
                if asked.upto is not None and self._may_give_up(asked):
                    async with self._applying:
                        self._consumer.give_up(asked)
                        await self._apply_due()
                return True
            else:
                return True
        return True


async def _end(tasks: Collection[asyncio.Task[None]]) -> list[BaseException]:
    """Cancel tasks until they have ended; return what they failed with.

    What they wait for may lose a cancellation: in Python 3.11 ``asyncio.wait_for`` does, if what it
    waits for comes at the same moment.
    """
    running, is_cancelled = set(tasks), False
    while running:
        for task in running:
            task.cancel()
        try:
            _, running = await asyncio.wait(running, timeout=CANCELLED_AGAIN_S)
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError
    ended = (task.exception() for task in tasks if not task.cancelled())
    return [failure for failure in ended if failure is not None]


def _table(asked: Resend) -> tuple[str, str]:
    return asked.table, asked.audience


def _key(asked: Resend) -> tuple[str, str]:
    return asked.missing_in, asked.audience
