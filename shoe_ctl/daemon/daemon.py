"""The daemon: where links, tables, the journal and the sinks are wired to one another.

In: a configuration. Out: tables at work until stopped; every error one clear line.
Must not know: rules, frames, what an event means.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, NamedTuple, NoReturn

from shoe_ctl.api.asked import Asked, Caller, StatusAsked
from shoe_ctl.api.socket import Handler
from shoe_ctl.api.socket import serving as serving_socket
from shoe_ctl.config.resolve import TableSetup, naming_file, resolve
from shoe_ctl.config.schema import Config
from shoe_ctl.errors import ConfigError, EnvironmentFault, JournalError, ShoeCtlError
from shoe_ctl.history import snapshots
from shoe_ctl.history.snapshots import RecoveredTable
from shoe_ctl.journal import signing
from shoe_ctl.journal.bodies import GoneOn, Meta, Ruling
from shoe_ctl.journal.cursors import Gate
from shoe_ctl.journal.evidence import DoubtfulJournal, was_replaced
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.recovery import Recovered, epoch_of, rulings
from shoe_ctl.journal.recovery import recover as recovered_numbers
from shoe_ctl.journal.store import Accepted, Store
from shoe_ctl.journal.verify import verify
from shoe_ctl.link.arrivals import arrivals
from shoe_ctl.link.clock import Clock, sleep
from shoe_ctl.link.connection import Connection
from shoe_ctl.link.ports import parse_port
from shoe_ctl.link.supervisor import Supervisor
from shoe_ctl.link.usb_devices import Backends, libusb
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.procedures.stack import is_held
from shoe_ctl.table.settings import TableSettings

from . import loss
from .delivery import (
    NamedSink,
    UndeliveredAlarm,
    all_well,
    delivering,
    given_last,
    open_sinks,
    reopening,
)
from .host import SYSTEM, Environment
from .journal_upkeep import Checkpointer, Retention, retention_policy
from .outage import JournalReopener, Outage, marker_for
from .requests import People, RequestHandler, gid_of, may_not_act, status_in_outage, users_of
from .shoe_commands import ShoeCommandSender
from .table_runner import Comparison, TableRunner

COMPARED_WITHIN_S = 60.0
"""How long a sink that keeps nothing itself waits for a shoe that may show a loss."""

NO_SOCKET = (
    "add one and start again, or start once with --accept-loss --person NAME --reason WHY "
    "--consented-by NAME"
)

log = logging.getLogger(__name__)


class Daemon:
    """Serves the tables of a configuration. ``sinks`` come beside those configured.

    ``host_boot`` changes when the host boots. ``executor`` opens ports, which can block; ``usb``
    finds USB devices. ``new_key``: the journal may be signed with another key from now on.
    ``accepted``: who rules that a journal which may have lost its newest part goes on now.
    ``wait``: a port that is not there at the start is waited for, like one that is lost later.
    ``vfs`` names the file layer that the journal is kept on, where not SQLite's own.

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
        sinks: Sequence[NamedSink] = (),
        usb: Backends = libusb,
        new_key: bool = False,
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
        self._new_key = new_key
        self._accepted = accepted
        self._wait = wait
        self._vfs = vfs
        self._environment = environment
        self._path = config.path(config.journal.path)
        self._given = partial(given_last, config)
        self._reopening = JournalReopener(self._path, clock, vfs, environment, self._given)
        self._marker = marker_for(config)
        self._prepared = resolve(config)
        with naming_file(config):
            self._users = {} if config.socket is None else users_of(config.socket)
            self._gid = None if config.socket is None else gid_of(config.socket)
        self._people = People((*self._users.values(), *environment.callers))
        self._reopen = asyncio.Event()
        self.runners: dict[str, TableRunner] = {}
        self.outage: Outage | None = None
        self.doubt: str | None = None
        self._epoch: str | None = None
        self._compared: set[str] = set()
        self._shown = loss.ShownLoss()
        self._ruling: tuple[str, TableCommand] | None = None

    @property
    def settings(self) -> list[TableSettings]:
        """Every table's settings."""
        return [prepared.settings for prepared in self._prepared]

    async def run(
        self,
        ready: Callable[[], None] = lambda: None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Serve until cancelled; ``ready`` is called when every shoe's port is open or waited for.

        What is stored by then is delivered before it returns. When the storage fails, no table goes
        on until the journal is open again and whole, and a person says so; ``tell`` is given a line
        wherever that changes, and ``outage`` says it meanwhile. Where this process ends before, the
        next finds a note of it, and goes on from there.

        Raises:
            PortError: a shoe's port cannot be opened at the start, and is not to be waited for.
            JournalError: the journal cannot be opened or used at the start.
            EnvironmentFault: a sink's file cannot be opened, or the socket not be made.
        """
        readiness = _Readiness({p.settings.table for p in self._prepared}, ready)
        async with AsyncExitStack() as stack:
            self._noting = stack.enter_context(self._environment.thread("outage-notes"))
            store = await self._open_first(ready, tell)
            try:
                opened = await open_sinks(self._config, stack, self._environment)
                sinks = [*self._sinks, *opened]
                await stack.enter_async_context(reopening(sinks, self._reopen))
                async with self._way_in(self._refuse):
                    pass  # Where it cannot be made that is known before anything is stored.
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
                async with self._way_in(self._refuse):
                    store = await self._reopening.done()

    def reopen_sinks(self) -> None:
        """Files of sinks that were renamed or removed are opened anew. Call it on the loop."""
        self._reopen.set()

    async def _open_first(self, ready: Callable[[], None], tell: Callable[[str], None]) -> Store:
        """The store at the start.

        It is verified where the last daemon left it in an outage, and where the file is not the one
        that was written. One that may have lost its newest part is only opened on a ruling.
        """
        self.outage = self._marker.found()
        if self.outage is not None:
            log.warning(
                "an earlier daemon ended while nothing could be stored: %s", self.outage.what
            )
        replaced = was_replaced(self._path)
        if replaced:
            log.warning("journal %s was copied or put back: all of it is verified", self._path)
        try:
            if self.outage is not None or replaced:
                store = await self._reopening.at_once()
            else:
                store = self._opened(None)
        except DoubtfulJournal as doubtful:
            return await self._ruled_on(doubtful, ready, tell)
        if self._accepted is not None:
            store.close()
            raise ConfigError(
                f"journal {self._path} lost nothing: start without --accept-loss, which would "
                "accept the next loss unseen"
            )
        return store

    def _opened(self, accepted: Accepted | None) -> Store:
        return Store.open(
            self._path, vfs=self._vfs, given=self._given, accepted=accepted, head_needed=True
        )

    async def _ruled_on(
        self, doubtful: DoubtfulJournal, ready: Callable[[], None], tell: Callable[[str], None]
    ) -> Store:
        """The store of a doubtful journal, once a person ruled that it goes on.

        Nothing is written to it before, nor published from it.
        """
        if self._accepted is not None:
            return await self._goes_on(doubtful, self._accepted)
        if self._config.socket is None and not self._environment.ways_in:
            raise JournalError(f"{doubtful}; there is no [socket] to rule at: {NO_SOCKET}")
        tops = {p.settings.highest_position for p in self._prepared} - {None}
        highest = tops.pop() if len(tops) == 1 else None
        while True:
            self.doubt = str(doubtful)
            log.error("%s", doubtful)
            tell(self.doubt)
            ready()
            waiting = loss.Waiting(
                self.doubt,
                partial(may_not_act, highest=highest),
                self._people.as_input,
                highest,
            )
            async with self._way_in(waiting.answer):
                try:
                    ruling = await waiting.ruled()
                    store = await self._goes_on(doubtful, ruling)
                except DoubtfulJournal as otherwise:  # the files were changed meanwhile
                    waiting.failed(otherwise)
                    doubtful = otherwise
                    continue
                except JournalError as error:
                    waiting.failed(error)
                    raise
                waiting.stored()
            self.doubt, self._ruling = None, waiting.command
            return store

    async def _goes_on(self, doubtful: DoubtfulJournal, ruling: Ruling) -> Store:
        """Opens it under a new epoch. Every table then waits for a person, as after an outage."""
        now_us = self._clock.wall_us()
        why = f"{ruling.person} ({ruling.position}) ruled that it goes on: {ruling.reason}"
        self.outage = Outage(since_us=now_us, what=f"{doubtful.what}; {why}")
        await asyncio.get_running_loop().run_in_executor(
            self._noting, self._marker.write, self.outage
        )
        gone_on = GoneOn(
            epoch=self._environment.epoch(),
            t_us=now_us,
            lost=tuple(doubt.what for doubt in doubtful.doubts),
            ruling=ruling,
        )
        with self._environment.thread("journal-again") as opener:
            store = await asyncio.get_running_loop().run_in_executor(
                opener, self._opened_whole, Accepted(doubtful.doubts, gone_on)
            )
        log.warning("journal %s goes on under epoch %s; %s", self._path, gone_on.epoch, why)
        return store

    def _opened_whole(self, accepted: Accepted | None) -> Store:
        """What is left is verified before anything is written behind it."""
        with Reader.open(self._path, vfs=self._vfs) as reader:
            found = verify(reader, newest=False)
        if found.first_bad is not None:
            bad = found.first_bad
            raise JournalError(f"journal {self._path} is damaged: record {bad.n}: {bad.why}")
        return self._opened(accepted)

    def _epoch_of(self, reader: Reader, table: str) -> str:
        """The table's epoch; a journal without any gets one."""
        known = epoch_of(reader, table)
        if known is None:
            self._epoch = known = self._epoch or self._environment.epoch()
        return known

    def _announce(self, outage: Outage, store: Store, tell: Callable[[str], None]) -> None:
        """Nothing can be stored from now on: said at once, and everywhere but in the journal."""
        self.outage = outage
        self._reopening.begin(store.ends())
        log.error("%s", outage.refusal())
        tell(outage.refusal())
        # Not waited for: a disk that hangs must not keep this from being told to whoever asks.
        self._noting.submit(self._marker.write, outage)

    async def _is_stored(self) -> None:
        """Every table has stored that there was an outage: nobody has to be told once more."""
        if self.outage is not None:
            await asyncio.get_running_loop().run_in_executor(self._noting, self._marker.clear)
            self.outage = self._ruling = None

    async def _refuse(self, caller: Caller, asked: Asked) -> dict[str, Any]:
        """While no table is at work: how the tables stood before an outage, and nothing else."""
        if self.outage is not None:
            if isinstance(asked, StatusAsked) and self.runners:
                return status_in_outage(caller, asked, self.runners, self.outage)
            raise JournalError(self.outage.refusal())
        raise EnvironmentFault("the daemon is starting: ask again")

    @asynccontextmanager
    async def _way_in(self, handler: Handler) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if (path := self._config.socket_path) is not None:
                at_socket = serving_socket(path, self._users, handler, gid=self._gid)
                await stack.enter_async_context(at_socket)
            for way_in in self._environment.ways_in:
                await stack.enter_async_context(way_in(handler))
            yield

    async def _serve(
        self,
        store: Store,
        sinks: Sequence[NamedSink],
        readiness: _Readiness,
        tell: Callable[[str], None],
    ) -> NoReturn:
        """Serve on this store until cancelled or until it fails; closes it."""
        async with AsyncExitStack() as stack:
            writer = stack.enter_context(self._environment.thread("journal"))
            journal = Journal(store, writer)
            stack.push_async_callback(journal.close)
            checkpointer = self._checkpointer(journal, store, sinks)
            alarm = UndeliveredAlarm()
            recovered = [self._recovered(p, store) for p in self._prepared]
            gate = self._gate(store, recovered, sinks)
            losses = loss.Losses(
                self._shown,
                self.runners,
                journal,
                gate,
                self._clock,
                epoch=self._environment.epoch,
                tell=tell,
            )
            deliveries = await stack.enter_async_context(
                delivering(sinks, journal, store, self._environment, alarm.of, gate)
            )
            must_open = self.outage is None and not self._wait
            at_work = [
                await self._open_table(table, journal, readiness, checkpointer, gate, losses)
                for table in recovered
            ]
            alarm.set_tables(self.runners)
            requests = RequestHandler(self.runners, deliveries.pumps, self._people)
            await self._is_stored()
            await stack.enter_async_context(self._way_in(requests.answer))
            failed = False
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(requests.watch(), name="requests")
                    group.create_task(checkpointer.run(), name="checkpoints")
                    group.create_task(all_well(deliveries.tasks), name="sinks")
                    group.create_task(self._tell_released(tell), name="released")
                    for runner, supervisor in at_work:
                        if runner.table in gate.waiting:
                            waits = self._wait_at_most(gate, runner)
                            group.create_task(waits, name=f"{runner.table} gate")
                        group.create_task(runner.tick_forever(), name=f"{runner.table} clock")
                        serving = self._link(runner, supervisor, readiness, must_open=must_open)
                        group.create_task(serving, name=f"{runner.table} link")
                    # A task that fails ends this wait, not the group's own: only so does the group
                    # take its cancelling back, and a cancelling that is left comes from outside.
                    await asyncio.get_running_loop().create_future()
            except BaseExceptionGroup as errors:
                failed, error = True, root_cause(errors)
                if isinstance(error, JournalError):
                    what = store.failure or str(error)
                    outage = Outage(since_us=self._clock.wall_us(), what=what)
                    self._announce(outage, store, tell)
                raise error from None
            finally:
                if store.failure is None:
                    # After a failure the next start signs: what failed is all there is to say.
                    last = None if failed else checkpointer
                    await flush([runner for runner, _ in at_work], last)
        raise AssertionError("a link ends only by being cancelled")

    def _gate(
        self, store: Store, recovered: Sequence[_Recovered], sinks: Sequence[NamedSink]
    ) -> Gate:
        """What is stored since the shoes were heard last, and what is never to be published.

        Which shoes are waited for is known before anything is published.
        """
        with store.reader() as reader:
            ruled = [gone_on.unpublished for _, gone_on in rulings(reader)]
            unpublished = [self._shown.unpublished, *ruled]
            withheld = [(t, *records) for each in unpublished for t, records in each.items()]
            published = max((reader.cursor(named.name) for named in sinks), default=0)
        waited = {
            r.prepared.settings.table: r.not_compared_since
            for r in recovered
            if r.not_compared_since is not None
        }
        gate = Gate(min((store.last_n, *waited.values())), withheld, published)
        for table in waited:
            gate.wait_for(table)
        return gate

    async def _wait_at_most(self, gate: Gate, runner: TableRunner) -> None:
        """A shoe that is away must not keep everything from those who are told.

        One that was heard and shows a loss does, until a person rules. One whose table waits for
        *resume* is not listened to before that.
        """
        await runner.released()
        await sleep(self._clock, COMPARED_WITHIN_S)
        if runner.doubt is None and runner.table in gate.waiting:
            log.warning(
                "%s: its shoe was not heard of in %g s: events go out without being compared with "
                "what it has",
                runner.table, COMPARED_WITHIN_S,
            )  # fmt: skip
            gate.open(runner.table)

    def _checkpointer(
        self, journal: Journal, store: Store, sinks: Sequence[NamedSink]
    ) -> Checkpointer:
        """What signs the journal; whether its key is there is told at once."""
        key = (store.path, store.signed_with)
        signing.check(*key, new_key=self._new_key)
        load = partial(signing.signer, *key, new_key=self._new_key)
        if store.last_n == 0 and signing.key_path(store.path).exists():
            log.warning(
                "journal %s is begun anew beside an old key: events are numbered from 1 again, "
                "under another source",
                store.path,
            )
        every_s = self._config.journal.checkpoint_every_s
        kept = retention_policy(self._config, [named.name for named in sinks])
        retention = None if kept is None else Retention(journal, store.reader, self._executor, kept)
        return Checkpointer(
            journal, load, self._clock, self._executor, every_s=every_s, retention=retention
        )

    async def _link(
        self, runner: TableRunner, supervisor: Supervisor, readiness: _Readiness, *, must_open: bool
    ) -> None:
        """The table's link, once a person let the table go on where storage had failed."""
        if runner.held:
            where = self._said_where
            log.warning(
                "%s: storage failed: waits until a person says resume%s", runner.table, where
            )
            readiness.reached(runner.table)
            await runner.released()
            must_open = False
        if not must_open:
            readiness.reached(runner.table)
        await supervisor.run(must_open_first=must_open)

    @property
    def _said_where(self) -> str:
        """What has to be done first so that anybody could say *resume*."""
        if self._config.socket is not None or self._environment.ways_in:
            return ""
        return " (no [socket] to say it at: add one and start the daemon again)"

    async def _tell_released(self, tell: Callable[[str], None]) -> None:
        if not (held := [r for r in self.runners.values() if r.held]):
            return
        names = ", ".join(runner.table for runner in held)
        again = "serving; storage failed and works again, waiting for resume"
        tell(f"{again}: {names}{self._said_where}")
        for line in self._shown.lines.values():
            tell(line)
        for runner in held:
            await runner.released()
        tell("serving")

    def _recovered(self, prepared: TableSetup, store: Store) -> _Recovered:
        """What the journal says of this table."""
        settings = prepared.settings
        with store.reader() as reader:
            numbers = recovered_numbers(reader, settings.table)
            before = snapshots.recover(reader, settings.table)
            epoch = self._epoch_of(reader, settings.table)
            ruled = next((gone_on.epoch for _, gone_on in rulings(reader)), None)
            meta = snapshots.start_record(prepared.game, settings, self._clock.wall_us(), epoch)
            controller = snapshots.continue_under(before.controller, before.meta, meta)
            # A ruling on the whole journal is one on what this table's shoe will show of it, too.
            waits = is_held(controller.state) and ruled == epoch
            ruled_on = waits or (before.meta is not None and before.meta.epoch != epoch)
            replays = prepared.profile.CAPABILITIES.replay and not ruled_on
            may_show = bool(numbers.devices) and replays and not self._is_compared(settings.table)
            since = (
                snapshots.not_compared_since(reader, settings.table, epoch) if may_show else None
            )
        return _Recovered(prepared, numbers, before, meta, controller, ruled_on, since)

    def _is_compared(self, table: str) -> bool:
        """Its shoe showed this process that nothing is lost, and nothing else since."""
        return table in self._compared and table not in self._shown.lines

    async def _open_table(  # noqa: PLR0913 - what a table is wired to
        self,
        recovered: _Recovered,
        journal: Journal,
        readiness: _Readiness,
        checkpointer: Checkpointer,
        gate: Gate,
        losses: loss.Losses,
    ) -> tuple[TableRunner, Supervisor]:
        prepared, before = recovered.prepared, recovered.before
        settings, shoe, profile = prepared.settings, prepared.config.shoe, prepared.profile
        numbers, table = recovered.numbers, prepared.settings.table
        earlier = self.runners.get(table)

        def opens(_: str) -> None:
            self._compared.add(table)
            gate.open(table)

        runner = TableRunner(
            recovered.controller,
            journal,
            self._clock,
            under=recovered.meta,
            devices=dict(numbers.devices),
            index=before.index,
            on_shoe=checkpointer.new_shoe,
            sender=ShoeCommandSender(prepared.keys, self._executor),
            reopened=earlier is not None,
            compare=Comparison(
                expected=not recovered.ruled_on,
                is_compared=self._is_compared(table),
                opens=opens,
                losses=losses,
            ),
            started_n=recovered.not_compared_since,
            refusals=None if earlier is None else earlier.refusals,
        )
        session_settings = shoe.session_settings(armed=profile.CAPABILITIES.arm)

        async def on_up(connection: Connection) -> None:
            await runner.link_up(connection, shoe.profile, session_settings)
            readiness.reached(settings.table)

        port, serial = parse_port(shoe.port), profile.SERIAL.at(shoe.baud)
        supervisor = Supervisor(
            name=settings.table,
            profile=profile,
            settings=session_settings,
            opener=self._environment.opener(port, serial, self._executor, self._usb),
            clock=self._clock,
            resume=runner.resume,
            on_up=on_up,
            on_lost=runner.link_lost,
            on_reception=runner.receive,
            first_connection=numbers.connection + 1,
            arrivals=arrivals(port),
            on_suspended=runner.line_suspended,
            on_resumed=runner.line_resumed,
        )
        at, ruling = self._ruling or (None, None)
        await runner.start(self._host_boot, self.outage, ruling if at == table else None)
        runner.attach(supervisor)
        self.runners[settings.table] = runner
        return runner, supervisor


class _Recovered(NamedTuple):
    """A table as the journal knows it, and what it is run with from now on.

    ``ruled_on``: a person ruled on what its shoe may show. ``not_compared_since``: the record
    behind which nothing was compared with what the shoe has; None where the shoe shows nothing.
    """

    prepared: TableSetup
    numbers: Recovered
    before: RecoveredTable
    meta: Meta
    controller: TableController
    ruled_on: bool
    not_compared_since: int | None


class _Readiness:
    """Calls ``ready`` once every table's shoe was reached, or nobody waits for that."""

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
        log.error("%s: the last records are not stored", error)  # noqa: TRY400 - one line


def root_cause(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error to report: one of ours before any other."""
    leaves = [root_cause(e) if isinstance(e, BaseExceptionGroup) else e for e in errors.exceptions]
    return next((e for e in leaves if isinstance(e, ShoeCtlError)), leaves[0])
