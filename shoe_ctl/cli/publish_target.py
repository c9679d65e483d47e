"""Where recorded events are published: stdout, an MQTT broker or a stream of JetStream.

In: an address, a login, files for TLS. Out: the daemon's own sink, connected.
Must not know: recordings. A broker's client is imported only for a broker.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoe_ctl.errors import UsageError
from shoe_ctl.records import Audience

if TYPE_CHECKING:
    from shoe_ctl.sinks.brokers import Asked, Certificates

Deliver = Callable[[Sequence[bytes]], Awaitable[None]]
"""Publishes events: they are taken when it returns. It raises why they are not."""

NAME = "publish"
"""The sink's name in messages."""


@dataclass(frozen=True, slots=True)
class Target:
    """An address, and what it takes to be let in there."""

    address: str
    user: str | None = None
    password: Path | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    stream: str | None = None

    @property
    def scheme(self) -> str:
        """The beginning of the address."""
        return self.address.partition("://")[0]


@asynccontextmanager
async def opened(
    target: Target, audience: Audience, tables: Collection[str]
) -> AsyncIterator[Deliver]:
    """Open what an address names.

    Raises:
        UsageError: it is no address, or the options do not fit it.
        ConfigError: a file with the password or certificates cannot be used.
    """
    if target.scheme in ("mqtt", "mqtts"):
        opening = _mqtt(target, audience, tables)
    elif target.scheme in ("nats", "tls"):
        opening = _nats(target, audience)
    elif target.address == "-":
        opening = _stdout(audience)
    else:
        raise UsageError(
            "--to: expected mqtt://HOST:PORT, nats://HOST:PORT or - for stdout, "
            f"not {target.address!r}"
        )
    _check(target)
    async with opening as deliver:
        yield deliver


def _check(target: Target) -> None:
    """Refuse options that do not fit the address or one another."""
    if (target.user is None) != (target.password is None):
        raise UsageError("--user and --password-file need each other: give both, or none")
    if (target.cert is None) != (target.key is None):
        raise UsageError("--cert and --key need each other: give both, or none")
    files = {"ca": target.ca, "cert": target.cert, "user": target.user}
    given = next((name for name, value in files.items() if value is not None), None)
    if target.address == "-" and given is not None:
        raise UsageError(f"--{given} needs a broker: give its address with --to")
    if given in ("ca", "cert") and target.scheme not in ("mqtts", "tls"):
        raise UsageError(f"--{given} needs an address with TLS: mqtts://HOST or tls://HOST")
    if target.stream is not None and target.scheme not in ("nats", "tls"):
        raise UsageError("--stream needs an address of NATS: nats://HOST or tls://HOST")


@asynccontextmanager
async def _stdout(audience: Audience) -> AsyncIterator[Deliver]:
    from concurrent.futures import ThreadPoolExecutor

    from shoe_ctl.sinks.jsonl import open_jsonl

    with ThreadPoolExecutor(1, thread_name_prefix="sink") as writer:
        stream = open_jsonl("-", audience, writer)
        try:
            yield stream.deliver
        finally:
            await stream.close()


@asynccontextmanager
async def _mqtt(
    target: Target, audience: Audience, tables: Collection[str]
) -> AsyncIterator[Deliver]:
    from shoe_ctl.config.sinks import broker_address
    from shoe_ctl.sinks.mqtt import MqttSink
    from shoe_ctl.sinks.mqtt_connection import Broker, Login, read_files

    try:
        at = broker_address(target.address, "mqtt", "mqtts", (1883, 8883))
    except ValueError as error:
        raise UsageError(f"--to: {error}") from None
    login = Login(target.user, target.password)
    broker = Broker(at.host, at.port, login, _certificates(target, tls=at.tls))
    read_files(broker)
    sink = MqttSink(NAME, broker, audience, sorted(tables), _Nobody())
    async with sink.connected():
        yield sink.deliver


class _Nobody:
    """Answers nobody: there is no daemon, and the sink takes no commands."""

    async def answer(self, asked: Asked) -> bytes:
        raise AssertionError(f"a command came that nobody listens for: {asked}")

    async def state(self, table: str) -> Mapping[str, Any] | None:  # noqa: ARG002 - none has one
        return None


@asynccontextmanager
async def _nats(target: Target, audience: Audience) -> AsyncIterator[Deliver]:
    from shoe_ctl.config.sinks import nats_servers
    from shoe_ctl.sinks.nats import NatsSink
    from shoe_ctl.sinks.nats_connection import STREAMS, NatsTarget

    try:
        servers = nats_servers(target.address)
    except ValueError as error:
        raise UsageError(f"--to: {error}") from None
    at = NatsTarget(
        addresses=servers,
        stream=target.stream or STREAMS[audience],
        audience=audience,
        user=target.user,
        password_file=target.password,
        certificates=_certificates(target, tls=target.scheme == "tls"),
    )
    at.options()
    sink = NatsSink(NAME, at)
    try:
        yield sink.deliver_again  # also what the stream has already: that is what is tested
    finally:
        await sink.close()


def _certificates(target: Target, *, tls: bool) -> Certificates | None:
    from shoe_ctl.sinks.brokers import Certificates

    return Certificates(target.ca, target.cert, target.key) if tls else None
