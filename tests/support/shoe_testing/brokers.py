"""mosquitto for a test: started on a free port, paused, killed, stopped; and a client that counts.

In: lines of its configuration. Out: a broker in a process of its own, what it logged; what a
subscriber got. Without mosquitto a test is skipped, and under CI it fails.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple, Self

import aiomqtt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from shoe_events.mqtt import Client
from shoe_testing.ports import HOST, free_port
from shoe_testing.tasks import ended

PROGRAM = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PATIENCE_S = 60.0

OPEN = ("allow_anonymous true",)
"""Whoever comes may do anything."""


def mosquitto() -> str:
    """The program, or the end of the test."""
    if PROGRAM is None:
        why = "mosquitto is not installed: apt-get install mosquitto"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return PROGRAM


class Mosquitto:
    """A broker at ``port``, with these lines in its configuration; ``{folder}`` is its own."""

    def __init__(
        self, folder: Path, *lines: str, port: int | None = None, tls: bool = False
    ) -> None:
        self.program = mosquitto()
        self.folder = folder
        self.port = free_port() if port is None else port
        self.tls = tls
        self.log: list[str] = []
        self._lines = lines
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    @property
    def address(self) -> str:
        return f"mqtt{'s' if self.tls else ''}://{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        """Returns once it listens."""
        config = self.folder / "mosquitto.conf"
        head = [f"listener {self.port} {HOST}", "log_dest stderr", "set_tcp_nodelay true"]
        head += ["user root"] if os.geteuid() == 0 else []  # else it could not read the folder
        text = "\n".join((*head, *self._lines))
        config.write_text(text.replace("{folder}", str(self.folder)) + "\n")
        self._process = subprocess.Popen(
            [self.program, "-c", str(config)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        running = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(self._process, running))
        self._reader.start()
        assert running.wait(PATIENCE_S)
        assert self._process.poll() is None, self.log
        return self

    def _read(self, process: subprocess.Popen[str], running: threading.Event) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.log.append(line.rstrip())
            if line.rstrip().endswith("running"):
                running.set()
        running.set()  # it has ended

    def kill(self) -> None:
        """Ends it as a power failure does: nothing is saved."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Kills it, and starts it at the same port."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """It is there, and answers nothing: as a link that is half open."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(how)
        self._process.wait(PATIENCE_S)
        assert self._reader is not None
        self._reader.join(PATIENCE_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None


@contextmanager
def broker(
    folder: Path, *lines: str, port: int | None = None, tls: bool = False
) -> Iterator[Mosquitto]:
    """A broker at work until leaving; without lines whoever comes may do anything."""
    served = Mosquitto(folder, *(lines or OPEN), port=port, tls=tls)
    try:
        yield served.start()
    finally:
        served.stop()


def passwords(folder: Path, **users: str) -> str:
    """A file with the passwords of these users; the line of the configuration that names it."""
    path = folder / "passwords"
    path.write_text("".join(f"{user}:{password}\n" for user, password in users.items()))
    path.chmod(0o600)
    tool = Path(mosquitto()).with_name("mosquitto_passwd")
    program = str(tool) if tool.exists() else "mosquitto_passwd"
    subprocess.run([program, "-U", str(path)], check=True, capture_output=True)
    return f"password_file {path}"


class Authority:
    """A certificate authority of a test. Each certificate and its key are files in ``folder``."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._builder(self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.file = folder / f"{name}.crt"
        self._write(self.file, certificate)

    def issue(
        self, name: str, *, host: str | None = None, ends: timedelta = timedelta(days=365)
    ) -> tuple[Path, Path]:
        """A certificate for this name, and its key; with ``host`` for a server there, too.

        It ``ends`` that much from now, or ended before.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key.public_key(), ends)
        if host is not None:
            address = x509.IPAddress(ipaddress.ip_address(host))
            names = x509.SubjectAlternativeName([x509.DNSName(name), address])
            builder = builder.add_extension(names, critical=False)
        paths = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        self._write(paths[0], builder)
        paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        paths[1].chmod(0o600)
        return paths

    def _builder(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        ends: timedelta = timedelta(days=365),
    ) -> x509.CertificateBuilder:
        now = datetime.now(timezone.utc)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=30))
            .not_valid_after(now + ends)
        )

    def _write(self, path: Path, builder: x509.CertificateBuilder) -> None:
        certificate = builder.sign(self._key, hashes.SHA256())
        path.write_bytes(certificate.public_bytes(Encoding.PEM))


class Got(NamedTuple):
    """A message that a subscriber got."""

    topic: str
    payload: bytes
    retain: bool
    properties: dict[str, object]


class Subscriber:
    """A client that keeps what it gets, in order."""

    def __init__(self, client: aiomqtt.Client) -> None:
        self.client = client
        self.got: list[Got] = []
        self.ended = False
        self._news = asyncio.Event()

    async def read(self) -> None:
        try:
            await self._read()
        finally:
            self.ended = True
            self._news.set()

    async def _read(self) -> None:
        async for message in self.client.messages:
            said = {} if message.properties is None else message.properties.json()  # type: ignore[no-untyped-call]
            self.got.append(Got(str(message.topic), bytes(message.payload), message.retain, said))
            self._news.set()

    async def news(self) -> None:
        """Waits for a message, or for the end of the connection."""
        await self._news.wait()
        self._news.clear()

    def payloads(self, topic: str) -> list[bytes]:
        """What came on this topic."""
        return [got.payload for got in self.got if got.topic == topic]

    async def until(self, so: Callable[[], bool]) -> None:
        """Waits until it is so; looked at after each message."""
        async with asyncio.timeout(PATIENCE_S):
            while not so():
                self._news.clear()
                await self._news.wait()

    async def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, **properties: object
    ) -> None:
        """Publishes, with properties by their names in MQTT: ``ResponseTopic="a/b"``."""
        more = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        for name, value in properties.items():
            setattr(more, name, value)
        await self.client.publish(topic, payload, qos=1, retain=retain, properties=more)


@asynccontextmanager
async def subscribed(  # noqa: PLR0913 - who connects, and to what
    port: int,
    *topics: str,
    user: str | None = None,
    password: str | None = None,
    name: str | None = None,
    session_s: int | None = None,
    timeout_s: float = PATIENCE_S,
) -> AsyncIterator[Subscriber]:
    """A client that has subscribed; with ``session_s`` the broker keeps its session so long."""
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    if session_s is not None:
        properties.SessionExpiryInterval = session_s
    client = Client(
        HOST,
        port,
        username=user,
        password=password,
        identifier=name,
        protocol=aiomqtt.ProtocolVersion.V5,
        clean_start=session_s is None,
        properties=properties,
        timeout=timeout_s,
    )
    try:
        async with client:
            subscriber = Subscriber(client)
            for topic in topics:
                await client.subscribe(topic, qos=1)
            reading = asyncio.create_task(subscriber.read())
            try:
                yield subscriber
            finally:
                await ended(reading)
    finally:
        client.end()


class Consumer:
    """A table system that counts: it applies each id once, and asks again for what is missing.

    It compares the numbers of the events, and its last one with that of the state. ``ask`` gets the
    id behind which something is missing. It reconnects whenever it is cut off.
    """

    def __init__(self, port: int, table: str, ask: Callable[[str], None]) -> None:
        self.applied: list[int] = []
        self.repeated = 0
        self.asked = 0
        self.seen_gaps = 0
        self._port = port
        self._topics = f"shoe/v1/{table}/public", f"shoe/v1/{table}/state"
        self._ask = ask
        self._pending: set[int] = set()
        self._news = asyncio.Event()

    @property
    def last(self) -> int:
        """Everything up to this number was applied."""
        return self.applied[-1] if self.applied else 0

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            with suppress(aiomqtt.MqttError):
                async with subscribed(self._port, *self._topics, timeout_s=0.2) as subscriber:
                    done = 0
                    while not subscriber.ended:
                        await subscriber.news()
                        for got in subscriber.got[done:]:
                            said = json.loads(got.payload or b"{}")
                            if got.topic == self._topics[0]:
                                self._take(said["id"])
                            else:
                                self._compare(said.get("last_event", ""))
                        done = len(subscriber.got)
            await asyncio.sleep(0.005)

    def _take(self, event: str) -> None:
        number = int(event.rpartition("/p")[2])
        if number <= self.last or number in self._pending:
            self.repeated += 1
            return
        if number > self.last + 1:
            self.seen_gaps += not self._pending
            self._missing()
        self._pending.add(number)
        while self.last + 1 in self._pending:
            self._pending.discard(self.last + 1)
            self.applied.append(self.last + 1)
        self._news.set()

    def _compare(self, last: str) -> None:
        if last and int(last.rpartition("/p")[2]) > max((self.last, *self._pending)):
            self._missing()

    def _missing(self) -> None:
        self.asked += 1
        self._ask(f"t/p{self.last}")

    async def until(self, number: int) -> None:
        """Waits until everything up to this number was applied."""
        async with asyncio.timeout(PATIENCE_S):
            while self.last < number:
                self._news.clear()
                await self._news.wait()
