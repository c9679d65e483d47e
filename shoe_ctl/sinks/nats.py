"""Events to a stream of NATS JetStream, one subject for each table and audience.

In: envelopes' bytes. Out: messages, each acknowledged by the stream before it counts.
Must not know: the journal, what an event means.

Each message says which message of its subject must be the last one (the expected last subject
sequence). So the stream refuses whatever comes twice, late, or from a second publisher, however
long ago the first one was; its own window for duplicates forgets after two minutes. A connection
therefore begins by reading the last message of each subject: what is there is not sent again.
A subject that ends before what it had acknowledged has lost the rest: that is reported. An event
that is offered again names the newest one before it, as it does not stand in the order itself.
Each audience has a stream of its own: in one stream the numbers of the public messages would show
how many restricted ones lie between them.
The number of the next message is only known when the one before it is acknowledged, as other
subjects share the stream: the messages of one subject go out one by one, subjects beside one
another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple

import msgspec
from nats.js.api import RetentionPolicy, StorageType, StreamInfo

from shoe_ctl.records import Audience, event_id, table_in
from shoe_ctl.sinks.brokers import ends_soon
from shoe_ctl.sinks.nats_connection import NEWEST, NatsConnection, NatsTarget, StoredMessage
from shoe_ctl.sinks.pump import EventRefused, Loss, Sink

MOST_LOOKS = 3
"""A publish looks again so often what the subject ends with, before the sink counts as away. Once
is enough after a lost acknowledgement; more than that, and another daemon publishes there."""

log = logging.getLogger(__name__)


def subject_of(table: str, audience: Audience) -> str:
    """Return the subject of a table's stream; a dot in the table's id is written as ``%2E``."""
    return f"shoe.v1.{table.replace('.', '%2E')}.{audience.name.lower()}"


class _Event(NamedTuple):
    """An event to publish, with its identity: its source, and the number in its id."""

    source: str
    id: str
    number: int
    body: bytes


class _Place(NamedTuple):
    """The end of a subject: the sequence of its last message, 0 where it has none.

    ``source`` and ``number`` are those of the newest event up to it, if there is one.
    """

    seq: int
    source: str = ""
    number: int = 0

    def behind(self, seq: int, event: _Event, *, again: bool) -> _Place:
        """Return the place behind this event, which was published here."""
        if again and self.source and (self.source != event.source or self.number > event.number):
            return self._replace(seq=seq)
        return _Place(seq, event.source, event.number)


def _place(found: StoredMessage | None) -> _Place:
    if found is None:
        return _Place(0)
    source, _, number = found.newest.rpartition(" ")
    if source and number.isdecimal():
        return _Place(found.seq, source, int(number))
    try:
        event = _event(found.body)
    except ValueError:  # not one of ours
        return _Place(found.seq)
    return _Place(found.seq, event.source, event.number)


class _Attributes(msgspec.Struct):
    id: str
    source: str


_attributes = msgspec.json.Decoder(_Attributes)


def _event(body: bytes) -> _Event:
    said = _attributes.decode(body)
    return _Event(said.source, said.id, event_id(said.id).number, body)


class NatsSink(Sink):
    """Publishes one audience's stream. ``name`` is how the log and the status call it.

    A connection is made for the first event, and again after each error.
    """

    def __init__(self, name: str, target: NatsTarget) -> None:
        self._name = name
        self._target = target
        self._connection: NatsConnection | None = None
        self._connections = 0
        self._places: dict[str, _Place] = {}
        self._acknowledged: dict[str, _Place] = {}
        """The end that each subject had, over all connections."""
        self.losses: asyncio.Queue[Loss] = asyncio.Queue()
        self._closing: set[asyncio.Task[None]] = set()
        self._warned = False
        self._certificate_ends: str | None = None

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Deliver as ``Sink.deliver``; what the stream has already is passed over.

        Raises:
            EventRefused: an event is larger than the server or the stream takes.
            OSError: the stream is away, or takes nothing.
        """
        await self._deliver(events, again=False)

    async def deliver_again(self, events: Sequence[bytes]) -> None:
        """Publish events that came before, whatever the stream has: behind its last message.

        Raises:
            EventRefused, OSError: as ``deliver``.
        """
        await self._deliver(events, again=True)

    async def close(self) -> None:
        """Close the connection."""
        self._drop()
        if self._closing:
            await asyncio.wait(self._closing)

    async def _deliver(self, events: Sequence[bytes], *, again: bool) -> None:
        by_subject: dict[str, list[_Event]] = {}
        for event in map(_event, events):
            subject = subject_of(table_in(event.source), self._target.audience)
            by_subject.setdefault(subject, []).append(event)
        try:
            connection = await self._connected()
            ended = await _all(
                [self._publish(connection, *each, again=again) for each in by_subject.items()]
            )
        except BaseException:
            self._drop()
            raise
        errors = [error for error in ended if error is not None]
        if errors:
            worst = next((each for each in errors if not isinstance(each, EventRefused)), None)
            if worst is not None:
                self._drop()
            raise worst or errors[0]

    async def _connected(self) -> NatsConnection:
        if self._connection is not None and not self._connection.is_open:
            self._drop()
        if self._connection is None:
            connection = NatsConnection(
                self._target, f"shoe-ctl {self._name}", first=self._connections
            )
            self._connections += 1
            self._connection = connection  # so that whoever gives up can drop it
            await connection.open()
            self._check(await connection.find_or_create_stream())
            for subject in self._acknowledged:
                await self._look(connection, subject)
            why = ends_soon(connection.certificate_ends)
            if why is not None and why != self._certificate_ends:
                log.warning(
                    'sink %s: certificate: address=%s reason="%s"',
                    self._name, connection.address, why,
                )  # fmt: skip
            self._certificate_ends = why
            log.info(
                "sink %s: connected: address=%s stream=%s",
                self._name, connection.address, self._target.stream,
            )  # fmt: skip
        return self._connection

    def _check(self, info: StreamInfo) -> None:
        """Refuse a stream that would lose events, and warn once of what cannot be seen.

        Raises:
            OSError: what is wrong, and what to do.
        """
        where, wanted = f"stream {self._target.stream}", self._target.replicas
        config = info.config
        replicas = config.num_replicas or 1
        if config.storage != StorageType.FILE:
            raise OSError(f"{where} keeps its messages in memory: create it with file storage")
        if config.retention != RetentionPolicy.LIMITS:
            raise OSError(
                f"{where} forgets messages that were read: create it with retention limits"
            )
        if config.no_ack:
            raise OSError(f"{where} acknowledges nothing: set no_ack = false")
        if wanted is not None and replicas < wanted:
            raise OSError(
                f"{where} has replicas = {replicas}, and this sink wants {wanted}: "
                f"nats stream edit {self._target.stream} --replicas {wanted}"
            )
        if replicas == 1 and not self._warned:
            self._warned = True
            log.warning(
                "sink %s: stream not replicated: stream=%s. An acknowledged event survives a "
                'power failure only if the server has "sync_interval: always", which cannot be '
                "seen from here.",
                self._name, self._target.stream,
            )  # fmt: skip

    def _drop(self) -> None:
        """Leave the connection to its end, and forget what was known by it."""
        connection, self._connection = self._connection, None
        self._places = {}
        if connection is not None:
            closing = asyncio.create_task(connection.close(), name=f"sink {self._name} closing")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _publish(
        self, connection: NatsConnection, subject: str, events: Sequence[_Event], *, again: bool
    ) -> None:
        """Publish one subject's events, each behind the other."""
        place = self._places.get(subject)
        if place is None:
            if not again:  # all before it was acknowledged, or passed over
                before = _Place(0, events[0].source, events[0].number - 1)
                self._acknowledged.setdefault(subject, before)
            await self._look(connection, subject)
            place = self._places[subject]
        looks, at = 0, 0 if again else _behind(place, events)
        while at < len(events):
            stored = await self._publish_one(connection, subject, events[at], place, again=again)
            if stored is not None:
                place = self._places[subject] = self._acknowledged[subject] = stored
                looks, at = 0, at + 1
                continue
            if looks == MOST_LOOKS:
                raise OSError(
                    f"{connection.address}: {subject} ends otherwise again and again: does "
                    "another daemon publish to it?"
                )
            looks += 1
            await self._look(connection, subject)
            place = self._places[subject]
            if not again:
                at = max(at, _behind(place, events))

    async def _publish_one(
        self,
        connection: NatsConnection,
        subject: str,
        event: _Event,
        place: _Place,
        *,
        again: bool,
    ) -> _Place | None:
        """Return the place behind this event; None where the subject does not end as expected."""
        headers = {
            "Nats-Expected-Stream": self._target.stream,
            "Nats-Expected-Last-Subject-Sequence": str(place.seq),
        }
        after = place.behind(0, event, again=again)
        if again:
            headers[NEWEST] = f"{after.source} {after.number}"
        ack = await connection.publish(subject, event.body, {"Nats-Msg-Id": event.id, **headers})
        if ack is not None and ack.duplicate:
            there = await connection.message(ack.seq)
            own = None if there is None else _place(there._replace(newest=""))
            if own is not None and own[1:] == (event.source, event.number):
                await self._look(connection, subject)
                return self._places[subject]
            # The id is one of another journal, or of a message that was removed. The expected
            # sequence alone says that the event is not there.
            ack = await connection.publish(subject, event.body, headers)
        return None if ack is None else after._replace(seq=ack.seq)

    async def _look(self, connection: NatsConnection, subject: str) -> None:
        """Read what the subject ends with, as its leader has it; report what it lost."""
        place = self._places[subject] = _place(await connection.last(subject))
        had = self._acknowledged.get(subject)
        if had is None or not had.number or _is_in(place, had):
            return
        if place.seq and not place.source:  # behind a stranger's message nothing is known
            return
        if not place.seq and await connection.drops_messages():
            return
        self._acknowledged[subject] = place
        ends = (place.source, place.number) if place.seq else None
        self.losses.put_nowait(Loss(table_in(had.source), had.source, had.number, ends))


def _behind(place: _Place, events: Sequence[_Event]) -> int:
    """Return how many of these the subject holds already, that ends with this place.

    The events of a table are in order, and so are the subject's: what is before the last one is
    there. A journal that lost its newest part goes on under another source.
    """
    return next(
        (
            len(events) - n
            for n, event in enumerate(reversed(events))
            if event.source == place.source and event.number <= place.number
        ),
        0,
    )


def _is_in(place: _Place, had: _Place) -> bool:
    return place.source == had.source and place.number >= had.number


async def _all(work: Sequence[Coroutine[Any, Any, None]]) -> list[OSError | EventRefused | None]:
    """Do all of it, one beside the other; return what each failed with.

    Nothing goes on once this has ended, also where it is cancelled.
    """
    if len(work) == 1:  # what one table tells: no task is needed
        try:
            await work[0]
        except (OSError, EventRefused) as error:
            return [error]
        return [None]
    tasks = [asyncio.create_task(each, name="sink publishing") for each in work]
    try:
        await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
    ended = []
    for task in tasks:
        failure = task.exception()
        if failure is not None and not isinstance(failure, OSError | EventRefused):
            raise failure
        ended.append(failure)
    return ended
