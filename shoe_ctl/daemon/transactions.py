"""One table's transactions: inputs are handled, stored in a group, and only then take effect.

In: inputs, in the table's turn. Out: one committed group after the other, and then only the state
that the shoe should have, commands to it, the next wake-up. Must not know: ports, sinks, people,
other tables.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from shoe_ctl.clock import Clock, Timer
from shoe_ctl.daemon.refusal_budget import RefusalBudget
from shoe_ctl.history.event_ids import OUTCOME_TYPES, EventIndex
from shoe_ctl.history.recorder import TableRecorder, record_input
from shoe_ctl.journal.batch import Batch, CommitResult, Counters, EventIds
from shoe_ctl.journal.journal import Journal
from shoe_ctl.records import Audience, EventId, source_of
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Answer, Armed, Effect, Locked, ShoeCommand, TableEvent
from shoe_ctl.table.inputs import Fault, Input, fault_place
from shoe_ctl.table.procedures.stack import has_storage_outage
from shoe_ctl.table.state import TableState

log = logging.getLogger(__name__)

MOST_LATER = 4
"""Groups of a table that wait for its next one. A card brings two such states."""


class Shoe(Protocol):
    """The receiver of a table's orders, once they are stored."""

    def set_desired_state(self, state: Armed | Locked) -> None:
        """Set the state that the shoe should be in."""

    async def send(self, commands: Sequence[ShoeCommand]) -> list[Input]:
        """Send these commands; return inputs about those that could not be sent."""


class TableTransactions:
    """Transactions of one table. ``turn`` is held from the first input of a group to its storage.

    ``recorder`` begins each group, ``index`` knows the event ids of before the start. ``on_shoe``
    is called when a new set of cards began. ``refusals`` counts refused commands: the table is
    woken to record them.

    Attributes:
        failure: why nothing more can be stored; None while it can.
        stored_state: the table as it was last stored. The controller may be ahead of it.
        last_events: by audience the id of the last event that ``stored_state`` includes; an
            audience without any is missing.
        source: that of the events that this table stores now.
        shoe: what gets the table's orders; None without a link.
    """

    def __init__(  # noqa: PLR0913 - what a table is stored with, each by name
        self,
        controller: TableController,
        recorder: TableRecorder,
        journal: Journal,
        clock: Clock,
        *,
        index: EventIndex,
        refusals: RefusalBudget | None = None,
        on_shoe: Callable[[], None] = lambda: None,
    ) -> None:
        self.controller = controller
        self.recorder = recorder
        self.journal = journal
        self.clock = clock
        self.index = index
        self.refusals = RefusalBudget() if refusals is None else refusals
        self.table = controller.settings.table
        self.turn = asyncio.Lock()
        self.wake = WakeTimer(clock)
        self.failure: Exception | None = None
        self.stored_state = controller.state
        self.last_events = _last_events(self.table, journal.ends.head(self.table).counters)
        self.source = source_of(recorder.epoch, self.table)
        self._listeners: list[Callable[[], None]] = []
        self.shoe: Shoe | None = None
        self._on_shoe = on_shoe
        # A clock that was set back before the daemon started again must not hold the table's time.
        self._ahead_us = max(0, controller.state.t_us - clock.wall_us())
        self._desired = controller.desired
        self._uncommitted: list[tuple[int, TableEvent]] = []
        self._commands: list[ShoeCommand] = []
        self._unstored: asyncio.Future[CommitResult] | None = None
        self._later = 0
        self._free = asyncio.Event()

    # Groups.

    def begin(self, t_us: int | None = None) -> tuple[Batch, int]:
        """Return the next group, and a time for its inputs.

        What was sent to the shoe until now stands before everything else. After a failure there is
        no group: it would stand behind what is missing.
        """
        if self.failure is not None:
            raise self.failure
        now_us = self.now(t_us)
        waits = self._unstored is not None and not self._unstored.done()
        return self.recorder.begin(self.controller, self.index, waits=waits), now_us

    def now(self, t_us: int | None = None) -> int:
        """Return a time for an input: never before the table's last one."""
        clock_us = self.clock.wall_us() if t_us is None else t_us
        return max(self.controller.state.t_us, self.table_time(clock_us))

    def table_time(self, clock_us: int) -> int:
        """Return the table's time at a time of the clock, whatever inputs it had since."""
        return clock_us + self._ahead_us

    def refuse_after_failure(self) -> None:
        """Raise the failure: the controller is ahead of what is stored, and nobody may see it."""
        if self.failure is not None:
            raise self.failure

    async def store_sent(self) -> None:
        """Store what was sent to the shoe since the last group, if anything."""
        group = Batch(self.recorder.epoch)
        self.recorder.sent(group)
        if len(group):
            await self.journal.commit(group)

    async def store(self, inputs: Callable[[int], Iterable[Input]]) -> None:
        """Handle and store inputs, made for the time given, in a group of their own."""
        group, t_us = self.begin()
        self.run(group, inputs(t_us))
        await self.commit(group)

    # Inputs.

    def run(self, group: Batch, inputs: Iterable[Input]) -> tuple[list[int], list[Answer]]:
        """Handle each input on its own. One that fails becomes a fault, which halts the table.

        Returns the handles of the events in the group, and the answers.
        """
        handles: list[int] = []
        answers: list[Answer] = []
        for happened in inputs:
            before = self.controller.state
            try:
                effects = self.controller.handle(happened)
                recorded = record_input(group, self.table, happened, effects, self.index)
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

    def run_reception(self, group: Batch, inputs: Iterable[Input]) -> bool:
        """Handle what was received. Return whether anything follows from it.

        If nothing does, nobody waits for the group: there is no order to the shoe, no event, no
        answer and no wake-up in it.
        """
        wake_us = self.controller.state.wake_us
        handles, answers = self.run(group, inputs)
        return bool(
            handles
            or answers
            or self._commands
            or self.recorder.has_snapshot
            or self.controller.state.wake_us != wake_us
            or self.controller.desired != self._desired
        )

    def _halt(
        self, group: Batch, happened: Input, error: Exception
    ) -> tuple[list[Effect], list[int]]:
        """Put a fault in the place of an input that cannot be handled, or cannot be recorded."""
        log.error("%s: input failed: type=%s", self.table, type(happened).__name__, exc_info=error)
        what = f"{type(error).__name__}: {error}"
        fault = Fault(t_us=happened.t_us, where=fault_place(happened), what=what)
        try:
            effects = self.controller.handle(fault)
            return effects, record_input(group, self.table, fault, effects, self.index)
        except Exception as worse:
            self.failure = worse  # inputs of the group were handled, and it is not stored
            raise

    # Commits.

    async def commit(self, group: Batch) -> CommitResult:
        """Store the group; then let its orders take effect.

        Raises:
            JournalError: it is not stored. The table is ahead of what is: nothing more of it can
                be stored.
        """
        try:
            result = await self.journal.commit(group)
        except Exception as error:
            self.failure = error
            raise
        await self.stored(result)
        return result

    async def store_later(self, group: Batch) -> None:
        """Hand in a group from which nothing follows: the next one takes it along.

        Of ``MOST_LATER`` the last is waited for, so that a shoe that floods its line neither makes
        a commit long for others nor is read faster than it is stored.
        """
        self._later += 1
        if self._later >= MOST_LATER:
            await self.commit(group)
            return
        self._unstored = self.journal.store_later(group)
        self._unstored.add_done_callback(partial(self._stored_later, self.controller.state))

    def _stored_later(self, state: TableState, stored: asyncio.Future[CommitResult]) -> None:
        self._later = 0
        error = stored.exception()
        if error is None:
            self._set_stored(state)
        elif isinstance(error, Exception):
            self.failure = error

    async def stored(self, result: CommitResult) -> None:
        """Let the orders of a group take effect that is stored."""
        self._later = 0
        events, self._uncommitted = self._uncommitted, []
        state = self.controller.state
        self._note_last_events(result.ids[handle] for handle, _ in events)
        self._set_stored(state)
        if self.recorder.has_new_set:
            self.recorder.has_new_set = False
            self._on_shoe()
        for handle, event in events:
            if event.type in OUTCOME_TYPES:
                self.index.add_event(event.type, event.subject, result.ids[handle])
        desired = self.controller.desired
        if self.shoe is not None and desired != self._desired:
            self.shoe.set_desired_state(desired)
        self._desired = desired
        if self._commands and self.shoe is not None:
            commands, self._commands = self._commands, []
            not_sent = await self.shoe.send(commands)
            if not_sent:
                await self.store(lambda _: not_sent)
        if self.wake.at_us != state.wake_us:
            self.wake_next()
        if not self._free.is_set() and not self.is_held:
            self._free.set()

    def _note_last_events(self, stored: Iterable[EventIds]) -> None:
        self.source = source_of(self.recorder.epoch, self.table)
        for ids in stored:
            self.last_events[Audience.RESTRICTED] = ids.restricted
            if ids.public is not None:
                self.last_events[Audience.PUBLIC] = ids.public

    def _set_stored(self, state: TableState) -> None:
        self.stored_state = state
        for listener in self._listeners:
            listener()

    def on_stored(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` on the loop whenever ``stored_state`` is another one."""
        self._listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        """Do not call this listener any more."""
        self._listeners.remove(listener)

    # The next wake-up, and a table that waits for a person.

    def wake_next(self) -> None:
        """Set the timer to when the table wants to be woken, or a count is due."""
        wake_us, due_us = self.controller.state.wake_us, self.refusals.due_us()
        if wake_us is None or (due_us is not None and due_us < wake_us):
            wake_us = due_us
        if wake_us is None:
            self.wake.cancel()
        else:
            self.wake.at(wake_us, self.now())

    @property
    def is_held(self) -> bool:
        """True if the storage failed and nobody said *resume* since."""
        return has_storage_outage(self.controller.state)

    async def released(self) -> None:
        """Return once the table is not held."""
        await self._free.wait()


def _last_events(table: str, counters: Counters) -> dict[Audience, str]:
    numbers = {Audience.PUBLIC: counters.public, Audience.RESTRICTED: counters.restricted}
    return {sees: str(EventId(table, sees, number)) for sees, number in numbers.items() if number}


class WakeTimer:
    """The one time at which a table asked to be woken. For one event loop.

    ``at_us`` is that time; None while none is set.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due = asyncio.Event()
        self._timer: Timer | None = None
        self.at_us: int | None = None

    def at(self, wake_us: int, now_us: int) -> None:
        """Wake at this time and no other."""
        self.cancel()
        self.at_us = wake_us
        wall_us = self._clock.wall_us() + max(0, wake_us - now_us)
        self._timer = self._clock.call_when(wall_us, self._came)

    def _came(self) -> None:
        self.at_us = self._timer = None
        self._due.set()

    async def due(self) -> None:
        """Return when the time has come."""
        await self._due.wait()
        self._due.clear()

    def cancel(self) -> None:
        """Do not wake."""
        if self._timer is not None:
            self._timer.cancel()
            self.at_us = self._timer = None
