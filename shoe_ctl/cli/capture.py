"""``shoectl capture``: record raw bytes from a shoe, with times, to a capture file.

In: a profile's name and a port, or a journal. Out: lines of a capture in a file or on stdout.
Must not know: what the bytes mean, the round, the journal.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from firmware_proto.profiles import PROFILES
from shoe_ctl.cli.common import Number
from shoe_ctl.errors import ConfigError, EnvironmentFault, InputRefused, UsageError

if TYPE_CHECKING:
    from firmware_proto.capture import Entry
    from shoe_ctl.link.address import Address


@click.command
@click.option(
    "--profile",
    "name",
    metavar="PROFILE",
    help=f"The protocol of the shoe: {', '.join(PROFILES)}.",
)
@click.option(
    "--port",
    metavar="PORT",
    help="The port: a path such as /dev/ttyUSB0, tcp://HOST:PORT or usb:SERIAL.",
)
@click.option(
    "--journal", metavar="FILE", help="Make the capture from this journal, not from a port."
)
@click.option("--table", metavar="TABLE", help="With --journal: the table, if it holds several.")
@click.option("-o", "--output", metavar="FILE", help="The new file to write.  [stdout]")
@click.option("--seconds", metavar="S", type=Number(0, min_open=True), help="Stop after S seconds.")
def capture(  # noqa: PLR0913 - an argument for each option
    name: str | None,
    port: str | None,
    journal: str | None,
    table: str | None,
    output: str | None,
    seconds: float | None,
) -> int:
    """Record the bytes that come from a shoe, with times, until Ctrl-C.

    Nothing is sent to the shoe, so one that only answers stays silent. A port in use by a
    daemon cannot be recorded: take the bytes from its journal instead. A lost port is reopened,
    and both are recorded. Read a capture with shoectl decode FILE, play it back with shoe-sim
    play FILE.

    \b
    Examples:
      shoectl capture --profile reference --port ./shoe -o shoe.capture
      shoectl capture --journal journal.db --table bac-07 -o journal.capture
    """  # noqa: D301 - click wants the very character
    if journal is not None:
        if (name, port, seconds) != (None, None, None):
            raise UsageError("--journal can be combined with --table and --output only")
        return _from_journal(journal, table, output)
    if table is not None:
        raise UsageError("--table needs --journal: a port has no table")
    if seconds is not None and math.isnan(seconds):
        raise UsageError("--seconds: expected a number above 0")
    if name is None or port is None:
        missing = "profile" if name is None else "port"
        raise UsageError(
            f"--{missing} is missing: name a shoe with --profile and --port, or give --journal"
        )
    return _from_port(name, port, output, seconds)


def _from_journal(journal: str, table: str | None, output: str | None) -> int:
    from shoe_ctl.cli.capture_files import journal_lines

    with ExitStack() as files:
        found = journal_lines(Path(journal), table)
        first = next(found, None)
        if first is None:
            raise InputRefused(f"{journal}: no connection to a shoe is recorded")
        file = sys.stdout if output is None else _new_file(output, files)
        for text in chain((first,), found):
            file.write(text + "\n")
        file.flush()
    return 0


def _from_port(name: str, port: str, output: str | None, seconds: float | None) -> int:
    if name not in PROFILES:
        raise UsageError(f"--profile: unknown profile {name!r} (have: {', '.join(PROFILES)})")
    from shoe_ctl.link.address import parse_address

    try:
        where = parse_address(port)
    except ConfigError as error:
        raise UsageError(f"--{error}") from None
    with ExitStack() as files:
        file = sys.stdout if output is None else _new_file(output, files)
        tally = _Tally(file, output or "stdout")
        interrupted = asyncio.run(_capture(name, where, port, tally, seconds))
        tally.sum_up(output)
    return 130 if interrupted else 0


def _new_file(path: str, files: ExitStack) -> TextIO:
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise EnvironmentFault(f"{path}: {why}: choose a new file") from None
    return files.enter_context(os.fdopen(number, "w", encoding="utf-8"))


class _Tally:
    """Writes the lines, each of them in the file when it is written, and counts what came."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._file, self._name = file, name
        self._to_screen = file.isatty()
        self.bytes = self.losses = 0

    def write(self, line: str) -> None:
        try:
            self._file.write(line + "\n")
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise EnvironmentFault(f"{self._name}: {error.strerror or error}") from None

    def show(self) -> None:
        """Show how much came so far, over itself, where a person looks on."""
        if sys.stderr.isatty() and not self._to_screen:
            click.echo(f"\r{self.bytes} bytes, lost {self.losses} times ", nl=False, err=True)

    def sum_up(self, output: str | None) -> None:
        """Show what came, and what to do with it."""
        if sys.stderr.isatty() and not self._to_screen:
            click.echo(err=True)
        again = "" if output is None else f". To decode: shoectl decode {output}"
        click.echo(f"{self.bytes} bytes, connection lost {self.losses} times{again}", err=True)


async def _capture(
    profile: str, port: Address, named: str, tally: _Tally, seconds: float | None
) -> bool:
    """Listens until SIGINT (then True), SIGTERM or the end of the time given."""
    from concurrent.futures import ThreadPoolExecutor

    from firmware_proto.capture import Chunk, Lost, Opened, line
    from firmware_proto.profiles import profile as profile_named
    from shoe_ctl.clock import SystemClock
    from shoe_ctl.link.recorder import record
    from shoe_ctl.link.serial import ports_closed
    from shoe_ctl.link.transport_factory import opener
    from shoe_ctl.link.usb_discovery import libusb

    clock = SystemClock()
    began = False

    def hears(entry: Entry) -> None:
        nonlocal began
        if not began:
            began = True
            tally.write(_header(profile, named, clock.wall_us()))
            click.echo(f"recording from {named}; stop with Ctrl-C", err=True)
        tally.write(line(entry))
        match entry:
            case Chunk():
                tally.bytes += len(entry.data)
            case Lost():
                tally.losses += 1
            case Opened():
                pass
        tally.show()

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="port") as executor:
        opens = opener(port, profile_named(profile).SERIAL, executor, libusb)
        try:
            return await _until_stopped(lambda: record(opens, clock, hears), seconds)
        finally:
            await ports_closed()


def _header(profile: str, port: str, t_us: int) -> str:
    from firmware_proto.capture import Header, header_line
    from shoe_ctl.records import utc

    return header_line(Header(profile=profile, port=port, started=utc(t_us)))


async def _until_stopped(
    work: Callable[[], Coroutine[None, None, None]], seconds: float | None
) -> bool:
    """Awaits the work; a signal, or the end of the time, is how it is meant to end."""
    import signal

    task = asyncio.create_task(work())
    loop = asyncio.get_running_loop()
    stopped: list[bool] = []

    def stop(interrupted: bool) -> None:
        stopped.append(interrupted)
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, stop, True)
    loop.add_signal_handler(signal.SIGTERM, stop, False)
    timer = None if seconds is None else loop.call_later(seconds, stop, False)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        if timer is not None:
            timer.cancel()
    return stopped[0]
