"""A descriptor served by the loop: reads as bytes come, writes what fits, never blocks.

In: a non-blocking descriptor. Out: bytes read, the hang-up, and what was lost to a slow reader;
what ports over descriptors have in common. Must not know: what the bytes mean.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from simulators.errors import PortFault
from simulators.ports.port import Wire

if TYPE_CHECKING:
    import asyncio

LIMIT = 64 * 1024
"""Bytes kept for a host that does not read; beyond it, whole writes are lost."""

_CHUNK = 65536


def listening_socket(host: str, port: int, *, backlog: int, name: str) -> socket.socket:
    """Return a socket that listens and never blocks; ``name`` is what an error calls it.

    Raises:
        simulators.errors.PortFault: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=backlog)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise PortFault(f"cannot listen at {name}: {why}") from None
    listener.setblocking(False)
    return listener


class Stream:
    """One open descriptor, until ``stop``; the owner closes the descriptor itself."""

    def __init__(  # noqa: PLR0913 - each by name
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        *,
        received: Callable[[bytes], None],
        hung_up: Callable[[], None],
        drained: Callable[[], None],
        limit: int = LIMIT,
    ) -> None:
        self.overrun = 0
        self._limit = limit
        self._loop = loop
        self._fd = fd
        self._received = received
        self._hung_up = hung_up
        self._drained = drained
        self._waiting = bytearray()
        self._running = True
        loop.add_reader(fd, self._readable)

    @property
    def pending(self) -> int:
        """Bytes that wait for the reader."""
        return len(self._waiting)

    def write(self, data: bytes) -> None:
        """Write what fits and keep the rest; a write that would exceed the limit is lost."""
        if not self._running or not data:
            return
        if len(self._waiting) + len(data) > self._limit:
            self.overrun += len(data)
            return
        waited = bool(self._waiting)
        self._waiting += data
        if not waited and not self._flush():
            self._loop.add_writer(self._fd, self._writable)

    def stop(self) -> None:
        """Leave the descriptor alone; what still waits is lost."""
        if self._running:
            self._running = False
            self._waiting.clear()
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # EIO: no slave is open; ECONNRESET: the host is gone
            data = b""
        if data:
            self._received(data)
        else:
            self.stop()
            self._hung_up()

    def _writable(self) -> None:
        if self._flush() and self._running:
            self._loop.remove_writer(self._fd)
            self._drained()

    def _flush(self) -> bool:
        """True when nothing waits any more (also when the host is gone: the reader tells)."""
        try:
            while self._waiting:
                del self._waiting[: os.write(self._fd, self._waiting)]
        except BlockingIOError:
            return False
        except OSError:
            self._waiting.clear()
        return True


class StreamPort:
    """The part of a ``Port`` that a pty and a TCP server share: its bytes, through a Stream."""

    def __init__(self) -> None:
        self._wire: Wire | None = None
        self._stream: Stream | None = None
        self._overrun = 0

    @property
    def pending(self) -> int:
        """Bytes beyond what the kernel holds for the host."""
        return 0 if self._stream is None else self._stream.pending

    @property
    def attachment(self) -> None:
        """A host needs to attach nothing."""

    def freeze(self) -> None:
        """Answer a host no more: a line has no answers."""

    def thaw(self) -> None:
        """Answer again."""

    @property
    def overrun(self) -> int:
        """Bytes lost because a host has the port open and does not read."""
        return self._overrun + (0 if self._stream is None else self._stream.overrun)

    def write(self, data: bytes) -> None:
        """See ``Port.write``."""
        if self._stream is not None:
            self._stream.write(data)

    def _begin_stream(
        self, wire: Wire, fd: int, hung_up: Callable[[], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        """Serve a host that opened the port, and tell the wire of it."""
        self._stream = Stream(
            loop, fd, received=wire.received, hung_up=hung_up, drained=wire.drained
        )
        wire.opened()

    def _end_stream(self) -> bool:
        """Stop serving; return whether there was a host."""
        stream, self._stream = self._stream, None
        if stream is None:
            return False
        self._overrun += stream.overrun
        stream.stop()
        return True
