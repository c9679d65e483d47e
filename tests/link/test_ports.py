"""Port strings of the configuration."""

from __future__ import annotations

import pytest

from shoe_ctl.errors import ConfigError
from shoe_ctl.link.ports import SerialPort, parse_port


@pytest.mark.parametrize(
    "path",
    ["/dev/card-shoe/SH-0042", "/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0", "shoe", "./a:b"],
)
def test_a_path_is_a_serial_port(path: str) -> None:
    assert parse_port(path) == SerialPort(path)


@pytest.mark.parametrize("text", ["tcp://moxa-3.example:4001", "usb:SH-0042", "rfc2217://x", ""])
def test_any_other_kind_is_refused_in_one_line_that_says_what_is_supported(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^port: .*supported: the path of a serial port") as e:
        parse_port(text)
    assert "\n" not in str(e.value)


def test_a_path_with_a_line_break_is_refused() -> None:
    with pytest.raises(ConfigError):
        parse_port("/dev/tty\nUSB0")
