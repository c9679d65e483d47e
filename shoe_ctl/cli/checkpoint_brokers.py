"""The brokers that bring checkpoints to a witness, and its cosignatures back: NATS and MQTT.

In: an address, a login, files for TLS, as options. Out: where the broker is; what it keeps.
Must not know: what a witness checks. A broker's client is imported only for a broker.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shoe_ctl.errors import EnvironmentFault, UsageError

if TYPE_CHECKING:
    from shoe_ctl.audit.witness import Witness
    from shoe_ctl.sinks.mqtt_connection import Broker

_MQTT = ("mqtt://", "mqtts://")
_NATS = ("nats://", "tls://")

ADDRESSES = "nats://HOST:PORT or mqtt://HOST:PORT"


class BrokerLogin(NamedTuple):
    """The options of a login at a broker; ``files`` are those that were given, by option."""

    user: str | None
    files: Mapping[str, str]

    def check_unused(self, addresses: Iterable[str]) -> None:
        """Refuse a login where no source is a broker.

        Raises:
            UsageError: there is one.
        """
        given = next(iter(self.files), None if self.user is None else "user")
        if given is not None and not any(addresses):
            option = given.replace("_", "-")
            raise UsageError(f"--{option} needs a broker: give {ADDRESSES}")


def broker_login(user: str | None, **files: str | None) -> BrokerLogin:
    """Return the options that were given."""
    return BrokerLogin(user, {name: file for name, file in files.items() if file is not None})


def is_broker(source: str) -> bool:
    """Return True for the address of a broker, as against a file."""
    return source.startswith(_MQTT + _NATS)


def following(
    address: str, login: BrokerLogin
) -> Callable[[Witness, Callable[[bytes], None]], Coroutine[Any, Any, Any]]:
    """Return what follows the checkpoints at this broker for a witness.

    Raises:
        UsageError, ConfigError: the address or the options cannot be used.
    """
    if address.startswith(_MQTT):
        from shoe_ctl.audit.checkpoint_topic import follow_topic

        broker = _broker(address, login)
        return lambda own, hand_out: follow_topic(own, broker, hand_out)
    from shoe_ctl.audit.checkpoint_stream import follow_stream
    from shoe_ctl.cli.floor import given_target

    target = given_target(address, None, login.user, dict(login.files), "SOURCE")
    return lambda own, hand_out: follow_stream(own, target, hand_out)


def read_cosigned(address: str, login: BrokerLogin) -> list[bytes]:
    """Return the last line of each witness for each journal that a broker keeps.

    Raises:
        UsageError, ConfigError: the address or the options cannot be used.
        EnvironmentFault: the broker is away, or does not let them be read.
    """
    import asyncio

    try:
        if address.startswith(_MQTT):
            from shoe_ctl.audit.checkpoint_topic import read_retained

            return asyncio.run(read_retained(_broker(address, login)))
        from shoe_ctl.audit.checkpoint_stream import read_streamed
        from shoe_ctl.cli.floor import given_target

        target = given_target(address, None, login.user, dict(login.files), "SOURCE")
        return asyncio.run(read_streamed(target))
    except OSError as error:
        raise EnvironmentFault(f"cosignatures not read: {error}") from None


def _broker(address: str, login: BrokerLogin) -> Broker:
    from shoe_ctl.config.sinks import broker_address
    from shoe_ctl.sinks.brokers import Certificates
    from shoe_ctl.sinks.mqtt_connection import Broker, Login, read_files

    try:
        at = broker_address(address, "mqtt", "mqtts", (1883, 8883))
    except ValueError as error:
        raise UsageError(f"SOURCE: {error}") from None
    paths = {name: Path(file) for name, file in login.files.items()}
    password = paths.pop("password_file", None)
    if (login.user is None) != (password is None):
        raise UsageError("--user and --password-file need each other: give both, or none")
    if paths and not at.tls:
        raise UsageError(f"--{next(iter(paths))}: needs an address that begins with mqtts://")
    certificates = Certificates(**paths) if at.tls else None
    broker = Broker(at.host, at.port, Login(login.user, password), certificates)
    read_files(broker)
    return broker
