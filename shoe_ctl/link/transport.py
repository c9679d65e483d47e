"""The one interface of a byte transport, whatever carries the bytes.

In: nothing. Out: Transport, Opener, TransportLost.
Must not know: frames, sessions, what the bytes mean.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Protocol


class TransportLost(Exception):
    """The other end is gone; ``str()`` is the reason, one line for people."""


class Transport(Protocol):
    """An open way to one shoe; used once and thrown away. Nothing here ever blocks.

    All is called in the event loop. What ``read`` has not taken waits in a bounded buffer: while
    nobody reads, the sender is held back.
    """

    @property
    def lost(self) -> str | None:
        """Why it is gone, one line for people; None while it is there."""

    @property
    def dropped(self) -> int:
        """How many bytes to the shoe were taken by ``write`` and did not leave: final once lost."""

    def read(self) -> bytes:
        """Takes the bytes that are there now, a bounded chunk of them; empty when none are.

        Raises:
            TransportLost: the other end is gone.
        """

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        """Calls ``wake`` once there is something to read, or a loss to learn of; None: never.

        It may be called more than once until it is replaced by None.
        """

    def write(self, data: bytes) -> None:
        """Queues bytes to be sent, in order.

        The queue is bounded: when it overflows, or the other end is gone, the transport is
        ``lost`` and ``read`` says so.
        """

    def close(self) -> None:
        """Gives the port back; what is still queued is dropped. May be called again."""


Opener = Callable[[], Awaitable[Transport]]
"""Opens the port. Raises PortError with one clear line; cancelled, it leaves nothing open."""

READ_SIZE = 4096
"""Bytes taken at once: what a tty holds for its reader, so that one read empties it."""

WRITE_LIMIT = 64 * 1024
"""Bytes that may wait to be sent. A host says some dozens of bytes a draw: this much waits only
where the shoe has read nothing for a long while, and then a new connection is the better hope."""


class DescriptorTransport:
    """An open descriptor in the running loop (see ``Transport``).

    ``why_lost`` puts an error of the system in words, None being the end of what can be read;
    ``give_back`` closes what the descriptor belongs to, and is called once.
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
            self._lose(takes_nothing(self._name, len(self._unsent)))

    def close(self) -> None:
        if not self._closed:
            self._lose(f"closed: {self._name}")
            self._closed = True
            self._give_back()

    def _send(self) -> None:
        """Sends what the kernel takes now; the loop calls again while some is left."""
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
        """A hung-up descriptor is always ready: the loop must let go of it at once."""
        if self._lost is None:
            self._lost = why
            self._dropped += len(self._unsent)
            self._unsent.clear()
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            if self._wake is not None:
                self._wake()


def takes_nothing(name: str, waiting: int) -> str:
    """The loss of an end that has not read for so long that the queue to it overflowed."""
    return f"{name} takes nothing: {waiting} bytes wait to be sent"
