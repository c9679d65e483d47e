"""``shoectl floor``: follow all tables from the stream that the daemons publish to.

In: where the stream is. Out: how the tables stand, until Ctrl-C; it survives outages.
Must not know: how the tables are shown.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.cli.common import Number, is_terminal, with_language, words_in
from shoe_ctl.cli.help_language import said
from shoe_ctl.errors import ConfigError, EnvironmentFault, UsageError
from shoe_ctl.records import Audience

if TYPE_CHECKING:
    from shoe_ctl.cli.floor_view import View
    from shoe_ctl.config.schema import Config
    from shoe_ctl.sinks.nats_connection import NatsConnection, NatsTarget
    from shoe_ctl.texts.screen import Words

FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 5.0


@click.command()
@click.option(
    "--config",
    "config_files",
    metavar="FILE",
    multiple=True,
    help="Follow the nats sink of this configuration; of several, or of a folder of them, the one "
    "stream that all publish to.",
)
@click.option("--address", metavar="ADDRESS", help="Follow the stream at nats://HOST:PORT.")
@click.option("--stream", metavar="NAME", help="The stream's name.  [default: SHOE]")
@click.option("--user", metavar="NAME", help="The user to log in as.")
@click.option("--password-file", metavar="FILE", help="A file with the user's password.")
@click.option(
    "--ca", metavar="FILE", help="The authorities that may sign the server's certificate."
)
@click.option("--cert", metavar="FILE", help="The certificate to show to the server.")
@click.option("--key", metavar="FILE", help="The key of --cert.")
@click.option(
    "--hours",
    type=Number(min=0.1, max=24 * 366),
    default=12.0,
    show_default=True,
    help="How many hours of events to read first.",
)
@click.option("--once", is_flag=True, help="Show how the tables stand, and exit.")
@click.option("--json", "as_json", is_flag=True, help="Write a JSON object for each change.")
@with_language
def floor(  # noqa: PLR0913 - the options of the command line
    config_files: tuple[str, ...],
    address: str | None,
    stream: str | None,
    user: str | None,
    password_file: str | None,
    ca: str | None,
    cert: str | None,
    key: str | None,
    hours: float,
    once: bool,
    as_json: bool,
    language: str | None,
) -> None:
    """Follow all tables from a NATS JetStream stream: state, round, halts, rounds per hour.

    A terminal shows a table of all tables; a pipe gets a line for each change. If the stream is
    away later, the command waits until it is back, and goes on without a gap. Ctrl-C ends it.

    \b
    Examples:
      shoectl floor --address nats://127.0.0.1:4222
      shoectl floor --config table.toml --once
      shoectl floor --config /etc/shoectl --once
      shoectl floor --address nats://127.0.0.1:4222 --once --json
    """  # noqa: D301 - click wants the very character
    if bool(config_files) == (address is not None):
        raise UsageError(said("give --config FILE or --address ADDRESS"))
    files = {"password_file": password_file, "ca": ca, "cert": cert, "key": key}
    if config_files:
        given = {"stream": stream, "user": user, **files}
        wrong = next((name for name, value in given.items() if value is not None), None)
        if wrong is not None:
            option = wrong.replace("_", "-")
            text = "--{option}: the configuration says it: leave it out, or --config"
            raise UsageError(said(text, option=option))
        target = _configured(config_files)
    else:
        assert address is not None
        target = given_target(
            address, stream, user, {k: v for k, v in files.items() if v is not None}
        )
    asyncio.run(
        _follow(
            target, _view(target, words_in(language), as_json=as_json, once=once), hours, once=once
        )
    )


def _configured(config_files: Sequence[str]) -> NatsTarget:
    """Return where the first nats sinks of the configurations publish the public stream.

    Raises:
        ConfigError: a configuration is wrong, or has no such sink, or they have several streams.
    """
    from shoe_ctl.config.daemons import configuration_files
    from shoe_ctl.config.schema import load

    configs = [load(file) for file in configuration_files(config_files)]
    targets = [_target_of(config) for config in configs]
    first = targets[0]
    for config, target in zip(configs, targets, strict=True):
        if (set(target.addresses), target.stream) != (set(first.addresses), first.stream):
            raise ConfigError(
                f"{config.file}: it publishes to {target.where} {target.stream}, and "
                f"{configs[0].file} to {first.where} {first.stream}: follow one stream at a time"
            )
    return first


def _target_of(config: Config) -> NatsTarget:
    from shoe_ctl.config.sinks import NatsConfig
    from shoe_ctl.daemon.nats_sinks import target_of

    for sink in config.sink:
        if isinstance(sink, NatsConfig) and sink.sees is Audience.PUBLIC:
            return target_of(config, sink)
    raise ConfigError(
        f"{config.file}: it has no sink of kind nats with the public stream: give --address"
    )


def given_target(
    address: str,
    stream: str | None,
    user: str | None,
    files: dict[str, str],
    option: str = "--address",
) -> NatsTarget:
    """Return what the options say.

    Raises:
        ConfigError: they cannot be so.
    """
    from shoe_ctl.config.sinks import nats_servers
    from shoe_ctl.sinks.brokers import Certificates
    from shoe_ctl.sinks.nats_connection import STREAMS, NatsTarget

    try:
        servers = nats_servers(address)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    if (user is None) != ("password_file" not in files):
        raise UsageError(said("--user and --password-file need each other: give both, or none"))
    paths = {name: Path(file) for name, file in files.items() if name != "password_file"}
    encrypted = servers[0].startswith("tls://")
    if paths and not encrypted:
        raise UsageError(f"--{next(iter(paths))}: needs an address that begins with tls://")
    password = files.get("password_file")
    return NatsTarget(
        addresses=servers,
        stream=stream or STREAMS[Audience.PUBLIC],
        audience=Audience.PUBLIC,
        user=user,
        password_file=None if password is None else Path(password),
        certificates=Certificates(**paths) if encrypted else None,
    )


def _view(target: NatsTarget, words: Words, *, as_json: bool, once: bool) -> View:
    from shoe_ctl.cli.floor_view import Lines, LiveTable

    if is_terminal() and not as_json and not once:
        return LiveTable(_now_us, f"{target.where} {target.stream}", words)
    return Lines(_now_us, words, as_json=as_json)


def _now_us() -> int:
    return time.time_ns() // 1000


async def _follow(target: NatsTarget, view: View, hours: float, *, once: bool) -> None:
    """Show the tables until Ctrl-C, or ``once``.

    Raises:
        EnvironmentFault: the stream is not there at the start.
    """
    from shoe_ctl.sinks.nats_connection import NatsConnection

    follower = _Follower(view, hours, once=once)
    attempts, retry_s = 0, FIRST_RETRY_S
    with view:
        while True:
            connection = NatsConnection(target, "shoectl floor", first=attempts)
            attempts += 1
            try:
                await follower.follow(connection)
            except OSError as error:
                if once or not follower.has_shown:
                    raise EnvironmentFault(f"stream {target.stream}: {error}") from None
                if not follower.lost:
                    retry_s = FIRST_RETRY_S
                follower.away(str(error))
            else:
                return
            finally:
                await connection.close()
            await asyncio.sleep(retry_s)
            retry_s = min(2 * retry_s, LONGEST_RETRY_S)


class _Follower:
    """Reads the stream over one connection after the other, without a gap."""

    def __init__(self, view: View, hours: float, *, once: bool) -> None:
        from shoe_ctl.cli.floor_view import Floor

        self.lost = self.has_shown = False
        self._view = view
        self._once = once
        self._tables = Floor()
        self._since_us = _now_us() - round(hours * 3_600_000_000)
        self._position: int | None = None

    def away(self, why: str) -> None:
        """Say once that the stream is away."""
        if not self.lost:
            self._view.lost(why)
        self.lost = True

    async def follow(self, connection: NatsConnection) -> None:
        """Show the tables until the connection is lost, or once.

        Raises:
            OSError: the connection is lost.
        """
        await connection.open()
        if self._position is None:
            await self._read_last(connection)
            since = datetime.fromtimestamp(self._since_us / 1e6, timezone.utc)
            coming = connection.follow(connection.subjects, since=since)
        else:
            coming = connection.follow(connection.subjects, after=self._position)
        async with aclosing(coming):
            async for messages, waiting in coming:
                for message in messages:
                    self._tables.apply(message.body)
                    self._position = message.seq
                if not waiting:  # before, they stand as they stood some time ago
                    self._show()
                    if self._once:
                        return

    async def _read_last(self, connection: NatsConnection) -> None:
        """Apply the last event of each table that has told nothing since the time to begin at."""
        from shoe_ctl.cli.floor_view import event_time_us

        coming = connection.follow(connection.subjects)
        async with aclosing(coming):
            async for messages, waiting in coming:
                for message in messages:
                    if event_time_us(message.body) < self._since_us:
                        self._tables.apply(message.body)
                if not waiting:
                    return

    def _show(self) -> None:
        if self.lost:
            self._view.back()
            self.lost = False
        self._view.show(self._tables)
        self.has_shown = True
