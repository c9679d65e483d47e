"""The daemon: where links, tables, the journal and the sinks are wired to one another.

In: a configuration. Out: tables at work until stopped; every error one clear line.
Must not know: rules, frames, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import partial
from typing import Any, NamedTuple, NoReturn

import msgspec

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller, Request, StatusRequest
from shoe_ctl.api.unix_socket import Handler, LineSource, bound_socket
from shoe_ctl.api.unix_socket import serving as serving_socket
from shoe_ctl.clock import Clock, sleep
from shoe_ctl.config import effective
from shoe_ctl.config.resolve import TableSetup, naming_file, resolve
from shoe_ctl.config.schema import Config
from shoe_ctl.daemon import journal_loss
from shoe_ctl.daemon.callers import gid_of, senders_of, users_of
from shoe_ctl.daemon.checkpoint_delivery import delivering_checkpoints
from shoe_ctl.daemon.delivery import (
    NamedSink,
    UndeliveredAlarm,
    all_well,
    delivering,
    given_last,
    open_sinks,
    reopening,
)
from shoe_ctl.daemon.disk_use import DiskUse
from shoe_ctl.daemon.environment import SYSTEM, Environment
from shoe_ctl.daemon.event_copies import find_copies
from shoe_ctl.daemon.event_streams import event_streams
from shoe_ctl.daemon.journal_key import KeyRuling, change_key, describe_key, warn_if_open
from shoe_ctl.daemon.journal_upkeep import Checkpointer, Retention, retention_policy
from shoe_ctl.daemon.outage import (
    JournalReopener,
    Outage,
    fault_of,
    journal_failed,
    loss_ruled,
    marker_for,
)
from shoe_ctl.daemon.principals import People, may_not_act
from shoe_ctl.daemon.refill import refill
from shoe_ctl.daemon.requests import (
    RequestHandler,
    Streams,
    status_in_outage,
)
from shoe_ctl.daemon.round_queries import RoundQueries
from shoe_ctl.daemon.shoe_commands import ShoeCommandSender
from shoe_ctl.daemon.shoe_link import Comparison, ShoeLink
from shoe_ctl.daemon.state_streams import StateStreams
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.daemon.transactions import TableTransactions
from shoe_ctl.errors import ConfigError, JournalError, ShoeCtlError
from shoe_ctl.history import snapshots
from shoe_ctl.history.recorder import TableRecorder
from shoe_ctl.history.snapshots import RecoveredTable
from shoe_ctl.journal import signing
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.evidence import PossibleLoss, was_replaced
from shoe_ctl.journal.journal import DeliveryGate, Journal
from shoe_ctl.journal.loss import MissingEvents, recovered_records
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import (
    DaemonStart,
    LossRuling,
    Meta,
    RecoveredEvents,
    Ruling,
)
from shoe_ctl.journal.recovery import Recovered, current_epoch, rulings
from shoe_ctl.journal.recovery import recover as recovered_numbers
from shoe_ctl.journal.store import AcceptedLoss, Store
from shoe_ctl.link.address import parse_address
from shoe_ctl.link.connection import Connection
from shoe_ctl.link.hotplug import watch_arrivals
from shoe_ctl.link.reconnect import Supervisor
from shoe_ctl.link.serial import ports_closed
from shoe_ctl.link.transport import Opener
from shoe_ctl.link.usb_discovery import Backends, libusb
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.procedures.stack import has_storage_outage
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.texts.catalogue import text
from shoe_ctl.texts.message import message

COMPARED_WITHIN_S = 60.0
"""Sinks wait for so long for a shoe that may show a loss."""

NO_SOCKET = (
    "add one and start again, or start once with --accept-loss --person NAME --reason WHY "
    "--consented-by NAME"
)

log = logging.getLogger(__name__)


class Daemon:
    """Serves the tables of a configuration. ``sinks`` are added to those configured.

    ``host_boot`` changes when the host boots. ``executor`` opens ports, which can block; ``usb``
    finds USB devices. ``key_ruling`` is a ruling that another key signs the journal from now on,
    ``accepted`` one that a journal which may have lost its newest part goes on. With ``wait`` a
    port that is missing at the start is waited for, like one that is lost later. ``vfs`` names the
    file layer of the journal, where it is not SQLite's own.

    Raises:
        ConfigError: the configuration names a game, a profile, a port or a setting that is wrong.
        GameFileError: a game file is wrong.
    """

    def __init__(  # noqa: PLR0913 - all that reaches the host is handed in
        self,
        config: Config,
        *,
        clock: Clock,
        executor: Executor,
        host_boot: str,
        sinks: Sequence[NamedSink] = (),
        usb: Backends = libusb,
        key_ruling: KeyRuling | None = None,
        accepted: Ruling | None = None,
        wait: bool = False,
        vfs: str | None = None,
        environment: Environment = SYSTEM,
    ) -> None:
        self._config = config
        self._clock = clock
        self._executor = executor
        self._host_boot = host_boot
        self._sinks = sinks
        self._usb = usb
        self._key_ruling = key_ruling
        self._accepted = accepted
        self._wait = wait
        self._vfs = vfs
        self._environment = environment
        self._path = config.path(config.journal.path)
        self._given = partial(given_last, config)
        self._reopening = JournalReopener(self._path, clock, vfs, environment, self._given)
        self._marker = marker_for(config)
        self._setups = resolve(config)
        with naming_file(config):
            self._users = {} if config.socket is None else users_of(config.socket)
            self._gid = None if config.socket is None else gid_of(config.socket)
            self._senders = senders_of(config, self._users.values())
        over_sinks = {user: who for each in self._senders.values() for user, who in each.items()}
        at_socket = {caller.user: caller for caller in self._users.values()}
        self._people = People([*(over_sinks | at_socket).values(), *environment.callers])
        self._ways_in = list(environment.ways_in)
        self._openers: dict[str, Opener] = {}
        self._reopen = asyncio.Event()
        self.runners: dict[str, TableRunner] = {}
        self.outage: Outage | None = None
        self.doubt: str | None = None
        self._recorded_start: DaemonStart | None = None
        self._epoch: str | None = None
        self._compared: set[str] = set()
        self._losses = journal_loss.OpenLosses()
        self._socket: socket.socket | None = None
        self._ruling: tuple[str, TableCommand] | None = None

    @property
    def settings(self) -> list[TableSettings]:
        """Return every table's settings."""
        return [setup.settings for setup in self._setups]

    async def run(
        self, ready: Callable[[], None] = lambda: None, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """Serve until cancelled. Call ``ready`` once every shoe's port is open or waited for.

        What is stored by then is delivered before it returns. When the storage fails, no table goes
        on until the journal is open again and verified, and a person says so. ``tell`` is given a
        line for each change of that, and ``outage`` holds it meanwhile. If this process ends
        before, the next one finds a mark of the outage and goes on from there.

        Raises:
            PortError: a shoe's port cannot be opened at the start, without ``wait``.
            JournalError: the journal cannot be opened or used at the start.
            EnvironmentFault: a sink's file or the socket cannot be opened.
        """

        def is_ready() -> None:
            self._log_start()
            ready()

        readiness = _Readiness({p.settings.table for p in self._setups}, is_ready)
        async with AsyncExitStack() as stack:
            self._bound = stack.enter_context(ExitStack())
            stack.push_async_callback(ports_closed)
            self._marking = stack.enter_context(self._environment.thread("outage-notes"))
            # Not where ports are opened: a table waits for its keys in its turn, and ports hang.
            self._key_files = stack.enter_context(self._environment.thread("key-files"))
            store = await self._open_first(ready, tell)
            try:
                opened = await open_sinks(
                    self._config, stack, self._environment, self._senders, self._clock.wall_us
                )
                sinks = [*self._sinks, *opened]
                self._ways_in += [named.way_in for named in opened if named.way_in is not None]
                await stack.enter_async_context(reopening(sinks, self._reopen))
                self._bind_socket()  # what is wrong with it is known before anything is stored
                self._check_key(store)
            except BaseException:
                store.close()
                raise
            while True:
                before = self.outage
                try:
                    await self._serve(store, sinks, readiness, tell)
                except JournalError as error:
                    if self.outage is None:  # no table was at work yet
                        raise
                    if self.outage is before:
                        self._reopening.failed(error)
                    reraise_cancellation()
                async with self._accept_requests(self._refuse):
                    store = await self._reopening.done()

    def _check_key(self, store: Store) -> None:
        """Finish a change of the key that was broken off, and make one that was ruled.

        Raises:
            JournalError: a key is missing, cannot be used, or cannot be changed.
        """
        signing.finish_change(store.path, store.signed_with)
        if self._key_ruling is not None:
            change_key(store, self._key_ruling, self._clock.wall_us())

    def reopen_sinks(self) -> None:
        """Open sinks' files anew that were renamed or removed. Call it on the loop."""
        self._reopen.set()

    async def _open_first(self, ready: Callable[[], None], tell: Callable[[str], None]) -> Store:
        """Return the store at the start.

        It is verified if the last daemon ended in an outage, or if the file is not the one that was
        written. One that may have lost its newest part is only opened after a ruling.
        """
        self.outage = self._marker.found()
        if self.outage is not None:
            log.warning(
                'storage: an earlier daemon ended during a fault: reason="%s"',
                text(self.outage.what),
            )
        replaced = was_replaced(self._path)
        if replaced:
            log.warning("journal: copied or restored: path=%s. All of it is verified.", self._path)
        try:
            if self.outage is not None or replaced:
                store = await self._reopening.at_once()
            else:
                store = self._open_store(None)
        except PossibleLoss as doubtful:
            return await self._await_ruling(doubtful, ready, tell)
        if self._accepted is not None:
            store.close()
            raise ConfigError(
                f"journal {self._path} lost nothing: start without --accept-loss, which would "
                "accept the next loss unseen"
            )
        return store

    def _open_store(self, accepted: AcceptedLoss | None) -> Store:
        return Store.open(
            self._path, vfs=self._vfs, given=self._given, accepted=accepted, head_needed=True
        )

    async def _await_ruling(
        self, doubtful: PossibleLoss, ready: Callable[[], None], tell: Callable[[str], None]
    ) -> Store:
        """Return the store of a doubtful journal, once a person ruled that it goes on.

        Nothing is written to it before, nor published from it.
        """
        if self._accepted is not None:
            return await self._continue_after_loss(doubtful, self._accepted)
        if self._config.socket is None and not self._environment.ways_in:
            raise JournalError(f"{doubtful}; there is no [socket] to rule at: {NO_SOCKET}")
        highest = journal_loss.common_highest(p.settings for p in self._setups)
        while True:
            self.doubt = str(doubtful)
            log.error("%s", doubtful)
            tell(self.doubt)
            ready()
            waiting = journal_loss.AwaitedRuling(
                self.doubt, partial(may_not_act, highest=highest), self._people.as_input, highest
            )
            store: Store | None = None
            try:
                async with self._accept_requests(waiting.answer):
                    try:
                        ruling = await waiting.ruled()
                        store = await self._continue_after_loss(doubtful, ruling)
                    except PossibleLoss as otherwise:  # the files were changed meanwhile
                        waiting.failed(otherwise)
                        doubtful = otherwise
                        continue
                    except JournalError as error:
                        waiting.failed(error)
                        raise
                    waiting.stored()
            except BaseException:  # the daemon is stopped while the ruling is answered
                if store is not None:
                    store.close()
                raise
            self.doubt, self._ruling = None, waiting.given
            return store

    async def _continue_after_loss(self, doubtful: PossibleLoss, ruling: Ruling) -> Store:
        """Open it under a new epoch. Every table then waits for a person, as after an outage."""
        now_us = self._clock.wall_us()
        what = loss_ruled([doubtful.what], ruling)
        self.outage = Outage(since_us=now_us, what=what)
        await asyncio.get_running_loop().run_in_executor(
            self._marking, self._marker.write, self.outage
        )
        gone_on = LossRuling(
            epoch=self._environment.epoch(),
            t_us=now_us,
            lost=tuple(doubt.what for doubt in doubtful.evidence),
            ruling=ruling,
        )
        with self._environment.thread("journal-again") as opener:
            store = await asyncio.get_running_loop().run_in_executor(
                opener, self._open_ruled, AcceptedLoss(doubtful.evidence, gone_on)
            )
        log.warning(
            'journal: loss accepted: path=%s epoch=%s ruling="%s"',
            self._path,
            gone_on.epoch,
            text(what),
        )
        return store

    def _open_ruled(self, accepted: AcceptedLoss) -> Store:
        """Verify what is left, recover events of the rest, and open the store."""
        with Reader.open(self._path, vfs=self._vfs) as reader:
            from shoe_ctl.journal.verify import verify

            found = verify(reader, newest=False)
            recovered = self._recover(MissingEvents(reader)) if found.first_bad is None else ()
        if found.first_bad is not None:
            bad = found.first_bad
            raise JournalError(f"journal {self._path} is corrupt: record {bad.n}: {bad.text}")
        return self._open_store(msgspec.structs.replace(accepted, recovered=recovered))

    def _recover(self, missing: MissingEvents) -> tuple[RecoveredEvents, ...]:
        """Return what the sinks still hold of the missing events. It blocks."""
        return tuple(recovered_records(find_copies(self._config, missing)))

    def _epoch_of(self, reader: Reader, table: str) -> str:
        """Return the table's epoch. A journal without any gets one."""
        known = current_epoch(reader, table)
        if known is None:
            self._epoch = known = self._epoch or self._environment.epoch()
        return known

    def _announce(self, outage: Outage, store: Store, tell: Callable[[str], None]) -> None:
        """Announce an outage at once, everywhere but in the journal."""
        self.outage = outage
        self._reopening.begin(store.ends())
        log.error("%s", outage.refusal())
        tell(outage.refusal())
        # Not waited for: requests must be answered even while the disk hangs.
        self._marking.submit(self._marker.write, outage)

    async def _clear_outage(self) -> None:
        """Remove the mark of an outage: every table has stored it."""
        if self.outage is not None:
            await asyncio.get_running_loop().run_in_executor(self._marking, self._marker.clear)
            self.outage = self._ruling = None

    async def _refuse(self, caller: Caller, asked: Request) -> dict[str, Any]:
        """Answer while no table is at work: only how the tables stood before an outage."""
        if self.outage is not None:
            if isinstance(asked, StatusRequest) and self.runners:
                return status_in_outage(caller, asked, self.runners, self.outage)
            raise RequestRefused(fault_of(self.outage.what))
        raise RequestRefused(message("daemon_starting"))

    def _bind_socket(self) -> None:
        """Bind the socket once, for as long as the daemon runs.

        Over rulings and outages it is there: a caller who comes between two of them waits.
        """
        if self._socket is None and (path := self._config.socket_path) is not None:
            self._socket = self._bound.enter_context(bound_socket(path, gid=self._gid))

    @asynccontextmanager
    async def _accept_requests(
        self, handler: Handler, streams: LineSource | None = None
    ) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            self._bind_socket()
            if self._socket is not None:
                at_socket = serving_socket(self._socket, self._users, handler, streams=streams)
                await stack.enter_async_context(at_socket)
            for way_in in self._ways_in:
                await stack.enter_async_context(way_in(handler))
            yield

    async def _serve(
        self,
        store: Store,
        sinks: Sequence[NamedSink],
        readiness: _Readiness,
        tell: Callable[[str], None],
    ) -> NoReturn:
        """Serve on this store until cancelled or until it fails, then close it."""
        async with AsyncExitStack() as stack:
            writer = stack.enter_context(self._environment.thread("journal"))
            journal = Journal(store, writer)
            stack.push_async_callback(journal.close)
            checkpointer = await self._make_checkpointer(journal, store, sinks)
            alarm = UndeliveredAlarm()
            recovered = self._recovered(store)
            gate = self._gate(store, recovered, sinks)
            losses = journal_loss.LossRulings(
                self._losses,
                self.runners,
                journal,
                gate,
                self._clock,
                epoch=self._environment.epoch,
                tell=tell,
                recover=partial(self._recover, self._missing_now(store)),
            )
            deliveries = await stack.enter_async_context(
                delivering(
                    sinks,
                    journal,
                    store,
                    self._environment,
                    alarm.of,
                    gate,
                    tables=[p.settings.table for p in self._setups],
                    now_us=self._clock.wall_us,
                )
            )
            await stack.enter_async_context(
                delivering_checkpoints(sinks, journal, store, self._environment, checkpointer)
            )
            must_open = self.outage is None and not self._wait
            at_work = [
                await self._open_table(table, journal, readiness, checkpointer, gate, losses)
                for table in recovered
            ]
            alarm.set_tables(self.runners)
            events = stack.enter_context(
                event_streams(journal, store, self._environment, gate, self._clock)
            )
            disk = DiskUse(
                self._clock, lambda: store.stored, self._free_bytes, self._report_disk_use
            )
            requests = RequestHandler(
                self.runners,
                deliveries.sinks,
                self._people,
                Streams(
                    events,
                    StateStreams(self.runners, self._clock, disk),
                    RoundQueries(events.read, gate),
                ),
                disk,
                partial(describe_key, store),
            )
            stack.push_async_callback(requests.close)
            await self._clear_outage()
            await stack.enter_async_context(self._accept_requests(requests.answer, requests.stream))
            failed = False
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(requests.watch(), name="requests")
                    group.create_task(journal.watch(), name="journal")
                    group.create_task(checkpointer.run(), name="checkpoints")
                    group.create_task(disk.run(), name="disk")
                    group.create_task(all_well(deliveries.tasks), name="sinks")
                    group.create_task(refill(deliveries.sinks, self.runners), name="refill")
                    group.create_task(self._report_held(tell), name="released")
                    for runner, supervisor in at_work:
                        if runner.table in gate.waiting:
                            waits = self._open_gate_in_time(gate, runner)
                            group.create_task(waits, name=f"{runner.table} gate")
                        group.create_task(runner.tick_forever(), name=f"{runner.table} clock")
                        opening = self._open_link(
                            group, runner, supervisor, readiness, must_open=must_open
                        )
                        group.create_task(opening, name=f"{runner.table} opening")
                    # A task that fails ends this wait instead of the group's own. Only then does
                    # the group take its cancellation back, and one that is left comes from outside.
                    await asyncio.get_running_loop().create_future()
            except BaseExceptionGroup as errors:
                failed, error = True, root_cause(errors)
                if isinstance(error, JournalError):
                    what = journal_failed(store.failure or str(error))
                    outage = Outage(since_us=self._clock.wall_us(), what=what)
                    self._announce(outage, store, tell)
                raise error from None
            finally:
                if store.failure is None:
                    # After a failure the next start signs.
                    await flush([each for each, _ in at_work], None if failed else checkpointer)
        raise AssertionError("a link ends only by being cancelled")

    def _missing_now(self, store: Store) -> MissingEvents:
        """Return what tells which events are missing, by how the tables stand before they start."""
        with store.reader() as reader:
            return MissingEvents(reader, [setup.settings.table for setup in self._setups])

    def _gate(
        self, store: Store, recovered: Sequence[_TableStart], sinks: Sequence[NamedSink]
    ) -> DeliveryGate:
        """Return the gate that holds back events until the shoes were compared.

        Which shoes are waited for is known before anything is published.
        """
        with store.reader() as reader:
            ruled = [gone_on.unpublished for _, gone_on in rulings(reader)]
            unpublished = [self._losses.unpublished, *ruled]
            withheld = [(t, *records) for each in unpublished for t, records in each.items()]
            published = max((reader.cursor(named.name) for named in sinks), default=0)
        waited = {
            r.setup.settings.table: r.not_compared_since
            for r in recovered
            if r.not_compared_since is not None
        }
        gate = DeliveryGate(min((store.last_n, *waited.values())), withheld, published)
        for table in waited:
            gate.wait_for(table)
        return gate

    async def _open_gate_in_time(self, gate: DeliveryGate, runner: TableRunner) -> None:
        """Open the gate for a shoe that is away: it must not hold back events for longer.

        A shoe that shows a loss does, until a person rules. The time of a table that waits for
        *resume* starts with that, as its link is not opened before.
        """
        await runner.transactions.released()
        await sleep(self._clock, COMPARED_WITHIN_S)
        if runner.doubt is None and runner.table in gate.waiting:
            log.warning(
                "%s: shoe not compared: waited_s=%g. Events are published without comparing them "
                "with the shoe's own record.",
                runner.table, COMPARED_WITHIN_S,
            )  # fmt: skip
            gate.open(runner.table)

    async def _make_checkpointer(
        self, journal: Journal, store: Store, sinks: Sequence[NamedSink]
    ) -> Checkpointer:
        """Return what signs the journal, and record the start that it is to sign.

        A key that is missing is reported at once.
        """
        key = (store.path, store.signed_with)
        signing.check_key(*key)
        load = partial(signing.open_signer, *key)
        if store.last_n == 0 and signing.key_path(store.path).exists():
            log.warning(
                "journal: created beside an old key: path=%s. Events are numbered from 1 again, "
                "under another source.",
                store.path,
            )
        await self._record_start(journal)
        every_s = self._config.journal.checkpoint_every_s
        kept = retention_policy(self._config, [named.name for named in sinks])
        retention = None if kept is None else Retention(journal, store.reader, self._executor, kept)
        return Checkpointer(
            journal,
            load,
            self._clock,
            self._executor,
            every_s=every_s,
            retention=retention,
            look=partial(warn_if_open, store.path),
        )

    async def _record_start(self, journal: Journal) -> None:
        """Store what runs and by which configuration, once."""
        if self._environment.installed is None or self._recorded_start is not None:
            return
        runs, plain = self._environment.installed(), effective.effective(self._config)
        start = DaemonStart(
            t_us=self._clock.wall_us(),
            software=runs.software,
            python=runs.python,
            files=runs.files,
            configuration=plain,
            configuration_sha256=effective.digest(plain),
        )
        batch = Batch()
        batch.append_daemon_start(start)
        await journal.commit(batch)
        self._recorded_start = start

    def _log_start(self) -> None:
        """Log the digests of what was recorded, for a log that is kept elsewhere."""
        if (start := self._recorded_start) is not None:
            log.info(
                "started: software=%s python=%s files=%s configuration=%s",
                start.software, start.python, start.files, start.configuration_sha256,
            )  # fmt: skip

    async def _open_link(
        self,
        group: asyncio.TaskGroup,
        runner: TableRunner,
        supervisor: Supervisor,
        readiness: _Readiness,
        *,
        must_open: bool,
    ) -> None:
        """Start the table's link, where the storage had failed once a person said *resume*."""
        if runner.transactions.is_held:
            where = self._resume_hint
            log.warning("%s: waiting for resume: reason=storage_fault%s", runner.table, where)
            readiness.reached(runner.table)
            await runner.transactions.released()
            must_open = False
        if not must_open:
            readiness.reached(runner.table)
        serving = supervisor.run(must_open_first=must_open)
        group.create_task(serving, name=f"{runner.table} link")

    @property
    def _resume_hint(self) -> str:
        """Return what has to be done first so that anybody can say *resume*."""
        if self._config.takes_commands or self._environment.ways_in:
            return ""
        return " (no [socket] to say it at: add one and start the daemon again)"

    async def _report_held(self, tell: Callable[[str], None]) -> None:
        if not (held := [r for r in self.runners.values() if r.transactions.is_held]):
            return
        names = ", ".join(runner.table for runner in held)
        again = "serving; storage failed and works again, waiting for resume"
        tell(f"{again}: {names}{self._resume_hint}")
        for line in self._losses.lines.values():
            tell(line)
        for runner in held:
            await runner.transactions.released()
        tell("serving")

    async def _report_disk_use(self, full_us: int | None) -> None:
        """Tell every table when the disk will be full, or that it will not be soon."""
        async with asyncio.TaskGroup() as group:
            for runner in self.runners.values():
                group.create_task(runner.disk_checked(full_us), name=f"{runner.table} disk")

    def _free_bytes(self) -> int:
        """Return the free bytes of the journal's disk."""
        disk = os.statvfs(self._path.parent)
        return disk.f_bavail * disk.f_frsize

    def _recovered(self, store: Store) -> list[_TableStart]:
        """Return what the journal says of the tables, and the controllers that go on from it."""
        with store.reader() as reader:
            tables = [setup.settings.table for setup in self._setups]
            before = snapshots.recover_tables(reader, tables)
            ruled = next((gone_on.epoch for _, gone_on in rulings(reader)), None)
            return [
                self._table_start(setup, reader, before[setup.settings.table], ruled)
                for setup in self._setups
            ]

    def _table_start(
        self, setup: TableSetup, reader: Reader, before: RecoveredTable, ruled: str | None
    ) -> _TableStart:
        settings = setup.settings
        numbers = recovered_numbers(reader, settings.table)
        epoch = self._epoch_of(reader, settings.table)
        meta = snapshots.start_record(setup.game, settings, self._clock.wall_us(), epoch)
        controller = snapshots.continue_under(before.controller, before.meta, meta)
        # A ruling on the journal also covers what this table's shoe will show of it.
        waits = has_storage_outage(controller.state) and ruled == epoch
        ruled_on = waits or (before.meta is not None and before.meta.epoch != epoch)
        replays = setup.profile.CAPABILITIES.replay and not ruled_on
        may_show = bool(numbers.devices) and replays and not self._is_compared(settings.table)
        if not may_show:
            since = None
        elif before.shoe_sent:
            since = reader.newest() or 0
        else:
            since = snapshots.not_compared_since(reader, settings.table, epoch)
        return _TableStart(setup, numbers, before, meta, controller, ruled_on, since)

    def _is_compared(self, table: str) -> bool:
        """Return whether its shoe showed this process that nothing is lost, and no loss since."""
        return table in self._compared and table not in self._losses.lines

    async def _open_table(  # noqa: PLR0913 - what a table is wired to
        self,
        recovered: _TableStart,
        journal: Journal,
        readiness: _Readiness,
        checkpointer: Checkpointer,
        gate: DeliveryGate,
        losses: journal_loss.LossRulings,
    ) -> tuple[TableRunner, Supervisor]:
        setup, before = recovered.setup, recovered.before
        settings, shoe, profile = setup.settings, setup.config.shoe, setup.profile
        numbers, table = recovered.numbers, setup.settings.table
        earlier = self.runners.get(table)

        def opens(_: str) -> None:
            self._compared.add(table)
            gate.open(table)

        recorder = TableRecorder(table, recovered.meta, journal.ends, dict(numbers.devices))
        transactions = TableTransactions(
            recovered.controller,
            recorder,
            journal,
            self._clock,
            index=before.index,
            refusals=None if earlier is None else earlier.transactions.refusals,
            on_shoe=checkpointer.new_shoe,
        )
        link = ShoeLink(
            transactions,
            sender=ShoeCommandSender(setup.keys, self._key_files),
            compare=Comparison(
                expected=not recovered.ruled_on,
                is_compared=self._is_compared(table),
                opens=opens,
                losses=losses,
            ),
        )
        runner = TableRunner(
            transactions,
            link,
            reopened=earlier is not None,
            started_n=recovered.not_compared_since,
            executor=self._executor,
        )
        session_settings = shoe.session_settings(armed=profile.CAPABILITIES.arm)

        async def on_up(connection: Connection) -> None:
            await link.link_up(connection, shoe.profile, session_settings)
            readiness.reached(settings.table)

        supervisor = Supervisor(
            name=settings.table,
            profile=profile,
            settings=session_settings,
            opener=self._opener(setup),
            clock=self._clock,
            resume=link.resume,
            on_up=on_up,
            on_lost=link.link_lost,
            on_reception=link.receive,
            first_connection=numbers.connection + 1,
            arrivals=watch_arrivals(parse_address(shoe.port)),
            on_suspended=link.line_suspended,
            on_resumed=link.line_resumed,
            on_hearing=link.hearing_changed,
        )
        at, ruling = self._ruling or (None, None)
        await runner.start(
            self._host_boot, shoe.profile, self.outage, ruling if at == table else None
        )
        link.attach(supervisor)
        self.runners[settings.table] = runner
        return runner, supervisor

    def _opener(self, setup: TableSetup) -> Opener:
        """Return what opens the table's port.

        It stays the same after an outage: it knows whether the port is still being closed.
        """
        table, shoe = setup.settings.table, setup.config.shoe
        if table not in self._openers:
            port, serial = parse_address(shoe.port), setup.profile.SERIAL.at(shoe.baud)
            self._openers[table] = self._environment.opener(port, serial, self._executor, self._usb)
        return self._openers[table]


class _TableStart(NamedTuple):
    """A table as the journal has it, and what it is run with from now on.

    ``ruled_on``: a person ruled on what its shoe may show. ``not_compared_since``: the record
    behind which nothing was compared with what the shoe has; None where the shoe shows nothing.
    """

    setup: TableSetup
    numbers: Recovered
    before: RecoveredTable
    meta: Meta
    controller: TableController
    ruled_on: bool
    not_compared_since: int | None


class _Readiness:
    """Calls ``ready`` once every table's port was opened, or is not waited for."""

    def __init__(self, tables: set[str], ready: Callable[[], None]) -> None:
        self._left, self._ready = tables, ready

    def reached(self, table: str) -> None:
        if table in self._left:
            self._left.discard(table)
            if not self._left:
                self._ready()


# How serving ends.


def reraise_cancellation() -> None:
    """Raise the cancellation of this task, if any.

    A group whose tasks fail just as they are cancelled reports the failure alone.

    Raises:
        asyncio.CancelledError: this task was cancelled, too.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def flush(runners: Sequence[TableRunner], checkpointer: Checkpointer | None) -> None:
    """Store and sign the last records. An error is only logged: it must not undo a cancellation."""
    try:
        for runner in runners:
            await runner.stop()
        if checkpointer is not None:
            await checkpointer.sign()
    except JournalError as error:
        log.error('journal: last records not stored: reason="%s"', error)  # noqa: TRY400 - one line
    except Exception:
        log.exception("journal: last records not stored")


def root_cause(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error to report: one of ours before any other."""
    leaves = [root_cause(e) if isinstance(e, BaseExceptionGroup) else e for e in errors.exceptions]
    return next((e for e in leaves if isinstance(e, ShoeCtlError)), leaves[0])
