"""The lost part of a journal, as far as sinks and the head file tell, and who still has it.

In: a reader of the journal, its evidence, the lines that sinks hold and it lacks. Out: records,
rounds and cards, counted; the records of recovered events, for whoever rules.
Must not know: sinks, configurations, who rules.

Whoever rules reads this: no card is named, and of the restricted stream no event is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice, pairwise
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from shoe_ctl.journal import head_file
from shoe_ctl.journal.evidence import DeliveredEvent, Evidence
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import LossRuling, RecoveredEvents
from shoe_ctl.journal.recovery import current_epoch, recovered_events, rulings
from shoe_ctl.records import Audience, Envelope, Record, epoch_in, event_id, table_in

PORTION_BYTES = 1 << 18
"""One record of recovered events holds so many bytes of lines: a fourth of the longest body."""

MOST_SHOWN_BYTES = 1 << 26
"""Lines of recovered events that are counted for people: a stranger's journal may hold more."""

MOST_RULINGS = 20
"""So many rulings are shown, the newest ones."""

TOO_MUCH = "the records hold too much to be counted here"

_envelope = msgspec.json.Decoder(Envelope)


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A sink's file or stream that holds lost events of a table.

    ``file`` names it. ``not_kept`` are further events of the file, too many to be read here.
    ``first``, ``last`` and ``events`` are of a public stream alone; None of the restricted one.
    ``gapless``: with the sink's other files they follow the journal's last event without a gap.
    """

    sink: str
    file: str
    stream: str
    first: str | None
    last: str | None
    events: int | None
    gapless: bool
    not_kept: int = 0


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


class Unread(msgspec.Struct, frozen=True):
    """A file or stream of a sink that was not read, or not wholly: ``why``."""

    sink: str
    file: str
    why: str


class RuledLoss(msgspec.Struct, frozen=True, kw_only=True):
    """A loss that a person ruled on at ``t_us``: what showed it, and what was recovered.

    ``n`` is the ruling's record, and ``epoch`` what it began.
    """

    n: int
    t_us: int
    epoch: str
    lost: tuple[str, ...]
    person: str
    reason: str
    tables: tuple[LostPart, ...]
    unread: tuple[Unread, ...]


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known to be lost. ``records``: the least number of them; None: not known.

    ``ruled`` are earlier losses, newest first.
    """

    evidence: tuple[Evidence, ...]
    last_n: int
    records: int | None
    tables: tuple[LostPart, ...]
    unread: tuple[Unread, ...]
    ruled: tuple[RuledLoss, ...]


class RecoveredEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event that was recovered for ``ruling``, a record, as a sink's ``holder`` had it.

    ``is_withheld``: its data is left out but for where a card lies.
    """

    ruling: int
    sink: str
    holder: str
    is_withheld: bool
    event: Envelope


class NotRecovered(msgspec.Struct, frozen=True, kw_only=True):
    """Events of a ``holder`` that are not shown: ``not_kept`` of them, and why (``trouble``).

    ``not_kept`` is 0 where nobody counted them. ``trouble`` is empty where they were too many.
    """

    ruling: int
    sink: str
    holder: str
    not_kept: int
    trouble: str


class KeptLines(msgspec.Struct, frozen=True):
    """The lines of a sink's file or stream whose events the journal does not have, in its order.

    ``not_kept`` are further ones, too many to be kept. ``trouble``: why not all was read.
    """

    sink: str
    file: str
    lines: Sequence[bytes] = ()
    not_kept: int = 0
    trouble: str = ""


class MissingEvents:
    """Tells by its id and source whether an event is missing in the journal.

    With ``tables``, it knows these alone, and how they stood when it was made: they may begin
    another epoch later.
    """

    def __init__(self, reader: Reader, tables: Collection[str] = ()) -> None:
        heads = reader.heads()[1]
        self._heads = {name: heads[name] for name in tables if name in heads} if tables else heads
        self._epoch = cache(partial(current_epoch, reader))
        if tables:
            for table in self._heads:
                self._epoch(table)

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
    """Return what is lost by this evidence and the lines that sinks kept.

    Raises:
        JournalError: the journal cannot be read.
        OSError: its head file cannot.
    """
    kept = list(kept)
    last_n = reader.heads()[0]
    heads = head_file.read_head_file(reader.path)
    ends = {} if heads is None else {chain.name: chain.n for chain in heads.chains.values()}
    beyond = {name: n for name, n in ends.items() if n > last_n}
    return Loss(
        evidence=tuple(evidence),
        last_n=last_n,
        records=max(beyond.values()) - last_n if beyond else None,
        tables=_parts(kept, beyond, MissingEvents(reader)),
        unread=_unread(kept),
        ruled=tuple(_ruled(reader)),
    )


def last_delivered(kept: Iterable[KeptLines]) -> Iterator[DeliveredEvent]:
    """Yield the last of these lost events, of each sink and source."""
    last: dict[tuple[str, str, Audience], tuple[int, str]] = {}
    for file in kept:
        for _, event in _events(file.lines):
            at = event_id(event.id)
            key = file.sink, event.source, at.audience
            last[key] = max((at.number, event.id), last.get(key, (0, "")))
    for (sink, source, audience), (number, id_) in last.items():
        yield DeliveredEvent(sink=sink, source=source, audience=audience, number=number, id=id_)


def recovered_records(kept: Iterable[KeptLines]) -> Iterator[RecoveredEvents]:
    """Yield the records of what these sinks hold, each of one table and stream.

    A line that is no event is left out; one that several sinks have alike is kept once.
    """
    seen: set[bytes] = set()
    for file in kept:
        if file.trouble or file.not_kept:
            yield RecoveredEvents(
                sink=file.sink, holder=file.file, not_kept=file.not_kept, trouble=file.trouble
            )
        by_stream: dict[tuple[str, Audience], list[bytes]] = {}
        for line, event in _events(file.lines):
            if line not in seen:
                seen.add(line)
                at = event_id(event.id)
                by_stream.setdefault((at.table, at.audience), []).append(line)
        for (table, audience), lines in by_stream.items():
            for portion in _portions(lines):
                yield RecoveredEvents(
                    sink=file.sink,
                    holder=file.file,
                    table=table,
                    stream=audience.name.lower(),
                    lines=tuple(map(msgspec.Raw, portion)),
                )


def shown_recovered(reader: Reader) -> Iterator[RecoveredEvent | NotRecovered]:
    """Yield what was recovered for each ruling, the first one first, and what was not.

    The events of a ruling come by table and stream, in their order. No card of a round without an
    outcome is named. A card too many of one round may be dealt in the next: so the restricted
    events of a round are shown whole only if the round after it has an outcome, too.

    Raises:
        JournalError: the journal cannot be read.
    """
    for record, kept in reversed([(record, kept) for record, _, kept in _ruled_lines(reader)]):
        for file in kept:
            if file.trouble or file.not_kept:
                yield NotRecovered(
                    ruling=record.n,
                    sink=file.sink,
                    holder=file.file,
                    not_kept=file.not_kept,
                    trouble=file.trouble,
                )
        events = [(file, event) for file in kept for _, event in _events(file.lines)]
        shows = _Disclosure(event for _, event in events)
        for file, event in sorted(events, key=lambda each: _place(each[1])):
            whole = shows.is_whole(event)
            yield RecoveredEvent(
                ruling=record.n,
                sink=file.sink,
                holder=file.file,
                is_withheld=not whole,
                event=event if whole else _without_cards(event),
            )


class _Disclosure:
    """Decides which of these events may be shown whole."""

    def __init__(self, events: Iterable[Envelope]) -> None:
        by_table: dict[str, list[_Seen]] = {}
        for event in events:
            if (seen := _seen(event)) is not None:
                by_table.setdefault(event_id(event.id).table, []).append(seen)
        self._public: set[tuple[str, str]] = set()
        self._restricted: set[tuple[str, str]] = set()
        for table, of in by_table.items():
            rounds = list(_rounds(of))
            self._public |= {(table, each.round_id) for each in rounds if each.outcome}
            self._restricted |= {
                (table, each.round_id)
                for each, after in pairwise(rounds)
                if each.outcome and after.outcome
            }

    def is_whole(self, event: Envelope) -> bool:
        """Return whether no card of a round without an outcome can be in this event."""
        table, audience, _ = event_id(event.id)
        round_id = event.data.get("round_id")
        if audience is Audience.PUBLIC and round_id is None:
            return True
        whole = self._public if audience is Audience.PUBLIC else self._restricted
        return isinstance(round_id, str) and (table, round_id) in whole


def _place(event: Envelope) -> tuple[str, str, int]:
    table, audience, number = event_id(event.id)
    return table, audience.value, number


def _without_cards(event: Envelope) -> Envelope:
    places = {key: event.data[key] for key in ("round_id", "hand", "index") if key in event.data}
    return msgspec.structs.replace(event, data=places)


def _portions(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    portion: list[bytes] = []
    size = 0
    for line in lines:
        if portion and size + len(line) > PORTION_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(line)
        size += len(line)
    if portion:
        yield portion


def _events(lines: Iterable[bytes]) -> Iterator[tuple[bytes, Envelope]]:
    """Yield the lines that are events, which a stranger's need not be."""
    for line in lines:
        try:
            line.decode()
            event = _envelope.decode(line)
            event_id(event.id)
        except (ValueError, RecursionError):
            continue
        yield line, event


def _ruled(reader: Reader) -> Iterator[RuledLoss]:
    for record, gone_on, kept in _ruled_lines(reader):
        yield RuledLoss(
            n=record.n,
            t_us=gone_on.t_us,
            epoch=gone_on.epoch,
            lost=gone_on.lost,
            person=gone_on.ruling.person,
            reason=gone_on.ruling.reason,
            tables=_parts(kept),
            unread=_unread(kept),
        )


def _ruled_lines(reader: Reader) -> Iterator[tuple[Record, LossRuling, list[KeptLines]]]:
    """Yield each ruling, newest first, with the lines that were recovered for it.

    Those of all rulings together are bounded by ``MOST_SHOWN_BYTES``.
    """
    left = MOST_SHOWN_BYTES
    for record, gone_on in islice(rulings(reader), MOST_RULINGS):
        shown: list[RecoveredEvents] = []
        for portion in recovered_events(reader, record.n):
            left -= sum(len(bytes(line)) for line in portion.lines)
            if left < 0:
                shown.append(msgspec.structs.replace(portion, lines=(), trouble=TOO_MUCH))
                break
            shown.append(portion)
        kept = [
            KeptLines(
                each.sink, each.holder, tuple(map(bytes, each.lines)), each.not_kept, each.trouble
            )
            for each in reversed(shown)
        ]
        yield record, gone_on, kept


def _unread(kept: Iterable[KeptLines]) -> tuple[Unread, ...]:
    return tuple(Unread(each.sink, each.file, each.trouble) for each in kept if each.trouble)


def _parts(
    kept: Iterable[KeptLines],
    beyond: Mapping[str, int] = MappingProxyType({}),
    missing: MissingEvents | None = None,
) -> tuple[LostPart, ...]:
    """Return the lost part of each table; ``beyond`` are last records that the head file names."""
    events: dict[str, list[_Seen]] = {}
    numbers: dict[tuple[str, str, str, Audience], set[int]] = {}
    not_kept: Counter[tuple[str, str]] = Counter()
    for file in kept:
        not_kept[file.sink, file.file] += file.not_kept
        for _, event in _events(file.lines):
            table, audience, number = event_id(event.id)
            if (seen := _seen(event)) is not None:
                events.setdefault(table, []).append(seen)
            numbers.setdefault((table, file.sink, file.file, audience), set()).add(number)
    whole: dict[tuple[str, str, Audience], set[int]] = {}
    for (table, sink, _, audience), of in numbers.items():
        whole.setdefault((table, sink, audience), set()).update(of)
    held: dict[str, list[Holder]] = {}
    for (table, sink, file_, audience), of in numbers.items():
        its = whole[table, sink, audience]
        first = min(its) if missing is None else missing.stored(table, audience) + 1
        public = audience is Audience.PUBLIC
        held.setdefault(table, []).append(
            Holder(
                sink=sink,
                file=file_,
                stream=audience.name.lower(),
                first=f"{table}/p{min(of)}" if public else None,
                last=f"{table}/p{max(of)}" if public else None,
                events=len(of) if public else None,
                gapless=(min(its), len(its)) == (first, max(its) - first + 1),
                not_kept=not_kept[sink, file_],
            )
        )
    return tuple(
        LostPart(
            table=table,
            last_record=beyond.get(table),
            rounds=tuple(_rounds(events.get(table, []))),
            held_by=tuple(held.get(table, [])),
        )
        for table in sorted({*events, *held, *filter(None, beyond)})
    )


class _Seen(NamedTuple):
    """The public part of an event of a round, for counting."""

    time: str
    number: int
    type: str
    round_id: str
    slot: tuple[str, str]


def _seen(event: Envelope) -> _Seen | None:
    round_id = event.data.get("round_id")
    if not isinstance(round_id, str):
        return None
    slot = str(event.data.get("hand")), str(event.data.get("index"))
    return _Seen(event.time, event_id(event.id).number, event.type, round_id, slot)


def _rounds(events: Iterable[_Seen]) -> Iterable[LostRound]:
    """Yield the rounds of these events, by what everyone sees: cards as they were dealt."""
    cards: dict[str, set[tuple[str, str]]] = {}
    over: dict[str, bool] = {}
    for event in sorted(events):
        dealt = cards.setdefault(event.round_id, set())
        if event.type == "round.card_dealt":
            dealt.add(event.slot)
        elif event.type in ("round.outcome", "round.revised"):
            over[event.round_id] = True
        elif event.type in ("round.void", "round.reopened"):
            over[event.round_id] = False
    for round_id, dealt in cards.items():
        yield LostRound(round_id=round_id, cards=len(dealt), outcome=over.get(round_id, False))
