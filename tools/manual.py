"""Make the man pages and the shell completion of ``shoectl`` and ``shoe-sim`` from their commands.

In: the click commands, ``SOURCE_DATE_EPOCH`` for the date. Out: ``man/NAME.1`` for each command,
and ``completion/{bash,zsh,fish}``. The same commands and date give the same bytes.
"""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import EXIT_CODES
from simulators.cli import cli as shoe_sim

PROGRAMS: dict[str, click.Command] = {"shoectl": shoectl, "shoe-sim": shoe_sim}

COMPLETION = {"bash": "{}", "zsh": "_{}", "fish": "{}.fish"}
"""Shell → the name of a program's file, where that shell looks for it."""

EXIT_STATUS = tuple((str(code), meaning) for code, meaning in EXIT_CODES.items())
ENVIRONMENT = (
    ("NO_COLOR", "If set and not empty, tables on a terminal have no colour."),
    ("SHOECTL_SOCKET", "The daemon's socket, for shoectl table."),
    ("SHOECTL_TABLE", "The table, for shoectl table."),
)


class RoffFormatter(click.HelpFormatter):
    """Receives a command's help as click formats it, and keeps it as sections of a man page.

    Text in a verbatim block that begins with ``Example:`` or ``Examples:`` becomes the section
    EXAMPLES.
    """

    def __init__(self) -> None:
        super().__init__(width=76)  # what an 80-column terminal shows beside the indent
        self.synopsis = ""
        self.description: list[str] = []
        self.examples: list[str] = []
        self.sections: list[str] = []

    def write(self, string: str) -> None:
        """Take a line as it is: only examples are written so."""
        self.examples.append(string.strip("\n"))

    def write_usage(
        self,
        prog: str,
        args: str = "",
        prefix: str | None = None,  # noqa: ARG002 - click's signature
    ) -> None:
        """Take the usage."""
        self.synopsis = f".B {escape(prog)}\n{escape(args)}"

    def write_heading(self, heading: str) -> None:
        """Begin a section."""
        self.sections.append(f'.SH "{escape(heading.upper())}"')

    def write_paragraph(self) -> None:
        """Paragraphs are separated where they are written."""

    def write_text(self, text: str) -> None:
        """Take paragraphs of the description."""
        for paragraph in text.strip().split("\n\n"):
            first, *lines = paragraph.strip().splitlines()
            if first == "\b":
                first, *lines = lines
            if first in ("Example:", "Examples:"):
                self.examples += lines
            else:
                self.description.append(escape(" ".join(map(str.strip, (first, *lines)))))

    def write_dl(
        self,
        rows: Iterable[tuple[str, str]],
        col_max: int = 30,  # noqa: ARG002 - click's signature
        col_spacing: int = 2,  # noqa: ARG002
    ) -> None:
        """Take a list of terms with their definitions."""
        self.sections.append(definitions(rows))


def definitions(rows: Iterable[tuple[str, str]]) -> str:
    """Return terms with their definitions as roff."""
    return "\n".join(
        f".TP\n.B {escape(term)}\n{escape(' '.join(text.split())) or chr(92) + '&'}"
        for term, text in rows
    )


def escape(text: str) -> str:
    """Return ``text`` as roff shows it: hyphens, quotes and backslashes can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace('"', "\\(dq").replace("~", "\\(ti").replace("^", "\\(ha")
    text = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text)
    return f"\\&{text}" if text.startswith(".") else text


def commands(command: click.Command, ctx: click.Context) -> Iterator[click.Context]:
    """Yield the context of a command and of all below it."""
    yield ctx
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None
            yield from commands(below, click.Context(below, info_name=name, parent=ctx))


def page(ctx: click.Context, date: str) -> str:
    """Return the man page of the command that the context is of."""
    command, program = ctx.command, ctx.find_root().info_name
    formatter = RoffFormatter()
    command.format_help(ctx, formatter)
    words = ctx.command_path.split()
    name = "-".join(words)
    summary = formatter.description[0].rstrip(".")
    parts = [
        f'.TH "{escape(name.upper())}" "1" "{date}" "shoe\\-ctl {version("shoe-ctl")}"'
        ' "shoe\\-ctl manual"',
        ".SH NAME",
        f"{escape(name)} \\- {summary}",
        ".SH SYNOPSIS",
        formatter.synopsis,
        ".SH DESCRIPTION",
        "\n.PP\n".join(formatter.description),
    ]
    if formatter.examples:
        lines = textwrap.dedent("\n".join(formatter.examples)).splitlines()
        parts += [".SH EXAMPLES", ".EX", *map(escape, lines), ".EE"]
    parts += formatter.sections
    parts += [".SH EXIT STATUS", definitions(EXIT_STATUS)]
    if program == "shoectl":
        parts += [".SH ENVIRONMENT", definitions(ENVIRONMENT)]
    others = [ctx.parent.command_path] if ctx.parent else []
    if isinstance(command, click.Group):
        others += [f"{ctx.command_path} {below}" for below in command.list_commands(ctx)]
    others += [other for other in PROGRAMS if other not in words]
    see = [f"\\fB{escape('-'.join(one.split()))}\\fR(1)" for one in others]
    parts += [".SH SEE ALSO", ",\n".join(see)]
    return "\n".join(parts) + "\n"


def make(folder: Path, date: str) -> None:
    """Write all pages and completion scripts into ``folder``."""
    pages = folder / "man"
    pages.mkdir(parents=True, exist_ok=True)
    for program, command in PROGRAMS.items():
        settings = command.context_settings
        root = click.Context(command, info_name=program, **settings)
        for ctx in commands(command, root):
            name = "-".join(ctx.command_path.split())
            (pages / f"{name}.1").write_text(page(ctx, date), "ascii")
        for shell, file in COMPLETION.items():
            path = folder / "completion" / shell / file.format(program)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(completion(command, program, shell), "utf-8")


def completion(command: click.Command, program: str, shell: str) -> str:
    """Return the script that completes a program's commands in this shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    script = kind(command, {}, program, variable)
    return (script.source_template % script.source_vars()).strip() + "\n"


def main() -> None:
    """Write to the folder that is named, or to ``build``."""
    epoch_s = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    date = time.strftime("%Y-%m-%d", time.gmtime(epoch_s))
    make(Path(sys.argv[1] if len(sys.argv) > 1 else "build"), date)


if __name__ == "__main__":
    main()
