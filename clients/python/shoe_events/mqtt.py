"""Events from an MQTT 5 broker, and requests to the daemon for those that the broker lost.

In: the broker's address, who we are there, the name of the daemon's sink. Out: the events as they
come. It needs aiomqtt: ``pip install shoe-events[mqtt]``.
Must not know: what an event means, stores.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import ssl
import uuid
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from shoe_events.answers import EVENT_TYPE, as_object, check, request_for
from shoe_events.consumer import Resend
from shoe_events.event import Audience, make_id
from shoe_events.follow import (
    Connect,
    ConnectionLost,
    NotAllowed,
    NotAnswered,
    Received,
    Shown,
)

ROOT = "shoe/v1"
ANSWER_S = 2.0
"""A daemon that was just started, or that the broker has no connection to, does not answer."""

UNHEARD_S = 0.2
"""So soon it is asked again where the broker has no connection to a daemon."""

NO_MATCHING_SUBSCRIBERS = 0x10
"""The broker took a message, and has nobody who gets it."""

KEEPALIVE_S = 10
"""After so long without traffic the broker is asked for a sign of life; after as long again without
an answer the connection is dead."""

TIMEOUT_S = 10.0
"""So long each answer of the broker may take: to a connection, a subscription, a request."""

SESSION_S = 7 * 24 * 3600
"""So long the broker keeps events for a consumer that is away, if it keeps any."""


def mqtt(  # noqa: PLR0913 - what a connection to a broker takes
    host: str,
    *,
    port: int = 1883,
    client_id: str,
    user: str | None = None,
    password: str | None = None,
    tls: ssl.SSLContext | None = None,
    tables: Collection[str] = ("+",),
    audience: Audience = "public",
    sink: str | None = None,
    keepalive_s: int = KEEPALIVE_S,
    timeout_s: float = TIMEOUT_S,
) -> Connect:
    """Return how ``follow`` connects to a broker.

    ``client_id`` is this consumer's own: with the same one the broker goes on where it was.
    A link that carries nothing is found within about twice ``keepalive_s``, and each answer of the
    broker is waited for ``timeout_s``.

    ``sink`` is the name of the daemon's sink for this broker. ``user`` must be one of its senders,
    so that the daemon sends it again what is missing. Without a ``sink`` nothing is asked for.

    Raises:
        ValueError: there is a ``sink`` and no ``user``.
    """
    if sink is not None and user is None:
        raise ValueError("sink needs a user: the daemon answers only users that it knows")
    # Always the same: the broker keeps our subscriptions.
    answers = f"{user}/{re.sub('[+#]', '-', client_id)}"

    @asynccontextmanager
    async def connected() -> AsyncIterator[_Broker]:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = SESSION_S
        client = Client(
            host,
            port,
            identifier=client_id,
            username=user,
            password=password,
            tls_context=tls,
            protocol=aiomqtt.ProtocolVersion.V5,
            clean_start=False,
            properties=properties,
            keepalive=keepalive_s,
            timeout=timeout_s,
        )
        try:
            async with client:
                broker = _Broker(client, user, sink, audience, answers)
                for table in tables:
                    await client.read(f"{ROOT}/{table}/{audience}", qos=1)
                    await client.read(f"{ROOT}/{table}/state")
                    if sink is not None:
                        await client.read(f"{ROOT}/{table}/answers/{broker.answers}", qos=1)
                yield broker
        except aiomqtt.MqttError as error:
            raise ConnectionLost(f"{host}:{port}: {error}") from None
        finally:
            client.end()

    return connected


class Client(aiomqtt.Client):
    """aiomqtt's client, which also ends where the broker does not answer.

    aiomqtt connects in a thread, which goes on where the task is cancelled that waits for it. It
    does not look at what the broker answers to a subscription and to a message.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        self._is_connecting = self._has_ended = False
        self._why_refused: str | None = None
        self._is_heard = True
        super().__init__(*args, **more)

    async def read(self, topic: str, qos: int = 0) -> None:
        """Subscribe to a topic.

        Raises:
            NotAllowed: the broker does not let this user read it.
        """
        codes = await self.subscribe(topic, qos=qos)
        for code in codes:
            if isinstance(code, ReasonCode) and code.is_failure:
                raise NotAllowed(f"the broker refuses the subscription to {topic}: {code}")

    async def say(self, topic: str, body: str, properties: Properties) -> bool:
        """Publish a message; one at a time. Return False if the broker says that nobody gets it.

        Raises:
            NotAllowed: the broker does not take it from this user.
        """
        self._why_refused, self._is_heard = None, True
        await self.publish(topic, body, qos=1, properties=properties)
        if self._why_refused is not None:
            raise NotAllowed(f"the broker refuses a message to {topic}: {self._why_refused}")
        return self._is_heard

    def _on_publish(
        self, client: Any, userdata: Any, mid: int, reason_code: ReasonCode, properties: Any
    ) -> None:
        if reason_code.is_failure:
            self._why_refused = str(reason_code)
        self._is_heard = reason_code.value != NO_MATCHING_SUBSCRIBERS
        super()._on_publish(client, userdata, mid, reason_code, properties)

    def end(self) -> None:
        """Close what aiomqtt leaves open, now or as soon as its thread has connected."""
        self._has_ended = True
        if self._is_connecting:
            return
        while isinstance(sock := self._client.socket(), socket.socket):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            self._client.loop_read()
        if self._disconnected.done():
            self._disconnected.exception()  # else asyncio reports it

    def _client_connect(self) -> None:
        self._is_connecting = True
        try:
            super()._client_connect()
        finally:
            with suppress(RuntimeError):  # the loop is closed: nobody is there any more
                self._loop.call_soon_threadsafe(self._has_connected)

    def _has_connected(self) -> None:
        self._is_connecting = False
        if self._has_ended:
            self.end()


class _Broker:
    """A connection to the broker. ``answers`` ends the topics of answers to us."""

    comes_unasked = True

    def __init__(
        self,
        client: Client,
        user: str | None,
        sink: str | None,
        audience: Audience,
        answers: str,
    ) -> None:
        self.answers = answers
        self._client = client
        self._user = user
        self._sink = sink
        self._audience = audience
        self._asked: dict[bytes, asyncio.Future[Mapping[str, Any]]] = {}

    async def events(self) -> AsyncIterator[Received | Shown]:
        async for message in self._client.messages:
            body = message.payload
            table, kind = message.topic.value.removeprefix(f"{ROOT}/").split("/")[:2]
            if kind == "answers":
                if getattr(message.properties, "ContentType", "") == EVENT_TYPE:
                    yield Received(body)  # one that we asked for
                else:
                    self._answered(message, body)
            elif kind == "state":
                if (shown := _shown(table, body, self._audience)) is not None:
                    yield Shown(shown)
            else:
                yield Received(body)

    def _answered(self, message: aiomqtt.Message, body: bytes | str) -> None:
        correlation = getattr(message.properties, "CorrelationData", b"")
        waiting = self._asked.pop(correlation, None)
        answer = as_object(body)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    async def resend(self, asked: Resend) -> None:
        if self._sink is None or asked.audience != self._audience:
            return
        check(await self.request(asked.table, request_for(asked, self._sink)))

    async def request(self, table: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._sink is None:
            raise NotAllowed("requests need the name of the daemon's sink: give mqtt() a sink")
        correlation = uuid.uuid4().bytes
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[correlation] = answer
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.ResponseTopic = f"{ROOT}/{table}/answers/{self.answers}"
        properties.CorrelationData = correlation
        properties.MessageExpiryInterval = max(1, round(ANSWER_S))
        topic = f"{ROOT}/{table}/commands/{self._user}"
        try:
            async with asyncio.timeout(ANSWER_S):
                say = self._client.say
                while not await say(topic, json.dumps(asked), properties):  # noqa: ASYNC110
                    await asyncio.sleep(UNHEARD_S)
                return await answer
        except TimeoutError:
            raise NotAnswered from None
        finally:
            self._asked.pop(correlation, None)


def _shown(table: str, state: bytes | str, audience: Audience) -> str | None:
    """Return the id of an event of this audience that a table's state shows to be there.

    The state names the last public event. A table at work has told of its start, to both audiences.
    """
    shown = as_object(state)
    last = shown.get("last_event")
    if isinstance(last, str) and last.rpartition("/")[2].startswith(audience[0]):
        return last
    return make_id(table, audience, 1) if shown else None
