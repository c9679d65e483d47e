"""Opens whatever kind of port a table is configured with.

In: a port, the profile's serial settings, where to block. Out: its Opener.
Must not know: how any of them does it, frames, reconnecting.
"""

from __future__ import annotations

from concurrent.futures import Executor

from firmware_proto.profiles import SerialSettings
from shoe_ctl.link.address import Address, SerialAddress, TcpAddress
from shoe_ctl.link.serial import DeviceNode, serial_opener
from shoe_ctl.link.tcp import tcp_opener
from shoe_ctl.link.transport import Opener
from shoe_ctl.link.usb import usb_opener
from shoe_ctl.link.usb_discovery import Backends


def opener(
    port: Address,
    settings: SerialSettings,
    executor: Executor,
    usb: Backends,
    node: DeviceNode | None = None,
) -> Opener:
    """Opens this port anew each time it is called.

    A device server sets its serial line by itself, and a USB device has none: ``settings`` are for
    serial ports. ``usb`` gives what finds USB devices. What can block runs in ``executor``.
    ``node`` is what other openers of the same serial port know of it.
    """
    match port:
        case SerialAddress():
            return serial_opener(port, settings, executor, node)
        case TcpAddress():
            return tcp_opener(port, executor)
        case _:
            return usb_opener(port, executor, usb)
