"""Sinks of NATS JetStream, made from their configuration. It imports the client of NATS.

In: a sink's configuration. Out: where it connects, and the sink.
Must not know: how NATS is spoken to.
"""

from __future__ import annotations

import asyncio

from shoe_ctl.config.schema import Config
from shoe_ctl.config.sinks import NatsConfig
from shoe_ctl.errors import ConfigError
from shoe_ctl.sinks.brokers import Certificates
from shoe_ctl.sinks.nats import NatsSink
from shoe_ctl.sinks.nats_connection import STREAMS, NatsTarget


async def open_nats(config: Config, sink: NatsConfig) -> NatsSink:
    """Return the sink; it connects for its first event.

    Raises:
        ConfigError: a file with its password or certificates cannot be used.
    """
    target = target_of(config, sink)
    try:
        await asyncio.to_thread(target.options)
    except ConfigError as error:
        raise ConfigError(f"sink {sink.known_as}: {error}") from None
    return NatsSink(sink.known_as, target)


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
