"""A TCP server as the shoe's port, as a serial device server offers it: raw bytes.

In: bytes for the host. Out: the host's connection, bytes and end. One host at a time: another
one is turned away. Must not know: what the bytes mean.
"""

from __future__ import annotations

import asyncio
import socket

from simulators.ports.port import Wire
from simulators.ports.stream import StreamPort, listening_socket


class TcpPort(StreamPort):
    """Needs a running loop to start. With port 0 a free one is taken, and kept over ``reopen``."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self._host = host
        self._port = port
        self._listener: socket.socket | None = None
        self._peer: socket.socket | None = None

    @property
    def address(self) -> str:
        """The form that a daemon's configuration has for it."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"tcp://{host}:{self._port}"

    def start(self, wire: Wire) -> None:
        """Listen.

        Raises:
            simulators.errors.PortFault: the address cannot be had.
        """
        self._wire = wire
        self._loop = asyncio.get_running_loop()
        listener = listening_socket(self._host, self._port, backlog=1, name=self.address)
        self._port = listener.getsockname()[1]
        self._listener = listener
        self._loop.add_reader(listener, self._knocked)

    def close(self) -> None:
        """Hang up and stop listening; doing it twice is harmless."""
        if self._listener is None:
            return
        self._loop.remove_reader(self._listener)
        self._listener.close()
        self._listener = None
        if self._peer is not None:
            self._host_gone()

    def reopen(self) -> None:
        """Listen again at the same port."""
        if self._listener is None and self._wire is not None:
            self.start(self._wire)

    def _knocked(self) -> None:
        if self._listener is None or self._wire is None:
            return
        try:
            peer, _ = self._listener.accept()
        except OSError:
            return  # it went away again before it was let in
        if self._peer is not None:
            peer.close()
            return
        peer.setblocking(False)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._peer = peer
        self._begin_stream(self._wire, peer.fileno(), self._host_gone, self._loop)

    def _host_gone(self) -> None:
        self._end_stream()
        peer, self._peer = self._peer, None
        if peer is not None:
            peer.close()
        if self._wire is not None:
            self._wire.closed()
