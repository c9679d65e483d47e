"""Commands run as a person runs them, and every help of both programs.

In: words. Out: exit code and output; helps with the examples in them; what a terminal shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import os
import pty
import re
import shlex
import struct
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click
import click.testing
from click.testing import CliRunner

from shoe_ctl.cli.main import shoectl
from shoe_ctl.terminal_text import cell_width
from shoe_testing.command_server import run_command, run_command_at
from simulators.cli import cli as shoe_sim

TERMINAL_WIDTH = 80
PATIENCE_S = 60.0


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


def invoke(
    command: click.Command, *words: object, stdin: str | bytes | None = None
) -> click.testing.Result:
    """Run a command in this process, as one caught by click's own runner."""
    # As both programs do: a command keeps the names of its help from its first context.
    return CliRunner().invoke(
        command, [str(word) for word in words], input=stdin, help_option_names=["-h", "--help"]
    )


def run_shoectl(*words: str, **env: str) -> Result:
    """Run ``shoectl`` in a process of its own, for tests with the fixture ``commands``."""
    done = run_command("shoectl", *words, env={**os.environ, **env})
    assert "Traceback" not in done.stderr
    return Result(done.returncode, done.stdout, done.stderr)


async def run_shoectl_async(*words: str, **env: str) -> Result:
    """The same, while this loop goes on."""
    return await asyncio.to_thread(run_shoectl, *words, **env)


def plain_words(typed: str) -> list[str]:
    """The words of a command of ours that needs no shell; none where it needs one."""
    if typed.startswith(("shoectl ", "shoe-sim ")) and set(typed).isdisjoint("|<>$&;*~"):
        return shlex.split(typed.replace("\\\n", ""))
    return []


def pasted_commands(shown: str) -> list[list[str]]:
    """Each command that is shown, as a shell takes it from these lines."""
    told, line = [], ""
    for one in shown.splitlines():
        if line or one.strip().startswith("shoectl "):
            line += one.removesuffix("\\") if one.endswith("\\") else one
            if not one.endswith("\\"):
                told.append(shlex.split(line))
                line = ""
    return told


HELP_WIDTH = 80
PROGRAM_COMMANDS: dict[str, click.Command] = {"shoectl": shoectl, "shoe-sim": shoe_sim}


def all_commands() -> list[tuple[str, ...]]:
    """The words that name each command: ``("shoectl", "table", "expose")``."""
    return [
        words for name, program in PROGRAM_COMMANDS.items() for words in _below(program, (name,))
    ]


def _below(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=words[-1])
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _below(below, (*words, name))


@functools.cache
def help_of(words: tuple[str, ...]) -> list[str]:
    """The lines of this command's help, as a terminal of 80 columns shows them."""
    program, *rest = words
    shown = CliRunner().invoke(
        PROGRAM_COMMANDS[program], [*rest, "--help"], prog_name=program, terminal_width=HELP_WIDTH
    )
    assert shown.exit_code == 0, shown.output
    return shown.output.splitlines()


def help_examples(words: tuple[str, ...]) -> list[str]:
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


ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*\b(?:3[0-7]|4[0-7]|9[0-7])(?:;[0-9;]*)?m")
BOX = re.compile("[─│━┃█▏▎▍▌▋▊▉]")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a terminal was sent."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        """Without escape sequences."""
        return ESCAPE.sub("", self.raw)

    @property
    def width(self) -> int:
        """Of the longest line, in columns."""
        return max(map(cell_width, self.text.splitlines()))


def on_terminal(
    *words: str | Path, cwd: Path | None = None, columns: int = 80, **env: str
) -> Shown:
    """Runs ``shoectl`` with these words on a terminal of its own, with the fixture ``commands``."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    plain = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}

    def read() -> bytes:
        raw = b""
        with contextlib.suppress(OSError):  # the last end of the terminal was closed
            while piece := os.read(master, 65536):
                raw += piece
        return raw

    try:
        code, raw = run_command_at(
            slave, "shoectl", *map(str, words), cwd=cwd, env=plain | {"TERM": "xterm"} | env,
            read=read,
        )  # fmt: skip
    finally:
        os.close(master)
    return Shown(code, raw.decode())
