"""A shoe's end of every kind of transport, all used alike, and the opener of the host's end.

In: the kind's name. Out: an End. Must not know: what the bytes mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from firmware_proto.profiles import SerialSettings
from shoe_ctl.link.address import parse_address
from shoe_ctl.link.openers import opener
from shoe_ctl.link.transport import Opener, Transport
from shoe_testing.transports import until
from simulators.ports.port import Port
from simulators.ports.pty import PtyPort
from simulators.ports.tcp import TcpPort
from simulators.ports.usb import UsbPort
from simulators.ports.usb_bus import UsbBus

KINDS = ("pty", "tcp", "usb")
SETTINGS = SerialSettings(baud=115200)


def port_of(kind: str, folder: Path, bus: Any) -> Port:
    """A port of this kind, not yet plugged in."""
    if kind == "pty":
        return PtyPort(str(folder / "SH-0042"))
    return TcpPort("127.0.0.1", 0) if kind == "tcp" else UsbPort(bus, "SH-0042")


class End:
    """The shoe's end: is the port's Wire, keeps what it hears, counts the connections."""

    def __init__(self, kind: str, folder: Path, executor: ThreadPoolExecutor) -> None:
        self.bus = UsbBus()
        self.port = port_of(kind, folder, self.bus)
        self.heard = bytearray()
        self.connections = 0
        self.connected = False
        self.port.start(self)
        self.name = parse_address(self.port.address)
        self.open: Opener = opener(self.name, SETTINGS, executor, lambda: self.bus)

    def opened(self) -> None:
        self.connections += 1
        self.connected = True

    def received(self, data: bytes) -> None:
        self.heard += data

    def closed(self) -> None:
        self.connected = False

    def drained(self) -> None:
        pass

    async def connect(self) -> Transport:
        """An open transport whose shoe has seen it open."""
        before = self.connections
        transport = await self.open()
        await until(lambda: self.connections > before)
        return transport

    async def hear(self, size: int) -> bytes:
        """All that the host sent, once it is so much."""
        await until(lambda: len(self.heard) >= size)
        return bytes(self.heard)


@asynccontextmanager
async def plugged_in(kind: str, folder: Path) -> AsyncIterator[End]:
    with ThreadPoolExecutor(1) as executor:
        end = End(kind, folder, executor)
        try:
            yield end
        finally:
            end.port.close()


async def readable(transport: Transport) -> None:
    """Waits until the transport says that there is something to read, or a loss."""
    woken = asyncio.Event()
    transport.when_readable(woken.set)
    try:
        async with asyncio.timeout(10):
            await woken.wait()
    finally:
        transport.when_readable(None)


async def read(transport: Transport, size: int) -> bytes:
    """Reads until so many bytes are there."""
    data = b""
    while len(data) < size:
        await readable(transport)
        data += transport.read()
    return data
