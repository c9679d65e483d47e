"""Ports in a running loop: opens, hang-ups, unplugs, slow and absent hosts.

In: a host's descriptor. Out: what the port told its wire. Must not know: shoes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from shoe_testing.transports import Pty, another_with_the_number_of
from simulators.errors import PortFault, WrongUsage
from simulators.ports.port import PortAt, PtyAt, TcpAt, UsbIpAt, parse
from simulators.ports.pty import PtyPort
from simulators.ports.stream import LIMIT
from simulators.ports.tcp import TcpPort
from simulators.server import port_at


class Wire:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.data = b""

    def opened(self) -> None:
        self.log.append("opened")

    def received(self, data: bytes) -> None:
        self.data += data

    def closed(self) -> None:
        self.log.append("closed")

    def drained(self) -> None:
        self.log.append("drained")


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - what a descriptor does sets no event
            await asyncio.sleep(0.001)


def opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)


def read(fd: int) -> bytes:
    with contextlib.suppress(BlockingIOError):
        return os.read(fd, 65536)
    return b""


async def read_exactly(fd: int, wanted: int) -> bytes:
    got = bytearray()

    def enough() -> bool:
        got.extend(read(fd))
        return len(got) >= wanted

    await until(enough)
    return bytes(got)


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
async def pty(wire: Wire, tmp_path: Path) -> AsyncIterator[PtyPort]:
    port = PtyPort(str(tmp_path / "shoe"))
    port.start(wire)
    yield port
    port.close()


@pytest.fixture
async def tcp(wire: Wire) -> AsyncIterator[TcpPort]:
    port = TcpPort("127.0.0.1", 0)
    port.start(wire)
    yield port
    port.close()


def tcp_host(port: TcpPort) -> socket.socket:
    host, _, number = port.address.removeprefix("tcp://").rpartition(":")
    return socket.create_connection((host, int(number)))


async def test_bytes_cross_a_pty_as_they_are(pty: PtyPort, wire: Wire) -> None:
    every = bytes(range(256))
    fd = opened(pty.address)
    await until(lambda: wire.log == ["opened"])
    pty.write(every)
    assert await read_exactly(fd, 256) == every
    os.write(fd, every)
    await until(lambda: wire.data == every)
    os.close(fd)
    await until(lambda: wire.log == ["opened", "closed"])


async def test_each_open_of_a_pty_is_a_connection_of_its_own(pty: PtyPort, wire: Wire) -> None:
    for _ in range(3):
        before = len(wire.log)
        fd = opened(pty.address)
        await until(lambda: len(wire.log) == before + 1)  # noqa: B023
        os.close(fd)
        await until(lambda: len(wire.log) == before + 2)  # noqa: B023
    assert wire.log == ["opened", "closed"] * 3


async def test_a_pty_without_a_host_loses_what_is_written(pty: PtyPort, wire: Wire) -> None:
    pty.write(b"nobody hears this")
    fd = opened(pty.address)
    await until(lambda: wire.log == ["opened"])
    pty.write(b"but this")
    assert await read_exactly(fd, 8) == b"but this"
    os.close(fd)


async def test_what_one_host_left_unread_is_not_given_to_the_next(pty: PtyPort, wire: Wire) -> None:
    fd = opened(pty.address)
    await until(lambda: wire.log == ["opened"])
    pty.write(b"left unread")
    os.close(fd)
    await until(lambda: wire.log == ["opened", "closed"])
    fd = opened(pty.address)
    await until(lambda: len(wire.log) == 3)
    pty.write(b"fresh")
    assert await read_exactly(fd, 5) == b"fresh"
    os.close(fd)


async def test_a_host_that_does_not_read_never_blocks_the_port(pty: PtyPort, wire: Wire) -> None:
    fd = opened(pty.address)
    await until(lambda: wire.log == ["opened"])
    for _ in range(200):
        pty.write(bytes(1000))
    assert pty.pending <= LIMIT
    assert pty.overrun > 0
    delivered = 200_000 - pty.overrun
    assert len(await read_exactly(fd, delivered)) == delivered
    await until(lambda: wire.log[-1] == "drained")
    assert pty.pending == 0
    os.close(fd)


async def test_an_unplugged_pty_hangs_up_and_comes_back_under_its_link(
    wire: Wire, tmp_path: Path
) -> None:
    link = tmp_path / "shoe"
    port = PtyPort(str(link))
    port.start(wire)
    fd = opened(port.address)
    await until(lambda: wire.log == ["opened"])
    port.close()
    port.close()
    assert wire.log == ["opened", "closed"]
    assert not link.is_symlink()
    with contextlib.suppress(OSError):
        assert os.read(fd, 10) == b""
    port.reopen()
    fresh = opened(str(link))
    await until(lambda: wire.log == ["opened", "closed", "opened"])
    port.write(b"back")
    assert await read_exactly(fresh, 4) == b"back"
    os.close(fd)
    os.close(fresh)
    port.close()
    assert not link.is_symlink()


async def test_a_stale_link_is_replaced_and_one_in_use_is_not(wire: Wire, tmp_path: Path) -> None:
    stale = tmp_path / "stale"
    stale.symlink_to(tmp_path / "gone")
    port = PtyPort(str(stale))
    port.start(wire)
    assert str(stale.readlink()).startswith("/dev/")
    with pytest.raises(PortFault, match="or the link of another shoe"):
        PtyPort(str(stale)).start(wire)
    port.close()
    with pytest.raises(PortFault, match="cannot make the link"):
        PtyPort(str(tmp_path / "no" / "where")).start(wire)


async def test_a_pty_for_which_no_link_is_named_has_one_in_a_folder_of_its_own(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with port_at(PtyAt(None), serial="SIM-1") as port:
        address = Path(port.address)
        assert address.parent.parent == tmp_path
        assert stat.S_IMODE(address.parent.stat().st_mode) == 0o700
        port.start(wire)
        first, made = str(address.readlink()), address.stat().st_ctime_ns
        port.close()
        assert not address.is_symlink()
        with another_with_the_number_of(first, made) as other:
            port.reopen()
            assert address == Path(port.address)
            assert str(address.readlink()) not in (other.path, port.address)
        port.close()
    assert list(tmp_path.iterdir()) == []


async def test_the_link_of_a_killed_shoe_that_leads_to_anothers_pty_is_replaced(
    wire: Wire, tmp_path: Path
) -> None:
    link = tmp_path / "shoe"
    gone = Pty()
    link.symlink_to(gone.path)
    made = link.lstat().st_ctime_ns
    gone.close()
    with another_with_the_number_of(gone.path, made) as other:
        port = PtyPort(str(link))
        port.start(wire)
        assert str(link.readlink()) != other.path
        port.close()
        assert other.untouched


async def test_bytes_cross_tcp_and_an_unplug_hangs_up(tcp: TcpPort, wire: Wire) -> None:
    address = tcp.address
    with tcp_host(tcp) as host:
        await until(lambda: wire.log == ["opened"])
        tcp.write(b"from the shoe")
        host.sendall(b"from the host")
        assert await read_exactly(host.fileno(), 13) == b"from the shoe"
        await until(lambda: wire.data == b"from the host")
        tcp.close()
        assert wire.log == ["opened", "closed"]
        assert host.recv(10) == b""
    tcp.reopen()
    assert tcp.address == address
    with tcp_host(tcp):
        await until(lambda: wire.log == ["opened", "closed", "opened"])
    await until(lambda: wire.log[-1] == "closed")


async def test_a_second_tcp_host_is_turned_away(tcp: TcpPort, wire: Wire) -> None:
    with tcp_host(tcp) as first:
        await until(lambda: wire.log == ["opened"])
        with tcp_host(tcp) as second:
            second.setblocking(False)
            await until(lambda: _ended(second))
        tcp.write(b"still here")
        assert await read_exactly(first.fileno(), 10) == b"still here"


def _ended(host: socket.socket) -> bool:
    try:
        return host.recv(1) == b""
    except BlockingIOError:
        return False


async def test_a_taken_tcp_port_is_told_in_one_line(tcp: TcpPort, wire: Wire) -> None:
    number = int(tcp.address.rpartition(":")[2])
    with pytest.raises(PortFault, match="cannot listen at tcp:"):
        TcpPort("127.0.0.1", number).start(wire)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("pty", PtyAt(None)),
        ("pty:/run/shoe", PtyAt("/run/shoe")),
        ("tcp:127.0.0.1:4001", TcpAt("127.0.0.1", 4001)),
        ("tcp:[::1]:0", TcpAt("::1", 0)),
        ("usbip:127.0.0.1:3240", UsbIpAt("127.0.0.1", 3240, "serial")),
        ("usbip:[::1]:0:bulk", UsbIpAt("::1", 0, "bulk")),
    ],
)
def test_ports_are_understood(text: str, at: PortAt) -> None:
    assert parse(text) == at


@pytest.mark.parametrize(
    "text",
    [
        *("", "pty:", "ptyx", "tcp", "tcp:host", "tcp::1", "tcp:h:70000", "tcp:h:-1", "usb:1"),
        *("usbip", "usbip:h", "usbip:h:1:", "usbip:h:bulk", "usbip:h:1:cdc", "usbip::3240:bulk"),
        f"tcp:h:{'9' * 5000}",
    ],
)
def test_other_ports_are_refused(text: str) -> None:
    with pytest.raises(WrongUsage, match="expected pty"):
        parse(text)
