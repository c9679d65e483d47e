"""Input replay: hands one table's inputs to a fresh handler and compares the events.

In: a table's records in order, makers of handlers. Out: differences.
Must not know: which controller that is, the wire, loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from shoe_ctl.history.recording import record_input
from shoe_ctl.history.revised import Told
from shoe_ctl.journal.bodies import Kind, Meta, Snapshot
from shoe_ctl.journal.group import Counters, Group
from shoe_ctl.journal.recovery import meta_of
from shoe_ctl.records import Record
from shoe_ctl.replay.difference import ENDS, OPENED, Difference, first_difference, text, told
from shoe_ctl.table.effects import Effect
from shoe_ctl.table.inputs import Input, from_bytes


class Handler(Protocol):
    """A table's controller: what an input brings about."""

    def handle(self, happened: Input) -> Sequence[Effect]:
        """The effects of this input, the next one in order."""


H = TypeVar("H", bound=Handler)

_INPUT, _PUBLIC = Kind.INPUT.value, Kind.PUBLIC.value
_EVENTS = (_PUBLIC, Kind.RESTRICTED.value)
_OF_A_ROUND = b'"type":"round.'

BeginLate = Callable[[Meta, Snapshot], tuple[H, Told] | None]


class Rerunning(Generic[H]):
    """One table: its handler, and the input whose events are being gathered.

    A handler is made where a table is started, and anew, from the one until then, where it is
    started under another game file or other settings. ``agrees`` says whether a handler stands as a
    snapshot has it: where it does not, a restart went on from what the inputs do not bear out.

    ``begin_late`` is given where the table's first records are not there: it gives the handler that
    stood as the snapshot behind the first start says, or None. What stands before is not run.

    With ``resume`` a difference is told once: what follows from it is only counted, in
    ``followed``, until the table is in step again. That is behind a round that came out the same as
    a whole, and at the latest where ``resume`` makes the handler that a snapshot has.
    """

    def __init__(
        self,
        table: str,
        make_handler: Callable[[Meta, H | None], H],
        agrees: Callable[[H, Snapshot], bool],
        begin_late: BeginLate[H] | None = None,
        resume: BeginLate[H] | None = None,
    ) -> None:
        self.followed = 0
        self._resume = resume
        self._out_of_step = False
        self._same_since_opened = False
        self._table = table
        self._make_handler = make_handler
        self._agrees = agrees
        self._begin_late = begin_late
        self._meta: Meta | None = None
        self._handler: H | None = None
        self._input: Record | None = None
        self._round_id: str | None = None  # that was open at it
        self._recorded: list[Record] = []
        self._counters = Counters()
        self._told = Told()

    def see(self, record: Record, round_id: str | None) -> Iterator[Difference]:
        """The table's next record; ``round_id`` is the round that is open at it, if any.

        Raises:
            JournalError: a start was spoilt.
            ShoeCtlError: ``make_handler`` cannot take what the table was started with.
        """
        if self._begin_late is not None:
            self._begin(record, self._begin_late)
            return
        if record.kind in _EVENTS:
            self._recorded.append(record)
            return
        yield from self.settle(round_id)
        if record.kind == _INPUT:
            self._input, self._round_id = record, round_id
        elif record.kind == Kind.SNAPSHOT.value:
            yield from self._held_against(record)
        elif record.kind == Kind.META.value:
            meta = meta_of(record)
            if self._meta is None or not meta.same_rules(self._meta):
                self._handler = self._make_handler(meta, self._handler)
            self._meta = meta

    @property
    def waits(self) -> bool:
        """Whether nothing was run yet: the table began before its first record here."""
        return self._begin_late is not None

    def _begin(self, record: Record, begin_late: BeginLate[H]) -> None:
        if record.kind == Kind.META.value:
            self._meta = meta_of(record)
        elif record.kind == Kind.SNAPSHOT.value and self._meta is not None:
            with suppress(ValueError):
                snapshot = Snapshot.from_bytes(record.body)
                if (stood := begin_late(self._meta, snapshot)) is not None:
                    self._handler, self._told = stood
                    self._counters = Counters(snapshot.public, snapshot.restricted)
                    self._begin_late = None

    def settle(self, round_id: str | None) -> Iterator[Difference]:
        """No more was recorded of the last input: runs it and compares, counting on by what is."""
        before = Counters(self._counters.public, self._counters.restricted)
        for event in self._recorded:
            if event.kind == _PUBLIC:
                self._counters.public += 1
            else:
                self._counters.restricted += 1
        record, recorded = self._input, [event.body for event in self._recorded]
        self._input, self._recorded = None, []
        if record is None:
            if recorded:
                yield self._differs(0, round_id, "events without an input", recorded, [])
            return
        replayed, why = self._run(record, before)
        for body in recorded:
            with suppress(ValueError):  # it was spoilt, and differs
                self._told.read((body,))
        differs = bool(why) or replayed != recorded
        if self._out_of_step:
            self._follow(recorded, differs=differs)
        elif differs:
            self._out_of_step, self._same_since_opened = self._resume is not None, False
            open_then, self._round_id = self._round_id, None
            yield self._differs(
                record.n, round_id or open_then, why or "other events", recorded, replayed
            )

    def _follow(self, recorded: Sequence[bytes], *, differs: bool) -> None:
        """The table was out of step at this input: whether it still is."""
        if differs:
            self.followed += 1
            self._same_since_opened = False
            return
        for event in (told(body).type for body in recorded if _OF_A_ROUND in body):
            if event == OPENED:
                self._same_since_opened = True
            elif event in ENDS and self._same_since_opened:
                self._out_of_step = False

    def _run(self, record: Record, before: Counters) -> tuple[list[bytes], str]:
        """The events that an input gives; or why it gives none."""
        if self._handler is None:
            return [], "input before the table was started"
        try:
            happened = from_bytes(record.body)
        except ValueError as error:
            return [], f"input cannot be read: {error}"
        try:
            effects = self._handler.handle(happened)
        except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
            return [], f"handling raised {type(error).__name__}: {error}"
        group = Group() if self._meta is None else Group(self._meta.epoch)
        try:
            record_input(group, self._table, happened, effects, self._told)
        except KeyError as error:
            return [], f"no outcome of {error} to revise"
        return [entry.body for entry in group.lay_out(lambda _: before).records[1:]], ""

    def _differs(
        self,
        n: int,
        round_id: str | None,
        why: str,
        recorded: Sequence[bytes],
        replayed: Sequence[bytes],
    ) -> Difference:
        _, left, right = first_difference(recorded, replayed)
        return Difference(
            table=self._table,
            n=n,
            round_id=round_id or told(left).subject or told(right).subject,
            why=why,
            recorded=text(left),
            replayed=text(right),
        )

    def _held_against(self, record: Record) -> Iterator[Difference]:
        why = ""
        try:
            snapshot = Snapshot.from_bytes(record.body)
        except ValueError as error:
            why = f"snapshot cannot be read: {error}"
        else:
            if self._resumed_at(snapshot):
                return
            counted = (self._counters.public, self._counters.restricted)
            if (snapshot.public, snapshot.restricted) != counted:
                why = "the snapshot counts other events"
            elif self._handler is not None and not self._agrees(self._handler, snapshot):
                why = "the snapshot is not what the inputs lead to"
        if why and not self._out_of_step:
            yield Difference(self._table, record.n, None, why, None, None)

    def _resumed_at(self, snapshot: Snapshot) -> bool:
        """Whether a table that was out of step goes on from here, as the snapshot has it."""
        if not self._out_of_step or self._resume is None or self._meta is None:
            return False
        if (stood := self._resume(self._meta, snapshot)) is None:
            return False
        self._handler, self._told = stood
        self._counters = Counters(snapshot.public, snapshot.restricted)
        self._out_of_step = False
        return True
