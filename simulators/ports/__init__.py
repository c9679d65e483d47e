"""The ports of simulated shoes, as a host opens them.

A ``Port`` tells its ``Wire`` when a host opens it, what the host sends, and when it goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulators.lazy_names import lazy_names

__all__ = [
    "Port",
    "PtyAt",
    "PtyPort",
    "TcpAt",
    "TcpPort",
    "Wire",
    "parse",
]

if TYPE_CHECKING:
    from simulators.ports.port import Port, PtyAt, TcpAt, Wire, parse
    from simulators.ports.pty import PtyPort
    from simulators.ports.tcp import TcpPort
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Port": "port",
            "PtyAt": "port",
            "TcpAt": "port",
            "Wire": "port",
            "parse": "port",
            "PtyPort": "pty",
            "TcpPort": "tcp",
        },
    )
