"""The interface of a byte transport, and the transport over a file descriptor.

In: an open descriptor. Out: chunks of bytes, or TransportLost.
Must not know: kinds of ports, frames, sessions.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from shoe_ctl.texts.catalogue import text
from shoe_ctl.texts.message import Message, message

log = logging.getLogger(__name__)

READ_SIZE = 4096
"""Bytes read at once: what a tty holds for its reader, so that one read empties it."""

WRITE_LIMIT = 64 * 1024
"""Bytes that may wait to be sent. A host sends some dozens of bytes a draw: so much waits only if
the shoe has read nothing for a long time, and then a new connection helps more."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Why a connection ended: ``reason`` for programs, ``why`` in full for people.

    ``why`` may name the port of this host, which is not public. ``str()`` is its text.
    """

    reason: str
    why: Message

    def __str__(self) -> str:
        return text(self.why)

    def with_unsent(self, dropped: int) -> Loss:
        """Return the loss with the number of bytes that were not sent."""
        return replace(self, why=message("link_unsent", why=self.why, bytes=dropped))


def unplugged(port: str) -> Loss:
    """Return the loss of a device that was unplugged."""
    return Loss("unplugged", message("link_unplugged", port=port))


def closed_here(port: str) -> Loss:
    """Return the end of a connection that this end closed."""
    return Loss("closed", message("link_closed_here", port=port))


def failed(port: str, error: str) -> Loss:
    """Return the loss of a port that gives this error, in the words of the system."""
    return Loss("link_failed", message("link_failed", port=port, error=error))


def write_queue_full(port: str, waiting: int) -> Loss:
    """Return the loss of an end that reads nothing, so that the queue to it overflowed."""
    return Loss("write_queue_full", message("link_write_queue_full", port=port, waiting=waiting))


def log_unread(name: str, count: int) -> None:
    """Log that so many bytes were received and are dropped. No event of them is acknowledged.

    It is a warning unless this task is cancelled: a shoe may send while the program stops.
    """
    task = asyncio.current_task()
    stops = task is not None and task.cancelling() > 0
    level = logging.INFO if stops else logging.WARNING
    log.log(level, "%s: unread bytes dropped: bytes=%d", name, count)


class TransportLost(Exception):
    """The other end is gone; ``str()`` is the reason, one line for people."""

    def __init__(self, loss: Loss) -> None:
        super().__init__(str(loss))
        self.loss = loss


class Transport(Protocol):
    """An open connection to one shoe, used once. No method blocks.

    All are called in the event loop. Bytes wait in a bounded buffer for ``read``: while nobody
    reads, the sender is held back.
    """

    @property
    def lost(self) -> Loss | None:
        """Why it was lost; None while it is open."""

    @property
    def dropped(self) -> int:
        """The number of bytes that ``write`` took and did not send. Final once it is lost."""

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

    ``why_lost`` names an error of the system, or the end of the stream (None). ``give_back``
    closes what the descriptor belongs to, and is called once.
    """

    def __init__(
        self,
        fd: int,
        name: str,
        *,
        why_lost: Callable[[OSError | None], Loss],
        give_back: Callable[[], None],
    ) -> None:
        self._fd = fd
        self._name = name
        self._why_lost = why_lost
        self._give_back = give_back
        self._loop = asyncio.get_running_loop()
        self._wake: Callable[[], None] | None = None
        self._is_watched = False
        self._is_writing = False
        self._early = b""
        """Bytes that came while nobody waited: one chunk at most."""
        self._unsent = bytearray()
        self._dropped = 0
        self._lost: Loss | None = None
        self._closed = False

    @property
    def lost(self) -> Loss | None:
        return self._lost

    @property
    def dropped(self) -> int:
        return self._dropped

    def read(self) -> bytes:
        if self._early:
            early, self._early = self._early, b""
            return early
        data = self._read()
        if self._lost is not None:
            raise TransportLost(self._lost)
        return data

    def _read(self) -> bytes:
        """Read a chunk, or note that the other end is gone."""
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
        return b""

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        self._wake = wake
        if wake is None:
            return  # the loop goes on watching: what comes is mostly waited for again by then
        if self._early or self._lost is not None:
            self._loop.call_soon(wake)
        elif not self._is_watched:
            self._is_watched = True
            self._loop.add_reader(self._fd, self._readable)

    def _readable(self) -> None:
        """Keep a chunk for who waits, or will. Otherwise the loop would find it again and again.

        If it was not taken when the next one comes, the port is not watched for a while, which
        holds the sender back.
        """
        if self._early:
            self._is_watched = False
            self._loop.remove_reader(self._fd)
        else:
            self._early = self._read()
            if self._early and self._wake is not None:
                self._wake()

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
            self._lose(closed_here(self._name))
            self._closed = True
            if self._early:
                log_unread(self._name, len(self._early))
                self._early = b""
            self._give_back()

    def _send(self) -> None:
        """Send what the kernel takes now; the loop calls again while some is left."""
        try:
            while self._unsent:
                del self._unsent[: os.write(self._fd, self._unsent)]
        except BlockingIOError:
            self._is_writing = True
            self._loop.add_writer(self._fd, self._send)
        except OSError as error:
            self._lose(self._why_lost(error))
        else:
            if self._is_writing:
                self._is_writing = False
                self._loop.remove_writer(self._fd)

    def _lose(self, why: Loss) -> None:
        """Note the loss. The loop must drop a hung-up descriptor at once: it is always ready."""
        if self._lost is None:
            self._lost = why
            self._dropped += len(self._unsent)
            self._unsent.clear()
            self._is_watched = False
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            if self._wake is not None:
                self._wake()
