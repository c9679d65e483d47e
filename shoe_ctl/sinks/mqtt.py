"""Events to an MQTT 5 broker, the state of each table, and commands from the broker's users.

In: envelopes' bytes; a desk that answers commands and knows how a table stands. Out: messages that
the broker acknowledged, in order for each table; answers; a reason while the broker is away.
Must not know: the journal, what an event or a command means, how a broker is connected.

    shoe/v1/TABLE/public, /restricted      events
    shoe/v1/TABLE/state                    how the table stands, in public; retained
    shoe/v1/TABLE/commands/USER            commands of a user
    shoe/v1/TABLE/answers/USER             answers to them, there or below it, and the events that
                                           the user asked for

Each table has a connection of its own: a connection has one last will, which clears the state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from shoe_ctl.records import Audience, EventId, event_id
from shoe_ctl.sinks.brokers import Asked, Desk, ends_soon
from shoe_ctl.sinks.mqtt_connection import (
    Answer,
    Broker,
    Connection,
    ConnectionLost,
    Incoming,
    Outgoing,
    Will,
    connect,
)
from shoe_ctl.sinks.pump import EventRefused, SinkAway, SinkTrouble, SinkWithState, wall_us

CONTENT_TYPE = "application/cloudevents+json"
PLAIN_JSON = "application/json"
ROOT = "shoe/v1"

FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 5.0
"""The pauses between attempts to connect double from the first to the longest: at most ten
seconds after a broker is back its tables connect."""

STEADY_S = 2.0
"""A connection that lasted so long worked: the next one is tried at once. Two clients of one id cut
each other off sooner."""

MOST_SHORT_LIVED = 3
"""So many connections that end soon, one after the other, are worth a hint."""

STATE_AT_MOST_EVERY_S = 0.2
"""A card changes the state several times at once: one message shows them all."""

STATE_LOOKED_AT_EVERY_S = 2.0
"""The interval for what only time changes: a shoe that does not answer, for example."""

STATE_EXPIRES_S = 120
STATE_REPEATED_S = 40.0
"""The state is published again and expires, so that a broker that lost the last will, because both
died, does not show an old one for long. Three intervals: a late repetition does not let it
expire."""

ANSWER_EXPIRES_S = 60
"""An answer to one who has gone is dropped then: who asks again with the same id gets the same."""

MOST_COMMANDS = 64
"""Commands of a table that are being answered; more than these are discarded, and logged."""

_EVENT_STARTS = b'{"id":"'

log = logging.getLogger(__name__)


Connect = Callable[[Broker, str, Will | None], Awaitable[Connection]]


def topic(table: str, *levels: str) -> str:
    """Return a topic of this table."""
    return "/".join((ROOT, table, *levels))


def id_of(event: bytes) -> str:
    """Return the id that an event's JSON begins with."""
    return event[len(_EVENT_STARTS) : event.find(b'"', len(_EVENT_STARTS))].decode()


def table_of(event: bytes) -> str:
    """Return the table that an event is of."""
    return id_of(event).rpartition("/")[0]


class MqttSink(SinkWithState):
    """One stream of some tables to a broker.

    ``takes_commands``: its users may send them. ``states`` are the tables whose state it publishes.
    ``link`` connects; ``now_us`` is the wall clock, in µs since 1970 UTC.
    """

    def __init__(  # noqa: PLR0913 - where it goes, what it carries, and what a test replaces
        self,
        name: str,
        broker: Broker,
        audience: Audience,
        tables: Sequence[str],
        desk: Desk,
        *,
        takes_commands: bool = False,
        states: Collection[str] = (),
        link: Connect = connect,
        now_us: Callable[[], int] = wall_us,
    ) -> None:
        self.name = name
        self.broker = broker
        self.audience = audience
        self.desk = desk
        self.takes_commands = takes_commands
        self.connect = link
        self.trouble: SinkTrouble | None = None
        self._now_us = now_us
        self._logged: set[str] = set()
        self._warned_of: set[str] = set()
        self._links = {table: _TableLink(self, table, table in states) for table in tables}

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Keep the tables connected until leaving; then clear their state and disconnect."""
        for link in self._links.values():
            link.start()
        try:
            yield
        finally:
            await asyncio.gather(*(link.stop() for link in self._links.values()))

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Deliver as ``Sink.deliver``: the broker has acknowledged them all.

        Raises:
            EventRefused: the broker does not take one of them for what it is.
            SinkAway: the broker is not there, or takes none of them.
        """
        by_link: dict[_TableLink, list[bytes]] = {}
        for event in events:
            by_link.setdefault(self._link_of(event), []).append(event)
        if len(by_link) == 1:
            ((link, some),) = by_link.items()
            await link.deliver(some)
            return
        ended = await asyncio.gather(
            *(link.deliver(some) for link, some in by_link.items()), return_exceptions=True
        )
        errors = [error for error in ended if error is not None]
        if errors:  # all are offered again: whoever has them need not get them twice
            for (link, some), error in zip(by_link.items(), ended, strict=True):
                if error is None:
                    link.note_taken(some)
        for error in sorted(errors, key=lambda error: isinstance(error, EventRefused)):
            raise error  # one that is away before one that refuses

    def set_last_events(self, last: Mapping[str, EventId]) -> None:
        """Show these in the state, by table, as ``SinkWithState``."""
        for table, link in self._links.items():
            link.set_last_event(last.get(table))

    def _link_of(self, event: bytes) -> _TableLink:
        """Return the connection of the event's table, or any where the table is not served now."""
        return self._links.get(table_of(event)) or next(iter(self._links.values()))

    def note_certificate(self, ends: datetime | None) -> None:
        """Warn once, until the sink is made anew, that the broker's certificate ends soon."""
        why = ends_soon(ends)
        if why is not None and why not in self._warned_of:
            self._warned_of.add(why)
            at = self.broker.address
            log.warning('sink %s: certificate: address=%s reason="%s"', self.name, at, why)

    def note_trouble(self) -> None:
        """A link is in trouble, or is so no more: keep it for the status, and log it once."""
        found = [link.trouble for link in self._links.values() if link.trouble is not None]
        for why in found:
            if why not in self._logged:
                self._logged.add(why)
                log.warning('sink %s: away: reason="%s". Retrying.', self.name, why)
        if found:
            since_us = self._now_us() if self.trouble is None else self.trouble.since_us
            self.trouble = SinkTrouble(since_us, found[0])
        elif self.trouble is not None:
            self.trouble = None
            self._logged.clear()
            log.info("sink %s: connected: address=%s", self.name, self.broker.address)


class _TableLink:
    """A table's connection: kept up from ``start`` to ``stop``."""

    def __init__(self, sink: MqttSink, table: str, keeps_state: bool) -> None:
        self.trouble: str | None = None
        self.hears = False
        """It has subscribed to commands."""
        self._sink = sink
        self._table = table
        self._keeps_state = keeps_state
        self._stream = sink.audience.name.lower()
        self._connection: Connection | None = None
        self._up = asyncio.Event()
        self._tried = asyncio.Event()
        self._stopping = asyncio.Event()
        self._state_due = asyncio.Event()
        self._taken: dict[bytes, Connection] = {}
        self._suspicious = False
        self._short_lived = 0
        self._last_event: EventId | None = None
        self._commands: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Connect, and again whenever the connection is lost."""
        self._task = asyncio.create_task(self._run(), name=f"mqtt {self._table}")

    async def stop(self) -> None:
        """Clear the state and disconnect, if there is a connection."""
        self._stopping.set()
        if self._task is not None:
            await self._task
        if self._commands:
            await asyncio.wait(self._commands)

    # Events.

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Publish events of the table. Those that this connection has taken already are left out.

        Raises:
            EventRefused, SinkAway: as ``MqttSink.deliver``.
        """
        connection = await self._ready()
        due = [event for event in events if self._taken.get(event) is not connection]
        if self._suspicious and len(due) > 1:  # one of them may be what the broker chokes on
            for event in due:
                await self.deliver([event])
            self._suspicious = False
            return
        try:
            answers = await connection.publish(
                [
                    Outgoing(topic(table_of(event), self._stream), event, CONTENT_TYPE)
                    for event in due
                ]
            )
        except ConnectionLost as lost:
            self._down(connection, str(lost))
            if lost.unreadable and self._suspicious and len(due) == 1:
                raise EventRefused(
                    f"{self._sink.broker.address} cuts the connection over this event of "
                    f"{len(due[0])} bytes: raise message_size_limit there, or use max_packet_size"
                ) from None
            self._suspicious = lost.unreadable
            raise SinkAway(str(lost), self._up) from None
        refused = [answer for answer in answers if answer.refused is not None]
        if refused:
            taken = [e for e, answer in zip(due, answers, strict=True) if answer.refused is None]
            self._taken |= dict.fromkeys(taken, connection)
            self._raise_refusal(refused)
        for event in events:
            self._taken.pop(event, None)
        if self.trouble is not None:
            self._set_trouble(None)
        self._note_last([event for event in events if table_of(event) == self._table])

    def note_taken(self, events: Sequence[bytes]) -> None:
        """These were delivered, and are offered again because of others: leave them out then."""
        if self._connection is not None:
            self._taken |= dict.fromkeys(events, self._connection)

    async def publish_again(self, messages: Sequence[Outgoing]) -> list[Answer]:
        """Publish these, again over the next connection where one is lost on the way.

        The receiver's own connection may stand all the while: it would not ask again.
        """
        while True:
            await self._up.wait()
            connection = self._connection
            if connection is None:  # it was lost as this task was woken
                continue
            try:
                return await connection.publish(messages)
            except ConnectionLost as lost:
                self._down(connection, str(lost))

    async def _ready(self) -> Connection:
        """Return the connection; wait for one that is being opened."""
        await self._tried.wait()
        if self._connection is None:
            raise SinkAway(self.trouble or "not connected", self._up)
        return self._connection

    def _raise_refusal(self, refused: Sequence[Answer]) -> None:
        """Raise what the broker's refusals mean: of these events, or of any."""
        of_any = [answer.refused for answer in refused if not answer.of_the_message]
        if not of_any:
            raise EventRefused(refused[0].refused)
        broker = self._sink.broker
        who = "the daemon" if broker.login.user is None else f"user {broker.login.user!r}"
        where = topic(self._table, self._stream)
        why = (
            f"{broker.address}: the broker does not let {who} publish to {where} ({of_any[0]}): "
            "allow it in the broker's access list"
        )
        self._set_trouble(why)
        raise SinkAway(why)

    def set_last_event(self, last: EventId | None) -> None:
        """Show this in the state as the last public event, until another one is published."""
        self._last_event = last
        self._state_due.set()

    def _note_last(self, events: Sequence[bytes]) -> None:
        """Keep the highest id of the public stream, for the state; it has changed, very likely."""
        if not self._keeps_state:
            return
        self._state_due.set()
        if events and self._sink.audience is Audience.PUBLIC:
            last = event_id(id_of(events[-1]))
            if self._last_event is None or last.number > self._last_event.number:
                self._last_event = last

    # The connection.

    async def _run(self) -> None:
        loop, retry_s = asyncio.get_running_loop(), FIRST_RETRY_S
        state = topic(self._table, "state")
        will = Will(state, b"") if self._keeps_state else None
        while not self._stopping.is_set():
            self._tried.clear()
            began = loop.time()
            try:
                connection = await self._sink.connect(self._sink.broker, self._client_id, will)
            except ConnectionLost as lost:
                self._set_trouble(str(lost))
                self._tried.set()
            except Exception as error:
                log.exception("sink %s: connecting failed", self._sink.name)
                self._set_trouble(f"{self._sink.broker.address}: {type(error).__name__}: {error}")
                self._tried.set()
            else:
                accepted = loop.time()
                self._sink.note_certificate(connection.certificate_ends)
                await self._serve(connection)
                is_short = loop.time() - accepted < STEADY_S
                self._short_lived = self._short_lived + 1 if is_short else 0
            if loop.time() - began >= STEADY_S:
                retry_s = FIRST_RETRY_S
            with suppress(TimeoutError):
                async with asyncio.timeout(retry_s):
                    await self._stopping.wait()
            retry_s = min(2 * retry_s, LONGEST_RETRY_S)

    @property
    def _client_id(self) -> str:
        """Always the same: the broker then ends a connection of before at once."""
        return f"shoectl-{self._table}-{self._stream}"

    async def _serve(self, connection: Connection) -> None:
        """Use a connection until it is lost or ``stop`` is called."""
        self._connection = connection
        self._set_trouble(None)
        self._tried.set()
        self._up.set()
        tasks = {
            asyncio.create_task(self._receive(connection), name=f"mqtt {self._table} in"),
            asyncio.create_task(self._stopping.wait(), name=f"mqtt {self._table} stop"),
        }
        if self._keeps_state:
            keep = self._keep_state(connection)
            tasks.add(asyncio.create_task(keep, name=f"mqtt {self._table} state"))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in tasks:  # also one that failed while another one was ending
            if task.cancelled():
                continue
            if isinstance(lost := task.exception(), ConnectionLost):
                self._down(connection, str(lost))
            elif lost is not None:
                log.error("sink %s: connection failed", self._sink.name, exc_info=lost)
                self._down(connection, f"{type(lost).__name__}: {lost}")
        if self._stopping.is_set() and self._commands:
            await asyncio.wait(self._commands)  # what is being handled is answered
        if self._keeps_state and self._connection is connection:
            with suppress(ConnectionLost):
                await connection.publish([self._state_message(b"")])
        self._connection, self.hears = None, False
        self._up.clear()
        await connection.close()

    def _down(self, connection: Connection, why: str) -> None:
        """This connection is lost."""
        if self._connection is connection:
            self._connection = None
            self._up.clear()
            self._set_trouble(why if self._short_lived < MOST_SHORT_LIVED else self._why_again(why))

    def _why_again(self, why: str) -> str:
        """Return why connections end as soon as they are accepted; not every broker says so."""
        return f"{why}. That goes on: is another client connected as {self._client_id}?"

    def _set_trouble(self, why: str | None) -> None:
        if why != self.trouble and not self._stopping.is_set():
            self.trouble = why
            self._sink.note_trouble()

    # The state.

    async def _keep_state(self, connection: Connection) -> None:
        """Publish how the table stands, whenever that has changed.

        Raises:
            ConnectionLost: the connection is.
        """
        loop = asyncio.get_running_loop()
        published, at, denied = b"", 0.0, False
        while True:
            self._state_due.clear()
            state = await self._encoded_state()
            if state != published or (state and loop.time() - at >= STATE_REPEATED_S):
                (answer,) = await connection.publish([self._state_message(state)])
                published, at = state, loop.time()
                if answer.refused is not None and not denied:
                    log.warning(
                        'sink %s: state not published: topic=%s reason="%s"',
                        self._sink.name, topic(self._table, "state"), answer.refused,
                    )  # fmt: skip
                denied = answer.refused is not None
            await asyncio.sleep(STATE_AT_MOST_EVERY_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(STATE_LOOKED_AT_EVERY_S):
                    await self._state_due.wait()

    async def _encoded_state(self) -> bytes:
        state = await self._sink.desk.state(self._table)
        if state is None:
            return b""
        last = {} if self._last_event is None else {"last_event": str(self._last_event)}
        return msgspec.json.encode({**state, **last})

    def _state_message(self, state: bytes) -> Outgoing:
        where, expires_s = topic(self._table, "state"), STATE_EXPIRES_S if state else None
        return Outgoing(where, state, PLAIN_JSON, retain=True, expires_s=expires_s)

    # Commands.

    async def _receive(self, connection: Connection) -> None:
        """Take commands until the connection is lost.

        Raises:
            ConnectionLost: it is.
        """
        if self._sink.takes_commands:
            why_not = await connection.subscribe(topic(self._table, "commands", "+"))
            if why_not is not None:
                log.warning('sink %s: no commands: reason="%s"', self._sink.name, why_not)
            self.hears = why_not is None
        while True:
            message = await connection.receive()
            if len(self._commands) >= MOST_COMMANDS:
                log.warning(
                    "sink %s: command discarded: topic=%s reason=more_than_%d",
                    self._sink.name, message.topic, MOST_COMMANDS,
                )  # fmt: skip
                connection.acknowledge(message)
                continue
            answering = self._answer(connection, message)
            task = asyncio.create_task(answering, name=f"mqtt {message.topic}")
            self._commands.add(task)
            task.add_done_callback(self._commands.discard)

    async def _answer(self, connection: Connection, message: Incoming) -> None:
        user = message.topic.rpartition("/")[2]
        reply = topic(self._table, "answers", user)
        refused: Literal["retained", "response_topic"] | None
        refused = "retained" if message.retained else None
        if message.response_topic is not None:
            if is_below(message.response_topic, reply):
                reply = message.response_topic
            else:
                refused = "response_topic"
        expires_at = None
        if message.expires_s is not None:
            expires_at = asyncio.get_running_loop().time() + message.expires_s
        events_to = _AnswerTopic(self, reply)
        asked = Asked(self._table, user, message.payload, refused, expires_at, events_to)
        try:
            answered = await self._sink.desk.answer(asked)
            (taken,) = await connection.publish(
                [
                    Outgoing(
                        reply,
                        answered,
                        PLAIN_JSON,
                        correlation=message.correlation,
                        expires_s=ANSWER_EXPIRES_S,
                    )
                ]
            )
        except ConnectionLost:
            return  # whoever asked asks again, with the same id, and gets the same answer
        finally:
            connection.acknowledge(message)
        if taken.refused is not None:
            log.warning(
                'sink %s: answer not published: topic=%s reason="%s"',
                self._sink.name, reply, taken.refused,
            )  # fmt: skip


class _AnswerTopic(NamedTuple):
    """A topic of one user's answers, over whatever connection the table has."""

    link: _TableLink
    address: str

    async def send(self, events: Sequence[bytes]) -> None:
        """Publish these events there; one that is too large is left out, as on its own topic.

        Raises:
            OSError: the broker takes none.
        """
        answers = await self.link.publish_again(
            [
                Outgoing(self.address, event, CONTENT_TYPE, expires_s=ANSWER_EXPIRES_S)
                for event in events
            ]
        )
        for answer in answers:
            if answer.refused is not None and not answer.of_the_message:
                raise OSError(answer.refused)


def is_below(name: str, folder: str) -> bool:
    """Return whether a message can be published on this topic, and it is the folder or below it."""
    return (name == folder or name.startswith(f"{folder}/")) and not set(name) & set("+#\0")
