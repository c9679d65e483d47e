"""What a person reads who asks a command for help."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from shoe_ctl.cli.main import COMMANDS, shoectl
from shoe_ctl.cli.table_pages import PAGES
from shoe_testing.cli import HELP_WIDTH, PROGRAM_COMMANDS, all_commands, help_examples, help_of
from simulators.control.changes import CHANGES

EACH = pytest.mark.parametrize("words", all_commands(), ids=" ".join)


def test_every_command_is_looked_at() -> None:
    of_shoectl, of_shoe_sim = 2 + len(COMMANDS) + len(PAGES), 8 + len(CHANGES)
    assert len(all_commands()) == of_shoectl + of_shoe_sim


@EACH
def test_help_has_an_example_of_the_command_on_lines_of_its_own(words: tuple[str, ...]) -> None:
    command = " ".join(words)
    shown = help_examples(words)
    assert any(re.match(rf"(.* \| )?{command}( |$)", example) for example in shown)


@EACH
def test_help_fits_eighty_columns_and_is_free_of_control_characters(words: tuple[str, ...]) -> None:
    for line in help_of(words):
        assert len(line) <= HELP_WIDTH
        assert line.isprintable()
        assert "\\b" not in line


@EACH
def test_help_begins_with_a_verb_and_every_option_says_what_it_does(words: tuple[str, ...]) -> None:
    lines = help_of(words)
    first = lines[lines.index("") + 1].split()[0]
    assert first[0].isupper() and first not in {"What", "Which", "Whether", "Who", "How", "The"}
    shown = "\n".join(lines)
    options = shown.partition("\nOptions:\n")[2].partition("\n\n")[0]
    assert options
    for option in re.findall(r"^  -.*(?:\n {3,}.*)*", options, re.MULTILINE):
        assert re.search(r"(  |\n) *[A-Z]", option), option


def test_a_summary_in_a_list_of_commands_is_not_cut() -> None:
    for words in (("shoectl",), ("shoectl", "table"), ("shoe-sim",)):
        assert "..." not in "\n".join(help_of(words)).partition("Examples:")[2].partition(":\n")[2]


@pytest.mark.parametrize(
    ("program", "words", "meant"),
    [
        ("shoectl", ["odd"], "Did you mean 'odds'?"),
        ("shoectl", ["verfy", "j.db"], "Did you mean 'verify'?"),
        ("shoectl", ["odds", "--dekcs", "6"], "Did you mean '--decks'?"),
        ("shoectl", ["run", "--confg", "x"], "Did you mean one of: '--config', '--json'?"),
        ("shoe-sim", ["srve"], "Did you mean 'serve'?"),
        (
            "shoe-sim",
            ["serve", "--sede", "1"],
            "'--deck', '--seed', '--shoes'?",
        ),
    ],
)
def test_a_wrong_word_gets_a_suggestion(program: str, words: list[str], meant: str) -> None:
    ran = CliRunner().invoke(PROGRAM_COMMANDS[program], words, prog_name=program)
    assert ran.exit_code == 2
    assert meant in ran.output


@pytest.mark.parametrize("program", PROGRAM_COMMANDS)
def test_each_program_has_a_version(program: str) -> None:
    ran = CliRunner().invoke(PROGRAM_COMMANDS[program], ["--version"], prog_name=program)
    released = rf"{program}, version \d+\.\d+\.\d+"
    unreleased = r"\.dev\d+ \(unreleased, commit ([0-9a-f]{12}( with changes)?|unknown)\)"
    assert re.fullmatch(rf"{released}({unreleased})?\n", ran.output)


def test_an_unknown_command_is_told_in_one_line_without_the_rest_of_it() -> None:
    ran = CliRunner().invoke(shoectl, ["x" * 1000], prog_name="shoectl")
    assert ran.exit_code == 2
    assert len(ran.output) < 300
