"""The machine that the daemon runs on: its process starts, is stopped, is killed, loses power.

In: how a daemon is put together, a disk. Out: one daemon after the other, each in its own Life.
Must not know: why anything is done to it, tables.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress

import apsw

from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.errors import ShoeCtlError
from shoe_testing.faulty_disk import Image, SimulatedDisk
from tests.simulation.broken import Broken

AGAIN_S = 1.0
"""A service manager starts again what ended by itself."""

BOOTS_S = 5.0

STOPS_WITHIN_S = 60.0
"""A service manager kills what takes longer."""

log = logging.getLogger(__name__)


class Life:
    """One process. What is dead reaches nobody any more, whatever its code still does."""

    def __init__(self, number: int, boot: int) -> None:
        self.number = number
        self.boot = boot
        self.alive = True
        self.ready = False
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def end(self) -> None:
        self.alive = False
        if not self.over.done():
            self.over.set_result(None)


class Host:
    """``make`` gives a daemon for a life; ``died`` is called as a process dies.

    ``crashed`` is called with what a crash leaves on the disk, before anybody starts again.
    """

    def __init__(
        self,
        disk: SimulatedDisk,
        make: Callable[[Life], Daemon],
        *,
        died: Callable[[], None],
        crashed: Callable[[Image], None],
    ) -> None:
        self.life: Life | None = None
        self.endings: list[str] = []
        self._disk = disk
        self._make = make
        self._died = died
        self._crashed = crashed
        self._lives = 0
        self._boot = 1
        self._left: tuple[Image, float] | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._steps_left: int | None = None
        self._calls_left: int | None = None
        self._next_crash: Callable[[], None] = lambda: None
        self.disk_fault: Callable[[str], None] = lambda _: None
        disk.before = self._at_disk_call
        disk.before_read = lambda: self.disk_fault("read")

    @property
    def is_up(self) -> bool:
        """Whether a process runs and has reached its shoe."""
        return self.life is not None and self.life.alive and self.life.ready

    # What happens to it.

    def kill(self) -> None:
        """As ``kill -9``."""
        if self.life is not None and self.life.alive:
            self._crash(self._disk.processes_end(), AGAIN_S)

    def lose_power(self, chance: random.Random) -> None:
        """The machine stops, and boots."""
        if self.life is not None and self.life.alive:
            self._boot += 1
            self._crash(self._disk.power_fails(chance), BOOTS_S)

    def in_steps(self, steps: int, crash: Callable[[], None]) -> None:
        """Crashes so many steps of the loop from now."""
        self._steps_left, self._next_crash = steps, crash

    def at_call(self, calls: int, crash: Callable[[], None]) -> None:
        """Crashes ahead of the disk's call that comes after so many others."""
        self._calls_left, self._next_crash = calls, crash

    def stop(self) -> None:
        """As SIGTERM: it ends in order, and is started again."""
        if self.life is not None and self._task is not None and self._left is None:
            self._task.cancel()
            self._task.get_loop().call_later(STOPS_WITHIN_S, self._must_be_over, self.life)

    def _must_be_over(self, life: Life) -> None:
        if life is self.life and not life.over.done():
            raise Broken("it stops", f"daemon {life.number} was told to stop, and goes on")

    def disk_is_well(self) -> None:
        """Whatever was wrong with the disk is over."""
        self.disk_fault = lambda _: None

    def crash_no_more(self) -> None:
        """A crash that was to come does not."""
        self._steps_left = self._calls_left = None

    def step(self) -> None:
        """One step of the loop was made."""
        if self._steps_left is not None:
            self._steps_left -= 1
            if self._steps_left < 0:
                self._steps_left = None
                self._next_crash()

    # How it runs.

    async def run(self) -> None:
        """Starts a daemon whenever there is none, until ``close``."""
        while not self._closing:
            life = self.life = Life(self._lives, self._boot)
            self._lives += 1
            ended = await self._live(life)
            life.end()
            pause_s = AGAIN_S
            if self._left is not None:
                (image, pause_s), self._left = self._left, None
                self._disk.restore(image)
                self._crashed(image)
            self.endings.append(ended)
            if not self._closing:
                await asyncio.sleep(pause_s)

    def close(self) -> None:
        """Stops it for good, in order."""
        self._closing = True
        self.stop()

    async def _live(self, life: Life) -> str:
        """One process, from its start to its end; how it ended."""
        try:
            daemon = self._make(life)
        except ShoeCtlError as error:
            return str(error)

        def ready() -> None:
            life.ready = True

        self._task = asyncio.create_task(daemon.run(ready), name=f"daemon {life.number}")
        try:
            with suppress(asyncio.CancelledError):
                await self._task
                return "returned"
        except ShoeCtlError as error:
            log.info("daemon %d ended: %s", life.number, error)
            return type(error).__name__ if life.alive else "crashed"
        except BaseException:
            if life.alive:
                raise
        finally:
            self._task = None
        return "stopped" if life.alive else "crashed"

    def _crash(self, left: Image, pause_s: float) -> None:
        assert self.life is not None
        self.life.end()
        self._left = (left, pause_s)
        self._steps_left = self._calls_left = None
        self._died()
        if self._task is not None:
            self._task.cancel()

    def _at_disk_call(self, call: str) -> None:
        if self.life is None or not self.life.alive:
            raise apsw.IOError("its process is dead")
        if self._calls_left is not None:
            self._calls_left -= 1
            if self._calls_left < 0:
                self._calls_left = None
                self._next_crash()
                raise apsw.IOError("its process is dead")
        self.disk_fault(call)
