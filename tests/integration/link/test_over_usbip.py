"""A table whose shoe hangs on USB: the daemon at a serial port, or at libusb, over USB/IP."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from shoe_testing.config import write_config
from shoe_testing.daemon import (
    CutLine,
    ShoeAtTable,
    ToldEvents,
    nothing_was_lost_or_doubled,
    serving,
)
from shoe_testing.rounds import of_type
from shoe_testing.usbip_host import (
    AttachedDevice,
    NotImported,
    SerialDriver,
    UsbFailed,
    UsbIpBus,
)
from simulators.faults import Line
from simulators.ports.port import UsbKind
from simulators.ports.usbip.port import UsbIpPort
from simulators.ports.usbip.server import UsbIpServer

pytestmark = pytest.mark.slow

ROUNDS = 9

UNPLUGS = 6
BYTES_OF_A_SHOE, BYTES_OF_ITS_HOST = 3_000, 700
"""Fewer than either end says in so many rounds."""


@asynccontextmanager
async def shoe_on_usb(
    folder: Path, kind: UsbKind, to_host: Line | None = None, to_shoe: Line | None = None
) -> AsyncIterator[ShoeAtTable]:
    with (
        UsbIpServer("127.0.0.1", 0) as server,
        ShoeAtTable(
            folder,
            "reference",
            seed=5,
            port=UsbIpPort(server, kind, "SIM-0001"),
            to_host=to_host,
            to_shoe=to_shoe,
        ) as shoe,
    ):
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


@asynccontextmanager
async def attached_again(
    host: SerialDriver | UsbIpBus, shoe: ShoeAtTable
) -> AsyncIterator[list[AttachedDevice]]:
    """Whenever the shoe is plugged in, it is attached: all devices that it was."""
    devices: list[AttachedDevice] = []
    changed, once = asyncio.Event(), asyncio.Event()
    at = shoe.port.attachment
    assert at is not None

    async def attach() -> None:
        while True:
            changed.clear()
            with contextlib.suppress(NotImported, UsbFailed):
                async with host.attached(at) as device:
                    devices.append(device)
                    once.set()
                    await device.gone.wait()
                    continue
            await changed.wait()

    shoe.rig.watchers.add(changed.set)
    attaching = asyncio.create_task(attach())
    try:
        await once.wait()
        yield devices
    finally:
        shoe.rig.watchers.discard(changed.set)
        attaching.cancel()
        await asyncio.gather(attaching, return_exceptions=True)


@pytest.mark.parametrize("kind", ["serial", "bulk"])
async def test_nothing_is_lost_or_doubled_over_unplugs_at_random_bytes(
    kind: UsbKind, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulators.rig.REPLUG_S", 0.02)
    chance = random.Random(f"{kind} {seed}")
    to_host = CutLine(chance.sample(range(1, BYTES_OF_A_SHOE), UNPLUGS - 1))
    to_shoe = CutLine(chance.sample(range(1, BYTES_OF_ITS_HOST), 1))
    told, bus, driver = ToldEvents(), UsbIpBus(), SerialDriver(str(tmp_path / "ttyACM0"))
    async with shoe_on_usb(tmp_path, kind, to_host, to_shoe) as shoe:
        shoe.rest_after(ROUNDS)
        async with attached_again(driver if kind == "serial" else bus, shoe) as devices:
            address = str(tmp_path / "ttyACM0") if kind == "serial" else "usb:SIM-0001"
            config = write_config(tmp_path, address, decks=4)
            async with serving(config, told, usb=lambda: bus):
                await told.times(ROUNDS, "round.outcome")
                await shoe.rests()
    assert (to_host.cuts, to_shoe.cuts) == ([], []), "not every place was reached"
    assert len(devices) > UNPLUGS
    nothing_was_lost_or_doubled(tmp_path, shoe)
