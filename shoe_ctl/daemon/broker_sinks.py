"""Sinks that go to a broker, made from their configuration. It imports the broker's client.

In: a sink's configuration, who may send commands over it. Out: the sink, and its way in.
Must not know: how a broker is spoken to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from shoe_ctl.api.requests import Caller
from shoe_ctl.config.schema import Config
from shoe_ctl.config.sinks import MqttConfig, keeps_state
from shoe_ctl.daemon.broker_desk import BrokerDesk
from shoe_ctl.daemon.environment import WayIn
from shoe_ctl.errors import ConfigError
from shoe_ctl.sinks.brokers import Certificates
from shoe_ctl.sinks.mqtt import MqttSink
from shoe_ctl.sinks.mqtt_checkpoints import MqttCheckpoints
from shoe_ctl.sinks.mqtt_connection import Broker, Login, read_files


async def open_mqtt(
    config: Config, sink: MqttConfig, senders: Mapping[str, Caller], now_us: Callable[[], int]
) -> tuple[MqttSink, WayIn]:
    """Return the sink, and its way in, which it also needs to know how the tables stand.

    Raises:
        ConfigError: a file with its password or certificates cannot be used.
    """
    broker = _broker(config, sink)
    try:
        await asyncio.to_thread(read_files, broker)
    except ConfigError as error:
        raise ConfigError(f"sink {sink.known_as}: {error}") from None
    tables = [table.id for table in config.table if sink.is_for(table.id)]
    desk = BrokerDesk(senders, {each.user: each.tables or tables for each in sink.sender})
    opened = MqttSink(
        sink.known_as,
        broker,
        sink.sees,
        tables,
        desk,
        takes_commands=bool(senders),
        states=[table for table in tables if keeps_state(sink, config.sink, table)],
        now_us=now_us,
    )
    return opened, desk.open


def checkpoints_to(config: Config, sink: MqttConfig) -> MqttCheckpoints:
    """Return what publishes checkpoints to the broker of this sink."""
    return MqttCheckpoints(_broker(config, sink))


def _broker(config: Config, sink: MqttConfig) -> Broker:
    at = sink.broker
    return Broker(at.host, at.port, _login(config, sink), _certificates(config, sink))


def _login(config: Config, sink: MqttConfig) -> Login:
    secret = sink.password_file
    return Login(sink.user, None if secret is None else config.path(secret))


def _certificates(config: Config, sink: MqttConfig) -> Certificates | None:
    if not sink.broker.tls:
        return None
    if sink.tls is None:
        return Certificates()
    files = (sink.tls.ca, sink.tls.cert, sink.tls.key)
    return Certificates(*(None if file is None else config.path(file) for file in files))
