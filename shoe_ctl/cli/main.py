"""The command line's root: each command is imported only when it is called.

In: arguments. Out: exit codes 0 done, 1 refused, 2 usage, 3 environment, 130 interrupted.
Must not know: what the commands do.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import click

from shoe_ctl.cli import help_language
from shoe_ctl.errors import EnvironmentFault, ShoeCtlError
from shoe_ctl.terminal_text import printable, shortened

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF)
"""Errors of a standard output that cannot be written: a full disk, no terminal, none at all."""

COMMANDS = {
    "broker": "Check what logins may do at a broker.",
    "capture": "Record raw bytes from a shoe to a capture file.",
    "certify-consumer": "Try a table system's receiver of events.",
    "checkpoint": "Print the newest checkpoint for a witness.",
    "config": "Check a configuration file without starting anything.",
    "cosignatures": "Store what witnesses cosigned beside a journal.",
    "decided": "List the wagers that are already won or lost.",
    "decode": "Decode a shoe's bytes to events, one per line.",
    "demo": "Deal a simulated shoe with the real daemon.",
    "doctor": "List ports and diagnose connection problems.",
    "explain": "Explain what a message does to a table, and why.",
    "export": "Export one shoe of a journal to a compressed file.",
    "floor": "Follow all tables from a NATS JetStream stream.",
    "games": "List the games, or check a game file.",
    "incidents": "List irregularities, rulings, corrections and changes.",
    "inspect": "Inspect a folder of evidence: one page of findings.",
    "loss": "Show what a journal lost, and who still has it.",
    "odds": "Compute exact odds and house edge per wager.",
    "prove": "Write the proof of one round of a journal.",
    "publish": "Publish recorded events, to test a table system.",
    "reconcile": "Compare a ledger of events with a journal.",
    "replay": "Replay a journal and compare, or report its rounds.",
    "rounds": "List the shoes and rounds of a journal.",
    "run": "Run the daemon: shoes, rounds, journal, outcomes.",
    "schema": "Print the JSON Schema of the events.",
    "settle": "Settle rounds: what each wager pays.",
    "table": "Send commands to a running daemon's tables.",
    "verify": "Check a journal's hash chain and signatures.",
    "witness": "Cosign the checkpoints of journals kept by others.",
}
"""Every command with its line in ``--help``; the module of the same name holds it."""


class _Start(NamedTuple):
    """The options of the command line; commands find it as ``ctx.obj``."""

    imported: Callable[[], object]
    """Called once the command's module is imported, before the command runs."""


class _Lazy(click.Group):
    """Imports a command when it is asked for: a command pays only for what it uses."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Begin in the language that is asked for: help may come before any option is read."""
        help_language.speak(help_language.asked_language(args))
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = import_module(f"shoe_ctl.cli.{name}")
        if isinstance(ctx.obj, _Start):
            ctx.obj.imported()
        command: click.Command = getattr(module, name)
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named first; for an unknown one, suggest the nearest."""
        name = args[0]
        if not (ctx.resilient_parsing or name.startswith("-") or name in COMMANDS):
            raise click.exceptions.NoSuchCommand(name[:64], possibilities=[*COMMANDS], ctx=ctx)
        return super().resolve_command(ctx, args)


def print_version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:  # noqa: ARG001 - click's signature
    """Print the version, and the commit of an unreleased one; then end."""
    if asked and not ctx.resilient_parsing:
        from firmware_proto.version import describe_version

        click.echo(f"shoectl, version {describe_version()}")
        ctx.exit()


def verify_installation(ctx: click.Context, param: click.Parameter, package: str | None) -> None:  # noqa: ARG001 - click's signature
    """Compare this installation with a wheel or a Debian package; then end."""
    if package is not None and not ctx.resilient_parsing:
        from pathlib import Path

        from shoe_ctl.cli.verify_install import verify_install

        ctx.exit(0 if verify_install(Path(package)) else 1)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=print_version,
    help="Show the version and exit.",
)  # fmt: skip
@click.option(
    "--verify-install", metavar="FILE", expose_value=False, is_eager=True,
    callback=verify_installation,
    help="Compare what is installed with a wheel or a Debian package, and exit.",
)  # fmt: skip
def shoectl() -> None:
    """Drive a card-reading dealing shoe at a baccarat table.

    Each command has a help page: shoectl run --help

    \b
    Examples:
      shoectl demo --rounds 5
      shoectl run --config table.toml
      shoectl table status --config table.toml
    """  # noqa: D301 - click wants the very character


def main(imported: Callable[[], object] = lambda: None) -> None:
    """Run the command line; every error is one clear line, never a traceback.

    ``imported`` is called once the command's module is imported, before the command runs.
    """
    try:
        status = shoectl.main(prog_name="shoectl", standalone_mode=False, obj=_Start(imported))
        _flush()
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message(), err=True)
        sys.exit(asked.exit_code)
    except click.ClickException as error:
        _report(shortened(printable(_in_one_line(error))))
        sys.exit(error.exit_code)
    except ShoeCtlError as error:
        _report(shortened(printable(str(error))))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        _discard_output()
        _report(f"output cannot be written: {error.strerror}")
        sys.exit(EnvironmentFault.exit_code)
    sys.exit(status if isinstance(status, int) else 0)


def _report(error: str) -> None:
    """Print an error in its line, with a priority where systemd's journal takes it."""
    line = f"shoectl: {error}"
    if "JOURNAL_STREAM" in os.environ:
        import logging

        from shoe_ctl.cli.log_format import is_journal, with_priority

        line = with_priority(line, logging.ERROR) if is_journal() else line
    click.echo(line, err=True)


def _flush() -> None:
    """Write what is still buffered: at exit an error could not be reported."""
    if sys.stdout is not None:  # it was closed before we began
        sys.stdout.flush()


def _discard_output() -> None:
    """Discard what is still to be written: the reader of our output has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _in_one_line(error: click.ClickException) -> str:
    """Return the error in one line and, for wrong usage, the help page to see."""
    text = " ".join(error.format_message().split())
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    if ctx is None:
        return text
    return help_language.said(
        "{error} (see: {command} --help)", error=text.rstrip(".。"), command=ctx.command_path
    )
