"""An event loop for many tables: it waits for their descriptors and their times.

asyncio's makes an object for each wait. This one costs less, and leaves the processor to the daemon
that is measured.
"""

from __future__ import annotations

import heapq
import select
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

LONGEST_S = 0.25
"""One wait takes so long at most: it does not end at a signal, which is looked for after it."""


class Turning(Protocol):
    """Something that the poll gives turns to."""

    wakes_at: float
    """When its next turn is due; inf for none. Only the poll changes it."""

    def turn(self, now: float) -> None:
        """Do what is due at ``now``."""


class Poll:
    """Calls readers, writers and turns in one thread, when they are due."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._readers: dict[int, Callable[[], None]] = {}
        self._writers: dict[int, Callable[[], None]] = {}
        self._times: list[tuple[float, int, Turning]] = []
        self._count = 0

    def close(self) -> None:
        """Close the poll; the descriptors stay open."""
        self._poll.close()

    def add(self, fd: int, reader: Callable[[], None]) -> None:
        """Call ``reader`` whenever there is something to read."""
        self._readers[fd] = reader
        self._poll.register(fd, select.EPOLLIN)

    def add_writer(self, fd: int, writer: Callable[[], None] | None) -> None:
        """Call ``writer`` whenever there is room to write; None ends that."""
        if writer is None:
            self._writers.pop(fd, None)
        else:
            self._writers[fd] = writer
        self._poll.modify(fd, select.EPOLLIN | (select.EPOLLOUT if writer else 0))

    def remove(self, fd: int) -> None:
        """Stop watching this descriptor."""
        del self._readers[fd]
        self._writers.pop(fd, None)
        self._poll.unregister(fd)

    def wake(self, one: Turning, when: float) -> None:
        """Give it a turn at this time. A turn that is due earlier stays instead."""
        if when < one.wakes_at:
            one.wakes_at = when
            self._count += 1
            heapq.heappush(self._times, (when, self._count, one))

    def run(self, until: float, stopped: Callable[[], bool]) -> None:
        """Serve all until this time, or until ``stopped`` returns True."""
        times, readers = self._times, self._readers
        while (now := perf_counter()) < until and not stopped():
            while times and times[0][0] <= now:
                when, _, one = heapq.heappop(times)
                if one.wakes_at == when:
                    one.wakes_at = float("inf")
                    one.turn(now)
            wait = min(until, times[0][0] if times else until) - perf_counter()
            for fd, events in self._poll.poll(min(max(wait, 0.0), LONGEST_S)):
                if events & select.EPOLLOUT and (writer := self._writers.get(fd)):
                    writer()
                if events & ~select.EPOLLOUT and (reader := readers.get(fd)):
                    reader()
