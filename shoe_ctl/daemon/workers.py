"""Workers: processes that each serve some of the tables, started and watched by the front process.

In: a configuration with several workers. Out: one daemon, for the service manager, for signals and
at the socket. If one worker ends by itself, all are stopped.
Must not know: tables, the journal, what a request means.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any, NoReturn

from shoe_ctl.api.requests import Caller
from shoe_ctl.api.unix_socket import serving
from shoe_ctl.api.worker_link import FrontEnd, WorkerEnd, make_pair
from shoe_ctl.config.schema import Config
from shoe_ctl.daemon.callers import gid_of, senders_of, users_of
from shoe_ctl.daemon.environment import ServiceManager
from shoe_ctl.daemon.front import FrontHandler
from shoe_ctl.errors import (
    ConfigError,
    EnvironmentFault,
    InputRefused,
    ShoeCtlError,
)

FAILED = 70
"""The exit code of a worker after an unexpected error."""

_AS_TOLD = (0, -signal.SIGTERM)
"""How a worker ends after SIGTERM: with 0, or by the signal itself if it did not serve yet."""

_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that are blocked while workers are started."""

ERROR = "ERROR="
"""The beginning of a worker's last report, before its error in one line."""

log = logging.getLogger(__name__)


def other_senders(config: Config, own: Config) -> tuple[Caller, ...]:
    """Return the senders that only sinks of other workers know: they may consent here, too."""
    users = {} if config.socket is None else users_of(config.socket)
    known = {user.user for user in users.values()}
    known |= {name for each in senders_of(own, users.values()).values() for name in each}
    found = {
        name: caller
        for each in senders_of(config, users.values()).values()
        for name, caller in each.items()
        if name not in known
    }
    return tuple(found.values())


# A worker.


class WorkerReports(ServiceManager):
    """Sends the front process what a daemon reports to its service manager."""

    def __init__(self, end: WorkerEnd, watchdog_s: float | None) -> None:
        super().__init__(None, watchdog_s)
        self._end = end

    def _send(self, said: str) -> None:
        self._end.report(said)


Work = Callable[[int, WorkerEnd], Coroutine[Any, Any, bool]]
"""Serves a worker's tables until the worker is told to stop; takes its number and its link."""


class Worker:
    """A worker, as the front sees it. ``code`` is its exit code, ``error`` its error."""

    def __init__(self, number: int, pid: int, link: socket.socket) -> None:
        self.number = number
        self.pid = pid
        self.link = link
        self.end = FrontEnd(link, number)
        self.status = "serving"
        self.is_ready = False
        self.is_alive = False
        self.error: str | None = None
        self.code: int | None = None

    def send(self, sent: signal.Signals) -> None:
        """Send a signal, if it has not ended."""
        if self.code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sent)

    def read(self, text: str) -> None:
        """Note what it reported."""
        if text.startswith(ERROR):
            self.error = text.removeprefix(ERROR)
            return
        said = dict(line.partition("=")[::2] for line in text.splitlines())
        self.status = said.get("STATUS", self.status)
        self.is_ready = self.is_ready or "READY" in said
        self.is_alive = self.is_alive or "WATCHDOG" in said

    def failure(self) -> ShoeCtlError:
        """Return why it ended by itself."""
        assert self.code is not None
        line = self.error
        if line is None:
            names = {-each: each.name for each in signal.Signals}
            how = (
                f"was killed by {names.get(self.code, f'signal {-self.code}')}"
                if self.code < 0
                else f"ended with code {self.code}"
            )
            line = f"worker {self.number} {how}: all workers stop; start the daemon again"
        kinds: Mapping[int, type[ShoeCtlError]] = {1: InputRefused, 2: ConfigError}
        return kinds.get(self.code, EnvironmentFault)(line)


def start_workers(numbers: list[int], work: Work) -> list[Worker]:
    """Start a process for each number. Call it before there is a loop or a thread.

    Signals that end this process are blocked until the front runs, which can stop the workers.

    Raises:
        EnvironmentFault: the system allows no further process; those started have ended.
    """
    started: list[Worker] = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    for number in numbers:
        front, theirs = make_pair()
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            pid = os.fork()
        except OSError as error:
            front.close()
            theirs.close()
            for other in started:
                other.send(signal.SIGTERM)
                os.waitpid(other.pid, 0)
                other.link.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            raise EnvironmentFault(f"worker {number} cannot be started: {error.strerror}") from None
        if pid == 0:
            front.close()
            for other in started:  # open here, the links would not end with the front
                other.link.close()
            _work(number, theirs, work, before)
        theirs.close()
        started.append(Worker(number, pid, front))
    return started


def _work(number: int, link: socket.socket, work: Work, unblocked: set[int]) -> NoReturn:
    code = FAILED
    try:
        # Signals of the terminal are for the front, which passes on what concerns a worker.
        os.setpgid(0, 0)
        for ignored in (signal.SIGHUP, signal.SIGINT):
            signal.signal(ignored, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        for handler in logging.getLogger().handlers:
            handler.setFormatter(
                logging.Formatter(f"%(asctime)s %(levelname)s worker {number}: %(message)s")
            )
        end = WorkerEnd(link, gone=lambda: signal.raise_signal(signal.SIGTERM))
        try:
            asyncio.run(_linked(end, work(number, end)))
            code = 0
        except ShoeCtlError as error:
            end.report(f"{ERROR}{error}")
            code = error.exit_code
    except BaseException:  # noqa: BLE001 - there is no caller that could report it
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


async def _linked(end: WorkerEnd, work: Coroutine[Any, Any, bool]) -> None:
    with end.listening():
        await work


# The front.


class Front:
    """The front process while the workers serve."""

    def __init__(self, config: Config, workers: list[Worker], manager: ServiceManager) -> None:
        self._config = config
        self._workers = workers
        self._manager = manager
        self._said_ready = False
        self._told = False
        self._one_ended: asyncio.Future[Worker]
        self._one_ended = asyncio.get_running_loop().create_future()
        self._all_ended = asyncio.Event()

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until cancelled; call ``ready`` once all workers are ready.

        Raises:
            ShoeCtlError: a worker ended by itself; the others were stopped.
        """
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)
        async with self._watching(ready), self._accepting():
            try:
                worker = await asyncio.shield(self._one_ended)
            finally:
                # At once: leaving waits for requests, and one to a worker that hangs does not end.
                self._tell()
            raise worker.failure()

    def check_end(self) -> None:
        """Check how the workers ended that were told to stop.

        Raises:
            ShoeCtlError: one of them reported an error, or had to be killed.
        """
        for worker in sorted(self._workers, key=lambda worker: worker.error is None):
            if worker.error is not None or worker.code not in _AS_TOLD:
                raise worker.failure()

    def reopen_sinks(self) -> None:
        """Let each worker reopen its sinks' files."""
        for worker in self._workers:
            worker.send(signal.SIGHUP)

    @asynccontextmanager
    async def _accepting(self) -> AsyncIterator[None]:
        socket_config, path = self._config.socket, self._config.socket_path
        if socket_config is None or path is None:
            yield
            return
        handler = FrontHandler(self._config, {each.number: each.end for each in self._workers})
        users = users_of(socket_config)
        async with serving(
            path, users, handler.answer, events=handler.events, gid=gid_of(socket_config)
        ):
            yield

    @asynccontextmanager
    async def _watching(self, ready: Callable[[], None]) -> AsyncIterator[None]:
        """Watch the workers; on leaving, stop them and wait for them."""
        loop = asyncio.get_running_loop()
        with ExitStack() as stack:
            for worker in self._workers:
                stack.callback(worker.link.close)
                watched = os.pidfd_open(worker.pid)
                stack.callback(os.close, watched)
                loop.add_reader(watched, self._ended, worker, watched)
                stack.callback(loop.remove_reader, watched)

                def reported(text: str, worker: Worker = worker) -> None:
                    worker.read(text)
                    self._report(ready)

                stack.enter_context(worker.end.listening(reported))
            try:
                yield
            finally:
                await self._stop()

    def _tell(self) -> None:
        """Tell the workers to stop, once: told twice, they no longer wait for sinks."""
        if not self._told:
            self._told = True
            for worker in self._workers:
                worker.send(signal.SIGTERM)

    async def _stop(self) -> None:
        """Stop the workers and wait. A cancellation tells them again, a second one kills them."""
        self._tell()
        again = [signal.SIGKILL, signal.SIGTERM]
        cancelled = False
        while any(worker.code is None for worker in self._workers):
            try:
                await self._all_ended.wait()
            except asyncio.CancelledError:
                cancelled = True
                for worker in self._workers:
                    worker.send(again[-1])
                del again[1:]
        if cancelled:
            raise asyncio.CancelledError

    def _ended(self, worker: Worker, watched: int) -> None:
        asyncio.get_running_loop().remove_reader(watched)
        for text in worker.end.reports():  # its last ones
            worker.read(text)
        worker.code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        log.log(
            logging.INFO if worker.code == 0 else logging.ERROR,
            "worker %d ended: pid=%d code=%d", worker.number, worker.pid, worker.code,
        )  # fmt: skip
        if not self._one_ended.done():
            self._one_ended.set_result(worker)
        if all(each.code is not None for each in self._workers):
            self._all_ended.set()

    def _report(self, ready: Callable[[], None]) -> None:
        """Report to the service manager as one daemon, which is alive while all workers are."""
        others = [w for w in self._workers if w.status != "serving"]
        status = "; ".join(f"worker {w.number}: {w.status}" for w in others) or "serving"
        if status != self._manager.said_last:
            self._manager.status(status)
        if not self._said_ready and all(worker.is_ready for worker in self._workers):
            self._said_ready = True
            ready()
        if all(worker.is_alive for worker in self._workers):
            self._manager.alive()
            for worker in self._workers:
                worker.is_alive = False
