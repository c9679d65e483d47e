"""The logins at the brokers of a configuration, each with its purpose: the daemon's, and others.

In: the daemon's configuration, a file of logins. Out: one form for each login, or one line that
says which key is wrong. Must not know: a protocol, what is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from shoe_ctl import toml
from shoe_ctl.config.schema import Config
from shoe_ctl.config.sinks import MqttConfig, NatsConfig, Strict, TableId, TlsConfig
from shoe_ctl.errors import ConfigError
from shoe_ctl.sinks.brokers import Certificates
from shoe_ctl.validation import find_mistakes

BrokerSink = MqttConfig | NatsConfig

_Broker = tuple[str, str | None]
"""An address, and the daemon's user there."""
_Brokers = dict[_Broker, list[BrokerSink]]


class LoginConfig(Strict, frozen=True, kw_only=True):
    """A login that is not the daemon's: a section `[[login]]`."""

    sink: str | None = None
    """The name of the sink whose broker it logs in to. Not needed where there is one broker."""
    user: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    """The user's name at the broker."""
    password_file: str | None = None
    """A file with the user's password, which only its owner may read."""
    tls: TlsConfig | None = None
    """The user's own files, where the daemon's do not fit."""
    reads: Literal["nothing", "public", "restricted"] = "public"
    """The events that this user is to read. `"restricted"`: all of them; it is trusted with every
    card, and with the consumers of other readers."""
    commands: tuple[TableId, ...] = ()
    """The tables that this user is to command."""
    witness: bool = False
    """True: it is a witness, which reads checkpoints and writes its own cosignatures."""


class _File(Strict, frozen=True, kw_only=True):
    """A file of logins."""

    login: tuple[LoginConfig, ...] = ()


class Login(NamedTuple):
    """A login and its purpose. ``reads`` is None for the daemon itself."""

    user: str | None
    password_file: Path | None
    certificates: Certificates | None
    reads: Literal["nothing", "public", "restricted"] | None = None
    commands: Sequence[str] = ()
    is_witness: bool = False

    @property
    def is_daemon(self) -> bool:
        """Return True for the daemon's own login."""
        return self.reads is None

    @property
    def is_trusted(self) -> bool:
        """Return True for a login that may know every card."""
        return self.reads in (None, "restricted")

    @property
    def reads_checkpoints(self) -> bool:
        """Return True for a login that may read them."""
        return self.is_trusted or self.is_witness


class BrokerLogins(NamedTuple):
    """The logins of one broker: the daemon's first. ``sinks`` are those that go there."""

    sinks: Sequence[BrokerSink]
    daemon: Login
    others: Sequence[Login]

    @property
    def name(self) -> str:
        """Return the name of the first sink that goes there."""
        return self.sinks[0].known_as

    @property
    def has_checkpoints(self) -> bool:
        """Return True if the daemon publishes checkpoints there."""
        return any(sink.checkpoints for sink in self.sinks)

    @property
    def all(self) -> list[Login]:
        """Return every login, the daemon's first."""
        return [self.daemon, *self.others]


def read_logins(path: Path) -> Sequence[LoginConfig]:
    """Read a file of logins.

    Raises:
        ConfigError: it cannot be read, or a key is unknown, missing or wrong.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if len(source) > toml.MOST_BYTES:
        raise ConfigError(f"{path}: no file of logins has more than {toml.MOST_BYTES:,} bytes")
    try:
        plain = toml.parse(source)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    for mistake in find_mistakes(plain, _File):
        raise ConfigError(f"{path}: {mistake}")
    return msgspec.convert(plain, _File).login


def brokers(config: Config, logins: Sequence[LoginConfig], path: Path | None) -> list[BrokerLogins]:
    """Return the brokers of a configuration, each with its logins, as the file at ``path`` says.

    Raises:
        ConfigError: there is none, or a login names no sink that goes to a broker.
    """
    found: dict[_Broker, list[BrokerSink]] = {}
    for sink in config.sink:
        if isinstance(sink, BrokerSink):
            found.setdefault((sink.address, sink.user), []).append(sink)
    if not found:
        raise ConfigError(f"{config.file}: no sink goes to a broker: there is nothing to check")
    of: dict[_Broker, list[LoginConfig]] = {broker: [] for broker in found}
    for number, login in enumerate(logins):
        of[_broker(found, login, f"{path}: login[{number}]")].append(login)
    folder = Path() if path is None else path.parent
    return [
        BrokerLogins(
            sinks,
            Login(
                sinks[0].user,
                _path(Path(config.folder), sinks[0].password_file),
                _certificates(config, sinks[0], None, folder),
            ),
            [
                Login(
                    each.user,
                    _path(folder, each.password_file),
                    _certificates(config, sinks[0], each, folder),
                    each.reads,
                    each.commands,
                    each.witness,
                )
                for each in of[broker]
            ],
        )
        for broker, sinks in found.items()
    ]


def _broker(found: _Brokers, login: LoginConfig, where: str) -> _Broker:
    """Return the broker that a login is for."""
    if login.sink is None:
        if len(found) > 1:
            names = ", ".join(_names(found))
            raise ConfigError(f"{where}.sink: there are several brokers: expected one of {names}")
        return next(iter(found))
    for broker, sinks in found.items():
        if login.sink in (sink.known_as for sink in sinks):
            return broker
    names = ", ".join(_names(found))
    raise ConfigError(f"{where}.sink: no sink {login.sink!r} goes to a broker: expected {names}")


def _names(found: _Brokers) -> Iterator[str]:
    return (sink.known_as for sinks in found.values() for sink in sinks)


def _path(folder: Path, name: str | None) -> Path | None:
    return None if name is None else folder / name


def _certificates(
    config: Config, sink: BrokerSink, login: LoginConfig | None, folder: Path
) -> Certificates | None:
    """Return the files for TLS; None where the address has none.

    A login without files of its own trusts the authorities that the daemon trusts, and shows no
    certificate: the daemon's is the daemon's alone.
    """
    if not sink.address.startswith(("mqtts://", "tls://")):
        return None
    daemons = sink.tls or TlsConfig()
    ca = _path(Path(config.folder), daemons.ca)
    if login is None:
        folder, own = Path(config.folder), daemons
    else:
        own = login.tls or TlsConfig()
        ca = _path(folder, own.ca) or ca
    return Certificates(ca, _path(folder, own.cert), _path(folder, own.key))
