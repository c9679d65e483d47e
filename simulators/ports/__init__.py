"""The ports of simulated shoes, as a host opens them.

A ``Port`` tells its ``Wire`` when a host opens it, what the host sends, and when it goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulators.lazy_names import lazy_names

__all__ = [
    "Attachment",
    "Port",
    "PortAt",
    "PtyAt",
    "PtyPort",
    "TcpAt",
    "TcpPort",
    "UsbIpAt",
    "UsbIpPort",
    "UsbIpServer",
    "Wire",
    "parse",
]

if TYPE_CHECKING:
    from simulators.ports.port import (
        Attachment,
        Port,
        PortAt,
        PtyAt,
        TcpAt,
        UsbIpAt,
        Wire,
        parse,
    )
    from simulators.ports.pty import PtyPort
    from simulators.ports.tcp import TcpPort
    from simulators.ports.usbip.port import UsbIpPort
    from simulators.ports.usbip.server import UsbIpServer
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Attachment": "port",
            "Port": "port",
            "PortAt": "port",
            "PtyAt": "port",
            "TcpAt": "port",
            "UsbIpAt": "port",
            "Wire": "port",
            "parse": "port",
            "PtyPort": "pty",
            "TcpPort": "tcp",
            "UsbIpPort": "usbip.port",
            "UsbIpServer": "usbip.server",
        },
    )
