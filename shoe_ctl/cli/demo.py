"""``shoectl demo``: a simulated shoe in a process of its own, the real daemon, rounds as you watch.

In: a game, a seed, a profile. Out: rounds on the terminal (or events as JSON), a summary.
Must not know: the simulator's insides; it is a child process with a port.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import random
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from firmware_proto.profiles import PROFILES
from shoe_ctl.cli.common import (
    COLUMNS,
    WholeNumber,
    format_row,
    is_terminal,
    with_language,
    words_in,
)
from shoe_ctl.cli.help_language import said
from shoe_ctl.errors import (
    EnvironmentFault,
    InputRefused,
    JournalError,
    ShoeCtlError,
    UsageError,
)
from shoe_ctl.interruptions import undisturbed
from shoe_ctl.terminal_text import printable, wrap

if TYPE_CHECKING:
    from shoe_ctl.cli.demo_view import View
    from shoe_ctl.config.schema import Config

_TABLE = "demo"
_JOURNAL = "journal.db"
_INTERRUPTED = 130
_MOST_ROUNDS = 1_000_000
SHOE_ENDED = "the simulated shoe ended before all cards were dealt"
_ROUNDS_A_DECK = 7
"""Fewer rounds than any deck gives, so that enough shoes are provided for a number of rounds."""


@click.command
@click.option(
    "--game",
    metavar="G",
    default="tiger",
    show_default=True,
    help="A shipped game, or a game file.",
)
@click.option(
    "--rounds",
    metavar="N",
    type=WholeNumber(1, _MOST_ROUNDS),
    help="Stop after this many rounds.  [one shoe]",
)
@click.option(
    "--seed", metavar="N", type=WholeNumber(0), help="Deal the cards of this seed.  [random]"
)
@click.option(
    "--profile",
    metavar="P",
    default="reference",
    show_default=True,
    help=f"The shoe's protocol: {', '.join(PROFILES)}.",
)
@click.option(
    "--pace-ms",
    metavar="N",
    type=WholeNumber(0, 10_000),
    default=20,
    show_default=True,
    help="How long the dealer takes to draw a card, in milliseconds.",
)
@click.option("--scenario", metavar="NAME|FILE", help="Play one scenario instead of a shoe.")
@click.option("--scenarios", is_flag=True, help="List the scenarios.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write an HTML page about the scenario: its timeline, and what was expected.",
)
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write how the scenario went as JUnit XML.",
)
@click.option("--keep", is_flag=True, help="Keep the journal and print its path.")
@click.option(
    "--json", "as_json", is_flag=True, help="Write public events to stdout, one per line."
)
@with_language
def demo(  # noqa: PLR0913 - the options of the command line
    game: str,
    rounds: int | None,
    seed: int | None,
    profile: str,
    pace_ms: int,
    scenario: str | None,
    scenarios: bool,
    report: Path | None,
    junit: Path | None,
    keep: bool,
    as_json: bool,
    language: str | None,
) -> None:
    """Deal a simulated shoe to the end: real bytes, a real pty, the real daemon.

    Its files are removed at the end, also if it fails or is interrupted. With --keep its journal
    stays.

    \b
    Examples:
      shoectl demo --game fa_fa_fabulous_4 --rounds 10
      shoectl demo --rounds 10 --keep
      shoectl demo --scenario link_lost_resumes
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.cli.demo_view import JsonView, TextView
    from shoe_ctl.config.resolve import resolve
    from shoe_ctl.config.schema import parse

    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)
    if scenarios:
        _list_scenarios(as_json=as_json)
        return
    if scenario is not None:
        with _folder(shlex.join(("--scenario", scenario)), keep=keep) as folder:
            wanted = {"--report": report, "--junit": junit}
            _play(scenario, folder, wanted, pace_ms=pace_ms, as_json=as_json)
        if keep:
            click.echo(f"journal {folder / _JOURNAL}", err=True)
        return
    for name, given in (("report", report), ("junit", junit)):
        if given is not None:
            text = "--{name} needs --scenario: name the scenario."
            raise UsageError(said(text, name=name))
    seed = random.SystemRandom().getrandbits(32) if seed is None else seed
    plan = resolve(parse(_toml(game, profile, "journal.db", "pty"), "demo"))[0]
    deck, decks = plan.game.deck, plan.settings.decks
    words = words_in(language)
    view: View
    view = JsonView(rounds) if as_json else TextView(rounds, decks * len(deck.cards), words)
    shoes = 1 if rounds is None else 1 + rounds // (decks * _ROUNDS_A_DECK)
    again = _again(seed, game, profile, rounds)
    with _folder(again, keep=keep) as folder:
        journal = folder / _JOURNAL
        options = {
            "--profile": profile,
            "--port": f"pty:{journal.with_name('shoe')}",
            "--deck": deck.name,
            "--decks": str(decks),
            "--seed": str(seed),
            "--shoes": str(shoes),
            "--pace-ms": str(pace_ms),
        }
        speaks = plan.profile.CAPABILITIES.names_hands or plan.profile.CAPABILITIES.replay
        socket = str(journal.with_name("socket"))
        if not speaks:  # what such a shoe does not say, its dealer does
            options |= {"--socket": socket, "--table": _TABLE}
        with _simulated_shoe(options) as shoe, view:
            toml = _toml(game, profile, str(journal), shoe.port)
            config = parse(toml if speaks else toml + _way_in(socket), "demo")
            asyncio.run(_deal(config, view, shoe, stop_at_change=rounds is None))
        if view.halted:
            raise InputRefused(words("demo_halted", reason=view.halted))
    view.sum_up(journal=journal if keep else None, again=again)


def _again(seed: int, game: str, profile: str, rounds: int | None) -> str:
    """The options that deal the same cards again, those left out that say nothing new."""
    given = {"seed": seed, "game": game, "profile": profile, "rounds": rounds}
    usual = {option.name: option.default for option in demo.params}
    return shlex.join(
        word
        for name, value in given.items()
        if value is not None and value != usual[name]
        for word in (f"--{name}", str(value))
    )


@contextlib.contextmanager
def _folder(again: str, *, keep: bool) -> Iterator[Path]:
    """A folder of the demo's own, which goes however the demo ends, unless it is to be kept.

    ``again`` are the options that play the same once more.
    """
    with _ended_by_signals(), contextlib.ExitStack() as cleanup:
        with undisturbed():
            folder = Path(tempfile.mkdtemp(prefix="shoe-demo-"))
            cleanup.callback(_remove, folder, keep=keep)
        journal = folder / _JOURNAL
        hint = f"its journal: {journal}"
        if not keep:
            hint = f"to keep its journal: shoectl demo {again} --keep"
        try:
            yield folder
        except KeyboardInterrupt:
            told = f"interrupted; {hint}" if journal.exists() else "interrupted before it began"
            behind = "\n" if is_terminal() else ""  # the terminal shows ^C
            click.echo(f"{behind}{told}", err=True)
            raise click.exceptions.Exit(_INTERRUPTED) from None
        except (InputRefused, EnvironmentFault) as error:
            if journal.exists():
                raise type(error)(f"{error}; {hint}") from None
            raise


def _remove(folder: Path, *, keep: bool) -> None:
    """Remove the demo's folder; with ``keep`` only if it has no journal."""
    if not (keep and (folder / _JOURNAL).exists()):
        with undisturbed():
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM ends the body as `exit` does, so that it can clean up, and SIGHUP as SIGTERM does.

    SIGHUP stays ignored where it is, as under nohup.
    """

    def end(*_: object) -> None:
        sys.exit(0)

    def hang_up(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)  # the loop may have its own handler for it meanwhile

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGTERM, end)
    if before[1] != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, hang_up)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGHUP, before[1])


def _list_scenarios(*, as_json: bool) -> None:
    """The shipped scenarios, which only the simulators know."""
    listed = subprocess.run(
        [sys.executable, "-m", "simulators", "--scenarios"], stdout=subprocess.PIPE, check=False
    )
    if listed.returncode:
        raise EnvironmentFault("the scenarios cannot be listed: see the lines above")
    if as_json:
        click.echo(listed.stdout, nl=False)
        return
    found = [json.loads(line) for line in listed.stdout.splitlines()]
    width = max(len(one["name"]) for one in found)
    columns = shutil.get_terminal_size().columns if is_terminal() else None
    for name, title in (
        ("SCENARIO", "WHAT HAPPENS"),
        *((one["name"], one["title"]) for one in found),
    ):
        line = format_row((name, title), (width, 0))
        if columns is None:
            click.echo(line)
        else:
            rest = " " * (width + 2)
            click.echo("\n".join(wrap(line, max(columns, COLUMNS), rest=rest)))


def _play(
    scenario: str,
    folder: Path,
    reports: Mapping[str, Path | None],
    *,
    pace_ms: int,
    as_json: bool,
) -> None:
    """Play one scenario. ``reports`` are the options that name files about it.

    Raises:
        InputRefused: something else came of it than it expects.
    """
    from shoe_ctl.cli.demo_scenario import (
        SECOND_PERSONS,
        ScenarioClock,
        Shown,
        configuration,
        perform,
    )
    from shoe_ctl.cli.run import until_terminated
    from shoe_ctl.clock import SystemClock

    _refuse_what_it_says()
    options = {
        "--scenario": scenario,
        "--port": f"pty:{folder / 'shoe'}",
        "--socket": str(folder / "socket"),
        "--events": str(folder / "public.jsonl"),
        "--restricted": str(folder / "restricted.jsonl"),
        "--time": str(folder / "time"),
        "--pace-ms": str(pace_ms),
        **{option: str(file) for option, file in reports.items() if file is not None},
    }
    wrong: list[str | None] = []
    with _simulated_shoe(options) as shoe:
        people = tuple(dict.fromkeys((*SECOND_PERSONS, *shoe.told["people"])))
        config = configuration(shoe.told["table"], folder, people=people)

        async def playing() -> None:
            click.echo(shoe.told["title"], err=as_json)
            clock = ScenarioClock(folder / "time") if shoe.told["passes_time"] else SystemClock()
            wrong.append(await perform(config, shoe.alive, Shown(as_json=as_json), clock))

        asyncio.run(until_terminated(playing()))
    for text in wrong:
        click.echo("all came as expected" if text is None else text, err=True)
        if text is not None:
            raise InputRefused(f"{scenario}: not as expected")


def _refuse_what_it_says() -> None:
    """Refuse options that a scenario has already decided.

    Raises:
        UsageError: the first of them.
    """
    context = click.get_current_context()
    for name in ("game", "rounds", "seed", "profile"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(
                said(
                    "--{name} cannot be combined with --scenario: the scenario defines the {name}.",
                    name=name,
                )
            )


def _toml(game: str, profile: str, journal: str, port: str) -> bytes:
    """The demo's configuration, as an integrator would write it."""
    quote = json.dumps
    return f"""
[journal]
path = {quote(journal)}
[[table]]
id = "{_TABLE}"
game = {quote(str(Path(game).absolute()) if game.endswith(".toml") else game)}
announcements = "implied"
[table.method_b]
faces = "face_up"
face_up_after_ms = 0
[table.shoe]
profile = {quote(profile)}
port = {quote(port)}
""".encode()


def _way_in(path: str) -> bytes:
    """A socket for the dealer of a shoe that cannot speak for itself."""
    return f"""
[socket]
path = {json.dumps(path)}
[[socket.user]]
user = {os.getuid()}
position = "pit_supervisor"
""".encode()


@dataclass(frozen=True, slots=True)
class _Shoe:
    """The simulated shoe: the port to open, and what reads as ended once its process has.

    ``told`` is all that its first line told.
    """

    port: str
    alive: IO[bytes]
    told: dict[str, Any]


def _not_started(code: int, errors: IO[bytes]) -> ShoeCtlError:
    """Why the simulated shoe did not start, as its last line says.

    Where it names several mistakes of a scenario, those before the last one are printed here.
    """
    errors.seek(0)
    lines = errors.read().decode(errors="replace").splitlines() or ["it said nothing"]
    name = "python -m simulators: "
    named = [line.removeprefix(name) for line in lines if line.startswith(name)]
    *before, last = named or lines[-1:]
    for line in before:
        click.echo(f"shoectl: {printable(line)}", err=True)
    kinds: dict[int, type[ShoeCtlError]] = {1: InputRefused, 2: UsageError}
    if code in kinds:
        return kinds[code](last)
    return EnvironmentFault(f"the simulated shoe did not start: {last}")


@contextlib.contextmanager
def _simulated_shoe(options: dict[str, str]) -> Iterator[_Shoe]:
    """A simulated shoe as a child process; it ends with its stdin.

    Raises:
        ShoeCtlError: it did not start: for what it says, with its exit code.
    """
    words = [word for option in options.items() for word in option]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [sys.executable, "-m", "simulators", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        ) as child,
    ):
        assert child.stdin is not None and child.stdout is not None
        first = b""
        try:
            first = child.stdout.readline()
            if not first:
                raise _not_started(child.wait(), errors)
            told = json.loads(first)
            yield _Shoe(told["port"], child.stdout, told)
        finally:
            child.stdin.close()
            child.wait()
            errors.seek(0)
            if first:
                click.echo(errors.read(), err=True, nl=False)


async def _deal(config: Config, view: View, shoe: _Shoe, *, stop_at_change: bool) -> None:
    """Run the daemon until the view has seen what it waits for.

    Raises:
        EnvironmentFault: the simulated shoe ended before that, or nothing could be stored.
        BrokenPipeError: nobody reads what is shown any more.
    """
    from concurrent.futures import ThreadPoolExecutor

    from shoe_ctl.cli.run import host_boot, until_terminated
    from shoe_ctl.clock import SystemClock
    from shoe_ctl.daemon.daemon import Daemon
    from shoe_ctl.daemon.delivery import NamedSink
    from shoe_ctl.records import Audience

    seen_enough = asyncio.Event()
    loop = asyncio.get_running_loop()
    sink = _Watching(view.show, seen_enough.set, stop_at_change=stop_at_change)
    with ThreadPoolExecutor(thread_name_prefix="port") as executor:
        daemon = Daemon(
            config,
            clock=SystemClock(),
            executor=executor,
            host_boot=host_boot(),
            sinks=[NamedSink("demo", Audience.PUBLIC, sink)],
        )

        def shoe_ended() -> None:
            loop.remove_reader(shoe.alive)
            sink.fail(EnvironmentFault(SHOE_ENDED))

        def storage_failed(what: str) -> None:
            sink.fail(JournalError(what))

        async def until_seen() -> None:
            serving = asyncio.create_task(daemon.run(tell=storage_failed))
            enough = asyncio.create_task(seen_enough.wait())
            loop.add_reader(shoe.alive, shoe_ended)
            try:
                await asyncio.wait({serving, enough}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                loop.remove_reader(shoe.alive)
                enough.cancel()
                serving.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await serving

        try:
            await until_terminated(until_seen())
        except EnvironmentFault:
            # Without its shoe the daemon finds no port.
            if not select.select([shoe.alive], [], [], 0)[0]:
                raise
            raise EnvironmentFault(SHOE_ENDED) from None
    if sink.failure is not None:
        raise sink.failure


class _Watching:
    """A sink that shows each event and says when enough was seen."""

    def __init__(
        self,
        show: Callable[[dict[str, Any]], bool],
        enough: Callable[[], None],
        *,
        stop_at_change: bool,
    ) -> None:
        self._show = show
        self._enough = enough
        self._stop_at_change = stop_at_change
        self._over = False
        self.failure: Exception | None = None

    def fail(self, why: Exception) -> None:
        """End it for this reason; nothing more is shown."""
        if not self._over:
            self._over, self.failure = True, why
            self._enough()

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Show them, in order; what comes after the end is not shown."""
        try:
            self._show_all(events)
        except BrokenPipeError as gone:  # coming again would not help
            self.fail(gone)

    def _show_all(self, events: Sequence[bytes]) -> None:
        for body in events:
            if self._over:
                return
            event = json.loads(body)
            ends = self._show(event)
            halted = event["type"] == "table.halted"
            due = self._stop_at_change and event["type"] == "shoe.change_due"
            if ends or halted or due:
                self._over = True
                self._enough()
