"""``shoe-sim floor``: put load on a daemon, with many simulated tables.

In: a command line. Out: the daemon's configuration, a report in words or JSON, an exit code.
Must not know: how a shoe is simulated.
"""

from __future__ import annotations

import json
import math
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firmware_proto.cards import DECKS
from simulators.errors import WrongUsage
from simulators.ports.port import TcpAt, parse

if TYPE_CHECKING:
    from simulators.floor.load import Load

_MOST_TABLES = 10_000
_LONGEST_S = 1_000_000.0
_HIGHEST_PORT = 65535
_FAILED = 1
_INTERRUPTED = 130


class _Seconds(click.FloatRange):
    """Seconds in a range; NaN is in none."""

    name = "number of seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return number


@click.command(short_help="Load a daemon with many simulated tables over TCP.")
@click.option(
    "--tables",
    metavar="N",
    type=click.IntRange(1, _MOST_TABLES),
    default=100,
    show_default=True,
    help="How many tables. Each has one shoe.",
)
@click.option(
    "--pace",
    "pace_s",
    metavar="S",
    type=_Seconds(0.01, 3600.0),
    default=2.0,
    show_default=True,
    help="Seconds from card to card at each table. The tables draw one after the other, spread "
    "evenly.",
)
@click.option(
    "--port",
    metavar="tcp:HOST:PORT",
    default="tcp:127.0.0.1:0",
    show_default=True,
    help="Where the first table listens; each next one has the next port. Port 0: any free ones.",
)
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the daemon's configuration for these tables to FILE, for shoectl run. Its journal "
    "is a new file beside it.",
)
@click.option(
    "--for",
    "for_s",
    metavar="S",
    type=_Seconds(0.1, _LONGEST_S),
    help="Measure for so many seconds.  [until Ctrl-C]",
)
@click.option(
    "--warm-up",
    "warm_up_s",
    metavar="S",
    type=_Seconds(0.0, 3600.0),
    default=0.0,
    show_default=True,
    help="Deal for so many seconds before measuring.",
)
@click.option(
    "--wait",
    "wait_s",
    metavar="S",
    type=_Seconds(0.0, _LONGEST_S),
    default=60.0,
    show_default=True,
    help="Begin so many seconds after the daemon opened the first port, even if not every shoe is "
    "armed. Tables that come later join in.",
)
@click.option(
    "--game",
    metavar="ID",
    default="tiger",
    show_default=True,
    help="The game of the tables in FILE (see: shoectl games).",
)
@click.option(
    "--deck",
    type=click.Choice(list(DECKS)),
    default="french52",
    show_default=True,
    help="The kind of deck.",
)
@click.option(
    "--decks",
    metavar="N",
    type=click.IntRange(1, 10),
    default=8,
    show_default=True,
    help="Decks in each set of cards.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0),
    help="Shuffle the first table's first set with this seed, the next table's with seed + 1, and "
    "so on; after the last table's, the second sets. The same seed gives the same cards.  [random]",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON lines: once the ports are open, once dealing begins, once it has been "
    "measured, and the report.",
)
def floor(as_json: bool, config: Path | None, port: str, game: str, **options: Any) -> int:
    """Load a daemon with many simulated tables, and report how late it was.

    Each table is a shoe at a TCP port and a hand that draws a card at its pace, once the daemon has
    armed the shoe. Measured is the time from a card's bytes until the daemon acknowledges that the
    card is stored. Start the daemon with the configuration that this command writes; dealing begins
    when every shoe is armed. Ctrl-C ends it at once with the report of what was until then; SIGTERM
    ends the measuring as --for does. Exit code 1: no card was measured, or one not acknowledged, or
    a table not connected, or never armed.

    \b
    Examples:
      shoe-sim floor --tables 200 --pace 2 --for 60 --config floor.toml
      shoectl run --config floor.toml
    """  # noqa: D301 - click wants the very character
    from simulators.floor import configuration, report
    from simulators.floor.load import FloorSettings, Load, Stopped
    from simulators.server import any_seed

    at = _tcp(port, options["tables"], config)
    if config is not None:
        configuration.check_writable(config)
    if options["seed"] is None:
        options["seed"] = any_seed()
    shown = _Line()
    load = Load(
        FloorSettings(**options, host=at.host, port=at.port),
        progress=lambda: shown.show(_progress(load)),
    )
    interrupted = False
    with load.opened():
        if config is not None:
            configuration.write(
                config,
                load.tables,
                game=game,
                decks=options["decks"],
                run=load.run,
            )
        _stage("opened", as_json, **_opened(load, config))
        try:
            load.wait_for_host()
            _stage("began", as_json)
            load.deal()
            load.measure()
            _stage("measured", as_json)
            load.wait_for_last()
        except Stopped as stopped:
            interrupted = stopped.number is signal.SIGINT
        finally:
            shown.show("")
        found = report.as_json(load)
    if as_json:
        _stage("ended", as_json, **found)
    else:
        click.echo("\n".join(report.in_words(found)))
    if interrupted:
        return _INTERRUPTED
    return _FAILED if load.failed else 0


def _tcp(text: str, tables: int, config: Path | None) -> TcpAt:
    """Return the address of the first table.

    Raises:
        WrongUsage: it is no TCP address, there are too few ports behind it, or the ports are free
            ones and no configuration would name them.
    """
    try:
        at = parse(text)
    except WrongUsage:
        at = None
    if not isinstance(at, TcpAt):
        raise WrongUsage(f"--port {text!r}: expected tcp:HOST:PORT")
    if at.port + tables - 1 > _HIGHEST_PORT:
        raise WrongUsage(
            f"--port {text!r}: {tables:,} tables need ports up to {at.port + tables - 1}, and the "
            f"highest is {_HIGHEST_PORT}"
        )
    if not at.port and config is None:
        raise WrongUsage(
            "--config is missing: no daemon would know the free ports; give it, or a --port"
        )
    return at


def _stage(name: str, as_json: bool, **what: Any) -> None:
    """Print the stage for programs; for people, only what to do once the ports are open."""
    if as_json:
        click.echo(json.dumps({"stage": name, **what}))
    elif name == "opened":
        config = what["config"]
        click.echo(
            f"{what['tables']:,} tables from {what['first']} to {what['last']}, seed "
            f"{what['seed']}",
            err=True,
        )
        start = "a daemon" if config is None else f"the daemon: shoectl run --config {config}"
        click.echo(f"start {start}\nstop with Ctrl-C", err=True)


def _opened(load: Load, config: Path | None) -> dict[str, Any]:
    return {
        "tables": len(load.tables),
        "first": load.tables[0].address,
        "last": load.tables[-1].address,
        "config": None if config is None else str(config),
        "seed": load.settings.seed,
        "pace_s": load.settings.pace_s,
    }


def _progress(load: Load) -> str:
    if load.stage == "waiting":
        armed = sum(table.armed for table in load.tables)
        return f"{armed:,} of {len(load.tables):,} shoes armed"
    left = "" if load.seconds_left is None else f", {load.seconds_left:.0f} s left"
    return f"{load.stage}: {load.drawn:,} cards{left}"


class _Line:
    """A line on a terminal that is written over; elsewhere nothing is written."""

    def __init__(self) -> None:
        self.show: Callable[[str], None] = self._write if sys.stderr.isatty() else lambda _: None

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
