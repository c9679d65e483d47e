"""List serial ports and USB devices that may be shoes, and who may open them.

In: /dev, the kernel's descriptions of devices in /sys, a pyusb backend. Out: ports and devices.
Must not know: what is sent there. Only USB devices are opened, to read their names.

``serial.tools.list_ports`` is not used: on newer kernels it lists built-in ports without a chip, it
knows only some adapters by name, and a device that is unplugged meanwhile makes it raise TypeError.
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
"""The type of a built-in port that has a name in the kernel and no chip."""

_SERIAL_CORE = ("port", "ctrl")
"""Drivers that newer kernels put between a built-in port and its own driver."""

_ADAPTERS = ("ttyUSB*", "ttyACM*")


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Where this host shows its devices."""

    dev: Path = Path("/dev")
    sys: Path = Path("/sys")
    udev: Path = Path("/run/udev/data")
    proc: Path = Path("/proc")


@dataclass(frozen=True, slots=True)
class Access:
    """This user's right to open it. ``group`` is one that may, and that the user is not in."""

    may: bool
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The descriptor of a USB device, or of the adapter behind a port; ids in hexadecimal."""

    vendor_id: str | None = None
    product_id: str | None = None
    vendor: str | None = None
    product: str | None = None
    serial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialFound:
    """A serial port, and the stable names that udev gives it."""

    path: str
    by_id: str | None
    card_shoe: str | None
    identity: Identity
    driver: str | None
    access: Access


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbFound:
    """A USB device with a vendor-specific interface: a shoe without a serial port may be one."""

    node: str
    identity: Identity
    driver: str | None
    access: Access


def access_to(path: str | Path) -> Access:
    """Return whether this user may read and write it, and if not, which group may."""
    if os.access(path, os.R_OK | os.W_OK, effective_ids=True):
        return Access(may=True)
    with suppress(OSError):
        info = Path(path).stat()
        if info.st_mode & 0o060 == 0o060:
            return Access(may=False, group=group_name(info.st_gid))
    return Access(may=False)


def group_name(gid: int) -> str:
    """Return the group's name, or its number where it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def find_serial_ports(system: System) -> list[SerialFound]:
    """List every serial port with a driver, and every port that udev made a link to."""
    by_id = _links(system.dev / "serial" / "by-id")
    shoes = _links(system.dev / "card-shoe")
    known = dict(_driven_ttys(system))
    nodes = {str(system.dev / name): name for name in known}
    for pattern in _ADAPTERS:  # where /sys is not mounted
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
    """List every USB device that could be a shoe.

    Raises:
        PortError: the bus cannot be read.
    """
    found = []
    for device in find_usb_devices(backend):
        try:
            found.append(_usb_found(system, device))
        finally:
            device.release()
    return found


def find_contested_links(system: System) -> list[tuple[str, list[str]]]:
    """Return each link of a shoe that udev has asked for by several ports, and those ports.

    The link leads to one of them, which may change when another one is plugged in.
    """
    claims: dict[str, list[str]] = {}
    for port in find_serial_ports(system):
        with suppress(OSError):
            number = Path(port.path).stat().st_rdev
            known = system.udev / f"c{os.major(number)}:{os.minor(number)}"
            for line in known.read_text("utf-8", "replace").splitlines():
                if line.startswith("S:card-shoe/"):
                    claims.setdefault(str(system.dev / line[2:]), []).append(port.path)
    return [(link, ports) for link, ports in sorted(claims.items()) if len(ports) > 1]


def left_alone_by_modem_manager(path: str, system: System) -> bool | None:
    """Return whether udev excludes the port from ModemManager; None if udev does not know it."""
    try:
        number = Path(path).stat().st_rdev
        known = system.udev / f"c{os.major(number)}:{os.minor(number)}"
        lines = known.read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return any(f"E:ID_MM_{what}_IGNORE=1" in lines for what in ("DEVICE", "PORT"))


def _links(folder: Path) -> dict[str, str]:
    """Return the links of a folder by their target. Those to a missing target are left out."""
    with suppress(OSError):
        return {os.path.realpath(e): str(e) for e in sorted(folder.iterdir()) if e.exists()}
    return {}


def _driven_ttys(system: System) -> Iterator[tuple[str, Path]]:
    """Yield the names of ttys that have a driver, each with its device in /sys."""
    with suppress(OSError):
        for entry in sorted((system.sys / "class" / "tty").iterdir()):
            if (entry / "device" / "driver").exists() and _text(entry / "type") != NO_UART:
                yield entry.name, (entry / "device").resolve()


def _usb_above(device: Path) -> Path | None:
    """Return the USB device that this device is part of."""
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
    """Return the name of the port's own driver."""
    for part in (device, *device.parents):
        link = part / "driver"
        if link.exists() and (name := link.resolve().name) not in _SERIAL_CORE:
            return name
    return None


def _usb_found(system: System, found: UsbDevice) -> UsbFound:
    """Describe a USB device from /sys: that works for one that may not be opened, too."""
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
    """Return a line of a device's description, safe to print; None if it has none."""
    try:
        text = path.read_text("utf-8", "replace").strip()
    except OSError:
        return None
    return "".join(c if c.isprintable() else "?" for c in text) or None
