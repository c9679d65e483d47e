"""The interface of a byte transport, and the transport over a file descriptor.

In: an open descriptor. Out: chunks of bytes, or TransportLost.
Must not know: kinds of ports, frames, sessions.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Protocol

READ_SIZE = 4096
"""Bytes read at once: what a tty holds for its reader, so that one read empties it."""

WRITE_LIMIT = 64 * 1024
"""Bytes that may wait to be sent. A host sends some dozens of bytes a draw: so much waits only if
the shoe has read nothing for a long time, and then a new connection helps more."""


class TransportLost(Exception):
    """The other end is gone; ``str()`` is the reason, one line for people."""


class Transport(Protocol):
    """An open connection to one shoe, used once. No method blocks.

    All are called in the event loop. Bytes wait in a bounded buffer for ``read``: while nobody
    reads, the sender is held back.
    """

    @property
    def lost(self) -> str | None:
        """Why it was lost, one line for people; None while it is open."""

    @property
    def dropped(self) -> int:
        """How many bytes ``write`` took and did not send. Final once it is lost."""

    def read(self) -> bytes:
        """Return a bounded chunk of the bytes received by now; empty if there are none.

        Raises:
            TransportLost: the other end is gone.
        """

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        """Call ``wake`` once there is something to read, or a loss to report; None: never.

        It may be called more than once until it is replaced by None.
        """

    def write(self, data: bytes) -> None:
        """Queue bytes to be sent, in order.

        The queue is bounded: when it overflows, or the other end is gone, the transport is
        ``lost``, and ``read`` raises.
        """

    def close(self) -> None:
        """Close the port; what is still queued is dropped. May be called again."""


Opener = Callable[[], Awaitable[Transport]]
"""Opens the port. Raises PortError with one clear line; if cancelled, it leaves nothing open."""


class DescriptorTransport:
    """The transport over an open file descriptor, in the running loop (see ``Transport``).

    ``why_lost`` words an error of the system, or the end of the stream (None). ``give_back``
    closes what the descriptor belongs to, and is called once.
    """

    def __init__(
        self,
        fd: int,
        name: str,
        *,
        why_lost: Callable[[OSError | None], str],
        give_back: Callable[[], None],
    ) -> None:
        self._fd = fd
        self._name = name
        self._why_lost = why_lost
        self._give_back = give_back
        self._loop = asyncio.get_running_loop()
        self._wake: Callable[[], None] | None = None
        self._unsent = bytearray()
        self._dropped = 0
        self._lost: str | None = None
        self._closed = False

    @property
    def lost(self) -> str | None:
        return self._lost

    @property
    def dropped(self) -> int:
        return self._dropped

    def read(self) -> bytes:
        if self._lost is None:
            try:
                data = os.read(self._fd, READ_SIZE)
            except BlockingIOError:
                return b""
            except OSError as error:
                self._lose(self._why_lost(error))
            else:
                if data:
                    return data
                self._lose(self._why_lost(None))
        raise TransportLost(self._lost)

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        self._wake = wake
        if wake is None:
            if not self._closed:
                self._loop.remove_reader(self._fd)
        elif self._lost is not None:
            self._loop.call_soon(wake)
        else:
            self._loop.add_reader(self._fd, wake)

    def write(self, data: bytes) -> None:
        if self._lost is not None:
            self._dropped += len(data)
            return
        self._unsent += data
        if len(self._unsent) == len(data):
            self._send()
        if len(self._unsent) > WRITE_LIMIT:
            self._lose(write_queue_full(self._name, len(self._unsent)))

    def close(self) -> None:
        if not self._closed:
            self._lose(f"closed: {self._name}")
            self._closed = True
            self._give_back()

    def _send(self) -> None:
        """Send what the kernel takes now; the loop calls again while some is left."""
        try:
            while self._unsent:
                del self._unsent[: os.write(self._fd, self._unsent)]
        except BlockingIOError:
            self._loop.add_writer(self._fd, self._send)
        except OSError as error:
            self._lose(self._why_lost(error))
        else:
            self._loop.remove_writer(self._fd)

    def _lose(self, why: str) -> None:
        """Note the loss. The loop must drop a hung-up descriptor at once: it is always ready."""
        if self._lost is None:
            self._lost = why
            self._dropped += len(self._unsent)
            self._unsent.clear()
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            if self._wake is not None:
                self._wake()


def write_queue_full(name: str, waiting: int) -> str:
    """Word the loss of an end that reads nothing, so that the queue to it overflowed."""
    return f"write queue full: {name} reads nothing, {waiting} bytes are waiting"
