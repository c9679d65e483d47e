"""``shoe-sim run``: play scenarios, each through a daemon of its own, and report on them.

In: a command line. Out: a line for each scenario, reports, an exit code.
Must not know: how a scenario is played.
"""

from __future__ import annotations

from pathlib import Path

import click

from simulators.report.options import check_reports, report_options

_MOST_JOBS = 64


@click.command(short_help="Play scenarios, and report on them.")
@click.argument("scenarios", metavar="SCENARIO...", nargs=-1, required=True)
@report_options
@click.option(
    "--pace-ms",
    metavar="N",
    type=click.IntRange(0, 10_000),
    default=20,
    show_default=True,
    help="How long the hand takes to draw a card, in milliseconds.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1, _MOST_JOBS),
    default=1,
    show_default=True,
    help="How many scenarios are played at a time.",
)
def run(
    scenarios: tuple[str, ...], report: Path | None, junit: Path | None, pace_ms: int, jobs: int
) -> int:
    """Play scenarios, each through a separate daemon, which starts and ends with it.

    SCENARIO is a name, a file, or a folder of files. The exit code is 0 if all came as expected, 1
    if not, or if a scenario is wrong, 2 if there is none of a name. Ctrl-C ends it with the reports
    of those that were played.

    \b
    Example:
      shoe-sim run no_third_card --report night.html --junit night.xml
    """  # noqa: D301 - click wants the very character
    from simulators.report.files import write_reports
    from simulators.runs.runs import find_scenarios, play_all, tell_run

    names = find_scenarios(scenarios)
    check_reports(report, junit, many=len(names) > 1)
    runs = []
    try:
        for each in play_all(names, pace_ms=pace_ms, jobs=jobs):
            runs.append(each)
            tell_run(each, click.echo)
    except KeyboardInterrupt:
        if runs:
            write_reports([each.report for each in runs], report=report, junit=junit)
        click.echo(f"interrupted: {len(runs)} of {len(names)} scenarios were played", err=True)
        raise
    wrong = sum(each.report.verdict != "passed" for each in runs)
    if len(runs) > 1:
        end = "all as expected" if not wrong else f"{wrong} not as expected"
        click.echo(f"{len(runs)} scenarios, {end}")
    write_reports([each.report for each in runs], report=report, junit=junit)
    return max(each.exit_code for each in runs)
