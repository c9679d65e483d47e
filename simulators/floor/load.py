"""Deal at all tables of a floor for some time.

Open the ports, wait for the daemon, deal, measure, wait for the last acknowledgements.

In: what to deal. Out: the tables with the times measured at each; the progress.
Must not know: the command line, words for people.
"""

from __future__ import annotations

import contextlib
import gc
import random
import resource
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter, process_time

from simulators.errors import PortFault
from simulators.floor.paced_table import NEVER, PacedTable
from simulators.floor.poll import Poll

LAST_WAIT_S = 10.0
"""The last cards may take so long to be acknowledged."""

_PROGRESS_EVERY_S = 0.5
_LOOK_EVERY_S = 0.05
_FILES_A_TABLE = 2
_FILES_BESIDE = 64
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorSettings:
    """The load: tables, cards, pace, and for how long.

    ``port`` is that of the first table, the next ones follow; 0 takes free ports. ``for_s`` is how
    long to measure, None until it is stopped. ``wait_s`` is how long to wait at most, from the
    first connection, until every shoe is armed.
    """

    tables: int
    host: str
    port: int
    deck: str
    decks: int
    seed: int
    pace_s: float
    warm_up_s: float
    for_s: float | None
    wait_s: float


class Stopped(Exception):
    """A signal ended the run: SIGINT, or SIGTERM before or after measuring."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(number)
        self.number = number


@dataclass(slots=True)
class Measured:
    """The time measured, the cards dealt in it, and this process's processor time."""

    seconds: float = 0.0
    cards: int = 0
    processor_s: float = 0.0


class Load:
    """The tables, in one loop. ``progress`` is called about twice a second."""

    def __init__(self, settings: FloorSettings, *, progress: Callable[[], None]) -> None:
        self.settings = settings
        self.run = f"{random.SystemRandom().getrandbits(24):06x}"
        """Part of each shoe's id, so that a daemon does not know the shoes from another run."""

        self.measured = Measured()
        self.seconds_left: float | None = None
        self.stage = "waiting"
        self._progress = progress
        self._progress_due = 0.0
        self._poll = Poll()
        self._stopped: signal.Signals | None = None
        digits = len(str(settings.tables))
        self.tables = [
            PacedTable(
                self._poll,
                name=f"t{number:0{digits}}",
                device_id=f"F{self.run}-{number}",
                deck=settings.deck,
                decks=settings.decks,
                seed=settings.seed + number - 1,
                seed_step=settings.tables,
                pace_s=settings.pace_s,
            )
            for number in range(1, settings.tables + 1)
        ]

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Open all ports; on leaving they are closed.

        Raises:
            simulators.errors.PortFault: a port cannot be opened, or too few files may be open.
        """
        _allow_files(self.settings.tables * _FILES_A_TABLE + _FILES_BESIDE)
        previous = {number: signal.getsignal(number) for number in _SIGNALS}
        try:
            for number in _SIGNALS:
                signal.signal(number, self._stop)
            for at, table in enumerate(self.tables):
                port = self.settings.port + at if self.settings.port else 0
                table.listen(self.settings.host, port, perf_counter())
            gc.freeze()  # collecting garbage among a thousand shoes would stop the loop for long
            yield
        finally:
            for table in self.tables:
                table.close()
            self._poll.close()
            gc.unfreeze()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def wait_for_host(self) -> None:
        """Wait until every shoe is armed, at most ``wait_s`` from the first connection.

        Raises:
            Stopped: a signal came.
        """
        until = NEVER
        while not all(table.armed for table in self.tables) and perf_counter() < until:
            self._serve(_LOOK_EVERY_S)
            if until == NEVER and any(table.connections for table in self.tables):
                until = perf_counter() + self.settings.wait_s

    def deal(self) -> None:
        """Begin to deal at each table, one after the other, and warm up.

        Raises:
            Stopped: a signal came.
        """
        self.stage = "warming up"
        now = perf_counter()
        for number, table in enumerate(self.tables):
            table.draw_from(now + number / len(self.tables) * self.settings.pace_s)
        self._serve(self.settings.warm_up_s)
        for table in self.tables:
            table.clear_times()

    def measure(self) -> None:
        """Deal and measure for ``for_s``; SIGTERM ends it early.

        Raises:
            Stopped: SIGINT came.
        """
        self.stage = "dealing"
        before, spent, began = self.drawn, process_time(), perf_counter()
        try:
            self._serve(NEVER if self.settings.for_s is None else self.settings.for_s)
        except Stopped as stopped:
            if stopped.number is not signal.SIGTERM:
                raise
            self._stopped = None
        finally:
            self.measured = Measured(
                seconds=perf_counter() - began,
                cards=self.drawn - before,
                processor_s=process_time() - spent,
            )
            for table in self.tables:
                table.stop_drawing(perf_counter())

    def wait_for_last(self) -> None:
        """Wait until each card is acknowledged, at most ``LAST_WAIT_S``.

        Raises:
            Stopped: a signal came.
        """
        self.stage = "waiting for the last cards"
        until = perf_counter() + LAST_WAIT_S
        while any(table.waits for table in self.tables) and perf_counter() < until:
            self._serve(_LOOK_EVERY_S)

    @property
    def failed(self) -> bool:
        """True if no card was measured, a card is not acknowledged, or a table did not play."""
        return not self.measured.cards or any(
            table.waits or table.was_never_armed or not table.connections for table in self.tables
        )

    @property
    def drawn(self) -> int:
        """The number of cards drawn so far, at all tables."""
        return sum(table.drawn for table in self.tables)

    def _serve(self, seconds: float) -> None:
        """Serve all tables for this time.

        Raises:
            Stopped: a signal came.
        """
        until = perf_counter() + seconds
        while self._stopped is None and (now := perf_counter()) < until:
            if now >= self._progress_due:
                self.seconds_left = None if until == NEVER else until - now
                self._progress()
                self._progress_due = perf_counter() + _PROGRESS_EVERY_S
            self._poll.run(min(until, self._progress_due), lambda: self._stopped is not None)
        if self._stopped is not None:
            raise Stopped(self._stopped)

    def _stop(self, number: int, _: object) -> None:
        self._stopped = signal.Signals(number)


def _allow_files(needed: int) -> None:
    """Let this process open as many files as needed.

    Raises:
        PortFault: the system does not let it.
    """
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY not in (soft, most) and most < needed:
        raise PortFault(
            f"so many tables need {needed:,} open files, and this system allows {most:,}: "
            "give fewer --tables, or raise the limit (ulimit -Hn)"
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))
