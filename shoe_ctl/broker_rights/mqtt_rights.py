"""The rights of the logins of an MQTT broker: each is tried, and undone.

In: the broker, who logs in and what for. Out: findings.
Must not know: configuration, how findings are shown.

What is published is no event: ``PROBE``, of type ``application/json``, for a table that nobody
serves, and it is gone after seconds. A broker may accept a subscription and then send nothing, so
that only a message shows who gets it: readers of the events of all tables get one then.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack

from shoe_ctl.broker_rights.findings import Finding, Findings
from shoe_ctl.broker_rights.logins import Login
from shoe_ctl.broker_rights.server_certificate import note_certificate
from shoe_ctl.sinks.checkpoint_topics import CHECKPOINTS, checkpoint_topic, cosignature_topic
from shoe_ctl.sinks.mqtt_connection import (
    Broker,
    Connection,
    ConnectionLost,
    Incoming,
    Outgoing,
    connect,
)

HEARD_WITHIN_S = 1.0
"""A message that leaks would have come by then."""

PROBE = b'{"check":"no event: shoectl broker check tries the rights of a login"}'
_TYPE = "application/json"
_EXPIRES_S = 5


class _Visitor:
    """A connection of one login, and all that it got."""

    def __init__(self, login: Login, connection: Connection) -> None:
        self.login = login
        self.connection = connection
        self.got: list[Incoming] = []
        self.news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while True:
            try:
                message = await self.connection.receive()
            except ConnectionLost:
                return
            self.connection.acknowledge(message)
            self.got.append(message)
            self.news.set()

    async def close(self) -> None:
        """End the connection."""
        self._reading.cancel()
        await asyncio.wait({self._reading})
        await self.connection.close()

    async def publish(self, topic: str, *, retain: bool = False) -> bool:
        """Publish the probe; return whether the broker took it."""
        message = Outgoing(topic, PROBE, _TYPE, retain=retain, expires_s=_EXPIRES_S)
        (answer,) = await self.connection.publish([message])
        if answer.refused is None and retain:
            await self.connection.publish([Outgoing(topic, b"", retain=True)])
        return answer.refused is None


class MqttRights:
    """Tries the logins of one broker."""

    def __init__(
        self, sink: str, brokers: Sequence[tuple[Login, Broker]], *, checkpoints: bool = False
    ) -> None:
        """Take the daemon's login first; ``checkpoints``: it publishes them, too."""
        self._sink = sink
        self._checkpoints = checkpoints
        self._brokers = brokers
        self._table = f"check-{secrets.token_hex(6)}"

    async def findings(self) -> list[Finding]:
        """Try every login.

        Raises:
            ConnectionLost: the daemon's login is refused, or the broker is away.
        """
        found: list[Finding] = []
        async with AsyncExitStack() as stack:
            (login, broker), *others = self._brokers
            daemon = await self._visit(login, broker, stack)
            found += await self._try_daemon(daemon)
            for login, broker in others:
                noted = Findings(self._sink, login.user)
                try:
                    visitor = await self._visit(login, broker, stack)
                except ConnectionLost as lost:
                    noted.must("log in", str(lost))
                    found += noted
                    continue
                noted.must("log in", None)
                try:
                    await self._try(visitor, daemon, noted)
                except ConnectionLost as lost:
                    noted.must("be tried to the end", str(lost))
                found += noted
        return found

    async def _visit(self, login: Login, broker: Broker, stack: AsyncExitStack) -> _Visitor:
        name = f"shoectl-check-{secrets.token_hex(6)}"
        connection = await asyncio.shield(connect(broker, name, None))
        visitor = _Visitor(login, connection)
        stack.push_async_callback(visitor.close)
        return visitor

    async def _try_daemon(self, daemon: _Visitor) -> Findings:
        noted = Findings(self._sink, daemon.login.user)
        noted.must("log in", None)
        note_certificate(noted, daemon.connection.certificate_ends)
        commands = f"shoe/v1/{self._table}/commands/+"
        noted.must("take commands", await daemon.connection.subscribe(commands))
        if self._checkpoints:
            topic = checkpoint_topic(self._table)
            why_not = f"the broker does not let it write {CHECKPOINTS}: allow it in its access list"
            noted.must("publish checkpoints", None if await daemon.publish(topic) else why_not)
        return noted

    async def _try(self, visitor: _Visitor, daemon: _Visitor, noted: Findings) -> None:
        login = visitor.login
        if login.reads != "nothing":
            noted.must("read public events", await visitor.connection.subscribe("shoe/v1/+/public"))
        if login.reads == "restricted":
            noted.must(
                "read restricted events",
                await visitor.connection.subscribe("shoe/v1/+/restricted"),
            )
        for table in login.commands:
            answers = f"shoe/v1/{table}/answers/{login.user}/#"
            noted.must(f"read answers of {table}", await visitor.connection.subscribe(answers))
        if login.reads != "restricted":
            noted.must_not("read restricted events", await self._restricted_leak(visitor, daemon))
        if self._checkpoints:
            await self._try_checkpoints(visitor, daemon, noted)
        noted.must_not("read answers to others", await self._answers_leak(visitor, daemon))
        noted.must_not("publish events, states, answers", await self._publish_leak(visitor))
        noted.must_not(
            "command tables that are not its own",
            await self._leak_of(visitor, f"commands/{login.user}"),
        )
        noted.must_not(
            "command under another name",
            await self._leak_of(visitor, f"commands/{daemon.login.user or 'another'}"),
        )

    async def _try_checkpoints(self, visitor: _Visitor, daemon: _Visitor, noted: Findings) -> None:
        """Try what only the daemon and witnesses may: checkpoints tell of restricted records."""
        topic = checkpoint_topic(self._table)
        if visitor.login.is_witness:
            noted.must("read checkpoints", await visitor.connection.subscribe(CHECKPOINTS))
        elif not visitor.login.reads_checkpoints:
            shared = f"$share/check/{CHECKPOINTS}"
            patterns = (CHECKPOINTS, "shoe/v1/_journal/#", "shoe/v1/#", "#", shared)
            leak = await self._heard(visitor, daemon, topic, *patterns)
            noted.must_not("read checkpoints", leak)
        leaks = [
            each
            for each in (topic, cosignature_topic(b"check", self._table))
            if await visitor.publish(each)
        ]
        where = " and ".join(leaks)
        noted.must_not(
            "publish checkpoints, or cosignatures of others",
            f"the broker took what it published on {where}: take the right to write it"
            if leaks
            else None,
        )

    async def _restricted_leak(self, visitor: _Visitor, daemon: _Visitor) -> str | None:
        topic = f"shoe/v1/{self._table}/restricted"
        return await self._heard(
            visitor,
            daemon,
            topic,
            "shoe/v1/+/restricted",
            "shoe/v1/#",
            "shoe/#",
            "#",
            "+/+/+/restricted",
            "$share/check/shoe/v1/+/restricted",
        )

    async def _answers_leak(self, visitor: _Visitor, daemon: _Visitor) -> str | None:
        other = f"another-{secrets.token_hex(4)}"
        topic = f"shoe/v1/{self._table}/answers/{other}"
        return await self._heard(
            visitor,
            daemon,
            topic,
            f"shoe/v1/+/answers/{other}",
            "shoe/v1/+/answers/#",
            "shoe/v1/+/answers/+",
            "$share/check/shoe/v1/+/answers/+",
            "#",
        )

    async def _heard(
        self, visitor: _Visitor, daemon: _Visitor, topic: str, *patterns: str
    ) -> str | None:
        """Return how a login gets what the daemon publishes on a topic; None if it does not."""
        let = [each for each in patterns if await visitor.connection.subscribe(each) is None]
        if not let:
            return None
        if not await daemon.publish(topic):
            raise ConnectionLost(f"the broker lets the daemon publish nothing on {topic}")
        if not await _gets(visitor, topic):
            return None
        return f"it got what was published on {topic}: take the right to read it ({', '.join(let)})"

    async def _publish_leak(self, visitor: _Visitor) -> str | None:
        for kind in ("public", "restricted", "state", f"answers/{visitor.login.user}"):
            topic = f"shoe/v1/{self._table}/{kind}"
            if await visitor.publish(topic):
                return f"the broker took what it published on {topic}: take the right to write it"
        return None

    async def _leak_of(self, visitor: _Visitor, kind: str) -> str | None:
        topic = f"shoe/v1/{self._table}/{kind}"
        for retain in (False, True):
            if await visitor.publish(topic, retain=retain):
                kept = ", and keeps it" if retain else ""
                return f"the broker takes a command on {topic}{kept}: name its tables in the list"
        return None


async def _gets(visitor: _Visitor, topic: str) -> bool:
    """Return True if a message on this topic comes."""
    try:
        async with asyncio.timeout(HEARD_WITHIN_S):
            while not any(message.topic == topic for message in visitor.got):
                visitor.news.clear()
                await visitor.news.wait()
    except TimeoutError:
        return False
    return True
