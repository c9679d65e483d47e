"""Checkpoints from a stream of NATS JetStream to a witness, and its cosignatures back.

In: where the stream is, a witness. Out: cosigned checkpoints in a stream of their own, of which the
last one of each witness and journal is kept. Must not know: what a witness checks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime, timezone
from typing import NoReturn

from shoe_ctl.audit.checkpoint_feed import MARK, answer_loudly, read_arrival
from shoe_ctl.audit.witness import Witness
from shoe_ctl.sinks.checkpoint_topics import COSIGNATURES, cosignature_topic, subject
from shoe_ctl.sinks.nats_checkpoints import checkpoints_at, cosignatures_at
from shoe_ctl.sinks.nats_connection import NatsConnection, NatsTarget, StoredMessage

FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 5.0

log = logging.getLogger(__name__)


async def follow_stream(
    own: Witness, target: NatsTarget, hand_out: Callable[[bytes], None]
) -> NoReturn:
    """Cosign the checkpoints that a server keeps, and those that come, over any number of outages.

    It begins where the journal began that was cosigned longest ago, and without any at the start
    of the stream. ``hand_out`` is given each line as well.

    Raises:
        ConfigError: a file with the password or certificates cannot be used.
        EnvironmentFault: the witness's state cannot be stored, or nothing can be handed out.
    """
    follower = _Follower(own, hand_out)
    retry_s, first = FIRST_RETRY_S, 0
    target = checkpoints_at(target)
    while True:
        events = NatsConnection(target, f"witness {own.key.name}", first=first)
        back = NatsConnection(cosignatures_at(target), f"witness {own.key.name}", first=first)
        first += 1
        before = follower.position
        try:
            await events.open()
            await back.open()
            await back.find_or_create_stream()
            await follower.follow(events, back)
        except OSError as error:
            log.warning("stream %s away: %s", target.stream, error)
        finally:
            await events.close()
            await back.close()
        if follower.position != before:
            retry_s = FIRST_RETRY_S
        await asyncio.sleep(retry_s)
        retry_s = min(2 * retry_s, LONGEST_RETRY_S)


class _Follower:
    """Takes the stream up over one connection after the other, behind what was answered."""

    def __init__(self, own: Witness, hand_out: Callable[[bytes], None]) -> None:
        self.position: int | None = None
        self._own = own
        self._hand_out = hand_out

    async def follow(self, events: NatsConnection, back: NatsConnection) -> None:
        """Answer what comes until a connection is lost.

        Raises:
            OSError: it is.
        """
        if self.position is not None:
            coming = events.follow(events.subjects, after=self.position)
        elif cosigned := [self._own.cosigned(seen).t_s for seen in self._own.seen()]:
            since = datetime.fromtimestamp(min(cosigned), timezone.utc)
            coming = events.follow(events.subjects, since=since)
        else:
            coming = events.follow(events.subjects, after=0)
        log.info("following %s: journals=%d", events.address, len(self._own.seen()))
        async with aclosing(coming):
            async for messages, _ in coming:
                for message in messages:
                    if MARK in message.body:
                        await self._answer(message, back)
                    self.position = message.seq

    async def _answer(self, message: StoredMessage, back: NatsConnection) -> None:
        arrival = read_arrival(f"message {message.seq}", message.body)
        if arrival is None:
            return
        found = answer_loudly(self._own, arrival, self._hand_out)
        if found.given_out:
            is_alarm = found.refusal is not None
            topic = cosignature_topic(self._own.key.key_id, found.origin, alarm=is_alarm)
            await back.publish(subject(topic), found.given_out.rstrip(b"\n"), {})


async def read_streamed(target: NatsTarget) -> list[bytes]:
    """Return the last line of each witness for each journal.

    Raises:
        OSError: the stream is away, or is not there.
        ConfigError: a file with the password or certificates cannot be used.
    """
    found: list[bytes] = []
    connection = NatsConnection(cosignatures_at(target), "shoectl cosignatures")
    try:
        await connection.open()
        coming = connection.follow(subject(COSIGNATURES))
        async with aclosing(coming):
            async for messages, waiting in coming:
                found += [message.body for message in messages]
                if not waiting:
                    return found
    finally:
        await connection.close()
    return found
