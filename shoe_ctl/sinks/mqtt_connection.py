"""One connection to an MQTT 5 broker, by aiomqtt on paho.

In: where the broker is, who connects, a last will; messages to publish. Out: what the broker
answered to each, messages that came, and why a connection ended, in words for people.
Must not know: events, tables, what a message means.

What aiomqtt leaves open is done here: the reason codes of acknowledgements, a bound on every wait,
no more messages under way than the broker takes, and a connection that ends before it is accepted.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import aiomqtt
import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from shoe_ctl.errors import ConfigError
from shoe_ctl.secret_file import read_password
from shoe_ctl.sinks.brokers import Certificates, certificate_ends, tls_context

KEEPALIVE_S = 10
"""After so long without traffic the broker is asked for a sign of life; after as long again without
an answer the connection is dead."""

CONNECT_WITHIN_S = 5.0
"""The network, the handshake of TLS, and then the broker's answer may each take so long. Nobody is
kept waiting by it: the journal keeps the events, and the table plays on."""

ACKNOWLEDGED_WITHIN_S = 5.0
"""Something is under way, and nothing was acknowledged for so long: the link is dead. The broker's
keep-alive would show it after ``2 * KEEPALIVE_S`` only."""

CLOSED_WITHIN_S = 2.0
"""A broker that does not answer holds up the end of the daemon for no longer."""

MOST_UNDER_WAY = 100
"""Messages under way to the broker, if it takes as many: with one at a time a backlog would need a
round trip for each event."""

MOST_COMING = 20
"""Messages under way from the broker: it sends no more before these are acknowledged."""

LARGEST_COMING = 1 << 20
"""The largest packet that is taken from the broker, in bytes; a request has 65,535 at most."""

# Reason codes of MQTT 5, section 2.4.
PACKET_TOO_LARGE = 0x95
SESSION_TAKEN_OVER = 0x8E
KEEP_ALIVE_TIMEOUT = 0x8D
PROTOCOL_ERROR = 0x82
PAYLOAD_FORMAT_INVALID = 0x99

OF_THE_MESSAGE = (PACKET_TOO_LARGE, PAYLOAD_FORMAT_INVALID)
"""Codes that refuse a message for what it is. All others would refuse the next one as well: no
permission, no room, a fault of the broker."""

_HEAD = 24
"""More bytes than a packet has beside its topic, its payload and its properties."""


class ConnectionLost(Exception):
    """There is no connection, or no more. Its text is the reason, in one line.

    ``unreadable``: the broker sent what is no MQTT. mosquitto 2.0 does so where it takes too small
    a message: the code of its acknowledgement is none that an acknowledgement may have.
    """

    def __init__(self, why: str, *, unreadable: bool = False) -> None:
        super().__init__(why)
        self.unreadable = unreadable


class Login(NamedTuple):
    """The user who connects: nobody in particular without ``user``."""

    user: str | None = None
    password_file: Path | None = None


class Broker(NamedTuple):
    """Where a broker is and how it is met. ``certificates`` is None without TLS."""

    host: str
    port: int
    login: Login = Login()
    certificates: Certificates | None = None

    @property
    def address(self) -> str:
        """As it stands in the configuration."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"mqtt{'' if self.certificates is None else 's'}://{host}:{self.port}"


class Outgoing(NamedTuple):
    """A message to publish, once at least."""

    topic: str
    payload: bytes
    content_type: str | None = None
    retain: bool = False
    correlation: bytes | None = None
    expires_s: int | None = None

    @property
    def size(self) -> int:
        """No fewer bytes than its packet has."""
        more = len(self.content_type or "") + len(self.correlation or b"")
        return len(self.topic.encode()) + len(self.payload) + more + _HEAD


class Incoming(NamedTuple):
    """A message that came. ``token`` acknowledges it."""

    topic: str
    payload: bytes
    retained: bool
    expires_s: int | None
    response_topic: str | None
    correlation: bytes | None
    token: tuple[int, int] | None = None


class Answer(NamedTuple):
    """The answer of a broker to a message: nothing, or why it does not take it.

    ``of_the_message``: it would take others.
    """

    refused: str | None = None
    of_the_message: bool = False


TAKEN = Answer()


class Connection(Protocol):
    """A connection that a broker has accepted."""

    largest: int | None
    """The largest packet that the broker takes, in bytes; None: any."""

    @property
    def certificate_ends(self) -> datetime | None:
        """When the broker's certificate ends, in UTC; None without TLS."""

    async def publish(self, messages: Sequence[Outgoing]) -> list[Answer]:
        """Publish these in order; return the broker's answer to each.

        Raises:
            ConnectionLost: not all were answered.
        """

    async def subscribe(self, topic: str) -> str | None:
        """Get what comes on this topic; return why not, or None.

        Raises:
            ConnectionLost: it was not answered.
        """

    async def receive(self) -> Incoming:
        """Return the next message.

        Raises:
            ConnectionLost: there are no more.
        """

    def acknowledge(self, message: Incoming) -> None:
        """The message is dealt with: the broker may send another."""

    async def close(self) -> None:
        """End the connection, in peace if the broker is still there: its last will is dropped."""


class Will(NamedTuple):
    """The message that the broker publishes, retained, when the connection breaks."""

    topic: str
    payload: bytes


async def connect(
    broker: Broker, client_id: str, will: Will | None, *, kept_s: int = 0
) -> Connection:
    """Return a connection; whoever was connected as ``client_id`` before is cut off.

    The broker keeps what comes for so many seconds after it has ended, for the next one of the same
    id. It must not be cancelled: it ends by itself within a few seconds.

    Raises:
        ConnectionLost: why there is none, and what to do.
    """
    try:
        context, password = await asyncio.to_thread(read_files, broker)
    except ConfigError as error:
        raise ConnectionLost(f"{broker.address}: {error}") from None
    connection = _Connection(broker, client_id, will, context, password, kept_s)
    await connection.open()
    return connection


def read_files(broker: Broker) -> tuple[ssl.SSLContext | None, str | None]:
    """Read the files that a connection needs. It blocks.

    Raises:
        ConfigError: one cannot be used; the text names it.
    """
    context, password = None, None
    if broker.login.password_file is not None:
        password = read_password(broker.login.password_file, "password_file")
    if broker.certificates is not None:
        context = tls_context(broker.certificates)
        context.sslsocket_class = _TlsSocket
    return context, password


class _TlsSocket(ssl.SSLSocket):
    """A socket that is closed if the handshake fails: paho leaves it open."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


def _properties(of: int) -> Properties:
    return Properties(of)  # type: ignore[no-untyped-call]


class _LastError(logging.Handler):
    """Keeps the last error that paho logs: it says no more of why a connection broke."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()


class _End(NamedTuple):
    """Why a connection ended, and whether the broker said so."""

    code: ReasonCode
    from_broker: bool


class _Client(aiomqtt.Client):
    """aiomqtt's client, with the reason codes of acknowledgements."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self.answered: dict[int, asyncio.Future[ReasonCode]] = {}
        self.accepted = _properties(PacketTypes.CONNACK)
        self.refused: ReasonCode | None = None
        """The code with which the broker refused the connection."""
        self.lost: asyncio.Future[_End] = asyncio.get_running_loop().create_future()
        self.news = asyncio.Event()
        self._on_loop = threading.get_ident()
        super().__init__(*args, **more)

    @property
    def paho(self) -> paho.Client:
        return self._client

    def _on_connect(
        self, client: Any, userdata: Any, flags: Any, reason_code: Any, properties: Any = None
    ) -> None:
        if properties is not None:
            self.accepted = properties
        if reason_code.is_failure:
            self.refused = reason_code
        super()._on_connect(client, userdata, flags, reason_code, properties)

    def _on_disconnect(
        self, client: Any, userdata: Any, flags: Any, reason_code: Any, properties: Any = None
    ) -> None:
        super()._on_disconnect(client, userdata, flags, reason_code, properties)
        if self._disconnected.done():
            self._disconnected.exception()  # known here: asyncio need not report it
        if not self.lost.done():
            self.lost.set_result(_End(reason_code, flags.is_disconnect_packet_from_server))
        self.news.set()

    def _on_publish(
        self,
        client: Any,  # noqa: ARG002
        userdata: Any,  # noqa: ARG002
        mid: int,
        reason_code: Any,
        properties: Any,  # noqa: ARG002
    ) -> None:
        answered = self.answered.pop(mid, None)
        if answered is not None and not answered.done():
            answered.set_result(reason_code)
        self.news.set()

    def _on_socket_register_write(
        self,
        client: Any,  # noqa: ARG002
        userdata: Any,  # noqa: ARG002
        sock: Any,
    ) -> None:
        # At once, and not in the next turn of the loop: what is sent meanwhile takes it back.
        if threading.get_ident() == self._on_loop:
            self._loop.add_writer(sock.fileno(), self._write)
        else:
            self._loop.call_soon_threadsafe(self._add_writer, sock)

    def _add_writer(self, sock: Any) -> None:
        if sock.fileno() >= 0 and self.paho.want_write():
            self._loop.add_writer(sock.fileno(), self._write)

    def _write(self) -> None:
        self.paho.loop_write()


class _Connection:
    """A connection of paho's. It is used once."""

    def __init__(  # noqa: PLR0913 - what a connection is made of
        self,
        broker: Broker,
        client_id: str,
        will: Will | None,
        context: ssl.SSLContext | None,
        password: str | None,
        kept_s: int,
    ) -> None:
        self.largest: int | None = None
        self._broker = broker
        self._errors = _LastError()
        logger = logging.Logger("mqtt", logging.WARNING)  # noqa: LOG001 - one of its own
        logger.addHandler(self._errors)
        wanted = _properties(PacketTypes.CONNECT)
        wanted.ReceiveMaximum = MOST_COMING
        wanted.MaximumPacketSize = LARGEST_COMING
        if kept_s:
            wanted.SessionExpiryInterval = kept_s
        self._client = _Client(
            broker.host,
            broker.port,
            username=broker.login.user,
            password=password,
            logger=logger,
            identifier=client_id,
            protocol=aiomqtt.ProtocolVersion.V5,
            will=None if will is None else aiomqtt.Will(*will, qos=1, retain=True),
            timeout=CONNECT_WITHIN_S,
            keepalive=KEEPALIVE_S,
            clean_start=not kept_s,
            max_queued_incoming_messages=4 * MOST_COMING,
            max_inflight_messages=MOST_UNDER_WAY + MOST_COMING,
            properties=wanted,
            tls_context=context,
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        )
        self._client.paho.connect_timeout = CONNECT_WITHIN_S
        self._client.paho.manual_ack_set(True)
        self._limit = MOST_UNDER_WAY

    async def open(self) -> None:
        entering = asyncio.create_task(self._client.__aenter__())
        # aiomqtt does not notice a connection that is closed before it is accepted
        either: set[asyncio.Future[Any]] = {entering, self._client.lost}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(0)
        entering.cancel()  # no harm to one that is done
        await asyncio.wait({entering})
        error = None if entering.cancelled() else entering.exception()
        if entering.cancelled() or error is not None:
            await self._drop()
            raise ConnectionLost(f"{self._broker.address}: {self._why_not(error)}")
        accepted = self._client.accepted
        self.largest = getattr(accepted, "MaximumPacketSize", None)
        self._limit = min(getattr(accepted, "ReceiveMaximum", MOST_UNDER_WAY), MOST_UNDER_WAY)

    @property
    def certificate_ends(self) -> datetime | None:
        return certificate_ends(self._client.paho.socket())

    def _why_not(self, error: BaseException | None) -> str:
        """Return why the broker did not accept the connection, and what to do."""
        # The broker may answer before aiomqtt waits for that: it then says nothing of it, or what
        # is no error of the broker's.
        if self._client.refused is not None:
            return self._refused(self._client.refused)
        said = str(error) if isinstance(error, aiomqtt.MqttError) else ""
        if "CERTIFICATE_VERIFY_FAILED" in said:
            _, _, found = said.partition("certificate verify failed: ")
            found = (found.rpartition(" (_ssl.c")[0] or said).rstrip(".")
            if "not valid for" in found or "mismatch" in found:
                return (
                    f"the broker's certificate is for another name ({found}): correct address, or "
                    "give the broker a certificate with this name"
                )
            if "expired" in found:
                return (
                    f"the broker's certificate is not accepted ({found}): renew it there, or set "
                    "this host's clock"
                )
            return (
                f"the broker's certificate is not accepted ({found}): set tls.ca to the file of "
                "those that it comes from"
            )
        if "WRONG_VERSION_NUMBER" in said or "wrong version number" in said:
            return "nobody speaks TLS there: write mqtt:// instead of mqtts://, or correct the port"
        early = ("Operation timed out", "EOF occurred", "reset by peer")
        if not said or any(how in said for how in early):
            return self._closed_early(said)
        what = said.partition("] ")[2] or said
        return f"{what}: start the broker there, or correct address"

    def _closed_early(self, said: str) -> str:
        heard = self._errors.text.partition("socket: ")[2]
        heard = heard.partition("] ")[2].rpartition(" (_ssl.c")[0] or heard
        if "expired" in heard:
            return (
                f"the broker does not accept the daemon's certificate ({heard}): renew the one in "
                "tls.cert, or set the broker's clock"
            )
        if "certificate" in heard or "alert" in heard:
            return (
                f"the broker does not accept the daemon's certificate ({heard}): set tls.cert and "
                "tls.key to one that it knows"
            )
        if said == "Operation timed out":
            return f"no answer in {CONNECT_WITHIN_S:g} s: is this an MQTT broker, and is it alive?"
        return (
            "the broker closed the connection before it answered: it may want TLS (mqtts://), or a "
            "certificate (tls.cert, tls.key), or not speak MQTT 5"
        )

    def _refused(self, code: ReasonCode) -> str:
        value = code.value
        who = self._broker.login.user
        called = "without a user" if who is None else f"of user {who!r}"
        if value in (4, 5, 0x86, 0x87, 0x8C):
            return (
                f"the broker refuses the login {called} ({code}): correct user and password_file, "
                "or the broker's list of users"
            )
        if value in (1, 0x84):
            return f"the broker does not speak MQTT 5 ({code}): use one that does"
        return f"the broker refuses the connection ({code}): its log says why"

    async def publish(self, messages: Sequence[Outgoing]) -> list[Answer]:
        under_way = self._client.answered
        futures: list[asyncio.Future[ReasonCode] | None] = []
        for message in messages:
            if self.largest is not None and message.size > self.largest:
                futures.append(None)
                continue
            while len(under_way) >= self._limit:
                await self._progress()
            futures.append(self._send(message))
        for future in futures:
            while future is not None and not future.done():
                await self._progress()
        return [
            self._too_large(message) if future is None else _answer(future.result())
            for message, future in zip(messages, futures, strict=True)
        ]

    def _send(self, message: Outgoing) -> asyncio.Future[ReasonCode]:
        """Hand a message to paho; the future has the broker's answer."""
        more = _properties(PacketTypes.PUBLISH)
        if message.content_type is not None:
            more.ContentType = message.content_type
        if message.correlation is not None:
            more.CorrelationData = message.correlation
        if message.expires_s is not None:
            more.MessageExpiryInterval = message.expires_s
        sent = self._client.paho.publish(
            message.topic, message.payload, qos=1, retain=message.retain, properties=more
        )
        if sent.rc != paho.MQTT_ERR_SUCCESS:
            raise self._lost()
        future: asyncio.Future[ReasonCode] = asyncio.get_running_loop().create_future()
        self._client.answered[sent.mid] = future
        return future

    async def _progress(self) -> None:
        """Write what is to be written, and wait until the broker answers anything.

        Raises:
            ConnectionLost: it does not, or is gone.
        """
        client = self._client
        client.news.clear()
        client.paho.loop_write()
        if client.lost.done():
            raise self._lost()
        try:
            async with asyncio.timeout(ACKNOWLEDGED_WITHIN_S):
                await client.news.wait()
        except TimeoutError:
            await self._drop()
            raise ConnectionLost(
                f"{self._broker.address}: nothing acknowledged for {ACKNOWLEDGED_WITHIN_S:g} s: "
                "the connection is cut and opened again"
            ) from None

    def _too_large(self, message: Outgoing) -> Answer:
        what = (
            f"{self._broker.address} takes packets of up to {self.largest} bytes, and this event "
            f"needs {message.size}: raise max_packet_size there"
        )
        return Answer(what, of_the_message=True)

    def _lost(self) -> ConnectionLost:
        reason = self._client.lost.result() if self._client.lost.done() else None
        unreadable = reason is not None and reason.code.value == PROTOCOL_ERROR
        return ConnectionLost(self._why_lost(), unreadable=unreadable)

    def _why_lost(self) -> str:
        """Return why the connection ended, and what to do."""
        reason = self._client.lost.result() if self._client.lost.done() else None
        at = self._broker.address
        if reason is None or not reason.from_broker:
            if reason is not None and reason.code.value == KEEP_ALIVE_TIMEOUT:
                return f"{at}: no sign of life for {KEEPALIVE_S} s: the connection is opened again"
            if reason is not None and reason.code.value == PROTOCOL_ERROR:
                return f"{at}: the broker sent what is no MQTT: the connection is opened again"
            return f"{at}: the connection broke: it is opened again"
        if reason.code.value == SESSION_TAKEN_OVER:
            return (
                f"{at}: another client connected as {self._client.identifier}: let one daemon only "
                "serve this table"
            )
        if reason.code.value == PACKET_TOO_LARGE:
            return f"{at}: the broker cut the connection (packet too large): raise its limits"
        return f"{at}: the broker ended the connection ({reason.code}): its log says why"

    async def subscribe(self, topic: str) -> str | None:
        options = SubscribeOptions(qos=1, retainAsPublished=True)
        # In a task of its own: in Python 3.11 aiomqtt loses a cancellation if the broker answers at
        # the same moment.
        asking = asyncio.create_task(self._client.subscribe(topic, options=options))
        asking.add_done_callback(lambda asked: asked.cancelled() or asked.exception())
        try:
            await asyncio.wait({asking})
        finally:
            asking.cancel()
        try:
            codes = asking.result()
        except aiomqtt.MqttError:
            await self._drop()
            raise self._lost() from None
        refused = [code for code in codes if isinstance(code, ReasonCode) and code.is_failure]
        if not refused:
            return None
        return (
            f"{self._broker.address}: the broker does not let the daemon subscribe to {topic} "
            f"({refused[0]}): allow it in the broker's access list"
        )

    async def receive(self) -> Incoming:
        try:
            message = await anext(self._client.messages)
        except aiomqtt.MqttError:
            raise self._lost() from None
        more = message.properties
        return Incoming(
            topic=str(message.topic),
            payload=bytes(message.payload),
            retained=bool(message.retain),
            expires_s=getattr(more, "MessageExpiryInterval", None),
            response_topic=getattr(more, "ResponseTopic", None),
            correlation=getattr(more, "CorrelationData", None),
            token=(message.mid, message.qos),
        )

    def acknowledge(self, message: Incoming) -> None:
        if message.token is not None:
            self._client.paho.ack(*message.token)

    async def close(self) -> None:
        if not self._client.lost.done():
            self._client.timeout = CLOSED_WITHIN_S
            with suppress(aiomqtt.MqttError):
                await self._client.__aexit__(None, None, None)
        await self._drop()

    async def _drop(self) -> None:
        """Cut the connection if it is still there."""
        sock = self._client.paho.socket()
        if isinstance(sock, socket.socket):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            await asyncio.wait({self._client.lost}, timeout=CLOSED_WITHIN_S)


def _answer(code: ReasonCode) -> Answer:
    """Return what the code of an acknowledgement says of its message."""
    if not code.is_failure:
        return TAKEN
    return Answer(str(code), of_the_message=code.value in OF_THE_MESSAGE)
