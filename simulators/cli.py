"""The command ``shoe-sim``, and the options that the child mode of ``python -m simulators`` shares.

In: a command line. Out: an exit code, results on stdout, words for people on stderr.
Must not know: how a shoe is simulated; it imports that only when it serves one.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firmware_proto.cards import DECKS
from firmware_proto.profiles import PROFILES
from simulators.errors import SimulatorError, WrongUsage
from simulators.faults import parse_faults
from simulators.ports.port import parse

if TYPE_CHECKING:
    from simulators.scenario_runner import ScenarioRun
    from simulators.server import Server, ServerSettings

_ENVIRONMENT = 3
_INTERRUPTED = 130
_MOST_SHOES = 1_000_000
_LONGEST_WORD = 300
_LONGEST_LINE = 200
_PATIENCE_S = 600.0  # a person may be starting the daemon, or starting it again

_OPTIONS = (
    click.option(
        "--profile",
        type=click.Choice(PROFILES),
        help="The protocol that the shoe speaks; a scenario names its own.",
    ),
    click.option(
        "--port",
        required=True,
        metavar="pty[:LINK]|tcp:HOST:PORT",
        help="A pty, under the name LINK or one in a private folder, or a TCP server (port 0: a "
        "free one).",
    ),
    click.option("--deck", type=click.Choice(list(DECKS)), default="french52", show_default=True),
    click.option(
        "--decks",
        type=click.IntRange(1, 10),
        default=8,
        show_default=True,
        help="Decks in a set of cards.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        help="Shuffles the first set, seed + 1 the next; the same seed gives the same cards.",
    ),
    click.option(
        "--shoes",
        type=click.IntRange(1, _MOST_SHOES),
        default=1,
        show_default=True,
        help="Sets of cards to deal, one after the other.",
    ),
    click.option(
        "--pace-ms",
        type=click.IntRange(0, 3_600_000),
        default=400,
        show_default=True,
        help="How long the dealer takes to draw a card. A shoe that cannot be armed is dealt "
        "at this pace whatever the table does: give it no less than the table's "
        "face_up_after_ms.",
    ),
    click.option(
        "--truth",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Writes what physically happened as JSON lines: each card, and each round as the "
        "simulator's own judge sees it.",
    ),
    click.option(
        "--key-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Be the first shoe of this file of keys, and prove it; lines of device id, key id, "
        "key.",
    ),
    click.option(
        "--fault",
        metavar="NAME=RATE,...",
        help="A bad cable, both ways, so often a chunk of bytes: split, merge, drop (some of its "
        "bytes), flip (a bit), repeat, delay (delay_s=0.05 s at most), unplug.",
    ),
    click.option(
        "--scenario",
        metavar="NAME|FILE",
        help="Plays this scenario: its shoe, and dealer and pit who act through the daemon. "
        "Wants --socket and --events.",
    ),
    click.option(
        "--socket",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="Where the daemon takes commands: for a scenario, or for the dealer of a bee_tek "
        "shoe, who tells the table what that shoe does not.",
    ),
    click.option("--table", metavar="ID", help="Which table that dealer tells; wants --socket."),
    click.option(
        "--events",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Where the daemon writes its public events as JSON lines, for a scenario.",
    ),
)

_OF_A_SCENARIO = ("socket", "events")
_NOT_OF_A_SCENARIO = (
    "profile", "deck", "decks", "seed", "shoes", "truth", "key_file", "table", "fault",
)  # fmt: skip


def shoe_options(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the options of a simulated shoe."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def choices_of(options: dict[str, Any]) -> ServerSettings:
    """The options as ``serving`` takes them.

    Raises:
        simulators.errors.WrongUsage: a port that cannot be understood, no profile, an option that
            only a scenario has a use for.
    """
    from simulators.server import ServerSettings, any_seed

    chosen = dict(options)
    del chosen["scenario"]
    fault = chosen.pop("fault")
    if chosen.pop("events") is not None:
        raise WrongUsage("--events is for a scenario: name it with --scenario")
    if (chosen["socket"] is None) != (chosen["table"] is None):
        raise WrongUsage("--socket and --table go together: where the dealer tells which table")
    if chosen["profile"] is None:
        raise WrongUsage(f"--profile is missing: {' or '.join(PROFILES)}")
    seed = any_seed() if chosen["seed"] is None else chosen["seed"]
    faults = None if fault is None else parse_faults(fault)
    return ServerSettings(
        **chosen | {"port": parse(chosen["port"]), "seed": seed, "faults": faults}
    )


def scene_of(options: dict[str, Any], *, patience_s: float) -> ScenarioRun:
    """The options as ``performing`` takes them.

    Raises:
        simulators.errors.SimulatorError: no such scenario, a wrong file or port, an option that a
            scenario does not leave open or that it wants.
    """
    from simulators.scenario_runner import ScenarioRun
    from simulators.table.scenario import find

    context = click.get_current_context()
    for name in _NOT_OF_A_SCENARIO:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise WrongUsage(f"--{name}: the scenario says it")
    for name in _OF_A_SCENARIO:
        if options[name] is None:
            raise WrongUsage(f"--{name} is missing: a scenario is played through a daemon")
    return ScenarioRun(
        scenario=find(options["scenario"]),
        port=parse(options["port"]),
        socket=options["socket"],
        events=options["events"],
        pace_ms=options["pace_ms"],
        patience_s=patience_s,
    )


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="shoe-ctl", prog_name="shoe-sim")
def cli() -> None:
    """Simulated card-reading shoes for tests and benches.

    Example: shoe-sim serve --profile reference --port pty:/tmp/shoe
    """


@cli.command(short_help="Serve a simulated shoe on a port of its own.")
@shoe_options
def serve(**options: Any) -> int:
    """Serve a simulated shoe on a port of its own until Ctrl-C.

    The first line on stdout is the port to give to a daemon. A dealer draws whenever the shoe is
    armed; a shoe that cannot be armed is dealt while a host has the port open. With --scenario it
    is dealt, and the table run, as that says; exit code 1 if something else came of it.

    \b
    shoe-sim serve --profile reference --port pty:/tmp/shoe
    shoe-sim serve --profile angel_eye --port tcp:127.0.0.1:4001 --pace-ms 1500
    shoe-sim serve --profile reference --port pty --fault drop=0.02,flip=0.01
    """  # noqa: D301 - click wants the very character
    from simulators.server import serve as serve_shoe

    if options["scenario"] is not None:
        return _play(scene_of(options, patience_s=_PATIENCE_S))
    choices = choices_of(options)

    def tell(serving: Server) -> None:
        click.echo(serving.address)
        click.echo(
            f"shoe {serving.device_id}: profile {choices.profile}, {choices.decks} decks of "
            f"{choices.deck}, seed {choices.seed}\n"
            "point a daemon to it in its configuration:\n"
            f'  [table.shoe]\n  profile = "{choices.profile}"\n  port = "{serving.address}"\n'
            "Ctrl-C ends it",
            err=True,
        )

    def count(faults: Mapping[str, int]) -> None:
        if choices.faults is not None:
            told = ", ".join(f"{name} {times}" for name, times in faults.items() if times)
            click.echo(f"faults of the line: {told or 'none struck'}", err=True)

    return serve_shoe(choices, opened=tell, until_stdin_ends=False, struck=count)


@cli.command(short_help="Play a capture back: the same bytes and pauses.")
@click.option(
    "--port",
    required=True,
    metavar="pty[:LINK]|tcp:HOST:PORT",
    help="A pty, under the name LINK or one in a private folder, or a TCP server (port 0: a free "
    "one).",
)
@click.option(
    "--speed",
    type=click.FloatRange(0.01, 1000.0),
    default=1.0,
    show_default=True,
    help="2 halves the pauses.",
)
@click.argument("capture", type=click.Path(dir_okay=False, path_type=Path))
def play(port: str, speed: float, capture: Path) -> int:
    """Play a capture of `shoectl capture` back: the same bytes, the same pauses, the same losses.

    The first line on stdout is the port to give to a daemon. It begins when a host opens the port,
    and ends a second after the last byte; what the host says is not listened to.

    Example: shoe-sim play shoe.capture --port pty:/tmp/shoe
    """
    from simulators.capture_player import play as play_capture
    from simulators.capture_player import recording

    if math.isnan(speed):  # it is no less than the least and no more than the most
        raise WrongUsage("--speed: expected a number from 0.01 to 1000")
    at = parse(port)

    def opened(address: str) -> None:
        told = found.header
        click.echo(address)
        click.echo(
            f"profile {_visible(told.profile)}, {found.shoe_bytes} bytes of the shoe, captured at "
            f"{_visible(told.port)} on {_visible(told.started)}\nCtrl-C ends it",
            err=True,
        )

    try:
        with recording(capture) as found:
            return play_capture(found, at, speed=speed, opened=opened)
    except KeyboardInterrupt:  # it is read to its end before the port is there
        click.echo(f"interrupted while {capture} was read", err=True)
        return _INTERRUPTED


def _visible(text: str) -> str:
    """A text out of a file as a terminal may be given it."""
    return "".join(c if c.isprintable() else "?" for c in text)[:_LONGEST_LINE]


def _play(scene: ScenarioRun) -> int:
    """Plays a scenario for a person, who runs the daemon."""
    from simulators.scenario_runner import Progress, run_scenario
    from simulators.table.scenario import configured

    def opened(serving: Server) -> None:
        click.echo(serving.address)
        click.echo(f"{scene.scenario.title}\nthe daemon's table:", err=True)
        click.echo(_as_toml(configured(scene.scenario, serving.address)), err=True)

    def host(what: str) -> None:
        click.echo(f"{what} the daemon's host now", err=True)

    def ended(wrong: str | None) -> None:
        click.echo("all came as expected" if wrong is None else wrong, err=True)

    def note(words: str) -> None:
        click.echo(words, err=True)

    return run_scenario(
        scene, Progress(opened=opened, note=note, host=host, ended=ended), until_stdin_ends=False
    )


def _as_toml(table: dict[str, Any]) -> str:
    """A table of a configuration file, as a person would add it to theirs."""
    return "\n".join(("[[table]]", *(f"{key} = {_value(value)}" for key, value in table.items())))


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)  # texts, numbers, flags and their lists are written alike in both


def _one_line(text: str) -> str:
    """What is wrong, without what a long name or value in it would hide."""
    half = _LONGEST_WORD // 2
    return " ".join(
        word if len(word) <= _LONGEST_WORD else f"{word[:half]}...{word[-half:]}"
        for word in text.split()
    )


def run(command: click.Command, name: str) -> int:
    """Runs a command; whatever goes wrong is one line on stderr and an exit code."""
    try:
        code = command.main(prog_name=name, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as no_args:
        click.echo(no_args.format_message(), err=True)
        return no_args.exit_code
    except click.ClickException as wrong:
        click.echo(f"{name}: {_one_line(wrong.format_message())}", err=True)
        return wrong.exit_code
    except SimulatorError as error:
        click.echo(f"{name}: {_one_line(str(error))}", err=True)
        return error.exit_code
    except OSError as error:  # stdout or stderr cannot be written
        click.echo(f"{name}: {error.strerror}", err=True)
        return _ENVIRONMENT
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    return int(code or 0)


def main() -> None:
    """The entry point of ``shoe-sim``."""
    sys.exit(run(cli, "shoe-sim"))
