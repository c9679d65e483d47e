"""The descriptors of a simulated USB shoe, declared in construct.

In: nothing. Out: the bytes of each descriptor, as USB 2.0 chapter 9 and CDC 1.2 have them.
Must not know: transfers, sockets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from construct import Byte, Bytes, Const, Construct, Int16ul, Int32ul, Struct

DEVICE_TYPE, CONFIGURATION_TYPE, STRING_TYPE = 1, 2, 3

PACKET = 64
"""Bytes of a packet, at every endpoint that carries data: the most that full speed allows."""

ENDPOINT_IN, ENDPOINT_OUT, ENDPOINT_NOTIFY = 0x81, 0x02, 0x83

VENDOR, PRODUCT, RELEASE = 0x1209, 0x0001, 0x0100
"""Vendor and product that pid.codes keeps free for tests."""

CDC, CDC_DATA, VENDOR_SPECIFIC = 0x02, 0x0A, 0xFF

MANUFACTURER_TEXT, PRODUCT_TEXT = "shoe-ctl", "Card shoe (simulated)"
MANUFACTURER_INDEX, PRODUCT_INDEX, SERIAL_INDEX = 1, 2, 3

LANGUAGES: Final[bytes] = bytes((4, STRING_TYPE)) + Int16ul.build(0x0409)  # English, United States

_BULK, _INTERRUPT = 2, 3
_CDC_INTERFACE = 0x24

DEVICE: Final = Struct(
    "bLength" / Const(18, Byte),
    "bDescriptorType" / Const(DEVICE_TYPE, Byte),
    "bcdUSB" / Int16ul,
    "bDeviceClass" / Byte,
    "bDeviceSubClass" / Byte,
    "bDeviceProtocol" / Byte,
    "bMaxPacketSize0" / Byte,
    "idVendor" / Int16ul,
    "idProduct" / Int16ul,
    "bcdDevice" / Int16ul,
    "iManufacturer" / Byte,
    "iProduct" / Byte,
    "iSerialNumber" / Byte,
    "bNumConfigurations" / Byte,
)

CONFIGURATION: Final = Struct(
    "bLength" / Const(9, Byte),
    "bDescriptorType" / Const(CONFIGURATION_TYPE, Byte),
    "wTotalLength" / Int16ul,
    "bNumInterfaces" / Byte,
    "bConfigurationValue" / Byte,
    "iConfiguration" / Byte,
    "bmAttributes" / Byte,
    "bMaxPower" / Byte,
)

INTERFACE: Final = Struct(
    "bLength" / Const(9, Byte),
    "bDescriptorType" / Const(4, Byte),
    "bInterfaceNumber" / Byte,
    "bAlternateSetting" / Byte,
    "bNumEndpoints" / Byte,
    "bInterfaceClass" / Byte,
    "bInterfaceSubClass" / Byte,
    "bInterfaceProtocol" / Byte,
    "iInterface" / Byte,
)

ENDPOINT: Final = Struct(
    "bLength" / Const(7, Byte),
    "bDescriptorType" / Const(5, Byte),
    "bEndpointAddress" / Byte,
    "bmAttributes" / Byte,
    "wMaxPacketSize" / Int16ul,
    "bInterval" / Byte,
)

SETUP: Final = Struct(
    "bmRequestType" / Byte,
    "bRequest" / Byte,
    "wValue" / Int16ul,
    "wIndex" / Int16ul,
    "wLength" / Int16ul,
)
"""The eight bytes that begin a control transfer."""

LINE_CODING: Final = Struct(
    "dwDTERate" / Int32ul, "bCharFormat" / Byte, "bParityType" / Byte, "bDataBits" / Byte
)


def _cdc_part(subtype: int, size: int) -> Construct:
    """Return the layout of a functional descriptor, with this many bytes of its own."""
    return Struct(
        "bLength" / Const(size + 3, Byte),
        "bDescriptorType" / Const(_CDC_INTERFACE, Byte),
        "bDescriptorSubtype" / Const(subtype, Byte),
        "rest" / Bytes(size),
    )


@dataclass(frozen=True, slots=True)
class Interface:
    """Class, subclass and protocol of an interface, its functional descriptors, its endpoints."""

    kind: tuple[int, int, int]
    endpoints: tuple[bytes, ...]
    parts: bytes = b""


@dataclass(frozen=True, slots=True)
class Function:
    """The function of a device: its class, and the interfaces of its one configuration."""

    device_class: int
    interfaces: tuple[Interface, ...]

    @property
    def endpoints(self) -> frozenset[int]:
        """The addresses of all endpoints but 0."""
        found = (ENDPOINT.parse(raw) for each in self.interfaces for raw in each.endpoints)
        return frozenset(endpoint.bEndpointAddress for endpoint in found)

    @property
    def device(self) -> bytes:
        """The device descriptor."""
        return bytes(
            DEVICE.build(
                {
                    "bcdUSB": 0x0200,
                    "bDeviceClass": self.device_class,
                    "bDeviceSubClass": 0,
                    "bDeviceProtocol": 0,
                    "bMaxPacketSize0": PACKET,
                    "idVendor": VENDOR,
                    "idProduct": PRODUCT,
                    "bcdDevice": RELEASE,
                    "iManufacturer": MANUFACTURER_INDEX,
                    "iProduct": PRODUCT_INDEX,
                    "iSerialNumber": SERIAL_INDEX,
                    "bNumConfigurations": 1,
                }
            )
        )

    @property
    def configuration(self) -> bytes:
        """The configuration descriptor with all that belongs to it."""
        rest = b"".join(
            _interface(number, interface) for number, interface in enumerate(self.interfaces)
        )
        head = {
            "wTotalLength": CONFIGURATION.sizeof() + len(rest),
            "bNumInterfaces": len(self.interfaces),
            "bConfigurationValue": 1,
            "iConfiguration": 0,
            "bmAttributes": 0x80,  # powered by the bus
            "bMaxPower": 50,  # 100 mA
        }
        return bytes(CONFIGURATION.build(head)) + rest


def _interface(number: int, interface: Interface) -> bytes:
    kind, subclass, protocol = interface.kind
    head = {
        "bInterfaceNumber": number,
        "bAlternateSetting": 0,
        "bNumEndpoints": len(interface.endpoints),
        "bInterfaceClass": kind,
        "bInterfaceSubClass": subclass,
        "bInterfaceProtocol": protocol,
        "iInterface": 0,
    }
    return bytes(INTERFACE.build(head)) + interface.parts + b"".join(interface.endpoints)


def _endpoint(address: int, kind: int, size: int, interval: int) -> bytes:
    fields = {
        "bEndpointAddress": address,
        "bmAttributes": kind,
        "wMaxPacketSize": size,
        "bInterval": interval,
    }
    return bytes(ENDPOINT.build(fields))


_DATA = (_endpoint(ENDPOINT_IN, _BULK, PACKET, 0), _endpoint(ENDPOINT_OUT, _BULK, PACKET, 0))

BULK: Final = Function(0, (Interface((VENDOR_SPECIFIC, 0, 0), _DATA),))
"""A vendor's own interface, bulk in and bulk out: no driver of a kernel takes it."""

CDC_ACM: Final = Function(
    CDC,
    (
        Interface(
            (CDC, 2, 0),  # an abstract control model, and no modem behind it
            (_endpoint(ENDPOINT_NOTIFY, _INTERRUPT, 16, 10),),
            b"".join(
                (
                    _cdc_part(0, 2).build({"rest": Int16ul.build(0x0120)}),
                    _cdc_part(1, 2).build({"rest": bytes((0, 1))}),  # no calls
                    _cdc_part(2, 1).build({"rest": bytes((2,))}),  # a line coding, no break
                    _cdc_part(6, 2).build({"rest": bytes((0, 1))}),  # interface 0 controls 1
                )
            ),
        ),
        Interface((CDC_DATA, 0, 0), _DATA),
    ),
)
"""A serial port, as cdc_acm makes /dev/ttyACM0 of it."""


def string_descriptor(text: str) -> bytes:
    """Return the descriptor of a text; what is longer than it may be is cut off."""
    encoded = text.encode("utf-16-le")[:252]
    return bytes((len(encoded) + 2, STRING_TYPE)) + encoded
