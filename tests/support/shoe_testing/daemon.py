"""Daemons at work in the test's loop: their configuration, shoes on ports, people at the socket.

In: a folder, choices, or a scenario. Out: what the sinks were told, the shoe to be plugged and
unplugged, rounds dealt by commands, and proof that nothing was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self

import msgspec

from firmware_proto.cards import DECKS
from firmware_proto.reference.mac import ShoeKeys
from shoe_ctl.cli.demo_scenario import SECOND_PERSONS
from shoe_ctl.cli.demo_surroundings import Surroundings
from shoe_ctl.clock import Clock, SystemClock
from shoe_ctl.config.schema import Config, load, of_plain
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.daemon.delivery import NamedSink
from shoe_ctl.daemon.shoe_link import ShoeLink
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.daemon.transactions import TableTransactions
from shoe_ctl.history import snapshots
from shoe_ctl.history.event_ids import Answered, EventIndex
from shoe_ctl.history.recorder import TableRecorder
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Meta
from shoe_ctl.journal.verify import verify
from shoe_ctl.link.usb_discovery import Backends, libusb
from shoe_ctl.records import Audience
from shoe_ctl.replay.replay import replay
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.positions import APART, BESIDE, LADDER
from shoe_testing.command_server import A_SHOE, start_warm
from shoe_testing.config import SOCKET, TABLE, write_socket_config
from shoe_testing.event_check import OwnData
from shoe_testing.rounds import Dealt, all_agree, lines_of, of_type, once_each, read_rounds
from shoe_testing.socket_client import Caller, calling
from simulators.faults import CleanLine, Line
from simulators.ports.port import Port
from simulators.ports.pty import PtyPort
from simulators.rig import Rig
from simulators.shoe.build import simulated_shoe
from simulators.shoe.ground_truth import GroundTruth
from simulators.table.bench import Stuck
from simulators.table.client import SocketClient
from simulators.table.dealer import Supply, dealer_for
from simulators.table.expectation import Told
from simulators.table.live_bench import LiveBench, Stream
from simulators.table.scenario import Scenario, configured
from simulators.table.scenario_player import ScenarioPlayer, shoe_for

PATIENCE_S = 60.0
"""How long anything may take on a machine that has stalled."""


class ToldEvents:
    """A sink that keeps the events it is given, over restarts too, and can be waited on."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._news = asyncio.Event()

    async def deliver(self, events: Sequence[bytes]) -> None:
        self.events += [json.loads(event) for event in events]
        self._news.set()

    def data(self, kind: str) -> list[dict[str, Any]]:
        """The data of the events of this type."""
        return [OwnData(event["data"]) for event in self.events if event["type"] == kind]

    async def times(self, number: int, kind: str) -> None:
        """Waits until so many events of this type were told."""
        await self.until(lambda: len(self.data(kind)) >= number)

    async def until(self, so: Callable[[], bool]) -> None:
        """Waits until it is so; looked at after each delivery."""
        async with asyncio.timeout(PATIENCE_S):
            while not so():
                self._news.clear()
                await self._news.wait()


async def ready_or_ended(daemon: asyncio.Task[None], ready: asyncio.Event) -> None:
    """Waits until a daemon serves, or has ended: what ended it is raised where it is stopped."""
    waiting = asyncio.create_task(ready.wait())
    try:
        await asyncio.wait({daemon, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


async def stopped(daemon: asyncio.Task[None]) -> None:
    """Cancels a daemon, as SIGTERM does, and waits for its end."""
    daemon.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await daemon


@asynccontextmanager
async def serving(  # noqa: PLR0913 - what a test may choose, each by name
    config: Path,
    told: ToldEvents,
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
        try:
            await ready_or_ended(task, ready)
            yield daemon
        finally:
            await stopped(task)


def table_runner(
    controller: TableController,
    journal: Journal,
    clock: Clock,
    under: Meta,
    *,
    index: EventIndex | None = None,
) -> TableRunner:
    """A table alone, with its link and no loss to compare, on a journal."""
    recorder = TableRecorder(controller.settings.table, under, journal.ends, {})
    known = EventIndex() if index is None else index
    transactions = TableTransactions(controller, recorder, journal, clock, index=known)
    return TableRunner(transactions, ShoeLink(transactions))


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
        return read_rounds(self.truth.lines)

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
        """Waits until the hand rests. If it does not, the error says how the shoe stands."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._resting.wait()
        except TimeoutError:
            device, shoe = self.rig.device, self.rig.device.shoe
            stands = (
                f"connected: {device.connected}, line open: {device.line_open}, drawn: "
                f"{shoe.drawn}, armed for: {shoe.armed}, jammed: {shoe.jammed}"
            )
            raise AssertionError(
                f"the hand does not rest; {stands}; {self.truth.lines[-3:]}"
            ) from None

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
    child = await start_warm(
        *(*A_SHOE, *options, "--deck", game_deck, "--truth", str(truth)),
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


SHOE_KEY, OTHER_KEY = "ab" * 32, "cd" * 32


def open_irregularities(daemon: Daemon) -> list[str]:
    """What is open at the table, the last thing first."""
    halt = runner(daemon).controller.state.halt
    return [] if halt is None else [opened.key for opened in reversed(halt.stack)]


class CutLine(CleanLine):
    """Pulls the cable behind these bytes, counted over all connections."""

    def __init__(self, cuts: Iterable[int]) -> None:
        super().__init__()
        self.cuts = sorted(cuts)
        self._carried = 0
        self._out = False

    def cut_after(self, counts: Iterable[int]) -> None:
        """Pull the cable behind so many bytes from now on."""
        self.cuts = sorted(self._carried + count for count in counts)

    def put(self, data: bytes, t: float) -> None:
        if self._out:
            return
        room = self.cuts[0] - self._carried if self.cuts else len(data) + 1
        if len(data) >= room:
            data, self._out = data[:room], True
            self.cuts.pop(0)
        self._carried += len(data)
        super().put(data, t)

    def pulled(self, t: float) -> bool:  # noqa: ARG002 - as a line has it
        pulled, self._out = self._out, False
        return pulled

    def cut(self) -> None:
        super().cut()
        self._out = False


def nothing_was_lost_or_doubled(folder: Path, shoe: ShoeAtTable) -> list[dict[str, Any]]:
    """Both streams hold every round and every card once; gives the public one."""
    public, restricted = (lines_of(folder / f"{name}.jsonl") for name in ("public", "restricted"))
    for stream in (public, restricted):
        assert once_each(stream) == stream
        all_agree(of_type(stream, "round.outcome"), shoe.rounds)
    drawn = [(data["number"], data["card"]) for data in of_type(restricted, "round.card_drawn")]
    assert drawn == shoe.truth.cards
    halts = of_type(public, "table.halted")
    assert {halt["reason"] for halt in halts} == {"link_lost"}
    assert len(of_type(public, "table.resumed")) == len(halts)
    assert nothing_is_wrong_with(folder / "journal.db") == len(shoe.rounds)
    return public


def scenario_config(scenario: Scenario, folder: Path, port: str) -> Config:
    """The scenario's table, a sink for each audience, the socket for whoever runs the test."""
    user = {"user": os.getuid(), "position": LADDER[-1], "also": [BESIDE, APART]}
    user["applies"] = "applied_within_s" in scenario.table
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


class DaemonHost:
    """The machine on which the daemon runs, and goes and comes back; and what lies around it."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._around = Surroundings()
        self._daemon: Daemon | None = None
        self._executor = ThreadPoolExecutor(1, "port")
        self._boot = 1
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """The daemon is at work; what ends it before that is raised."""
        self._daemon = daemon = Daemon(
            self._config,
            clock=SystemClock(),
            executor=self._executor,
            host_boot=f"boot-{self._boot}",
            sinks=[self._around.sink],
            vfs=self._around.disk.name,
        )
        ready = asyncio.Event()
        self._task = asyncio.create_task(daemon.run(ready.set), name="daemon")
        await ready_or_ended(self._task, ready)

    async def stop(self) -> None:
        """As SIGTERM stops it: what is stored is delivered."""
        assert self._task is not None
        await stopped(self._task)

    async def happen(self, what: str, part: str) -> None:
        """The daemon goes and comes back, perhaps with the host; or its disk or sink fails."""
        if part != "host":
            assert self._daemon is not None
            await self._around.happen(self._daemon, part, what)
            return
        await self.stop()
        self._boot += what == "reboot"
        await self.start()

    def close(self) -> None:
        """Nothing is left of it."""
        self._executor.shutdown()
        self._around.disk.unregister()


@asynccontextmanager
async def daemon_bench(scenario: Scenario, folder: Path) -> AsyncIterator[LiveBench]:
    """Shoe, daemon and client; on leaving the daemon has delivered all that it stored."""
    rig = Rig(shoe_for(scenario), PtyPort(str(folder / "shoe")))
    rig.start()
    host = DaemonHost(scenario_config(scenario, folder, rig.port.address))
    client = SocketClient(folder / "s")
    try:
        await host.start()
        yield LiveBench(
            rig,
            client,
            folder / "public.jsonl",
            restricted=folder / "restricted.jsonl",
            host=host.happen,
        )
    finally:
        await client.close()
        await host.stop()
        host.close()
        rig.stop()


async def play_through_daemon(
    scenario: Scenario, folder: Path
) -> tuple[list[Told], list[Told], str | None]:
    """The public and the restricted stream, and where the scenario got stuck."""
    stuck: str | None = None
    async with daemon_bench(scenario, folder) as bench:
        try:
            await ScenarioPlayer(scenario, bench).play()
        except Stuck as error:
            stuck = str(error)
    streams = [Stream(folder / f"{name}.jsonl") for name in ("public", "restricted")]
    for stream in streams:
        stream.read()
    return streams[0].told, streams[1].told, stuck


@contextmanager
def shoe_on_a_pty(folder: Path, *, seed: int) -> Iterator[Rig]:
    """A shoe in this loop, and a hand that draws when its lamp says so."""
    device = simulated_shoe("reference", seed=seed)
    dealer = dealer_for(device, Supply(DECKS["french52"], 8, 0, 0), pace_s=0.0)
    rig = Rig(device, PtyPort(str(folder / "shoe")), dealer)
    dealer.open_table(rig.now)
    rig.start()
    try:
        yield rig
    finally:
        rig.stop()


class SocketTable:
    """One evening at the table: the daemon, the shoe, and what the public was told."""

    def __init__(self, daemon: Daemon, rig: Rig, told: ToldEvents, caller: Caller) -> None:
        self.daemon = daemon
        self.rig = rig
        self.told = told
        self.caller = caller
        self.seen: list[dict[str, Any]] = []
        self._settled = 0

    async def status(self) -> dict[str, Any]:
        answer = await self.caller.asks(request="status")
        (held,) = answer["tables"]
        self.seen.append(held)
        return dict(held)

    async def deal(self, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Does what is next, and nothing else, until the table stands as wanted."""
        while True:
            before = len(self.told.events)
            held = await self.status()
            if until(held):
                return held
            due = held["next"]
            if due["command"] is None:
                await self._told_more(before)
                continue
            answer = await self.caller.gives(due["command"], args=due["args"])
            assert answer["accepted"], answer
            self._settled += due["command"] == "settle"

    async def _told_more(self, than: int) -> None:
        await self.told.until(lambda: len(self.told.events) > than)

    async def rounds(self, wanted: int) -> None:
        """Deals so many rounds, to the last one's payment and what the public was told of it."""
        await self.deal(lambda held: held["state"] == "idle" and self._settled >= wanted)
        await self.told.until(lambda: len(self.told.data("round.settled")) >= wanted)


@asynccontextmanager
async def at_socket_table(
    folder: Path, *, seed: int = 7, told: ToldEvents | None = None, **config: Any
) -> AsyncIterator[SocketTable]:
    told = ToldEvents() if told is None else told
    with shoe_on_a_pty(folder, seed=seed) as rig:
        async with serve_table(folder, rig, told, **config) as table:
            yield table


@asynccontextmanager
async def serve_table(
    folder: Path, rig: Rig, told: ToldEvents, vfs: str | None = None, **config: Any
) -> AsyncIterator[SocketTable]:
    """The daemon at this shoe; it may be served again after it was stopped."""
    path = write_socket_config(folder, **config)
    async with (
        serving(path, told, vfs=vfs) as daemon,
        calling(folder / "shoectl.sock", held=True) as caller,
    ):
        yield SocketTable(daemon, rig, told, caller)
