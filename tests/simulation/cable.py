"""The cable between the shoe and the daemon: a port on one side, a transport on the other.

In: bytes of both, hands that pull it. Out: the same bytes at the other end, or none.
Must not know: what they mean, who damages them (``line``), when anything is done.
"""

from __future__ import annotations

from collections.abc import Callable

from shoe_ctl.errors import PortError
from shoe_ctl.link.transport import Loss, TransportLost, closed_here, failed
from shoe_testing.simulated_time import VirtualLoop
from simulators.ports.port import Wire

KERNEL_HOLDS = 4096
"""Bytes that wait in the kernel for a host that does not read; what is more waits at the shoe."""

READ_SIZE = 4096


class Cable:
    """Is the ``Port`` of a rig. ``muted``: it hangs on, but nothing gets through."""

    address = "tcp://shoe.simulated:1"

    def __init__(self, loop: VirtualLoop) -> None:
        self.muted = False
        self.overrun = 0
        self._loop = loop
        self._wire: Wire | None = None
        self._plugged = False
        self._end: HostEnd | None = None

    # The shoe's side: ``simulators.ports.port.Port``.

    @property
    def pending(self) -> int:
        return 0 if self._end is None else max(0, self._end.waiting - KERNEL_HOLDS)

    def start(self, wire: Wire) -> None:
        self._wire, self._plugged = wire, True

    def write(self, data: bytes) -> None:
        if self._end is not None and not self.muted:
            self._end.arrived(data)

    def close(self) -> None:
        self._plugged = False
        if self._end is not None:
            self._end.hang_up("it was pulled")
            self._ended()

    def reopen(self) -> None:
        self._plugged = True

    attachment = None

    def freeze(self) -> None: ...

    def thaw(self) -> None: ...

    # The host's side.

    def open(self) -> HostEnd:
        """A process opens the port.

        Raises:
            PortError: nothing is plugged in, or another process has it.
        """
        if not self._plugged:
            raise PortError(f"nothing at {self.address}", "no_such_port")
        if self._end is not None:
            raise PortError(f"{self.address} is taken", "taken")
        self._end = end = HostEnd(self)
        assert self._wire is not None
        self._loop.call_soon(self._wire.opened)
        return end

    def sent(self, end: HostEnd, data: bytes) -> None:
        if end is self._end and data and not self.muted:
            self._loop.call_soon(self._received, end, data)

    def given_back(self, end: HostEnd) -> None:
        if end is self._end:
            self._ended()

    def drained(self) -> None:
        if self._wire is not None:
            self._loop.call_soon(self._wire.drained)

    def process_died(self) -> None:
        """The system closes what a process had open."""
        if self._end is not None:
            self._end.hang_up("its process died")
            self._ended()

    def _ended(self) -> None:
        self._end = None
        if self._wire is not None:
            self._loop.call_soon(self._wire.closed)

    def _received(self, end: HostEnd, data: bytes) -> None:
        if end is self._end and self._wire is not None:
            self._wire.received(data)


class HostEnd:
    """See ``shoe_ctl.link.transport.Transport``."""

    dropped = 0

    def __init__(self, cable: Cable) -> None:
        self._cable = cable
        self._buffer = bytearray()
        self._wake: Callable[[], None] | None = None
        self._lost: Loss | None = None

    @property
    def lost(self) -> Loss | None:
        return self._lost

    @property
    def waiting(self) -> int:
        """Bytes that the host has not read."""
        return len(self._buffer)

    def read(self) -> bytes:
        if not self._buffer and self._lost is not None:
            raise TransportLost(self._lost)
        chunk = bytes(self._buffer[:READ_SIZE])
        held = len(self._buffer) > KERNEL_HOLDS
        del self._buffer[: len(chunk)]
        if held:
            self._cable.drained()
        return chunk

    def when_readable(self, wake: Callable[[], None] | None) -> None:
        self._wake = wake
        if self._buffer or self._lost is not None:
            self._tell()

    def write(self, data: bytes) -> None:
        if self._lost is None:
            self._cable.sent(self, data)

    def close(self) -> None:
        self._lost = self._lost or closed_here("cable")
        self._cable.given_back(self)

    def arrived(self, data: bytes) -> None:
        self._buffer += data
        self._tell()

    def hang_up(self, why: str) -> None:
        self._lost = failed("cable", why)
        self._tell()

    def _tell(self) -> None:
        if self._wake is not None:
            self._wake()
