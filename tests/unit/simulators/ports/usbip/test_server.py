"""A shoe's port on USB, as a host's controller sees it over USB/IP.

In: what vhci-hcd and bad peers say. Out: what the server answers, what the port told its wire.
Must not know: shoes.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import random
import re
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress

import pytest

from shoe_testing.usbip_host import (
    BULK_IN,
    BULK_OUT,
    FULL_SPEED,
    AttachedDevice,
    NotImported,
    UsbFailed,
    attached,
    closed,
    import_request,
    list_devices,
    list_request,
    parts_of,
    submit_message,
)
from simulators.errors import PortFault
from simulators.ports.port import UsbKind
from simulators.ports.stream import LIMIT
from simulators.ports.usbip import server as usbip_server
from simulators.ports.usbip.device import HELD
from simulators.ports.usbip.port import UsbIpPort
from simulators.ports.usbip.server import MOST_WAITING, UsbIpServer

STALL = -errno.EPIPE


class Wire:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.data = b""
        self.news = asyncio.Event()

    def opened(self) -> None:
        self._note("opened")

    def received(self, data: bytes) -> None:
        self.data += data

    def closed(self) -> None:
        self._note("closed")

    def drained(self) -> None:
        self._note("drained")

    def _note(self, what: str) -> None:
        self.log.append(what)
        self.news.set()

    async def told(self, *what: str) -> None:
        async with asyncio.timeout(10):
            while self.log != list(what):
                self.news.clear()
                await self.news.wait()


@pytest.fixture
async def wire() -> Wire:
    return Wire()


@pytest.fixture
async def server() -> AsyncIterator[UsbIpServer]:
    with UsbIpServer("127.0.0.1", 0) as serving:
        yield serving


def plugged(server: UsbIpServer, wire: Wire, kind: UsbKind, gone_after_s: float = 60) -> UsbIpPort:
    bulk = kind == "bulk"
    port = UsbIpPort(server, kind, "SIM-0042", gone_after_s=gone_after_s if bulk else None)
    port.start(wire)
    return port


@pytest.fixture
async def port(server: UsbIpServer, wire: Wire) -> UsbIpPort:
    """A serial port, plugged in."""
    return plugged(server, wire, "serial")


@pytest.fixture
async def host(port: UsbIpPort) -> AsyncIterator[AttachedDevice]:
    """It is attached, enumerated and opened."""
    async with attached(port.attachment) as device:
        await device.enumerate()
        await set_terminal_ready(device)
        yield device


async def set_terminal_ready(device: AttachedDevice, ready: bool = True) -> None:
    await device.tell(0x21, 0x22, 3 if ready else 0)


async def fails(work: object) -> int:
    assert asyncio.iscoroutine(work)
    with pytest.raises(UsbFailed) as failed:
        await work
    return failed.value.number


# --- what a host is told -----------------------------------------------------------------------


async def test_the_list_has_each_device_and_takes_one_connection(
    server: UsbIpServer, wire: Wire
) -> None:
    first, second = plugged(server, wire, "serial"), plugged(server, wire, "bulk")
    serial, bulk = await list_devices(first.attachment)
    assert (serial.bus_id, bulk.bus_id) == (first.bus_id, second.bus_id) == ("1-1", "1-2")
    assert serial.path == "/sys/devices/platform/shoe-sim/usb1/1-1"
    assert serial.interfaces == [(2, 2, 0), (0x0A, 0, 0)]
    assert bulk.interfaces == [(0xFF, 0, 0)]
    assert (serial.device_class, bulk.device_class) == (2, 0)
    for listed in (serial, bulk):
        assert (listed.vendor, listed.product, listed.release) == (0x1209, 0x0001, 0x0100)
        assert (listed.speed, listed.configuration) == (FULL_SPEED, 0)
    assert serial.device != bulk.device
    assert (first.address, second.address) == ("/dev/card-shoe/SIM-0042", "usb:SIM-0042")


CDC_PARTS = [
    "0902 4300 02 01 00 80 32",  # 67 bytes, two interfaces, 100 mA of the bus
    "0904 00 00 01 02 02 00 00",
    "0524 00 2001",
    "0524 01 00 01",
    "0424 02 02",
    "0524 06 00 01",
    "0705 83 03 1000 0a",
    "0904 01 00 02 0a 00 00 00",
    "0705 81 02 4000 00",
    "0705 02 02 4000 00",
]
BULK_PARTS = [
    "0902 2000 01 01 00 80 32",
    "0904 00 00 02 ff 00 00 00",
    "0705 81 02 4000 00",
    "0705 02 02 4000 00",
]


@pytest.mark.parametrize(
    ("kind", "device_class", "parts"), [("serial", 2, CDC_PARTS), ("bulk", 0, BULK_PARTS)]
)
async def test_a_device_is_enumerated_as_linux_does_it(
    server: UsbIpServer, wire: Wire, kind: UsbKind, device_class: int, parts: list[str]
) -> None:
    port = plugged(server, wire, kind)
    async with attached(port.attachment) as device:
        await device.enumerate()
        expected = struct.pack(
            "<BBHBBBBHHHBBBB", 18, 1, 0x0200, device_class, 0, 0, 64, 0x1209, 1, 0x0100, 1, 2, 3, 1
        )
        assert device.descriptor == expected
        assert list(parts_of(device.configuration)) == [bytes.fromhex(part) for part in parts]
        assert device.strings == {1: "shoe-ctl", 2: "Card shoe (simulated)", 3: "SIM-0042"}
        assert await device.ask(0x80, 8, length=1) == b"\1"
        assert await device.ask(0x80, 0, length=2) == b"\0\0"
        assert await device.ask(0x81, 10, length=1) == b"\0"
        await device.tell(0x01, 11)
        assert (await list_devices(port.attachment))[0].configuration == 1
        await device.tell(0x00, 9, 0)
        assert await device.ask(0x80, 8, length=1) == b"\0"
        assert await fails(device.bulk_in()) == STALL
    assert wire.log == []


async def test_what_a_device_does_not_know_is_stalled_and_changes_nothing(
    host: AttachedDevice,
) -> None:
    unknown = [
        host.ask(0x80, 6, 0x0600, 0, 10),
        host.ask(0x80, 6, 0x0F00, 0, 5),
        host.ask(0x80, 6, 0x0201, 0, 9),
        host.ask(0x80, 6, 0x03EE, 0, 18),
        host.ask(0xC0, 0x01, length=16),
        host.ask(0xA1, 0x7F, length=1),
        host.ask(0xA1, 0x21, index=1, length=7),
        host.ask(0x82, 0, index=0x85, length=2),
        host.tell(0x00, 9, 2),
        host.tell(0x01, 11, 1),
        host.tell(0x21, 0x20, data=b"short"),
        host.tell(0x21, 0x23, 100),  # a break, which it did not say it can
        host.transfer(0x84, length=64),
        host.transfer(0x05, data=b"x"),
        host.transfer(0x00, setup=struct.pack("<BBHHH", 0x80, 6, 0x0100, 0, 18)),
        host.transfer(0x00, data=b"xy", setup=struct.pack("<BBHHH", 0x21, 0x20, 0, 0, 7)),
    ]
    for each in unknown:
        try:
            status = (await each)[0]  # type: ignore[index]
        except UsbFailed as failed:
            status = failed.number
        assert status == STALL
    assert await host.ask(0x80, 8, length=1) == b"\1"


async def test_a_long_answer_is_cut_to_what_was_asked_for(host: AttachedDevice) -> None:
    assert await host.ask(0x80, 6, 0x0100, 0, 8) == host.descriptor[:8]
    setup = struct.pack("<BBHHH", 0x80, 6, 0x0100, 0, 18)
    assert (await host.transfer(0x80, length=5, setup=setup))[1] == host.descriptor[:5]


# --- a program opens it ------------------------------------------------------------------------


async def test_a_serial_port_is_open_while_the_terminal_is_ready(
    port: UsbIpPort, wire: Wire
) -> None:
    async with attached(port.attachment) as device:
        await device.enumerate()
        assert await device.ask(0xA1, 0x21, length=7) == struct.pack("<IBBB", 9600, 0, 0, 8)
        coding = struct.pack("<IBBB", 115200, 2, 1, 7)
        await device.tell(0x21, 0x20, data=coding)
        assert await device.ask(0xA1, 0x21, length=7) == coding
        port.write(b"nobody listens")
        await device.bulk_out(b"nobody opened it")
        await set_terminal_ready(device)
        await set_terminal_ready(device)
        assert (wire.log, wire.data) == (["opened"], b"")
        port.write(b"hello")
        assert await device.bulk_in() == b"hello"
        await device.bulk_out(b"to the shoe")
        assert wire.data == b"to the shoe"
        port.write(b"unread")
        await set_terminal_ready(device, ready=False)
        assert wire.log == ["opened", "closed"]
        await set_terminal_ready(device)
        port.write(b"new")
        assert await device.bulk_in() == b"new"
        assert wire.log == ["opened", "closed", "opened"]
    await wire.told("opened", "closed", "opened", "closed")


async def test_a_bulk_device_is_open_from_the_first_transfer_on_over_reads_that_time_out(
    server: UsbIpServer, wire: Wire
) -> None:
    port = plugged(server, wire, "bulk")
    async with attached(port.attachment) as device:
        await device.enumerate()
        assert wire.log == []
        port.write(b"nobody listens")
        await device.bulk_out(b"first")
        assert (wire.log, wire.data) == (["opened"], b"first")
        for _ in range(3):
            number, _reading = device.submit(BULK_IN, length=64)
            assert await device.unlink(number) == -errno.ECONNRESET
        port.write(b"data")
        assert await device.bulk_in() == b"data"
        assert wire.log == ["opened"]
    await wire.told("opened", "closed")


async def test_a_bulk_device_is_closed_once_nobody_reads(server: UsbIpServer, wire: Wire) -> None:
    port = plugged(server, wire, "bulk", gone_after_s=0.001)
    async with attached(port.attachment) as device:
        await device.enumerate()
        await device.bulk_out(b"first")
        await wire.told("opened", "closed")
        port.write(b"nobody reads that")
        _, reading = device.submit(BULK_IN, length=64)
        await wire.told("opened", "closed", "opened")
        port.write(b"again")
        assert (await reading)[1] == b"again"
        await wire.told("opened", "closed", "opened", "closed")


# --- transfers ---------------------------------------------------------------------------------


async def test_a_read_waits_for_data_and_ends_with_a_short_packet(
    port: UsbIpPort, host: AttachedDevice
) -> None:
    _, first = host.submit(BULK_IN, length=256)
    _, second = host.submit(BULK_IN, length=256)
    await host.ask(0x80, 8, length=1)
    assert not first.done()
    port.write(b"a" * 70)
    assert (await first)[1] == b"a" * 70
    assert not second.done()
    port.write(b"b" * 128)  # whole packets: an empty one ends the read
    assert (await second)[1] == b"b" * 128
    port.write(b"c" * 64)
    assert await host.bulk_in(64) == b"c" * 64
    assert await host.bulk_in(64) == b""
    port.write(b"d" * 65)
    port.write(b"e")
    assert [await host.bulk_in(64) for _ in range(3)] == [b"d" * 64, b"d", b"e"]


async def test_a_read_too_small_or_that_wants_all_fails(
    port: UsbIpPort, host: AttachedDevice
) -> None:
    port.write(b"x" * 20)
    assert await fails(host.bulk_in(10)) == -errno.EOVERFLOW
    port.write(b"y" * 20)
    status, data, _ = await host.transfer(BULK_IN, length=64, flags=1)
    assert (status, data) == (-errno.EREMOTEIO, b"y" * 20)


async def test_an_unlinked_transfer_ends_with_that_and_one_that_ended_is_left_as_it_was(
    port: UsbIpPort, host: AttachedDevice
) -> None:
    taken_back, _ = host.submit(BULK_IN, length=64)
    notified, _ = host.submit(0x83, length=16)
    ended, reading = host.submit(BULK_IN, length=64)
    assert await host.unlink(taken_back) == -errno.ECONNRESET
    assert await host.unlink(notified) == -errno.ECONNRESET
    port.write(b"for the other")
    assert (await reading)[1] == b"for the other"
    assert await host.unlink(ended) == 0
    assert await host.unlink(12345) == 0


async def test_a_halted_endpoint_stalls_until_it_is_cleared(
    port: UsbIpPort, host: AttachedDevice
) -> None:
    _, reading = host.submit(BULK_IN, length=64)
    await host.tell(0x02, 3, 0, BULK_IN)
    assert (await reading)[0] == STALL
    assert await host.ask(0x82, 0, index=BULK_IN, length=2) == b"\1\0"
    assert await fails(host.bulk_in()) == STALL
    await host.tell(0x02, 1, 0, BULK_IN)
    assert await host.ask(0x82, 0, index=BULK_IN, length=2) == b"\0\0"
    port.write(b"back")
    assert await host.bulk_in() == b"back"


async def test_a_frozen_device_holds_its_transfers_and_lets_them_be_taken_back(
    port: UsbIpPort, host: AttachedDevice, wire: Wire
) -> None:
    _, reading = host.submit(BULK_IN, length=64)
    await host.ask(0x80, 8, length=1)
    port.freeze()
    port.write(b"x")
    number, asked = host.submit(0x80, length=18, setup=struct.pack("<BBHHH", 0x80, 6, 256, 0, 18))
    _, first = host.submit(BULK_OUT, data=b"1")
    _, second = host.submit(BULK_OUT, data=b"2")
    assert await host.unlink(number) == -errno.ECONNRESET
    assert asked.cancelled()
    assert not any(each.done() for each in (reading, first, second))
    assert wire.data == b""
    port.thaw()
    assert [await first, await second] == [(0, b"", 1), (0, b"", 1)]
    assert (await reading)[1] == b"x"
    assert wire.data == b"12"


async def test_a_frozen_device_is_attached_and_answers_nobody(port: UsbIpPort) -> None:
    port.freeze()
    async with attached(port.attachment) as device:
        setup = struct.pack("<BBHHH", 0x80, 6, 0x0100, 0, 64)
        number, asked = device.submit(0x80, length=64, setup=setup)
        assert await device.unlink(number) == -errno.ECONNRESET
        port.close()
        port.reopen()
    async with attached(port.attachment) as device:
        _, asked = device.submit(0x80, length=64, setup=setup)
        assert await device.unlink(999) == 0
        assert not asked.done()
        port.thaw()
        assert len((await asked)[1]) == 18


async def test_what_a_host_does_not_read_is_kept_to_a_bound(
    port: UsbIpPort, host: AttachedDevice, wire: Wire
) -> None:
    port.write(b"x" * (HELD + 100))
    assert (port.pending, port.overrun) == (100, 0)
    port.write(b"y" * LIMIT)
    assert (port.pending, port.overrun) == (100, LIMIT)
    assert len(await host.bulk_in(1 << 16)) == HELD + 100
    assert port.pending == 0
    assert wire.log == ["opened", "drained"]


# --- unplugged, and who has it -----------------------------------------------------------------


async def test_an_unplugged_device_is_gone_for_its_host_and_from_the_list(
    port: UsbIpPort, host: AttachedDevice, wire: Wire
) -> None:
    _, reading = host.submit(BULK_IN, length=64)
    await host.ask(0x80, 8, length=1)
    port.close()
    port.close()
    await host.gone.wait()
    with pytest.raises(UsbFailed):
        await reading
    assert wire.log == ["opened", "closed"]
    assert await list_devices(port.attachment) == []
    with pytest.raises(NotImported, match="1"):
        async with attached(port.attachment):
            pass
    port.reopen()
    (listed,) = await list_devices(port.attachment)
    assert (listed.bus_id, listed.configuration) == ("1-1", 0)
    assert listed.device != host.listed.device
    async with attached(port.attachment) as device:
        await device.enumerate()


async def test_one_host_has_a_device_at_a_time(
    port: UsbIpPort, host: AttachedDevice, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(NotImported, match="1"):
        async with attached(port.attachment):
            pass
    assert "import refused: device 1-1 is in use by 127.0.0.1:" in caplog.text
    assert len(await list_devices(port.attachment)) == 1
    port.write(b"still his")
    assert await host.bulk_in() == b"still his"


async def test_a_detached_device_starts_anew_for_the_next_host(port: UsbIpPort, wire: Wire) -> None:
    async with attached(port.attachment) as device:
        await device.enumerate()
        await set_terminal_ready(device)
        port.write(b"for him")
    await wire.told("opened", "closed")
    async with attached(port.attachment) as device:
        assert await device.ask(0x80, 8, length=1) == b"\0"
        await device.enumerate()
        await set_terminal_ready(device)
        port.write(b"for her")
        assert await device.bulk_in() == b"for her"


async def test_a_device_is_given_a_number_that_a_bus_has_however_often_it_is_plugged_in(
    port: UsbIpPort,
) -> None:
    numbers = []
    for _ in range(130):
        numbers.append(port.device_number)
        port.close()
        port.reopen()
    assert numbers[:127] == [*range(2, 128), 2]


async def test_a_taken_address_is_told_in_one_line(server: UsbIpServer) -> None:
    with (
        pytest.raises(PortFault, match=r"cannot listen at usbip:127\.0\.0\.1:[0-9]+: .*in use"),
        UsbIpServer("127.0.0.1", server.port),
    ):
        pass


# --- bad peers -----------------------------------------------------------------------------------

DEVICE_ID = 1 << 16 | 2
LISTED = b"\x01\x11\x00\x05\0\0\0\0"

BAD_OPERATIONS = {
    "another version": (
        b"\x01\x06" + list_request()[2:],
        "expected USB/IP version 0x0111, not 0x0106",
    ),
    "a web browser": (b"GET / HTTP/1.1\r\n\r\n", "expected USB/IP version 0x0111, not 0x4745"),
    "no operation": (
        b"\x01\x11\x80\x09\0\0\0\0",
        r"expected operation 0x8005 \(list\) or 0x8003 \(import\), not 0x8009",
    ),
    "no such device": (import_request("9-9"), "import refused: no device '9-9' is plugged in"),
    "a name of noise": (import_request("")[:8] + b"\xff" * 32, "import refused: no device '"),
    "a request cut off": (list_request()[:5], "the host went in the middle of a message"),
    "an import cut off": (import_request("1-1")[:20], "the host went in the middle of a message"),
}


def good(number: int = 1, endpoint: int = BULK_IN, **rest: int | bytes) -> bytes:
    return submit_message(number, DEVICE_ID, endpoint, **rest)  # type: ignore[arg-type]


BAD_COMMANDS = {
    "no command": (b"\0\0\0\x07" + good()[4:], "expected command 1 .*, not 7"),
    "another device": (
        submit_message(1, 5, BULK_IN, length=64),
        "expected device 0x00010002, not 0x00000005",
    ),
    "no direction": (
        good()[:12] + b"\0\0\0\x02" + good()[16:],
        r"expected direction 0 \(out\) or 1 \(in\), not 2",
    ),
    "no endpoint": (good()[:16] + b"\0\0\1\0" + good()[20:], "expected endpoint 0 to 15, not 256"),
    "too much": (good(length=(1 << 24) + 1), "a transfer of at most 16777216 bytes, not 16777217"),
    "less than nothing": (good(length=-1), "a transfer of at most 16777216 bytes, not -1"),
    "isochronous": (good(length=64, packets=8), "an isochronous transfer"),
    "twice": (good(length=64) * 2, "transfer 1 has not ended, and comes again"),
    "too many": (
        b"".join(good(number, length=64) for number in range(1025)),
        "more than 1024 transfers have not ended",
    ),
    "cut off": (good()[:30], "the host went in the middle of a message"),
    "its data cut off": (
        good(endpoint=BULK_OUT, data=b"1234")[:-2],
        "the host went in the middle of a message",
    ),
}


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """The lines of the log; nothing else goes wrong meanwhile."""
    lines: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    handler = Handler(logging.WARNING)
    logging.getLogger().addHandler(handler)
    yield lines
    logging.getLogger().removeHandler(handler)
    assert all(line.startswith("usbip: 127.0.0.1:") for line in lines)


async def said(port: UsbIpPort, message: bytes = b"") -> bytes:
    """Says it and no more: what comes until the server hangs up."""
    at = port.attachment
    reader, writer = await asyncio.open_connection(at.host, at.port)
    answer = b""
    with suppress(OSError):  # it may hang up on what it did not read
        writer.write(message)
        writer.write_eof()
        async with asyncio.timeout(10):
            answer = await reader.read()
    await closed(writer)
    return answer


async def test_a_bad_peer_gets_one_clear_line_and_leaves_the_device_to_others(
    server: UsbIpServer, wire: Wire, warned: list[str]
) -> None:
    port = plugged(server, wire, "bulk")
    configured = good(9000, endpoint=0, data=b"", setup=struct.pack("<BBHHH", 0x00, 9, 1, 0, 0))
    cases = [(parts, line) for parts, line in BAD_OPERATIONS.values()]
    cases += [
        (import_request("1-1") + configured + parts, line) for parts, line in BAD_COMMANDS.values()
    ]
    for message, expected in cases:
        warned.clear()
        await said(port, message)
        (line,) = warned
        assert re.search(expected, line), line
        assert line.endswith("; connection closed")
    warned.clear()
    assert await said(port) == b""
    assert (await said(port, list_request() + b"more"))[:8] == LISTED
    assert warned == []
    async with attached(port.attachment) as device:
        await device.enumerate()


async def test_a_peer_that_asks_for_nothing_is_let_go(
    port: UsbIpPort, warned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usbip_server, "REQUEST_WITHIN_S", 0.01)
    at = port.attachment
    reader, writer = await asyncio.open_connection(at.host, at.port)
    assert await reader.read() == b""
    await closed(writer)
    (line,) = warned
    assert "it asked for nothing within 0.01 s" in line


async def test_a_crowd_that_asks_for_nothing_is_kept_to_a_bound(
    port: UsbIpPort, host: AttachedDevice, warned: list[str]
) -> None:
    at = port.attachment
    async with AsyncExitStack() as crowd:
        for _ in range(MOST_WAITING):
            _, writer = await asyncio.open_connection(at.host, at.port)
            crowd.push_async_callback(closed, writer)
        assert await said(port) == b""
        assert len(warned) == 1
        assert f"{MOST_WAITING} connections ask for nothing" in warned[0]
        port.write(b"not disturbed")
        assert await host.bulk_in() == b"not disturbed"


async def test_noise_in_a_conversation_never_breaks_the_server(
    server: UsbIpServer, wire: Wire, warned: list[str], seed: int
) -> None:
    port = plugged(server, wire, "serial")
    chance = random.Random(seed)
    setups = [(0x80, 6, 0x0100, 0, 18), (0x00, 9, 1, 0, 0), (0x21, 0x22, 3, 0, 0)]
    whole = import_request("1-1") + b"".join(
        good(number, 0x80 & kind, length=length, setup=struct.pack("<BBHHH", kind, *rest, length))
        for number, (kind, *rest, length) in enumerate(setups)
    )
    whole += good(7, BULK_OUT, data=b"hello") + good(8, length=64)
    for _ in range(150):
        noisy = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            noisy[chance.randrange(len(noisy))] = chance.choice(
                (0, 1, 2, 0xFF, chance.randrange(256))
            )
        before = len(warned)
        await said(port, bytes(noisy[: chance.randrange(len(noisy))]))
        assert len(warned) <= before + 1
        (listed,) = await list_devices(port.attachment)
        assert (listed.bus, listed.device) == (1, 2)
    async with attached(port.attachment) as device:
        await device.enumerate()
