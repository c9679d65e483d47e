"""Find USB devices that may be shoes by serial number; claim and release them.

In: a pyusb backend. Out: the devices; a claimed device; PortError in one clear line.
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
"""Returns the ``usb.backend.IBackend`` that finds devices; raises PortError if there is none."""

_VENDOR_SPECIFIC = 0xFF
_DIRECTION, _IN = 0x80, 0x80
_TRANSFER, _BULK = 0x03, 0x02
_NAMED_AT_MOST = 4

_GONE = (errno.ENODEV, errno.ENXIO, errno.ENOENT, errno.EIO)
"""Errors of a ghost: a device that is still listed, and was unplugged."""


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
        """The device node: whoever may write to it may use the device."""
        return f"/dev/bus/usb/{self.device.bus:03d}/{self.device.address:03d}"

    def release(self) -> None:
        """Release what was claimed or opened. May be called again, and after an unplug."""
        import usb.core  # type: ignore[import-untyped]
        import usb.util  # type: ignore[import-untyped]

        with suppress(usb.core.USBError):
            usb.util.dispose_resources(self.device)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claimed device: the addresses of its endpoints, and the size of an IN packet in bytes."""

    owner: UsbDevice
    endpoint_in: int
    endpoint_out: int
    packet_size: int


def libusb() -> Any:
    """Return the backend of ``libusb-package``.

    Raises:
        PortError: it is not installed, or cannot work here.
    """
    try:
        import libusb_package  # type: ignore[import-not-found, unused-ignore]
        import usb.core  # noqa: F401
    except ImportError:
        raise PortError(
            "a usb: port needs pyusb and libusb-package: run pip install 'shoe-ctl[usb]'",
            "no_libusb",
        ) from None
    backend = libusb_package.get_libusb1_backend()
    if backend is None:
        line = "libusb cannot be loaded: run pip install --force-reinstall 'shoe-ctl[usb]'"
        raise PortError(line, "no_libusb")
    return backend


def find_usb_devices(backend: Any) -> Iterator[UsbDevice]:
    """Yield the devices that could be shoes; the caller releases each. Ghosts are left out.

    Raises:
        PortError: the bus cannot be read.
    """
    import usb.core

    try:
        found = list(usb.core.find(find_all=True, backend=backend))
    except usb.core.USBError as error:
        raise PortError(f"cannot list USB devices: {error.strerror or error}") from None
    for device in found:
        with suppress(usb.core.USBError):  # unplugged meanwhile
            if any(
                _bulk_pair(interface) for configuration in device for interface in configuration
            ):
                known = _identify(device)
                if known is not None:
                    yield known


def claim_usb_device(port: UsbAddress, backend: Any) -> Claimed:
    """Claim the device with this serial number.

    Raises:
        PortError: it is missing, there are two, it may not be used, or something else has it.
    """
    seen: list[UsbDevice] = []
    chosen: UsbDevice | None = None
    try:
        seen.extend(find_usb_devices(backend))
        chosen = _choose(port, seen)
        return _claim(port, chosen)
    except BaseException:
        chosen = None
        raise
    finally:
        for other in seen:
            if other is not chosen:
                other.release()


def _identify(device: Any) -> UsbDevice | None:
    """Read the device's serial number; None for a ghost."""
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


def _choose(port: UsbAddress, seen: list[UsbDevice]) -> UsbDevice:
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
            "(give this user that node by a udev rule)",
            "permission",
        )
    have = ", ".join(f"usb:{d.serial}" for d in seen[:_NAMED_AT_MOST] if d.serial is not None)
    hint = f"there are: {have}" if have else "none is plugged in: check power and cable"
    raise PortError(
        f"no USB device with serial number {port.serial} ({hint}; name a shoe with a serial "
        "port by its path)",
        "no_such_port",
    )


def _claim(port: UsbAddress, chosen: UsbDevice) -> Claimed:
    import usb.core
    import usb.util

    device = chosen.device
    try:
        configuration = _configuration(device)
        interface, into, out = next(p for i in configuration if (p := _bulk_pair(i)) is not None)
        with suppress(NotImplementedError):  # only on Linux can libusb tell
            if device.is_kernel_driver_active(interface.bInterfaceNumber):
                raise _kernel_driver_error(port, chosen, configuration, interface)
        usb.util.claim_interface(device, interface.bInterfaceNumber)
    except usb.core.USBError as error:
        raise _claim_error(port, chosen, error) from None
    except StopIteration:
        raise PortError(f"{port} has no bulk interface in its active configuration") from None
    return Claimed(
        owner=chosen,
        endpoint_in=into.bEndpointAddress,
        endpoint_out=out.bEndpointAddress,
        packet_size=into.wMaxPacketSize,
    )


def _configuration(device: Any) -> Any:
    """Return the active configuration. Set one only if none is: it may reset the device."""
    import usb.core

    try:
        return device.get_active_configuration()
    except usb.core.USBError as error:
        if error.errno is not None:
            raise
    device.set_configuration()
    return device.get_active_configuration()


def _bulk_pair(interface: Any) -> tuple[Any, Any, Any] | None:
    """Return a vendor's interface with its bulk endpoints, in and out; None for any other."""
    if interface.bInterfaceClass != _VENDOR_SPECIFIC or interface.bAlternateSetting != 0:
        return None
    bulk = [e for e in interface if e.bmAttributes & _TRANSFER == _BULK]
    into = next((e for e in bulk if e.bEndpointAddress & _DIRECTION == _IN), None)
    out = next((e for e in bulk if e.bEndpointAddress & _DIRECTION != _IN), None)
    return None if into is None or out is None else (interface, into, out)


def usb_location(device: Any) -> str:
    """Return the kernel's name for the device's place: bus, then ports, ``1-1.4``."""
    return f"{device.bus}-{'.'.join(map(str, device.port_numbers or ()))}"


def _kernel_driver_error(
    port: UsbAddress, chosen: UsbDevice, configuration: Any, interface: Any
) -> PortError:
    """Return the error for a device that a kernel driver has: a serial adapter, most likely."""
    number = f"{configuration.bConfigurationValue}.{interface.bInterfaceNumber}"
    link = Path("/sys/bus/usb/devices", f"{usb_location(chosen.device)}:{number}", "driver")
    name = f" {link.resolve().name}" if link.is_symlink() else ""
    return PortError(
        f"{port} is taken by the kernel driver{name} (if it makes a serial port, name its path "
        "under /dev/serial/by-id; otherwise unbind the driver by a udev rule)",
        "kernel_driver",
    )


def _claim_error(port: UsbAddress, chosen: UsbDevice, error: OSError) -> PortError:
    """Return the error for a device that cannot be claimed."""
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return PortError(
                f"permission denied: {port} is {chosen.name} (give this user that node by a "
                "udev rule)",
                "permission",
            )
        case errno.EBUSY:
            return PortError(
                f"port taken: {port} is in use by another program (stop it, or a second daemon)",
                "taken",
            )
        case number if number in _GONE:
            line = f"unplugged: {port} was opening (check power and cable)"
            return PortError(line, "no_device")
        case _:
            return PortError(f"cannot open {port}: {error.strerror or error}")
