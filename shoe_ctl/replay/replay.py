"""Both replays: raw bytes to inputs, inputs to events, compared byte for byte with the journal's.

In: a reader, makers of what handles a table's inputs and of connections' sessions. Out: rounds and
differences. Must not know: which controllers and profiles those are, loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

import msgspec

from shoe_ctl.journal.bodies import JOURNAL, Kind, Meta, Snapshot
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.recovery import kept_from
from shoe_ctl.records import Record
from shoe_ctl.replay.difference import Difference, Differences, Rounds, told
from shoe_ctl.replay.input_replay import BeginLate, H, Rerunning
from shoe_ctl.replay.wire_replay import Redecoding, SessionOf

_INPUTS = (Kind.META, Kind.SNAPSHOT, Kind.INPUT, Kind.PUBLIC, Kind.RESTRICTED)
_WIRE = (Kind.CONNECTION, Kind.WIRE, Kind.CALLS)
_OF_THE_LINE = frozenset(kind.value for kind in (*_WIRE, Kind.INPUT, Kind.SNAPSHOT))
_OF_THE_TABLE = frozenset(kind.value for kind in _INPUTS)
_OF_A_ROUND = b'"type":"round.'

_STEP = 2000
"""Records between two calls that say how far it has come: tens of milliseconds."""


class Replay(msgspec.Struct, frozen=True):
    """How many rounds were opened in the journal, and where the replays differ from it.

    ``differences`` are the first ones, ``found`` counts all and ``rounds_differing`` their rounds.
    ``connections`` and ``bytes`` were decoded again; ``overheard`` bytes are of connections that
    began before the journal does, and were held to the inputs frame by frame. ``followed`` counts
    inputs that came out otherwise because of a difference told before. ``stopped_at`` is the record
    behind which nothing was replayed, None where all was.
    """

    rounds: int
    differences: list[Difference]
    found: int = 0
    rounds_differing: int = 0
    connections: int = 0
    bytes: int = 0
    overheard: int = 0
    followed: int = 0
    stopped_at: int | None = None


class _Table(Generic[H]):
    """What a table's records are handed to."""

    def __init__(self, rerunning: Rerunning[H], redecoding: Redecoding | None) -> None:
        self.rounds = Rounds()
        self.rounds_before = 0
        self.redecoding = redecoding
        self._rerunning = rerunning

    @property
    def followed(self) -> int:
        """Inputs that differ because of a difference told before."""
        return self._rerunning.followed

    def see(self, record: Record, found: Differences) -> None:
        """The table's next record."""
        open_round = self.rounds.open
        if record.kind == Kind.RESTRICTED.value and _OF_A_ROUND in record.body:
            self.rounds.see(told(record.body))
        if self._rerunning.waits:
            self.rounds_before = self.rounds.count
        if record.kind in _OF_THE_TABLE:
            found.take(self._rerunning.see(record, open_round))
        if record.kind in _OF_THE_LINE and self.redecoding is not None:
            found.take(self.redecoding.see(record, open_round))

    def end(self, found: Differences) -> None:
        """There is no more."""
        found.take(self._rerunning.settle(self.rounds.open))
        if self.redecoding is not None:
            found.take(self.redecoding.settle(self.rounds.open))


def replay(  # noqa: PLR0913 - makers of all that a replay runs, each by name
    reader: Reader,
    make_handler: Callable[[Meta, H | None], H],
    agrees: Callable[[H, Snapshot], bool],
    session_of: SessionOf | None = None,
    progress: Callable[[int, int], None] = lambda _n, _last_n: None,
    *,
    begin_late: BeginLate[H] | None = None,
    resynchronise: bool = False,
    first_only: bool = False,
) -> Replay:
    """Runs every table's inputs again, and with ``session_of`` decodes their bytes again too.

    With ``first_only`` it ends at the first difference. With ``resynchronise`` what only follows
    from a difference is not told as one.

    ``progress`` is called now and then with the record reached and the last one. See ``Rerunning``
    for the others.

    Raises:
        JournalError: the journal cannot be read.
        ShoeCtlError: ``make_handler`` cannot take what a table was started with.
    """
    tables: dict[str, _Table[H]] = {}
    found = Differences()
    last_n, _ = reader.heads()
    begun_before = kept_from(reader).ends
    stopped_at: int | None = None
    kinds = _INPUTS if session_of is None else (*_INPUTS, *_WIRE)
    for count, record in enumerate(reader.records(upto=last_n, kinds=kinds)):
        if record.table == JOURNAL:
            continue  # no table of play: a person's ruling on the journal itself
        table = tables.get(record.table)
        if table is None:
            decoding = None
            if session_of is not None:
                whole = record.table not in begun_before
                decoding = Redecoding(
                    record.table, session_of, whole=whole, resynchronise=resynchronise
                )
            late = begin_late if record.table in begun_before else None
            resume = begin_late if resynchronise else None
            rerunning = Rerunning(record.table, make_handler, agrees, late, resume)
            table = _Table(rerunning, decoding)
            tables[record.table] = table
        table.see(record, found)
        if first_only and found.count:
            stopped_at = record.n
            break
        if count % _STEP == 0:
            progress(record.n, last_n)
    else:
        for table in tables.values():
            table.end(found)
    decoded = [table.redecoding for table in tables.values() if table.redecoding is not None]
    return Replay(
        rounds=sum(table.rounds.count - table.rounds_before for table in tables.values()),
        differences=found.kept,
        found=found.count,
        rounds_differing=found.rounds,
        connections=sum(one.connections for one in decoded),
        bytes=sum(one.octets for one in decoded),
        overheard=sum(one.overheard for one in decoded),
        followed=sum(table.followed for table in tables.values()),
        stopped_at=stopped_at,
    )
