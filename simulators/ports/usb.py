"""A shoe's port on a simulated USB bus.

In: bytes for the host. Out: the host's claim, bytes and release, in the loop's thread.
Must not know: what the bytes mean, how pyusb asks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from .port import Wire
from .stream import LIMIT
from .usb_bus import HELD, PACKET, Attached, UsbBus


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
        """Plug it in."""
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
        """Pull the plug; doing it twice is harmless."""
        device, self._attached = self._attached, None
        if device is not None:
            self._bus.unplug(device)
            self._end()

    def reopen(self) -> None:
        """Plug it in again: a new device, with the same serial number."""
        if self._attached is None and self._wire is not None:
            self.start(self._wire)

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
