"""The help of ``shoectl table``: every command by situation, each with a page; completion."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from shoe_ctl.cli import table_pages
from shoe_ctl.cli.main import shoectl
from shoe_ctl.cli.table import ARGUMENTS, _argument
from shoe_ctl.games import catalog
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.situations import STATES
from shoe_ctl.table.wagers.declared import RECORDED
from shoe_testing.cli import Result, pasted_commands
from shoe_testing.cli import run_shoectl_async as run_shoectl
from shoe_testing.paths import ROOT

pytestmark = pytest.mark.usefixtures("commands")

EVERY = (*table_pages.REQUESTS, *table_pages.ABOUT_THE_JOURNAL, *COMMANDS)
WIDTH = 80


def help_of(*words: str) -> str:
    said = CliRunner().invoke(
        shoectl, ["table", *words, "--help"], prog_name="shoectl", terminal_width=WIDTH
    )
    assert said.exit_code == 0, said.output
    return said.output


def test_every_command_is_in_the_help_once_and_under_a_situation() -> None:
    assert set(table_pages.PAGES) == set(EVERY)
    shown = help_of()
    assert all(len(line) <= WIDTH for line in shown.splitlines())
    listed = re.findall(r"^  ([a-z_]+)  +[A-Z]", shown, re.MULTILINE)
    assert sorted(listed) == sorted(EVERY)
    assert [s for s in table_pages.SITUATIONS if f"\n{s}:\n" not in shown] == []
    assert {page.situation for page in table_pages.PAGES.values()} == set(table_pages.SITUATIONS)


@pytest.mark.parametrize("command", EVERY)
def test_a_page_fits_eighty_columns_and_shows_an_example_that_can_be_pasted(command: str) -> None:
    shown = help_of(command)
    assert all(len(line) <= WIDTH and line.isprintable() for line in shown.splitlines())
    (words,) = (typed for typed in pasted_commands(shown) if typed[:1] == ["shoectl"])
    assert words[:3] == ["shoectl", "table", command]
    assert table_pages.PAGES[command].summary in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_has_the_positions_the_arguments_and_the_states_of_the_tables(command: str) -> None:
    shown = " ".join(help_of(command).split())
    assert f"given by {COMMANDS[command].position.replace('_', ' ')} " in shown
    states = COMMANDS[command].states
    everywhere = len(states) == len(STATES)
    assert ("when in every state" if everywhere else f"when {', '.join(states)}") in shown
    assert " rule " in shown
    kind = COMMANDS[command].args
    for field in msgspec.structs.fields(kind):
        assert f" {field.name}=" in shown
    assert (f"{ARGUMENTS}:" in shown) is bool(msgspec.structs.fields(kind))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_has_arguments_that_the_command_takes(command: str) -> None:
    words = shlex.split(table_pages.example(command))[3:]
    given = dict(_argument(word) for word in words if re.match(r"[a-z_]+=", word))
    more: type[Any] = COMMANDS[command].args
    if command == "declare":
        assert given["key"] in {*RECORDED, *PROCEDURES}
    if command == "decide":
        assert given["choice"] in table_pages.choice_names()
    msgspec.convert(given, more)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_has_an_argument_where_one_is_needed(command: str) -> None:
    fields = msgspec.structs.fields(COMMANDS[command].args)
    if any(field.required for field in fields):
        assert table_pages.takes_arguments(command)
    if not fields:
        assert not table_pages.takes_arguments(command)


async def test_a_command_given_as_name_and_value_does_not_load_the_table() -> None:
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from shoe_ctl.cli.main import shoectl\n"
        "said = CliRunner().invoke(shoectl, ['table', *sys.argv[1:], '--socket', '/nowhere/s'])\n"
        "assert 'no daemon at /nowhere/s' in str(said.exception), said.output\n"
        "print(*(name for name in sys.modules if name.startswith('shoe_ctl.table')))\n"
    )
    for words in (["settle"], ["expose", "hand=player"], ["declare", "key=other", "--reason", "x"]):
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, *words, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await child.communicate()
        assert (child.returncode, out) == (0, b"\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_rule_that_is_cited_is_one_of_a_game(command: str) -> None:
    if not table_pages.PAGES[command].cites:
        return
    numbers = re.findall(r"\d+(?:\.\d+)+", table_pages.rules(command))
    assert numbers
    for number in numbers:
        sources = [catalog.source(game).decode() for game in catalog.shipped()]
        assert any(f'"{number}"' in source for source in sources)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_rule_that_is_cited_is_the_one_that_the_game_knows(command: str) -> None:
    cites = table_pages.PAGES[command].cites.split()
    shown = table_pages.rules(command)
    for name in catalog.shipped() if cites else ():
        game = catalog.load(name)
        known = None
        match cites:
            case ["clause", clause]:
                known = game.clause(clause)
            case ["method", method, clause]:
                known = game.methods[method].clauses[clause] if method in game.methods else None
            case [_, key, end]:
                known = game.irregularities.get(key, {}).get(end)
        assert known is None or known in shown


def test_a_rule_is_that_of_each_game() -> None:
    assert table_pages.rules("pass_cards") == (
        "3.10.2 (dragon_tiger_no_commission, immortal_dragon_tiger, tiger), "
        "3.9.2 (fa_fa_fabulous_4)"
    )


def test_whatever_can_be_declared_or_decided_is_on_its_page_with_its_arguments() -> None:
    shown = " ".join(help_of("declare").split())
    for key in (*RECORDED, *(p.key for p in PROCEDURES.values() if p.declared is not None)):
        assert f" {key} " in shown
    assert "card_taken hand=player|banker|both [index=NUMBER] (dealer)" in shown
    shown = " ".join(help_of("decide").split())
    for procedure in PROCEDURES.values():
        for step in procedure.steps:
            assert all(f" {choice.name} " in shown for choice in step.choices)
    assert "stand [player=NAME] [seat=NUMBER] (dealer)" in shown


DOCS = ROOT / "docs"
SHOWN = [
    (path, words)
    for path in sorted(DOCS.rglob("*.md"))
    for words in re.findall(r"shoectl table ([a-z_]+ [^`\n#]*|[a-z_]+)(?=[`\n#])", path.read_text())
]


def test_every_command_that_the_docs_show_is_one_with_its_arguments() -> None:
    assert len(SHOWN) > len(COMMANDS)
    for path, words in SHOWN:
        command, *rest = shlex.split(words.replace("…", "..."))
        assert command in EVERY, (path, words)
        given = {word.partition("=")[0] for word in rest if re.match(r"[a-z_]+=", word)}
        assert given <= set(table_pages._offered(command)), (path, words)


@pytest.mark.parametrize(
    ("typed", "likely"),
    [
        ("expoze", "Did you mean 'expose'?"),
        ("setle", "Did you mean 'settle'?"),
        ("stand", "It is a choice: shoectl table decide choice=stand"),
        ("wrong_order", "It is declared: shoectl table declare key=wrong_order"),
    ],
)
async def test_an_unknown_command_suggests_the_nearest(typed: str, likely: str) -> None:
    said = f"shoectl: No such command {typed!r}. {likely} (see: shoectl table --help)\n"
    assert await run_shoectl("table", typed, "hand=player") == Result(2, "", said)


async def test_help_does_not_load_the_table() -> None:
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from shoe_ctl.cli.main import shoectl\n"
        "said = CliRunner().invoke(shoectl, sys.argv[1:])\n"
        "assert said.exit_code == 0, said.output\n"
        "print(*(name for name in sys.modules if name.startswith('shoe_ctl.')))\n"
    )
    loaded = {}
    for words in (("--help",), ("games", "--help"), ("table", "--help")):
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, *words, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await child.communicate()
        assert child.returncode == 0
        loaded[words] = {name for name in out.decode().split() if "shoe_ctl.table" in name}
    assert loaded[("--help",)] == loaded[("games", "--help")] == set()
    assert loaded[("table", "--help")] == set()


# Completion, as bash asks for it.

IN_BASH = r"""
eval "$(_SHOECTL_COMPLETE=bash_source shoectl)"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_shoectl_completion shoectl
printf '%s\n' "${COMPREPLY[@]}"
"""


async def completed(*words: str) -> list[str]:
    """What bash offers for the last word. As bash does it, ``=`` is a word of its own."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    child = await asyncio.create_subprocess_exec(
        "bash", "--norc", "-c", IN_BASH, "bash", *words,
        env={**os.environ, "PATH": path}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await child.communicate()
    assert child.returncode == 0
    return out.decode().split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("table", "exp"), ["expose"]),
        (("table", "expose", "ha"), ["hand=player", "hand=banker"]),
        (("table", "expose", "hand", "=", "b"), ["banker"]),
        (("table", "expose", "hand", "="), ["player", "banker"]),
        (("table", "expose", "hand=p"), ["hand=player"]),
        (("table", "expose", "hand", "=", "player", "ind"), ["index="]),
        (("table", "--table", "bac-07", "sett"), ["settle"]),
        (("table", "declare", "key", "=", "wrong"), ["wrong_order", "wrong_player"]),
        (("table", "declare", "key", "=", "card_taken", "han"),
         ["hand=player", "hand=banker", "hand=both"]),
        (("table", "decide", "choice", "=", "withdraw"), ["withdraw_all"]),
        (("table", "decide", "choice", "=", "value_known", "sour"),
         ["source=shoe", "source=surveillance"]),
        (("table", "expose", "--rea"), ["--reason"]),
        (("table", "expose", "--ha"), ["--hand"]),
        (("table", "expose", "hand=player", "--ind"), ["--index"]),
        (("table", "expose", "--hand", ""), ["player", "banker"]),
        (("table", "declare", "--key", "wrong"), ["wrong_order", "wrong_player"]),
        (("table", "decide", "--choice", "withdraw"), ["withdraw_all"]),
    ],
)  # fmt: skip
async def test_bash_completes_commands_and_their_arguments(
    words: tuple[str, ...], offered: list[str]
) -> None:
    assert await completed("shoectl", *words) == offered


async def test_bash_knows_every_command() -> None:
    assert sorted(await completed("shoectl", "table", "")) == sorted(EVERY)


def test_the_ruling_on_a_lost_part_is_one_where_no_rule_covers_it() -> None:
    assert table_pages.rules("accept_loss") == "6.1"
