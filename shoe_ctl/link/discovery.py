"""What is plugged in: serial ports and USB devices that may be shoes, and who may open them.

In: /dev and what the kernel says of devices in /sys; a backend of pyusb. Out: what is there.
Must not know: what is spoken on any of it; nothing is opened but USB devices for their names.
"""

from __future__ import annotations

import grp
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoe_ctl.link.usb_discovery import UsbDevice, find_usb_devices, usb_location

NO_UART = "0"
"""The type of a built-in port that the kernel keeps a name for and has found no chip behind."""

_BETWEEN = ("port", "ctrl")

_ADAPTERS = ("ttyUSB*", "ttyACM*")


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Where this host's devices are to be seen."""

    dev: Path = Path("/dev")
    sys: Path = Path("/sys")
    udev: Path = Path("/run/udev/data")
    proc: Path = Path("/proc")


@dataclass(frozen=True, slots=True)
class Access:
    """Whether this user may open it. ``group``: that may, and that the user is not in."""

    may: bool
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a USB device, or the adapter behind a port, says of itself; ids in hexadecimal."""

    vendor_id: str | None = None
    product_id: str | None = None
    vendor: str | None = None
    product: str | None = None
    serial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialFound:
    """A serial port, and the steady names that udev gives it."""

    path: str
    by_id: str | None
    card_shoe: str | None
    identity: Identity
    driver: str | None
    access: Access


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbFound:
    """A USB device with a vendor's own interface, as shoes have that need no serial port."""

    node: str
    identity: Identity
    driver: str | None
    access: Access


def access_to(path: str | Path) -> Access:
    """Whether this user may read and write it, and else which group may."""
    if os.access(path, os.R_OK | os.W_OK, effective_ids=True):
        return Access(may=True)
    with suppress(OSError):
        info = Path(path).stat()
        if info.st_mode & 0o060 == 0o060:
            return Access(may=False, group=group_name(info.st_gid))
    return Access(may=False)


def group_name(gid: int) -> str:
    """The group's name, or its number where it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def find_serial_ports(system: System) -> list[SerialFound]:
    """Every serial port with a driver behind it, and all that udev made a link to."""
    by_id = _links(system.dev / "serial" / "by-id")
    shoes = _links(system.dev / "card-shoe")
    known = dict(_driven_ttys(system))
    nodes = {str(system.dev / name): name for name in known}
    for pattern in _ADAPTERS:  # where /sys is not to be seen
        nodes |= {str(path): path.name for path in sorted(system.dev.glob(pattern))}
    nodes |= {node: Path(node).name for node in (*by_id, *shoes) if node not in nodes}
    return [
        SerialFound(
            path=node,
            by_id=by_id.get(node),
            card_shoe=shoes.get(node),
            identity=_identity(_usb_above(known[name])) if name in known else Identity(),
            driver=_driver(known[name]) if name in known else None,
            access=access_to(node),
        )
        for node, name in sorted(nodes.items())
    ]


def find_usb_candidates(system: System, backend: Any) -> list[UsbFound]:
    """Every USB device that could be a shoe by itself.

    Raises:
        PortError: the bus cannot be looked at.
    """
    found = []
    for device in find_usb_devices(backend):
        try:
            found.append(_usb_found(system, device))
        finally:
            device.release()
    return found


def left_alone_by_modem_manager(path: str, system: System) -> bool | None:
    """Whether udev marked it so; None where udev says nothing of it."""
    try:
        number = Path(path).stat().st_rdev
        known = system.udev / f"c{os.major(number)}:{os.minor(number)}"
        lines = known.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return any(f"E:ID_MM_{what}_IGNORE=1" in lines for what in ("DEVICE", "PORT"))


def _links(folder: Path) -> dict[str, str]:
    """The links of a folder by the node that they lead to; those that lead nowhere are left out."""
    with suppress(OSError):
        return {os.path.realpath(e): str(e) for e in sorted(folder.iterdir()) if e.exists()}
    return {}


def _driven_ttys(system: System) -> Iterator[tuple[str, Path]]:
    """Names of ttys, each with its device in /sys, as far as a driver has found one."""
    with suppress(OSError):
        for entry in sorted((system.sys / "class" / "tty").iterdir()):
            if (entry / "device" / "driver").exists() and _text(entry / "type") != NO_UART:
                yield entry.name, (entry / "device").resolve()


def _usb_above(device: Path) -> Path | None:
    """The USB device that this is a part of."""
    return next((p for p in (device, *device.parents) if (p / "idVendor").is_file()), None)


def _identity(usb: Path | None) -> Identity:
    if usb is None:
        return Identity()
    return Identity(
        vendor_id=_text(usb / "idVendor"),
        product_id=_text(usb / "idProduct"),
        vendor=_text(usb / "manufacturer"),
        product=_text(usb / "product"),
        serial=_text(usb / "serial"),
    )


def _driver(device: Path) -> str | None:
    """The driver that one knows by its name: newer kernels set their own between it and a port."""
    for part in (device, *device.parents):
        link = part / "driver"
        if link.exists() and (name := link.resolve().name) not in _BETWEEN:
            return name
    return None


def _usb_found(system: System, found: UsbDevice) -> UsbFound:
    """Its names from /sys: a device that may not be opened has them, too."""
    device = found.device
    folder = system.sys / "bus" / "usb" / "devices"
    place = usb_location(device)
    links = sorted(folder.glob(f"{place}:*/driver"))
    return UsbFound(
        node=found.node,
        identity=Identity(
            vendor_id=f"{device.idVendor:04x}",
            product_id=f"{device.idProduct:04x}",
            vendor=_text(folder / place / "manufacturer"),
            product=_text(folder / place / "product"),
            serial=found.serial or _text(folder / place / "serial"),
        ),
        driver=links[0].resolve().name if links else None,
        access=Access(may=found.permitted, group=access_to(found.node).group),
    )


def _text(path: Path) -> str | None:
    """What a device says of itself, safe to be shown; None where it says nothing."""
    try:
        text = path.read_text("utf-8", "replace").strip()
    except OSError:
        return None
    return "".join(c if c.isprintable() else "?" for c in text) or None
