"""The seam between a simulated shoe and the wire it hangs on.

In: nothing. Out: the Wire and Port protocols, and the parsed form of a ``--port`` value.
Must not know: what the bytes mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol

from simulators.errors import WrongUsage

_HIGHEST_PORT = 65535


class Wire(Protocol):
    """The user of a port: told what happens there in the loop's thread, never re-entered."""

    def opened(self) -> None:
        """A host opened the port."""

    def received(self, data: bytes) -> None:
        """Bytes of the host."""

    def closed(self) -> None:
        """The host went, or the cable was pulled."""

    def drained(self) -> None:
        """The bytes that had to wait for a slow host have been written."""


class Port(Protocol):
    """A port that a host can open, one host at a time."""

    @property
    def address(self) -> str:
        """The port's name in a daemon's configuration."""

    @property
    def attachment(self) -> Attachment | None:
        """The device that the host has to attach before the port is there, or None."""

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

    def freeze(self) -> None:
        """Answer a host no more, where the port has answers of its own."""

    def thaw(self) -> None:
        """Answer again, also what was asked meanwhile."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A USB device as a USB/IP server exports it."""

    host: str
    port: int
    bus_id: str


@dataclass(frozen=True, slots=True)
class PtyAt:
    """A pty under ``link``; None: under a link in a private folder."""

    link: str | None


@dataclass(frozen=True, slots=True)
class TcpAt:
    """A TCP server; port 0 takes a free one."""

    host: str
    port: int


UsbKind = Literal["serial", "bulk"]


@dataclass(frozen=True, slots=True)
class UsbIpAt:
    """A USB device at a USB/IP server; port 0 takes a free one. ``serial`` is CDC-ACM."""

    host: str
    port: int
    kind: UsbKind


PortAt = PtyAt | TcpAt | UsbIpAt

PORT_FORMS = "pty[:LINK]|tcp:HOST:PORT|usbip:HOST:PORT[:bulk]"


def parse(text: str) -> PortAt:
    """Parse a ``--port`` value.

    Raises:
        simulators.errors.WrongUsage: anything else.
    """
    kind, colon, rest = text.partition(":")
    if kind == "pty" and (rest or not colon):
        return PtyAt(rest or None)
    if kind == "tcp" and (at := _host_and_port(rest)) is not None:
        return TcpAt(*at)
    if kind == "usbip" and (at := _host_and_port(rest.removesuffix(":bulk"))) is not None:
        return UsbIpAt(*at, "bulk" if rest.endswith(":bulk") else "serial")
    raise WrongUsage(
        f"--port {text!r}: expected pty, pty:LINK, tcp:HOST:PORT or usbip:HOST:PORT[:bulk]"
    )


def _host_and_port(text: str) -> tuple[str, int] | None:
    host, _, number = text.rpartition(":")
    if host and re.fullmatch("[0-9]{1,5}", number) and int(number) <= _HIGHEST_PORT:
        return host.strip("[]"), int(number)
    return None
