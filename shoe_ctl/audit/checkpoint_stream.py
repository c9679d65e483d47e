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
from hashlib import sha256
from typing import NoReturn

import msgspec

from shoe_ctl.audit.checkpoint_feed import Answer, answer, read_arrival
from shoe_ctl.audit.witness import CHECKPOINT_SIGNED, Witness
from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.journal.signed_note import VerifierKey
from shoe_ctl.sinks.nats_connection import NatsConnection, NatsTarget, StoredMessage

STREAM = "SHOE_COSIGNATURES"
ROOT = "shoe.v1.cosignatures"
SUBJECTS = f"{ROOT}.*.*"
"""By witness and journal. With one level more than those of events: the streams do not overlap."""

FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 5.0

_MARK = f'"{CHECKPOINT_SIGNED}"'.encode()

log = logging.getLogger(__name__)


class CosignatureTarget(NatsTarget, frozen=True, kw_only=True):
    """Where cosignatures are kept: the last one of each witness and journal."""

    @property
    def subjects(self) -> str:
        """The subjects of all witnesses and journals."""
        return SUBJECTS


def cosignatures_at(target: NatsTarget) -> CosignatureTarget:
    """Return where cosignatures are kept at the servers of a stream of events."""
    same = msgspec.structs.asdict(target)
    return CosignatureTarget(**(same | {"stream": STREAM, "only_last": True}))


def subject_of(witness: VerifierKey, origin: str, *, alarm: bool = False) -> str:
    """Return the subject of a witness's cosignatures of a journal.

    An alarm has a subject beside it, so that it does not replace what was cosigned last.
    """
    journal = sha256(origin.encode()).hexdigest()[:16]
    return f"{ROOT}.{witness.key_id.hex()}.{journal}{'-alarm' if alarm else ''}"


async def follow_stream(
    own: Witness, target: NatsTarget, hand_out: Callable[[bytes], None]
) -> NoReturn:
    """Cosign the checkpoints of a stream of events as they come, over any number of outages.

    It begins where the journal began that was cosigned longest ago, and without any at the start
    of the stream. ``hand_out`` is given each line as well.

    Raises:
        ConfigError: a file with the password or certificates cannot be used.
        EnvironmentFault: the witness's state cannot be stored, or nothing can be handed out.
    """
    follower = _Follower(own, hand_out)
    retry_s, first = FIRST_RETRY_S, 0
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
                    if _MARK in message.body:  # most events are others
                        await self._answer(message, back)
                    self.position = message.seq

    async def _answer(self, message: StoredMessage, back: NatsConnection) -> None:
        arrival = read_arrival(f"message {message.seq}", message.body)
        if arrival is None:
            return
        found = answer(self._own, arrival)
        if found.refusal is not None:
            level = logging.CRITICAL if found.refusal.is_loud else logging.WARNING
            log.log(level, "refused: %s: %s", arrival.where, found.refusal)
        if found.given_out:
            try:
                self._hand_out(found.given_out)
            except OSError as error:
                raise EnvironmentFault(f"standard output: {error.strerror}") from None
            await back.publish(self._subject(found), found.given_out.rstrip(b"\n"), {})

    def _subject(self, found: Answer) -> str:
        return subject_of(self._own.key, found.origin, alarm=found.refusal is not None)


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
        coming = connection.follow(SUBJECTS)
        async with aclosing(coming):
            async for messages, waiting in coming:
                found += [message.body for message in messages]
                if not waiting:
                    return found
    finally:
        await connection.close()
    return found
