"""What the sinks of brokers share: addresses, the password's file, TLS.

In: texts and paths of the configuration. Out: addresses, a password, an SSL context; a
configuration error in one line. Must not know: any protocol, events.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shoe_ctl.errors import ConfigError

if TYPE_CHECKING:
    import ssl

LONGEST_PASSWORD = 4096
"""Bytes that a password's file may have."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_HIGHEST_PORT = 65535
_ADDRESS = re.compile(
    r"(?P<scheme>[a-z]+)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?/?"
)


class BrokerAddress(NamedTuple):
    """Where a broker listens; ``host`` is without the brackets of IPv6."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        """As it stands in the configuration."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def parse_addresses(text: str, ports: Mapping[str, int]) -> list[BrokerAddress]:
    """Return the addresses in a list with commas; ``ports`` are the schemes' usual ports.

    Raises:
        ConfigError: one of them is no address of these schemes, or two have different schemes.
    """
    found = [_parse_address(part.strip(), ports) for part in text.split(",")]
    if len({address.scheme for address in found}) > 1:
        raise ConfigError(f"address: {text!r}: all addresses need the same scheme")
    return found


def _parse_address(text: str, ports: Mapping[str, int]) -> BrokerAddress:
    forms = " or ".join(f"{scheme}://HOST:PORT" for scheme in ports)
    parts = _ADDRESS.fullmatch(text)
    if parts is None or parts["scheme"] not in ports:
        if "@" in text:  # a password, perhaps: it is not repeated
            raise ConfigError(
                f"address: expected {forms}, without a login: use user and password_file"
            )
        raise ConfigError(f"address: expected {forms}, not {text!r}")
    port = ports[parts["scheme"]] if parts["port"] is None else int(parts["port"])
    if not 1 <= port <= _HIGHEST_PORT:
        raise ConfigError(f"address: {text!r}: a port is a number from 1 to {_HIGHEST_PORT}")
    return BrokerAddress(parts["scheme"], parts["host"].strip("[]"), port)


def read_password(path: Path) -> str:
    """Return the password in this file, without the end of its line.

    Raises:
        ConfigError: it cannot be read, other users may read it, or it holds no single line.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise ConfigError(f"password_file: {path} is not a file")
            if mode & _OTHERS:
                raise ConfigError(
                    f"password_file: {path} is accessible to other users: run chmod 600 {path}"
                )
            read = file.read(LONGEST_PASSWORD + 1)
    except OSError as error:
        raise ConfigError(f"password_file: {path}: {error.strerror}") from None
    try:
        lines = read.decode().splitlines()
    except UnicodeDecodeError:
        raise ConfigError(f"password_file: {path} is not text") from None
    if len(read) > LONGEST_PASSWORD or len(lines) != 1 or not lines[0]:
        raise ConfigError(f"password_file: {path}: expected one line, the password")
    return lines[0]


class Certificates(NamedTuple):
    """The files that TLS needs; without ``ca`` those that the host trusts count.

    Without ``key`` the key stands in ``cert``.
    """

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


def tls_context(files: Certificates) -> ssl.SSLContext:
    """Return how a broker's certificate is checked, and the certificate that is shown to it.

    Raises:
        ConfigError: a file cannot be read, or is not what it should be.
    """
    import ssl

    for name, path in files._asdict().items():
        try:
            if path is not None:
                with path.open("rb"):
                    pass
        except OSError as error:
            raise ConfigError(f"tls.{name}: {path}: {error.strerror}") from None
    try:
        context = ssl.create_default_context(cafile=files.ca)
    except ssl.SSLError:
        raise ConfigError(f"tls.ca: {files.ca}: expected certificates in PEM") from None
    if files.cert is not None:
        try:
            context.load_cert_chain(files.cert, files.key, password="")
        except (ssl.SSLError, OSError, ValueError):
            raise ConfigError(
                f"tls.cert: {files.cert}: expected a certificate in PEM, with its own key, without "
                "a passphrase"
            ) from None
    return context
