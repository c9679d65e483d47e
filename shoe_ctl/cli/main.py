"""The command line's root: each command is imported only when it is called.

In: arguments. Out: exit codes 0 done, 1 refused, 2 usage, 3 environment, 130 interrupted.
Must not know: what the commands do.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

import click

from shoe_ctl.errors import EnvironmentFault, ShoeCtlError
from shoe_ctl.terminal_text import printable, shortened

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF)
"""What a standard output says that takes nothing: a full disk, a terminal that is gone, none."""

COMMANDS = {
    "capture": "Keep what a shoe says, with times, in a file.",
    "decided": "Which wagers are won or lost already.",
    "decode": "What the bytes of a shoe say, one event a line.",
    "demo": "A simulated shoe dealt to the end, as you watch.",
    "doctor": "What is plugged in, and what is wrong at a shoe's port.",
    "export": "One shoe of a journal, as one compressed file.",
    "games": "The games, or what is wrong with a game file.",
    "odds": "What each wager gives back, exactly.",
    "replay": "Run a journal again and compare, or read its rounds.",
    "rounds": "The shoes and rounds of a journal, one a line.",
    "run": "The daemon: shoe, round, journal, outcomes.",
    "settle": "What each wager of a round pays.",
    "table": "Act on a running daemon's tables, or see how they stand.",
    "verify": "Whether a journal is what was written.",
}
"""Every command with its line in ``--help``; the module of the same name holds it."""


class _Lazy(click.Group):
    """Imports a command when it is asked for: a command pays only for what it uses."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"shoe_ctl.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="shoe-ctl", prog_name="shoectl")
def shoectl() -> None:
    """Drive a card-reading dealing shoe at a baccarat table.

    Example: shoectl demo --rounds 5
    """


def main() -> None:
    """Run the command line; every error is one clear line, never a traceback."""
    try:
        status = shoectl.main(prog_name="shoectl", standalone_mode=False)
        _flush()
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message(), err=True)
        sys.exit(asked.exit_code)
    except click.ClickException as error:
        click.echo(f"shoectl: {shortened(printable(_in_one_line(error)))}", err=True)
        sys.exit(error.exit_code)
    except ShoeCtlError as error:
        click.echo(f"shoectl: {shortened(printable(str(error)))}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _say_no_more()
        sys.exit(1)
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        _say_no_more()
        click.echo(f"shoectl: output cannot be written: {error.strerror}", err=True)
        sys.exit(EnvironmentFault.exit_code)
    sys.exit(status if isinstance(status, int) else 0)


def _flush() -> None:
    """What still waits is written now: at exit nobody could tell that it cannot be."""
    if sys.stdout is not None:  # it was closed before we began
        sys.stdout.flush()


def _say_no_more() -> None:
    """Whoever read our output has gone: nothing is left to be written to them, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _in_one_line(error: click.ClickException) -> str:
    """What is wrong and, for wrong words, where the right ones are told."""
    said = " ".join(error.format_message().split())
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    return said if ctx is None else f"{said.rstrip('.')} (see: {ctx.command_path} --help)"
