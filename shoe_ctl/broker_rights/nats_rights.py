"""The rights of the logins of NATS JetStream: each is tried, and undone.

In: the servers, the streams, who logs in and what for. Out: findings.
Must not know: configuration, how findings are shown.

Requests that would do harm are sent with a body that the server cannot read: its answer shows that
the request was let through, and it does nothing. Consumers that are made read a table that nobody
serves, and are removed, or vanish after ``GONE_AFTER_S``. A message that is to show
who hears it names a stream that is not there, so that no stream keeps it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, NamedTuple

import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from shoe_ctl.broker_rights.findings import Finding, Findings
from shoe_ctl.broker_rights.logins import Login
from shoe_ctl.broker_rights.server_certificate import note_certificate
from shoe_ctl.records import Audience
from shoe_ctl.sinks.checkpoint_topics import CHECKPOINTS, checkpoint_topic, subject
from shoe_ctl.sinks.nats_checkpoints import CHECKPOINTS_STREAM
from shoe_ctl.sinks.nats_connection import STATUS, NatsConnection, NatsTarget

ANSWERED_WITHIN_S = 2.0
"""An answer may take so long; after it nobody is there to answer."""

HEARD_WITHIN_S = 1.0
"""A message that leaks would have come by then."""

GONE_AFTER_S = 5
"""A consumer that nobody may remove vanishes so long after it was made."""

KEPT_S = 120
"""The consumer of a trusted reader is there for so long at most: all logins are tried by then."""

UNREADABLE = b"{"
"""No request has this body."""

NO_STREAM = 10059
NO_CONSUMER = 10014
ANOTHER_STREAM = 10060

_HARMFUL = ("STREAM.DELETE", "STREAM.PURGE", "STREAM.UPDATE", "STREAM.MSG.DELETE")


class Reply(NamedTuple):
    """The answer to a request: nothing where it was not let through, or nobody is there."""

    body: Mapping[str, Any] | None = None

    @property
    def error(self) -> int | None:
        """The server's error code; None without one."""
        said = None if self.body is None else self.body.get("error")
        return int(said.get("err_code", 0)) if isinstance(said, dict) else None

    @property
    def is_done(self) -> bool:
        """Return True if the server did what was asked."""
        return self.body is not None and self.error is None

    @property
    def was_let_through(self) -> bool:
        """Return True if the server looked at the request, and has what it is about."""
        return self.body is not None and self.error not in (NO_STREAM, NO_CONSUMER)


class Streams(NamedTuple):
    """The names of the streams; ``checkpoints`` is None where the daemon publishes none."""

    public: str
    restricted: str
    checkpoints: str | None = None

    @property
    def all(self) -> list[str]:
        """Return every name."""
        return [stream for stream in self if stream is not None]


class _Visitor(NatsConnection):
    """A connection that goes on where something is not allowed."""

    def __init__(self, target: NatsTarget, login: Login) -> None:
        super().__init__(target, "shoectl broker check")
        self.login = login
        self._denied: list[str] = []

    async def _failed(self, error: Exception) -> None:
        said = str(error).lower()
        if "permissions violation" in said:
            self._denied.append(said)
        else:
            await super()._failed(error)

    def _is_denied(self, subject: str) -> bool:
        """Return True if the server did not allow this; forget it."""
        denied = any(f'"{subject.lower()}"' in said for said in self._denied)
        self._denied.clear()
        return denied

    async def ask(
        self, subject: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request; return what it is answered."""
        inbox = self.client.new_inbox()
        answers = await self.client.subscribe(inbox)
        try:
            await self.client.publish(subject, body, reply=inbox, headers=dict(headers or {}))
            await self.client.flush()
            if self._is_denied(subject):
                return Reply()
            message = await _next(answers, ANSWERED_WITHIN_S)
        finally:
            with suppress(nats.errors.Error):
                await answers.unsubscribe()
        if message is None or STATUS in (message.headers or {}):  # nobody is there
            return Reply()
        try:
            said = json.loads(message.data)
        except ValueError:
            return Reply({})
        return Reply(said if isinstance(said, dict) else {})

    async def hear(self, subject: str) -> Subscription | None:
        """Subscribe; return None where the server does not let it."""
        heard = await self.client.subscribe(subject)
        await self.client.flush()
        return None if self._is_denied(subject) else heard

    async def send(self, subject: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Publish a message."""
        await self.client.publish(subject, body, headers=dict(headers))
        await self.client.flush()


class _Consumer(NamedTuple):
    """A consumer that belongs to a reader who is trusted. ``mark`` is known to nobody else."""

    owner: _Visitor
    name: str
    mark: str


class NatsRights:
    """Tries the logins of one server or cluster."""

    def __init__(self, sink: str, targets: Sequence[tuple[Login, NatsTarget]]) -> None:
        """Take the daemon's login first. Each target has the public stream's name."""
        self._sink = sink
        self._targets = targets
        self._streams = Streams("SHOE", "SHOE_RESTRICTED")
        self._there: Sequence[_Visitor] = ()
        self._table = f"check-{secrets.token_hex(6)}"

    async def findings(self, streams: Streams) -> list[Finding]:
        """Try every login.

        Raises:
            OSError: the daemon's login is refused, or the servers are away.
        """
        self._streams = streams
        async with AsyncExitStack() as stack:
            found = [Findings(self._sink, login.user) for login, _ in self._targets]
            visitors: list[_Visitor] = []
            for (login, target), noted in zip(self._targets, found, strict=True):
                visitor = _Visitor(target, login)
                stack.push_async_callback(visitor.close)
                try:
                    await visitor.open()
                except OSError as error:
                    if login.is_daemon:
                        raise
                    noted.must("log in", str(error))
                else:
                    noted.must("log in", None)
                visitors.append(visitor)
            self._there = [each for each in visitors if each.is_open]
            consumer = await self._consumer_of_trusted(stack)
            for visitor, noted in zip(visitors, found, strict=True):
                if visitor.is_open:
                    await self._try(visitor, consumer, noted)
        return [finding for each in found for finding in each]

    async def _try(self, visitor: _Visitor, consumer: _Consumer | None, noted: Findings) -> None:
        if visitor.login.is_daemon:
            await self._try_daemon(visitor, noted)
        else:
            await self._try_reader(visitor, noted)
            if not visitor.login.is_trusted:
                await self._try_consumer(visitor, consumer, noted)
        await self._try_harm(visitor, noted)

    async def _try_daemon(self, daemon: _Visitor, noted: Findings) -> None:
        note_certificate(noted, daemon.certificate_ends)
        stream = self._streams.public
        told = await daemon.ask(f"$JS.API.STREAM.INFO.{stream}")
        if told.error == NO_STREAM:
            noted.must("use its stream", None)
            noted.not_seen("limits of its stream", f"{stream} is not there yet: start the daemon")
        elif not told.is_done:
            noted.must(
                "use its stream", f"allow it $JS.API.STREAM.INFO.{stream}, and enable JetStream"
            )
        else:
            noted.must("use its stream", _unfit((told.body or {}).get("config", {})))
        noted.not_seen(
            "sync_interval: always",
            'no client sees it: /varz of the server must show "sync_always": true',
        )

    async def _try_reader(self, visitor: _Visitor, noted: Findings) -> None:
        login = visitor.login
        public, restricted, checkpoints = self._streams
        reads = await self._can_consume(visitor, public, "public")
        if login.reads == "nothing":
            noted.must_not(
                "read public events",
                f"it made a consumer on {public}: take $JS.API.CONSUMER.CREATE.{public}.> from it"
                if reads
                else None,
            )
        else:
            noted.must(
                "read public events",
                None if reads else f"allow it $JS.API.CONSUMER.CREATE.{public}.>",
            )
        if login.reads == "restricted":
            reads = await self._can_consume(visitor, restricted, "restricted")
            noted.must(
                "read restricted events",
                None if reads else f"allow it $JS.API.CONSUMER.CREATE.{restricted}.>",
            )
        else:
            leak = await self._leak(visitor, restricted, "restricted")
            noted.must_not("read restricted events", leak)
        if checkpoints is not None:
            await self._try_checkpoints(visitor, checkpoints, noted)
        noted.must_not("read answers to others", await self._inbox_leak(visitor))
        noted.must_not("publish events", await self._publish_leak(visitor))

    def _subject(self, kind: str) -> str:
        """Return the subject of a stream of a table that nobody serves, or of such a journal."""
        if kind == "checkpoint":
            return subject(checkpoint_topic(self._table))
        return f"shoe.v1.{self._table}.{kind}"

    async def _can_consume(self, visitor: _Visitor, stream: str, kind: str) -> bool:
        """Return True if it may make a consumer; it is removed again."""
        name = self._new_name()
        made = await self._make_consumer(visitor, stream, kind, name)
        if made.is_done:
            for each in (visitor, *self._there):  # many may make one, and not remove it
                gone = await each.ask(f"$JS.API.CONSUMER.DELETE.{stream}.{name}")
                if gone.is_done:
                    break
        return made.is_done

    async def _make_consumer(  # noqa: PLR0913 - what a consumer is
        self,
        visitor: _Visitor,
        stream: str,
        kind: str,
        name: str,
        *,
        mark: str = "",
        kept_s: int = GONE_AFTER_S,
    ) -> Reply:
        filtered = self._subject(kind)
        config = {
            "name": name,
            "description": mark,
            "deliver_subject": visitor.client.new_inbox(),
            "deliver_policy": "new",
            "ack_policy": "none",
            "filter_subject": filtered,
            "inactive_threshold": kept_s * 10**9,
            "mem_storage": True,
        }
        body = json.dumps({"stream_name": stream, "config": config, "action": ""}).encode()
        return await visitor.ask(f"$JS.API.CONSUMER.CREATE.{stream}.{name}.{filtered}", body)

    async def _leak(self, visitor: _Visitor, stream: str, kind: str) -> str | None:
        """Return how it reads what this stream holds."""
        body = json.dumps({"last_by_subj": self._subject(kind)}).encode()
        for request in (
            f"STREAM.INFO.{stream}",
            f"STREAM.MSG.GET.{stream}",
            f"DIRECT.GET.{stream}",
        ):
            told = await visitor.ask(f"$JS.API.{request}", b"" if "INFO" in request else body)
            if told.was_let_through:
                return f"it may ask $JS.API.{request}: take this permission from it"
        if await self._can_consume(visitor, stream, kind):
            return (
                f"it made a consumer on {stream}: take $JS.API.CONSUMER.CREATE.{stream}.> from it"
            )
        own = subject(CHECKPOINTS) if kind == "checkpoint" else f"shoe.v1.*.{kind}"
        for pattern in (own, "shoe.v1.>", "shoe.>", ">"):
            heard = await visitor.hear(pattern)
            if heard is None:
                continue
            await self._daemon_says(self._subject(kind))
            if await _hears(heard, f".{kind}"):
                return f"it hears {pattern}: take this subscription from it"
        return None

    async def _daemon_says(self, where: str) -> None:
        """Let the daemon publish what no stream keeps: only who listens to the subject gets it."""
        login, target = self._targets[0]
        daemon = _Visitor(target, login)
        try:
            await daemon.open()
            nowhere = {"Nats-Expected-Stream": self._table}
            await daemon.send(where, b"{}", nowhere)
        finally:
            await daemon.close()

    async def _inbox_leak(self, visitor: _Visitor) -> str | None:
        """Return how it hears what the server answers to others."""
        for other in self._there:
            if other is visitor:
                continue
            inbox = other.client.new_inbox().rpartition(".")[0]
            if inbox == visitor.client.new_inbox().rpartition(".")[0]:
                return f"it has the inbox of {other.login.user}: give each user one of its own"
            for pattern in (f"{inbox}.>", "_INBOX.>", ">"):
                heard = await visitor.hear(pattern)
                if heard is None:
                    continue
                await other.ask(f"$JS.API.STREAM.INFO.{self._streams.public}")
                if await _hears(heard, "", beginning=f"{inbox}."):
                    who = other.login.user
                    return f"it hears {pattern}, and so the answers to {who}: allow its own inbox"
        return None

    async def _publish_leak(self, visitor: _Visitor) -> str | None:
        for kind in ("public", "restricted"):
            if await self._can_publish(visitor, self._subject(kind)):
                return f"the stream looked at what it published: take shoe.v1.*.{kind} from it"
        return None

    async def _can_publish(self, visitor: _Visitor, where: str) -> bool:
        told = await visitor.ask(where, b"{}", {"Nats-Expected-Stream": self._table})
        return told.error == ANOTHER_STREAM or told.is_done

    async def _try_checkpoints(self, visitor: _Visitor, stream: str, noted: Findings) -> None:
        """Try what only the daemon and witnesses may: checkpoints tell of restricted records."""
        what = "read checkpoints"
        if visitor.login.is_witness:
            reads = await self._can_consume(visitor, stream, "checkpoint")
            why_not = f"allow it $JS.API.CONSUMER.CREATE.{stream}.>"
            noted.must(what, None if reads else why_not)
        elif not visitor.login.reads_checkpoints:
            noted.must_not(what, await self._leak(visitor, stream, "checkpoint"))
        leak = await self._can_publish(visitor, self._subject("checkpoint"))
        noted.must_not(
            "publish checkpoints",
            f"the stream looked at what it published: take {subject(CHECKPOINTS)} from it"
            if leak
            else None,
        )

    async def _consumer_of_trusted(self, stack: AsyncExitStack) -> _Consumer | None:
        """Make a consumer of a reader who is trusted; None where none is let."""
        stream = self._streams.public
        for visitor in self._there:
            if visitor.login.reads != "restricted":
                continue
            consumer = _Consumer(visitor, self._new_name(), secrets.token_hex(8))
            made = await self._make_consumer(
                visitor, stream, "public", consumer.name, mark=consumer.mark, kept_s=KEPT_S
            )
            if made.is_done:
                stack.push_async_callback(
                    visitor.ask, f"$JS.API.CONSUMER.DELETE.{stream}.{consumer.name}"
                )
                return consumer
        return None

    async def _try_consumer(
        self, visitor: _Visitor, consumer: _Consumer | None, noted: Findings
    ) -> None:
        what = "touch consumers of trusted readers"
        if consumer is None:
            noted.not_seen(
                what, 'it needs a login with reads = "restricted" that may make consumers'
            )
            return
        stream, name = self._streams.public, consumer.name
        told = await visitor.ask(f"$JS.API.CONSUMER.INFO.{stream}.{name}")
        leak = None
        if _mark(told) == consumer.mark:
            leak = f"it sees a consumer of {consumer.owner.login.user}"
        mark = secrets.token_hex(8)
        made = await self._make_consumer(visitor, stream, "public", name, mark=mark)
        kept = await consumer.owner.ask(f"$JS.API.CONSUMER.INFO.{stream}.{name}")
        if made.is_done and _mark(kept) == mark:
            leak = f"it altered a consumer of {consumer.owner.login.user}"
        await visitor.ask(f"$JS.API.CONSUMER.DELETE.{stream}.{name}")
        kept = await consumer.owner.ask(f"$JS.API.CONSUMER.INFO.{stream}.{name}")
        if kept.error == NO_CONSUMER:
            leak = f"it deleted a consumer of {consumer.owner.login.user}"
            await self._make_consumer(
                consumer.owner, stream, "public", name, mark=consumer.mark, kept_s=KEPT_S
            )
        noted.must_not(
            what, None if leak is None else f"{leak}: give it an account of its own, with a copy"
        )

    async def _try_harm(self, visitor: _Visitor, noted: Findings) -> None:
        """Try to delete, empty or change the streams, with requests that nobody can read."""
        leaks = []
        for stream in self._streams.all:
            for what in _HARMFUL:
                told = await visitor.ask(f"$JS.API.{what}.{stream}", UNREADABLE)
                if told.was_let_through:
                    leaks.append(f"$JS.API.{what}.{stream}")
        noted.must_not(
            "delete or change a stream",
            f"take {', '.join(leaks)} from it" if leaks else None,
        )

    def _new_name(self) -> str:
        return f"check-{secrets.token_hex(8)}"


def _mark(told: Reply) -> str | None:
    """Return the mark of the consumer that an answer describes."""
    config = (told.body or {}).get("config")
    mark = config.get("description") if isinstance(config, dict) else None
    return mark if isinstance(mark, str) else None


def _unfit(config: Mapping[str, Any]) -> str | None:
    """Return why a stream does not keep what it is given, and what to do."""
    if config.get("storage") != "file":
        return "it is kept in memory: make it with file storage"
    if config.get("retention") != "limits":
        return f"its retention is {config.get('retention')}: make it with limits"
    if config.get("no_ack"):
        return "it acknowledges nothing: make it without no_ack"
    return None


async def _next(subscription: Subscription, within_s: float) -> Msg | None:
    try:
        return await subscription.next_msg(timeout=within_s)
    except nats.errors.TimeoutError:
        return None


async def _hears(heard: Subscription, ending: str, *, beginning: str = "") -> bool:
    """Return True if a message on such a subject comes; then listen no more."""
    loop = asyncio.get_running_loop()
    until = loop.time() + HEARD_WITHIN_S
    try:
        while (left := until - loop.time()) > 0:
            message = await _next(heard, left)
            if message is None:
                return False
            if message.subject.endswith(ending) and message.subject.startswith(beginning):
                return True
        return False
    finally:
        with suppress(nats.errors.Error):
            await heard.unsubscribe()


def streams_of(names: Mapping[Audience, str], *, checkpoints: bool = False) -> Streams:
    """Return the streams by their audiences, and that of checkpoints."""
    of_checkpoints = CHECKPOINTS_STREAM if checkpoints else None
    return Streams(names[Audience.PUBLIC], names[Audience.RESTRICTED], of_checkpoints)
