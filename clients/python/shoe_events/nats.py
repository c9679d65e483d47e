"""Events from a stream of NATS JetStream: each table's subject from where it was left.

In: servers, the stream's name, tables. Out: the events, in the stream's order. What is missing is
read from the stream again, and what it lost is asked for from the daemon. It needs nats-py:
``pip install shoe-events[nats]``.
Must not know: what an event means, stores.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import APIError

from shoe_events.answers import EVENT_TYPE, as_object, check, request_for
from shoe_events.consumer import Consumer, Resend
from shoe_events.event import Audience, InvalidEvent, number_of, read_event
from shoe_events.follow import Connect, ConnectionLost, NotAllowed, NotAnswered, Received

STREAMS: Mapping[Audience, str] = {"public": "SHOE", "restricted": "SHOE_RESTRICTED"}

ANSWERED_WITHIN_S = 5.0

HEARTBEAT_S = 2.5
"""Seconds between two signs of life of the stream."""

MOST_SILENT = 3
"""After so many missing signs of life the connection is dead, or the server that read for us."""

CLOSED_WITHIN_S = 2.0

FORGOTTEN_S = 5.0
"""So long the stream remembers a reader that has gone: it takes a thousand of them at most."""

LOOK_FORGOTTEN_S = 0.1
"""So long it remembers one that has read the one message that it was made for."""

OFFERED_AGAIN = "Shoe-Newest"
"""The header of an event that the daemon offers again: it does not stand in the order."""

CORRELATION = "Shoe-Correlation"
"""The header of a request that stands in its answer, too."""

ANSWER_S = 2.0
"""A daemon that was just started, or that the server has no connection to, does not answer."""

MOST_WAITING = 1000
"""Events that were read and not applied yet."""


def nats_stream(  # noqa: PLR0913 - what a connection to a stream takes
    servers: str | list[str],
    consumer: Consumer,
    tables: Collection[str],
    *,
    audience: Audience = "public",
    stream: str | None = None,
    from_first: bool = False,
    sink: str | None = None,
    heartbeat_s: float = HEARTBEAT_S,
    **options: Any,
) -> Connect:
    """Return how ``follow`` connects to a stream. ``options`` go to the client of nats-py.

    Without ``stream`` it is the daemon's for this audience. A server with users wants ``user``,
    ``password`` and the user's own ``inbox_prefix``.

    The stream gives a sign of life each ``heartbeat_s``; without it the connection is opened again.

    A table without a position begins with what comes from now on, or ``from_first`` with the first
    event that the stream has.

    ``sink`` is the name of the daemon's sink for this stream. ``user`` must be one of its senders,
    so that the daemon sends it what the stream does not have; ``inbox_prefix`` is then
    ``_INBOX_USER``.

    Raises:
        ValueError: there is a ``sink`` and no ``user``.
    """
    user = options.get("user")
    if sink is not None:
        if user is None:
            raise ValueError("sink needs a user: the daemon answers only users that it knows")
        options = {"inbox_prefix": f"_INBOX_{user}", **options}

    @asynccontextmanager
    async def connected() -> AsyncIterator[_Stream]:
        client = Client()
        try:
            opened = _Stream(client, stream or STREAMS[audience], tables, audience, heartbeat_s)
            await client.connect(
                servers, allow_reconnect=False, closed_cb=opened.end, error_cb=_ignored, **options
            )
            if sink is not None:
                await opened.ask_daemon(sink, str(user))
            known = {each.table for each in consumer.resume() if each.audience == audience}
            for table in tables:
                if table not in known:
                    await opened.read(table, 1 if from_first else None)
            watching = asyncio.create_task(opened.watch())
            try:
                yield opened
            finally:
                watching.cancel()
                await asyncio.wait({watching})
        except APIError as error:
            asked = f"stream {stream or STREAMS[audience]}"
            raise ConnectionLost(f"{asked}: the server says: {error.description}") from None
        except (OSError, nats.errors.Error) as error:
            raise ConnectionLost(str(error) or type(error).__name__) from None
        finally:
            await _close(client)

    return connected


async def _close(client: Client) -> None:
    """Close a connection, whether or not anybody is at its other end."""
    if not client.is_closed:
        closing = asyncio.create_task(client.close())
        await asyncio.wait({closing}, timeout=CLOSED_WITHIN_S)
        closing.cancel()


class _Stream:
    """Each table's subject, read in order from one of its messages on."""

    def __init__(
        self,
        client: Client,
        stream: str,
        tables: Collection[str],
        audience: Audience,
        heartbeat_s: float,
    ) -> None:
        self._client = client
        self._context = client.jetstream()
        self._stream = stream
        self._tables = tables
        self._audience = audience
        self._heartbeat_s = heartbeat_s
        self._heard_at: dict[str, float] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._has_ended = False
        self._messages: asyncio.Queue[Received | None] = asyncio.Queue(MOST_WAITING)
        self._sink = self._user = ""
        self._inbox = ""
        self._answers: dict[str, asyncio.Future[Mapping[str, Any]]] = {}

    async def events(self) -> AsyncIterator[Received]:
        while not (self._has_ended and self._messages.empty()):
            if (received := await self._messages.get()) is not None:
                yield received

    async def end(self) -> None:
        """The connection was closed: nothing more comes behind what was read."""
        self._has_ended = True
        with suppress(asyncio.QueueFull):
            self._messages.put_nowait(None)

    async def watch(self) -> None:
        """Return once a table's reader gave no sign of life for too long: it, or the link, is gone.

        A reader lives on one server of several: if that one is lost, the connection may still work.
        """
        loop = asyncio.get_running_loop()
        while not self._has_ended:
            await asyncio.sleep(self._heartbeat_s)
            latest = loop.time() - MOST_SILENT * self._heartbeat_s
            if self._messages.full():  # what comes waits for the application
                self._heard_at = dict.fromkeys(self._heard_at, loop.time())
            elif any(heard_at < latest for heard_at in self._heard_at.values()):
                await self.end()

    async def resend(self, asked: Resend) -> None:
        if asked.table not in self._tables or asked.audience != self._audience:
            return
        try:
            if self._sink and asked.upto is not None:  # the stream has not what is missing
                await self._ask(asked)
            else:
                await self.read(asked.table, await self._find(asked))
        except nats.errors.Error as error:
            raise ConnectionLost(str(error) or type(error).__name__) from None

    async def ask_daemon(self, sink: str, user: str) -> None:
        """From now on ask the daemon for what the stream does not have."""
        self._sink, self._user = sink, user
        self._inbox = self._client.new_inbox()
        await self._client.subscribe(self._inbox, cb=self._answered)

    async def _answered(self, message: Msg) -> None:
        headers = message.headers or {}
        if headers.get("Content-Type") == EVENT_TYPE:
            await self._messages.put(Received(message.data))
            return
        answer = self._answers.get(headers.get(CORRELATION, ""))
        if answer is not None and not answer.done():
            answer.set_result(as_object(message.data))

    async def _ask(self, asked: Resend) -> None:
        """Ask the daemon; where it does not answer, read the stream again, which is refilled."""
        try:
            check(await self.request(asked.table, request_for(asked, self._sink)))
        except NotAnswered:
            await self.read(asked.table, await self._find(asked))

    async def request(self, table: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self._sink:
            raise NotAllowed("requests need the name of the daemon's sink: give nats_stream() one")
        mark = uuid.uuid4().hex
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[mark] = answer
        try:
            await self._client.publish(
                f"shoe.v1.{_token(table)}.commands.{self._user}",
                json.dumps(asked).encode(),
                reply=self._inbox,
                headers={CORRELATION: mark},
            )
            async with asyncio.timeout(ANSWER_S):
                return await answer
        except TimeoutError:
            raise NotAnswered from None
        except nats.errors.Error as error:
            raise ConnectionLost(str(error) or type(error).__name__) from None
        finally:
            del self._answers[mark]

    async def _find(self, asked: Resend) -> int:
        """Return a message's sequence from which on all that is asked for comes, or 1."""
        number, step = number_of(asked.after), 1
        found = await self._look(asked.table, None)
        begin = 1 if found is None else found.metadata.sequence.stream
        while found is not None and begin > 1:
            sequence = found.metadata.sequence.stream
            if _is_at_or_before(found, number, asked.source):
                return sequence
            # The table's first message from there on may be this one again: other tables' lie
            # between, or the stream has none before it.
            begin, step = max(1, sequence - step), 2 * step
            found = await self._look(asked.table, begin)
        return 1

    async def _look(self, table: str, sequence: int | None) -> Msg | None:
        """Return a table's first message from a sequence on, or its last one; None: there is none.

        A consumer is made for it: readers may not ask the stream for single messages, as these may
        be of other subjects.
        """
        inbox = self._client.new_inbox()
        subscription = await self._client.subscribe(inbox)
        await subscription.unsubscribe(limit=1)
        policy = DeliverPolicy.LAST if sequence is None else DeliverPolicy.BY_START_SEQUENCE
        config = self._consumer(table, inbox, policy, sequence)
        config = config.evolve(inactive_threshold=LOOK_FORGOTTEN_S)
        made = await self._context.add_consumer(self._stream, config)
        if made.num_pending:
            return await subscription.next_msg(ANSWERED_WITHIN_S)
        await subscription.unsubscribe()
        return None

    def _consumer(
        self, table: str, inbox: str, policy: DeliverPolicy, sequence: int | None
    ) -> ConsumerConfig:
        return ConsumerConfig(
            name=inbox.rpartition(".")[2],
            deliver_subject=inbox,
            filter_subject=self._subject(table),
            deliver_policy=policy,
            opt_start_seq=sequence,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=FORGOTTEN_S,
            mem_storage=True,
        )

    def _subject(self, table: str) -> str:
        return f"shoe.v1.{_token(table)}.{self._audience}"

    async def read(self, table: str, sequence: int | None) -> None:
        """Read a table's subject from this message of the stream on; None: what comes."""
        if (former := self._subscriptions.pop(table, None)) is not None:
            await former.unsubscribe()
        self._heard_at.pop(table, None)
        expected, loop = 1, asyncio.get_running_loop()

        async def take(message: Msg) -> None:
            nonlocal expected
            self._heard_at[table] = loop.time()
            if message.headers is not None and "Status" in message.headers:  # a sign of life
                if message.headers.get("Nats-Last-Consumer", "") not in ("", str(expected - 1)):
                    await self.end()  # the last ones were missed on the way
                return
            if message.metadata.sequence.consumer != expected:
                await self.end()  # some were missed on the way: begin anew
                return
            expected += 1
            await self._messages.put(Received(message.data, seamless=True))

        inbox = self._client.new_inbox()
        self._subscriptions[table] = await self._client.subscribe(inbox, cb=take)
        policy = DeliverPolicy.NEW if sequence is None else DeliverPolicy.BY_START_SEQUENCE
        config = self._consumer(table, inbox, policy, sequence)
        await self._context.add_consumer(
            self._stream, config.evolve(idle_heartbeat=self._heartbeat_s)
        )
        self._heard_at.setdefault(table, loop.time())


def _token(table: str) -> str:
    return table.replace(".", "%2E")


def _is_at_or_before(message: Msg, number: int, source: str | None) -> bool:
    """Return True if what follows on this event stands behind it in the stream."""
    if message.headers is not None and OFFERED_AGAIN in message.headers:
        return False
    try:
        event = read_event(message.data)
    except InvalidEvent:
        return False
    return event.number <= number and source in (None, event.source)


async def _ignored(_: Exception) -> None:
    """What ends a connection is seen where it is used."""
