"""USB devices found by serial number, claimed, refused in one line, and given back."""

from __future__ import annotations

import builtins
import errno
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import usb.core  # type: ignore[import-untyped]

from shoe_ctl.errors import PortError
from shoe_ctl.link.transport import TransportLost
from shoe_ctl.link.usb_discovery import claim_usb_device, find_usb_devices, libusb
from shoe_testing.simulated_usb import Attached, UsbBus, UsbPort
from shoe_testing.transports import TransportEnd, plugged_in, read_bytes, until


@pytest.fixture
async def end(tmp_path: Path) -> AsyncIterator[TransportEnd]:
    async with plugged_in("usb", tmp_path) as there:
        yield there


def port_at(end: TransportEnd) -> UsbPort:
    assert isinstance(end.port, UsbPort)
    return end.port


class Never:
    """The wire of a shoe that no host comes to."""

    def opened(self) -> None:
        raise AssertionError

    def received(self, data: bytes) -> None:  # noqa: ARG002 - as a wire has it
        raise AssertionError

    def closed(self) -> None:
        raise AssertionError

    def drained(self) -> None:
        raise AssertionError


@contextmanager
def second(bus: UsbBus, serial: str, end: TransportEnd) -> Iterator[UsbPort]:
    """Another device on the same bus."""
    other = UsbPort(bus, serial)
    other.start(end)
    try:
        yield other
    finally:
        other.close()


async def refusal(end: TransportEnd) -> str:
    with pytest.raises(PortError) as refused:
        await end.open()
    line = str(refused.value)
    assert "\n" not in line and refused.value.exit_code == 3
    return line


async def test_the_device_is_chosen_by_its_serial_number(end: TransportEnd) -> None:
    for serial in ("SH-0041", "SH-0043"):
        other = UsbPort(end.bus, serial)
        other.start(Never())
    transport = await end.connect()
    transport.write(b"you")
    assert await end.hear(3) == b"you"
    transport.close()


async def test_an_absent_device_is_told_with_those_that_are_there(end: TransportEnd) -> None:
    end.port.close()
    assert "none is plugged in: check power and cable" in await refusal(end)
    with second(end.bus, "SH-0041", end):
        assert "there are: usb:SH-0041" in await refusal(end)


async def test_a_device_of_another_class_is_never_opened(
    end: TransportEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(dev: Attached) -> None:
        raise AssertionError

    port_at(end).vendor_specific = False
    monkeypatch.setattr(end.bus, "open_device", never)
    assert "name a shoe with a serial port by its path" in await refusal(end)


async def test_two_devices_with_one_serial_number_are_not_guessed_between(
    end: TransportEnd,
) -> None:
    with second(end.bus, "SH-0042", end):
        line = await refusal(end)
    assert line.startswith("two USB devices have the serial number SH-0042")
    assert "/dev/bus/usb/001/001" in line and "/dev/bus/usb/001/002" in line


async def test_a_device_that_this_user_may_not_open_is_told_with_its_node(
    end: TransportEnd,
) -> None:
    port_at(end).barred = True
    line = await refusal(end)
    assert line.startswith("permission denied: USB device 1209:0001 at /dev/bus/usb/001/001")
    assert "udev rule" in line


async def test_a_device_that_a_kernel_driver_has_is_not_taken_from_it(end: TransportEnd) -> None:
    port_at(end).driver = True
    line = await refusal(end)
    assert line.startswith("usb:SH-0042 is taken by the kernel driver")
    assert "/dev/serial/by-id" in line
    port_at(end).driver = False
    (await end.connect()).close()


async def test_a_device_in_use_is_taken(end: TransportEnd) -> None:
    ours = claim_usb_device(end.name, end.bus)  # type: ignore[arg-type]
    assert (await refusal(end)).startswith("port taken: usb:SH-0042 is in use by another program")
    ours.owner.release()
    (await end.connect()).close()


async def test_a_device_without_a_configuration_is_given_its_first(end: TransportEnd) -> None:
    port_at(end).configuration = 0
    (await end.connect()).close()
    assert port_at(end).configuration == 1


async def test_a_ghost_of_an_unplugged_device_is_passed_over(end: TransportEnd) -> None:
    end.bus.ghosts = True
    for _ in range(3):
        transport = await end.connect()
        end.port.close()
        with pytest.raises(TransportLost, match="unplugged: usb:SH-0042"):
            await read_bytes(transport, 1)
        transport.close()
        assert "no USB device with serial number SH-0042" in await refusal(end)
        end.port.reopen()
    assert len(end.bus.devices) == 4
    assert [device.serial for device in find_usb_devices(end.bus)] == ["SH-0042"]
    (await end.connect()).close()


async def test_a_device_that_goes_while_it_is_opened_is_told_so(
    end: TransportEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    def goes(handle: Any, intf: int) -> None:
        end.port.close()
        raise usb.core.USBError("gone", errno=errno.ENODEV)

    monkeypatch.setattr(end.bus, "claim_interface", goes)
    assert (await refusal(end)).startswith("unplugged: usb:SH-0042 was opening")


async def test_every_device_that_was_only_looked_at_is_closed_again(
    end: TransportEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    real_open, real_close = end.bus.open_device, end.bus.close_device

    def opens(device: Attached) -> Any:
        opened.append(real_open(device))
        return opened[-1]

    def closes(handle: Any) -> None:
        opened.remove(handle)
        real_close(handle)

    monkeypatch.setattr(end.bus, "open_device", opens)
    monkeypatch.setattr(end.bus, "close_device", closes)
    with second(end.bus, "SH-0041", end):
        for device in find_usb_devices(end.bus):
            device.release()
        assert opened == []
        transport = await end.connect()
        assert len(opened) == 1
        transport.close()
        await until(lambda: opened == [])


async def test_a_driver_that_hangs_is_waited_for_only_so_long(
    end: TransportEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoe_ctl.link.usb.RELEASED_WITHIN_S", 0.05)
    go_on, real = threading.Event(), end.bus.bulk_read

    def hangs(*call: Any) -> int:
        assert go_on.wait(10)
        return int(real(*call))

    monkeypatch.setattr(end.bus, "bulk_read", hangs)
    (await end.open()).close()
    assert (await refusal(end)).startswith("usb:SH-0042 is not released yet")
    go_on.set()
    monkeypatch.setattr("shoe_ctl.link.usb.RELEASED_WITHIN_S", 10)
    (await end.connect()).close()


def test_without_the_libraries_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name in ("libusb_package", "usb.core"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "libusb_package", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(PortError) as refused:
        libusb()
    assert str(refused.value) == (
        "a usb: port needs pyusb and libusb-package: run pip install 'shoe-ctl[usb]'"
    )


LIST = """
from shoe_ctl.link.usb_discovery import find_usb_devices, libusb
for device in find_usb_devices(libusb()):
    print(device.name)
    device.release()
print("done")
"""


@pytest.mark.slow
def test_the_real_libusb_can_be_asked_what_is_plugged_in() -> None:
    """Whatever that is here. In a process of its own: libusb keeps a thread while there is one."""
    done = subprocess.run(
        (sys.executable, "-W", "error", "-c", LIST),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.endswith("done\n"), done.stderr
