"""What the shoe and everybody else was told is kept, held to what really is on the disk.

In: the shoe's memory, what a crash would leave. Out: Broken.
Must not know: how the journal is written; it is opened as any reader opens it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from firmware_proto.events import Gap, Hello, ShoeEvent
from shoe_ctl.history import snapshots
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.store import Store
from shoe_ctl.journal.verify import verify
from shoe_ctl.records import Audience
from shoe_ctl.replay.replay import replay
from shoe_ctl.table.inputs import ShoeSaid, from_bytes
from shoe_testing.faulty_disk import Image
from simulators.shoe.event_log import RESERVE, EventLog, Stored
from tests.simulation.broken import Broken
from tests.simulation.delivered import Delivered

JOURNAL = "journal.db"
LINES = "public.jsonl"


class WatchedMemory(EventLog):
    """The shoe's memory, and every event that ever went into it."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity, reserve=min(RESERVE, capacity // 3))
        self.given: dict[int, ShoeEvent] = {}
        self.forgotten: set[int] = set()

    def store(self, event: ShoeEvent, *, boot_id: int, t_us: int) -> Stored | None:
        number = self.next_seq
        self.given[number] = event
        stored = super().store(event, boot_id=boot_id, t_us=t_us)
        if stored is None:
            self.forgotten.add(number)
        return stored

    @property
    def acknowledged(self) -> int:
        """The last event that the host says it has stored."""
        return self.next_seq - 1 - self.unacknowledged


class Kept:
    """``scratch`` is a folder to look at images in."""

    def __init__(self, memory: WatchedMemory, delivered: Delivered, scratch: Path) -> None:
        self._memory = memory
        self._delivered = delivered
        self._scratch = scratch
        self.answered: dict[str, list[str]] = {}

    def holds(self, image: Image, device: str, table: str) -> None:
        """A journal that is left so holds all that was acknowledged, published and answered.

        Raises:
            Broken: it does not.
        """
        for path in self._scratch.iterdir():
            path.unlink()
        for name, content in image.items():
            (self._scratch / name).write_bytes(content)
        acknowledged = self._memory.acknowledged
        if JOURNAL not in image:
            stored, public, restricted = 0, 0, 0
        else:
            store = Store.open(self._scratch / JOURNAL)
            try:
                with store.reader() as reader:
                    stored = reader.devices(table).get(device, 0)
                    counters = store.head(table).counters
                    public, restricted = counters.public, counters.restricted
            finally:
                store.close()
        if stored < acknowledged:
            how = f"{acknowledged} events were acknowledged, and {stored} would be left"
            raise Broken("nothing is lost", how)
        told = self._delivered.told
        if public < len(told[Audience.PUBLIC]) or restricted < len(told[Audience.RESTRICTED]):
            how = f"{len(told[Audience.PUBLIC])} were published, and {public} would be left"
            raise Broken("nothing is published that is not stored", how)
        for command_id, events in self.answered.items():
            if any(int(i.rpartition("/p")[2]) > public for i in events):
                raise Broken("nothing is lost", f"{command_id} was answered, and would be lost")

    def at_rest(self, journal: Path) -> Counter[str]:
        """The whole journal of a daemon that has stopped; what was counted in it.

        Raises:
            Broken: it is damaged, does not replay, or is not what shoe and systems were told.
        """
        with Reader.open(journal) as reader:
            found = verify(reader)
            if not found.ok:
                raise Broken("replayable", f"the chain is broken: {found.first_bad}")
            again = replay(reader, snapshots.controller_for, snapshots.agrees)
            if again.differences:
                raise Broken("replayable", f"{again.differences[0]}")
            records = list(reader.records())
        self._events_are_the_shoes([r.body for r in records if r.kind == Kind.INPUT.value])
        for kind, audience in (
            (Kind.PUBLIC, Audience.PUBLIC),
            (Kind.RESTRICTED, Audience.RESTRICTED),
        ):
            stored = [r.body for r in records if r.kind == kind.value]
            if stored != self._delivered.told[audience]:
                told = len(self._delivered.told[audience])
                how = f"{len(stored)} {audience.name} events are stored, {told} were told"
                raise Broken("delivered", how)
        for line in (journal.with_name(LINES)).read_bytes().splitlines():
            self._delivered.take(LINES, Audience.PUBLIC, [line])
        if self._delivered.applied[LINES] != len(self._delivered.told[Audience.PUBLIC]):
            raise Broken("delivered", f"{LINES} has {self._delivered.applied[LINES]} events")
        return Counter({"records": len(records), "rounds": again.rounds})

    def _events_are_the_shoes(self, inputs: list[bytes]) -> None:
        heard: dict[int, Any] = {}
        told_lost: set[int] = set()
        history = None
        for body in inputs:
            happened = from_bytes(body)
            if not isinstance(happened, ShoeSaid) or not isinstance(happened.seq, int):
                continue
            if isinstance(happened.event, Hello):  # it counts what was before
                history = happened.seq if history is None else history
                continue
            if isinstance(happened.event, Gap):
                told_lost |= set(range(happened.event.first, happened.event.last + 1))
                continue
            if happened.seq in heard:
                raise Broken("nothing is doubled", f"the shoe's event {happened.seq} came twice")
            heard[happened.seq] = happened.event
        for number in range((history or 0) + 1, self._memory.acknowledged + 1):
            said, kept = self._memory.given[number], heard.get(number)
            if number in self._memory.forgotten and kept is None:
                if number not in told_lost:
                    how = f"the shoe had no room for {number}, and no gap says so"
                    raise Broken("never a guess", how)
            elif kept != said:
                raise Broken("nothing is lost", f"event {number} was {said}, stored is {kept}")
