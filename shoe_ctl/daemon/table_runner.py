"""One table at work: its link, its clock and its people, in the order of effects.

In: receptions, link facts, commands, the time. Out: one committed group each, and only then
acknowledgements, the shoe's desired state, answers. Must not know: ports, sinks, other tables.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from firmware_proto.events import Hello, Status
from firmware_proto.session import Resume
from shoe_ctl.clock import Clock, Timer
from shoe_ctl.daemon import journal_loss
from shoe_ctl.daemon.outage import Outage
from shoe_ctl.daemon.refusal_budget import RefusalBudget, Unrecorded
from shoe_ctl.daemon.shoe_commands import NoKey, ShoeCommandSender
from shoe_ctl.errors import InputRefused
from shoe_ctl.history.event_ids import OUTCOME_TYPES, Answered, EventIndex, RecordedAnswer
from shoe_ctl.history.recorder import LinkRecorder, inputs_of, record_input
from shoe_ctl.history.snapshots import SnapshotSchedule
from shoe_ctl.journal import record_format
from shoe_ctl.journal.batch import Batch, CommitResult
from shoe_ctl.journal.journal import Journal
from shoe_ctl.link.connection import Connection, Reception
from shoe_ctl.link.reconnect import Supervisor, Suspension
from shoe_ctl.link.transport import Loss
from shoe_ctl.records import Audience, Envelope
from shoe_ctl.table import answers, status, undelivered
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Answer, Effect, ShoeCommand, TableEvent
from shoe_ctl.table.inputs import (
    CommandsRefused,
    DeliveryParked,
    DeliveryTaken,
    Fault,
    Input,
    LineResumed,
    LineSuspended,
    LinkLost,
    LinkUp,
    NotTold,
    Restarted,
    StorageRestored,
    TableCommand,
    Tick,
    fault_place,
)
from shoe_ctl.table.procedures.stack import has_storage_outage
from shoe_ctl.table.state import TableState
from shoe_ctl.texts.message import Message, message

log = logging.getLogger(__name__)


class TableRunner:
    """Runs one table ``under`` a game file and settings.

    ``devices`` holds each device's last stored event number, ``index`` the event ids of before the
    start. ``reopened``: this process served the table before an outage of the storage; ``refusals``
    are then its refused commands. ``compare`` compares what the shoe has with what is stored;
    without it nothing is compared. ``started_n``: records behind this one, of earlier starts too,
    may have used ids.
    """

    def __init__(  # noqa: PLR0913 - what a table is run with, each by name
        self,
        controller: TableController,
        journal: Journal,
        clock: Clock,
        *,
        under: record_format.Meta,
        devices: dict[str, int],
        index: EventIndex | None = None,
        on_shoe: Callable[[], None] = lambda: None,
        sender: ShoeCommandSender | None = None,
        reopened: bool = False,
        compare: Comparison | None = None,
        started_n: int | None = None,
        refusals: RefusalBudget | None = None,
    ) -> None:
        self.controller = controller
        self.table = controller.settings.table
        self._link = LinkRecorder(self.table)
        self._journal = journal
        self._clock = clock
        # A clock that was set back before the daemon started again must not hold the table's time.
        self._ahead_us = max(0, controller.state.t_us - clock.wall_us())
        self._under = under
        self._snapshots = SnapshotSchedule(journal, under, self.table)
        self._devices = DeviceSequences(self.table, devices)
        self._index = EventIndex() if index is None else index
        self._on_shoe = on_shoe
        self._sender = ShoeCommandSender() if sender is None else sender
        self._uncommitted: list[tuple[int, TableEvent]] = []
        self._commands: list[ShoeCommand] = []
        self._connection: Connection | None = None
        self._supervisor: Supervisor | None = None
        self.turn = asyncio.Lock()
        self._wake = WakeTimer(clock)
        self.refusals = RefusalBudget() if refusals is None else refusals
        self._reopened = reopened
        self._failed: Exception | None = None
        self._stored_state = controller.state
        self._unstored: asyncio.Future[CommitResult] | None = None
        self._free = asyncio.Event()
        self._compare = compare
        self.started_n = journal.last_n if started_n is None else started_n
        self._resumed_from: Resume | None = None
        self._unknown_device: str | None = None

    def attach(self, supervisor: Supervisor) -> None:
        """Attach the link that is given the shoe's desired state."""
        self._supervisor = supervisor
        supervisor.set_desired_state(self.controller.desired)

    def resume(self) -> Resume | None:
        """Return the last known device, and the last event number stored of it."""
        if self._known_device == self._unknown_device:
            return None
        return self._devices.resume(self._known_device)

    # Inputs.

    async def start(
        self,
        host_boot: str,
        profile: str,
        outage: Outage | None = None,
        ruling: TableCommand | None = None,
    ) -> None:
        """Start the table: store what it runs under and goes on from, and the start itself.

        ``profile`` is that of its shoe. After an ``outage`` of the storage the table waits for a
        person. A ``ruling`` on a lost journal that was given at this table is stored with it.
        """
        async with self.turn:
            group, now_us = self._group(), self._now()
            start = Restarted(
                t_us=now_us,
                host_boot=host_boot,
                profile=profile,
                software=self._under.software,
                reopened=self._reopened,
            )
            inputs: list[Input] = [start]
            if outage is not None:
                what, since_us = outage.what, outage.since_us
                if ruling is not None:
                    ruling = msgspec.structs.replace(ruling, t_us=now_us)
                restored = StorageRestored(t_us=now_us, since_us=since_us, what=what, ruling=ruling)
                inputs.append(restored)
            await self._handle(group, inputs)
            self._note_ruling(ruling)

    @property
    def held(self) -> bool:
        """Return whether the storage failed and nobody said *resume* since."""
        return has_storage_outage(self.controller.state)

    async def released(self) -> None:
        """Return once the table is not held."""
        await self._free.wait()

    async def link_up(self, connection: Connection, profile: str, settings: dict[str, Any]) -> None:
        """A connection opened; nothing was read from it yet."""
        can, resume = connection.capabilities, self.resume()
        self._resumed_from, self._unknown_device = resume, None
        self._connection = connection
        self._devices.connected()
        async with self.turn:
            group, t_us = self._group(), self._now()
            self._link.opened(
                group, connection, profile=profile, settings=settings, resume=resume, t_us=t_us
            )
            up = LinkUp(
                t_us=t_us,
                connection=connection.number,
                profile=profile,
                arm=can.arm,
                replay=can.replay,
                judges=can.judges,
                names_hands=can.names_hands,
                authenticated=can.authenticated,
                commands=can.commands,
                obeys=can.obeys,
                tells=can.tells,
            )
            await self._handle(group, [up])

    async def link_lost(self, loss: Loss) -> None:
        """A connection ended."""
        number = self._connection.number if self._connection is not None else 0
        self._connection = None
        async with self.turn:
            group = self._group()
            self._link.ended()
            lost = _link_lost(loss, self._now(), number)
            await self._handle(group, [lost])

    async def line_suspended(self, found: Suspension) -> None:
        """The line brought more garbage than is recorded; its connection was closed."""
        self._connection = None
        async with self.turn:
            group, t_us = self._group(), self._now()
            suspended = _line_suspended(found, t_us)
            lost = _link_lost(found.loss, t_us, found.connection)
            self._link.ended()
            await self._handle(group, [suspended] if found.again else [suspended, lost])

    async def line_resumed(self, unkept: int) -> None:
        """The line is quiet and is opened again."""
        async with self.turn:
            await self._handle(self._group(), [LineResumed(t_us=self._now(), unkept=unkept)])

    async def receive(self, reception: Reception) -> None:
        """Store what was received in one go: raw bytes, inputs and events. Then acknowledge it.

        If the shoe shows that more of its events were acknowledged than are stored here, nothing of
        it is stored before a person rules on that.
        """
        if not await self._is_complete(reception):
            return
        async with self.turn:
            group, t_us = self._group(), self._now(reception.t_us)
            self._link.received(group, reception, t_us)
            stored = self._devices.add(group, reception)
            follows = self._handle_reception(group, inputs_of(reception, t_us))
            if _is_status(reception) and not follows:
                self._store_later(group)
                return
            await self._commit(group)
            if self._sender.notes_proofs:
                await self._sender.note_proofs(heard.event for heard in reception.heard)
        if stored is not None and self._connection is not None:
            self._connection.stored(stored)

    async def command(self, command: TableCommand, sees: Audience) -> Answered:
        """Handle a command of a person or of the table system; answer it when it is stored.

        ``command.t_us`` is replaced by the time it is taken up. A repeated id gets its first answer
        again, and nothing is done; with another command, or from another user, it is refused.
        """
        async with self.turn:
            answered = await self._answered(command, sees)
        if answered is not None:
            return answered
        assert self._compare is not None
        highest = self.controller.settings.highest_position
        ruled = await self._compare.losses.rule(self.table, command, highest)
        if ruled is None:  # a person ruled meanwhile: this one comes too late
            return await self.command(command, sees)
        return Answered(ruled, ())

    async def _answered(self, command: TableCommand, sees: Audience) -> Answered | None:
        """Return the answer; None for a ruling on a lost journal, which is taken for all tables."""
        self._refuse_after_failure()
        before = self._used_before(command)
        first = self._first_answer(command)
        if before is None and first is not None:
            return first.seen_by(sees)
        rules = command.command == journal_loss.COMMAND and first is None and before is None
        if rules and self._compare is not None and self._compare.losses.is_open:
            return None
        if self.doubt is not None:
            if command.command == journal_loss.COMMAND and before is not None:
                return _refused(command, before)
            return _refused(command, message("daemon_loss_not_ruled", detail=self.doubt))
        if rules:
            return _refused(command, journal_loss.NO_LOSS)
        now_us = self._now()
        if before is not None and command.command_id not in self.controller.state.answered:
            self.refusals.count(command.user, now_us)
            self._wake_next()
            return _refused(command, before)
        whole = command
        if before is None:
            try:
                whole = await self._sender.with_key_number(command, self._known_device)
            except InputRefused as why:
                refused = message("daemon_rotate_key_refused", detail=str(why))
                return _refused(command, refused)
            added = tuple(name for name in whole.args if name not in command.args)
            whole = msgspec.structs.replace(whole, added=added)
        answered = await self._take_up(msgspec.structs.replace(whole, t_us=self._now()))
        if before is None and command.command_id in self.controller.state.answered:
            self._index.add_answer(answered)
            self._index.keep_answers(self.controller.state.answered)
        return answered.seen_by(sees)

    def _used_before(self, command: TableCommand) -> Message | None:
        """Return why this is another command than the first one with its id; None if it is not."""
        recorded = self.controller.state.answered
        known = recorded if command.command_id in recorded else self.refusals.answered
        return answers.check_command_id(known, command)

    def _first_answer(self, command: TableCommand) -> RecordedAnswer | None:
        """Return the first answer to this id, recorded or not; None for a new one."""
        recorded = self._index.answer(command.command_id)
        unrecorded = self.refusals.answered.get(command.command_id)
        if recorded is not None or unrecorded is None:
            return recorded
        return RecordedAnswer(unrecorded.again(), ())

    async def _take_up(self, command: TableCommand) -> RecordedAnswer:
        """Handle a command. If it is refused and its user's budget is spent, only count it."""
        if self.refusals.is_spent(command.user, command.t_us):
            refusal = self._refusal_of(command)
            if refusal is not None:
                self.refusals.count(command.user, command.t_us)
                if command.command_id not in self.controller.state.answered:
                    self.refusals.remember(answers.first_answer(command, refusal))
                self._wake_next()
                return RecordedAnswer(refusal, ())
        first = await self._handle_command(command)
        if not first.answer.accepted:
            self.refusals.record(command.user, command.t_us)
        return first

    def _refusal_of(self, command: TableCommand) -> Answer | None:
        """Return how the table would refuse this, without changing it; None if it would not."""
        before = self.controller.state
        try:
            effects = self.controller.handle(command)
        except Exception:  # noqa: BLE001 - reported when it is handled for good
            return None
        finally:
            self.controller.state = before
        answers = [e for e in effects if isinstance(e, Answer) and not e.accepted]
        return answers[0] if answers else None

    async def parked(
        self, sink: str, sees: Audience, n: int, event: Envelope, why: Message
    ) -> None:
        """A sink did not take this event of the table, record ``n``: store and announce it."""
        await self._may_store()
        async with self.turn:
            found = DeliveryParked(
                t_us=self._now(),
                sink=sink,
                public=sees is Audience.PUBLIC,
                event=event.id,
                event_type=event.type,
                why=why,
                record=n,
            )
            await self._handle(self._group(), [found])

    async def taken(self, sink: str, n: int, event: Envelope) -> None:
        """The sink took the event when it was offered again: store and announce it."""
        await self._may_store()
        async with self.turn:
            found = DeliveryTaken(
                t_us=self._now(), sink=sink, event=event.id, event_type=event.type, record=n
            )
            await self._handle(self._group(), [found])

    async def waiting(self, sees: Audience) -> dict[str, tuple[int, ...]]:
        """Return the records that each sink did not take, of sinks that ``sees`` may know of."""
        async with self.turn:
            self._refuse_after_failure()
            return undelivered.list_waiting(
                self.controller.state, restricted=sees is Audience.RESTRICTED
            )

    async def status(self, sees: Audience) -> dict[str, Any]:
        """Return how the table stands, once what is being handled is stored or failed."""
        async with self.turn:
            return self.stored_status(sees)

    def stored_status(self, sees: Audience) -> dict[str, Any]:
        """Return how the table stood when it was last stored.

        After a failure this is what was durable before it. Players, and sinks of the restricted
        stream, are shown only to those who see that stream.
        """
        stored, held = self._stored_state, self.controller
        told = status.status(
            stored, held.game, held.settings, self._now(), procedures=held.procedures
        )
        if sees is Audience.RESTRICTED:
            told |= status.restricted(stored, held.game, held.settings)
        return told if self.doubt is None else told | {"doubt": self.doubt}

    @property
    def doubt(self) -> str | None:
        """Return what the shoe shows of a loss that nobody ruled on; None where it shows none."""
        return None if self._compare is None else self._compare.losses.line(self.table)

    @property
    def failure(self) -> str | None:
        """Return why nothing more can be stored; None while it can."""
        return None if self._failed is None else str(self._failed)

    async def stop(self) -> None:
        """Store what is still to be counted, and what was sent to the shoe since the last group."""
        if self.doubt is not None:
            return  # nothing is written before a person ruled
        if self._failed is not None:
            return  # nor behind what is missing
        async with self.turn:
            if counts := self.refusals.take():
                await self._record_counts(counts)
            if self._supervisor is not None and (found := self._supervisor.unreported) is not None:
                await self._handle(self._group(), [_line_suspended(found, self._now())])
            group = Batch(self._under.epoch)
            self._link.sent(group)
            if len(group):
                await self._journal.commit(group)

    async def tick_forever(self) -> None:
        """Wake the table at the times it asks for, until cancelled."""
        try:
            while True:
                await self._wake.due()
                await self._may_store()
                async with self.turn:
                    if counts := self.refusals.take(self._now()):
                        await self._record_counts(counts)
                    wake_us = self.controller.state.wake_us
                    if wake_us is not None and self._now() >= wake_us:
                        await self._handle(self._group(), [Tick(t_us=self._now())])
                    else:
                        self._wake_next()
        finally:
            self._wake.cancel()

    async def _record_counts(self, counts: Iterable[Unrecorded]) -> None:
        """Record how many commands were refused beyond the budgets."""
        now_us = self._now()
        inputs = [
            CommandsRefused(t_us=now_us, user=each.user, count=each.number, since_us=each.since_us)
            for each in counts
        ]
        await self._handle(self._group(), inputs)

    def _wake_next(self) -> None:
        """Set the timer to when the table wants to be woken, or a count is due."""
        wake_us, due_us = self.controller.state.wake_us, self.refusals.due_us()
        if wake_us is None or (due_us is not None and due_us < wake_us):
            wake_us = due_us
        if wake_us is None:
            self._wake.cancel()
        else:
            self._wake.at(wake_us, self._now())

    # A shoe of which more was acknowledged than is stored.

    async def _is_complete(self, reception: Reception) -> bool:
        """Return whether all that the shoe says was acknowledged is stored here.

        If not, a person rules on that first, unless somebody did already. Then the connection is
        closed, and the shoe is treated as unknown on the next one: the cards between are missed.
        """
        compare, said, met = self._compare, reception.acknowledged, self._resumed_from
        if compare is None or said is None or self._connection is None:
            return True
        if met is not None and met.device_id == said.device_id:
            stored = self._devices.stored(said.device_id)
            if stored is not None and said.seq > stored:
                if compare.expected:
                    await compare.losses.report(
                        self.table,
                        f"table {self.table}: shoe {said.device_id} had its events {stored + 1} "
                        f"to {said.seq} acknowledged, and the journal does not hold them",
                    )
                    compare.expected = False
                lost = message(
                    "link_events_lost", first=stored + 1, last=said.seq, device_id=said.device_id
                )
                log.warning(
                    "%s: events lost: shoe=%s first=%d last=%d. The connection is opened again.",
                    self.table, said.device_id, stored + 1, said.seq,
                )  # fmt: skip
                self._unknown_device = said.device_id
                self._connection.drop(Loss("events_lost", lost))
                return False
        compare.expected = compare.is_compared = True
        compare.opens(self.table)
        return True

    async def _may_store(self) -> None:
        """Return once the shoe shows no loss, or a person ruled on it."""
        if self._compare is not None:
            await self._compare.losses.over(self.table)

    @property
    def epoch(self) -> str:
        """Return the epoch of what this table stores."""
        return self._under.epoch

    def begin_epoch(self, group: Batch, epoch: str) -> None:
        """Add to the group the section with which this table goes on under another epoch.

        What is stored before must be; the table's turn is held until the group is.
        """
        self._refuse_after_failure()
        self._under = msgspec.structs.replace(self._under, epoch=epoch, t_us=self._now())
        self._snapshots.restart_section(self._under)
        self._snapshots.begin(group, self.controller, self._index)

    def restore(self, group: Batch, what: Message, ruling: TableCommand | None) -> None:
        """Add to the group that the table waits for a person; ``ruling`` was given at this table.

        A shoe that was not compared yet is covered by the ruling, too.
        """
        now_us = self._now()
        if ruling is not None:
            ruling = msgspec.structs.replace(ruling, t_us=now_us)
        restored = StorageRestored(t_us=now_us, since_us=now_us, what=what, ruling=ruling)
        self._run(group, [restored])
        self._note_ruling(ruling)
        if self._compare is not None:
            self._compare.ruled()

    def _note_ruling(self, ruling: TableCommand | None) -> None:
        if ruling is not None:
            answer = Answer(command_id=ruling.command_id, accepted=True)
            self._index.add_answer(RecordedAnswer(answer, ()))
            self._index.keep_answers(self.controller.state.answered)

    # Groups and commits.

    def _group(self) -> Batch:
        """Return the next group. It begins with a snapshot where one is due.

        What was sent to the shoe until now stands before everything else. After a failure there is
        none: it would stand behind what is missing.
        """
        if self._failed is not None:
            raise self._failed
        group = Batch(self._under.epoch)
        waits = self._unstored is not None and not self._unstored.done()
        self._snapshots.begin(group, self.controller, self._index, waits=waits)
        self._link.sent(group)
        return group

    def _now(self, t_us: int | None = None) -> int:
        """Return a time for an input: never before the table's last one."""
        clock_us = self._clock.wall_us() if t_us is None else t_us
        return max(self.controller.state.t_us, clock_us + self._ahead_us)

    async def _handle_command(self, command: TableCommand) -> RecordedAnswer:
        group = self._group()
        handles, answers = self._run(group, [command])
        result = await self._commit(group)
        failed = Answer(
            command_id=command.command_id, accepted=False, error=message("daemon_not_handled")
        )
        events = tuple(result.ids[handle] for handle in handles)
        return RecordedAnswer(answers[0] if answers else failed, events)

    def _handle_reception(self, group: Batch, inputs: Iterable[Input]) -> bool:
        """Handle what was received. Return whether anything follows from it.

        If nothing does, nobody waits for the group: there is no order to the shoe, no event, no
        answer and no wake-up in it.
        """
        before, desired = self.controller.state, self.controller.desired
        handles, answers = self._run(group, inputs)
        return bool(
            handles
            or answers
            or self._commands
            or self._snapshots.has_begun
            or self.controller.state.wake_us != before.wake_us
            or self.controller.desired != desired
        )

    def _store_later(self, group: Batch) -> None:
        """Hand in a group from which nothing follows: the next one takes it along."""
        self._unstored = self._journal.store_later(group)
        self._unstored.add_done_callback(partial(self._stored_later, self.controller.state))

    def _stored_later(self, state: TableState, stored: asyncio.Future[CommitResult]) -> None:
        error = stored.exception()
        if error is None:
            self._stored_state = state
        elif isinstance(error, Exception):
            self.failed(error)

    async def _handle(self, group: Batch, inputs: Iterable[Input]) -> None:
        self._run(group, inputs)
        await self._commit(group)

    @property
    def _known_device(self) -> str | None:
        return self.controller.state.link.device_id

    def _run(self, group: Batch, inputs: Iterable[Input]) -> tuple[list[int], list[Answer]]:
        """Handle each input on its own. One that fails becomes a fault, which halts the table."""
        handles: list[int] = []
        answers: list[Answer] = []
        for happened in inputs:
            before = self.controller.state
            try:
                effects = self.controller.handle(happened)
                recorded = record_input(group, self.table, happened, effects, self._index)
            except Exception as error:  # noqa: BLE001 - the table halts, whatever it is
                self.controller.state = before
                effects, recorded = self._halt(group, happened, error)
            if not effects:
                continue
            events = [effect for effect in effects if isinstance(effect, TableEvent)]
            self._uncommitted += zip(recorded, events, strict=True)
            handles += recorded
            if len(events) < len(effects):
                answers += [e for e in effects if isinstance(e, Answer)]
                self._commands += [e for e in effects if isinstance(e, ShoeCommand)]
        return handles, answers

    def _halt(
        self, group: Batch, happened: Input, error: Exception
    ) -> tuple[list[Effect], list[int]]:
        """Put a fault in the place of an input that cannot be handled, or cannot be recorded."""
        log.error("%s: input failed: type=%s", self.table, type(happened).__name__, exc_info=error)
        what = f"{type(error).__name__}: {error}"
        fault = Fault(t_us=happened.t_us, where=fault_place(happened), what=what)
        try:
            effects = self.controller.handle(fault)
            return effects, record_input(group, self.table, fault, effects, self._index)
        except Exception as worse:
            self.failed(worse)  # inputs of the group were handled, and it is not stored
            raise

    async def _commit(self, group: Batch) -> CommitResult:
        events, self._uncommitted = self._uncommitted, []
        try:
            result = await self._journal.commit(group)
        except Exception as error:
            self.failed(error)
            raise
        await self._stored(result, events)
        return result

    async def stored(self, result: CommitResult) -> None:
        """A group that this table shares with others is stored."""
        events, self._uncommitted = self._uncommitted, []
        await self._stored(result, events)

    def failed(self, error: Exception) -> None:
        """The table is ahead of what is stored, so that nothing more of it can be stored."""
        self._failed = error

    async def _stored(
        self, result: CommitResult, telling: Iterable[tuple[int, TableEvent]]
    ) -> None:
        self._stored_state = self.controller.state
        if self._snapshots.take_new_set():
            self._on_shoe()
        for handle, event in telling:
            if event.type in OUTCOME_TYPES:
                self._index.add_event(event.type, event.subject, result.ids[handle])
        if self._supervisor is not None:
            self._supervisor.set_desired_state(self.controller.desired)
        if self._commands:
            await self._send_commands()
        self._wake_next()
        if not self.held:
            self._free.set()

    def _refuse_after_failure(self) -> None:
        """Raise the failure: the controller is ahead of what is stored, and nobody may see it."""
        if self._failed is not None:
            raise self._failed

    async def _send_commands(self) -> None:
        """Send the commands that are stored to the shoe. One that cannot be sent is an input again.

        Without a connection nothing is sent: the table gets a lost link, and orders anew.
        """
        commands, self._commands = self._commands, []
        not_sent: list[NotTold] = []
        for command in commands:
            try:
                sent = await self._sender.to_session_command(
                    command, self._known_device, self._clock.wall_us()
                )
                if self._connection is not None:
                    self._connection.command(sent)
            except ValueError as error:
                not_sent.append(
                    NotTold(
                        t_us=self._now(),
                        number=command.number,
                        reason="no_key" if isinstance(error, NoKey) else "not_sent",
                        why=message("shoe_not_told", detail=str(error)),
                    )
                )
        if not_sent:
            await self._handle(self._group(), not_sent)


def _line_suspended(found: Suspension, t_us: int) -> LineSuspended:
    return LineSuspended(
        t_us=t_us,
        connection=found.connection,
        wait_s=round(found.wait_s),
        unkept=found.unkept,
        again=found.again,
    )


def _link_lost(loss: Loss, t_us: int, connection: int) -> LinkLost:
    return LinkLost(t_us=t_us, connection=connection, reason=loss.reason, why=loss.why)


def _is_status(reception: Reception) -> bool:
    """Return whether the shoe reported its status and nothing else: that is never acknowledged."""
    if reception.fault is not None or not reception.heard:
        return False
    for heard in reception.heard:  # noqa: SIM110 - all() would take longer than most receptions
        if type(heard.event) is not Status:
            return False
    return True


class DeviceSequences:
    """The last event number stored of each device that a table has had.

    A connection resumes from it. ``stored`` holds the numbers so far, by device.
    """

    def __init__(self, table: str, stored: dict[str, int]) -> None:
        self._table = table
        self._stored = stored
        self._device_id: str | None = None

    def connected(self) -> None:
        """A connection opened: which device it is, is not known yet."""
        self._device_id = None

    def resume(self, device_id: str | None) -> Resume | None:
        """Return what this device resumes from; None where nothing is known of it."""
        if device_id is None or device_id not in self._stored:
            return None
        return Resume(device_id, self._stored[device_id])

    def stored(self, device_id: str) -> int | None:
        """Return the last event number stored of this device; None where nothing is known of it."""
        return self._stored.get(device_id)

    def add(self, group: Batch, reception: Reception) -> int | str | None:
        """Store the last event number of this reception with the group, and return it."""
        last: int | str | None = None
        for heard in reception.heard:
            if isinstance(heard.event, Hello):
                self._device_id = heard.event.device_id
            seq = heard.seq
            if seq is None:
                continue
            last = seq
            if isinstance(seq, int) and self._device_id is not None:
                self._stored[self._device_id] = seq
                group.set_device_seq(self._table, self._device_id, seq)
        return last


class WakeTimer:
    """The one time at which a table asked to be woken. For one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due = asyncio.Event()
        self._timer: Timer | None = None

    def at(self, wake_us: int, now_us: int) -> None:
        """Wake at this time and no other."""
        self.cancel()
        delay_s = max(0, wake_us - now_us) / 1_000_000
        self._timer = self._clock.call_later(delay_s, self._due.set)

    async def due(self) -> None:
        """Return when the time has come."""
        await self._due.wait()
        self._due.clear()

    def cancel(self) -> None:
        """Do not wake."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Comparison:
    """Compares what a shoe has with what is stored, when the shoe first says what it has.

    ``expected``: a loss that it shows is to be ruled on; otherwise a person did that already.
    ``opens`` is called when the shoe was compared, ``is_compared`` says whether it was. A loss is
    reported to ``losses``.
    """

    def __init__(
        self,
        *,
        expected: bool,
        is_compared: bool,
        opens: Callable[[str], None],
        losses: journal_loss.LossRulings,
    ) -> None:
        self.expected = expected
        self.is_compared = is_compared
        self.opens = opens
        self.losses = losses

    def ruled(self) -> None:
        """A person ruled on what a shoe shows that was not compared yet."""
        self.expected = self.is_compared


def _refused(command: TableCommand, why: Message) -> Answered:
    """Return the refusal of a command that never becomes an input."""
    return Answered(Answer(command_id=command.command_id, accepted=False, error=why), ())
