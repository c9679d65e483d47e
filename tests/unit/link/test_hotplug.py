"""A port's return is noticed by itself: folders that come and go, real ptys, a clock by hand.

In: links, nodes, ptys. Out: what the supervisor does before any back-off has passed.
Must not know: how it is noticed.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import os
import tty
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoe_ctl.errors import PortError
from shoe_ctl.link.address import SerialAddress, TcpAddress, UsbAddress
from shoe_ctl.link.hotplug import Arrivals, Inotify, watch_arrivals
from shoe_ctl.link.reconnect import LinkState
from shoe_ctl.link.transport import Opener, Transport
from shoe_ctl.link.transport_factory import opener
from shoe_testing.faulty_ports import Nobody
from shoe_testing.simulated_usb import UsbBus
from shoe_testing.simulated_usb import UsbPort as SimulatedUsb
from shoe_testing.transports import (
    HandClock,
    LineProfile,
    LinkOwner,
    Pty,
    ScriptedTransport,
    another_with_the_number_of,
    end_link,
    until,
)

LATE_S = 200.0
"""By then a port is tried every five seconds."""


@pytest.fixture
def pty() -> Iterator[str]:
    """The host's side of a pty whose other side stays open."""
    shoe, host = os.openpty()
    tty.setraw(host)
    yield os.ttyname(host)
    os.close(host)
    os.close(shoe)


def opening(path: Path, executor: ThreadPoolExecutor) -> tuple[Opener, Arrivals]:
    port = SerialAddress(str(path))
    return (
        opener(port, LineProfile.SERIAL, executor, lambda: None),
        watch_arrivals(port),
    )


def inotifies() -> list[Path]:
    found = []
    for fd in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the descriptor of this very listing
            found += [fd] if "inotify" in str(fd.readlink()) else []
    return found


async def wait_long(clock: HandClock) -> None:
    """Minutes of failing: the next attempt is not due for seconds."""
    await until(lambda: clock.waiting)
    clock.advance(LATE_S)
    await until(lambda: clock.waiting)
    while clock.asked[-1] < 5.0:
        await clock.pass_next()
        await until(lambda: clock.waiting)


async def is_up(host: LinkOwner) -> None:
    """It comes up, and no time passed."""
    before = host.clock.now
    await until(lambda: host.link.state is LinkState.UP)
    assert host.clock.now == before


def link_in_its_folder(folder: Path, pty: str) -> None:
    (folder / "SH-1").symlink_to(pty)


def link_renamed_into_place(folder: Path, pty: str) -> None:
    (folder / ".#SH-1").symlink_to(pty)
    (folder / ".#SH-1").rename(folder / "SH-1")


@pytest.mark.parametrize("arrive", [link_in_its_folder, link_renamed_into_place])
async def test_after_minutes_a_link_that_returns_is_noticed_at_once(
    tmp_path: Path, pty: str, executor: ThreadPoolExecutor, arrive: Callable[[Path, str], None]
) -> None:
    opens, arrivals = opening(tmp_path / "SH-1", executor)
    host = LinkOwner(opens, arrivals=arrivals)
    running = asyncio.create_task(host.link.run())
    await wait_long(host.clock)
    arrive(tmp_path, pty)
    await is_up(host)
    assert inotifies() == []
    await end_link(running)


async def test_a_folder_that_is_not_there_yet_is_waited_for_step_by_step(
    tmp_path: Path, pty: str, executor: ThreadPoolExecutor
) -> None:
    path = tmp_path / "serial" / "by-id" / "usb-FTDI"
    opens, arrivals = opening(path, executor)
    host = LinkOwner(opens, arrivals=arrivals)
    running = asyncio.create_task(host.link.run())
    await wait_long(host.clock)
    path.parent.mkdir(parents=True)
    path.symlink_to(pty)
    await is_up(host)
    await end_link(running)


async def test_a_folder_that_goes_with_its_last_link_is_found_again(
    tmp_path: Path, pty: str, executor: ThreadPoolExecutor
) -> None:
    path = tmp_path / "card-shoe" / "SH-1"
    path.parent.mkdir()
    path.symlink_to("/dev/pts/none")
    opens, arrivals = opening(path, executor)
    host = LinkOwner(opens, arrivals=arrivals)
    running = asyncio.create_task(host.link.run())
    await wait_long(host.clock)
    path.unlink()
    path.parent.rmdir()
    await wait_long(host.clock)
    path.parent.mkdir()
    path.symlink_to(pty)
    await is_up(host)
    await end_link(running)


@pytest.mark.parametrize("linked", [False, True], ids=["bare", "linked"])
async def test_terminals_that_others_open_are_no_return_of_a_pty(
    tmp_path: Path, executor: ThreadPoolExecutor, linked: bool
) -> None:
    gone = Pty()
    path = tmp_path / "SH-1" if linked else Path(gone.path)
    if linked:
        path.symlink_to(gone.path)
    _, arrivals_of_pty = opening(path, executor)
    _, arrivals_of_link = opening(tmp_path / "sign", executor)
    gone.close()
    with arrivals_of_pty() as arrived, arrivals_of_link() as later:
        with another_with_the_number_of(gone.path, gone.made):
            (tmp_path / "sign").symlink_to(tmp_path)
            await until(later.is_set)
            await asyncio.sleep(0)
        assert not arrived.is_set()


async def test_a_link_that_stays_is_followed_to_the_node_that_returns(
    tmp_path: Path, pty: str, executor: ThreadPoolExecutor
) -> None:
    (tmp_path / "links").mkdir()
    path = tmp_path / "links" / "SH-1"
    path.symlink_to("../ttyUSB0")
    opens, arrivals = opening(path, executor)
    host = LinkOwner(opens, arrivals=arrivals)
    running = asyncio.create_task(host.link.run())
    await wait_long(host.clock)
    (tmp_path / "ttyUSB0").symlink_to(pty)
    await is_up(host)
    await end_link(running)


async def test_leave_given_late_to_a_node_that_is_there_is_noticed(tmp_path: Path) -> None:
    node = tmp_path / "ttyUSB0"
    node.touch(mode=0o600)

    async def open_if_allowed() -> Transport:
        if node.stat().st_mode & 0o060:
            return ScriptedTransport([b"c\n"])
        raise PortError("permission denied")

    host = LinkOwner(open_if_allowed, arrivals=watch_arrivals(SerialAddress(str(node))))
    running = asyncio.create_task(host.link.run())
    await wait_long(host.clock)
    node.chmod(0o660)
    await until(lambda: host.told[:1] == ["up 41"])
    await end_link(running)


async def test_what_arrives_under_another_name_is_nothing_to_us(tmp_path: Path) -> None:
    with watch_arrivals(SerialAddress(str(tmp_path / "SH-1")))() as arrived:
        (tmp_path / "SH-2").touch()
        (tmp_path / "SH-1x").touch()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await arrived.wait()
        assert not arrived.is_set()
        (tmp_path / "SH-1").touch()
        async with asyncio.timeout(10):
            await arrived.wait()


async def test_what_arrives_while_an_attempt_fails_is_not_missed(
    tmp_path: Path, pty: str, executor: ThreadPoolExecutor
) -> None:
    path = tmp_path / "SH-1"
    opens, arrivals = opening(path, executor)
    attempts = 0

    async def too_early() -> Transport:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            path.symlink_to(pty)
            raise PortError("no such port, a moment ago")
        return await opens()

    host = LinkOwner(too_early, arrivals=arrivals)
    running = asyncio.create_task(host.link.run())
    await is_up(host)
    await end_link(running)


async def test_after_an_arrival_that_does_not_open_yet_it_is_tried_quickly_again(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    opens, arrivals = opening(tmp_path / "SH-1", executor)
    host = LinkOwner(opens, arrivals=arrivals)
    running = asyncio.create_task(host.link.run())
    await wait_long(host.clock)
    before = len(host.clock.asked)
    (tmp_path / "SH-1").touch()  # which is no serial port
    await until(lambda: len(host.clock.asked) > before)
    for _ in range(3):
        await host.clock.pass_next()
    await until(lambda: host.clock.waiting)
    # making the file also sets its attributes: that may be told as news of its own
    assert host.clock.asked[-4:] == pytest.approx([0.05, 0.1, 0.2, 0.25])
    await end_link(running)


async def test_the_node_of_a_usb_device_that_returns_is_noticed(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    bus = UsbBus()
    shoe = SimulatedUsb(bus, "SH-0042")
    port = UsbAddress("SH-0042")
    host = LinkOwner(
        opener(port, LineProfile.SERIAL, executor, lambda: bus),
        arrivals=watch_arrivals(port, usb_nodes=tmp_path),
    )
    (tmp_path / "001").mkdir()
    running = asyncio.create_task(host.link.run())
    await wait_long(host.clock)
    shoe.start(Nobody())
    (tmp_path / "001" / "007").touch()
    await is_up(host)
    shoe.close()
    await end_link(running)


async def test_a_bus_that_comes_up_is_looked_into(tmp_path: Path) -> None:
    nodes = tmp_path / "usb"
    watch = watch_arrivals(UsbAddress("SH-1"), usb_nodes=nodes)
    for step in (nodes, nodes / "003", nodes / "003" / "001"):
        with watch() as arrived:
            assert not arrived.is_set()
            step.mkdir()
            async with asyncio.timeout(10):
                await arrived.wait()


async def test_cancelled_while_it_waits_it_watches_no_more(
    tmp_path: Path, executor: ThreadPoolExecutor
) -> None:
    opens, arrivals = opening(tmp_path / "SH-1", executor)
    host = LinkOwner(opens, arrivals=arrivals)
    running = asyncio.create_task(host.link.run())
    await wait_long(host.clock)
    assert len(inotifies()) == 1
    await end_link(running)
    assert inotifies() == []
    assert not host.clock.waiting


async def test_without_a_watch_the_back_off_remains(
    tmp_path: Path, pty: str, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(self: Inotify) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Inotify, "__init__", none_left)
    opens, arrivals = opening(tmp_path / "SH-1", executor)
    host = LinkOwner(opens, arrivals=arrivals)
    running = asyncio.create_task(host.link.run())
    await wait_long(host.clock)
    (tmp_path / "SH-1").symlink_to(pty)
    await host.clock.pass_next()
    await until(lambda: host.link.state is LinkState.UP)
    await end_link(running)


async def test_of_a_device_server_nothing_is_watched() -> None:
    with watch_arrivals(TcpAddress("127.0.0.1", 4001))() as arrived:
        assert inotifies() == []
        assert not arrived.is_set()


def test_the_kernels_refusals_are_errors_with_their_number(tmp_path: Path) -> None:
    inotify = Inotify()
    try:
        with pytest.raises(FileNotFoundError):
            inotify.watch(tmp_path / "none", 0x100)
        ctypes.set_errno(0)
        assert list(inotify.read()) == []
    finally:
        inotify.close()
