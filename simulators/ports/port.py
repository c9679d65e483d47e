"""The seam between a simulated shoe and the wire it hangs on.

In: nothing. Out: the Wire and Port protocols, and the parsed form of a ``--port`` value.
Must not know: what the bytes mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from simulators.errors import WrongUsage

_HIGHEST_PORT = 65535


class Wire(Protocol):
    """Who is told what happens at a port; called from the loop's thread, never re-entered."""

    def opened(self) -> None:
        """A host opened the port."""

    def received(self, data: bytes) -> None:
        """Bytes of the host."""

    def closed(self) -> None:
        """The host went, or the cable was pulled."""

    def drained(self) -> None:
        """What had to wait for a slow host has been written."""


class Port(Protocol):
    """A port that a host can open, one host at a time."""

    @property
    def address(self) -> str:
        """What a daemon's configuration calls this port."""

    @property
    def pending(self) -> int:
        """Bytes that wait for the host to read; they are bounded, see ``write``."""

    @property
    def overrun(self) -> int:
        """Bytes lost because a host that has the port open does not read."""

    def start(self, wire: Wire) -> None:
        """Plug the port in.

        Raises:
            simulators.errors.PortFault: it cannot be made.
        """

    def write(self, data: bytes) -> None:
        """Send, keep for a slow reader, or lose: without a host every byte is lost."""

    def close(self) -> None:
        """Pull the plug: the host sees a hang-up, the name goes away."""

    def reopen(self) -> None:
        """Plug it in again under the same name; raises like ``start``."""


@dataclass(frozen=True, slots=True)
class PtyAt:
    """A pty under ``link``; None: under a link in a private folder."""

    link: str | None


@dataclass(frozen=True, slots=True)
class TcpAt:
    """A TCP server; port 0 takes a free one."""

    host: str
    port: int


def parse(text: str) -> PtyAt | TcpAt:
    """Parse the ``--port`` value ``pty[:LINK]`` or ``tcp:HOST:PORT``.

    Raises:
        simulators.errors.WrongUsage: anything else.
    """
    kind, colon, rest = text.partition(":")
    if kind == "pty" and (rest or not colon):
        return PtyAt(rest or None)
    if kind == "tcp":
        host, colon, number = rest.rpartition(":")
        if host and number.isascii() and number.isdigit() and int(number) <= _HIGHEST_PORT:
            return TcpAt(host.strip("[]"), int(number))
    raise WrongUsage(f"--port {text!r}: expected pty, pty:LINK or tcp:HOST:PORT")
