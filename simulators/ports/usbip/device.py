"""A simulated USB device: what it does with each transfer of a host.

In: transfers, bytes for the host. Out: each transfer's end, and the bytes of the host.
Must not know: USB/IP, sockets, clocks, what the bytes mean.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Protocol

from simulators.ports.stream import LIMIT
from simulators.ports.usbip import descriptors
from simulators.ports.usbip.descriptors import (
    BULK,
    CDC_ACM,
    ENDPOINT_IN,
    ENDPOINT_NOTIFY,
    ENDPOINT_OUT,
    LANGUAGES,
    LINE_CODING,
    PACKET,
    SETUP,
    Function,
    string_descriptor,
)

HELD = 4096
"""Bytes for the host that the device's own memory holds."""

IN = 0x80
"""The bit of an endpoint's address, and of a request's type, that means: to the host."""

STALLED, TOO_SHORT, OVERFLOWN = -errno.EPIPE, -errno.EREMOTEIO, -errno.EOVERFLOW
"""The ends of a failed transfer, as Linux numbers them."""

_NUMBER = 0x0F
_DONE = b""
_RECIPIENT = 0x1F
_ENDPOINT_HALT = 0
_DTR = 1


class Request(IntEnum):
    """The requests that are answered: bmRequestType and bRequest, as one number."""

    DEVICE_STATUS = 0x8000
    SET_ADDRESS = 0x0005
    GET_DESCRIPTOR = 0x8006
    GET_CONFIGURATION = 0x8008
    SET_CONFIGURATION = 0x0009
    INTERFACE_STATUS = 0x8100
    GET_INTERFACE = 0x810A
    SET_INTERFACE = 0x010B
    ENDPOINT_STATUS = 0x8200
    CLEAR_ENDPOINT_FEATURE = 0x0201
    SET_ENDPOINT_FEATURE = 0x0203
    SET_LINE_CODING = 0x2120
    GET_LINE_CODING = 0xA121
    SET_CONTROL_LINE_STATE = 0x2122


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A request of a host. ``endpoint`` is an address: with ``IN``, if data goes to the host.

    ``length`` is the host's buffer in bytes, ``data`` what it sends, ``setup`` begins a control
    transfer. ``whole``: a transfer to the host that ends early is an error.
    """

    number: int
    endpoint: int
    length: int
    data: bytes = b""
    setup: bytes = bytes(8)
    whole: bool = False


class Owner(Protocol):
    """The user of a device, told what comes of its transfers."""

    def completed(self, transfer: Transfer, status: int, data: bytes, count: int) -> None:
        """A transfer ended: 0 or how it failed, data for the host, bytes carried either way."""

    def opened(self) -> None:
        """A program on the host uses the device; told again and again."""

    def received(self, data: bytes) -> None:
        """Bytes of the host."""


class UsbDevice(ABC):
    """One device while one host has it; ``frozen``, it ends no transfer."""

    function: ClassVar[Function]
    gone_after_s: ClassVar[float]
    """The host has closed the device once ``open`` was false for so many seconds."""

    def __init__(self, serial: str, owner: Owner) -> None:
        self._owner = owner
        self._texts = {
            descriptors.MANUFACTURER_INDEX: descriptors.MANUFACTURER_TEXT,
            descriptors.PRODUCT_INDEX: descriptors.PRODUCT_TEXT,
            descriptors.SERIAL_INDEX: serial,
        }
        self.frozen = False
        self.configuration = 0
        self._halted: set[int] = set()
        self._to_host: deque[bytes] = deque()
        self._reads: dict[int, Transfer] = {}
        self._waits: dict[int, Transfer] = {}
        self._held: dict[int, Transfer] = {}

    @property
    @abstractmethod
    def open(self) -> bool:
        """True if a program on the host still uses the device, as far as a device can tell."""

    @property
    def waiting(self) -> int:
        """Bytes that wait for the host."""
        return sum(map(len, self._to_host))

    @property
    def pending(self) -> dict[int, Transfer]:
        """The transfers that have not ended, by number."""
        return self._reads | self._waits | self._held

    def send(self, data: bytes) -> bool:
        """Let the host read these bytes; False, and they are lost, if too many wait already.

        They end with a short packet, an empty one if need be: that ends a read of several packets.
        """
        if self.waiting + len(data) > HELD + LIMIT:
            return False
        self._to_host.extend(data[at : at + PACKET] for at in range(0, len(data) + 1, PACKET))
        self._serve_reads()
        return True

    def forget(self) -> None:
        """Let nobody read what was sent until now."""
        self._to_host.clear()

    def submit(self, transfer: Transfer) -> None:
        """Begin a transfer."""
        if self.frozen:
            self._held[transfer.number] = transfer
        else:
            self._begin(transfer)

    def unlink(self, number: int) -> bool:
        """Take a transfer back; False if it has ended."""
        places = (self._reads, self._waits, self._held)
        return any(place.pop(number, None) is not None for place in places)

    def thaw(self) -> None:
        """Go on with what was asked while the device was frozen."""
        self.frozen = False
        held, self._held = self._held, {}
        for transfer in held.values():
            self._begin(transfer)
        self._serve_reads()

    def _begin(self, transfer: Transfer) -> None:
        endpoint = transfer.endpoint
        if not endpoint & _NUMBER:
            self._control(transfer)
        elif not self.configuration or endpoint in self._halted:
            self._stall(transfer)
        elif endpoint == ENDPOINT_IN:
            self._reads[transfer.number] = transfer
            self._serve_reads()
        elif endpoint == ENDPOINT_OUT:
            self._owner.completed(transfer, 0, b"", len(transfer.data))
            if transfer.data:
                self._owner.received(transfer.data)
        elif endpoint in self._known_endpoints:  # it never has anything to notify of
            self._waits[transfer.number] = transfer
        else:
            self._stall(transfer)

    def _stall(self, transfer: Transfer) -> None:
        self._owner.completed(transfer, STALLED, b"", 0)

    # --- bulk in ---------------------------------------------------------------------------

    def _serve_reads(self) -> None:
        while self._reads and self._to_host and not self.frozen:
            transfer = self._reads.pop(next(iter(self._reads)))
            status, data = self._fill(transfer)
            self._owner.completed(transfer, status, data, len(data))

    def _fill(self, transfer: Transfer) -> tuple[int, bytes]:
        """Return how a read ends, with its data: when its buffer is full, or by a short packet."""
        data = bytearray()
        while len(data) < transfer.length or not data:
            packet = self._to_host.popleft()
            if len(data) + len(packet) > transfer.length:
                return OVERFLOWN, bytes(data)
            data += packet
            if len(packet) < PACKET:
                too_short = transfer.whole and len(data) < transfer.length
                return (TOO_SHORT if too_short else 0), bytes(data)
        return 0, bytes(data)

    # --- endpoint 0 ------------------------------------------------------------------------

    def _control(self, transfer: Transfer) -> None:
        setup = SETUP.parse(transfer.setup)
        inwards = bool(setup.bmRequestType & IN)
        if setup.wLength and inwards != bool(transfer.endpoint & IN):
            self._stall(transfer)
            return
        if not inwards and len(transfer.data) != setup.wLength:
            self._stall(transfer)
            return
        answer = self._answer(setup, transfer.data)
        if answer is None:
            self._stall(transfer)
        elif inwards:
            answer = answer[: min(setup.wLength, transfer.length)]
            self._owner.completed(transfer, 0, answer, len(answer))
        else:
            self._owner.completed(transfer, 0, b"", len(transfer.data))

    def _answer(self, setup: Any, data: bytes) -> bytes | None:
        """Return the answer to a request, empty where it has none; None: there is no such."""
        number = setup.bmRequestType << 8 | setup.bRequest
        match setup.bmRequestType & _RECIPIENT:
            case 0:
                return self._answer_as_device(number, setup)
            case 1 if self.configuration and setup.wIndex < len(self.function.interfaces):
                return self._answer_as_interface(number, setup, data)
            case 2 if setup.wIndex in self._known_endpoints:
                return self._answer_as_endpoint(number, setup)
        return None

    def _answer_as_device(self, number: int, setup: Any) -> bytes | None:
        match number:
            case Request.DEVICE_STATUS:
                return bytes(2)  # powered by the bus, wakes nobody
            case Request.SET_ADDRESS:  # the host's controller knows it
                return _DONE
            case Request.GET_DESCRIPTOR:
                return self._descriptor(*divmod(setup.wValue, 256))
            case Request.GET_CONFIGURATION:
                return bytes((self.configuration,))
            case Request.SET_CONFIGURATION if setup.wValue in (0, 1):
                self._configure(setup.wValue)
                return _DONE
        return None

    def _answer_as_interface(self, number: int, setup: Any, data: bytes) -> bytes | None:
        match number:
            case Request.INTERFACE_STATUS:
                return bytes(2)
            case Request.GET_INTERFACE:
                return bytes(1)
            case Request.SET_INTERFACE if setup.wValue == 0:
                self._configure(self.configuration)
                return _DONE
        return self._class_request(number, setup, data)

    def _answer_as_endpoint(self, number: int, setup: Any) -> bytes | None:
        match number:
            case Request.ENDPOINT_STATUS:
                return bytes((setup.wIndex in self._halted, 0))
            case Request.SET_ENDPOINT_FEATURE | Request.CLEAR_ENDPOINT_FEATURE:
                if setup.wValue == _ENDPOINT_HALT:
                    self._halt(setup.wIndex, halted=number == Request.SET_ENDPOINT_FEATURE)
                    return _DONE
        return None

    @property
    def _known_endpoints(self) -> frozenset[int]:
        return self.function.endpoints if self.configuration else frozenset()

    def _descriptor(self, kind: int, index: int) -> bytes | None:
        match kind, index:
            case descriptors.DEVICE_TYPE, 0:
                return self.function.device
            case descriptors.CONFIGURATION_TYPE, 0:
                return self.function.configuration
            case descriptors.STRING_TYPE, 0:
                return LANGUAGES
            case descriptors.STRING_TYPE, _ if index in self._texts:
                return string_descriptor(self._texts[index])
        return None

    def _configure(self, value: int) -> None:
        """Set or take away the configuration: what the device still had to say is lost."""
        self.configuration = value
        self._halted.clear()
        self._to_host.clear()

    def _halt(self, endpoint: int, *, halted: bool) -> None:
        if not halted:
            self._halted.discard(endpoint)
            return
        self._halted.add(endpoint)
        places = {ENDPOINT_IN: self._reads, ENDPOINT_NOTIFY: self._waits}
        stalled = places.get(endpoint, {})
        while stalled:
            self._stall(stalled.pop(next(iter(stalled))))

    def _class_request(self, number: int, setup: Any, data: bytes) -> bytes | None:  # noqa: ARG002
        """Answer a request of the device's class, as ``_answer`` does."""
        return None


class BulkDevice(UsbDevice):
    """A vendor's own interface. No request opens or closes it: a host that uses it reads."""

    function = BULK
    gone_after_s = 2.0  # a host that has a program reading asks again at once

    def _begin(self, transfer: Transfer) -> None:
        if self.configuration and transfer.endpoint in (ENDPOINT_IN, ENDPOINT_OUT):
            self._owner.opened()
        super()._begin(transfer)

    @property
    def open(self) -> bool:
        return any(transfer.endpoint == ENDPOINT_IN for transfer in self.pending.values())


class SerialDevice(UsbDevice):
    """A CDC-ACM serial port. It is open while the host has its terminal ready (DTR)."""

    function = CDC_ACM
    gone_after_s = 0.0

    def __init__(self, serial: str, owner: Owner) -> None:
        super().__init__(serial, owner)
        start = {"dwDTERate": 9600, "bCharFormat": 0, "bParityType": 0, "bDataBits": 8}
        self.line_coding = bytes(LINE_CODING.build(start))
        self._terminal_ready = False

    @property
    def open(self) -> bool:
        return self._terminal_ready

    def _configure(self, value: int) -> None:
        super()._configure(value)
        self._terminal_ready = False

    def _class_request(self, number: int, setup: Any, data: bytes) -> bytes | None:
        if setup.wIndex != 0:
            return None
        match number:
            case Request.SET_LINE_CODING if len(data) == LINE_CODING.sizeof():
                self.line_coding = data
                return _DONE
            case Request.GET_LINE_CODING:
                return self.line_coding
            case Request.SET_CONTROL_LINE_STATE:
                self._terminal_ready = bool(setup.wValue & _DTR)
                if self._terminal_ready:
                    self._owner.opened()
                return _DONE
        return None
