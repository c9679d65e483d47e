"""Addresses of ports, as the configuration writes them.

In: a string. Out: SerialAddress, TcpAddress or UsbAddress.
Must not know: how ports are opened.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoe_ctl.errors import ConfigError

_SUPPORTED = (
    "expected the path of a serial port, such as /dev/card-shoe/SH-0042, tcp://HOST:PORT or "
    "usb:SERIAL"
)
_KIND = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_TCP = re.compile(r"tcp://(?:\[([0-9A-Fa-f:.]+(?:%\w+)?)\]|([A-Za-z0-9_.-]+)):([0-9]{1,5})")
_HIGHEST_PORT = 65535
_LONGEST_SERIAL = 126
"""Characters that a USB string descriptor can hold."""


@dataclass(frozen=True, slots=True)
class SerialAddress:
    """A serial port by its path. A link made by udev is followed again at each open."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A serial device server, or any other end of raw bytes. Its name is looked up at each open."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tcp://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UsbAddress:
    """A USB device by the serial number in its descriptor. It is searched for at each open."""

    serial: str

    def __str__(self) -> str:
        return f"usb:{self.serial}"


Address = SerialAddress | TcpAddress | UsbAddress


def parse_address(text: str) -> Address:
    """Return the address that this string names.

    Raises:
        ConfigError: not a path, or an unknown kind of port.
    """
    if not text.isprintable() or not text.strip():
        raise ConfigError(f"port: got {text!r} ({_SUPPORTED})")
    kind = _KIND.match(text)
    if kind is None:
        return SerialAddress(text)
    if found := _TCP.fullmatch(text):
        number = int(found[3])
        if 1 <= number <= _HIGHEST_PORT:
            return TcpAddress(found[1] or found[2], number)
    elif kind[1] == "usb" and 0 < len(serial := text[kind.end() :]) <= _LONGEST_SERIAL:
        return UsbAddress(serial)
    raise ConfigError(f"port: got {text!r} ({_SUPPORTED})")
