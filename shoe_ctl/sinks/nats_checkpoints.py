"""A journal's checkpoints to a stream of NATS JetStream of their own, for witnesses.

In: events. Out: messages that the stream acknowledged. Must not know: the journal, what a witness
does with them.

A checkpoint is signed every few minutes: each delivery has a connection of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shoe_ctl.sinks.checkpoint_topics import (
    CHECKPOINTS,
    COSIGNATURES,
    checkpoint_topic,
    subject,
)
from shoe_ctl.sinks.nats_connection import NatsConnection, NatsTarget
from shoe_ctl.sinks.pump import Sink

CHECKPOINTS_STREAM = "SHOE_CHECKPOINTS"
COSIGNATURES_STREAM = "SHOE_COSIGNATURES"


class CheckpointTarget(NatsTarget, frozen=True, kw_only=True):
    """Where checkpoints are kept, all of them."""

    @property
    def subjects(self) -> str:
        """The subjects of all journals."""
        return subject(CHECKPOINTS)


class CosignatureTarget(NatsTarget, frozen=True, kw_only=True):
    """Where cosignatures are kept: the last one of each witness and journal."""

    @property
    def subjects(self) -> str:
        """The subjects of all witnesses and journals."""
        return subject(COSIGNATURES)


def checkpoints_at(target: NatsTarget) -> CheckpointTarget:
    """Return where checkpoints are kept at these servers."""
    same = msgspec.structs.asdict(target)
    return CheckpointTarget(**(same | {"stream": CHECKPOINTS_STREAM}))


def cosignatures_at(target: NatsTarget) -> CosignatureTarget:
    """Return where cosignatures are kept at these servers."""
    same = msgspec.structs.asdict(target)
    return CosignatureTarget(**(same | {"stream": COSIGNATURES_STREAM, "only_last": True}))


class _Event(msgspec.Struct):
    id: str
    source: str


_event = msgspec.json.Decoder(_Event)


class NatsCheckpoints(Sink):
    """Publishes a journal's checkpoints to the servers of a sink; ``name`` is for the server."""

    def __init__(self, name: str, target: NatsTarget) -> None:
        self._name = name
        self._target = checkpoints_at(target)
        self._connections = 0

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Deliver as ``Sink.deliver``; what came in the last two minutes is not kept twice.

        Raises:
            EventRefused: an event is larger than the server or the stream takes.
            OSError: the stream is away, or takes nothing.
        """
        name = f"shoe-ctl {self._name} checkpoints"
        connection = NatsConnection(self._target, name, first=self._connections)
        self._connections += 1
        try:
            await connection.open()
            await connection.find_or_create_stream()
            for event in events:
                said = _event.decode(event)
                where = subject(checkpoint_topic(said.source.removeprefix("/")))
                await connection.publish(where, event.rstrip(b"\n"), {"Nats-Msg-Id": said.id})
        finally:
            await connection.close()
