"""The man pages and the shell completion, as they are made from the commands and installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from shoe_ctl.cli.main import COMMANDS
from shoe_ctl.cli.table_pages import PAGES
from shoe_testing.paths import ROOT
from simulators.control.changes import CHANGES
from tools.manual import escape, make

DATE = "2026-11-20"
PATH = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make(folder, DATE)
    return folder


def test_every_command_has_a_page(made: Path) -> None:
    names = {page.name for page in (made / "man").iterdir()}
    assert names == {
        "shoectl.1", *(f"shoectl-{name}.1" for name in COMMANDS),
        *(f"shoectl-table-{name}.1" for name in PAGES),
        "shoectl-broker-check.1",
        "shoectl-config-check.1", "shoe-sim.1", "shoe-sim-serve.1", "shoe-sim-play.1",
        "shoe-sim-run.1", "shoe-sim-record.1", "shoe-sim-ctl.1", "shoe-sim-floor.1",
        *(f"shoe-sim-ctl-{name}.1" for name in CHANGES),
    }  # fmt: skip


def test_a_page_has_what_the_help_has_and_can_be_copied_from(made: Path) -> None:
    page = (made / "man" / "shoectl-table-expose.1").read_text()
    assert page.startswith('.TH "SHOECTL\\-TABLE\\-EXPOSE" "1" "2026-11-20" "shoe\\-ctl ')
    assert "\n.SH EXAMPLES\n.EX\nshoectl table expose hand=player\n.EE\n" in page
    assert "\n.B hand=player|banker\nthe hand\n" in page
    assert "\n.B \\-\\-round ID\nReject the command unless round ID is open.\n" in page
    assert escape('it\'s -x `y` \\ "…"') == "it\\(aqs \\-x \\(gay\\(ga \\e \\(dq\\[u2026]\\(dq"


def test_the_same_commands_and_date_make_the_same_bytes(made: Path, tmp_path: Path) -> None:
    make(tmp_path, DATE)
    for path in made.rglob("*"):
        if path.is_file():
            assert (tmp_path / path.relative_to(made)).read_bytes() == path.read_bytes()


def test_the_date_is_that_of_the_source(tmp_path: Path) -> None:
    tool = ROOT / "tools" / "manual.py"
    env = {"SOURCE_DATE_EPOCH": "86400", "PATH": PATH}
    subprocess.run([sys.executable, str(tool), str(tmp_path)], env=env, check=True)
    assert '"1970-01-02"' in (tmp_path / "man" / "shoectl.1").read_text()


def missing(what: str) -> NoReturn:
    """Skip where a tool is missing; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.mark.slow
@pytest.mark.parametrize(
    "one_in",
    [pytest.param(6, id="some"), pytest.param(1, id="all", marks=pytest.mark.exhaustive(cpu_s=6))],
)
def test_man_shows_every_page_without_a_warning(made: Path, one_in: int) -> None:
    pages = sorted(map(str, (made / "man").iterdir()))[::one_in]
    if not shutil.which("mandoc") and not shutil.which("man"):
        missing("man is missing: install man-db")
    if shutil.which("mandoc"):
        lint = ["mandoc", "-T", "lint", "-W", "error", *pages]
        assert subprocess.run(lint, capture_output=True, text=True, check=False).stdout == ""
        return
    env = {"MANWIDTH": "80", "LC_ALL": "C.UTF-8", "PATH": PATH}
    for page in pages:
        shown = subprocess.run(
            ["man", "--warnings", "-l", page], env=env, capture_output=True, text=True, check=True
        )
        assert shown.stderr == ""
        assert max(map(len, shown.stdout.splitlines())) <= 80


IN_BASH = r"""
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_"$(echo "$1" | tr - _)"_completion "$1"
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("shoectl", "dec"), ["decided", "decode"]),
        (("shoectl", "table", "exp"), ["expose"]),
        (("shoectl", "table", "expose", "--hand", "p"), ["player"]),
        (("shoectl", "table", "expose", "ha"), ["hand=player", "hand=banker"]),
        (("shoe-sim", "serve", "--profile", "b"), ["bee_tek"]),
        (("shoe-sim", "serve", "--fau"), ["--fault", "--faults"]),
        (("shoe-sim", "ctl", "lid"), ["lid_open", "lid_close"]),
        (("shoe-sim", "ctl", "brown_out", "ca"), ["card=kept", "card=lost"]),
        (("shoe-sim", "ctl", "wait", "--until", "ack"), ["acknowledged"]),
        (("shoe-sim", "ctl", "fault", "d"), ["drop=", "delay=", "delay_s="]),
    ],
)
def test_bash_completes_with_the_file_that_is_installed(
    made: Path, words: tuple[str, ...], offered: list[str]
) -> None:
    file = made / "completion" / "bash" / words[0]
    shown = subprocess.run(
        ["bash", "--norc", "-c", IN_BASH, "bash", str(file), *words],
        env={"PATH": PATH}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert sorted(shown.stdout.split()) == sorted(offered)


def test_the_other_shells_find_their_files(made: Path) -> None:
    completion = made / "completion"
    for program, function in (("shoectl", "_shoectl"), ("shoe-sim", "_shoe_sim")):
        zsh = (completion / "zsh" / f"_{program}").read_text()
        assert zsh.startswith(f"#compdef {program}\n")
        assert f"{function.upper()}_COMPLETE=zsh_complete" in zsh
        fish = (completion / "fish" / f"{program}.fish").read_text()
        assert re.search(rf"complete .*--command {program}\b", fish)


@pytest.mark.parametrize(("shell", "file"), [("zsh", "_shoectl"), ("fish", "shoectl.fish")])
def test_the_other_shells_read_their_files(made: Path, shell: str, file: str) -> None:
    program = shutil.which(shell)
    if program is None:
        missing(f"{shell} is missing: install it")
    subprocess.run([program, "-n", str(made / "completion" / shell / file)], check=True)
