"""A journal's checkpoints to an MQTT 5 broker, for witnesses: the newest one is retained.

In: events. Out: messages that the broker acknowledged. Must not know: the journal, what a witness
does with them.

A checkpoint is signed every few minutes: each delivery has a connection of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from shoe_ctl.sinks.checkpoint_topics import checkpoint_topic, journal_level
from shoe_ctl.sinks.mqtt import CONTENT_TYPE
from shoe_ctl.sinks.mqtt_connection import Broker, ConnectionLost, Outgoing, connect
from shoe_ctl.sinks.pump import EventRefused, Sink


class _Event(msgspec.Struct):
    source: str


_event = msgspec.json.Decoder(_Event)


class MqttCheckpoints(Sink):
    """Publishes a journal's checkpoints to the broker of a sink."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Deliver as ``Sink.deliver``.

        Raises:
            EventRefused: the broker does not take one of them for what it is.
            OSError: the broker is not there, or lets the daemon publish nothing there.
        """
        origin = _event.decode(events[0]).source.removeprefix("/")
        topic, name = checkpoint_topic(origin), f"shoectl-{journal_level(origin)}-checkpoints"
        try:
            connection = await asyncio.shield(connect(self._broker, name, None))
            try:
                answers = await connection.publish(
                    [
                        Outgoing(topic, event.rstrip(b"\n"), CONTENT_TYPE, retain=True)
                        for event in events
                    ]
                )
            finally:
                await connection.close()
        except ConnectionLost as lost:
            raise OSError(str(lost)) from None
        for answer in answers:
            if answer.refused is None:
                continue
            if answer.of_the_message:
                raise EventRefused(answer.refused)
            raise OSError(
                f"{self._broker.address}: the broker does not let the daemon publish to {topic} "
                f"({answer.refused}): allow it in the broker's access list"
            )
