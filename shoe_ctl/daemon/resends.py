"""Resends: events that one user asked for again, and how many of these each user may have.

In: ranges of records, where their events go over a broker. Out: the events, in the journal's order,
no more than the user's budget at a time. What is asked for twice before it was sent is sent once.
Must not know: brokers, the journal, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Reply
from shoe_ctl.texts.message import message

AT_ONCE = 10_000
"""Events that a user gets without a pause: those of several shoes."""

A_SECOND = 500
"""Events that a user gets in each second after that, on all its connections together."""

BATCH = 64
"""Events that are read and sent together: fresh ones wait no longer for them."""

MOST_REPLIES = 16
"""Places that events are sent to for one user at the same time, as connections at the socket."""

Range = tuple[int, int]
"""The records behind the first number, up to the second."""

Read = Callable[[Range, int], Awaitable[list[tuple[int, bytes]]]]
"""Returns the first events of a range, each with its record."""

log = logging.getLogger(__name__)


class _Key(NamedTuple):
    """Whoever asked, and for what: what is missing of the same is sent once."""

    user: str
    address: str
    sink: str
    table: str


class Budget:
    """The events that a user may get again now, on every way in together."""

    def __init__(self) -> None:
        self._left = float(AT_ONCE)
        self._since = asyncio.get_running_loop().time()

    def spend(self, events: int) -> None:
        """Take so many; more than there are is taken from what comes later."""
        now = asyncio.get_running_loop().time()
        self._left = min(AT_ONCE, self._left + (now - self._since) * A_SECOND) - events
        self._since = now

    @property
    def wait_s(self) -> float:
        """The seconds until what was taken is there again; 0 where it is."""
        passed_s = asyncio.get_running_loop().time() - self._since
        return max(0.0, -self._left / A_SECOND - passed_s)

    async def take(self, events: int) -> None:
        """Take so many, and wait as long as that is more than there is."""
        self.spend(events)
        if wait_s := self.wait_s:
            await asyncio.sleep(wait_s)

    def give_back(self, events: int) -> None:
        """These were not needed."""
        self._left += events


class Budgets:
    """The budget of each user."""

    def __init__(self) -> None:
        self._of: defaultdict[str, Budget] = defaultdict(Budget)

    def of(self, user: str) -> Budget:
        """Return the budget of this user."""
        return self._of[user]


class Resends:
    """All that is being sent again over brokers. ``close`` it in the end."""

    def __init__(self, budgets: Budgets) -> None:
        self._missing: dict[_Key, list[Range]] = {}
        self._replies: dict[_Key, Reply] = {}
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        self._budgets = budgets
        self._closed = False

    def add(
        self, user: str, reply: Reply, *, source: tuple[str, str], records: Range, read: Read
    ) -> None:
        """Send the events of these records, too. ``source`` is the sink and the table.

        Nothing is sent once this is closed: sinks close later, and may still hand on a request.

        Raises:
            RequestRefused: too much is being sent to this user.
        """
        if self._closed:
            return
        key = _Key(user, reply.address, *source)
        if key not in self._tasks:
            if sum(each.user == user for each in self._tasks) >= MOST_REPLIES:
                raise RequestRefused(message("sink_resends_too_many", user=user, most=MOST_REPLIES))
            task = asyncio.create_task(self._send(key, read), name=f"resend {user}")
            self._tasks[key] = task
        self._replies[key] = reply  # of the latest connection
        self._missing[key] = union([*self._missing.get(key, []), records])

    async def close(self) -> None:
        """Send nothing more."""
        self._closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _send(self, key: _Key, read: Read) -> None:
        budget = self._budgets.of(key.user)
        try:
            while missing := self._missing[key]:
                await budget.take(BATCH)
                (after, upto), *rest = missing
                events = await read((after, upto), BATCH)
                budget.give_back(BATCH - len(events))
                # What is asked for while it is on its way is sent again: it may get lost there.
                left = [(events[-1][0], upto)] if events else []
                self._missing[key] = union([*left, *rest])
                if events:
                    await self._send_batch(key, [body for _, body in events])
        except (OSError, RequestRefused) as error:
            log.warning('resend ended: user=%s reason="%s"', key.user, error)
        finally:
            del self._tasks[key], self._missing[key], self._replies[key]

    async def _send_batch(self, key: _Key, events: list[bytes]) -> None:
        reply = self._replies[key]
        try:
            await reply.send(events)
        except OSError:
            if self._replies[key] is reply:
                raise  # else it was asked again over a new connection


def union(ranges: list[Range]) -> list[Range]:
    """Return the same records, each once, in order."""
    found: list[Range] = []
    for after, upto in sorted(ranges):
        if upto <= after:
            continue
        if found and after <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], upto))
        else:
            found.append((after, upto))
    return found
