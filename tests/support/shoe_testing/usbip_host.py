"""A host without a kernel that attaches USB/IP devices: a controller as vhci-hcd, without drivers.

In: the address of a server. Out: what it answers.
Must not know: the simulators' own layouts; it has them from the kernel's documentation.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from simulators.ports.port import Attachment

VERSION = 0x0111
FULL_SPEED = 2
BULK_IN, BULK_OUT = 0x81, 0x02
PATIENCE_S = 30.0

_DEVICE = struct.Struct(">256s32sIIIHHHBBBBBB")
_BASIC, _RETURN = struct.Struct(">IIIII"), struct.Struct(">iiiii8x")
_IN = 0x80


class NotImported(Exception):
    """The server refused; says with which status."""


class UsbFailed(Exception):
    """A transfer failed with this number."""

    def __init__(self, number: int) -> None:
        super().__init__(errno.errorcode.get(-number, str(number)))
        self.number = number


@dataclass(frozen=True)
class Listed:
    """A device as a server describes it."""

    path: str
    bus_id: str
    bus: int
    device: int
    speed: int
    vendor: int
    product: int
    release: int
    device_class: int
    configuration: int
    interfaces: list[tuple[int, int, int]] = field(default_factory=list)
    interface_count: int = 0

    @classmethod
    def read(cls, raw: bytes) -> Listed:
        path, bus_id, bus, number, speed, vendor, product, release, *rest = _DEVICE.unpack(raw)
        device_class, subclass, protocol, configuration, configurations, interfaces = rest
        assert (subclass, protocol, configurations) == (0, 0, 1)
        return cls(
            path=path.rstrip(b"\0").decode(),
            bus_id=bus_id.rstrip(b"\0").decode(),
            bus=bus,
            device=number,
            speed=speed,
            vendor=vendor,
            product=product,
            release=release,
            device_class=device_class,
            configuration=configuration,
            interface_count=interfaces,
        )


def list_request() -> bytes:
    return struct.pack(">HHI", VERSION, 0x8005, 0)


def import_request(bus_id: str) -> bytes:
    return struct.pack(">HHI32s", VERSION, 0x8003, 0, bus_id.encode())


def submit_message(  # noqa: PLR0913 - the fields of a message, each by name
    number: int,
    device_id: int,
    endpoint: int,
    *,
    length: int = 0,
    data: bytes = b"",
    setup: bytes = bytes(8),
    flags: int = 0,
    packets: int = 0,
) -> bytes:
    inwards = bool(endpoint & _IN)
    head = _BASIC.pack(1, number, device_id, inwards, endpoint & 0x0F)
    size = length if inwards else len(data)
    return head + struct.pack(">IiiiI", flags, size, 0, packets, 0) + setup + data


async def list_devices(at: Attachment) -> list[Listed]:
    """The list, after which the server has to hang up."""
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        writer.write(list_request())
        version, code, status, count = struct.unpack(">HHII", await reader.readexactly(12))
        assert (version, code, status) == (VERSION, 0x0005, 0)
        found = []
        for _ in range(count):
            device = Listed.read(await reader.readexactly(_DEVICE.size))
            for _ in range(device.interface_count):
                *kind, padding = await reader.readexactly(4)
                assert padding == 0
                device.interfaces.append((kind[0], kind[1], kind[2]))
            found.append(device)
        assert await reader.read() == b""
        return found
    finally:
        await closed(writer)


async def closed(writer: asyncio.StreamWriter) -> None:
    """Hangs up."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def attached(at: Attachment) -> AsyncIterator[AttachedDevice]:
    """A device as long as it is attached.

    Raises:
        NotImported: the server refuses.
    """
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        writer.write(import_request(at.bus_id))
        version, code, status = struct.unpack(">HHI", await reader.readexactly(8))
        assert (version, code) == (VERSION, 0x0003)
        if status:
            assert await reader.read() == b""
            raise NotImported(status)
        device = AttachedDevice(Listed.read(await reader.readexactly(_DEVICE.size)), writer)
        reading = asyncio.create_task(device.read(reader))
        try:
            yield device
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
    finally:
        await closed(writer)


Ended = tuple[int, bytes, int]
"""Status, data, bytes carried."""


class AttachedDevice:
    """What vhci-hcd does for the drivers of one device."""

    def __init__(self, listed: Listed, writer: asyncio.StreamWriter) -> None:
        self.listed = listed
        self.gone = asyncio.Event()
        self.strings: dict[int, str] = {}
        self.descriptor = b""
        self.configuration = b""
        self._writer = writer
        self._number = 0
        self._inwards: set[int] = set()
        self._transfers: dict[int, asyncio.Future[Ended]] = {}
        self._unlinks: dict[int, tuple[int, asyncio.Future[int]]] = {}

    @property
    def device_id(self) -> int:
        return self.listed.bus << 16 | self.listed.device

    async def read(self, reader: asyncio.StreamReader) -> None:
        """What comes of transfers, until the connection ends: then the device is gone."""
        try:
            while True:
                head = await reader.readexactly(48)
                command, number, *nobody = _BASIC.unpack(head[:20])
                assert nobody == [0, 0, 0]
                status, count, start_frame, packets, errors = _RETURN.unpack(head[20:])
                if command == 4:
                    self._unlinked(number, status)
                    continue
                assert (command, start_frame, packets, errors) == (3, 0, 0, 0)
                transfer = self._transfers.pop(number)
                data = await reader.readexactly(count if number in self._inwards else 0)
                self._inwards.discard(number)
                if not transfer.done():
                    transfer.set_result((status, data, count))
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self.gone.set()
            waiting: list[asyncio.Future[Any]] = [*self._transfers.values()]
            waiting += [each for _, each in self._unlinks.values()]
            for future in waiting:
                if not future.done():
                    future.set_exception(UsbFailed(-errno.ENODEV))
                    future.exception()  # whoever does not ask need not know

    def _unlinked(self, number: int, status: int) -> None:
        unlinked, waiting = self._unlinks.pop(number)
        if status == 0:
            assert unlinked not in self._transfers, "it was to end before"
        else:
            self._transfers.pop(unlinked).cancel()
            self._inwards.discard(unlinked)
        waiting.set_result(status)

    def submit(
        self,
        endpoint: int,
        *,
        length: int = 0,
        data: bytes = b"",
        setup: bytes = bytes(8),
        flags: int = 0,
    ) -> tuple[int, asyncio.Future[Ended]]:
        """Begins a transfer: its number, and how it ends."""
        if self.gone.is_set():
            raise UsbFailed(-errno.ENODEV)
        self._number += 1
        number = self._number
        self._transfers[number] = future = asyncio.get_running_loop().create_future()
        if endpoint & _IN:
            self._inwards.add(number)
        self._writer.write(
            submit_message(
                number,
                self.device_id,
                endpoint,
                length=length,
                data=data,
                setup=setup,
                flags=flags,
            )
        )
        return number, future

    async def unlink(self, unlinked: int) -> int:
        """Takes a transfer back: the status of that."""
        self._number += 1
        waiting: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._unlinks[self._number] = (unlinked, waiting)
        head = _BASIC.pack(2, self._number, self.device_id, 0, 0)
        self._writer.write(head + struct.pack(">I24x", unlinked))
        return await waiting

    async def transfer(self, endpoint: int, **rest: Any) -> Ended:
        """A transfer from its beginning to its end."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.submit(endpoint, **rest)[1]

    async def bulk_in(self, length: int = 128) -> bytes:
        """Reads; raises UsbFailed."""
        return _data(await self.transfer(BULK_IN, length=length))

    async def bulk_out(self, data: bytes) -> None:
        """Writes all; raises UsbFailed."""
        ended = await self.transfer(BULK_OUT, data=data)
        assert _data(ended) == b""
        assert ended[2] == len(data)

    async def ask(
        self, kind: int, request: int, value: int = 0, index: int = 0, length: int = 0
    ) -> bytes:
        """A control transfer to the host; raises UsbFailed."""
        setup = struct.pack("<BBHHH", kind, request, value, index, length)
        return _data(await self.transfer(_IN, length=length, setup=setup))

    async def tell(
        self, kind: int, request: int, value: int = 0, index: int = 0, data: bytes = b""
    ) -> None:
        """A control transfer from the host; raises UsbFailed."""
        setup = struct.pack("<BBHHH", kind, request, value, index, len(data))
        ended = await self.transfer(0, data=data, setup=setup)
        assert _data(ended) == b""
        assert ended[2] == len(data)

    async def enumerate(self) -> Self:
        """As Linux does it for a new device at full speed."""
        assert len(await self.ask(0x80, 6, 0x0100, 0, 64)) == 18
        self.descriptor = await self.ask(0x80, 6, 0x0100, 0, 18)
        for _ in range(3):  # it is not one of high speed that runs slowly
            with contextlib.suppress(UsbFailed):
                await self.ask(0x80, 6, 0x0600, 0, 10)
                raise AssertionError("a device of full speed has no qualifier")
        head = await self.ask(0x80, 6, 0x0200, 0, 9)
        (total,) = struct.unpack_from("<H", head, 2)
        self.configuration = await self.ask(0x80, 6, 0x0200, 0, total)
        assert len(self.configuration) == total
        (language,) = struct.unpack("<2xH", await self.ask(0x80, 6, 0x0300, 0, 255))
        for index in self.descriptor[14:17]:
            text = await self.ask(0x80, 6, 0x0300 | index, language, 255)
            assert text[:2] == bytes((len(text), 3))
            self.strings[index] = text[2:].decode("utf-16-le")
        await self.tell(0x00, 9, self.configuration[5])
        return self


def _data(ended: Ended) -> bytes:
    status, data, _ = ended
    if status:
        raise UsbFailed(status)
    return data


def parts_of(configuration: bytes) -> Iterator[bytes]:
    """The descriptors that a configuration descriptor has behind one another."""
    while configuration:
        yield configuration[: configuration[0]]
        configuration = configuration[configuration[0] :]
