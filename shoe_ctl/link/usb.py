"""USB bulk endpoints as a transport: threads wait for the device, the event loop never does.

In: a device's serial number, what finds devices. Out: chunks of bytes, or why it is lost.
Must not know: frames, sessions, reconnecting.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future

from shoe_ctl.errors import PortError

from .descriptor import WRITE_LIMIT, takes_nothing
from .ports import UsbPort
from .transport import Opener, Transport, TransportLost
from .usb_devices import Backends, Claimed, claim
from .usb_threads import UsbThreads

log = logging.getLogger(__name__)

RELEASED_WITHIN_S = 2.0
"""The threads of a closed transport end within a tenth of a second each; a device whose driver
hangs for longer is not opened a second time beside them."""


def usb_opener(port: UsbPort, executor: Executor, backends: Backends) -> Opener:
    """Finds and claims this device each time it is called; what can block runs in ``executor``."""
    threads: UsbThreads | None = None

    def claimed() -> Claimed:
        if threads is not None and not threads.released.wait(RELEASED_WITHIN_S):
            raise PortError(f"{port} was not given back yet: its driver hangs (unplug it)")
        return claim(port, backends())

    async def open_port() -> Transport:
        nonlocal threads
        claiming = executor.submit(claimed)
        try:
            device = await asyncio.wrap_future(claiming)
        except asyncio.CancelledError:
            # The thread cannot be stopped: what it still claims is given back.
            claiming.add_done_callback(_release_unwanted)
            raise
        transport = UsbTransport(device, str(port))
        threads = transport.threads
        return transport

    return open_port


def _release_unwanted(claiming: Future[Claimed]) -> None:
    if not claiming.cancelled() and claiming.exception() is None:
        claiming.result().owner.release()


class UsbTransport:
    """A claimed device in the running loop (see ``Transport``)."""

    def __init__(self, device: Claimed, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._wake: Callable[[], None] | None = None
        self._lost: str | None = None
        self._dropped = 0
        self.threads = UsbThreads(device, name, news=self._news_from_thread)
        self.threads.start()

    @property
    def lost(self) -> str | None:
        return self._lost

    @property
    def dropped(self) -> int:
        return self._dropped

    def read(self) -> bytes:
        if self._lost is None:
            data, failure = self.threads.take()
            if data or failure is None:
                return data
            self._lose(failure)
        raise TransportLost(self._lost)

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        self._wake = wake
        if wake is not None and (self._lost is not None or self.threads.has_news):
            self._loop.call_soon(wake)

    def write(self, data: bytes) -> None:
        if self._lost is not None:
            self._dropped += len(data)
            return
        waiting = self.threads.put(data)
        if waiting > WRITE_LIMIT:
            self._lose(takes_nothing(self._name, waiting))
            if self._wake is not None:
                self._wake()

    def close(self) -> None:
        """Gives the device back, in the thread that reads: it may take a tenth of a second."""
        if self._lost is None:
            self._lose(f"closed: {self._name}")
        unread = self.threads.stop()
        if unread:
            log.warning("%s: %d bytes were read and not taken", self._name, unread)

    def _lose(self, why: str) -> None:
        self._lost = why
        self._dropped += self.threads.drop()

    def _news_from_thread(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._news)

    def _news(self) -> None:
        if self._wake is not None:
            self._wake()
