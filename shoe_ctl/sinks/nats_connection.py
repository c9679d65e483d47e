"""One connection to NATS JetStream: login, the stream, publishing to it and reading it.

In: where the servers are. Out: acknowledgements, messages; every failure is one line that names
the server and what to do. Must not know: events, what is published.

The client library reconnects by itself where it is let, and then sends what is left in its buffer.
Here each connection ends with its first error, and whoever uses it makes another.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js import errors as js_errors
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    RawStreamMsg,
    StorageType,
    StreamInfo,
)

from shoe_ctl.records import Audience
from shoe_ctl.secret_file import read_password
from shoe_ctl.sinks.brokers import Certificates, certificate_ends, tls_context
from shoe_ctl.sinks.pump import EventRefused

CONNECTED_WITHIN_S = 3.0
"""A server may take so long to answer the connection, and then the login: then the next address of
the cluster has its turn."""

ANSWERED_WITHIN_S = 5.0
"""An acknowledgement or an answer may take so long: a server that takes longer counts as away, and
another one of the cluster is tried."""

CLOSED_WITHIN_S = 1.0
"""A server that does not answer holds up the end of the daemon for no longer."""

PING_EVERY_S = 10.0
"""Seconds between two signs of life of an idle connection. Two that are missing end it."""

LEAST_VERSION = (2, 10, 23)
"""Older servers do not know ``sync_interval: always``, or have faults in replicated streams."""

HEARTBEAT_S = 5.0
"""Seconds between two signs of life of a stream that is followed. Three that are missing end it."""

FORGOTTEN_S = 30.0
"""So long the stream remembers a follower that has gone."""

STATUS = "Status"

INBOX = "_INBOX"
_NO_TOKEN = re.compile(r"[^A-Za-z0-9_-]")

STREAMS = {Audience.PUBLIC: "SHOE", Audience.RESTRICTED: "SHOE_RESTRICTED"}
"""The streams by audience, without a name of their own. In one stream the numbers of the public
messages would show how many restricted ones lie between them."""

log = logging.getLogger(__name__)

T = TypeVar("T")


NEWEST = "Shoe-Newest"
"""The header of an event that is offered again: source and number of the newest one before it."""


class StoredMessage(NamedTuple):
    """A message of the stream. ``newest`` is its header of that name."""

    seq: int
    body: bytes
    newest: str = ""


class AckError(msgspec.Struct):
    """Why a stream does not take a message."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class Ack(msgspec.Struct):
    """A stream's answer to a message: its sequence, and whether its id was there before."""

    seq: int = 0
    duplicate: bool = False
    error: AckError | None = None


_ack = msgspec.json.Decoder(Ack)


class NatsTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Where a sink publishes: servers, login and stream.

    Addresses that begin with ``tls://`` must be encrypted; ``certificates`` are for them. The files
    are read for each connection, so that they can be renewed. ``replicas``: how many servers must
    keep the stream. ``only_last``: where it is created, it keeps the last message of each subject.
    """

    addresses: Sequence[str]
    stream: str
    audience: Audience
    replicas: int | None = None
    only_last: bool = False
    user: str | None = None
    password_file: Path | None = None
    certificates: Certificates | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of a connection: login and TLS.

        Raises:
            ConfigError: a file cannot be used.
        """
        options: dict[str, Any] = {}
        if self.user is not None and self.password_file is not None:
            options |= {
                "user": self.user,
                "password": read_password(self.password_file, "password_file"),
            }
        if self.certificates is not None:
            options["tls"] = tls_context(self.certificates)
        return options

    @property
    def subjects(self) -> str:
        """The subjects of the audience's streams of all tables."""
        return f"shoe.v1.*.{self.audience.name.lower()}"

    @property
    def inbox(self) -> str:
        """The prefix of the subjects that answers come on: each user's own.

        Who may read the answers of others would see events in them.
        """
        return INBOX if self.user is None else f"{INBOX}_{_NO_TOKEN.sub('_', self.user)}"

    @property
    def where(self) -> str:
        """The addresses, as they are configured."""
        return ",".join(self.addresses)


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
        """The server's description of itself."""
        return self._server_info

    def cut(self) -> None:
        """Close the socket at once, also where the other end takes nothing any more."""
        transport: Any = self._transport
        for name in ("_io_writer", "_bare_io_writer"):
            writer = getattr(transport, name, None)
            if writer is not None:
                writer.transport.abort()

    @property
    def certificate_ends(self) -> datetime | None:
        """When the server's certificate ends, in UTC; None without TLS."""
        writer = getattr(self._transport, "_io_writer", None)
        return certificate_ends(writer and writer.get_extra_info("ssl_object"))

    def tasks(self) -> list[asyncio.Task[Any]]:
        """Return what it has at work."""
        own = (self._reading_task, self._ping_interval_task, self._flusher_task)
        listening = (each._wait_for_msgs_task for each in self._subs.values())  # noqa: SLF001
        return [task for task in (*own, *listening) if task is not None]


_IN_THE_CLEAR = "it does not encrypt: use nats:// for it, or give it a certificate"


class NatsConnection:
    """One connection to one of the servers, until its first error.

    What fails raises OSError in one line, which names the server and what to do.
    """

    def __init__(self, target: NatsTarget, name: str, *, first: int = 0) -> None:
        """Use the servers from this one on, counted around: one may be cut off from the others."""
        first %= len(target.addresses)
        self._addresses = (*target.addresses[first:], *target.addresses[:first])
        self._target = target
        self._client_name = name
        self._client: _Client | None = None
        self._js: JetStreamContext | None = None
        self._broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._last_error: Exception | None = None
        self._subjects: set[str] = set()
        self._answers: dict[str, asyncio.Future[Msg]] = {}
        self._replies = ""
        self._published = 0
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

    @property
    def certificate_ends(self) -> datetime | None:
        """When the server's certificate ends, in UTC; None without TLS."""
        return None if self._client is None else self._client.certificate_ends

    @property
    def subjects(self) -> str:
        """The subjects of all tables' streams."""
        return self._target.subjects

    async def open(self) -> None:
        """Connect to the first server that answers, and find JetStream there.

        Raises:
            OSError: why none does.
        """
        why: list[str] = []
        for address in self._addresses:
            self.address = address
            try:
                await self._open(address)
            except OSError as error:
                why.append(str(error))
                await self._end_client()
            else:
                return
        raise OSError("; ".join(why))

    async def _open(self, address: str) -> None:
        target = self._target
        self._client = client = _Client(encrypted=address.startswith("tls://"))
        self._broken = asyncio.get_running_loop().create_future()
        self._last_error = None
        self._js = None
        try:
            options = await asyncio.to_thread(target.options)
            await self._wait(
                client.connect(
                    [f"nats://{address.partition('://')[2]}"],
                    name=self._client_name,
                    error_cb=self._failed,
                    closed_cb=self._closed,
                    inbox_prefix=target.inbox,
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
            explained = self._explained(error)
            if str(explained).endswith(LOST):
                explained = OSError(f"{self.address}: {CLOSED_AT_LOGIN}")
            raise explained from None
        version = client.said.get("version", "")
        if _version(version) < LEAST_VERSION:
            raise OSError(
                f"{self.address}: nats-server {version} is too old: expected "
                f"{'.'.join(map(str, LEAST_VERSION))} or newer"
            )
        self._js = client.jetstream(timeout=ANSWERED_WITHIN_S)
        self._replies = client.new_inbox()
        await self._wait(
            client.subscribe(f"{self._replies}.*", cb=self._answered), ANSWERED_WITHIN_S
        )

    async def close(self) -> None:
        """End the connection within ``CLOSED_WITHIN_S``."""
        await self._end_client()

    async def _end_client(self) -> None:
        client, self._client = self._client, None
        if client is None:
            return
        if not self._broken.done():
            self._broken.set_result("closed")
        ending = set(client.tasks())
        if self._js is not None:  # else it was never let in, and there is nothing to close
            closing = asyncio.create_task(client.close(), name="nats closing")
            # not wait_for: the client swallows a cancellation
            await asyncio.wait({closing}, timeout=CLOSED_WITHIN_S)
            ending.add(closing)
        client.cut()
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending, timeout=CLOSED_WITHIN_S)

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
                    subjects=[self._target.subjects],
                    storage=StorageType.FILE,
                    num_replicas=self._target.replicas or 1,
                    max_msgs_per_subject=1 if self._target.only_last else -1,
                )
            )
        except js_errors.APIError as error:
            raise self._explained(error) from None
        log.info(
            "stream %s created: address=%s subjects=%s", name, self.address, self._target.subjects
        )
        return info

    async def drops_messages(self) -> bool:
        """Return True if the stream has removed its oldest messages, by limits of its own.

        Raises:
            OSError: the stream does not answer.
        """
        try:
            info = await self._ask(self._jetstream.stream_info(self._target.stream))
        except js_errors.APIError as error:
            raise self._explained(error) from None
        config = info.config
        most = (config.max_msgs, config.max_bytes, config.max_msgs_per_subject, config.max_age)
        return info.state.first_seq > 1 and any(limit is not None and limit > 0 for limit in most)

    async def last(self, subject: str) -> StoredMessage | None:
        """Return a subject's last message, as the stream's leader has it; None without any.

        Raises:
            OSError: the stream does not answer.
        """
        return await self._find(self._jetstream.get_last_msg(self._target.stream, subject))

    async def message(self, seq: int) -> StoredMessage | None:
        """Return a message; None where the stream has it no more.

        Raises:
            OSError: the stream does not answer.
        """
        return await self._find(self._jetstream.get_msg(self._target.stream, seq))

    async def next_of(self, subject: str, seq: int) -> StoredMessage | None:
        """Return the subject's first message with this sequence or a later one; None without any.

        Raises:
            OSError: the stream does not answer.
        """
        asked = self._jetstream.get_msg(self._target.stream, seq, subject=subject, next=True)
        return await self._find(asked)

    async def _find(self, asked: Coroutine[Any, Any, RawStreamMsg]) -> StoredMessage | None:
        try:
            found = await self._ask(asked)
        except js_errors.APIError as error:
            if error.err_code == NO_MESSAGE:
                return None
            raise self._explained(error) from None
        return StoredMessage(
            found.seq or 0, found.data or b"", (found.headers or {}).get(NEWEST, "")
        )

    async def follow(
        self, subject: str, *, after: int | None = None, since: datetime | None = None
    ) -> AsyncGenerator[tuple[list[StoredMessage], int], None]:
        """Yield the messages of a subject as they come, and how many wait behind them.

        Those ``after`` this one, or those ``since`` then; without either, the last one of each
        subject. An empty list comes first where nothing is there, and now and then.

        Raises:
            OSError: the connection is lost, or the stream has become silent.
        """
        begin = ConsumerConfig(deliver_policy=DeliverPolicy.LAST_PER_SUBJECT)
        if after is not None:
            policy = DeliverPolicy.BY_START_SEQUENCE
            begin = ConsumerConfig(deliver_policy=policy, opt_start_seq=after + 1)
        elif since is not None:
            policy = DeliverPolicy.BY_START_TIME
            begin = ConsumerConfig(deliver_policy=policy, opt_start_time=since)
        arrived: list[Msg] = []
        news = asyncio.Event()

        async def take(message: Msg) -> None:
            arrived.append(message)
            news.set()

        inbox = self.client.new_inbox()
        await self.client.subscribe(inbox, cb=take)
        config = begin.evolve(
            name=inbox.rpartition(".")[2],
            deliver_subject=inbox,
            filter_subject=subject,
            ack_policy=AckPolicy.NONE,
            idle_heartbeat=HEARTBEAT_S,
            inactive_threshold=FORGOTTEN_S,
            mem_storage=True,
        )
        try:
            made = await self._ask(self._jetstream.add_consumer(self._target.stream, config))
        except js_errors.APIError as error:
            raise self._explained(error) from None
        expected, waiting = 1, made.num_pending or 0
        if not waiting:
            yield [], 0
        while True:
            await self._wait(news.wait(), 3 * HEARTBEAT_S)
            news.clear()
            taken, arrived[:] = arrived[:], ()
            found: list[StoredMessage] = []
            for message in taken:
                if message.headers is not None and STATUS in message.headers:  # a heartbeat
                    continue
                at = message.metadata
                if at.sequence.consumer != expected:
                    raise OSError(f"{self.address}: messages were missed on the way")
                expected += 1
                found.append(StoredMessage(at.sequence.stream, message.data))
                waiting = at.num_pending
            yield found, waiting

    async def publish(self, subject: str, body: bytes, headers: Mapping[str, str]) -> Ack | None:
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
            return await self._answer(subject, body, headers)
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

    async def _answer(self, subject: str, body: bytes, headers: Mapping[str, str]) -> Ack:
        """Publish a message and await its acknowledgement.

        The client's own way makes a task and a timer for each message.

        Raises:
            APIError: the answer is an error. OSError: there is none.
        """
        self._published += 1
        token = str(self._published)
        answer: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._answers[token] = answer
        try:
            # It only fills a buffer: nothing is to be waited for yet.
            await self.client.publish(
                subject, body, reply=f"{self._replies}.{token}", headers=dict(headers)
            )
            message = await self._first(answer, ANSWERED_WITHIN_S)
        except nats.errors.Error as error:
            raise self._explained(error, subject) from None
        finally:
            del self._answers[token]
        if message.headers is not None and STATUS in message.headers:  # nobody is there
            raise self._explained(js_errors.NoStreamResponseError(), subject)
        try:
            ack = _ack.decode(message.data)
        except ValueError:
            raise OSError(f"{self.address}: {subject} is answered by what is no stream") from None
        if ack.error is not None:
            code, description = ack.error.err_code, ack.error.description
            raise js_errors.APIError(ack.error.code, description, code)
        return ack

    async def _answered(self, message: Msg) -> None:
        answer = self._answers.get(message.subject.rpartition(".")[2])
        if answer is not None and not answer.done():
            answer.set_result(message)

    async def _ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Await an answer of JetStream.

        Raises:
            APIError: the answer is an error. OSError: there is none.
        """
        try:
            return await self._wait(work, ANSWERED_WITHIN_S)
        except js_errors.ServiceUnavailableError as error:
            if error.err_code is None:  # nobody answers
                raise self._explained(error) from None
            raise
        except js_errors.APIError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the stream is away
            raise self._explained(error) from None

    async def _wait(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Await this in a task of its own: the client swallows cancellations, and may stall.

        Raises:
            OSError: the connection is lost, or it takes too long. Else what ``work`` raises.
        """
        task = asyncio.create_task(work, name="nats request")
        try:
            return await self._first(task, timeout_s)
        finally:
            task.cancel()

    async def _first(self, answer: asyncio.Future[T], timeout_s: float) -> T:
        """Await an answer, as long as the connection stands; without one it is cut."""
        answer.add_done_callback(_ignore)
        either: set[asyncio.Future[Any]] = {answer, self._broken}
        try:
            await asyncio.wait(either, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            if self._broken.done():
                raise OSError(f"{self.address}: {self._broken.result()}")
            raise OSError(f"{self.address}: no answer within {timeout_s:g} s")
        finally:
            if not answer.done() and self._client is not None:
                self._client.cut()  # nothing may still go out of what was given up

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
            inbox = f"{self._target.inbox}."
            subject = f"{inbox}>" if found[2].startswith(inbox.lower()) else found[2]
            return f"not allowed to subscribe to {subject}: give the user this permission"
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
        stream, subjects = self._target.stream, self._target.subjects
        if isinstance(error, js_errors.APIError) and error.err_code is not None:
            what = error.description or "refused"
            return _SAID.get(error.err_code, f"stream {stream}: {what} ({{code}})").format(
                stream=stream, subjects=subjects, what=what, code=error.err_code
            )
        if isinstance(error, js_errors.NoStreamResponseError):
            return (
                f"no stream takes {subject}: stream {stream} needs the subjects {subjects}, and in "
                "a cluster a leader"
            )
        if isinstance(error, js_errors.ServiceUnavailableError):
            return "no JetStream here: enable it in the server, and for the user's account"
        return _reason(error)


API_NEEDED = ("STREAM.INFO", "STREAM.MSG.GET", "STREAM.CREATE")
"""Requests to JetStream; the last one only where the stream is not there."""

_NOT_ALLOWED = re.compile(
    r'permissions violation for (publish|subscription) to "([^" ]+)', re.IGNORECASE
)

NO_MESSAGE = 10037
TOO_LARGE = 10054
WRONG_SEQUENCE = frozenset({10071, 10164})
"""The subject ends otherwise, or with a message that is still under way in a cluster."""

_SAID = {
    10039: "JetStream is not enabled for this user's account: enable it there",
    10076: "JetStream is not enabled: enable it in the server, or restart it after a full disk",
    10023: "stream {stream}: the server has no room ({what}): free its disk; if that does not "
    "help, restart it",
    10065: "stream {stream}: another stream has subjects of shoe.v1: name that one, or remove it",
    10074: "stream {stream}: replicas need a cluster: connect to one, or set replicas = 1",
    10005: "stream {stream}: too few servers in the cluster for its replicas",
    10060: "stream {stream} has not this subject: give it the subjects {subjects}",
    10077: "stream {stream} is full ({what}): raise its limits",
    10109: "stream {stream} is sealed: create another one, or name it",
}
"""By error code of the server: what is wrong and what to do."""


NO_ANSWER = "no answer: is the address right, and is it a NATS server?"
LOST = "connection lost"
CLOSED_AT_LOGIN = "it closed the connection at the login: does it want a certificate (tls.cert)?"


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
            said = error.verify_message
            old = "expired" in said
            then = "renew it there, or set this host's clock" if old else "check tls.ca and address"
            return f"its certificate is not accepted ({said}): {then}"
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


def _ignore(task: asyncio.Future[Any]) -> None:
    """Take what a task ended with that nobody waits for any more."""
    if not task.cancelled():
        task.exception()
