"""A table whose shoe hangs on USB: the daemon at a serial port, or at libusb, over USB/IP."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from shoe_testing.config import write_config
from shoe_testing.daemon import (
    ShoeAtTable,
    ToldEvents,
    nothing_was_lost_or_doubled,
    serving,
)
from shoe_testing.rounds import of_type
from shoe_testing.usbip_host import SerialDriver, UsbIpBus
from simulators.ports.port import UsbKind
from simulators.ports.usbip.port import UsbIpPort
from simulators.ports.usbip.server import UsbIpServer

pytestmark = pytest.mark.slow

ROUNDS = 9


@asynccontextmanager
async def shoe_on_usb(folder: Path, kind: UsbKind) -> AsyncIterator[ShoeAtTable]:
    with UsbIpServer("127.0.0.1", 0) as server:
        port = UsbIpPort(server, kind, "SIM-0001")
        with ShoeAtTable(folder, "reference", seed=5, port=port) as shoe:
            yield shoe


@pytest.mark.parametrize("kind", ["serial", "bulk"])
async def test_a_shoe_on_usb_that_is_unplugged_is_told_as_it_was_dealt(
    kind: UsbKind, tmp_path: Path
) -> None:
    told, bus, driver = ToldEvents(), UsbIpBus(), SerialDriver(str(tmp_path / "ttyACM0"))
    host = driver if kind == "serial" else bus
    address = str(tmp_path / "ttyACM0") if kind == "serial" else "usb:SIM-0001"
    async with shoe_on_usb(tmp_path, kind) as shoe, AsyncExitStack() as daemon:
        shoe.rest_at(2, "banker", 1)
        attachment = shoe.port.attachment
        assert attachment is not None
        async with host.attached(attachment) as device:
            config = write_config(tmp_path, address, decks=4)
            await daemon.enter_async_context(serving(config, told, usb=lambda: bus))
            await shoe.rests()
            shoe.rig.unplug()
            await device.gone.wait()
            await told.times(1, "shoe.lost")
        shoe.rig.replug()
        async with host.attached(attachment) as device:
            await told.times(2, "shoe.connected")
            shoe.rig.freeze()
            drawn = len(shoe.truth.cards)
            shoe.rest_after(ROUNDS)
            shoe.go_on()
            asked, _ = device.submit(0x80, length=1, setup=bytes((0x80, 8, 0, 0, 0, 0, 1, 0)))
            assert await device.unlink(asked) == -errno.ECONNRESET
            assert len(shoe.truth.cards) == drawn
            shoe.rig.thaw()
            await shoe.rests()
            await told.times(ROUNDS, "round.outcome")
            await daemon.aclose()
        shoe.rig.stop()
    public = nothing_was_lost_or_doubled(tmp_path, shoe)
    assert len(of_type(public, "round.outcome")) == ROUNDS
