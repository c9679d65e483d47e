"""The layouts of USB/IP, version 1.1.1, declared in construct (docs.kernel.org: USB/IP protocol).

All numbers are in network byte order; the setup packet within a header is not.

In: nothing. Out: the layouts. Must not know: devices, sockets.
"""

from __future__ import annotations

from typing import Final

from construct import Byte, Bytes, Const, Int16ub, Int32sb, Int32ub, PaddedString, Padding, Struct

VERSION = 0x0111

LIST_REQUEST, LIST_REPLY = 0x8005, 0x0005
IMPORT_REQUEST, IMPORT_REPLY = 0x8003, 0x0003
REFUSED = 1

CMD_SUBMIT, CMD_UNLINK, RET_SUBMIT, RET_UNLINK = 1, 2, 3, 4
OUTWARDS, INWARDS = 0, 1

FULL_SPEED = 2

OPERATION: Final = Struct("version" / Int16ub, "code" / Int16ub, "status" / Int32ub)
"""Begins each request and each reply, until a device is imported."""

BUS_ID: Final = Bytes(32)
"""Follows ``OPERATION`` in a request to import."""

COUNT: Final = Int32ub
"""The number of devices in a list; follows ``OPERATION``."""

EXPORTED_DEVICE: Final = Struct(
    "path" / PaddedString(256, "ascii"),
    "bus_id" / PaddedString(32, "ascii"),
    "bus" / Int32ub,
    "device" / Int32ub,
    "speed" / Int32ub,
    "idVendor" / Int16ub,
    "idProduct" / Int16ub,
    "bcdDevice" / Int16ub,
    "bDeviceClass" / Byte,
    "bDeviceSubClass" / Byte,
    "bDeviceProtocol" / Byte,
    "bConfigurationValue" / Byte,
    "bNumConfigurations" / Byte,
    "bNumInterfaces" / Byte,
)
"""A device in a list, where its interfaces follow, and in the reply to an import."""

EXPORTED_INTERFACE: Final = Struct(
    "bInterfaceClass" / Byte,
    "bInterfaceSubClass" / Byte,
    "bInterfaceProtocol" / Byte,
    Padding(1),
)

COMMAND: Final = Struct(
    "command" / Int32ub,
    "number" / Int32ub,
    "device_id" / Int32ub,
    "direction" / Int32ub,
    "endpoint" / Int32ub,
    "rest" / Bytes(28),
)
"""Each message about an imported device begins with it; ``rest`` is as the command has it."""

SUBMIT: Final = Struct(
    "flags" / Int32ub,
    "length" / Int32sb,
    "start_frame" / Int32sb,
    "packets" / Int32sb,
    "interval" / Int32sb,
    "setup" / Bytes(8),
)

UNLINK: Final = Struct("unlinked" / Int32ub, Padding(24))

_REPLY_TO_NOBODY = Const(bytes(12))
"""Device, direction and endpoint: a host needs the number only."""

SUBMITTED: Final = Struct(
    "command" / Const(RET_SUBMIT, Int32ub),
    "number" / Int32ub,
    _REPLY_TO_NOBODY,
    "status" / Int32sb,
    "count" / Int32sb,
    "start_frame" / Int32sb,
    "packets" / Int32sb,
    "errors" / Const(0, Int32sb),
    Padding(8),
)

UNLINKED: Final = Struct(
    "command" / Const(RET_UNLINK, Int32ub),
    "number" / Int32ub,
    _REPLY_TO_NOBODY,
    "status" / Int32sb,
    Padding(24),
)
