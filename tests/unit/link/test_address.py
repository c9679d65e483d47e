"""Port strings of the configuration."""

from __future__ import annotations

import pytest

from shoe_ctl.errors import ConfigError
from shoe_ctl.link.address import Address, SerialAddress, TcpAddress, UsbAddress, parse_address


@pytest.mark.parametrize(
    "path",
    ["/dev/card-shoe/SH-0042", "/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0", "shoe", "./a:b"],
)
def test_a_path_is_a_serial_port(path: str) -> None:
    assert parse_address(path) == SerialAddress(path)


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("tcp://moxa-3.example:4001", TcpAddress("moxa-3.example", 4001)),
        ("tcp://127.0.0.1:65535", TcpAddress("127.0.0.1", 65535)),
        ("tcp://[::1]:1", TcpAddress("::1", 1)),
        ("tcp://[fe80::1%eth0]:4001", TcpAddress("fe80::1%eth0", 4001)),
        ("usb:SH-0042", UsbAddress("SH-0042")),
        ("usb:A:B C", UsbAddress("A:B C")),
    ],
)
def test_an_address_names_what_it_says_and_is_written_the_same(text: str, port: Address) -> None:
    assert parse_address(text) == port
    assert str(port) == text


@pytest.mark.parametrize(
    "text",
    [
        "rfc2217://x:1",
        "",
        " ",
        "/dev/tty\nUSB0",
        "usb:",
        "usb:" + "x" * 127,
        "tcp:moxa:4001",
        "tcp://moxa",
        "tcp://moxa:",
        "tcp://:4001",
        "tcp://moxa:0",
        "tcp://moxa:65536",
        "tcp://moxa:4001/",
        "tcp://::1:4001",
        "tcp://mo xa:4001",
    ],
)
def test_anything_else_is_refused_in_one_line_that_says_what_is_expected(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^port: .*expected the path of a serial port") as e:
        parse_address(text)
    assert "\n" not in str(e.value)
