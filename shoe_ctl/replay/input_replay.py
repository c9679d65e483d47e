"""Input replay: run one table's inputs again and compare the events with those recorded.

In: a table's records in order; makers of handlers, under the recorded game file or another one.
Out: differences. Must not know: the wire, loops, how a difference is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from shoe_ctl.errors import GameFileError
from shoe_ctl.games import catalog, game_file
from shoe_ctl.games.game import Game
from shoe_ctl.history import snapshots
from shoe_ctl.history.event_ids import EventIndex
from shoe_ctl.history.recorder import record_input
from shoe_ctl.journal.batch import Batch, Counters
from shoe_ctl.journal.group import encode_batch
from shoe_ctl.journal.record_format import Kind, Meta, Snapshot
from shoe_ctl.journal.recovery import invalid_record_error, read_meta, read_snapshot
from shoe_ctl.records import Record, event_head, utc
from shoe_ctl.replay.difference import ENDS, OPENED, Difference, first_difference, text, worth
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Effect
from shoe_ctl.table.inputs import Input, from_bytes


class Handler(Protocol):
    """A table's controller: what an input brings about."""

    def handle(self, happened: Input) -> Sequence[Effect]:
        """Return the effects of this input, the next one in order."""


H = TypeVar("H", bound=Handler)

_INPUT, _PUBLIC = Kind.INPUT.value, Kind.PUBLIC.value
_EVENTS = (_PUBLIC, Kind.RESTRICTED.value)
_OF_A_ROUND = b'"type":"round.'

FromSnapshot = Callable[[Meta, Snapshot], tuple[H, EventIndex] | None]
"""Makes the handler that stood as a snapshot says; None where this software cannot read it."""


class InputReplay(Generic[H]):
    """Replays one table: its handler, and the input whose recorded events are being gathered.

    A handler is made where a table is started, and made anew, from the one until then, where it is
    started under another game file or other settings. ``agrees`` says whether a handler stands as a
    snapshot has it: if not, a restart went on from something that the inputs do not lead to. Where
    it gives None, another version of the software wrote the snapshot: it is counted in
    ``not_compared``, by that version.

    ``from_first_snapshot`` is given where the table's first records were taken out: it makes the
    handler of the snapshot behind the first start. Records before that are not run.

    With ``resume`` a difference is reported once. What follows from it is only counted, in
    ``followed``, until the table is in step again: behind a round that came out the same as a
    whole, and at the latest where ``resume`` makes the handler that a snapshot has.
    """

    def __init__(  # noqa: PLR0913 - what a table is run with
        self,
        table: str,
        journal: Path,
        make_handler: Callable[[Meta, H | None], H],
        agrees: Callable[[H, Snapshot], bool | None],
        from_first_snapshot: FromSnapshot[H] | None = None,
        resume: FromSnapshot[H] | None = None,
    ) -> None:
        self.followed = 0
        self.not_compared: Counter[str] = Counter()
        self._resume = resume
        self._out_of_step = False
        self._same_since_opened = False
        self._table = table
        self._journal = journal
        self._make_handler = make_handler
        self._agrees = agrees
        self._from_first_snapshot = from_first_snapshot
        self._meta: Meta | None = None
        self._handler: H | None = None
        self._input: Record | None = None
        self._round_id: str | None = None  # that was open at it
        self._recorded: list[Record] = []
        self._counters = Counters()
        self._index = EventIndex()
        self._t_us = 0  # of the last input

    @property
    def is_before_first_snapshot(self) -> bool:
        """True if nothing was run yet, because the table began before its first record here."""
        return self._from_first_snapshot is not None

    def add(self, record: Record, round_id: str | None) -> Iterator[Difference]:
        """Take the table's next record; ``round_id`` is the round that is open at it, if any.

        Raises:
            JournalError: a start was spoilt, or a record is of another format.
            ShoeCtlError: ``make_handler`` cannot take what the table was started with.
        """
        if self._from_first_snapshot is not None:
            self._begin(record, self._from_first_snapshot)
            return
        if record.kind in _EVENTS:
            self._recorded.append(record)
            return
        yield from self.settle(round_id)
        if record.kind == _INPUT:
            self._input, self._round_id = record, round_id
        elif record.kind == Kind.SNAPSHOT.value:
            yield from self._compare_snapshot(record)
        elif record.kind == Kind.META.value:
            meta = read_meta(record, self._journal)
            if self._meta is None or not meta.same_rules(self._meta):
                self._handler = self._make_handler(meta, self._handler)
            self._meta = meta

    def _begin(self, record: Record, from_first_snapshot: FromSnapshot[H]) -> None:
        if record.kind == Kind.META.value:
            self._meta = read_meta(record, self._journal)
        elif record.kind == Kind.SNAPSHOT.value and self._meta is not None:
            try:
                snapshot = read_snapshot(record, self._journal)
                stood = from_first_snapshot(self._meta, snapshot)
            except ValueError as error:
                what = f"how table {self._table} stood"
                raise invalid_record_error(record, self._journal, what, error) from None
            if stood is not None:
                self._handler, self._index = stood
                self._counters = Counters(snapshot.public, snapshot.restricted)
                self._from_first_snapshot = None

    def settle(self, round_id: str | None) -> Iterator[Difference]:
        """Run the last input, of which no more was recorded, and compare its events."""
        before = Counters(self._counters.public, self._counters.restricted)
        for event in self._recorded:
            if event.kind == _PUBLIC:
                self._counters.public += 1
            else:
                self._counters.restricted += 1
        record, events = self._input, self._recorded
        recorded = [event.body for event in events]
        self._input, self._recorded = None, []
        if record is None:
            if recorded:
                yield self._difference(0, round_id, "events without an input", recorded, [])
            return
        replayed, why = self._run(record, before)
        for event in events:
            with suppress(ValueError):  # it was spoilt, and differs
                self._index.read(event)
        differs = bool(why) or replayed != recorded
        if self._out_of_step:
            self._follow(recorded, differs=differs)
        elif differs:
            self._out_of_step, self._same_since_opened = self._resume is not None, False
            open_then, self._round_id = self._round_id, None
            yield self._difference(
                record.n, round_id or open_then, why or "other events", recorded, replayed
            )

    def _follow(self, recorded: Sequence[bytes], *, differs: bool) -> None:
        """The table was out of step at this input: find out whether it still is."""
        if differs:
            self.followed += 1
            self._same_since_opened = False
            return
        for kind in (event_head(body).type for body in recorded if _OF_A_ROUND in body):
            if kind == OPENED:
                self._same_since_opened = True
            elif kind in ENDS and self._same_since_opened:
                self._out_of_step = False

    def _run(self, record: Record, before: Counters) -> tuple[list[bytes], str]:
        """Return the events that an input gives, or why it gives none."""
        if self._handler is None:
            return [], "input before the table was started"
        try:
            happened = from_bytes(record.body)
        except ValueError as error:
            return [], f"input cannot be read: {error}"
        before_us, self._t_us = self._t_us, happened.t_us
        if happened.t_us < before_us:
            return [], f"time runs backwards: {utc(happened.t_us)} after {utc(before_us)}"
        try:
            effects = self._handler.handle(happened)
        except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
            return [], f"handling raised {type(error).__name__}: {error}"
        group = Batch() if self._meta is None else Batch(self._meta.epoch)
        try:
            record_input(group, self._table, happened, effects, self._index)
        except KeyError as error:
            return [], f"no outcome of {error} to revise"
        return [entry.body for entry in encode_batch(group, lambda _: before).records[1:]], ""

    def _difference(
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
            round_id=round_id or event_head(left).subject or event_head(right).subject,
            why=why,
            recorded=text(left),
            replayed=text(right),
            worth=worth(recorded, replayed),
        )

    def _compare_snapshot(self, record: Record) -> Iterator[Difference]:
        why = ""
        try:
            snapshot = read_snapshot(record, self._journal)
        except ValueError as error:
            why = f"snapshot cannot be read: {error}"
        else:
            if self._resumes_at(snapshot):
                return
            counted = (self._counters.public, self._counters.restricted)
            if (snapshot.public, snapshot.restricted) != counted:
                why = "the snapshot counts other events"
            elif self._handler is not None:
                same = self._agrees(self._handler, snapshot)
                if same is None:
                    self.not_compared[snapshot.software] += 1
                elif not same:
                    why = "the snapshot is not what the inputs lead to"
        if why and not self._out_of_step:
            yield Difference(self._table, record.n, None, why, None, None)

    def _resumes_at(self, snapshot: Snapshot) -> bool:
        """Let a table that is out of step go on from this snapshot; return whether it does."""
        if not self._out_of_step or self._resume is None or self._meta is None:
            return False
        stood = None
        with suppress(ValueError):  # the snapshot was spoilt, and differs
            stood = self._resume(self._meta, snapshot)
        if stood is None:
            return False
        self._handler, self._index = stood
        self._counters = Counters(snapshot.public, snapshot.restricted)
        self._out_of_step = False
        return True


# Other game files than those in the journal.


class GameOverrides:
    """Makes handlers under other game files than the recorded ones: what would they have told?

    ``games`` are the other files by game id, ``used`` those of which a table was started.
    """

    def __init__(self, games: dict[str, Game]) -> None:
        self.games = games
        self.used: set[str] = set()

    def controller(self, meta: Meta, before: TableController | None) -> TableController:
        """As ``snapshots.controller_for``, but under the other file of the same game, if any.

        Raises:
            JournalError: the recorded settings or game file cannot be read.
            ConfigError: the table's settings do not go with the other file.
        """
        try:
            other = self.games.get(game_file.parse(meta.game, "the journal's game file").id)
        except GameFileError:
            other = None  # whoever reads it next reports it
        if other is not None:
            self.used.add(other.id)
            meta = msgspec.structs.replace(meta, game=other.source)
        return snapshots.controller_for(meta, before)

    def from_first_snapshot(
        self, meta: Meta, snapshot: Snapshot
    ) -> tuple[TableController, EventIndex] | None:
        """As ``snapshots.from_first_snapshot``, and from then on under the other file.

        Raises:
            JournalError: the recorded settings or game file cannot be read.
            ConfigError: the table's settings do not go with the other file.
        """
        if (stood := snapshots.from_first_snapshot(meta, snapshot)) is None:
            return None
        return self.controller(meta, stood[0]), stood[1]

    def agrees(self, controller: TableController, snapshot: Snapshot) -> bool | None:
        """As ``snapshots.agrees``; under other rules no snapshot can be compared."""
        return controller.game.id in self.used or snapshots.agrees(controller, snapshot)


def read_overrides(path: Path) -> GameOverrides:
    """Read the game in a file, or all those in a folder.

    Raises:
        GameFileError: a file cannot be read or is no good, there is none, or two of one game.
    """
    found: dict[str, Game] = {}
    for file in _game_files(path):
        game = catalog.load_file(file)
        if game.id in found:
            raise GameFileError(f"{file}: another file beside it is of {game.id} too")
        found[game.id] = game
    if not found:
        raise GameFileError(f"{path}: there is no game file (*.toml) in it")
    return GameOverrides(found)


def _game_files(path: Path) -> list[Path]:
    try:
        return sorted(path.glob("*.toml")) if path.is_dir() else [path]
    except OSError as error:
        raise GameFileError(f"{path}: cannot be read: {error.strerror}") from None
