"""The lost part of a journal, as far as sinks' files and the head file tell, and who still has it.

In: a reader of the journal, its evidence, the lines of sinks' files that it lacks. Out: records,
rounds and cards, counted.
Must not know: sinks, configurations, who rules.

Whoever rules reads this: no card is named, and of the restricted stream no event is counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache, partial

import msgspec

from shoe_ctl.journal import head_file
from shoe_ctl.journal.evidence import Evidence
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.recovery import current_epoch
from shoe_ctl.records import Audience, Envelope, epoch_in, event_id, table_in

_envelope = msgspec.json.Decoder(Envelope)


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A sink's file that holds lost events of a table.

    ``first``, ``last`` and ``events`` are of a public stream alone; None of the restricted one.
    ``gapless``: they follow the journal's last event without a gap.
    """

    sink: str
    file: str
    stream: str
    first: str | None
    last: str | None
    events: int | None
    gapless: bool


class LostRound(msgspec.Struct, frozen=True, kw_only=True):
    """A round with lost events, and how many ``cards`` were dealt in them.

    ``outcome``: it had one in them that was not taken back.
    """

    round_id: str
    cards: int
    outcome: bool


class LostPart(msgspec.Struct, frozen=True, kw_only=True):
    """The lost part of one table."""

    table: str
    last_record: int | None
    rounds: tuple[LostRound, ...]
    held_by: tuple[Holder, ...]


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known to be lost. ``records``: the least number of them; None: not known."""

    evidence: tuple[Evidence, ...]
    last_n: int
    records: int | None
    tables: tuple[LostPart, ...]


class KeptLines(msgspec.Struct, frozen=True):
    """The lines of a sink's file whose events the journal does not have, in the file's order."""

    sink: str
    file: str
    lines: Sequence[bytes]


class MissingEvents:
    """Tells by its id and source whether an event is missing in the journal."""

    def __init__(self, reader: Reader) -> None:
        self._heads = reader.heads()[1]
        self._epoch = cache(partial(current_epoch, reader))

    def __call__(self, id_: str, source: str) -> bool | None:
        """Return True if the event is missing, None if it is of no table of the journal.

        Raises:
            ValueError: it is no event's id.
        """
        table, audience, number = event_id(id_)
        if table not in self._heads or table_in(source) != table:
            return None
        if epoch_in(source) != self._epoch(table):
            return False
        return number > self.stored(table, audience)

    def stored(self, table: str, audience: Audience) -> int:
        """Return the number of the table's last stored event of this audience."""
        counters = self._heads[table].counters
        return counters.public if audience is Audience.PUBLIC else counters.restricted


def find_loss(reader: Reader, evidence: Sequence[Evidence], kept: Iterable[KeptLines]) -> Loss:
    """Return what is lost by this evidence and the lines that sinks' files kept.

    Raises:
        JournalError: the journal cannot be read.
        OSError: its head file cannot.
    """
    missing = MissingEvents(reader)
    last_n = reader.heads()[0]
    heads = head_file.read_head_file(reader.path)
    ends = {} if heads is None else {chain.name: chain.n for chain in heads.chains.values()}
    beyond = max((n for n in ends.values() if n > last_n), default=None)
    events: dict[str, list[Envelope]] = {}
    holders: dict[str, list[Holder]] = {}
    for file in kept:
        by_table: dict[str, list[Envelope]] = {}
        for line in file.lines:
            event = _envelope.decode(line)
            by_table.setdefault(event_id(event.id).table, []).append(event)
        for table, of in by_table.items():
            events.setdefault(table, []).extend(of)
            holders.setdefault(table, []).extend(_holders(file, table, of, missing))
    tables = {*events, *(name for name, n in ends.items() if name and n > last_n)}
    return Loss(
        evidence=tuple(evidence),
        last_n=last_n,
        records=None if beyond is None else beyond - last_n,
        tables=tuple(
            LostPart(
                table=table,
                last_record=ends[table] if ends.get(table, 0) > last_n else None,
                rounds=tuple(_rounds(events.get(table, []))),
                held_by=tuple(holders.get(table, [])),
            )
            for table in sorted(tables)
        ),
    )


def _holders(
    file: KeptLines, table: str, events: Collection[Envelope], missing: MissingEvents
) -> Iterable[Holder]:
    for audience in Audience:
        numbers = sorted(
            {at.number for event in events if (at := event_id(event.id)).audience is audience}
        )
        if not numbers:
            continue
        public = audience is Audience.PUBLIC
        yield Holder(
            sink=file.sink,
            file=file.file,
            stream=audience.name.lower(),
            first=f"{table}/p{numbers[0]}" if public else None,
            last=f"{table}/p{numbers[-1]}" if public else None,
            events=len(numbers) if public else None,
            gapless=numbers == list(range(missing.stored(table, audience) + 1, numbers[-1] + 1)),
        )


def _rounds(events: Iterable[Envelope]) -> Iterable[LostRound]:
    """Yield the rounds of these events, by what everyone sees: cards as they were dealt."""
    cards: dict[str, set[tuple[object, object]]] = {}
    over: dict[str, bool] = {}
    for event in events:
        round_id = _round_of(event)
        if round_id is None:
            continue
        dealt = cards.setdefault(round_id, set())
        if event.type == "round.card_dealt":
            dealt.add((event.data.get("hand"), event.data.get("index")))
        elif event.type in ("round.outcome", "round.revised"):
            over[round_id] = True
        elif event.type in ("round.void", "round.reopened"):
            over[round_id] = False
    for round_id, dealt in cards.items():
        yield LostRound(round_id=round_id, cards=len(dealt), outcome=over.get(round_id, False))


def _round_of(event: Envelope) -> str | None:
    said = event.data.get("round_id")
    return said if isinstance(said, str) else None
