"""What is plugged in, from trees as the kernel and udev lay them out.

In: folders that look like /dev, /sys and /run/udev. Out: ports and devices, names, leave.
Must not know: what is really plugged in here.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from shoe_ctl.link import discovery
from shoe_ctl.link.discovery import (
    Access,
    Identity,
    System,
    find_contested_links,
    find_serial_ports,
    find_usb_candidates,
)
from shoe_testing.faulty_ports import Nobody
from shoe_testing.simulated_usb import UsbBus, UsbPort

FTDI = Identity(
    vendor_id="0403",
    product_id="6001",
    vendor="FTDI",
    product="FT232R USB UART",
    serial="A50285BI",
)


@pytest.fixture
def system(tmp_path: Path) -> System:
    for folder in ("dev", "sys/class/tty", "udev", "proc"):
        (tmp_path / folder).mkdir(parents=True)
    return System(
        dev=tmp_path / "dev",
        sys=tmp_path / "sys",
        udev=tmp_path / "udev",
        proc=tmp_path / "proc",
    )


def driven_by(device: Path, driver: str) -> None:
    there = device.parents[1] / "drivers" / driver
    there.mkdir(parents=True, exist_ok=True)
    (device / "driver").symlink_to(there)


def adapter(system: System, name: str, identity: Identity) -> Path:
    """A USB adapter with one port, as udev would have made its links."""
    usb = system.sys / "devices" / "usb1" / "1-1"
    device = usb / "1-1:1.0" / name
    device.mkdir(parents=True)
    said = {
        "idVendor": identity.vendor_id, "idProduct": identity.product_id,
        "manufacturer": identity.vendor, "product": identity.product, "serial": identity.serial,
    }  # fmt: skip
    for file, text in said.items():
        if text is not None:
            (usb / file).write_text(f"{text}\n")
    driven_by(device, "ftdi_sio")
    tty = system.sys / "class" / "tty" / name
    tty.mkdir()
    (tty / "device").symlink_to(device)
    node = system.dev / name
    node.touch(mode=0o660)
    return node


def linked(system: System, folder: str, name: str, node: Path) -> str:
    place = system.dev / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / name).symlink_to(node)
    return str(place / name)


def test_an_adapter_is_listed_with_its_names_its_maker_and_its_links(system: System) -> None:
    node = adapter(system, "ttyUSB0", FTDI)
    by_id = linked(system, "serial/by-id", "usb-FTDI_FT232R_USB_UART_A50285BI-if00-port0", node)
    shoe = linked(system, "card-shoe", "SH-0042", node)
    (found,) = find_serial_ports(system)
    assert (found.path, found.by_id, found.card_shoe) == (str(node), by_id, shoe)
    assert found.identity == FTDI
    assert found.driver == "ftdi_sio"
    assert found.access == Access(may=True)


def test_a_built_in_port_is_listed_where_there_is_a_chip_behind_it(system: System) -> None:
    for name, kind in (("ttyS0", "4"), ("ttyS1", "0")):
        device = system.sys / "devices" / "00:04" / f"{name}:0" / f"{name}:0.0"
        device.mkdir(parents=True)
        driven_by(device, "port")
        if not (device.parents[1] / "driver").exists():
            driven_by(device.parents[1], "serial")
        tty = system.sys / "class" / "tty" / name
        tty.mkdir()
        (tty / "type").write_text(f"{kind}\n")
        (tty / "device").symlink_to(device)
    (system.sys / "class" / "tty" / "tty7").mkdir()
    (found,) = find_serial_ports(system)
    assert (found.path, found.driver) == (str(system.dev / "ttyS0"), "serial")
    assert found.identity == Identity()


def test_without_sys_adapters_and_links_are_listed_all_the_same(tmp_path: Path) -> None:
    dev = tmp_path / "dev"
    dev.mkdir()
    (dev / "ttyACM0").touch()
    (tmp_path / "pts").touch()
    system = System(dev=dev, sys=tmp_path / "no-sys")
    shoe = linked(system, "card-shoe", "SH-0042", tmp_path / "pts")
    assert [found.path for found in find_serial_ports(system)] == [
        str(dev / "ttyACM0"),
        str(tmp_path / "pts"),
    ]
    assert find_serial_ports(system)[1].card_shoe == shoe


def test_a_host_without_any_of_it_has_no_ports(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert find_serial_ports(System(dev=nowhere, sys=nowhere, udev=nowhere, proc=nowhere)) == []


def test_a_link_that_leads_nowhere_is_no_port(system: System) -> None:
    linked(system, "card-shoe", "SH-0042", system.dev / "ttyUSB9")
    assert find_serial_ports(system) == []


def test_what_a_device_calls_itself_cannot_move_the_cursor(system: System) -> None:
    adapter(system, "ttyUSB0", Identity(vendor_id="0403", product="Shoe\x1b[2J\u202e"))
    assert find_serial_ports(system)[0].identity.product == "Shoe?[2J?"


@pytest.mark.parametrize(("mode", "group"), [(0o660, "kept"), (0o600, None)])
def test_the_group_that_may_is_named_where_there_is_one(
    system: System, monkeypatch: pytest.MonkeyPatch, mode: int, group: str | None
) -> None:
    node = adapter(system, "ttyUSB0", FTDI)
    node.chmod(mode)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root may all
    monkeypatch.setattr(discovery, "group_name", lambda _: "kept")
    assert find_serial_ports(system)[0].access == Access(may=False, group=group)


@pytest.fixture
def bus() -> UsbBus:
    return UsbBus()


async def test_a_usb_device_is_listed_with_its_serial_number_and_driver(
    system: System, bus: UsbBus
) -> None:
    shoe = UsbPort(bus, "SH-0042")
    shoe.start(Nobody())
    place = system.sys / "bus" / "usb" / "devices"
    (place / "1-1").mkdir(parents=True)
    (place / "1-1" / "product").write_text("Card shoe 3\n")
    (place / "1-1:1.0").mkdir()
    driven_by(place / "1-1:1.0", "usbserial_generic")
    (found,) = find_usb_candidates(system, bus)
    assert found.node == "/dev/bus/usb/001/001"
    assert found.identity == Identity(
        vendor_id="1209", product_id="0001", product="Card shoe 3", serial="SH-0042"
    )
    assert (found.driver, found.access) == ("usbserial_generic", Access(may=True))
    shoe.close()


async def test_a_usb_device_that_may_not_be_opened_is_known_from_the_kernel(
    system: System, bus: UsbBus
) -> None:
    shoe = UsbPort(bus, "SH-0042")
    shoe.barred = True
    shoe.start(Nobody())
    place = system.sys / "bus" / "usb" / "devices" / "1-1"
    place.mkdir(parents=True)
    (place / "serial").write_text("SH-0042\n")
    (found,) = find_usb_candidates(system, bus)
    assert found.identity.serial == "SH-0042"
    assert not found.access.may
    shoe.close()


def test_a_link_that_two_ports_claim_is_reported_with_both(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both asked udev for it; it leads to one of them. Nodes of a test have no device numbers."""
    numbers = {}
    for minor, name in enumerate(("ttyACM0", "ttyACM1", "ttyACM2")):
        node = system.dev / name
        node.touch()
        numbers[str(node)] = minor
        link = "SH-0042" if minor < 2 else "SH-0043"
        (system.udev / f"c166:{minor}").write_text(f"S:serial/by-id/x{minor}\nS:card-shoe/{link}\n")
    stat = Path.stat

    def numbered(path: Path, **options: bool) -> object:
        if str(path) in numbers:
            return SimpleNamespace(st_rdev=os.makedev(166, numbers[str(path)]), st_mode=0o20660)
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", numbered)
    assert find_contested_links(system) == [
        (
            str(system.dev / "card-shoe/SH-0042"),
            [str(system.dev / "ttyACM0"), str(system.dev / "ttyACM1")],
        )
    ]
