"""The command ``shoe-sim``, and the options that the child mode of ``python -m simulators`` shares.

In: a command line. Out: an exit code, results on stdout, words for people on stderr.
Must not know: how a shoe is simulated; it imports that only when it serves one.
"""

from __future__ import annotations

import json
import math
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firmware_proto.cards import DECKS
from firmware_proto.profiles import PROFILES
from simulators.control.command import ctl
from simulators.errors import SimulatorError, WrongUsage
from simulators.faults import parse_faults
from simulators.floor.command import floor
from simulators.ports.port import PORT_FORMS, parse
from simulators.recorder.command import record
from simulators.report.options import REPORT_OPTIONS, check_reports
from simulators.runs.command import run as run_scenarios

if TYPE_CHECKING:
    from simulators.ports.port import Attachment
    from simulators.scenario_runner import ScenarioRun
    from simulators.server import Server, ServerSettings

_ENVIRONMENT = 3
_INTERRUPTED = 130
_MOST_SHOES = 1_000_000
_LONGEST_WORD = 300
_USBIP_PORT = 3240
_EVERYWHERE = ("0.0.0.0", "::")
_LONGEST_LINE = 200
_PATIENCE_S = 600.0  # a person may be starting the daemon, or starting it again


class _WholeNumber(click.IntRange):
    """A whole number in a range; an error calls it so."""

    name = "whole number"


class _Number(click.FloatRange):
    """A number in a range; an error calls it so."""

    name = "number"


_OPTIONS = (
    click.option(
        "--profile",
        type=click.Choice(PROFILES),
        help="The protocol of the shoe; a scenario defines its own.",
    ),
    click.option(
        "--port",
        required=True,
        metavar=PORT_FORMS,
        help="Where to serve the shoe: a pty, linked at LINK or in a private folder; a TCP server "
        "(port 0: any free one); or a USB device that a Linux host attaches by USB/IP, as a serial "
        "port or with :bulk as a bulk interface.",
    ),
    click.option(
        "--deck",
        type=click.Choice(list(DECKS)),
        default="french52",
        show_default=True,
        help="The kind of deck.",
    ),
    click.option(
        "--decks",
        metavar="N",
        type=_WholeNumber(1, 10),
        default=8,
        show_default=True,
        help="Decks in each set of cards.",
    ),
    click.option(
        "--seed",
        metavar="N",
        type=_WholeNumber(0),
        help="Shuffle the first set with this seed, the next one with seed + 1. The same seed "
        "gives the same cards.  [random]",
    ),
    click.option(
        "--shoes",
        metavar="N",
        type=_WholeNumber(1, _MOST_SHOES),
        default=1,
        show_default=True,
        help="How many sets of cards to deal, one after another.",
    ),
    click.option(
        "--pace-ms",
        metavar="N",
        type=_WholeNumber(0, 3_600_000),
        default=400,
        show_default=True,
        help="How long the dealer takes to draw a card, in milliseconds. A shoe that cannot be "
        "armed is dealt at this pace in any state of the table: give it at least the table's "
        "face_up_after_ms.",
    ),
    click.option(
        "--truth",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write what physically happened to FILE as JSON lines: each card, and each round as "
        "judged by the simulator.",
    ),
    click.option(
        "--key-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Authenticate as the first shoe in this key file; its lines are device id, key id, "
        "key.",
    ),
    click.option(
        "--faults",
        "--fault",
        "fault",
        metavar="NAME=RATE,...",
        help="Simulate a bad cable, in both directions. RATE is the part of chunks that are hit, "
        "0 to 1: split, merge, drop (some bytes lost), flip (one bit), repeat, delay (for up to "
        "delay_s=0.05 seconds), unplug.",
    ),
    click.option(
        "--control",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="SOCKET",
        help="Take changes of shoe-sim ctl at this Unix socket, while the shoe is served. Only its "
        "owner may connect.",
    ),
    click.option(
        "--scenario",
        metavar="NAME|FILE",
        help="Play this scenario: its shoe, and a dealer and pit who act through the daemon. "
        "Needs --socket and --events.",
    ),
    click.option(
        "--socket",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="The daemon's socket: for a scenario, or for the dealer of a bee_tek shoe, who enters "
        "what that shoe does not report.",
    ),
    click.option(
        "--table", metavar="ID", help="The table that this dealer serves. Needs --socket."
    ),
    click.option(
        "--events",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The file to which the daemon writes public events as JSON lines, for a scenario.",
    ),
    click.option(
        "--restricted",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The same of restricted events, for a scenario that names them.",
    ),
    *REPORT_OPTIONS,
)

_OPTION = {"fault": "faults", "key_file": "key-file"}
"""Names of options that differ from click's names of them."""

_OF_A_SCENARIO = ("socket", "events")
_NOT_OF_A_SCENARIO = (
    "profile", "deck", "decks", "seed", "shoes", "truth", "key_file", "table", "fault",
)  # fmt: skip


def shoe_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of a simulated shoe."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def server_settings(options: dict[str, Any]) -> ServerSettings:
    """Return the settings of the server that these options ask for.

    Raises:
        simulators.errors.WrongUsage: a port that cannot be understood, no profile, an option that
            only a scenario has a use for.
    """
    from simulators.server import ServerSettings, any_seed

    chosen = dict(options)
    del chosen["scenario"]
    fault = chosen.pop("fault")
    for name in ("events", "restricted", "report", "junit"):
        if chosen.pop(name) is not None:
            raise WrongUsage(f"--{name} needs --scenario: name the scenario")
    if (chosen["socket"] is None) != (chosen["table"] is None):
        raise WrongUsage("--socket and --table need each other: give both")
    if chosen["profile"] is None:
        raise WrongUsage(f"--profile is missing: give one of {', '.join(PROFILES)}")
    seed = any_seed() if chosen["seed"] is None else chosen["seed"]
    faults = None if fault is None else parse_faults(fault)
    return ServerSettings(
        **chosen | {"port": parse(chosen["port"]), "seed": seed, "faults": faults}
    )


def scenario_run(options: dict[str, Any], *, patience_s: float) -> ScenarioRun:
    """Return the playing of a scenario that these options ask for.

    Raises:
        simulators.errors.SimulatorError: no such scenario, a wrong file or port, an option that a
            scenario does not leave open or that it wants.
    """
    from simulators.scenario_runner import ScenarioRun
    from simulators.table.scenario import find

    context = click.get_current_context()
    for name in _NOT_OF_A_SCENARIO:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise WrongUsage(
                f"--{_OPTION.get(name, name)} cannot be combined with --scenario, which defines it"
            )
    for name in _OF_A_SCENARIO:
        if options[name] is None:
            raise WrongUsage(f"--{name} is missing: --scenario plays through a daemon and needs it")
    check_reports(options["report"], options["junit"], many=False)
    return ScenarioRun(
        scenario=find(options["scenario"]),
        port=parse(options["port"]),
        socket=options["socket"],
        events=options["events"],
        pace_ms=options["pace_ms"],
        patience_s=patience_s,
        control=options["control"],
        restricted=options["restricted"],
        report=options["report"],
        junit=options["junit"],
    )


def print_version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:  # noqa: ARG001 - click's signature
    """Print the version, and the commit of an unreleased one; then end."""
    if asked and not ctx.resilient_parsing:
        from firmware_proto.version import describe_version

        click.echo(f"shoe-sim, version {describe_version()}")
        ctx.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=print_version,
    help="Show the version and exit.",
)  # fmt: skip
def cli() -> None:
    """Simulate card-reading shoes for tests and benches.

    \b
    Examples:
      shoe-sim serve --profile reference --port pty:shoe
      shoe-sim play shoe.capture --port pty:shoe
      shoe-sim run no_third_card --report night.html --junit night.xml
      shoe-sim record journal.db --shoe bac-07-s1 -o night.toml
      shoe-sim ctl --at shoe.ctl unplug
      shoe-sim floor --tables 200 --pace 2 --config floor.toml
    """  # noqa: D301 - click wants the very character


@cli.command(short_help="Serve a simulated shoe on a pty, over TCP or as a USB device.")
@shoe_options
def serve(**options: Any) -> int:
    """Serve a simulated shoe on a pty, over TCP or as a USB device until Ctrl-C.

    The first line on stdout is the port for the daemon's configuration. A simulated dealer draws
    whenever the shoe is armed; a shoe that cannot be armed is dealt while the port is open. With
    --scenario the scenario's dealer and pit act; exit code 1 if the result is not as expected.

    SIGUSR1 unplugs the shoe, SIGUSR2 plugs it in again, with its cards and its memory.

    \b
    Examples:
      shoe-sim serve --profile reference --port pty:shoe
      shoe-sim serve --profile angel_eye --port tcp:127.0.0.1:0 --pace-ms 1500
      shoe-sim serve --profile bee_tek --port pty --faults drop=0.02,flip=0.01
      shoe-sim serve --profile reference --port usbip:127.0.0.1:3240
    """  # noqa: D301 - click wants the very character
    from simulators.server import serve as serve_shoe

    if options["scenario"] is not None:
        return _play(scenario_run(options, patience_s=_PATIENCE_S))
    settings = server_settings(options)

    def tell(serving: Server) -> None:
        click.echo(serving.address)
        click.echo(
            f"shoe {serving.device_id}: profile {settings.profile}, {settings.decks} decks of "
            f"{settings.deck}, seed {settings.seed}\n"
            f"{_how_to_attach(serving.attachment)}"
            "for the daemon's configuration:\n"
            f'  [table.shoe]\n  profile = "{settings.profile}"\n  port = "{serving.address}"\n'
            f"unplug the shoe with: kill -USR1 {os.getpid()}\n"
            f"plug it in again with: kill -USR2 {os.getpid()}\n"
            f"{_how_to_change(settings.control)}"
            "stop with Ctrl-C",
            err=True,
        )

    def note(plugged: bool) -> None:
        click.echo("plugged in" if plugged else "unplugged", err=True)

    def count(faults: Mapping[str, int]) -> None:
        if settings.faults is not None or any(faults.values()):
            told = ", ".join(f"{name} {times}" for name, times in faults.items() if times)
            click.echo(f"faults of the line: {told or 'none occurred'}", err=True)

    return serve_shoe(settings, opened=tell, until_stdin_ends=False, struck=count, plugged=note)


cli.add_command(ctl)
cli.add_command(floor)
cli.add_command(run_scenarios)
cli.add_command(record)


def _how_to_attach(attachment: Attachment | None) -> str:
    """Return the command that attaches a USB device; empty if there is none."""
    if attachment is None:
        return ""
    port = "" if attachment.port == _USBIP_PORT else f" --tcp-port {attachment.port}"
    host = socket.gethostname() if attachment.host in _EVERYWHERE else attachment.host
    return (
        "attach it on the host, as root: modprobe vhci-hcd; "
        f"usbip{port} attach -r {host} -b {attachment.bus_id}\n"
    )


def _how_to_change(control: Path | None) -> str:
    return "" if control is None else f"change it with: shoe-sim ctl --at {control} --help\n"


@cli.command(short_help="Play back a capture: the same bytes and pauses.")
@click.option(
    "--port",
    required=True,
    metavar=PORT_FORMS,
    help="Where to play it: a pty, linked at LINK or in a private folder, a TCP server (port 0: "
    "any free one), or a USB device that a Linux host attaches by USB/IP.",
)
@click.option(
    "--speed",
    metavar="N",
    type=_Number(0.01, 1000.0),
    default=1.0,
    show_default=True,
    help="Play this many times faster: 2 halves the pauses.",
)
@click.argument("capture", type=click.Path(dir_okay=False, path_type=Path))
def play(port: str, speed: float, capture: Path) -> int:
    """Play back a capture of shoectl capture: the same bytes, pauses and losses.

    The first line on stdout is the port for the daemon's configuration. Playback starts when a host
    opens the port and ends one second after the last byte. What the host sends is ignored.

    \b
    Example:
      shoe-sim play shoe.capture --port pty:shoe
    """  # noqa: D301 - click wants the very character
    from simulators.capture_player import play as play_capture
    from simulators.capture_player import recording

    if math.isnan(speed):  # it is no less than the least and no more than the most
        raise WrongUsage("--speed: expected a number from 0.01 to 1000")
    at = parse(port)

    def opened(address: str, attachment: Attachment | None) -> None:
        told = found.header
        click.echo(address)
        click.echo(
            f"{_how_to_attach(attachment)}"
            f"profile {_visible(told.profile)}, {found.shoe_bytes} bytes of the shoe, captured at "
            f"{_visible(told.port)} on {_visible(told.started)}\nstop with Ctrl-C",
            err=True,
        )

    try:
        with recording(capture) as found:
            return play_capture(found, at, speed=speed, opened=opened)
    except KeyboardInterrupt:  # it is read to its end before the port is there
        click.echo(f"interrupted while {capture} was read", err=True)
        return _INTERRUPTED


def _visible(text: str) -> str:
    """Return a text out of a file as a terminal may be given it."""
    return "".join(c if c.isprintable() else "?" for c in text)[:_LONGEST_LINE]


def _play(scene: ScenarioRun) -> int:
    """Play a scenario for a person, who runs the daemon."""
    from simulators.scenario_runner import Progress, run_scenario
    from simulators.table.scenario import configured

    def opened(serving: Server) -> None:
        click.echo(serving.address)
        click.echo(_how_to_attach(serving.attachment), err=True, nl=False)
        click.echo(f"{scene.scenario.title}\nthe daemon's table:", err=True)
        click.echo(_as_toml(configured(scene.scenario, serving.address)), err=True)
        click.echo(_how_to_change(scene.control), err=True, nl=False)

    def host(what: str, part: str) -> None:
        words = f"let the daemon's {part} {what} now"
        click.echo(f"{what} the daemon's host now" if part == "host" else words, err=True)

    def ended(wrong: str | None) -> None:
        click.echo("all came as expected" if wrong is None else wrong, err=True)

    def note(words: str) -> None:
        click.echo(words, err=True)

    return run_scenario(
        scene, Progress(opened=opened, note=note, host=host, ended=ended), until_stdin_ends=False
    )


def _as_toml(table: dict[str, Any]) -> str:
    """Return a table of a configuration file, as a person would add it to theirs."""
    return "\n".join(("[[table]]", *(f"{key} = {_value(value)}" for key, value in table.items())))


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)  # texts, numbers, flags and their lists are written alike in both


def _one_line(text: str) -> str:
    """Return what is wrong, without what a long name or value in it would hide."""
    half = _LONGEST_WORD // 2
    return " ".join(
        word if len(word) <= _LONGEST_WORD else f"{word[:half]}...{word[-half:]}"
        for word in text.split()
    )


def run(command: click.Command, name: str) -> int:
    """Run a command; whatever goes wrong is a line on stderr, with each mistake of a file its own.

    Returns:
        The exit code.
    """
    try:
        code = command.main(prog_name=name, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as no_args:
        click.echo(no_args.format_message(), err=True)
        return no_args.exit_code
    except click.ClickException as wrong:
        text = _one_line(wrong.format_message())
        if isinstance(wrong, click.UsageError) and wrong.ctx is not None:
            text = f"{text.rstrip('.')} (see: {wrong.ctx.command_path} --help)"
        click.echo(f"{name}: {text}", err=True)
        return wrong.exit_code
    except SimulatorError as error:
        for line in error.lines:
            click.echo(f"{name}: {_one_line(line)}", err=True)
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
