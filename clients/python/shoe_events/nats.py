"""Events from a stream of NATS JetStream: each table's subject from where it was left.

In: servers, the stream's name, tables. Out: the events, in the stream's order. What is missing is
read from the stream again. It needs nats-py: ``pip install shoe-events[nats]``.
Must not know: what an event means, stores.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from typing import Any

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from shoe_events.consumer import Consumer, Resend
from shoe_events.event import Audience, InvalidEvent, number_of, read_event
from shoe_events.follow import Connect, ConnectionLost, Received

STREAM = "SHOE"

HEARTBEAT_S = 5.0
"""Seconds between two signs of life of the stream."""

FORGOTTEN_S = 30.0
"""So long the stream remembers a reader that has gone."""

MOST_WAITING = 1000
"""Events that were read and not applied yet."""


def nats_stream(  # noqa: PLR0913 - what a connection to a stream takes
    servers: str | list[str],
    consumer: Consumer,
    tables: Collection[str],
    *,
    stream: str = STREAM,
    audience: Audience = "public",
    from_first: bool = False,
    **options: Any,
) -> Connect:
    """Return how ``follow`` connects to a stream. ``options`` go to the client of nats-py.

    A table without a position begins with what comes from now on, or ``from_first`` with the first
    event that the stream has.
    """

    @asynccontextmanager
    async def connected() -> AsyncIterator[_Stream]:
        client = Client()
        try:
            opened = _Stream(client, stream, tables, audience)
            await client.connect(
                servers, allow_reconnect=False, closed_cb=opened.end, error_cb=_ignored, **options
            )
            known = {each.table for each in consumer.resume() if each.audience == audience}
            for table in tables:
                if table not in known:
                    await opened.read(table, 1 if from_first else None)
            yield opened
        except (OSError, nats.errors.Error) as error:
            raise ConnectionLost(str(error) or type(error).__name__) from None
        finally:
            if not client.is_closed:
                await client.close()

    return connected


class _Stream:
    """Each table's subject, read in order from one of its messages on."""

    def __init__(
        self, client: Client, stream: str, tables: Collection[str], audience: Audience
    ) -> None:
        self._client = client
        self._context = client.jetstream()
        self._stream = stream
        self._tables = tables
        self._audience = audience
        self._subscriptions: dict[str, Subscription] = {}
        self._has_ended = False
        self._messages: asyncio.Queue[bytes | None] = asyncio.Queue(MOST_WAITING)

    async def events(self) -> AsyncIterator[Received]:
        while not (self._has_ended and self._messages.empty()):
            if (body := await self._messages.get()) is not None:
                yield Received(body, seamless=True)

    async def end(self) -> None:
        """The connection was closed: nothing more comes behind what was read."""
        self._has_ended = True
        with suppress(asyncio.QueueFull):
            self._messages.put_nowait(None)

    async def resend(self, asked: Resend) -> None:
        if asked.table not in self._tables or asked.audience != self._audience:
            return
        try:
            await self.read(asked.table, await self._find(asked))
        except nats.errors.Error as error:
            raise ConnectionLost(str(error) or type(error).__name__) from None

    async def _find(self, asked: Resend) -> int:
        """Return a message's sequence from which on all that is asked for comes, or 1."""
        number = number_of(asked.after)
        subject = self._subject(asked.table)
        try:
            last = await self._context.get_last_msg(self._stream, subject)
        except NotFoundError:
            return 1
        step, sequence = 1, last.seq or 1
        while sequence > 1:
            found = await self._context.get_msg(self._stream, sequence, subject=subject, next=True)
            if _is_at_or_before(found.data or b"", number, asked.source):
                break
            sequence, step = max(1, sequence - step), 2 * step
        return sequence

    def _subject(self, table: str) -> str:
        return f"shoe.v1.{table.replace('.', '%2E')}.{self._audience}"

    async def read(self, table: str, sequence: int | None) -> None:
        """Read a table's subject from this message of the stream on; None: what comes."""
        if (former := self._subscriptions.pop(table, None)) is not None:
            await former.unsubscribe()
        expected = 1

        async def take(message: Msg) -> None:
            nonlocal expected
            if message.headers is not None and "Status" in message.headers:  # a sign of life
                return
            if message.metadata.sequence.consumer != expected:
                await self._client.close()  # some were missed on the way: begin anew
                return
            expected += 1
            await self._messages.put(message.data)

        inbox = self._client.new_inbox()
        self._subscriptions[table] = await self._client.subscribe(inbox, cb=take)
        config = ConsumerConfig(
            name=inbox.rpartition(".")[2],
            deliver_subject=inbox,
            filter_subject=self._subject(table),
            deliver_policy=DeliverPolicy.NEW,
            ack_policy=AckPolicy.NONE,
            idle_heartbeat=HEARTBEAT_S,
            inactive_threshold=FORGOTTEN_S,
            mem_storage=True,
        )
        if sequence is not None:
            config.deliver_policy = DeliverPolicy.BY_START_SEQUENCE
            config.opt_start_seq = sequence
        await self._context.add_consumer(self._stream, config)


def _is_at_or_before(body: bytes, number: int, source: str | None) -> bool:
    try:
        event = read_event(body)
    except InvalidEvent:
        return False
    return event.number <= number and source in (None, event.source)


async def _ignored(_: Exception) -> None:
    """What ends a connection is seen where it is used."""
