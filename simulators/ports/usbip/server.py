"""A USB/IP server: lists the devices that are plugged in, and exports each to one host at a time.

In: connections of hosts. Out: replies; each transfer to its device, and how it ended to its host.
Must not know: what a device is, shoes.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

from simulators.ports.stream import Stream, listening_socket
from simulators.ports.usbip.descriptors import PRODUCT, RELEASE, VENDOR, Function
from simulators.ports.usbip.device import IN, Transfer
from simulators.ports.usbip.messages import (
    BUS_ID,
    CMD_SUBMIT,
    CMD_UNLINK,
    COMMAND,
    COUNT,
    EXPORTED_DEVICE,
    EXPORTED_INTERFACE,
    FULL_SPEED,
    IMPORT_REPLY,
    IMPORT_REQUEST,
    INWARDS,
    LIST_REPLY,
    LIST_REQUEST,
    OPERATION,
    OUTWARDS,
    REFUSED,
    SUBMIT,
    SUBMITTED,
    UNLINK,
    UNLINKED,
    VERSION,
)

log = logging.getLogger(__name__)

REQUEST_WITHIN_S = 10.0
"""A connection must ask for something within so many seconds."""

MOST_WAITING = 16
"""Connections that have not asked for anything yet."""

LONGEST_TRANSFER = 16 << 20
"""Bytes: what Linux gives all transfers of its programs together."""

MOST_TRANSFERS = 1024
"""Transfers of one device that have not ended. Their data is bounded by ``LONGEST_TRANSFER``."""

MOST_UNREAD = LONGEST_TRANSFER + (1 << 20)
"""Bytes that a host may leave unread."""

_BUS = 1
_FIRST, _LAST = 2, 127
"""Numbers of devices on a bus; 1 is its hub."""

_HIGHEST_ENDPOINT = 15
_NO_PACKETS = (0, -1)
_SHORT_NOT_OK = 1
_KEEPALIVE = {
    socket.TCP_KEEPIDLE: 10,
    socket.TCP_KEEPINTVL: 3,
    socket.TCP_KEEPCNT: 3,
    socket.TCP_USER_TIMEOUT: 20_000,
}
"""A host that is gone without a word gives its device back within 20 s."""


class Exported(Protocol):
    """A device that is plugged in, as a server sees it."""

    bus_id: str
    function: Function
    device_number: int

    @property
    def configuration(self) -> int:
        """The configuration that its host has set, or 0."""

    def attached(self, host: Connection) -> None:
        """A host has it from now on."""

    def detached(self) -> None:
        """Its host is gone."""

    def submit(self, transfer: Transfer) -> None:
        """Begin a transfer: ``host.completed`` tells how it ends."""

    def unlink(self, number: int) -> bool:
        """Take a transfer back; False if it has ended."""


class UsbIpServer:
    """Listens while it is entered, in a running loop. With port 0 a free one is taken."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self._listener: socket.socket | None = None
        self._devices: dict[str, Exported] = {}
        self._sockets = 0
        self._next_number = _FIRST
        self._connections: set[Connection] = set()

    @property
    def address(self) -> str:
        """Where it listens, as ``--port`` has it."""
        return f"usbip:{_address(self.host, self.port)}"

    def __enter__(self) -> Self:
        """Listen.

        Raises:
            simulators.errors.PortFault: the address cannot be had.
        """
        self._loop = asyncio.get_running_loop()
        listener = listening_socket(self.host, self.port, backlog=MOST_WAITING, name=self.address)
        self.port = listener.getsockname()[1]
        self._listener = listener
        self._loop.add_reader(listener, self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._listener is not None
        self._loop.remove_reader(self._listener)
        self._listener.close()
        self._listener = None
        for connection in tuple(self._connections):
            connection.close()

    def new_socket(self) -> str:
        """Return the bus id of a socket into which a device can be plugged, again and again."""
        self._sockets += 1
        return f"{_BUS}-{self._sockets}"

    def plug(self, device: Exported) -> None:
        """A device is plugged into its socket, and is given a number."""
        device.device_number = self._next_number
        self._next_number = _FIRST if self._next_number == _LAST else self._next_number + 1
        self._devices[device.bus_id] = device

    def unplug(self, device: Exported) -> None:
        """It is pulled out: the connection of its host ends, and no list shows it."""
        del self._devices[device.bus_id]
        for connection in tuple(self._connections):
            if connection.device is device:
                connection.close()

    def list_reply(self) -> bytes:
        """Return the list of what is plugged in, in use or not."""
        reply = _operation(LIST_REPLY) + bytes(COUNT.build(len(self._devices)))
        for device in self._devices.values():
            reply += _described(device)
            for interface in device.function.interfaces:
                kind, subclass, protocol = interface.kind
                fields = {
                    "bInterfaceClass": kind,
                    "bInterfaceSubClass": subclass,
                    "bInterfaceProtocol": protocol,
                }
                reply += bytes(EXPORTED_INTERFACE.build(fields))
        return reply

    def find(self, bus_id: str) -> Exported:
        """Return the device for a host that wants it.

        Raises:
            Refused: there is none, or another host has it.
        """
        device = self._devices.get(bus_id)
        if device is None:
            raise Refused(f"no device {bus_id!r} is plugged in")
        for connection in self._connections:
            if connection.device is device:
                raise Refused(f"device {bus_id} is in use by {connection.peer}")
        return device

    def discard(self, connection: Connection) -> None:
        """It has ended."""
        self._connections.discard(connection)

    def _accept(self) -> None:
        if self._listener is None:
            return
        try:
            peer, address = self._listener.accept()
        except OSError:
            return  # it went away again before it was let in
        name = _address(address[0], address[1])
        if sum(connection.device is None for connection in self._connections) >= MOST_WAITING:
            peer.close()
            log.warning("usbip: %s: closed: %d connections ask for nothing", name, MOST_WAITING)
            return
        peer.setblocking(False)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE.items():
            peer.setsockopt(socket.IPPROTO_TCP, option, value)
        self._connections.add(Connection(self, self._loop, peer, name))


class Refused(Exception):
    """A host may not have the device; says why."""


class _Wrong(Exception):
    """A host says what the protocol does not have; says what."""


@dataclass(frozen=True, slots=True)
class _Submitted:
    """A transfer with what its reply repeats."""

    transfer: Transfer
    start_frame: int
    packets: int


class Connection:
    """One connection of a host: one operation, and after an import the device's transfers."""

    def __init__(
        self, server: UsbIpServer, loop: asyncio.AbstractEventLoop, peer: socket.socket, name: str
    ) -> None:
        self.peer = name
        self.device: Exported | None = None
        self._server = server
        self._loop = loop
        self._socket = peer
        self._open = True
        self._in = bytearray()
        self._needed = OPERATION.sizeof()
        self._read: Callable[[bytes], None] = self._operation
        self._submitted: dict[int, _Submitted] = {}
        self._timer = loop.call_later(REQUEST_WITHIN_S, self._too_slow)
        self._stream = Stream(
            loop,
            peer.fileno(),
            received=self._received,
            hung_up=self._hung_up,
            drained=lambda: None,
            limit=MOST_UNREAD,
        )

    def close(self, why: str | None = None) -> None:
        """End it, and log why if the host is at fault; doing it twice is harmless."""
        if not self._open:
            return
        self._open = False
        if why is not None:
            log.warning("usbip: %s: %s; connection closed", self.peer, why)
        self._timer.cancel()
        self._stream.stop()
        self._socket.close()
        self._server.discard(self)
        device, self.device = self.device, None
        if device is not None:
            log.info("usbip: %s: detached from %s", self.peer, device.bus_id)
            device.detached()

    def completed(self, transfer: Transfer, status: int, data: bytes, count: int) -> None:
        """Tell the host how a transfer ended."""
        submitted = self._submitted.pop(transfer.number)
        fields = {
            "number": transfer.number,
            "status": status,
            "count": count,
            "start_frame": submitted.start_frame,
            "packets": submitted.packets,
        }
        self._send(bytes(SUBMITTED.build(fields)) + data)

    def _send(self, data: bytes) -> None:
        self._stream.write(data)
        if self._stream.overrun:  # not at once: a device is at work
            self._loop.call_soon(self.close, f"{MOST_UNREAD} bytes were not read")

    # --- what comes in ---------------------------------------------------------------------

    def _received(self, data: bytes) -> None:
        self._in += data
        try:
            while self._open and len(self._in) >= self._needed:
                message = bytes(self._in[: self._needed])
                del self._in[: self._needed]
                self._read(message)
        except _Wrong as wrong:
            self.close(str(wrong))

    def _hung_up(self) -> None:
        between = OPERATION.sizeof() if self.device is None else COMMAND.sizeof()
        cut = self._in or self._needed != between
        self.close("the host went in the middle of a message" if cut else None)

    def _too_slow(self) -> None:
        self.close(f"it asked for nothing within {REQUEST_WITHIN_S:g} s")

    def _operation(self, message: bytes) -> None:
        operation = OPERATION.parse(message)
        if operation.version != VERSION:
            raise _Wrong(f"expected USB/IP version {VERSION:#06x}, not {operation.version:#06x}")
        if operation.code == LIST_REQUEST:
            self._stream.write(self._server.list_reply())
            self.close()
        elif operation.code == IMPORT_REQUEST:
            self._needed, self._read = BUS_ID.sizeof(), self._import
        else:
            raise _Wrong(
                f"expected operation {LIST_REQUEST:#06x} (list) or {IMPORT_REQUEST:#06x} "
                f"(import), not {operation.code:#06x}"
            )

    def _import(self, message: bytes) -> None:
        bus_id = message.partition(b"\0")[0].decode("ascii", "replace")
        try:
            device = self._server.find(bus_id)
        except Refused as refused:
            self._stream.write(_operation(IMPORT_REPLY, REFUSED))
            raise _Wrong(f"import refused: {refused}") from None
        self._timer.cancel()
        self.device = device
        self._next_command()
        log.info("usbip: %s: attached to %s", self.peer, bus_id)
        device.attached(self)
        self._stream.write(_operation(IMPORT_REPLY) + _described(device))

    def _next_command(self) -> None:
        self._needed, self._read = COMMAND.sizeof(), self._command

    def _command(self, message: bytes) -> None:
        device = self.device
        assert device is not None
        command = COMMAND.parse(message)
        if command.device_id != _device_id(device):
            raise _Wrong(
                f"expected device {_device_id(device):#010x}, not {command.device_id:#010x}"
            )
        if command.command == CMD_SUBMIT:
            self._submit(command, SUBMIT.parse(command.rest))
        elif command.command == CMD_UNLINK:
            unlinked = UNLINK.parse(command.rest).unlinked
            taken_back = device.unlink(unlinked)
            self._submitted.pop(unlinked, None)
            status = -errno.ECONNRESET if taken_back else 0
            self._send(bytes(UNLINKED.build({"number": command.number, "status": status})))
        else:
            raise _Wrong(
                f"expected command {CMD_SUBMIT} (submit) or {CMD_UNLINK} (unlink), not "
                f"{command.command}"
            )

    def _submit(self, command: Any, submit: Any) -> None:
        _check(command, submit)
        if command.number in self._submitted:
            raise _Wrong(f"transfer {command.number} has not ended, and comes again")
        if len(self._submitted) >= MOST_TRANSFERS:
            raise _Wrong(f"more than {MOST_TRANSFERS} transfers have not ended")
        outwards = command.direction == OUTWARDS

        def begin(data: bytes) -> None:
            self._next_command()
            transfer = Transfer(
                number=command.number,
                endpoint=command.endpoint | (0 if outwards else IN),
                length=submit.length,
                data=data,
                setup=submit.setup,
                whole=bool(submit.flags & _SHORT_NOT_OK),
            )
            held = sum(len(each.transfer.data) for each in self._submitted.values())
            if held + len(data) > LONGEST_TRANSFER:
                raise _Wrong(f"more than {LONGEST_TRANSFER} bytes wait for the device")
            self._submitted[command.number] = _Submitted(
                transfer, submit.start_frame, submit.packets
            )
            assert self.device is not None
            self.device.submit(transfer)

        if outwards and submit.length:
            self._needed, self._read = submit.length, begin
        else:
            begin(b"")


def _check(command: Any, submit: Any) -> None:
    """Check a transfer.

    Raises:
        _Wrong: no device could have it.
    """
    if command.direction not in (OUTWARDS, INWARDS):
        raise _Wrong(f"expected direction 0 (out) or 1 (in), not {command.direction}")
    if command.endpoint > _HIGHEST_ENDPOINT:
        raise _Wrong(f"expected endpoint 0 to {_HIGHEST_ENDPOINT}, not {command.endpoint}")
    if not 0 <= submit.length <= LONGEST_TRANSFER:
        raise _Wrong(
            f"expected a transfer of at most {LONGEST_TRANSFER} bytes, not {submit.length}"
        )
    if submit.packets not in _NO_PACKETS:
        raise _Wrong("an isochronous transfer, and the device has no such endpoint")


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _operation(code: int, status: int = 0) -> bytes:
    return bytes(OPERATION.build({"version": VERSION, "code": code, "status": status}))


def _device_id(device: Exported) -> int:
    return _BUS << 16 | device.device_number


def _described(device: Exported) -> bytes:
    fields = {
        "path": f"/sys/devices/platform/shoe-sim/usb{_BUS}/{device.bus_id}",
        "bus_id": device.bus_id,
        "bus": _BUS,
        "device": device.device_number,
        "speed": FULL_SPEED,
        "idVendor": VENDOR,
        "idProduct": PRODUCT,
        "bcdDevice": RELEASE,
        "bDeviceClass": device.function.device_class,
        "bDeviceSubClass": 0,
        "bDeviceProtocol": 0,
        "bConfigurationValue": device.configuration,
        "bNumConfigurations": 1,
        "bNumInterfaces": len(device.function.interfaces),
    }
    return bytes(EXPORTED_DEVICE.build(fields))
