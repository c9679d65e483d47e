"""The options of a command that writes reports.

In: a command. Out: the command with the options, and a check of their values.
Must not know: what a report holds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from simulators.errors import PortFault, WrongUsage

DATA = ".json"
"""The end of a report's name that asks for its data."""

REPORT_OPTIONS = (
    click.option(
        "--report",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write a page about what was played: one HTML file. With .json at its end: the same "
        "as data, of one scenario.",
    ),
    click.option(
        "--junit",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write what was played as JUnit XML.",
    ),
)


def report_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of reports."""
    for option in reversed(REPORT_OPTIONS):
        command = option(command)
    return command


def check_reports(report: Path | None, junit: Path | None, *, many: bool) -> None:
    """Refuse reports that could not be written, before anything is played.

    Raises:
        WrongUsage: data of many scenarios, or one file for both. PortFault: there is no folder.
    """
    if report is not None and report.suffix == DATA and many:
        raise WrongUsage(f"--report {report}: data is of one scenario: name FILE.html for several")
    if report is not None and report == junit:
        raise WrongUsage(f"--report and --junit name the same file {report}: name two")
    for file in (report, junit):
        if file is not None and not file.parent.is_dir():
            raise PortFault(f"{file}: there is no folder {file.parent}")
