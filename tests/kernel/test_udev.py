"""The project's udev rules in a real udev: links, rights, and what they leave alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoe_testing.guest.actions import (
    enumerated,
    exists,
    kernel_log,
    node,
    properties,
    read,
    usb_devices,
    wait_for,
    wait_until_gone,
)
from shoe_testing.guest.daemon import SERIAL_NUMBER, attach_to, shoe_in
from shoe_testing.guest.machine import ADAPTER_NAME, LINE_NAME, SERIAL_LINE, USB_ADAPTER, Guest

pytestmark = pytest.mark.guest

SHOES = "/dev/card-shoe"
FOR_SHOES = {"owner": "root", "group": "card-shoe", "mode": "660"}


async def complaints(guest: Guest) -> list[str]:
    """What the kernel found wrong with a device."""
    log = await guest.call(kernel_log, "usb ", "cdc_acm", "hub ")
    return [line for line in log if re.search("error|fail|warn|unable|not accept|bug", line)]


async def test_a_serial_shoe_has_a_link_and_rights_until_it_is_unplugged(
    guest: Guest, tmp_path: Path
) -> None:
    link = f"{SHOES}/{SERIAL_NUMBER}"
    with shoe_in(guest, tmp_path, "serial") as shoe:
        assert shoe.port.address == link
        await attach_to(guest, shoe)
        await guest.call(wait_for, link)
        assert await guest.call(node, link) == {"leads_to": "/dev/ttyACM0", **FOR_SHOES}
        known = await guest.call(properties, "/dev/ttyACM0")
        assert known["ID_MM_DEVICE_IGNORE"] == known["ID_MM_PORT_IGNORE"] == "1"
        (device,) = await guest.call(usb_devices)
        assert device["serial"] == SERIAL_NUMBER
        assert set(device["drivers"].values()) == {"cdc_acm"}
        assert device["speed"] == "12"
        shoe.rig.unplug()
        await guest.call(wait_until_gone, link, "/dev/ttyACM0")
        assert await guest.call(usb_devices) == []
    assert await complaints(guest) == []


async def test_a_bulk_shoe_has_no_driver_and_its_node_has_rights(
    guest: Guest, tmp_path: Path
) -> None:
    with shoe_in(guest, tmp_path, "bulk") as shoe:
        port = await attach_to(guest, shoe)
        assert port is not None
        device = await guest.call(enumerated, port)
        at = f"/dev/bus/usb/001/{int(device['devnum']):03d}"
        assert device["drivers"] == {"0": None}
        assert await guest.call(node, at) == {"leads_to": at, **FOR_SHOES}
        shoe.rig.unplug()
        await guest.call(wait_until_gone, at)
    assert await complaints(guest) == []


async def test_a_site_names_its_adapters_and_its_ports(guest: Guest, tmp_path: Path) -> None:
    line = await guest.call(node, f"{SHOES}/{LINE_NAME}")
    assert line == {"leads_to": f"/dev/{SERIAL_LINE}", **FOR_SHOES}
    link = f"{SHOES}/{ADAPTER_NAME}"
    with shoe_in(guest, tmp_path, "adapter"):
        await guest.call(wait_for, link)
        assert await guest.call(node, link) == {"leads_to": f"/dev/{USB_ADAPTER}", **FOR_SHOES}
        latency = f"/sys/bus/usb-serial/devices/{USB_ADAPTER}/latency_timer"
        assert (await guest.call(read, latency)).strip() == "1"
    await guest.call(wait_until_gone, link)
    assert await guest.call(exists, f"{SHOES}/{LINE_NAME}")
