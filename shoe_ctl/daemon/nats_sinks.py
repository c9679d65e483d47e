"""Sinks of NATS JetStream, made from their configuration. It imports the client of NATS.

In: a sink's configuration, who may send commands over it. Out: where it connects, the sink, and
its way in.
Must not know: how NATS is spoken to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

from shoe_ctl.api.requests import Caller
from shoe_ctl.config.schema import Config
from shoe_ctl.config.sinks import NatsConfig
from shoe_ctl.daemon.broker_desk import BrokerDesk
from shoe_ctl.daemon.environment import WayIn
from shoe_ctl.errors import ConfigError
from shoe_ctl.sinks.brokers import Certificates
from shoe_ctl.sinks.nats import NatsSink
from shoe_ctl.sinks.nats_checkpoints import NatsCheckpoints
from shoe_ctl.sinks.nats_connection import STREAMS, NatsTarget
from shoe_ctl.sinks.nats_requests import NatsRequests


async def open_nats(
    config: Config, sink: NatsConfig, senders: Mapping[str, Caller], stack: AsyncExitStack
) -> tuple[NatsSink, WayIn | None]:
    """Return the sink, which connects for its first event, and its way in if it has senders.

    ``stack`` closes both.

    Raises:
        ConfigError: a file with its password or certificates cannot be used.
    """
    target = target_of(config, sink)
    try:
        await asyncio.to_thread(target.options)
    except ConfigError as error:
        raise ConfigError(f"sink {sink.known_as}: {error}") from None
    opened = NatsSink(sink.known_as, target)
    stack.push_async_callback(opened.close)
    if not senders:
        return opened, None
    tables = [table.id for table in config.table if sink.is_for(table.id)]
    desk = BrokerDesk(senders, {each.user: each.tables or tables for each in sink.sender})
    await stack.enter_async_context(NatsRequests(sink.known_as, target, tables, desk).open())
    return opened, desk.open


def checkpoints_to(config: Config, sink: NatsConfig) -> NatsCheckpoints:
    """Return what publishes checkpoints to the servers of this sink."""
    return NatsCheckpoints(sink.known_as, target_of(config, sink))


def target_of(config: Config, sink: NatsConfig) -> NatsTarget:
    """Return where this sink publishes."""
    servers, tls, secret = sink.servers, sink.tls, sink.password_file
    files = (None, None, None) if tls is None else (tls.ca, tls.cert, tls.key)
    certificates = Certificates(*(None if file is None else config.path(file) for file in files))
    return NatsTarget(
        addresses=servers,
        stream=STREAMS[sink.sees] if sink.stream is None else sink.stream,
        audience=sink.sees,
        replicas=sink.replicas,
        user=sink.user,
        password_file=None if secret is None else config.path(secret),
        certificates=certificates if servers[0].startswith("tls://") else None,
    )
