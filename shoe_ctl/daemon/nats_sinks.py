"""Sinks of NATS JetStream, made from their configuration. It imports the client of NATS.

In: a sink's configuration. Out: where it connects, and the sink.
Must not know: how NATS is spoken to.
"""

from __future__ import annotations

import asyncio

from shoe_ctl.config.schema import BROKER_PORTS, Config, SinkConfig
from shoe_ctl.errors import ConfigError
from shoe_ctl.sinks.brokers import Certificates, parse_addresses
from shoe_ctl.sinks.nats import NatsSink
from shoe_ctl.sinks.nats_connection import DEFAULT_STREAM, NatsTarget


async def open_nats(config: Config, sink: SinkConfig) -> NatsSink:
    """Return the sink; it connects for its first event.

    Raises:
        ConfigError: a file with its password or certificates cannot be used.
    """
    target = target_of(config, sink)
    try:
        await asyncio.to_thread(target.options)
    except ConfigError as error:
        raise ConfigError(f"sink {sink.known_as}: {error}") from None
    return NatsSink(sink.known_as, sink.sees, target)


def target_of(config: Config, sink: SinkConfig) -> NatsTarget:
    """Return where this sink publishes."""
    assert sink.address is not None
    files = (None,) * 3 if sink.tls is None else (sink.tls.ca, sink.tls.cert, sink.tls.key)
    ca, cert, key = (None if file is None else config.path(file) for file in files)
    addresses = parse_addresses(sink.address, BROKER_PORTS["nats"])
    secret = sink.password_file
    return NatsTarget(
        addresses=addresses,
        stream=sink.stream or DEFAULT_STREAM,
        replicas=sink.replicas,
        user=sink.user,
        password_file=None if secret is None else config.path(secret),
        certificates=Certificates(ca, cert, key) if addresses[0].scheme == "tls" else None,
    )
