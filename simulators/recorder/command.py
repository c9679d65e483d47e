"""``shoe-sim record``: make a scenario out of what happened at a table, and play it.

In: a command line. Out: a scenario's file, whether it plays as recorded, an exit code.
Must not know: how a scenario is made or played.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simulators.errors import PortFault, WrongUsage
from simulators.report.options import check_reports, report_options

if TYPE_CHECKING:
    from simulators.recorder.recording import Recording
    from simulators.recorder.scenario_file import RecordedScenario


@click.command(short_help="Make a scenario out of a table's journal.")
@click.argument("journal", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--table", metavar="ID", help="The table.  [the only one]")
@click.option("--shoe", metavar="ID", help="Only this shoe of it.  [all that the journal holds]")
@click.option("--round", "round_id", metavar="ID", help="Only this round.")
@click.option("--last", metavar="N", type=click.IntRange(1), help="Only the last N rounds.")
@click.option(
    "--live",
    type=click.Path(path_type=Path),
    metavar="SOCKET",
    help="Wait at the daemon's socket for the rounds that are played from now on, until Ctrl-C or "
    "for --last N of them, and record these.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The scenario's file.  [stdout]",
)
@click.option("--title", metavar="TEXT", help="The scenario's title.")
@click.option(
    "--names", is_flag=True, help="Keep the names of people; else each is given another one."
)
@report_options
def record(  # noqa: PLR0913 - the options of the command line
    journal: Path,
    table: str | None,
    shoe: str | None,
    round_id: str | None,
    last: int | None,
    live: Path | None,
    output: Path | None,
    title: str | None,
    names: bool,
    report: Path | None,
    junit: Path | None,
) -> int:
    """Make a scenario out of a table's journal, and play it to see that the same comes of it.

    JOURNAL is a journal, also while a daemon writes it, or an export of one. What a scenario
    cannot do again is named. The exit code is 0 if the scenario plays as recorded, 1 if it differs.

    \b
    Example:
      shoe-sim record journal.db --shoe bac-07-s1 -o night.toml
    """  # noqa: D301 - click wants the very character
    from simulators.recorder.journal import read_journal
    from simulators.recorder.names import Names
    from simulators.recorder.scenario_file import recorded_scenario

    check_reports(report, junit, many=False)
    if output is not None and not output.parent.is_dir():
        raise PortFault(f"{output}: there is no folder {output.parent}")
    if round_id is not None and (last is not None or live is not None):
        raise WrongUsage("--round cannot be combined with --last or --live: it names the round")
    rounds = [] if round_id is None else [round_id]
    if live is not None:
        table, rounds = _live_rounds(live, table, last)
    recording = read_journal(journal, table=table, shoe=shoe)
    if rounds:
        recording = _part(recording, rounds[0], rounds[-1])
    elif last is not None:
        recording = _last(recording, last)
    made = recorded_scenario(
        recording, title=title, names=Names(keep=names), shipped_games=_shipped_games()
    )
    _tell(recording, made)
    if output is not None:
        return _check(_written(made, output), report, junit)
    with tempfile.TemporaryDirectory(prefix="shoe-sim-") as folder:
        click.echo(made.text, nl=False)
        return _check(_written(made, Path(folder) / "recorded.toml"), report, junit)


def _live_rounds(socket: Path, table: str | None, count: int | None) -> tuple[str, list[str]]:
    from simulators.recorder.live import wait_for_rounds

    table, rounds = wait_for_rounds(socket, table, count, lambda words: click.echo(words, err=True))
    if not rounds:
        raise WrongUsage(f"--live: no round of {table} was played from beginning to end")
    return table, rounds


def _part(recording: Recording, first: str, last: str) -> Recording:
    from simulators.recorder.rounds import only_rounds

    return only_rounds(recording, first, last)


def _last(recording: Recording, count: int) -> Recording:
    from simulators.recorder.rounds import rounds_of

    rounds = rounds_of(recording)
    if not rounds:
        raise WrongUsage(f"--last: {recording.source} has no round")
    return _part(recording, rounds[-min(count, len(rounds))], rounds[-1])


def _shipped_games() -> list[str]:
    import json

    from simulators.shoectl import run_shoectl

    return [game["id"] for game in json.loads(run_shoectl("games", "--json"))]


def _tell(recording: Recording, made: RecordedScenario) -> None:
    events = [told.type for happened in recording.happened for told in happened.public]
    rounds = events.count("round.opened")
    click.echo(
        f"{recording.source}: {_number(rounds, 'round')}, {_number(len(events), 'public event')}",
        err=True,
    )
    for what in made.left_out:
        click.echo(f"not played again: {what}", err=True)


def _number(count: int, of: str) -> str:
    return f"{count} {of}{'' if count == 1 else 's'}"


def _written(made: RecordedScenario, file: Path) -> Path:
    from simulators.report.observations import write

    write(file, made.text)
    for name, source in made.files.items():
        write(file.with_name(name), source)
        click.echo(f"{file.with_name(name)}: the game that it is played with", err=True)
    return file


def _check(file: Path, report: Path | None, junit: Path | None) -> int:
    """Play the scenario and say whether it does what was recorded."""
    from simulators.report.files import write_reports
    from simulators.runs.runs import play_all

    (run,) = play_all([str(file.absolute())], pace_ms=0, jobs=1)  # in a thread: Ctrl-C ends it
    write_reports([run.report], report=report, junit=junit)
    if run.report.verdict == "passed":
        rows = len(run.report.public) + len(run.report.restricted or ())
        click.echo(f"{file.name} plays as recorded: {rows} events came again", err=True)
    else:
        click.echo(f"{file.name} does not play as recorded:\n{run.report.failure}", err=True)
    return run.exit_code
