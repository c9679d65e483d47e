"""One table at work: it starts, is woken when it asks for that, shows its status, and stops.

In: its link and its commands, each with its transactions; the time, what sinks did not take. Out:
inputs about these, its status. Must not know: ports, sockets, other tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.daemon.applied_reports import AppliedReports
from shoe_ctl.daemon.command_answers import CommandAnswers
from shoe_ctl.daemon.door_notes import DoorNotes
from shoe_ctl.daemon.outage import Outage
from shoe_ctl.daemon.refusal_budget import Unrecorded
from shoe_ctl.daemon.shoe_link import ShoeLink
from shoe_ctl.daemon.transactions import TableTransactions
from shoe_ctl.history.event_ids import Answered
from shoe_ctl.journal.batch import Batch, CommitResult
from shoe_ctl.journal.journal import LostRange
from shoe_ctl.records import Audience, Envelope
from shoe_ctl.table import status, undelivered
from shoe_ctl.table.inputs import (
    CommandsRefused,
    DeliveryLost,
    DeliveryParked,
    DeliveryRefilled,
    DeliveryTaken,
    DiskChecked,
    Input,
    NotesRefused,
    Restarted,
    StorageRestored,
    TableCommand,
    Tick,
)
from shoe_ctl.table.preview import Preview
from shoe_ctl.table.shoe.link import link_trouble
from shoe_ctl.table.state import TableState
from shoe_ctl.texts.message import Message


class StatusBasis(NamedTuple):
    """The values that a table's status follows from, stored or not."""

    stored: TableState
    trouble: tuple[str, Message] | None
    doubt: str | None
    source: str

    def equals(self, other: StatusBasis) -> bool:
        """Return True if nothing differs; a state is the same only if it is the same object."""
        return self.stored is other.stored and self[1:] == other[1:]


class TableRunner:
    """Runs one table.

    ``reopened``: this process served the table before an outage of the storage. ``started_n``:
    records behind this one, of earlier starts too, may have used ids. ``executor`` reads the
    journal for a revision.
    """

    def __init__(
        self,
        transactions: TableTransactions,
        link: ShoeLink,
        *,
        reopened: bool = False,
        started_n: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.transactions = transactions
        self.link = link
        self.answers = CommandAnswers(transactions, link, executor)
        self.reports = AppliedReports(transactions, link, executor)
        self.door = DoorNotes(transactions, link)
        self.controller = transactions.controller
        self.table = transactions.table
        self.turn = transactions.turn
        self.started_n = transactions.journal.last_n if started_n is None else started_n
        self._reopened = reopened

    # Its start and its end.

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

        def started(t_us: int) -> list[Input]:
            start = Restarted(
                t_us=t_us,
                host_boot=host_boot,
                profile=profile,
                software=self.transactions.recorder.software,
                reopened=self._reopened,
            )
            if outage is None:
                return [start]
            return [start, _restored(t_us, outage.since_us, outage.what, ruling)]

        async with self.turn:
            await self.transactions.store(started)
            if ruling is not None:
                self.answers.note_ruling(ruling)

    async def stop(self) -> None:
        """Store what is still to be counted, and what was sent to the shoe since the last group."""
        if self.doubt is not None:
            return  # nothing is written before a person ruled
        if self.transactions.failure is not None:
            return  # nor behind what is missing
        async with self.turn:
            if counts := self.transactions.refusals.take():
                await self._record_counts(counts)
            await self.link.store_suspension()
            await self.transactions.store_sent()

    # The time.

    async def tick_forever(self) -> None:
        """Wake the table at the times it asks for, until cancelled."""
        at_work = self.transactions
        try:
            while True:
                await at_work.wake.due()
                await self.link.without_doubt()
                async with self.turn:
                    if counts := at_work.refusals.take(at_work.now()):
                        await self._record_counts(counts)
                    wake_us = self.controller.state.wake_us
                    if wake_us is not None and at_work.now() >= wake_us:
                        await at_work.store(lambda t_us: [Tick(t_us=t_us)])
                    at_work.wake_next()  # a count may be due, or the clock was set back
        finally:
            at_work.wake.cancel()

    async def _record_counts(self, counts: list[Unrecorded]) -> None:
        """Record how many commands and notes there were beyond the budgets."""
        await self.transactions.store(lambda t_us: [_count_as_input(each, t_us) for each in counts])

    # People, and what sinks did not take.

    async def command(self, command: TableCommand, sees: Audience) -> Answered:
        """Answer a command once it is stored; see ``CommandAnswers``."""
        return await self.answers.command(command, sees)

    async def preview(self, command: TableCommand) -> Preview:
        """Answer what a command would come to; see ``CommandAnswers``."""
        return await self.answers.preview(command)

    async def parked(
        self, sink: str, sees: Audience, n: int, event: Envelope, why: Message
    ) -> None:
        """A sink did not take this event of the table, record ``n``: store and announce it."""
        await self.link.without_doubt()
        async with self.turn:
            await self.transactions.store(
                lambda t_us: [
                    DeliveryParked(
                        t_us=t_us,
                        sink=sink,
                        public=sees is Audience.PUBLIC,
                        event=event.id,
                        event_type=event.type,
                        why=why,
                        record=n,
                    )
                ]
            )

    async def taken(self, sink: str, n: int, event: Envelope) -> None:
        """The sink took the event when it was offered again: store and announce it."""
        await self.link.without_doubt()
        async with self.turn:
            await self.transactions.store(
                lambda t_us: [
                    DeliveryTaken(
                        t_us=t_us, sink=sink, event=event.id, event_type=event.type, record=n
                    )
                ]
            )

    async def lost(self, sink: str, sees: Audience, lost: LostRange) -> None:
        """A sink lost these events of the table: store and announce it."""
        await self.link.without_doubt()
        async with self.turn:
            await self.transactions.store(
                lambda t_us: [
                    DeliveryLost(
                        t_us=t_us,
                        sink=sink,
                        public=sees is Audience.PUBLIC,
                        first=lost.first,
                        last=lost.last,
                    )
                ]
            )

    async def refilled(self, sink: str, refused: int) -> None:
        """The sink was offered again all that it had lost: store and announce it."""
        await self.link.without_doubt()
        async with self.turn:
            await self.transactions.store(
                lambda t_us: [DeliveryRefilled(t_us=t_us, sink=sink, refused=refused)]
            )

    async def disk_checked(self, full_us: int | None) -> None:
        """Store and announce when the disk will be full; None: not soon any more.

        A table in doubt stores nothing: its status alone shows it.
        """
        if self.doubt is not None:
            return
        async with self.turn:
            await self.transactions.store(lambda t_us: [DiskChecked(t_us=t_us, full_us=full_us)])

    async def waiting(self, sees: Audience) -> dict[str, tuple[int, ...]]:
        """Return the records that each sink did not take, of sinks that ``sees`` may know of."""
        async with self.turn:
            self.transactions.refuse_after_failure()
            return undelivered.list_waiting(
                self.controller.state, restricted=sees is Audience.RESTRICTED
            )

    async def status(self, sees: Audience, *, staff: bool = False) -> dict[str, Any]:
        """Return how the table stands, once what is being handled is stored or failed."""
        async with self.turn:
            return self.stored_status(sees, staff=staff)

    def stored_status(
        self, sees: Audience, now_us: int | None = None, *, staff: bool = False
    ) -> dict[str, Any]:
        """Return how the table stood when it was last stored, with the last event of that.

        After a failure this is what was durable before it. Players, and sinks of the restricted
        stream, are shown only to those who see that stream. ``now_us`` is the table's time, by
        default now. ``staff`` adds who is who at the table.
        """
        at_work, held = self.transactions, self.controller
        stored = at_work.stored_state
        now_us = at_work.now() if now_us is None else now_us
        told = status.status(stored, held.game, held.settings, now_us, procedures=held.procedures)
        if sees is Audience.RESTRICTED:
            told |= status.restricted(stored, held.game, held.settings)
        if staff:
            told["staff"] = status.staff(stored, held.game, held.settings)
        last = {"source": at_work.source, "last_event": at_work.last_events.get(sees)}
        told = {"table": self.table, **last, "software": at_work.recorder.software} | told
        return told if self.doubt is None else told | {"doubt": self.doubt}

    def status_basis(self, now_us: int) -> StatusBasis:
        """Return all that the status at this time follows from: the same gives the same status."""
        at_work = self.transactions
        trouble = link_trouble(at_work.stored_state, now_us)
        return StatusBasis(at_work.stored_state, trouble, self.doubt, at_work.source)

    @property
    def doubt(self) -> str | None:
        """The loss that the shoe shows and nobody ruled on; None where it shows none."""
        return self.link.doubt

    @property
    def failure(self) -> str | None:
        """Why nothing more can be stored; None while it can."""
        return None if self.transactions.failure is None else str(self.transactions.failure)

    # A ruling on a loss, stored for all tables in one group.

    @property
    def epoch(self) -> str:
        """The epoch of what this table stores."""
        return self.transactions.recorder.epoch

    def begin_epoch(self, group: Batch, epoch: str) -> None:
        """Add to the group the section with which this table goes on under another epoch.

        What is stored before must be; the table's turn is held until the group is.
        """
        at_work = self.transactions
        at_work.refuse_after_failure()
        at_work.recorder.begin_epoch(epoch, at_work.now())
        at_work.recorder.add_snapshot(group, at_work.controller, at_work.index)

    def restore(self, group: Batch, what: Message, ruling: TableCommand | None) -> None:
        """Add to the group that the table waits for a person; ``ruling`` was given at this table.

        A shoe that was not compared yet is covered by the ruling, too.
        """
        now_us = self.transactions.now()
        self.transactions.run(group, [_restored(now_us, now_us, what, ruling)])
        if ruling is not None:
            self.answers.note_ruling(ruling)
        if self.link.compare is not None:
            self.link.compare.ruled()

    async def stored(self, result: CommitResult) -> None:
        """The group is stored."""
        await self.transactions.stored(result)

    def failed(self, error: Exception) -> None:
        """The group is not stored; nothing more of the table can be stored."""
        self.transactions.failure = error


def _count_as_input(counted: Unrecorded, t_us: int) -> CommandsRefused | NotesRefused:
    by, count, since_us = counted.by, counted.number, counted.since_us
    if by.note is not None:
        return NotesRefused(t_us=t_us, user=by.user, event=by.note, count=count, since_us=since_us)
    return CommandsRefused(
        t_us=t_us, user=by.user, count=count, since_us=since_us, person=by.person
    )


def first_failure(tables: Iterable[TableRunner]) -> str | None:
    """Return why nothing more can be stored at one of these tables; None while it can at all."""
    return next((why for table in tables if (why := table.failure) is not None), None)


def _restored(
    t_us: int, since_us: int, what: Message, ruling: TableCommand | None
) -> StorageRestored:
    """Return the input that storage works again, with the ruling at this table, if any."""
    if ruling is not None:
        ruling = msgspec.structs.replace(ruling, t_us=t_us)
    return StorageRestored(t_us=t_us, since_us=since_us, what=what, ruling=ruling)
