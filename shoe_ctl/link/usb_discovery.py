"""USB devices that may be shoes: found by serial number, claimed for us alone, given back.

In: a backend of pyusb. Out: what is plugged in; a claimed device; PortError in one clear line.
Must not know: reading and writing, threads, frames.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoe_ctl.errors import PortError
from shoe_ctl.link.address import UsbAddress

Backends = Callable[[], Any]
"""Gives the ``usb.backend.IBackend`` to look for devices with; raises PortError where none is."""

_VENDOR_SPECIFIC = 0xFF
_DIRECTION, _IN = 0x80, 0x80
_TRANSFER, _BULK = 0x03, 0x02
_NAMED_AT_MOST = 4

_GONE = (errno.ENODEV, errno.ENXIO, errno.ENOENT, errno.EIO)
"""What is said of a ghost: still listed, and no longer there."""


@dataclass(frozen=True, slots=True)
class UsbDevice:
    """A device with a vendor's own interface and a bulk endpoint each way.

    ``serial`` is None where it may not be read (``permitted`` is False) or where there is none.
    """

    device: Any
    serial: str | None
    permitted: bool

    @property
    def name(self) -> str:
        """Vendor and product, and the node."""
        ids = f"{self.device.idVendor:04x}:{self.device.idProduct:04x}"
        return f"{ids} at {self.node}"

    @property
    def node(self) -> str:
        """What one needs leave to write to."""
        return f"/dev/bus/usb/{self.device.bus:03d}/{self.device.address:03d}"

    def release(self) -> None:
        """Gives back what was claimed or opened. May be called again, and when it is unplugged."""
        import usb.core  # type: ignore[import-untyped]
        import usb.util  # type: ignore[import-untyped]

        with suppress(usb.core.USBError):
            usb.util.dispose_resources(self.device)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A device that is ours: its endpoints, by address, and the size of an IN packet in bytes."""

    owner: UsbDevice
    endpoint_in: int
    endpoint_out: int
    packet_size: int


def libusb() -> Any:
    """The libusb of ``libusb-package``.

    Raises:
        PortError: it is not installed, or cannot work here.
    """
    try:
        import libusb_package  # type: ignore[import-not-found, unused-ignore]
        import usb.core  # noqa: F401
    except ImportError:
        raise PortError(
            "a usb: port needs pyusb and libusb-package: pip install 'shoe-ctl[usb]'", "no_libusb"
        ) from None
    backend = libusb_package.get_libusb1_backend()
    if backend is None:
        line = "libusb cannot be loaded: reinstall with pip install 'shoe-ctl[usb]'"
        raise PortError(line, "no_libusb")
    return backend


def find_usb_devices(backend: Any) -> Iterator[UsbDevice]:
    """What is plugged in and could be a shoe; each is to be released. Ghosts are left out.

    Raises:
        PortError: the bus cannot be looked at.
    """
    import usb.core

    try:
        found = list(usb.core.find(find_all=True, backend=backend))
    except usb.core.USBError as error:
        raise PortError(f"USB cannot be looked at: {error.strerror or error}") from None
    for device in found:
        with suppress(usb.core.USBError):  # unplugged while it is looked at
            if any(_pair(interface) for configuration in device for interface in configuration):
                known = _asked(device)
                if known is not None:
                    yield known


def claim_usb_device(port: UsbAddress, backend: Any) -> Claimed:
    """The device with this serial number, claimed for us alone.

    Raises:
        PortError: it is absent, there are two, it may not be used, or something else has it.
    """
    seen: list[UsbDevice] = []
    chosen: UsbDevice | None = None
    try:
        seen.extend(find_usb_devices(backend))
        chosen = _chosen(port, seen)
        return _claim(port, chosen)
    except BaseException:
        chosen = None
        raise
    finally:
        for other in seen:
            if other is not chosen:
                other.release()


def _asked(device: Any) -> UsbDevice | None:
    """The device with its serial number; None for a ghost."""
    import usb.core
    import usb.util

    if not device.iSerialNumber:
        return UsbDevice(device, None, permitted=True)
    try:
        languages = usb.util.get_langids(device)
        serial = languages and usb.util.get_string(device, device.iSerialNumber, languages[0])
    except usb.core.USBError as error:
        usb.util.dispose_resources(device)
        if error.errno in _GONE:
            return None
        return UsbDevice(device, None, permitted=error.errno not in (errno.EACCES, errno.EPERM))
    return UsbDevice(device, serial or None, permitted=True)


def _chosen(port: UsbAddress, seen: list[UsbDevice]) -> UsbDevice:
    found = [device for device in seen if device.serial == port.serial]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(device.name for device in found)
        raise PortError(
            f"two USB devices have the serial number {port.serial}, {names}: unplug one",
            "two_devices",
        )
    barred = [device for device in seen if not device.permitted]
    if barred:
        raise PortError(
            f"permission denied: USB device {barred[0].name} may be {port} "
            "(a udev rule must give this user that node)",
            "permission",
        )
    have = ", ".join(f"usb:{d.serial}" for d in seen[:_NAMED_AT_MOST] if d.serial is not None)
    hint = f"there are: {have}" if have else "none is plugged in: check cable and power"
    raise PortError(
        f"no USB device with serial number {port.serial} ({hint}; a shoe that makes a serial port "
        "is named by its path)",
        "no_such_port",
    )


def _claim(port: UsbAddress, chosen: UsbDevice) -> Claimed:
    import usb.core
    import usb.util

    device = chosen.device
    try:
        configuration = _configuration(device)
        interface, into, out = next(p for i in configuration if (p := _pair(i)) is not None)
        with suppress(NotImplementedError):  # only on Linux can libusb tell
            if device.is_kernel_driver_active(interface.bInterfaceNumber):
                raise _driven(port, chosen, configuration, interface)
        usb.util.claim_interface(device, interface.bInterfaceNumber)
    except usb.core.USBError as error:
        raise _trouble(port, chosen, error) from None
    except StopIteration:
        raise PortError(f"{port} has no bulk interface in the configuration that is set") from None
    return Claimed(
        owner=chosen,
        endpoint_in=into.bEndpointAddress,
        endpoint_out=out.bEndpointAddress,
        packet_size=into.wMaxPacketSize,
    )


def _configuration(device: Any) -> Any:
    """The one that is set; set anew only where none is, which a device may take as a reset."""
    import usb.core

    try:
        return device.get_active_configuration()
    except usb.core.USBError as error:
        if error.errno is not None:
            raise
    device.set_configuration()
    return device.get_active_configuration()


def _pair(interface: Any) -> tuple[Any, Any, Any] | None:
    """The interface with its bulk endpoints, in and out; None where it is none of ours."""
    if interface.bInterfaceClass != _VENDOR_SPECIFIC or interface.bAlternateSetting != 0:
        return None
    bulk = [e for e in interface if e.bmAttributes & _TRANSFER == _BULK]
    into = next((e for e in bulk if e.bEndpointAddress & _DIRECTION == _IN), None)
    out = next((e for e in bulk if e.bEndpointAddress & _DIRECTION != _IN), None)
    return None if into is None or out is None else (interface, into, out)


def usb_location(device: Any) -> str:
    """What the kernel calls the socket that it is plugged into: bus, then ports, ``1-1.4``."""
    return f"{device.bus}-{'.'.join(map(str, device.port_numbers or ()))}"


def _driven(port: UsbAddress, chosen: UsbDevice, configuration: Any, interface: Any) -> PortError:
    """A driver of the kernel has it: a serial adapter, most likely."""
    number = f"{configuration.bConfigurationValue}.{interface.bInterfaceNumber}"
    link = Path("/sys/bus/usb/devices", f"{usb_location(chosen.device)}:{number}", "driver")
    name = f" {link.resolve().name}" if link.is_symlink() else ""
    return PortError(
        f"{port} is taken by the kernel driver{name} (as a serial port? then name its path under "
        "/dev/serial/by-id; else unbind the driver by a udev rule)",
        "kernel_driver",
    )


def _trouble(port: UsbAddress, chosen: UsbDevice, error: OSError) -> PortError:
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return PortError(
                f"permission denied: {port} is {chosen.name} (a udev rule must give this user "
                "that node)",
                "permission",
            )
        case errno.EBUSY:
            return PortError(
                f"port taken: {port} is in use by another program (is a second daemon running?)",
                "taken",
            )
        case number if number in _GONE:
            line = f"{port} was unplugged as it was opened (check cable and power)"
            return PortError(line, "no_device")
        case _:
            return PortError(f"cannot open {port}: {error.strerror or error}")
