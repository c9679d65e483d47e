"""USB at work: packets, time-outs, what is read ahead, failures of either thread."""

from __future__ import annotations

import asyncio
import errno
import threading
from array import array
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import usb.core  # type: ignore[import-untyped]

from shoe_ctl.link.transport import TransportLost
from shoe_ctl.link.usb import HAND_OFF_LIMIT
from shoe_testing.simulated_usb import HELD, PACKET
from shoe_testing.transports import TransportEnd, is_readable, plugged_in, read_bytes, until


@pytest.fixture
async def end(tmp_path: Path) -> AsyncIterator[TransportEnd]:
    async with plugged_in("usb", tmp_path) as there:
        yield there


async def test_reads_ask_for_whole_packets_and_time_outs_go_unnoticed(
    end: TransportEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked, timed_out = end.bus.bulk_read, set(), threading.Event()

    def noted(handle: Any, ep: int, intf: int, buff: Any, timeout: int) -> int:
        asked.add(len(buff))
        try:
            return real(handle, ep, intf, buff, min(timeout, 5))
        except usb.core.USBTimeoutError:
            timed_out.set()
            raise

    monkeypatch.setattr(end.bus, "bulk_read", noted)
    transport = await end.connect()
    await until(timed_out.is_set)
    end.port.write(b"x" * PACKET * 2)
    assert await read_bytes(transport, PACKET * 2) == b"x" * PACKET * 2
    assert transport.lost is None
    assert all(size % PACKET == 0 for size in asked)
    transport.close()


async def test_a_write_that_times_out_is_made_again_and_in_order(
    end: TransportEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = end.bus.bulk_write, 0

    def reluctant(handle: Any, ep: int, intf: int, data: Any, timeout: int) -> int:
        nonlocal calls
        calls += 1
        if calls % 2:
            raise usb.core.USBTimeoutError("not now", errno=errno.ETIMEDOUT)
        return int(real(handle, ep, intf, data[:7], timeout))

    monkeypatch.setattr(end.bus, "bulk_write", reluctant)
    transport = await end.connect()
    transport.write(bytes(range(100)))
    assert await end.hear(100) == bytes(range(100))
    transport.close()


async def test_what_is_read_ahead_is_bounded(end: TransportEnd) -> None:
    """While nobody takes it, what is beyond the bound stays in the shoe's own buffer."""
    transport = await end.connect()
    device, sent, taken = end.bus.devices[0], 0, True
    while taken and sent < 4 * HAND_OFF_LIMIT:
        end.port.write(b"y" * HELD)
        sent += HELD
        try:
            await until(lambda: not device.to_host, timeout_s=0.5)
        except TimeoutError:
            taken = False
    assert 0 <= sent - device.waiting - HAND_OFF_LIMIT < PACKET
    assert await read_bytes(transport, sent) == b"y" * sent
    transport.close()


async def test_a_loss_that_writing_finds_waits_for_what_is_still_being_read(
    end: TransportEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed, looked = threading.Event(), threading.Event()

    def fails(*_: object) -> None:
        failed.set()
        raise usb.core.USBError("gone", errno=errno.ENODEV)

    def late(handle: Any, ep: int, intf: int, buff: Any, timeout: int) -> int:
        assert looked.wait(10)
        buff[:4] = array("B", b"late")
        return 4

    monkeypatch.setattr(end.bus, "bulk_write", fails)
    monkeypatch.setattr(end.bus, "bulk_read", late)
    transport = await end.open()
    transport.write(b"lock")
    await until(lambda: failed.is_set() and transport.threads._failure is not None)  # type: ignore[attr-defined]
    assert transport.read() == b""
    looked.set()
    assert await read_bytes(transport, 4) == b"late"
    with pytest.raises(TransportLost, match="unplugged"):
        await read_bytes(transport, 1)
    assert transport.dropped == 4
    transport.close()


async def test_a_device_that_is_claimed_in_vain_is_given_back(
    end: TransportEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_it, go_on, real = threading.Event(), threading.Event(), end.bus.claim_interface

    def slow(handle: Any, intf: int) -> None:
        at_it.set()
        assert go_on.wait(10)
        real(handle, intf)

    monkeypatch.setattr(end.bus, "claim_interface", slow)
    opening = asyncio.ensure_future(end.open())
    await until(at_it.is_set)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    go_on.set()
    await until(lambda: end.connections == 1 and not end.connected)
    (await end.connect()).close()


async def test_what_was_read_before_an_unplug_is_given_before_the_loss(end: TransportEnd) -> None:
    transport = await end.connect()
    end.port.write(b"last words")
    await until(lambda: not end.bus.devices[0].to_host)
    end.port.close()
    assert await read_bytes(transport, 10) == b"last words"
    with pytest.raises(TransportLost, match="unplugged"):
        await read_bytes(transport, 1)
    transport.close()


async def test_bytes_that_nobody_took_before_closing_are_told(
    end: TransportEnd, caplog: pytest.LogCaptureFixture
) -> None:
    transport = await end.connect()
    end.port.write(b"unread")
    await is_readable(transport)
    transport.close()
    assert "usb:SH-0042: unread bytes dropped: bytes=6" in caplog.text


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENODEV, "unplugged: usb:SH-0042"),
        (errno.EPROTO, "unplugged: usb:SH-0042"),
        (errno.EPIPE, "endpoint stalled: usb:SH-0042"),
        (errno.EOVERFLOW, "usb:SH-0042: as the system says"),
    ],
)
@pytest.mark.parametrize("way", ["bulk_read", "bulk_write"])
async def test_a_failure_of_either_thread_is_a_loss_and_gives_the_device_back(
    end: TransportEnd, monkeypatch: pytest.MonkeyPatch, way: str, number: int, says: str
) -> None:
    def fails(*_: object) -> None:
        raise usb.core.USBError("as the system says", errno=number)

    monkeypatch.setattr(end.bus, way, fails)
    transport = await end.open()
    transport.write(b"lock")
    with pytest.raises(TransportLost, match=f"^{says}$"):
        await read_bytes(transport, 1)
    transport.close()
    monkeypatch.undo()
    (await end.connect()).close()


async def test_what_nobody_foresaw_in_a_thread_is_a_loss_too(
    end: TransportEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(end.bus, "bulk_read", breaks)
    transport = await end.open()
    with pytest.raises(TransportLost, match="ZeroDivisionError"):
        await read_bytes(transport, 1)
    transport.close()
