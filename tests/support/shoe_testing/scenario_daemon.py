"""A bench with the real daemon in this loop: a pty, the socket, the files of both streams.

In: a scenario, a folder. Out: both streams as the sinks wrote them, and where it got stuck.
Must not know: what is expected.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from shoe_ctl.cli.demo_scenario import SECOND_PERSONS
from shoe_ctl.clock import SystemClock
from shoe_ctl.config.schema import Config, of_plain
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.table.positions import APART, BESIDE, LADDER
from simulators.ports.pty import PtyPort
from simulators.rig import Rig
from simulators.table.bench import Stuck
from simulators.table.client import SocketClient
from simulators.table.expectation import Told
from simulators.table.live_bench import LiveBench, Stream
from simulators.table.scenario import Scenario, configured
from simulators.table.scenario_player import ScenarioPlayer, shoe_for


def configuration(scenario: Scenario, folder: Path, port: str) -> Config:
    """The scenario's table, a sink for each audience, the socket for whoever runs the test."""
    user = {"user": os.getuid(), "position": LADDER[-1], "also": [BESIDE, APART]}
    second = [
        {"user": os.getuid() + at, "name": name, "position": LADDER[-1]}
        for at, name in enumerate(SECOND_PERSONS, 1)
    ]
    plain = {
        "table": [configured(scenario, port)],
        "socket": {"user": [user, *second], "path": "s"},
        "sink": [
            {"kind": "jsonl", "path": "public.jsonl"},
            {"kind": "jsonl", "path": "restricted.jsonl", "audience": "restricted"},
        ],
    }
    return msgspec.structs.replace(of_plain(plain, scenario.name), folder=str(folder))


class Host:
    """The machine on which the daemon runs, and goes and comes back."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._executor = ThreadPoolExecutor(1, "port")
        self._boot = 1
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """The daemon is at work; what ends it before that is raised."""
        daemon = Daemon(
            self._config,
            clock=SystemClock(),
            executor=self._executor,
            host_boot=f"boot-{self._boot}",
        )
        ready = asyncio.Event()
        self._task = asyncio.create_task(daemon.run(ready.set), name="daemon")
        waiting = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()

    async def stop(self) -> None:
        """As SIGTERM stops it: what is stored is delivered."""
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def restart(self, what: str) -> None:
        """The daemon goes and comes back; with the host, if that is what is asked for."""
        await self.stop()
        self._boot += what == "reboot"
        await self.start()

    def close(self) -> None:
        """Nothing is left of it."""
        self._executor.shutdown()


@asynccontextmanager
async def bench_of(scenario: Scenario, folder: Path) -> AsyncIterator[LiveBench]:
    """Shoe, daemon and client; on leaving the daemon has delivered all that it stored."""
    rig = Rig(shoe_for(scenario), PtyPort(str(folder / "shoe")))
    rig.start()
    host = Host(configuration(scenario, folder, rig.port.address))
    client = SocketClient(folder / "s")
    try:
        await host.start()
        yield LiveBench(
            rig,
            client,
            folder / "public.jsonl",
            restricted=folder / "restricted.jsonl",
            restart=host.restart,
        )
    finally:
        await client.close()
        await host.stop()
        host.close()
        rig.stop()


async def played(scenario: Scenario, folder: Path) -> tuple[list[Told], list[Told], str | None]:
    """The public and the restricted stream, and where the scenario got stuck."""
    stuck: str | None = None
    async with bench_of(scenario, folder) as bench:
        try:
            await ScenarioPlayer(scenario, bench).play()
        except Stuck as error:
            stuck = str(error)
    streams = [Stream(folder / f"{name}.jsonl") for name in ("public", "restricted")]
    for stream in streams:
        stream.read()
    return streams[0].told, streams[1].told, stuck
