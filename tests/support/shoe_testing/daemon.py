"""A daemon at work in the test's loop, and simulated shoes on ports of their own.

In: a folder, choices. Out: what the sinks were told, the shoe to be plugged and unplugged.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

from firmware_proto.cards import DECKS
from firmware_proto.reference.mac import ShoeKeys
from shoe_ctl.clock import Clock, SystemClock
from shoe_ctl.config.schema import load
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.daemon.delivery import NamedSink
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.history import snapshots
from shoe_ctl.history.event_ids import Answered
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.verify import verify
from shoe_ctl.link.usb_discovery import Backends, libusb
from shoe_ctl.records import Audience
from shoe_ctl.replay.replay import replay
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_ctl.table.inputs import TableCommand
from shoe_testing.rounds import Dealt, dealt
from simulators.faults import Line
from simulators.ports.port import Port
from simulators.ports.pty import PtyPort
from simulators.rig import Rig
from simulators.shoe.build import simulated_shoe
from simulators.shoe.ground_truth import GroundTruth
from simulators.table.dealer import Supply, dealer_for

PATIENCE_S = 60.0
"""How long anything may take on a machine that has stalled."""

TABLE = "bac-07"

SOCKET = "way-in"
"""Beside the journal, where a configuration has a way in."""


def configuration(  # noqa: PLR0913 - what a test may choose, each by name
    folder: Path,
    port: str,
    *,
    profile: str = "reference",
    game: str = "tiger",
    decks: int = 8,
    way_in: bool = False,
) -> Path:
    """A table's configuration file, with a sink for each audience beside it."""
    path = folder / "table.toml"
    socket = f"""
[socket]
path = "{SOCKET}"
[[socket.user]]
user = {os.getuid()}
position = "pit_supervisor"
"""
    path.write_text(
        f"""
[[table]]
id = "{TABLE}"
game = "{game}"
decks = {decks}
announcements = "implied"
[table.method_b]
faces = "face_up"
face_up_after_ms = 0
[table.shoe]
profile = "{profile}"
port = "{port}"
[[sink]]
kind = "jsonl"
path = "public.jsonl"
[[sink]]
kind = "jsonl"
path = "restricted.jsonl"
audience = "restricted"
"""
        + (socket if way_in or profile == "bee_tek" else "")
    )
    return path


class Told:
    """A sink that keeps the events it is given, over restarts too, and can be waited on."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._news = asyncio.Event()

    async def deliver(self, events: Sequence[bytes]) -> None:
        self.events += [json.loads(event) for event in events]
        self._news.set()

    def data(self, kind: str) -> list[dict[str, Any]]:
        """The data of the events of this type."""
        return [event["data"] for event in self.events if event["type"] == kind]

    async def times(self, number: int, kind: str) -> None:
        """Waits until so many events of this type were told."""
        await self.until(lambda: len(self.data(kind)) >= number)

    async def until(self, so: Callable[[], bool]) -> None:
        """Waits until it is so; looked at after each delivery."""
        async with asyncio.timeout(PATIENCE_S):
            while not so():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def serving(  # noqa: PLR0913 - what a test may choose, each by name
    config: Path,
    told: Told,
    *,
    host_boot: str = "boot-1",
    sees: Audience = Audience.PUBLIC,
    usb: Backends = libusb,
    vfs: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
    sinks: Sequence[NamedSink] = (),
    clock: Clock | None = None,
) -> AsyncIterator[Daemon]:
    """The daemon at work; on leaving it is cancelled, as SIGTERM does.

    What ended it before is raised, where a wait for it would only time out.
    """
    with ThreadPoolExecutor(1, "port") as executor:
        daemon = Daemon(
            load(config),
            clock=SystemClock() if clock is None else clock,
            executor=executor,
            host_boot=host_boot,
            sinks=[NamedSink("told", sees, told), *sinks],
            usb=usb,
            vfs=vfs,
        )
        ready = asyncio.Event()
        task = asyncio.create_task(daemon.run(ready.set, tell), name="daemon")
        waiting = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            yield daemon
        finally:
            waiting.cancel()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def runner(daemon: Daemon) -> TableRunner:
    """The one table at work."""
    return daemon.runners[TABLE]


async def command(daemon: Daemon, command_id: str, name: str, **args: Any) -> Answered:
    """What the shift manager says."""
    asked = TableCommand(
        t_us=0,
        command_id=command_id,
        command=name,
        args=args,
        person="Ines",
        position="gaming_shift_manager",
        reason="seen on the table",
    )
    return await runner(daemon).command(asked, Audience.PUBLIC)


class ShoeAtTable:
    """A shoe on a port in this loop (a pty if none is given), and the hand that draws.

    It draws as fast as it may, or is told to rest.

    ``on_card`` is called with the number of cards drawn so far, right after each.
    """

    def __init__(  # noqa: PLR0913 - what a test may choose, each by name
        self,
        folder: Path,
        profile: str,
        *,
        seed: int,
        decks: int = 4,
        to_host: Line | None = None,
        to_shoe: Line | None = None,
        port: Port | None = None,
        keys: ShoeKeys | None = None,
    ) -> None:
        self._rest_when: Callable[[dict[str, Any]], bool] | None = None
        self._resting = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.on_card: Callable[[int], None] = lambda _: None
        self.truth = GroundTruth(self._written)
        device = simulated_shoe(profile, seed=seed, decks=decks, truth=self.truth, keys=keys)
        self.dealer = dealer_for(device, Supply(DECKS["french52"], decks, 0, 0), pace_s=0.0)
        self.port = PtyPort(str(folder / "shoe")) if port is None else port
        self.rig = Rig(device, self.port, self.dealer, to_host=to_host, to_shoe=to_shoe)

    def __enter__(self) -> Self:
        self.dealer.open_table(self.rig.now)
        self.rig.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.rig.stop()

    @property
    def rounds(self) -> list[Dealt]:
        """What was dealt so far, round for round."""
        return dealt(self.truth.lines)

    def rest_at(self, round_number: int, hand: str, index: int) -> None:
        """From this card of this round on the hand draws no more."""

        def there(line: dict[str, Any]) -> bool:
            place = (line.get("place"), line.get("index"))
            return place == (hand, index) and len(self.truth.rounds) == round_number - 1

        self._rest_when = there

    def rest_after(self, round_number: int) -> None:
        """From the end of this round on the hand draws no more."""
        self._rest_when = lambda line: line.get("round") == round_number

    async def rests(self) -> None:
        """Waits until the hand rests."""
        async with asyncio.timeout(PATIENCE_S):
            await self._resting.wait()

    async def armed_for(self, number: int | None) -> None:
        """Wait until the shoe is armed for this draw, or for none; only its host knows when."""
        async with asyncio.timeout(PATIENCE_S):
            while self.rig.device.shoe.armed != number:  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    def go_on(self) -> None:
        """The hand draws again."""
        self._resting.clear()
        self.rig.dealer = self.dealer
        self.rig.turn()

    def _written(self, text: str) -> None:
        line = json.loads(text)
        if self._rest_when is not None and self._rest_when(line):
            self._rest_when, self.rig.dealer = None, None
            self._resting.set()
        if "card" in line:
            self._loop.call_soon(self.on_card, len(self.truth.cards))


@asynccontextmanager
async def shoe_process(  # noqa: PLR0913 - what a test may choose, each by name
    folder: Path,
    profile: str,
    *,
    seed: int,
    game_deck: str,
    port: str | None = None,
    fault: str | None = None,
) -> AsyncIterator[tuple[str, Path]]:
    """A shoe in a process of its own (on a pty): its port, and the file with the truth.

    The dealer of one that cannot speak for itself speaks at the daemon's socket.
    """
    truth = folder / "truth.jsonl"
    options: tuple[str, ...] = (
        "--profile",
        profile,
        "--port",
        f"pty:{folder}/shoe" if port is None else port,
        "--pace-ms",
        "0",
        "--seed",
        str(seed),
    )
    if fault is not None:
        options += ("--fault", fault)
    if profile == "bee_tek":
        options += ("--socket", str(folder / SOCKET), "--table", TABLE)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "simulators", *options),
        *("--deck", game_deck, "--truth", str(truth)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdin is not None and child.stdout is not None
    try:
        yield json.loads(await child.stdout.readline())["port"], truth
    finally:
        child.stdin.close()
        assert await child.wait() == 0


def nothing_is_wrong_with(journal: Path) -> int:
    """Verifies a journal at rest, decodes and runs it again; how many rounds it holds."""
    with Reader.open(journal) as reader:
        found = verify(reader)
        assert found.ok, found
        again = replay(
            reader,
            snapshots.controller_for,
            snapshots.agrees,
            RecordedSessions(),
            from_first_snapshot=snapshots.from_first_snapshot,
        )
    assert again.differences == []
    assert again.bytes > 0 or not again.rounds
    return again.rounds
