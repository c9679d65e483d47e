"""``shoectl run``: run the daemon on a configuration file until it is stopped.

In: a configuration file, signals. Out: logs on stderr; with --json public events on stdout.
Must not know: how the daemon does it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from shoe_ctl.cli.entry_point import has_terminal
from shoe_ctl.errors import JournalError, ShoeCtlError, UsageError

if TYPE_CHECKING:
    from shoe_ctl.clock import Clock
    from shoe_ctl.config.schema import Config
    from shoe_ctl.daemon.daemon import Daemon
    from shoe_ctl.daemon.environment import ServiceManager
    from shoe_ctl.journal.record_format import Ruling

PATIENT_PRESSES = 2
"""Presses of Ctrl-C that let the daemon end by itself. After the second it no longer waits for
sinks: the next start delivers the rest."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@click.command
@click.option(
    "--config",
    "config_file",
    required=True,
    metavar="FILE",
    help="The configuration: tables, shoes, sinks.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Write public events to stdout, one per line."
)
@click.option(
    "--new-key", is_flag=True, help="Sign with a new key from now on; the old one endorses it."
)
@click.option("--accept-lost-key", is_flag=True, help="Sign with another key: the old one is lost.")
@click.option(
    "--accept-loss", is_flag=True, help="Continue a journal that lost its newest records."
)
@click.option("--person", metavar="NAME", help="Who decided that: a gaming shift manager.")
@click.option("--reason", metavar="WHY", help="Why: what happened to the key, or to the records.")
@click.option("--consented-by", metavar="NAME", help="The second person, who consents.")
@click.option(
    "--wait", is_flag=True, help="Start even if a shoe's port is missing; connect when it appears."
)
@click.option("-v", "--verbose", is_flag=True, help="Log every attempt to connect to a shoe.")
def run(  # noqa: PLR0913 - the options of the command line
    config_file: str,
    as_json: bool,
    new_key: bool,
    accept_lost_key: bool,
    accept_loss: bool,
    person: str | None,
    reason: str | None,
    consented_by: str | None,
    wait: bool,
    verbose: bool,
) -> None:
    """Run the daemon: read the shoe, apply the rules, keep the journal, publish events.

    If a shoe's port cannot be opened at the start, the daemon exits; with --wait it serves the
    tables and connects when the port appears. It always reconnects to a port that is lost
    later.

    SIGTERM and Ctrl-C stop it. SIGHUP reopens the files of sinks, as logrotate expects.

    --new-key, --accept-lost-key and --accept-loss are rulings, each for one start. They need
    --person, a gaming shift manager, with --reason and --consented-by; the journal records them.
    With a [socket], both people are users of it, and shoectl table accept_loss replaces
    --accept-loss.

    \b
    Examples:
      shoectl run --config table.toml
      shoectl run --config table.toml --wait --json
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.cli.log_format import log_to_stderr
    from shoe_ctl.config.schema import load, with_public_output

    ruled = [
        option
        for option, given in (
            ("--new-key", new_key),
            ("--accept-lost-key", accept_lost_key),
            ("--accept-loss", accept_loss),
        )
        if given
    ]
    if len(ruled) > 1:
        raise UsageError(f"{' and '.join(ruled)} are two rulings: give one at a start")
    if not ruled and (person or reason or consented_by):
        raise UsageError(
            "--person, --reason and --consented-by belong to a ruling: add --new-key, "
            "--accept-lost-key or --accept-loss"
        )
    log_to_stderr(logging.DEBUG if verbose else logging.INFO)
    logging.getLogger("transitions").setLevel(logging.WARNING)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    config = load(config_file)
    options = _Options(wait=wait)
    if ruled:
        ruling = _ruling(config, ruled[0], person, reason, consented_by)
        if accept_loss:
            options = _Options(accepted=ruling, wait=wait)
        else:
            options = _Options(key_ruling=ruling, key_is_lost=accept_lost_key, wait=wait)
    if as_json:
        config = with_public_output(config)
    if asyncio.run(serve(config, options)):
        logging.getLogger(__name__).info("stopped; what is stored was delivered")


def _ruling(
    config: Config,
    option: str,
    person: str | None,
    reason: str | None,
    consented_by: str | None,
) -> Ruling:
    """Return the ruling that the options say.

    Where the configuration lists users, both people must be among them, in positions that are
    high enough, as at the socket. Without any, two names are all that is known.

    Raises:
        UsageError: an option is missing, or a person may not rule or consent.
    """
    from shoe_ctl.config.resolve import naming_file, resolve
    from shoe_ctl.daemon.callers import users_of
    from shoe_ctl.daemon.journal_loss import LOWEST, RulingRefused, common_highest, make_ruling
    from shoe_ctl.daemon.principals import People
    from shoe_ctl.table.positions import is_sufficient
    from shoe_ctl.texts.message import message

    if not person:
        raise UsageError(f"{option} needs the person who decided: add --person NAME")
    with naming_file(config):
        users = [] if config.socket is None else [*users_of(config.socket).values()]
        highest = common_highest(setup.settings for setup in resolve(config))
    # What is ruled, as a refusal names it; an accepted loss has its words there.
    without_reason = message("daemon_key_without_reason")
    of_key = () if option == "--accept-loss" else ("a change of the key", without_reason)
    people, position, second = People(users), LOWEST, None
    if users:
        asks = people.find(person)
        if asks is None:
            known = ", ".join(user.names[0] for user in users)
            raise UsageError(f"--person: {person} is no user of [socket]; name one of {known}")
        position = next(
            (
                own
                for own in (asks.position, *asks.also)
                if is_sufficient(own, LOWEST, highest=highest)
            ),
            asks.position,
        )
        second = people.second_person(asks, person=person, consented_by=consented_by)
    try:
        return make_ruling(
            *of_key,
            person=person, position=position, reason=reason, consented_by=consented_by,
            second=second, highest=highest,
        )  # fmt: skip
    except RulingRefused as error:
        raise UsageError(f"{option}: {error}") from None


class _Options(NamedTuple):
    """The options of a start of the daemon, beside its configuration."""

    accepted: Ruling | None = None
    key_ruling: Ruling | None = None
    key_is_lost: bool = False
    wait: bool = False


async def serve(config: Config, options: _Options) -> bool:
    """Run the daemon until SIGTERM (then True) or SIGINT (raises KeyboardInterrupt).

    SIGHUP opens the files of sinks anew where they were renamed or removed.

    Raises:
        ConfigError: the configuration needs what this version cannot be told.
        JournalError: it was stopped, or could not start, while nothing could be stored.
    """
    from concurrent.futures import ThreadPoolExecutor

    from shoe_ctl.clock import SystemClock
    from shoe_ctl.config.resolve import naming_file, refuse_what_needs_people, warnings
    from shoe_ctl.daemon.daemon import Daemon
    from shoe_ctl.daemon.environment import (
        Environment,
        allow_open_files,
        service_manager,
        what_is_installed,
    )
    from shoe_ctl.daemon.journal_key import KeyRuling

    ruling = options.key_ruling
    allow_open_files()
    clock = SystemClock()
    with (
        service_manager(os.environ, os.getpid()) as manager,
        ThreadPoolExecutor(thread_name_prefix="port") as executor,
    ):
        daemon = Daemon(
            config,
            clock=clock,
            executor=executor,
            host_boot=host_boot(),
            key_ruling=None if ruling is None else KeyRuling(ruling, options.key_is_lost),
            accepted=options.accepted,
            wait=options.wait,
            environment=Environment(installed=what_is_installed),
        )
        with naming_file(config):
            for settings in daemon.settings:
                refuse_what_needs_people(settings, way_in=config.takes_commands)
        async with _watched(manager, clock):
            warned = warnings(config)
            say_ready = partial(_say_ready, manager, daemon, warned, wait=options.wait)
            serving = daemon.run(say_ready, manager.status)
            with _hangups(daemon.reopen_sinks):
                terminated = await until_terminated(serving)
            if daemon.doubt is not None:
                raise JournalError(f"stopped without a ruling: {daemon.doubt}")
            if daemon.outage is not None:
                from shoe_ctl.texts.catalogue import text

                what = text(daemon.outage.what)
                raise JournalError(f"stopped while nothing could be stored: {what}")
            return terminated


def _say_ready(
    manager: ServiceManager, daemon: Daemon, warned: Sequence[str], *, wait: bool
) -> None:
    """Report that the daemon is ready.

    ``warned``, the warnings about the configuration, are logged only once it serves: a daemon that
    cannot start logs one line, why.
    """
    from shoe_ctl.daemon.environment import keep_objects

    keep_objects(len(daemon.settings))
    if daemon.doubt is not None:
        manager.ready()  # it runs, and waits for a person's ruling
        return
    # The port of a table that is held is not opened.
    held = any(runner.transactions.is_held for runner in daemon.runners.values())
    what = "the tables are served" if wait or held else "every shoe's port is open"
    logging.getLogger(__name__).info("ready: %s", what)
    for line in warned:
        logging.getLogger(__name__).warning(line)
    manager.ready()


@asynccontextmanager
async def _watched(manager: ServiceManager, clock: Clock) -> AsyncIterator[None]:
    """Tell the service manager that the loop is alive, what ends the daemon, and that it ends."""
    beating = asyncio.create_task(manager.beat(clock), name="watchdog")
    try:
        yield
    except JournalError as error:
        # The journal cannot say so itself.
        manager.status(f"storage fault, nothing is acknowledged any more: {error}")
        raise
    except ShoeCtlError as error:
        manager.status(str(error))
        raise
    finally:
        manager.stopping()
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating


def host_boot() -> str:
    """An id that changes when this host boots."""
    return _BOOT_ID.read_text().strip()


async def until_terminated(work: object) -> bool:
    """Await ``work``; return True if SIGTERM cancelled it.

    SIGINT cancels it, too, and is raised again once it has ended. The third Ctrl-C ends it at once.
    """
    assert asyncio.iscoroutine(work)
    task = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    terminated = False

    def stop() -> None:
        nonlocal terminated
        terminated = True
        task.cancel()

    before = signal.getsignal(signal.SIGTERM)
    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        with _interrupts(task.cancel):
            await task
    except asyncio.CancelledError:
        if not terminated:
            raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, before)
    return terminated


@contextmanager
def _hangups(reopen: Callable[[], None]) -> Iterator[None]:
    """SIGHUP calls ``reopen`` on the loop.

    If the daemon's terminal was closed, SIGHUP stops the daemon as SIGTERM does, except under
    nohup.
    """
    may_stop = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN and has_terminal()

    def hung_up() -> None:
        if may_stop and not has_terminal():
            signal.raise_signal(signal.SIGTERM)
        else:
            reopen()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, hung_up)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        if not has_terminal():  # a daemon that ends is not ended another way
            signal.signal(signal.SIGHUP, signal.SIG_IGN)


@contextmanager
def _interrupts(stop: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C calls ``stop`` on the loop, and the third raises KeyboardInterrupt.

    At the end the signal is raised again, for the former handler.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # ignored, as in the background of a shell
        yield
        return
    loop = asyncio.get_running_loop()
    presses = 0

    def pressed(*_: object) -> None:
        nonlocal presses
        presses += 1
        if presses > PATIENT_PRESSES:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(stop)

    signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if presses:
            signal.raise_signal(signal.SIGINT)
