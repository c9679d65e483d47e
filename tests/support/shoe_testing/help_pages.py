"""Every help of both programs, and the examples in it as a person copies them.

In: the click commands. Out: the words that name each command, its help, its examples.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
from click.testing import CliRunner

from shoe_ctl.cli.main import shoectl
from simulators.cli import cli as shoe_sim

WIDTH = 80
PROGRAMS: dict[str, click.Command] = {"shoectl": shoectl, "shoe-sim": shoe_sim}


def commands() -> list[tuple[str, ...]]:
    """The words that name each command: ``("shoectl", "table", "expose")``."""
    return [words for name, program in PROGRAMS.items() for words in _below(program, (name,))]


def _below(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=words[-1])
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _below(below, (*words, name))


def help_of(words: tuple[str, ...]) -> list[str]:
    """The lines of this command's help, as a terminal of 80 columns shows them."""
    program, *rest = words
    shown = CliRunner().invoke(
        PROGRAMS[program], [*rest, "--help"], prog_name=program, terminal_width=WIDTH
    )
    assert shown.exit_code == 0, shown.output
    return shown.output.splitlines()


def examples(words: tuple[str, ...]) -> list[str]:
    """The examples in this help; what is broken into several lines is given so."""
    found: list[str] = []
    inside = False
    for line in help_of(words):
        if line in ("  Example:", "  Examples:"):
            inside = True
        elif not line.startswith("    "):
            inside = False
        elif inside and found and found[-1].endswith("\\"):
            found[-1] += f"\n{line}"
        elif inside:
            found.append(line.strip())
    return found
