"""A USB bus without a kernel: a backend of pyusb, with devices that come, go and refuse.

In: calls of pyusb, from any thread. Out: what a device would answer, its errors too.
Must not know: event loops, what the bytes mean, who the host is.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Protocol

import usb.backend  # type: ignore[import-untyped]
import usb.core  # type: ignore[import-untyped]

from simulators.ports.port import Wire
from simulators.ports.stream import LIMIT

PACKET = 64
"""Bytes of a bulk packet at full speed."""

HELD = 4096
"""Bytes that a shoe's own USB buffer holds, each way."""

ENDPOINT_IN, ENDPOINT_OUT = 0x81, 0x02
_VENDOR, _PRODUCT = 0x1209, 0x0001
_SERIAL_INDEX = 3
_LANGUAGE = b"\x04\x03\x09\x04"
_GET_DESCRIPTOR, _STRING = 6, 3


class OnBus(Protocol):
    """What hangs on the bus, and how the host's kernel takes it; told in any thread.

    ``driver``: a driver of the kernel has its interface. ``barred``: this user may not open it.
    ``vendor_specific`` is False for one of another class. ``configuration`` is 0 until one is set.
    """

    serial: str
    driver: bool
    barred: bool
    vendor_specific: bool
    configuration: int

    def claimed(self, device: Attached) -> None:
        """A host claimed its interface."""

    def released(self, device: Attached) -> None:
        """The host gave it back."""

    def heard(self, device: Attached) -> None:
        """The host wrote: ``from_host`` holds something."""

    def drained(self, device: Attached) -> None:
        """The host read the last packet."""


class Attached:
    """A device from the moment it is plugged in until it is unplugged, and a ghost after that.

    ``changed`` guards the packets to the host and the bytes of it.
    """

    def __init__(self, port: OnBus, address: int) -> None:
        self.port = port
        self.address = address
        self.plugged = True
        self.claimed_by: object | None = None
        self.changed = threading.Condition()
        self.to_host: deque[bytes] = deque()
        self.from_host = bytearray()

    @property
    def waiting(self) -> int:
        return sum(map(len, self.to_host))

    def gone(self) -> None:
        with self.changed:
            self.plugged = False
            self.to_host.clear()
            self.changed.notify_all()

    def check(self) -> None:
        if not self.plugged:
            raise _error(errno.ENODEV)


class UsbBus(usb.backend.IBackend):  # type: ignore[misc]
    """What is plugged into one host. ``ghosts`` stay listed after they were unplugged."""

    def __init__(self) -> None:
        super().__init__()
        self.devices: list[Attached] = []
        self.ghosts = False
        self._next_address = 1

    def plug(self, port: OnBus) -> Attached:
        device = Attached(port, self._next_address)
        self._next_address = self._next_address % 127 + 1
        self.devices.append(device)
        return device

    def unplug(self, device: Attached) -> None:
        device.gone()
        if not self.ghosts:
            self.devices.remove(device)

    # --- descriptors: what libusb knows without asking the device ------------------------

    def enumerate_devices(self) -> Iterator[Attached]:
        return iter(list(self.devices))

    def get_device_descriptor(self, dev: Attached) -> SimpleNamespace:
        return SimpleNamespace(
            bLength=18,
            bDescriptorType=1,
            bcdUSB=0x0200,
            bDeviceClass=0,
            bDeviceSubClass=0,
            bDeviceProtocol=0,
            bMaxPacketSize0=64,
            idVendor=_VENDOR,
            idProduct=_PRODUCT,
            bcdDevice=0x0100,
            iManufacturer=0,
            iProduct=0,
            iSerialNumber=_SERIAL_INDEX if dev.port.serial else 0,
            bNumConfigurations=1,
            address=dev.address,
            bus=1,
            port_number=1,
            port_numbers=(1,),
            speed=2,
        )

    def get_configuration_descriptor(self, dev: Attached, config: int) -> SimpleNamespace:  # noqa: ARG002
        if config:
            raise IndexError(config)
        return SimpleNamespace(
            bLength=9,
            bDescriptorType=2,
            wTotalLength=32,
            bNumInterfaces=1,
            bConfigurationValue=1,
            iConfiguration=0,
            bmAttributes=0x80,
            bMaxPower=50,
            extra_descriptors=b"",
        )

    def get_interface_descriptor(
        self,
        dev: Attached,
        intf: int,
        alt: int,
        config: int,  # noqa: ARG002 - there is one
    ) -> SimpleNamespace:
        if intf or alt:
            raise IndexError(intf)
        return SimpleNamespace(
            bLength=9,
            bDescriptorType=4,
            bInterfaceNumber=0,
            bAlternateSetting=0,
            bNumEndpoints=2,
            bInterfaceClass=0xFF if dev.port.vendor_specific else 0x0A,
            bInterfaceSubClass=0,
            bInterfaceProtocol=0,
            iInterface=0,
            extra_descriptors=b"",
        )

    def get_endpoint_descriptor(
        self,
        dev: Attached,  # noqa: ARG002 - all are alike
        ep: int,
        intf: int,  # noqa: ARG002
        alt: int,  # noqa: ARG002
        config: int,  # noqa: ARG002
    ) -> SimpleNamespace:
        return SimpleNamespace(
            bLength=7,
            bDescriptorType=5,
            bEndpointAddress=(ENDPOINT_IN, ENDPOINT_OUT)[ep],
            bmAttributes=2,
            wMaxPacketSize=PACKET,
            bInterval=0,
            bRefresh=0,
            bSynchAddress=0,
            extra_descriptors=b"",
        )

    # --- what opens and claims --------------------------------------------------------------

    def open_device(self, dev: Attached) -> _Handle:
        dev.check()
        if dev.port.barred:
            raise _error(errno.EACCES)
        return _Handle(dev)

    def close_device(self, dev_handle: _Handle) -> None:
        if dev_handle.device.claimed_by is dev_handle:
            self.release_interface(dev_handle, 0)

    def get_configuration(self, dev_handle: _Handle) -> int:
        dev_handle.device.check()
        return dev_handle.device.port.configuration

    def set_configuration(self, dev_handle: _Handle, config_value: int) -> None:
        dev_handle.device.check()
        dev_handle.device.port.configuration = config_value

    def is_kernel_driver_active(self, dev_handle: _Handle, intf: int) -> bool:  # noqa: ARG002
        return dev_handle.device.port.driver

    def claim_interface(self, dev_handle: _Handle, intf: int) -> None:  # noqa: ARG002
        device = dev_handle.device
        with device.changed:
            device.check()
            if device.claimed_by is not None or device.port.driver:
                raise _error(errno.EBUSY)
            device.claimed_by = dev_handle
        device.port.claimed(device)

    def release_interface(self, dev_handle: _Handle, intf: int) -> None:  # noqa: ARG002
        device = dev_handle.device
        with device.changed:
            if device.claimed_by is not dev_handle:
                raise _error(errno.ENOENT)
            device.claimed_by = None
            device.to_host.clear()
            device.from_host.clear()
        device.port.released(device)
        device.check()

    # --- transfers --------------------------------------------------------------------------

    def ctrl_transfer(  # noqa: PLR0913 - as pyusb calls it
        self,
        dev_handle: _Handle,
        bmRequestType: int,  # noqa: ARG002, N803
        bRequest: int,  # noqa: N803
        wValue: int,  # noqa: N803
        wIndex: int,  # noqa: ARG002, N803
        data: array[int],
        timeout: int,  # noqa: ARG002
    ) -> int:
        dev_handle.device.check()
        kind, index = divmod(wValue, 256)
        if bRequest != _GET_DESCRIPTOR or kind != _STRING or index not in (0, _SERIAL_INDEX):
            raise _error(errno.EPIPE)
        text = dev_handle.device.port.serial.encode("utf-16-le")
        answer = _LANGUAGE if index == 0 else bytes((len(text) + 2, _STRING)) + text
        return _fill(data, answer[: len(data)])

    def bulk_read(
        self,
        dev_handle: _Handle,
        ep: int,
        intf: int,  # noqa: ARG002
        buff: array[int],
        timeout: int,
    ) -> int:
        device = dev_handle.device
        assert ep == ENDPOINT_IN
        with device.changed:
            ready = device.changed.wait_for(
                lambda: device.to_host or not device.plugged, timeout / 1000
            )
            device.check()
            if not ready:
                raise usb.core.USBTimeoutError("Operation timed out", errno=errno.ETIMEDOUT)
            if len(device.to_host[0]) > len(buff):
                raise _error(errno.EOVERFLOW)
            packet = device.to_host.popleft()
            drained = not device.to_host
        if drained:
            device.port.drained(device)
        return _fill(buff, packet)

    def bulk_write(
        self,
        dev_handle: _Handle,
        ep: int,
        intf: int,  # noqa: ARG002
        data: array[int],
        timeout: int,
    ) -> int:
        device = dev_handle.device
        assert ep == ENDPOINT_OUT
        with device.changed:
            ready = device.changed.wait_for(
                lambda: len(device.from_host) < HELD or not device.plugged, timeout / 1000
            )
            device.check()
            if not ready:
                raise usb.core.USBTimeoutError("Operation timed out", errno=errno.ETIMEDOUT)
            taken = data.tobytes()[: HELD - len(device.from_host)]
            device.from_host += taken
        device.port.heard(device)
        return len(taken)


class _Handle:
    """One opening of a device."""

    def __init__(self, device: Attached) -> None:
        self.device = device


def _fill(buffer: array[int], data: bytes) -> int:
    buffer[: len(data)] = array("B", data)
    return len(data)


def _error(number: int) -> Any:
    return usb.core.USBError(f"simulated: {errno.errorcode[number]}", errno=number)


class UsbPort:
    """A shoe's port on a bus; needs a running loop to start.

    Each time a host claims its interface is one connection. ``driver``, ``barred``,
    ``vendor_specific`` and ``configuration`` may be set: see ``OnBus``.
    """

    def __init__(self, bus: UsbBus, serial: str) -> None:
        self.serial = serial
        self.driver = False
        self.barred = False
        self.vendor_specific = True
        self.configuration = 1
        self._bus = bus
        self._attached: Attached | None = None
        self._wire: Wire | None = None
        self._hosted = False
        self._overrun = 0

    @property
    def address(self) -> str:
        """The form that a daemon's configuration has for it."""
        return f"usb:{self.serial}"

    @property
    def pending(self) -> int:
        """Bytes beyond what the shoe's buffer holds for the host."""
        return 0 if self._attached is None else max(0, self._attached.waiting - HELD)

    @property
    def overrun(self) -> int:
        """Bytes lost because a host that has claimed the device does not read."""
        return self._overrun

    def start(self, wire: Wire) -> None:
        """Plugs it in."""
        self._wire = wire
        self._loop = asyncio.get_running_loop()
        self._attached = self._bus.plug(self)

    def write(self, data: bytes) -> None:
        """See ``Port.write``."""
        device = self._attached
        if device is None or not self._hosted or not data:
            return
        with device.changed:
            if device.waiting + len(data) > HELD + LIMIT:
                self._overrun += len(data)
                return
            device.to_host.extend(data[at : at + PACKET] for at in range(0, len(data), PACKET))
            device.changed.notify_all()

    def close(self) -> None:
        """Pulls the plug; doing it twice is harmless."""
        device, self._attached = self._attached, None
        if device is not None:
            self._bus.unplug(device)
            self._end()

    def reopen(self) -> None:
        """Plugs it in again: a new device, with the same serial number."""
        if self._attached is None and self._wire is not None:
            self.start(self._wire)

    attachment = None

    def freeze(self) -> None: ...

    def thaw(self) -> None: ...

    # --- called by the bus, in any thread ---------------------------------------------------

    def claimed(self, device: Attached) -> None:
        self._tell(device, self._begin)

    def released(self, device: Attached) -> None:
        self._tell(device, self._end)

    def heard(self, device: Attached) -> None:
        self._tell(device, lambda: self._receive(device))

    def drained(self, device: Attached) -> None:
        self._tell(device, self._drain)

    def _tell(self, device: Attached, what: Callable[[], None]) -> None:
        """In the loop's thread, unless it was unplugged by then."""

        def tell() -> None:
            if self._attached is device:
                what()

        with contextlib.suppress(RuntimeError):  # the loop is closed: the shoe is no more
            self._loop.call_soon_threadsafe(tell)

    # --- in the loop ------------------------------------------------------------------------

    def _begin(self) -> None:
        self._hosted = True
        if self._wire is not None:
            self._wire.opened()

    def _end(self) -> None:
        if self._hosted:
            self._hosted = False
            if self._wire is not None:
                self._wire.closed()

    def _receive(self, device: Attached) -> None:
        with device.changed:
            data = bytes(device.from_host)
            device.from_host.clear()
            device.changed.notify_all()
        if data and self._wire is not None:
            self._wire.received(data)

    def _drain(self) -> None:
        if self._wire is not None:
            self._wire.drained()
