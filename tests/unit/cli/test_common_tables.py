"""Tables: drawn on a terminal, plain text in a pipe, without colour where that is asked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from shoe_ctl.cli.common import COLUMNS
from shoe_ctl.cli.table_view import lines
from shoe_ctl.terminal_text import cell_width, pad, printable, wrap
from shoe_testing.cli import BOX, COLOUR, on_terminal, run_shoectl
from shoe_testing.journals import dealt_journal
from shoe_testing.socket_client import answering_daemon

pytestmark = pytest.mark.usefixtures("commands")

COMMANDS = ("odds", "games", "doctor", "rounds", "status")


@pytest.fixture(scope="module")
def words() -> Iterator[dict[str, list[str]]]:
    """Each command that shows a table, with what it needs, in a folder with a short name.

    A file's name that stands below a table is as long as whoever typed it made it.
    """
    with TemporaryDirectory() as name, answering_daemon(folder := Path(name)) as path:
        dealt_journal(folder / "journal.db", "reference", 3)
        yield {
            "odds": ["odds", "fa_fa_fabulous_4"],
            "games": ["games"],
            "doctor": ["doctor", "--profile", "reference", "--port", str(folder / "no-port")],
            "rounds": ["rounds", str(folder / "journal.db")],
            "status": ["table", "status", "--socket", str(path)],
        }


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 132])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_is_shown_a_table_that_fits_it(
    command: str, columns: int, words: dict[str, list[str]]
) -> None:
    shown = on_terminal(*words[command], columns=columns)
    assert shown.code == (1 if command == "doctor" else 0)
    assert BOX.search(shown.raw) and COLOUR.search(shown.raw)
    assert shown.width <= columns
    assert "…" not in shown.text


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_no_color_is_honoured(command: str, words: dict[str, list[str]]) -> None:
    shown = on_terminal(*words[command], NO_COLOR="1")
    assert BOX.search(shown.raw) and not COLOUR.search(shown.raw)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_and_a_pipe_are_shown_the_same_words(
    command: str, words: dict[str, list[str]]
) -> None:
    shown = on_terminal(*words[command], columns=200).text.split()
    piped = run_shoectl(*words[command]).out.split()
    assert set(piped) - set(shown) <= {"FAILED:"}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_gets_plain_text_of_eighty_columns(
    command: str, words: dict[str, list[str]]
) -> None:
    shown = run_shoectl(*words[command]).out
    assert not BOX.search(shown) and "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= COLUMNS or command == "doctor"  # its path is whole
    assert run_shoectl(*words[command], "--json").out.startswith(("{", "["))


MODULES = """
import sys
from shoe_ctl.cli.main import main
try:
    main()
finally:
    print(*(name for name in sys.modules if name.partition(".")[0] == "rich"), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", [*COMMANDS, "decode", "replay", "run", "demo", "json"])
def test_rich_is_imported_for_a_table_on_a_terminal_only(
    command: str, words: dict[str, list[str]], tmp_path: Path
) -> None:
    journal = words["rounds"][1]
    others = {
        "decode": ["decode", journal],
        "replay": ["replay", journal, "--last", "1"],
        "run": ["run", "--config", str(tmp_path / "none.toml")],
        "demo": ["demo", "--rounds", "1", "--pace-ms", "0"],
        "json": [*words["status"], "--json"],
    }
    ran = subprocess.run(
        [sys.executable, "-c", MODULES, *(words | others)[command]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "rich" not in ran.stderr.splitlines()[-1].split()


CHINESE = "莊家：閒家的牌已經翻開"


def test_chinese_text_takes_two_columns_a_character() -> None:
    assert cell_width(CHINESE) == 2 * len(CHINESE)
    assert cell_width(pad(CHINESE, 40)) == 40
    assert printable(CHINESE * 10, most=20) == f"{CHINESE[:8]}..."
    broken = wrap(CHINESE * 10, 30, first="seen  ", rest="      ")
    assert all(cell_width(line) <= 30 for line in broken)
    assert "".join(line[6:] for line in broken) == CHINESE * 10


@pytest.mark.slow
def test_chinese_names_keep_a_status_within_its_width(words: dict[str, list[str]]) -> None:
    held: dict[str, Any] = {
        "table": "bac-07", "game": "tiger", "method": "B", "state": "suspended",
        "doubt": CHINESE * 8,
    }  # fmt: skip
    shown = list(lines(held))
    assert len(shown) > 3
    assert all(cell_width(line) <= COLUMNS for line in shown)


@pytest.mark.slow
def test_commands_of_a_status_can_be_copied_from_a_terminal(words: dict[str, list[str]]) -> None:
    shown = on_terminal(*words["status"]).text.splitlines()
    piped = run_shoectl(*words["status"]).out.splitlines()
    commands = [line for line in piped if line.startswith(" " * 12 + "shoectl ")]
    assert commands
    assert all(line in shown for line in commands)
