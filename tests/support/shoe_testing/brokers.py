"""mosquitto for a test: started on a free port, paused, killed, stopped; and a client that counts.

In: lines of its configuration. Out: a broker in a process of its own, what it logged; what a
subscriber got. Without mosquitto a test is skipped, and under CI it fails.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self

import aiomqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

PROGRAM = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PATIENCE_S = 60.0
HOST = "127.0.0.1"

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


def free_port() -> int:
    """A port that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


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
        text = "\n".join(
            (
                f"listener {self.port} {HOST}",
                "log_dest stderr",
                "set_tcp_nodelay true",
                *self._lines,
            )
        )
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
        self._news = asyncio.Event()

    async def read(self) -> None:
        async for message in self.client.messages:
            said = {} if message.properties is None else message.properties.json()  # type: ignore[no-untyped-call]
            self.got.append(Got(str(message.topic), bytes(message.payload), message.retain, said))
            self._news.set()

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
async def subscribed(
    port: int,
    *topics: str,
    user: str | None = None,
    password: str | None = None,
    name: str | None = None,
    session_s: int | None = None,
) -> AsyncIterator[Subscriber]:
    """A client that has subscribed; with ``session_s`` the broker keeps its session so long."""
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    if session_s is not None:
        properties.SessionExpiryInterval = session_s
    client = aiomqtt.Client(
        HOST,
        port,
        username=user,
        password=password,
        identifier=name,
        protocol=aiomqtt.ProtocolVersion.V5,
        clean_start=session_s is None,
        properties=properties,
    )
    async with client:
        subscriber = Subscriber(client)
        for topic in topics:
            await client.subscribe(topic, qos=1)
        reading = asyncio.create_task(subscriber.read())
        try:
            yield subscriber
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError, aiomqtt.MqttError):
                await reading
