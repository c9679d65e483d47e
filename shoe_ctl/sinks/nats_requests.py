"""Requests that users of a NATS server send for some tables, and the answers to them.

In: messages on the users' own subjects, which the server's permissions make true; a desk that
answers. Out: answers, and the events that a user asked for, below that user's own inbox and
nowhere else. Must not know: streams, what a request means.

    shoe.v1.TABLE.commands.USER            requests of a user
    _INBOX_USER.>                          answers to them, and events that the user asked for

It has a connection of its own, so that no request holds an event up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from shoe_ctl.sinks.brokers import Asked, Desk
from shoe_ctl.sinks.nats_connection import INBOX, NatsConnection, NatsTarget

FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 5.0
"""The pauses between attempts to connect double from the first to the longest."""

STEADY_S = 2.0
"""A connection that lasted so long worked: the next one is tried at once."""

SENT_WITHIN_S = 5.0
"""A server that takes longer to take an answer is away."""

MOST_REQUESTS = 64
"""Requests that are being answered; more than these are discarded, and logged."""

CONTENT_TYPE = "Content-Type"
CORRELATION = "Shoe-Correlation"
"""The header of a request that stands in its answer, too."""

log = logging.getLogger(__name__)


def subject_of(table: str, user: str) -> str:
    """Return the subject of this user's requests for a table."""
    return f"shoe.v1.{table.replace('.', '%2E')}.commands.{user}"


class NatsRequests:
    """Takes the requests for some tables that come over a server. ``name`` is the sink's."""

    def __init__(self, name: str, target: NatsTarget, tables: Sequence[str], desk: Desk) -> None:
        self._name = name
        self._target = target
        self._tables = tables
        self._desk = desk
        self._answering: set[asyncio.Task[None]] = set()
        self._why_not: str | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Take requests until leaving; what is being handled then is answered."""
        stopping = asyncio.Event()
        task = asyncio.create_task(self._run(stopping), name=f"sink {self._name} requests")
        try:
            yield
        finally:
            stopping.set()
            await task

    async def _run(self, stopping: asyncio.Event) -> None:
        loop, retry_s, count = asyncio.get_running_loop(), FIRST_RETRY_S, 0
        while not stopping.is_set():
            began = loop.time()
            name = f"shoe-ctl {self._name} requests"
            connection = NatsConnection(self._target, name, first=count)
            count += 1
            try:
                await connection.open()
                await self._serve(connection, stopping)
            except OSError as error:
                if str(error) != self._why_not:
                    self._why_not = str(error)
                    log.warning('sink %s: no requests: reason="%s". Retrying.', self._name, error)
            finally:
                await connection.close()
            if loop.time() - began >= STEADY_S:
                retry_s = FIRST_RETRY_S
            with suppress(TimeoutError):
                async with asyncio.timeout(retry_s):
                    await stopping.wait()
            retry_s = min(2 * retry_s, LONGEST_RETRY_S)

    async def _serve(self, connection: NatsConnection, stopping: asyncio.Event) -> None:
        """Take requests over a connection until it is lost or ``stopping`` is set.

        Raises:
            OSError: it is lost.
        """
        for table in self._tables:
            await self._subscribe(connection, table)
        with suppress(TimeoutError):  # what the server refuses is known by then
            await connection.client.flush(int(SENT_WITHIN_S))
        if not connection.lost.done():
            self._why_not = None
            log.info("sink %s: takes requests: address=%s", self._name, connection.address)
        waits = asyncio.create_task(stopping.wait())
        either: set[asyncio.Future[Any]] = {waits, connection.lost}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waits.cancel()
        if self._answering:
            await asyncio.wait(self._answering)
        if not stopping.is_set():
            raise OSError(f"{connection.address}: {connection.lost.result()}")

    async def _subscribe(self, connection: NatsConnection, table: str) -> None:
        async def take(message: Msg) -> None:
            if len(self._answering) >= MOST_REQUESTS:
                self._discard(message, f"more_than_{MOST_REQUESTS}")
                return
            task = asyncio.create_task(self._answer(connection.client, table, message))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

        try:
            await connection.client.subscribe(subject_of(table, "*"), cb=take)
        except nats.errors.Error as error:
            raise OSError(f"{connection.address}: {error}") from None

    def _discard(self, message: Msg, why: str) -> None:
        log.warning(
            "sink %s: request discarded: subject=%s reason=%s", self._name, message.subject, why
        )

    async def _answer(self, client: Client, table: str, message: Msg) -> None:
        user = message.subject.rpartition(".")[2]
        if not is_own_inbox(message.reply, user):
            self._discard(message, f"the reply is not below {INBOX}_{user}")
            return
        inbox = _Inbox(client, message.reply)
        answered = await self._desk.answer(Asked(table, user, message.data, reply=inbox))
        headers = {CONTENT_TYPE: "application/json"}
        if message.headers is not None and CORRELATION in message.headers:
            headers[CORRELATION] = message.headers[CORRELATION]
        try:
            await client.publish(message.reply, answered, headers=headers)
        except nats.errors.Error as error:
            log.debug('sink %s: answer not sent: reason="%s"', self._name, error)


class _Inbox(NamedTuple):
    """A user's own inbox, for as long as a connection lasts."""

    client: Client
    address: str

    async def send(self, events: Sequence[bytes]) -> None:
        """Send these; one that is larger than the server takes is left out, as in the stream.

        Raises:
            OSError: the connection is lost, or takes nothing.
        """
        headers = {CONTENT_TYPE: "application/cloudevents+json"}
        most = self.client.max_payload - 100
        try:
            for event in events:
                if len(event) <= most:
                    await self.client.publish(self.address, event, headers=headers)
            await self.client.flush(int(SENT_WITHIN_S))
        except (nats.errors.Error, TimeoutError) as error:
            raise OSError(str(error) or "connection lost") from None


def is_own_inbox(reply: str, user: str) -> bool:
    """Return whether a message can be sent to this subject, and it is below the user's inbox."""
    below = reply.removeprefix(f"{INBOX}_{user}.")
    return below != reply and all(below.split(".")) and not set(below) & set("*> \t\r\n")
