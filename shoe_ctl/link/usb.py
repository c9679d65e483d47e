"""USB bulk endpoints as a transport: threads wait for the device, the event loop does not.

In: a device's serial number, a pyusb backend. Out: chunks of bytes; why it was lost, or PortError.
Must not know: frames, sessions, reconnecting.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress

from shoe_ctl.errors import PortError
from shoe_ctl.link.address import UsbAddress
from shoe_ctl.link.transport import (
    WRITE_LIMIT,
    Loss,
    Opener,
    Transport,
    TransportLost,
    closed_here,
    failed,
    log_unread,
    unplugged,
    write_queue_full,
)
from shoe_ctl.link.usb_discovery import Backends, Claimed, claim_usb_device
from shoe_ctl.texts.message import message

HAND_OFF_LIMIT = 64 * 1024
"""Bytes read ahead of the event loop. Beyond it nothing is read, and the device has to wait: a
flood costs no more memory than that."""

READ_TIMEOUT_MS = 100
"""A thread notices so soon that it is to end: nothing else wakes it. A timeout is no error."""

WRITE_TIMEOUT_MS = 100
"""After this long a write is tried again; as for reads. ``WRITE_LIMIT`` bounds what waits."""

WRITE_SIZE = 4096
"""Bytes of one write: full speed carries them in 4 ms, far within ``WRITE_TIMEOUT_MS``."""

PACKETS_A_READ = 1
"""A read of several packets ends with a short one: if the last packet is full, it would end only by
its timeout. Packet by packet, full speed is still faster than a serial line."""

RELEASED_WITHIN_S = 2.0
"""The threads of a closed transport end within a tenth of a second each. A device whose driver
hangs for longer is not opened a second time."""

_UNPLUGGED = (errno.ENODEV, errno.ENXIO, errno.EIO, errno.ESHUTDOWN, errno.EPROTO)


def usb_opener(port: UsbAddress, executor: Executor, backends: Backends) -> Opener:
    """Return what claims this device, each time it is called; it blocks in ``executor`` only."""
    threads: UsbThreads | None = None

    def claim() -> Claimed:
        if threads is not None and not threads.released.wait(RELEASED_WITHIN_S):
            raise PortError(f"{port} is not released yet: its driver hangs (unplug the device)")
        return claim_usb_device(port, backends())

    async def open_port() -> Transport:
        nonlocal threads
        claiming = executor.submit(claim)
        try:
            device = await asyncio.wrap_future(claiming)
        except asyncio.CancelledError:
            # The thread cannot be stopped: what it still claims is released.
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
    """The transport over a claimed device, in the running loop (see ``Transport``)."""

    def __init__(self, device: Claimed, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._wake: Callable[[], None] | None = None
        self._lost: Loss | None = None
        self._dropped = 0
        self.threads = UsbThreads(device, name, on_news=self._wake_from_thread)
        self.threads.start()

    @property
    def lost(self) -> Loss | None:
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
        assert self._lost is not None
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
            self._lose(write_queue_full(self._name, waiting))
            self._wake_reader()

    def close(self) -> None:
        """Release the device, in the thread that reads: it may take a tenth of a second."""
        if self._lost is None:
            self._lose(closed_here(self._name))
        unread = self.threads.stop()
        if unread:
            log_unread(self._name, unread)

    def _lose(self, why: Loss) -> None:
        self._lost = why
        self._dropped += self.threads.drop()

    def _wake_from_thread(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._wake_reader)

    def _wake_reader(self) -> None:
        if self._wake is not None:
            self._wake()


class UsbThreads:
    """The reader and the writer thread of one claimed device. They start once and end once.

    ``released`` is set when the device was released. ``on_news`` is called in a thread when there
    is something to take where there was nothing.
    """

    def __init__(self, device: Claimed, name: str, *, on_news: Callable[[], None]) -> None:
        self.released = threading.Event()
        self._claimed = device
        self._name = name
        self._on_news = on_news
        self._changed = threading.Condition()
        self._read = bytearray()
        self._unsent = bytearray()
        self._failure: Loss | None = None
        self._stopping = False
        self._all_read = False
        self._reader = threading.Thread(target=self._run_reader, name=f"{name} in")
        self._writer = threading.Thread(target=self._run_writer, name=f"{name} out")

    def start(self) -> None:
        self._writer.start()
        self._reader.start()

    # Called in the event loop. The lock is never held while a thread waits for the device.

    @property
    def has_news(self) -> bool:
        """True if ``take`` would return something."""
        with self._changed:
            return bool(self._read) or self._all_read

    def take(self) -> tuple[bytes, Loss | None]:
        """Return all bytes read by now; once nothing more will come, also why."""
        with self._changed:
            data = bytes(self._read)
            self._read.clear()
            self._changed.notify_all()
            return data, self._failure if self._all_read else None

    def put(self, data: bytes) -> int:
        """Queue bytes to be sent; return how many wait."""
        with self._changed:
            self._unsent += data
            self._changed.notify_all()
            return len(self._unsent)

    def drop(self) -> int:
        """Drop what waits to be sent; return how many bytes may not have been sent."""
        with self._changed:
            waited = len(self._unsent)
            self._unsent.clear()
            return waited

    def stop(self) -> int:
        """Make the threads end soon; return how many bytes were read and not taken."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            return len(self._read)

    # Called in the threads.

    def _run_reader(self) -> None:
        try:
            self._work(self._read_some)
        finally:
            with self._changed:
                self._all_read = True
            self._on_news()
            self._writer.join()
            self._claimed.owner.release()
            self.released.set()

    def _run_writer(self) -> None:
        self._work(self._write_some)

    def _work(self, step: Callable[[], None]) -> None:
        """Repeat the step until ``stop``, or until it fails: then both threads end."""
        import usb.core  # type: ignore[import-untyped]

        try:
            while not self._stopping:
                with suppress(usb.core.USBTimeoutError):
                    step()
        except Exception as error:  # noqa: BLE001 - any error means that the device is lost
            with self._changed:
                self._failure = self._failure or self._why(error)
        finally:
            self.stop()

    def _read_some(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or len(self._read) < HAND_OFF_LIMIT)
        claimed = self._claimed
        size = PACKETS_A_READ * claimed.packet_size
        data = claimed.owner.device.read(claimed.endpoint_in, size, READ_TIMEOUT_MS)
        if data:
            with self._changed:
                first = not self._read
                self._read += data
            if first:
                self._on_news()

    def _write_some(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._unsent)
            chunk = bytes(self._unsent[:WRITE_SIZE])
        if chunk:
            claimed = self._claimed
            sent = claimed.owner.device.write(claimed.endpoint_out, chunk, WRITE_TIMEOUT_MS)
            with self._changed:
                del self._unsent[:sent]

    def _why(self, error: Exception) -> Loss:
        number = getattr(error, "errno", None)
        if number in _UNPLUGGED:
            return unplugged(self._name)
        if number == errno.EPIPE:
            return Loss("link_failed", message("link_stalled", port=self._name))
        return failed(self._name, getattr(error, "strerror", None) or repr(error))
