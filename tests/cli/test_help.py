"""What a person reads who asks a command for help."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from shoe_ctl.cli.main import COMMANDS, shoectl
from simulators.cli import cli as shoe_sim


def help_of(*words: str) -> list[str]:
    said = CliRunner().invoke(shoectl, [*words, "--help"], prog_name="shoectl", terminal_width=80)
    assert said.exit_code == 0, said.output
    return said.output.splitlines()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_an_example_in_its_help(command: str) -> None:
    lines = help_of(command)
    # one line of its own, whole, that can be copied: not run into the text around it
    assert any(
        re.match(rf"  (Example: )?(\S.* \| )?shoectl {command}( |$)", line) for line in lines[1:]
    )


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_eighty_columns_and_is_free_of_control_characters(command: str) -> None:
    for line in help_of(*command.split()):
        assert len(line) <= 80
        assert line.isprintable()
        assert "\\b" not in line


@pytest.mark.parametrize("command", ["", "serve", "play"])
def test_the_simulated_shoes_help_shows_an_example_and_fits_eighty_columns(command: str) -> None:
    words = [*command.split(), "-h"]
    said = CliRunner().invoke(shoe_sim, words, prog_name="shoe-sim", terminal_width=80)
    lines = said.output.splitlines()
    example = re.compile(rf"  (Example: )?shoe-sim {command or 'serve'} ")
    assert any(map(example.match, lines[1:]))
    assert all(len(line) <= 80 and line.isprintable() for line in lines)
    assert "..." not in said.output.partition("Commands:")[2]
