"""Who may have a device: a driver of the kernel, another program, another host, another user."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_testing.guest.actions import enumerated, shoectl, usb_devices, used_ports, wait_for
from shoe_testing.guest.daemon import DeviceKind, attach_to, daemon_in, shoe_in
from shoe_testing.guest.machine import ADAPTER_NAME, Guest, GuestFailed

pytestmark = pytest.mark.guest

USER = "nobody"


async def doctor(guest: Guest, *words: str, user: str = "root") -> tuple[int, str]:
    """What the command says of one port: its exit code, its words without the port's name."""
    said = await guest.call(
        shoectl, user, [], ["doctor", "--profile", "reference", "--seconds", "3", *words]
    )
    return said["code"], said["out"] + said["err"]


async def test_an_interface_that_a_driver_of_the_kernel_has_is_told_in_one_line(
    guest: Guest, tmp_path: Path
) -> None:
    with shoe_in(guest, tmp_path, "adapter"):
        await guest.call(wait_for, f"/dev/card-shoe/{ADAPTER_NAME}")
        (adapter,) = await guest.call(usb_devices)
        port = f"usb:{adapter['serial']}"
        code, said = await doctor(guest, "--port", port)
        assert code == 1
        assert (
            f"{port} is taken by the kernel driver ftdi_sio (if it makes a serial port, name its "
            "path under /dev/serial/by-id; otherwise unbind the driver by a udev rule)"
        ) in " ".join(said.split())


@pytest.mark.parametrize("kind", ["serial", "bulk"])
async def test_a_user_without_the_group_is_told_what_helps(
    kind: DeviceKind, guest: Guest, tmp_path: Path
) -> None:
    with shoe_in(guest, tmp_path, kind) as shoe:
        port = await attach_to(guest, shoe)
        assert port is not None
        await guest.call(enumerated, port)
        if kind == "serial":
            await guest.call(wait_for, shoe.port.address)
        code, said = await doctor(guest, "--port", shoe.port.address, user=USER)
        assert code == 1
        assert "permission denied: " in " ".join(said.split())
        code, said = await doctor(guest, "--port", shoe.port.address)
        assert code == 0
        assert "SIM-0001 answers" in said


@pytest.mark.parametrize("kind", ["serial", "bulk"])
async def test_a_device_that_another_program_has_is_left_to_it(
    kind: DeviceKind, guest: Guest, tmp_path: Path
) -> None:
    with shoe_in(guest, tmp_path, kind) as shoe:
        shoe.rest_after(1)
        async with daemon_in(guest, shoe) as daemon:
            await attach_to(guest, shoe)
            await shoe.rests()
            code, said = await doctor(guest, "--port", shoe.port.address)
            assert code == 1
            assert f"(process {daemon.pid}): stop it, then run this again" in " ".join(said.split())
            shoe.rest_after(2)
            shoe.go_on()
            await daemon.told.times(2, "round.outcome")
            assert daemon.told.data("shoe.lost") == []
            await daemon.stop()


async def test_a_second_host_is_refused_and_the_first_one_keeps_the_device(
    guest: Guest, tmp_path: Path
) -> None:
    with shoe_in(guest, tmp_path, "serial") as shoe:
        await attach_to(guest, shoe)
        await guest.call(wait_for, shoe.port.address)
        with pytest.raises(GuestFailed, match="import refused with status 1"):
            await attach_to(guest, shoe)
        assert len(await guest.call(used_ports)) == 1
        assert (await doctor(guest, "--port", shoe.port.address))[0] == 0
