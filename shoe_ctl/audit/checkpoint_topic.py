"""Checkpoints from an MQTT 5 broker to a witness, and its cosignatures back.

In: where the broker is, a witness. Out: cosigned checkpoints, retained: the last one of each
witness and journal. Must not know: what a witness checks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NoReturn

from shoe_ctl.audit.checkpoint_feed import MARK, answer_loudly, read_arrival
from shoe_ctl.audit.witness import Witness
from shoe_ctl.sinks.checkpoint_topics import CHECKPOINTS, COSIGNATURES, cosignature_topic
from shoe_ctl.sinks.mqtt import CONTENT_TYPE
from shoe_ctl.sinks.mqtt_connection import (
    Broker,
    Connection,
    ConnectionLost,
    Incoming,
    Outgoing,
    connect,
)

FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 5.0

KEPT_S = 30 * 24 * 3600
"""The broker keeps what comes for a witness that is away for a month: each checkpoint proves only
that it continues the one before."""

LAST_AFTER_S = 1.0
"""Retained messages come at once; when none came for so long, there are no more."""

log = logging.getLogger(__name__)


async def follow_topic(own: Witness, broker: Broker, hand_out: Callable[[bytes], None]) -> NoReturn:
    """Cosign the checkpoints that a broker has, and those that come, over any number of outages.

    ``hand_out`` is given each line as well.

    Raises:
        EnvironmentFault: the witness's state cannot be stored, or nothing can be handed out.
    """
    retry_s, client_id = FIRST_RETRY_S, f"shoectl-witness-{own.key.key_id.hex()}"
    while True:
        try:
            connection = await asyncio.shield(connect(broker, client_id, None, kept_s=KEPT_S))
            try:
                if (why_not := await connection.subscribe(CHECKPOINTS)) is not None:
                    raise ConnectionLost(why_not)
                log.info("following %s: journals=%d", broker.address, len(own.seen()))
                while True:
                    await _answer(own, connection, await connection.receive(), hand_out)
                    retry_s = FIRST_RETRY_S
            finally:
                await connection.close()
        except ConnectionLost as lost:
            log.warning("broker away: %s", lost)
        await asyncio.sleep(retry_s)
        retry_s = min(2 * retry_s, LONGEST_RETRY_S)


async def _answer(
    own: Witness, connection: Connection, message: Incoming, hand_out: Callable[[bytes], None]
) -> None:
    """Answer a message; the broker sends it again unless the answer is there.

    Raises:
        ConnectionLost: the connection is, or the answer is not taken.
    """
    arrival = read_arrival(message.topic, message.payload) if MARK in message.payload else None
    if arrival is not None:
        found = answer_loudly(own, arrival, hand_out)
        if found.given_out:
            is_alarm = found.refusal is not None
            topic = cosignature_topic(own.key.key_id, found.origin, alarm=is_alarm)
            line = Outgoing(topic, found.given_out.rstrip(b"\n"), CONTENT_TYPE, retain=True)
            (taken,) = await connection.publish([line])
            if taken.refused is not None:
                raise ConnectionLost(
                    f"the broker does not let the witness publish to {topic} ({taken.refused}): "
                    "allow it in the broker's access list"
                )
    connection.acknowledge(message)


async def read_retained(broker: Broker) -> list[bytes]:
    """Return the last line of each witness for each journal.

    Raises:
        OSError: the broker is away, or does not let them be read.
    """
    try:
        return await _read_retained(broker)
    except ConnectionLost as lost:
        raise OSError(str(lost)) from None


async def _read_retained(broker: Broker) -> list[bytes]:
    found: list[bytes] = []
    connection = await asyncio.shield(connect(broker, "", None))
    try:
        if (why_not := await connection.subscribe(COSIGNATURES)) is not None:
            raise ConnectionLost(why_not)
        while True:
            async with asyncio.timeout(LAST_AFTER_S):
                message = await connection.receive()
            found.append(message.payload)
            connection.acknowledge(message)
    except TimeoutError:
        return found
    finally:
        await connection.close()
