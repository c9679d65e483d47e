"""The one interface of a byte transport, whatever carries the bytes.

In: nothing. Out: Transport, Opener, TransportLost.
Must not know: frames, sessions, what the bytes mean.
"""

from __future__ import annotations

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
