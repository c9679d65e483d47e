"""What a port string of the configuration names.

In: the string. Out: SerialPort.
Must not know: how ports are opened.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoe_ctl.errors import ConfigError

_SUPPORTED = "supported: the path of a serial port, such as /dev/card-shoe/SH-0042"
_KIND = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


@dataclass(frozen=True, slots=True)
class SerialPort:
    """A serial port by its path; a link made by udev is followed anew at each open."""

    path: str


def parse_port(text: str) -> SerialPort:
    """The port that this string names.

    Raises:
        ConfigError: not a path, or a kind of port that this version cannot open.
    """
    if kind := _KIND.match(text):
        raise ConfigError(f"port: {kind[1]} ports are not supported, got {text!r} ({_SUPPORTED})")
    if not text.isprintable() or not text.strip():
        raise ConfigError(f"port: expected a path, got {text!r} ({_SUPPORTED})")
    return SerialPort(text)
