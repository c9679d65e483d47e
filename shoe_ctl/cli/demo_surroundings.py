"""The surroundings of a daemon in a scenario: the disk of its journal, the other end of a sink.

In: what happens there, by the scenario. Out: a file layer for the journal, a sink.
Must not know: scenarios' insides, tables.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Self

import apsw
import msgspec

from shoe_ctl.daemon.delivery import OWN_EVENTS, NamedSink
from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.records import Audience, Envelope, event_id, table_in
from shoe_ctl.sinks.pump import EventRefused, Loss, StreamSink

if TYPE_CHECKING:
    from shoe_ctl.daemon.daemon import Daemon

SINK = "hall"
"""The name of the sink whose other end a scenario can let refuse and lose events."""

FULL_IN_US = 24 * 3_600_000_000
"""A disk that is nearly full is full by then."""

FAILS_WITHIN_S = 30.0
"""A table stores something at least every few seconds: what its shoe says."""

_LOOK_EVERY_S = 0.005

_envelope = msgspec.json.Decoder(Envelope)
_serial = count(1)


class Surroundings:
    """The disk and the receiver of a daemon, over its restarts. Leaving it frees the file layer."""

    def __init__(self) -> None:
        self.disk = Disk(f"scenario-{next(_serial)}")
        self._receiver = Receiver()
        self.sink = NamedSink(SINK, Audience.PUBLIC, self._receiver)
        self.has_failed = False
        """True once the scenario let the disk fail: an outage is then no fault of this host."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disk.unregister()

    async def happen(self, daemon: Daemon, part: str, what: str) -> None:
        """Let the ``disk`` ``fail``, ``fill`` or ``clear``, or the ``sink`` ``refuse`` or ``lose``.

        Raises:
            EnvironmentFault: the disk fails, and the daemon stores nothing meanwhile.
        """
        if (part, what) == ("disk", "fail"):
            await self._fail(daemon)
        elif part == "disk":
            for runner in daemon.runners.values():
                now_us = runner.transactions.now()
                await runner.disk_checked(now_us + FULL_IN_US if what == "fill" else None)
        elif what == "refuse":
            self._receiver.refuse_next()
        else:
            self._receiver.lose_all()

    async def _fail(self, daemon: Daemon) -> None:
        """Take nothing until the daemon has noticed."""
        self.has_failed = True
        with self.disk.failing():
            try:
                async with asyncio.timeout(FAILS_WITHIN_S):
                    while daemon.outage is None:  # noqa: ASYNC110 - nothing tells of it
                        await asyncio.sleep(_LOOK_EVERY_S)
            except TimeoutError:
                raise EnvironmentFault(
                    f"the disk failed, and the daemon stored nothing in {FAILS_WITHIN_S:g} s"
                ) from None


class Disk(apsw.VFS):
    """SQLite's file layer on a disk that can be made to take nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_full = False
        super().__init__(name, "")

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Until leaving, every write fails as on a full disk."""
        self.is_full = True
        try:
            yield
        finally:
            self.is_full = False

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        """Open a file of this disk."""
        return _File(self, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if self._disk.is_full:
            raise apsw.FullError("the scenario lets the disk fail")
        super().xWrite(data, offset)


class Receiver(StreamSink):
    """The other end of a sink: it takes events, refuses one, or loses all that it has."""

    def __init__(self) -> None:
        self.losses: asyncio.Queue[Loss] = asyncio.Queue()
        self._refuses_next = False
        self._refused: str | None = None
        self._last: dict[str, Envelope] = {}

    def refuse_next(self) -> None:
        """Refuse the next event until it is redelivered; take those behind it."""
        self._refuses_next = True

    def lose_all(self) -> None:
        """Lose all events that were taken, and notice it."""
        for source, last in self._last.items():
            number = event_id(last.id).number
            self.losses.put_nowait(Loss(table_in(source), source, number, ends=None))
        self._last.clear()

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Take events, as ``Sink.deliver``."""
        for event in map(_envelope.decode, events):
            if self._refuses_next and event.type not in OWN_EVENTS:
                self._refuses_next, self._refused = False, event.id
            if event.id == self._refused:
                raise EventRefused("the scenario lets it refuse this event")
            self._keep(event)

    async def deliver_again(self, events: Sequence[bytes]) -> None:
        """Take what was refused or lost before."""
        for event in map(_envelope.decode, events):
            self._keep(event)

    def _keep(self, event: Envelope) -> None:
        last = self._last.get(event.source)
        if last is None or event_id(event.id).number > event_id(last.id).number:
            self._last[event.source] = event
