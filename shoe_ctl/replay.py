"""Input replay: runs a journal's inputs once more and compares the events byte for byte.

In: a reader, and a maker of what handles a table's inputs. Out: rounds and differences.
Must not know: which controller that is, the wire, loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

import msgspec

from shoe_ctl.journal.bodies import Kind, Meta, Snapshot
from shoe_ctl.journal.group import Counters, Group
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.recovery import meta_of
from shoe_ctl.recording import record_input
from shoe_ctl.records import Record
from shoe_ctl.revised import Told
from shoe_ctl.table.effects import Effect
from shoe_ctl.table.inputs import Input, from_bytes


class Handler(Protocol):
    """A table's controller: what an input brings about."""

    def handle(self, happened: Input) -> Sequence[Effect]:
        """The effects of this input, the next one in order."""


H = TypeVar("H", bound=Handler)

_REPLAYED = (Kind.META, Kind.SNAPSHOT, Kind.INPUT, Kind.PUBLIC, Kind.RESTRICTED)
_COUNTED = "round.opened"


class Difference(msgspec.Struct, frozen=True):
    """An input of which something else came than is recorded.

    ``n`` is the input's record number. ``recorded`` and ``replayed`` are the first events that
    differ, as text; None where there is no such event. ``round_id`` is the events' subject.
    """

    table: str
    n: int
    round_id: str | None
    why: str
    recorded: str | None
    replayed: str | None


class Replay(msgspec.Struct, frozen=True):
    """How many rounds were opened in the journal, and where the replay differs from it."""

    rounds: int
    differences: list[Difference]


class _Run(Generic[H]):
    """One table being replayed: its handler, and the input whose events are being gathered."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.meta: Meta | None = None
        self.handler: H | None = None
        self.input: Record | None = None
        self.recorded: list[Record] = []
        self.counters = Counters()
        self.told = Told()

    def compare(self) -> Difference | None:
        """Runs the gathered input and counts on by what is recorded of it."""
        before = Counters(self.counters.public, self.counters.restricted)
        for event in self.recorded:
            if event.kind == Kind.PUBLIC.value:
                self.counters.public += 1
            else:
                self.counters.restricted += 1
        record, recorded = self.input, [event.body for event in self.recorded]
        self.input, self.recorded = None, []
        if record is None:
            return self._differs(0, recorded, [], "events without an input") if recorded else None
        if self.handler is None:
            return self._differs(record.n, recorded, [], "input before the table was started")
        try:
            happened = from_bytes(record.body)
        except ValueError as error:
            return self._differs(record.n, recorded, [], f"input cannot be read: {error}")
        try:
            effects = self.handler.handle(happened)
        except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
            why = f"handling raised {type(error).__name__}: {error}"
            return self._differs(record.n, recorded, [], why)
        group = Group()
        try:
            record_input(group, self.table, happened, effects, self.told)
        except KeyError as error:
            return self._differs(record.n, recorded, [], f"no outcome of {error} to revise")
        replayed = [entry.body for entry in group.lay_out(lambda _: before).records[1:]]
        self.told.read(recorded)
        if replayed == recorded:
            return None
        return self._differs(record.n, recorded, replayed, "other events")

    def _differs(
        self, n: int, recorded: Sequence[bytes], replayed: Sequence[bytes], why: str
    ) -> Difference:
        length = max(len(recorded), len(replayed))
        for position in range(length):
            left = recorded[position] if position < len(recorded) else None
            right = replayed[position] if position < len(replayed) else None
            if left != right:
                break
        else:
            left = right = None
        return Difference(
            table=self.table,
            n=n,
            round_id=_told(left).subject or _told(right).subject,
            why=why,
            recorded=_text(left),
            replayed=_text(right),
        )


class _Told(msgspec.Struct):
    type: str = ""
    subject: str | None = None


def _told(event: bytes | None) -> _Told:
    """What an event is and is about; nothing where its bytes were spoilt."""
    with suppress(ValueError):
        return msgspec.json.decode(event or b"", type=_Told)
    return _Told()


def _text(event: bytes | None) -> str | None:
    return None if event is None else event.decode(errors="backslashreplace")


def replay(
    reader: Reader,
    make_handler: Callable[[Meta, H | None], H],
    agrees: Callable[[H, Snapshot], bool],
) -> Replay:
    """Runs every table's inputs through a fresh handler and compares what comes of them.

    ``agrees`` says whether a handler stands as a snapshot has it: where it does not, a restart went
    on from what the inputs do not bear out.

    A handler is made where a table is started, and anew, from the one until then, where it is
    started under another game file or other settings.

    Raises:
        JournalError: the journal cannot be read.
        ShoeCtlError: ``make_handler`` cannot take what the table was started with.
    """
    runs: dict[str, _Run[H]] = {}
    rounds = 0
    differences: list[Difference] = []
    last_n, _ = reader.heads()
    for record in reader.records(upto=last_n, kinds=_REPLAYED):
        run = runs.setdefault(record.table, _Run(record.table))
        if record.kind in (Kind.PUBLIC.value, Kind.RESTRICTED.value):
            run.recorded.append(record)
            if record.kind == Kind.RESTRICTED.value:
                rounds += _told(record.body).type == _COUNTED
            continue
        differences += _found(run)
        if record.kind == Kind.INPUT.value:
            run.input = record
        elif record.kind == Kind.SNAPSHOT.value:
            differences += _held_against(run, record, agrees)
        else:
            _start(run, meta_of(record), make_handler)
    for run in runs.values():
        differences += _found(run)
    return Replay(rounds, differences)


def _found(run: _Run[H]) -> Iterator[Difference]:
    if (difference := run.compare()) is not None:
        yield difference


def _held_against(
    run: _Run[H], record: Record, agrees: Callable[[H, Snapshot], bool]
) -> Iterator[Difference]:
    why = ""
    try:
        snapshot = Snapshot.from_bytes(record.body)
    except ValueError as error:
        why = f"snapshot cannot be read: {error}"
    else:
        told = (snapshot.public, snapshot.restricted)
        if told != (run.counters.public, run.counters.restricted):
            why = "the snapshot counts other events"
        elif run.handler is not None and not agrees(run.handler, snapshot):
            why = "the snapshot is not what the inputs lead to"
    if why:
        yield Difference(run.table, record.n, None, why, None, None)


def _start(run: _Run[H], meta: Meta, make_handler: Callable[[Meta, H | None], H]) -> None:
    if run.meta is None or not meta.same_rules(run.meta):
        run.handler = make_handler(meta, run.handler)
    run.meta = meta
