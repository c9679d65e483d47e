"""A nats-server on a free port, alone or three in a cluster, and what its stream holds.

In: a folder, what the server is configured with. Out: its address; it is killed, paused and
started again as a test likes, and has ended when the test has.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import nats.errors as nats_errors
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import APIError

from shoe_ctl.config.sinks import nats_servers
from shoe_ctl.records import Audience
from shoe_ctl.sinks.nats_connection import NatsTarget
from shoe_testing.brokers import Authority
from shoe_testing.paths import ROOT
from shoe_testing.ports import free_port

_PIPE_BYTES = 1 << 20
"""Room for the log of a server that nobody reads."""

ANSWERED_WITHIN_S = 3
"""How long an answer may take: a question to a leader that is gone gets none."""

MOST_TRIES = 10
PATIENCE_S = 60.0

SYNC_ALWAYS = "sync_interval: always"


def server_program() -> str:
    """The path of nats-server; the test is skipped without one, and fails under CI."""
    beside = Path(sys.executable).parent / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("nats-server is missing: it comes with the test requirements")
        pytest.skip("nats-server is missing")
    return found


class NatsServer:
    """One server. ``more`` are further lines of its configuration, or ``config`` is all of it.

    ``environment`` is what its configuration takes passwords from.
    """

    def __init__(  # noqa: PLR0913 - what a test may choose, each by name
        self,
        folder: Path,
        *,
        jetstream: str | None = SYNC_ALWAYS,
        more: str = "",
        name: str = "n",
        config: Callable[[int], str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.program = server_program()
        self.environment = {**os.environ, **(environment or {})}
        self.folder = folder / name
        self.folder.mkdir(parents=True)
        self.port = free_port()
        self.name = name
        self._process: subprocess.Popen[bytes] | None = None
        store = f"jetstream {{ store_dir: {self.folder}/store\n{jetstream} }}\n"
        lines = (
            f"listen: 127.0.0.1:{self.port}\n",
            f"server_name: {name}\n",
            "" if jetstream is None else store,
            more,
        )
        text = "".join(lines) if config is None else config(self.port)
        (self.folder / "server.conf").write_text(text)

    @property
    def address(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def launch(self) -> None:
        """Start it, without waiting until it listens."""
        self._process = subprocess.Popen(
            (self.program, "-c", str(self.folder / "server.conf")),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=self.environment,
        )
        assert self._process.stderr is not None
        fcntl.fcntl(self._process.stderr, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.launch()
        self.listens()

    def listens(self) -> None:
        """Wait until it listens."""
        assert self._process is not None and self._process.stderr is not None
        read: list[bytes] = []
        for line in self._process.stderr:
            if b"Server is ready" in line:
                return
            read.append(line)
        self.kill()
        raise AssertionError(b"".join(read).decode())

    def kill(self) -> None:
        """Kill it (-9) and wait for its end; nothing if it is not there."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stderr is not None
            process.kill()
            process.stderr.close()
            process.wait()

    def forget(self) -> None:
        """Remove what it has stored."""
        shutil.rmtree(self.folder / "store")

    def pause(self) -> None:
        """It takes nothing and says nothing any more, and its connections stand."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    @property
    def is_running(self) -> bool:
        return self._process is not None


@contextmanager
def nats_server(
    folder: Path, *, jetstream: str | None = SYNC_ALWAYS, more: str = ""
) -> Iterator[NatsServer]:
    """A server at work; it is killed on leaving."""
    server = NatsServer(folder, jetstream=jetstream, more=more)
    server.start()
    try:
        yield server
    finally:
        server.kill()


class NatsCluster(NamedTuple):
    """Three servers that keep a stream together."""

    servers: dict[str, NatsServer]

    @property
    def address(self) -> str:
        return ",".join(server.address for server in self.servers.values())


GUIDE = ROOT / "docs" / "guides" / "nats"
"""The files of the example with three servers."""

PASSWORDS = {
    "SHOE_MAIN_PASSWORD": "daemon-secret",
    "TABLE_SYSTEM_PASSWORD": "system-secret",
    "DISPLAYS_SETUP_PASSWORD": "setup-secret",
    "FLOOR_PASSWORD": "floor-secret",
    "WITNESS_PASSWORD": "witness-secret",
}


def user_options(user: str) -> dict[str, Any]:
    """How a client logs in as a user of the guide, with the inbox that only this user may read."""
    password = PASSWORDS[user.upper().replace("-", "_") + "_PASSWORD"]
    return {"user": user, "password": password, "inbox_prefix": f"_INBOX_{user}"}


async def make_mirror(address: str, *ca: str, replicas: int = 1) -> None:
    """Run the guide's program that makes the displays' copy of the public stream."""
    own = {**os.environ, **PASSWORDS, "REPLICAS": str(replicas)}
    program = str(GUIDE / "mirror.py")
    made = await asyncio.create_subprocess_exec(
        sys.executable,
        program,
        address,
        *ca,
        env=own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said, _ = await made.communicate()
    assert made.returncode == 0, said.decode()


def with_users(folder: Path, *, more: str = "", **options: Any) -> NatsServer:
    """One server with the users of the guide, who have these passwords."""
    users = f"include {os.path.relpath(GUIDE / 'users.conf', folder / 'n')}\n"
    return NatsServer(folder, more=users + more, environment=PASSWORDS, **options)


@contextmanager
def guide_cluster(folder: Path, authority: Authority) -> Iterator[NatsCluster]:
    """The three servers of the guide, by its own files: on free ports, in a folder, on one host."""
    names = ("hall-1", "hall-2", "hall-3")
    routes = {name: free_port() for name in names}

    def config(name: str) -> Callable[[int], str]:
        cert, key = authority.issue(name, host="127.0.0.1")
        text = (GUIDE / f"{name}.conf").read_text()
        text = text.replace("/var/lib/nats", str(folder / name / "store"))
        text = text.replace(f"/etc/nats/{name}.crt", str(cert))
        text = text.replace(f"/etc/nats/{name}.key", str(key))
        text = text.replace("/etc/nats/ca.crt", str(authority.file))
        text = text.replace("0.0.0.0:6222", f"127.0.0.1:{routes[name]}")
        for other, port in routes.items():
            text = text.replace(f"{other}:6222", f"127.0.0.1:{port}")
        text = text.replace("127.0.0.1:8222", "127.0.0.1:-1")
        text = text.replace(
            "include users.conf", f"include {os.path.relpath(GUIDE / 'users.conf', folder / name)}"
        )
        return lambda port: text.replace("0.0.0.0:4222", f"127.0.0.1:{port}")

    servers = {
        name: NatsServer(folder, name=name, config=config(name), environment=PASSWORDS)
        for name in names
    }
    with started_together(servers) as cluster:
        yield cluster


@contextmanager
def nats_cluster(folder: Path) -> Iterator[NatsCluster]:
    """Three servers at work; they are killed on leaving."""
    names = ("n1", "n2", "n3")
    routes = {name: free_port() for name in names}
    all_routes = ", ".join(f"nats://127.0.0.1:{port}" for port in routes.values())
    servers = {}
    for name, port in routes.items():
        more = f"cluster {{ name: c, listen: 127.0.0.1:{port}, routes: [{all_routes}] }}\n"
        servers[name] = NatsServer(folder, more=more, name=name)
    with started_together(servers) as cluster:
        yield cluster


@contextmanager
def started_together(servers: dict[str, NatsServer]) -> Iterator[NatsCluster]:
    """These servers at work; they are killed on leaving."""
    try:
        for server in servers.values():
            server.launch()
        for server in servers.values():
            server.listens()
        yield NatsCluster(servers)
    finally:
        for server in servers.values():
            server.kill()


def target_of(address: str, **more: Any) -> NatsTarget:
    """Where a sink publishes."""
    chosen: dict[str, Any] = {"audience": Audience.PUBLIC, "stream": "SHOE"} | more
    return NatsTarget(addresses=nats_servers(address), **chosen)


@asynccontextmanager
async def nats_client(
    address: str, **options: Any
) -> AsyncIterator[tuple[Client, JetStreamContext]]:
    """A client of nats-py beside the product's."""
    client = Client()
    await client.connect(address.split(","), **options)
    try:
        yield client, client.jetstream(timeout=ANSWERED_WITHIN_S)
    finally:
        await client.close()


class StoredMessage(NamedTuple):
    """A message of the stream."""

    subject: str
    seq: int
    body: bytes
    headers: dict[str, str]

    @property
    def id(self) -> str:
        return str(msgspec.json.decode(self.body)["id"])


async def stored_messages(
    address: str, stream: str = "SHOE", **options: Any
) -> list[StoredMessage]:
    """All that the stream holds, in its order; read again while a leader is elected."""
    for _ in range(MOST_TRIES - 1):
        with suppress(nats_errors.TimeoutError, APIError):
            return await _read_stream(address, stream, **options)
    return await _read_stream(address, stream, **options)


async def _read_stream(address: str, stream: str, **options: Any) -> list[StoredMessage]:
    async with nats_client(address, **options) as (client, js):
        inbox = client.new_inbox()
        arriving = await client.subscribe(inbox)
        config = ConsumerConfig(
            deliver_subject=inbox, deliver_policy=DeliverPolicy.ALL, ack_policy=AckPolicy.NONE
        )
        there = (await js.add_consumer(stream, config)).num_pending
        found = []
        info = await js.stream_info(stream)
        for _ in range(max(there or 0, info.state.messages)):
            message = await arriving.next_msg(timeout=ANSWERED_WITHIN_S)
            seq = message.metadata.sequence.stream
            found.append(
                StoredMessage(message.subject, seq, message.data, dict(message.headers or {}))
            )
        return found


async def stream_leader(cluster: NatsCluster) -> str:
    """The server that leads the stream: asked again while one is being elected."""
    async with asyncio.timeout(PATIENCE_S), nats_client(cluster.address) as (_, js):
        while True:
            with suppress(APIError, nats_errors.TimeoutError):
                info = await js.stream_info("SHOE")
                assert info.cluster is not None and info.config.num_replicas == 3
                if info.cluster.leader:
                    return info.cluster.leader


def ids_of(messages: Sequence[StoredMessage]) -> list[str]:
    return [message.id for message in messages]
