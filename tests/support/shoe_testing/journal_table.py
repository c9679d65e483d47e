"""A table whose inputs are stored as the daemon stores them, without a loop or a link.

In: a path, what the table runs under, inputs. Out: the journal, and the table as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shoe_ctl.history import snapshots
from shoe_ctl.history.event_ids import EventIndex, RecordedAnswer
from shoe_ctl.history.recorder import record_input
from shoe_ctl.history.snapshots import RecoveredTable, SnapshotSchedule
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.codec import Meta
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.replay.replay import Replay, replay
from shoe_ctl.table.effects import Answer, TableEvent
from shoe_ctl.table.inputs import Input, ShoeSaid


class AtAJournal:
    """One table at an open store; goes on from what the store has of it."""

    def __init__(self, store: Store, under: Meta) -> None:
        self.store = store
        self.table: str = under.settings["table"]
        with store.reader() as reader:
            before = snapshots.recover(reader, self.table)
        self.controller = snapshots.continue_under(before.controller, before.meta, under)
        self.index: EventIndex = before.index
        self.sections = SnapshotSchedule(store, under, self.table)

    def handle(
        self, happened: Input, before: Callable[[Batch], object] = lambda _: None
    ) -> list[TableEvent]:
        """One input in a group of its own, behind what is due and ``before``, its raw bytes say."""
        group = Batch()
        self.sections.begin(group, self.controller, self.index)
        before(group)
        effects = self.controller.handle(happened)
        handles = record_input(group, self.table, happened, effects, self.index)
        device = self.controller.state.link.device_id
        if isinstance(happened, ShoeSaid) and isinstance(happened.seq, int) and device is not None:
            group.set_device_seq(self.table, device, happened.seq)
        (result,) = self.store.commit([group])
        events = [effect for effect in effects if isinstance(effect, TableEvent)]
        ids = tuple(result.ids[handle] for handle in handles)
        for event, given in zip(events, ids, strict=True):
            self.index.add_event(event.type, event.subject, given)
        for answer in effects:
            if isinstance(answer, Answer) and self.index.answer(answer.command_id) is None:
                self.index.add_answer(RecordedAnswer(answer, ids))
        return events

    def again(self) -> RecoveredTable:
        """The table as a restart would find it now."""
        with self.store.reader() as reader:
            return snapshots.recover(reader, self.table)


@contextmanager
def at_a_journal(path: Path, under: Meta, inputs: Iterable[Input] = ()) -> Iterator[AtAJournal]:
    """A table that has handled these inputs; its store is closed in the end."""
    store = Store.open(path)
    try:
        table = AtAJournal(store, under)
        for happened in inputs:
            table.handle(happened)
        yield table
    finally:
        store.close()


def replayed(path: Path) -> Replay:
    """What a replay of this journal finds."""
    with Reader.open(path) as reader:
        return replay(
            reader,
            snapshots.controller_for,
            snapshots.agrees,
            from_first_snapshot=snapshots.from_first_snapshot,
        )
