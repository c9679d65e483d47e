"""Events to a stream of NATS JetStream, one subject for each table and audience.

In: envelopes' bytes. Out: messages, each acknowledged by the stream before it counts.
Must not know: the journal, what an event means.

Each message says which message of its subject must be the last one (the expected last subject
sequence). So the stream refuses whatever comes twice, late, or from a second publisher, however
long ago the first one was; its own window for duplicates forgets after two minutes. A connection
therefore begins by reading the last message of each subject: what is there is not sent again.
The number of the next message is only known when the one before it is acknowledged, as other
subjects share the stream: the messages of one subject go out one by one, subjects beside one
another.

The client reconnects by itself where it is let, and then sends what is left in its buffer. Here
each connection ends with its first error, and the pump comes again.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js import errors as js_errors
from nats.js.api import PubAck, RawStreamMsg, RetentionPolicy, StorageType, StreamInfo

from shoe_ctl.records import Audience, event_id, table_in
from shoe_ctl.sinks.pump import EventRefused, Sink

if TYPE_CHECKING:
    import ssl

    from shoe_ctl.sinks.brokers import BrokerAddress

CONNECTED_WITHIN_S = 3.0
"""How long a server may take to answer the connection, and then the login."""

ANSWERED_WITHIN_S = 5.0
"""How long an acknowledgement or an answer may take: a server that takes longer counts as away."""

CLOSED_WITHIN_S = 1.0

PING_EVERY_S = 10.0
"""Seconds between two signs of life of an idle connection. Two that are missing end it."""

LEAST_VERSION = (2, 10, 23)
"""The first server whose replicated streams keep the order of expected sequences."""

SUBJECTS = "shoe.v1.>"
DEFAULT_STREAM = "SHOE"

MOST_LOOKS = 3
"""How often a publish looks again what the subject ends with, before the sink counts as away."""

log = logging.getLogger(__name__)

T = TypeVar("T")


def subject_of(table: str, audience: Audience) -> str:
    """Return the subject of a table's stream; a dot in the table's id is written as ``%2E``."""
    return f"shoe.v1.{table.replace('.', '%2E')}.{audience.name.lower()}"


class NatsTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where a sink publishes: servers, login and stream.

    ``tls`` is needed for encrypted addresses. ``replicas``: how many servers must keep the stream.
    """

    addresses: Sequence[BrokerAddress]
    stream: str = DEFAULT_STREAM
    replicas: int | None = None
    user: str | None = None
    password: str | None = None
    tls: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        """Where it is, without the password."""
        return f"NatsTarget({self.where}, stream={self.stream})"

    @property
    def where(self) -> str:
        """The addresses, as they are configured."""
        return ",".join(map(str, self.addresses))


class _Event(NamedTuple):
    """An event to publish, with its identity: its source, and the number in its id."""

    source: str
    id: str
    number: int
    body: bytes


class _Place(NamedTuple):
    """What a subject ends with: the sequence of its last message, 0 where it has none.

    ``source`` and ``number`` are those of the event in it, if it is one.
    """

    seq: int
    source: str = ""
    number: int = 0


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

    def __init__(self, name: str, audience: Audience, target: NatsTarget) -> None:
        self._name = name
        self._audience = audience
        self._target = target
        self._connection: NatsConnection | None = None
        self._places: dict[str, _Place] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._warned = False

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
            subject = subject_of(table_in(event.source), self._audience)
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
            connection = NatsConnection(self._target, f"shoe-ctl {self._name}")
            self._connection = connection  # so that whoever gives up can drop it
            await connection.open()
            self._check(await connection.find_or_create_stream())
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
            place = await self._look(connection, subject)
            if not again:
                self._warn_of_a_gap(place, events)
        looks, at = 0, 0 if again else _behind(place, events)
        while at < len(events):
            stored = await self._publish_one(connection, subject, events[at], place.seq)
            if stored is not None:
                place = self._places[subject] = stored
                looks, at = 0, at + 1
                continue
            if looks == MOST_LOOKS:
                raise OSError(
                    f"{connection.address}: {subject} ends otherwise again and again: does "
                    "another daemon publish to it?"
                )
            looks += 1
            place = await self._look(connection, subject)
            if not again:
                at = max(at, _behind(place, events))

    async def _publish_one(
        self, connection: NatsConnection, subject: str, event: _Event, expected: int
    ) -> _Place | None:
        """Return the place behind this event; None where the subject does not end as expected."""
        headers = {
            "Nats-Expected-Stream": self._target.stream,
            "Nats-Expected-Last-Subject-Sequence": str(expected),
        }
        ack = await connection.publish(subject, event.body, {"Nats-Msg-Id": event.id, **headers})
        if ack is not None and ack.duplicate:
            there = await connection.message(ack.seq)
            if there is not None and (there.source, there.number) == (event.source, event.number):
                return await self._look(connection, subject)
            # The id is one of another journal, or of a message that was removed. The expected
            # sequence alone says that the event is not there.
            ack = await connection.publish(subject, event.body, headers)
        return None if ack is None else _Place(ack.seq, event.source, event.number)

    async def _look(self, connection: NatsConnection, subject: str) -> _Place:
        """Return what the subject ends with, as its leader has it."""
        place = self._places[subject] = await connection.last(subject)
        return place

    def _warn_of_a_gap(self, place: _Place, events: Sequence[_Event]) -> None:
        first = events[0]
        if place.source == first.source and place.number + 1 < first.number:
            before = first.id[: -len(str(first.number))]
            log.warning(
                "sink %s: the stream's last event is %s%d, the next one is %s. If it lacks those "
                "between: shoectl table resend sink=%s after=%s%d",
                self._name, before, place.number, first.id, self._name, before, place.number,
            )  # fmt: skip


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


async def _all(work: Sequence[Coroutine[Any, Any, None]]) -> list[Exception | None]:
    """Do all of it, one beside the other; return what each failed with.

    Nothing goes on once this has ended, also where it is cancelled.
    """
    tasks = [asyncio.create_task(each, name="sink publishing") for each in work]
    try:
        await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
    ended = [task.exception() for task in tasks]
    for error in ended:
        if error is not None and not isinstance(error, Exception):
            raise error
    return [error if isinstance(error, Exception) else None for error in ended]


# The connection.


class _Client(Client):
    """A client that never speaks in the clear where it must not, and that can be cut off."""

    def __init__(self, *, encrypted: bool) -> None:
        super().__init__()
        self._encrypted = encrypted

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        # The library encrypts only where the server wants it, whatever the address says, and
        # would send the password in the clear.
        if initial_connection and self._encrypted and not info.get("tls_required"):
            if not info.get("tls_available"):
                raise nats.errors.Error(_IN_THE_CLEAR)
            info["tls_required"] = True
        await super()._process_info(info, initial_connection)

    @property
    def said(self) -> dict[str, Any]:
        """What the server said of itself."""
        return self._server_info

    def cut(self) -> None:
        """Close the socket at once, also where the other end takes nothing any more."""
        transport: Any = self._transport
        for name in ("_io_writer", "_bare_io_writer"):
            writer = getattr(transport, name, None)
            if writer is not None:
                writer.transport.abort()

    def tasks(self) -> list[asyncio.Task[Any]]:
        """Return what it has at work."""
        own = (self._reading_task, self._ping_interval_task, self._flusher_task)
        return [task for task in own if task is not None]


_IN_THE_CLEAR = "it does not encrypt: use nats:// for it, or give it a certificate"


class NatsConnection:
    """One connection to one of the servers, until its first error.

    What fails raises OSError in one line, which names the server and what to do.
    """

    def __init__(self, target: NatsTarget, name: str) -> None:
        self._target = target
        self._client_name = name
        self._client: _Client | None = None
        self._js: JetStreamContext | None = None
        self._broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._last_error: Exception | None = None
        self._subjects: set[str] = set()
        self.address = target.where

    @property
    def is_open(self) -> bool:
        """False once the connection is lost."""
        client = self._client
        return client is not None and client.is_connected and not self._broken.done()

    @property
    def lost(self) -> asyncio.Future[str]:
        """Has a result once the connection is lost: why."""
        return self._broken

    @property
    def client(self) -> Client:
        """The client, where more is to be asked than events need."""
        assert self._client is not None
        return self._client

    async def open(self) -> None:
        """Connect to the first server that answers, and find JetStream there.

        Raises:
            OSError: why none does.
        """
        why: list[str] = []
        for address in self._target.addresses:
            self.address = str(address)
            try:
                await self._open(address)
            except OSError as error:
                why.append(str(error))
                await self._end_client()
            else:
                return
        raise OSError("; ".join(why))

    async def _open(self, address: BrokerAddress) -> None:
        target = self._target
        self._client = client = _Client(encrypted=address.scheme == "tls")
        self._broken = asyncio.get_running_loop().create_future()
        self._last_error = None
        options: dict[str, Any] = {}
        if target.user is not None:
            options |= {"user": target.user, "password": target.password}
        if target.tls is not None:
            options["tls"] = target.tls
        try:
            await self._wait(
                client.connect(
                    [f"nats://{str(address).partition('://')[2]}"],
                    name=self._client_name,
                    error_cb=self._failed,
                    closed_cb=self._closed,
                    allow_reconnect=False,
                    max_reconnect_attempts=1,
                    reconnect_time_wait=0,
                    connect_timeout=CONNECTED_WITHIN_S,  # type: ignore[arg-type]
                    ping_interval=PING_EVERY_S,  # type: ignore[arg-type]
                    max_outstanding_pings=2,
                    **options,
                ),
                2 * CONNECTED_WITHIN_S,
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, the server is away
            raise self._explained(error) from None
        version = client.said.get("version", "")
        if _version(version) < LEAST_VERSION:
            raise OSError(
                f"{self.address}: nats-server {version} is too old: expected "
                f"{'.'.join(map(str, LEAST_VERSION))} or newer"
            )
        self._js = client.jetstream(timeout=ANSWERED_WITHIN_S)

    async def close(self) -> None:
        """End the connection within ``CLOSED_WITHIN_S``."""
        await self._end_client()

    async def _end_client(self) -> None:
        client, self._client = self._client, None
        if client is None:
            return
        if not self._broken.done():
            self._broken.set_result("closed")
        tasks = client.tasks()
        closing = asyncio.create_task(client.close(), name="nats closing")
        # not wait_for: the client swallows a cancellation
        await asyncio.wait({closing}, timeout=CLOSED_WITHIN_S)
        client.cut()
        for task in (closing, *tasks):
            task.cancel()
        await asyncio.wait({closing, *tasks}, timeout=CLOSED_WITHIN_S)

    async def find_or_create_stream(self) -> StreamInfo:
        """Return the stream; it is created if it is not there.

        Raises:
            OSError: it is not there, and cannot be created.
        """
        js, name = self._jetstream, self._target.stream
        try:
            return await self._ask(js.stream_info(name))
        except js_errors.NotFoundError:
            pass
        except js_errors.APIError as error:
            raise self._explained(error) from None
        try:
            info = await self._ask(
                js.add_stream(
                    name=name,
                    subjects=[SUBJECTS],
                    storage=StorageType.FILE,
                    num_replicas=self._target.replicas or 1,
                )
            )
        except js_errors.APIError as error:
            raise self._explained(error) from None
        log.info("stream %s created: address=%s subjects=%s", name, self.address, SUBJECTS)
        return info

    async def last(self, subject: str) -> _Place:
        """Return what a subject ends with, as the stream's leader has it.

        Raises:
            OSError: the stream does not answer.
        """
        return await self._find(self._jetstream.get_last_msg(self._target.stream, subject)) or (
            _Place(0)
        )

    async def message(self, seq: int) -> _Place | None:
        """Return what is in a message; None where the stream has it no more.

        Raises:
            OSError: the stream does not answer.
        """
        return await self._find(self._jetstream.get_msg(self._target.stream, seq))

    async def _find(self, asked: Coroutine[Any, Any, RawStreamMsg]) -> _Place | None:
        try:
            found = await self._ask(asked)
        except js_errors.APIError as error:
            if error.err_code == NO_MESSAGE:
                return None
            raise self._explained(error) from None
        try:
            event = _event(found.data or b"")
        except ValueError:  # not one of ours
            return _Place(found.seq or 0)
        return _Place(found.seq or 0, event.source, event.number)

    async def publish(self, subject: str, body: bytes, headers: Mapping[str, str]) -> PubAck | None:
        """Publish a message; return the stream's acknowledgement.

        None where the subject does not end with the expected sequence.

        Raises:
            EventRefused: the message is larger than the server or the stream takes.
            OSError: the stream is away, or takes nothing.
        """
        size = len(body) + sum(len(key) + len(value) + 4 for key, value in headers.items()) + 12
        most = self.client.max_payload
        self._subjects.add(subject)
        if size > most:
            raise EventRefused(
                f"{size} bytes, and {self.address} takes {most}: raise its max_payload"
            )
        try:
            return await self._ask(
                self._jetstream.publish(subject, body, headers=dict(headers)), subject
            )
        except js_errors.APIError as error:
            if error.err_code in WRONG_SEQUENCE:
                return None
            if error.err_code == TOO_LARGE:
                raise EventRefused(
                    f"{len(body)} bytes, and stream {self._target.stream} takes less: raise its "
                    "max_msg_size"
                ) from None
            raise self._explained(error, subject) from None

    @property
    def _jetstream(self) -> JetStreamContext:
        assert self._js is not None
        return self._js

    async def _ask(self, work: Coroutine[Any, Any, T], subject: str = "") -> T:
        """Await an answer of JetStream.

        Raises:
            APIError: the answer is an error. OSError: there is none.
        """
        try:
            return await self._wait(work, ANSWERED_WITHIN_S)
        except js_errors.ServiceUnavailableError as error:
            if error.err_code is None:  # nobody answers
                raise self._explained(error, subject) from None
            raise
        except js_errors.APIError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the stream is away
            raise self._explained(error, subject) from None

    async def _wait(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Await this in a task of its own: the client swallows cancellations, and may stall.

        Raises:
            OSError: the connection is lost, or it takes too long. Else what ``work`` raises.
        """
        task = asyncio.create_task(work, name="nats request")
        either: set[asyncio.Future[Any]] = {task, self._broken}
        try:
            await asyncio.wait(either, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if self._broken.done():
                raise OSError(f"{self.address}: {self._broken.result()}")
            raise OSError(f"{self.address}: no answer within {timeout_s:g} s")
        finally:
            if not task.done():
                task.cancel()
                if self._client is not None:
                    self._client.cut()  # nothing may still go out of what was given up
                task.add_done_callback(_ignore)
            elif not task.cancelled():
                task.exception()

    async def _failed(self, error: Exception) -> None:
        """Whatever the client reports ends the connection."""
        self._last_error = error
        if self._js is not None and not self._broken.done():
            self._broken.set_result(self._not_allowed(str(error)) or _reason(error))

    async def _closed(self) -> None:
        if not self._broken.done():
            self._broken.set_result(LOST)

    def _not_allowed(self, text: str) -> str | None:
        """Return which permission an error names; None if it names none.

        The client hands the server's text on in small letters.
        """
        found = _NOT_ALLOWED.search(text)
        if found is None:
            return None
        if found[1] == "subscription":
            return "not allowed to subscribe to _INBOX.>: give the user this permission"
        stream = self._target.stream
        asked = (f"$JS.API.{what}.{stream}" for what in API_NEEDED)
        known = {each.lower(): each for each in (*asked, *self._subjects)}
        subject = known.get(found[2], found[2])
        return f"not allowed to publish to {subject}: give the user this permission"

    def _explained(self, error: Exception, subject: str = "") -> OSError:
        """Return the error in one line with the server's address and what to do."""
        if isinstance(error, nats.errors.NoServersError) and self._last_error is not None:
            error = self._last_error
        if isinstance(error, OSError) and str(error).startswith(self.address):
            return error
        return OSError(f"{self.address}: {self._text(error, subject)}")

    def _text(self, error: Exception, subject: str) -> str:
        stream = self._target.stream
        if isinstance(error, js_errors.APIError) and error.err_code is not None:
            what = error.description or "refused"
            return _SAID.get(error.err_code, f"stream {stream}: {what} ({{code}})").format(
                stream=stream, what=what, code=error.err_code
            )
        if isinstance(error, js_errors.NoStreamResponseError):
            return f"no stream takes {subject}: give stream {stream} the subjects {SUBJECTS}"
        if isinstance(error, js_errors.ServiceUnavailableError):
            return "no JetStream here: enable it in the server, and for the user's account"
        return _reason(error)


API_NEEDED = ("STREAM.INFO", "STREAM.MSG.GET", "STREAM.CREATE")
"""What is asked of JetStream; the last one only where the stream is not there."""

_NOT_ALLOWED = re.compile(
    r'permissions violation for (publish|subscription) to "([^" ]+)', re.IGNORECASE
)

NO_MESSAGE = 10037
TOO_LARGE = 10054
WRONG_SEQUENCE = frozenset({10071, 10164})
"""The subject ends otherwise, or with a message that is still under way in a cluster."""

_SAID = {
    10039: "JetStream is not enabled for this user's account: enable it there",
    10076: "JetStream is not enabled: enable it in the server",
    10065: "stream {stream}: another stream has subjects of shoe.v1: name that one, or remove it",
    10074: "stream {stream}: replicas need a cluster: connect to one, or set replicas = 1",
    10005: "stream {stream}: too few servers in the cluster for its replicas",
    10060: "stream {stream} has not this subject: give it the subjects shoe.v1.>",
    10077: "stream {stream} is full ({what}): raise its limits",
    10109: "stream {stream} is sealed: create another one, or name it",
}
"""By error code of the server: what is wrong and what to do."""


NO_ANSWER = "no answer: is the address right, and is it a NATS server?"
LOST = "connection lost"


def _reason(error: Exception) -> str:
    """Return what a client's error means, and what to do."""
    import ssl

    text = str(error).removeprefix("nats: ").strip("'\" ")
    if "authorization violation" in text.lower() or "authentication" in text.lower():
        return "login refused: check user and password_file"
    if "expecting info" in text.lower():
        return NO_ANSWER.removeprefix("no answer: ")
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not accepted ({error.verify_message}): check tls.ca"
        case ssl.SSLError():
            return f"TLS fails ({error.reason or text}): check tls.cert, and the address"
        case ConnectionRefusedError():
            return "nothing listens there: start the server, or correct the address"
        case nats.errors.UnexpectedEOF() | ConnectionError():
            return LOST
        case TimeoutError():
            return NO_ANSWER
    return getattr(error, "strerror", None) or text or type(error).__name__


def _version(text: str) -> tuple[int, ...]:
    """Return the numbers of a server's version; (0,) where it says none."""
    numbers = text.partition("-")[0].split(".")
    return tuple(int(n) for n in numbers) if all(n.isdigit() for n in numbers) else (0,)


def _ignore(task: asyncio.Task[Any]) -> None:
    """Take what a task ended with that nobody waits for any more."""
    if not task.cancelled():
        task.exception()
