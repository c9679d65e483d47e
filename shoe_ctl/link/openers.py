"""Opens whatever kind of port a table is configured with.

In: a port, the profile's serial settings, where to block. Out: its Opener.
Must not know: how any of them does it, frames, reconnecting.
"""

from __future__ import annotations

from concurrent.futures import Executor

from firmware_proto.profiles import SerialSettings

from .device_node import DeviceNode
from .ports import Port, SerialPort, TcpPort
from .serial import serial_opener
from .tcp import tcp_opener
from .transport import Opener
from .usb import usb_opener
from .usb_devices import Backends


def opener(
    port: Port,
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
        case SerialPort():
            return serial_opener(port, settings, executor, node)
        case TcpPort():
            return tcp_opener(port, executor)
        case _:
            return usb_opener(port, executor, usb)
