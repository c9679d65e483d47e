"""Play one scenario through a daemon that runs already: a shoe on a port, bots at its socket.

In: a scenario, a port, the daemon's socket and its files of events. Out: what is done, in words,
what came otherwise than expected, and a report of it. Must not know: how the daemon is started.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simulators.control.changes import ShoeBench
from simulators.control.server import controlled
from simulators.errors import SimulatorError
from simulators.faults import Faults, FaultyLine
from simulators.ports.port import PortAt
from simulators.report.files import write_reports
from simulators.report.observations import Verdict
from simulators.report.observer import ObservedClient, ObservedPort, Observer, compared
from simulators.rig import Rig
from simulators.server import Server, port_at, signals, stdin_watched
from simulators.table.client import SocketClient
from simulators.table.live_bench import LiveBench, TableTime
from simulators.table.scenario import Scenario
from simulators.table.scenario_player import ScenarioPlayer, shoe_for

TOLD_WITHIN_S = 2.0
"""After the last step, until the last expected event."""

NOTHING_ELSE_S = 0.5
"""And then no other event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """A scenario to play, and where. ``patience_s`` bounds every wait, that for a daemon too."""

    scenario: Scenario
    port: PortAt
    socket: Path
    events: Path
    pace_ms: int
    patience_s: float
    control: Path | None = None
    """The socket at which changes are taken, which the scenario does not know of."""

    restricted: Path | None = None
    """The daemon's file of restricted events, to hold them to the scenario, too."""

    time: Path | None = None
    """The file in which the daemon reads how much time has passed, if it goes by that.

    It is written if the scenario itself says when time passes.
    """

    report: Path | None = None
    """A page to write about it; with .json at its end what was observed, as data."""

    junit: Path | None = None
    """JUnit XML to write about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Calls on progress: the port is open, each act in words, what happens around it, the end.

    ``host`` is given what happens around the daemon, and in which part, as in ``steps.HOST_DOES``.
    The end is what went otherwise than expected, or None.
    """

    opened: Callable[[Server], None]
    note: Callable[[str], None]
    host: Callable[[str, str], None]
    ended: Callable[[str | None], None]


def run_scenario(run: ScenarioRun, progress: Progress, *, until_stdin_ends: bool) -> int:
    """Play it; 0 when all came as expected, 1 when not, 130 after SIGINT.

    With ``until_stdin_ends`` the shoe stays until stdin has ended.

    Raises:
        simulators.errors.SimulatorError: the port or the events cannot be used.
    """
    return asyncio.run(_run(run, progress, until_stdin_ends))


async def _run(run: ScenarioRun, progress: Progress, until_stdin_ends: bool) -> int:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[int] = loop.create_future()
    async with contextlib.AsyncExitStack() as cleanup:
        cleanup.enter_context(signals(loop, done))
        device = shoe_for(run.scenario)
        observer = Observer(run.scenario)
        serial = device.shoe.device_id
        port = ObservedPort(cleanup.enter_context(port_at(run.port, serial=serial)), observer)
        seed = run.scenario.shoe.seed
        lines = FaultyLine(seed, Faults()), FaultyLine(seed + 1, Faults())
        rig = Rig(device, port, to_host=lines[0], to_shoe=lines[1])
        cleanup.callback(rig.stop)
        rig.start()
        if run.control is not None:
            await cleanup.enter_async_context(controlled(run.control, ShoeBench(rig, lines)))
        progress.opened(Server(rig.port.address, serial, rig.port.attachment))
        if until_stdin_ends:
            cleanup.enter_context(stdin_watched(loop, done))
        playing = asyncio.create_task(_play(run, rig, observer, progress))
        try:
            await asyncio.wait({playing, done}, return_when=asyncio.FIRST_COMPLETED)
            if done.done():
                return done.result()
            code = playing.result()
            if until_stdin_ends:
                await done
            return code
        finally:
            playing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await playing


async def _play(run: ScenarioRun, rig: Rig, observer: Observer, progress: Progress) -> int:
    client = ObservedClient(SocketClient(run.socket), observer)

    async def host(what: str, part: str) -> None:
        connected = rig.connections
        progress.host(what, part)
        if part == "host":
            await bench.in_time(lambda: rig.connections > connected, run.patience_s)

    goes_by_it = run.time is not None and run.scenario.passes_time
    bench = LiveBench(
        rig,
        client,
        run.events,
        host=host,
        restricted=run.restricted,
        time=TableTime(run.time) if run.time is not None and goes_by_it else None,
        pace_s=run.pace_ms / 1000,
        patience_s=run.patience_s,
        arrived=observer.arrived,
    )

    def note(words: str) -> None:
        observer.note(words)
        progress.note(words)

    wrong: str | None = "the playing was broken off"
    verdict: Verdict = "error"
    said: str | None = wrong
    try:
        try:
            await ScenarioPlayer(run.scenario, bench, note).play()
            wrong = None
        except SimulatorError as stuck:
            wrong = str(stuck)
            observer.waits_in_vain(wrong)
        finally:
            await client.close()
        differs = await _differences(run.scenario, bench)
        said = "\n".join(text for text in (wrong, differs) if text is not None) or None
        verdict = "passed" if said is None else "failed"
    finally:
        _write_reports(run, observer, bench, verdict, said)
    progress.ended(said)
    return 0 if said is None else 1


async def _differences(scenario: Scenario, bench: LiveBench) -> str | None:
    """Return what differs once all had time to come, and more than all."""

    def differences() -> str | None:
        return scenario.differences(bench.public, bench.restricted)

    await bench.in_time(lambda: differences() is None, TOLD_WITHIN_S)
    await asyncio.sleep(NOTHING_ELSE_S)
    return differences()


def _write_reports(
    run: ScenarioRun, observer: Observer, bench: LiveBench, verdict: Verdict, said: str | None
) -> None:
    if run.report is None and run.junit is None:
        return
    scenario = run.scenario
    restricted = bench.restricted
    report = observer.report(
        verdict,
        said,
        public=compared(scenario.expect, scenario.never, bench.public),
        restricted=None
        if restricted is None
        else compared(scenario.restricted, scenario.never, restricted),
    )
    write_reports([report], report=run.report, junit=run.junit)
