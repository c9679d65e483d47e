"""The daemon: where links, tables, the journal and the sinks are wired to one another.

In: a configuration. Out: tables at work until stopped; every error one clear line.
Must not know: rules, frames, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import msgspec

from firmware_proto.profiles import Profile, with_keys
from firmware_proto.profiles import profile as profile_named
from shoe_ctl import resuming, rules
from shoe_ctl.api.socket import serving as serving_socket
from shoe_ctl.config import Config, TableConfig
from shoe_ctl.errors import ConfigError, ShoeCtlError
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.journal import signing
from shoe_ctl.journal.cursors import SinkFeed
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.recovery import recover as recovered_numbers
from shoe_ctl.journal.store import Store
from shoe_ctl.keeping import Keeper
from shoe_ctl.link.arrivals import arrivals
from shoe_ctl.link.clock import Clock
from shoe_ctl.link.connection import Connection
from shoe_ctl.link.key_file import read_keys
from shoe_ctl.link.openers import opener
from shoe_ctl.link.ports import SerialPort, parse_port
from shoe_ctl.link.supervisor import Supervisor
from shoe_ctl.link.usb_devices import Backends, libusb
from shoe_ctl.records import Audience
from shoe_ctl.runner import TableRunner
from shoe_ctl.sinks.jsonl import open_jsonl
from shoe_ctl.sinks.pump import Pump, Sink
from shoe_ctl.staff import Staff, gid_of, users_of
from shoe_ctl.table.settings import TableSettings

log = logging.getLogger(__name__)

NONCE_BYTES = 16
"""What a shoe is asked to prove itself with; see ``with_keys``."""


class SinkPlace(msgspec.Struct, frozen=True):
    """A sink with its name, under which the journal keeps its cursor, and what it may see."""

    name: str
    sees: Audience
    sink: Sink


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A table's configuration, checked against its game and its shoe's profile."""

    config: TableConfig
    game: Game
    settings: TableSettings
    profile: Profile


class Daemon:
    """Serves the tables of a configuration. ``sinks`` come beside those configured.

    ``host_boot`` changes when the host boots. ``executor`` opens ports, which can block; ``usb``
    finds USB devices. ``new_key``: the journal may be signed with another key from now on.

    Raises:
        ConfigError: the configuration names a game, a profile, a port or a setting that is wrong.
        GameFileError: a game file is wrong.
    """

    def __init__(  # noqa: PLR0913 - all that touches the outside is handed in
        self,
        config: Config,
        *,
        clock: Clock,
        executor: Executor,
        host_boot: str,
        sinks: Sequence[SinkPlace] = (),
        usb: Backends = libusb,
        new_key: bool = False,
    ) -> None:
        self._config = config
        self._clock = clock
        self._executor = executor
        self._host_boot = host_boot
        self._sinks = sinks
        self._usb = usb
        self._new_key = new_key
        self._prepared = check(config)
        self._users = {} if config.socket is None else users_of(config.socket)
        self._gid = None if config.socket is None else gid_of(config.socket)
        self.runners: dict[str, TableRunner] = {}

    @property
    def settings(self) -> list[TableSettings]:
        """Every table's settings."""
        return [prepared.settings for prepared in self._prepared]

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until cancelled; ``ready`` is called when every shoe's port is open.

        What is stored by then is delivered before it returns.

        Raises:
            PortError: a shoe's port cannot be opened at the start.
            JournalError: the journal cannot be opened, or does not take more: nothing that is not
                stored was acknowledged or delivered.
            EnvironmentFault: a sink's file cannot be opened, or the socket not be made.
        """
        async with AsyncExitStack() as stack:
            store = Store.open(self._config.path(self._config.journal.path))
            writer = stack.enter_context(ThreadPoolExecutor(1, "journal"))
            journal = Journal(store, writer)
            stack.push_async_callback(journal.close)
            keeper = self._keeper(journal, store)
            await stack.enter_async_context(self._deliver(journal, store))
            waiting = _Waiting({p.settings.table for p in self._prepared}, ready)
            at_work = [
                await self._open_table(p, journal, store, waiting, keeper) for p in self._prepared
            ]
            staff = Staff(self.runners)
            if (path := self._config.socket_path) is not None:
                way_in = serving_socket(path, self._users, staff.answer, gid=self._gid)
                await stack.enter_async_context(way_in)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(staff.watch(), name="staff")
                    group.create_task(keeper.run(), name="checkpoints")
                    for runner, supervisor in at_work:
                        group.create_task(runner.tick_forever(), name=f"{runner.table} clock")
                        serving = supervisor.run(must_open_first=True)
                        group.create_task(serving, name=f"{runner.table} link")
            except BaseExceptionGroup as errors:
                raise _first(errors) from None
            finally:
                if store.failure is None:
                    for runner, _ in at_work:
                        await runner.stop()
                    await keeper.sign()

    def _keeper(self, journal: Journal, store: Store) -> Keeper:
        """What signs the journal; whether its key is there is told at once."""
        key = (store.path, store.signed_with)
        signing.check(*key, new_key=self._new_key)
        load = partial(signing.signer, *key, new_key=self._new_key)
        every_s = self._config.journal.checkpoint_every_s
        return Keeper(journal, load, self._clock, self._executor, every_s=every_s)

    @asynccontextmanager
    async def _deliver(self, journal: Journal, store: Store) -> AsyncIterator[None]:
        """Every sink at work; on leaving, what is committed is delivered first."""
        async with AsyncExitStack() as stack:
            readers = stack.enter_context(ThreadPoolExecutor(1, "journal-reader"))
            places = list(self._sinks)
            for configured in self._config.sink:
                name = configured.path
                path = name if name == "-" else str(self._config.path(name))
                output = stack.enter_context(ThreadPoolExecutor(1, "sink"))
                sink = open_jsonl(path, configured.sees, output)
                stack.push_async_callback(sink.close)
                places.append(SinkPlace(f"jsonl:{name}", configured.sees, sink))
            pumps = []
            for place in places:
                reader = store.reader()
                stack.callback(reader.close)
                feed = SinkFeed(journal, reader, readers, sink=place.name, audience=place.sees)
                pump = Pump(place.name, feed, place.sink)
                journal.on_commit(pump.wake)
                pumps.append(pump)
            tasks = [asyncio.create_task(p.run(), name=f"sink {p.name}") for p in pumps]
            try:
                yield
            finally:
                for pump in pumps:
                    pump.stop()
                for ended in await asyncio.gather(*tasks, return_exceptions=True):
                    if isinstance(ended, Exception):
                        log.error("a sink stopped: %s", ended)

    async def _open_table(
        self,
        prepared: Checked,
        journal: Journal,
        store: Store,
        waiting: _Waiting,
        keeper: Keeper,
    ) -> tuple[TableRunner, Supervisor]:
        settings, shoe, profile = prepared.settings, prepared.config.shoe, prepared.profile
        with store.reader() as reader:
            numbers = recovered_numbers(reader, settings.table)
            before = resuming.recover(reader, settings.table)
        meta = rules.meta(prepared.game, settings, self._clock.wall_us())
        controller = rules.go_on(before.controller, before.kept, meta)
        runner = TableRunner(
            controller,
            journal,
            self._clock,
            under=meta,
            devices=dict(numbers.devices),
            answers=before.answers,
            told=before.told,
            on_shoe=keeper.new_shoe,
        )
        session_settings = shoe.session_settings(armed=profile.CAPABILITIES.arm)

        async def on_up(connection: Connection) -> None:
            await runner.link_up(connection, shoe.profile, session_settings)
            waiting.reached(settings.table)

        port, serial = parse_port(shoe.port), profile.SERIAL.at(shoe.baud)
        supervisor = Supervisor(
            name=settings.table,
            profile=profile,
            settings=session_settings,
            opener=opener(port, serial, self._executor, self._usb),
            clock=self._clock,
            resume=runner.resume,
            on_up=on_up,
            on_lost=runner.link_lost,
            on_reception=runner.receive,
            first_connection=numbers.connection + 1,
            arrivals=arrivals(port),
        )
        await runner.start(self._host_boot)
        runner.attach(supervisor)
        self.runners[settings.table] = runner
        return runner, supervisor


class _Waiting:
    """Calls ``ready`` once every table's shoe was reached."""

    def __init__(self, tables: set[str], ready: Callable[[], None]) -> None:
        self._left, self._ready = tables, ready

    def reached(self, table: str) -> None:
        if table in self._left:
            self._left.discard(table)
            if not self._left:
                self._ready()


def check(config: Config) -> list[Checked]:
    """Check every table of a configuration against its game and its shoe's profile.

    Raises:
        ConfigError: a profile, a port or a setting is wrong. GameFileError: a game file is.
    """
    return [_check(config, table) for table in config.table]


def profile_of(config: Config, table: TableConfig) -> tuple[Profile, dict[str, Any]]:
    """A table's profile, with its keys, and the settings of its sessions, all checked.

    Raises:
        ConfigError: a profile, a setting, the port, its rate or the file of keys is wrong.
    """
    where = f"table {table.id}"
    try:
        chosen = profile_named(table.shoe.profile)
        if table.shoe.key_file is not None:
            keys = read_keys(config.path(table.shoe.key_file))
            chosen = with_keys(chosen, keys, partial(secrets.token_bytes, NONCE_BYTES))
        session_settings = table.shoe.session_settings(armed=chosen.CAPABILITIES.arm)
        chosen.host_session(resume=None, settings=session_settings)
        chosen.SERIAL.at(table.shoe.baud)
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{where}: shoe: {error}") from None
    try:
        port = parse_port(table.shoe.port)
    except ConfigError as error:
        raise ConfigError(f"{where}: shoe.{error}") from None
    if table.shoe.baud is not None and not isinstance(port, SerialPort):
        raise ConfigError(f"{where}: shoe: baud: {port} has none: it is for serial ports")
    return chosen, session_settings


def _check(config: Config, table: TableConfig) -> Checked:
    where = f"table {table.id}"
    chosen, _ = profile_of(config, table)
    is_file = "/" in table.game or table.game.endswith(".toml")
    game = catalog.load(str(config.path(table.game)) if is_file else table.game)
    if game.deck.name not in chosen.CAPABILITIES.decks:
        raise ConfigError(
            f"{where}: shoe: {table.shoe.profile} shoes cannot name the cards of {game.deck.name}, "
            f"which {game.id} is played with"
        )
    return Checked(config=table, game=game, settings=table.settings(game), profile=chosen)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to tell: one of ours before any other."""
    leaves = [_first(e) if isinstance(e, BaseExceptionGroup) else e for e in errors.exceptions]
    return next((e for e in leaves if isinstance(e, ShoeCtlError)), leaves[0])
