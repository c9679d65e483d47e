"""Pages to follow work, and so does the demo of README.md: they print what the pages show."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_testing.cli import plain_words
from shoe_testing.command_server import WarmProgram
from shoe_testing.console_pages import Command, blocks, commands, matches
from shoe_testing.paths import ROOT

pytestmark = pytest.mark.usefixtures("commands")

PAGES = {
    "tutorial": ROOT / "docs/tutorial.md",
    "simulated shoe": ROOT / "docs/guides/simulated-shoe.md",
    "load tests": ROOT / "docs/guides/load-tests.md",
    "record": ROOT / "docs/guides/record.md",
}
"""Pages whose every command is run."""

ANY_PROCESS = "4711"
"""On a page, the number of the shoe's process, which the shoe prints."""

PATIENCE_S = 60.0
"""How long anything may take on a machine that has stalled."""


class Running:
    """A command that stays. Its lines are read as they come."""

    def __init__(self, typed: str, folder: Path, variables: dict[str, str]) -> None:
        self._process = WarmProgram(
            plain_words(typed) or ["bash", "-c", f"exec {typed}"],
            cwd=folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._printed: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, shown: str) -> None:
        """Wait until every line that is shown was printed, in this order, maybe others between."""
        for expected in shown.splitlines():
            while True:
                line = self._next()
                assert line is not None, f"{expected!r} is not in:\n{''.join(self._printed)}"
                self._printed.append(line)
                if matches(f"{expected}\n", line):
                    break

    def _next(self) -> str | None:
        """The next line; none if the command ended, or printed nothing for so long."""
        with contextlib.suppress(queue.Empty):
            return self._lines.get(timeout=PATIENCE_S)
        return None

    def number_after(self, words: str) -> str:
        """Return the number that was printed behind these words."""
        (found,) = re.findall(rf"{words}(\d+)", "".join(self._printed))
        return str(found)

    def interrupt(self) -> None:
        """Press Ctrl-C, and wait for the end."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(PATIENCE_S)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Terminals:
    """The terminals of the page: one home, one folder, one environment."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "shoe-tutorial"
        self.folder.mkdir()
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SHOECTL_")}
        self._variables = {**kept, "HOME": str(home), "PATH": path}
        self._running: dict[str, Running] = {}

    def script(self, text: str) -> None:
        """Run a script; what it exports stays."""
        done = self._bash(f"set -e\n{text}\nenv -0")
        assert done.returncode == 0, done.stdout
        self._variables = dict(one.split("=", 1) for one in done.stdout.split("\0") if "=" in one)

    def run(self, typed: str) -> str:
        """Run a command to its end; return all that it printed."""
        if words := plain_words(typed):
            with WarmProgram(
                words, cwd=self.folder, env=self._variables, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True,
            ) as process:  # fmt: skip
                return process.communicate(timeout=PATIENCE_S)[0]
        return self._bash(typed).stdout

    def _bash(self, typed: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", typed],
            cwd=self.folder,
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            text=True,
            check=False,
        )

    def start(self, name: str, command: Command) -> None:
        """Start a command that stays; wait until it printed what is shown."""
        self._running[name] = Running(command.typed, self.folder, self._variables)
        self._running[name].wait_for(command.shown)

    def wait_for(self, name: str, shown: str) -> None:
        """Wait until a command that was started has printed this as well."""
        self._running[name].wait_for(shown)

    def named(self, typed: str) -> str:
        """Return a command with the number of the shoe's process, as the shoe printed it."""
        if ANY_PROCESS not in typed:
            return typed
        return typed.replace(ANY_PROCESS, self._running["shoe"].number_after("kill -USR1 "))

    def interrupt(self, name: str, shown: str) -> None:
        """Press Ctrl-C; the command prints this and ends."""
        self._running[name].interrupt()
        self._running[name].wait_for(shown)
        self._running.pop(name).end()

    def close(self) -> None:
        for each in self._running.values():
            each.end()


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[Terminals]:
    opened = Terminals(tmp_path)
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_to_follow_prints_what_it_shows(page: Path, terminals: Terminals) -> None:
    for block in blocks(page.read_text("utf-8")):
        name = block.about.removeprefix("terminal=")
        if block.kind == "sh":
            if block.about != "setup":
                terminals.script(block.text)
        elif block.text.startswith("^C\n"):
            terminals.interrupt(name, block.text.removeprefix("^C\n"))
        elif name and "$ " not in block.text:
            terminals.wait_for(name, block.text)
        elif name:
            (command,) = commands(block)
            terminals.start(name, command)
        else:
            for command in commands(block):
                follow(terminals, command._replace(typed=terminals.named(command.typed)))


DEMO = re.compile(r"```\n\$ (shoectl demo[^\n]*)\n(.*?)```", re.DOTALL)


@pytest.mark.slow
def test_the_demo_of_the_front_page_prints_what_it_shows(terminals: Terminals) -> None:
    ((typed, shown),) = DEMO.findall((ROOT / "README.md").read_text("utf-8"))
    assert terminals.run(typed).startswith(shown)


@pytest.mark.slow
def test_the_scenario_of_its_guide_prints_what_it_shows(terminals: Terminals) -> None:
    ((typed, shown),) = DEMO.findall((ROOT / "docs/guides/scenarios.md").read_text("utf-8"))
    assert matches(shown, terminals.run(typed))


LOOKS = ("shoectl table status", "grep ")
"""Commands that change nothing: what they look at comes a moment later than a command's answer."""


def follow(terminals: Terminals, command: Command) -> None:
    """Run a command; one that looks again, as a person does, until what is waited for is there."""
    until = time.monotonic() + PATIENCE_S
    printed = terminals.run(command.typed)
    while not matches(command.shown, printed):
        repeated = command.typed.startswith(LOOKS) and time.monotonic() < until
        assert repeated, f"$ {command.typed}\n{printed}\nshown:\n{command.shown}"
        printed = terminals.run(command.typed)


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_every_block_of_a_page_to_follow_is_of_a_known_kind(page: Path) -> None:
    found = blocks(page.read_text("utf-8"))
    assert {block.kind for block in found} == {"sh", "console"}
    assert page.read_text("utf-8").count("```") == 2 * len(found)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a …\n", "a b\n", True),
        ("a …\n", "a b\nc\n", False),
        ("a\n…\n", "a\nb\nc\n", True),
        ("a\n…\nc\n", "a\nc\n", True),
        ("a.\n", "ab\n", False),
    ],
)
def test_dots_stand_for_what_differs(shown: str, printed: str, same: bool) -> None:
    assert matches(shown, printed) is same
