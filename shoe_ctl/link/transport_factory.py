"""The Opener of any kind of port: serial, TCP or USB."""

from __future__ import annotations

from concurrent.futures import Executor

from firmware_proto.profiles import SerialSettings
from shoe_ctl.link.address import Address, SerialAddress, TcpAddress
from shoe_ctl.link.serial import DeviceNode, serial_opener
from shoe_ctl.link.tcp import tcp_opener
from shoe_ctl.link.transport import Opener
from shoe_ctl.link.usb_discovery import Backends


def opener(
    port: Address,
    settings: SerialSettings,
    executor: Executor,
    usb: Backends,
    node: DeviceNode | None = None,
) -> Opener:
    """Return what opens this port, each time it is called.

    ``settings`` are for serial ports: a device server sets its line by itself, and a USB device has
    none. ``usb`` returns the backend that finds USB devices. What can block runs in ``executor``.
    ``node`` is shared by all openers of the same serial port.
    """
    match port:
        case SerialAddress():
            return serial_opener(port, settings, executor, node)
        case TcpAddress():
            return tcp_opener(port, executor)
        case _:
            from shoe_ctl.link.usb import usb_opener

            return usb_opener(port, executor, usb)
