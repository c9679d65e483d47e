"""The port of a shoe that hangs on USB, exported in the USB/IP protocol.

In: bytes for the host. Out: when a program on the host opens it, its bytes, its end.
Must not know: the protocol, what the bytes mean.
"""

from __future__ import annotations

import asyncio

from simulators.ports.port import Attachment, UsbKind, Wire
from simulators.ports.usbip.descriptors import ENDPOINT_IN, Function
from simulators.ports.usbip.device import HELD, BulkDevice, SerialDevice, Transfer, UsbDevice
from simulators.ports.usbip.server import Connection, UsbIpServer


class UsbIpPort:
    """Each time a program on the host opens the device is one connection.

    ``gone_after_s`` is how long a host may read nothing before it counts as gone; by default as
    the kind of device has it.
    """

    def __init__(
        self, server: UsbIpServer, kind: UsbKind, serial: str, *, gone_after_s: float | None = None
    ) -> None:
        self._server = server
        self._make: type[UsbDevice] = BulkDevice if kind == "bulk" else SerialDevice
        self._serial = serial
        self._gone_after_s = self._make.gone_after_s if gone_after_s is None else gone_after_s
        self.function: Function = self._make.function
        self.bus_id = server.new_socket()
        self.device_number = 0
        self.overrun = 0
        self._wire: Wire | None = None
        self._device: UsbDevice | None = None
        self._host: Connection | None = None
        self._is_open = False
        self._frozen = False
        self._gone: asyncio.TimerHandle | None = None

    @property
    def address(self) -> str:
        """The port's name on a host that has it attached, with this project's udev rules."""
        bulk = self._make is BulkDevice
        return f"usb:{self._serial}" if bulk else f"/dev/card-shoe/{self._serial}"

    @property
    def attachment(self) -> Attachment:
        """The device that a host attaches."""
        return Attachment(self._server.host, self._server.port, self.bus_id)

    @property
    def pending(self) -> int:
        """Bytes beyond what the device's own memory holds."""
        return 0 if self._device is None else max(0, self._device.waiting - HELD)

    def start(self, wire: Wire) -> None:
        """Plug it in."""
        self._wire = wire
        self._loop = asyncio.get_running_loop()
        self._device = self._new_device()
        self._server.plug(self)

    def write(self, data: bytes) -> None:
        """See ``Port.write``."""
        if self._device is None or not self._is_open or not data:
            return
        if not self._device.send(data):
            self.overrun += len(data)
        self._check()

    def close(self) -> None:
        """Pull the plug; doing it twice is harmless."""
        if self._device is not None:
            self._device = None
            self._server.unplug(self)
            self._end()

    def reopen(self) -> None:
        """Plug it in again: a new device, with the same serial number and bus id."""
        if self._device is None and self._wire is not None:
            self.start(self._wire)

    def freeze(self) -> None:
        """End no transfer any more; a host can still attach the device, and take transfers back."""
        self._frozen = True
        if self._device is not None:
            self._device.frozen = True

    def thaw(self) -> None:
        """End what was asked meanwhile, and go on."""
        self._frozen = False
        if self._device is not None:
            self._device.thaw()
            self._check()

    def _new_device(self) -> UsbDevice:
        device = self._make(self._serial, self)
        device.frozen = self._frozen
        return device

    # --- called by the server --------------------------------------------------------------

    @property
    def configuration(self) -> int:
        return 0 if self._device is None else self._device.configuration

    def attached(self, host: Connection) -> None:
        self._host = host

    def detached(self) -> None:
        self._host = None
        if self._device is not None:  # its host's controller lets it start anew
            self._device = self._new_device()
        self._end()

    def submit(self, transfer: Transfer) -> None:
        if self._device is None:
            return
        if transfer.endpoint == ENDPOINT_IN:
            self._still_there()
        had_to_wait = self.pending > 0
        self._device.submit(transfer)
        self._check()
        if had_to_wait and not self.pending and self._wire is not None:
            self._wire.drained()

    def unlink(self, number: int) -> bool:
        taken_back = self._device is not None and self._device.unlink(number)
        self._check()
        return taken_back

    # --- called by the device ----------------------------------------------------------------

    def completed(self, transfer: Transfer, status: int, data: bytes, count: int) -> None:
        if self._host is not None:
            self._host.completed(transfer, status, data, count)

    def opened(self) -> None:
        self._still_there()
        if not self._is_open and self._wire is not None:
            self._is_open = True
            self._wire.opened()

    def received(self, data: bytes) -> None:
        if self._is_open and self._wire is not None:
            self._wire.received(data)

    # --- whether it is open --------------------------------------------------------------------

    def _check(self) -> None:
        """Look whether a program still has the device open."""
        if self._device is None or not self._is_open:
            return
        if self._device.open:
            self._still_there()
        elif not self._gone_after_s:
            self._end()
        elif self._gone is None:
            self._gone = self._loop.call_later(self._gone_after_s, self._end)

    def _still_there(self) -> None:
        if self._gone is not None:
            self._gone.cancel()
            self._gone = None

    def _end(self) -> None:
        self._still_there()
        if self._is_open:
            self._is_open = False
            if self._device is not None:
                self._device.forget()
            if self._wire is not None:
                self._wire.closed()
