"""A settled round from before the last one, as the journal has it: found to be revised.

In: a reader, a round's id. Out: an OlderRound, which goes with the command that revises it, or why
there is none. Must not know: who asks, what a revision changes.

How the round stood when it was settled follows from its inputs, which are run again from the
snapshot before them. What its outcome was revised to since follows from its events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from shoe_ctl.history import snapshots
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.recovery import last_start, read_snapshot
from shoe_ctl.journal.round_index import IndexedRound, RoundQuery, round_id
from shoe_ctl.records import Record
from shoe_ctl.table.inputs import from_bytes
from shoe_ctl.table.state import OlderRound, SettledRound
from shoe_ctl.texts.message import Message, message

_OUTCOMES = ("round.outcome", "round.revised")


class _Hand(msgspec.Struct):
    cards: list[str]


class _Data(msgspec.Struct):
    player: _Hand | str | None = None
    banker: _Hand | None = None


class _Event(msgspec.Struct):
    id: str
    type: str
    data: _Data


_event = msgspec.json.Decoder(_Event)


def find_older_round(reader: Reader, table: str, wanted: str) -> OlderRound | Message:
    """Return this round of a table, with the cards that were told in the outcomes of its shoe.

    The message says why it cannot be revised: there is none of this id, its records were taken out,
    it was not settled, or it was played under other rules than the table's now.

    Raises:
        JournalError: the journal cannot be read.
        ValueError: a record of the round was spoilt.
    """
    of = round_id(wanted)
    found = None if of is None or of.table != table else reader.round(of)
    if of is None or found is None:
        first = next(reader.rounds(RoundQuery(table=table)), None)
        is_older = of is not None and first is not None and of < first.id
        if is_older and (reader.first_n() or 1) > 1:
            return message("refused_round_taken_out", round_id=wanted)
        return message("refused_round_unknown", round_id=wanted)
    told, settled_n = _told(reader, found), _settled_at(reader, found)
    if told is None or settled_n is None:
        return message("refused_round_not_settled", round_id=wanted)
    settled = _settled(reader, table, wanted, settled_n)
    if settled is None:
        return message("refused_round_under_other_rules", round_id=wanted)
    event, ids = told
    player, banker = _cards(event)
    return OlderRound(
        settled=settled,
        shoe=of.shoe,
        player=" ".join(player),
        banker=" ".join(banker),
        shown=_shown(reader, table, of.shoe),
        told=ids,
    )


def _told(reader: Reader, found: IndexedRound) -> tuple[_Event, tuple[str | None, str]] | None:
    """Return the event that told the outcome last, with the ids of its copies."""
    public: str | None = None
    for record in reversed(_events(reader, found)):
        event = _event.decode(record.body)
        if event.type in _OUTCOMES:
            for copy in reader.records_at([record.n - 1]):
                if copy.kind == Kind.PUBLIC.value and copy.table == record.table:
                    public = _event.decode(copy.body).id
            return event, (public, event.id)
    return None


def _settled_at(reader: Reader, found: IndexedRound) -> int | None:
    """Return the record that settled the round; None where nothing did."""
    for record in _events(reader, found):
        if _event.decode(record.body).type == "round.settled":
            return record.n
    return None


def _events(reader: Reader, found: IndexedRound) -> list[Record]:
    return list(reader.records_at(found.records))


def _settled(reader: Reader, table: str, wanted: str, n: int) -> SettledRound | None:
    """Return the round as it stood when record ``n`` settled it, run again from its inputs.

    None under other rules than those of the table's last start, or by another version.
    """
    meta, now = last_start(reader, table, n), last_start(reader, table, reader.newest() or 0)
    if meta is None or now is None or not meta.same_rules(now):
        return None
    for record in reader.indexed_records(table, Kind.SNAPSHOT, before=n):
        snapshot = read_snapshot(record, reader.path)
        if (snapshot.software, snapshot.rules) != (snapshots.software(), meta.rules):
            return None
        controller = snapshots.restore(meta, snapshot)
        if controller is None:
            return None
        for behind in reader.records(after=record.n, upto=n, table=table, kinds=(Kind.INPUT,)):
            controller.handle(from_bytes(behind.body))
        last = controller.state.last_settled
        return last if last is not None and last.round.id == wanted else None
    return None


def _shown(reader: Reader, table: str, shoe: int) -> dict[str, int]:
    """Return how often each face was told in the outcomes of this shoe, revised ones as revised."""
    seen: Counter[str] = Counter()
    for found in reader.rounds(RoundQuery(table=table, shoe=shoe)):
        if (told := _told(reader, found)) is not None:
            player, banker = _cards(told[0])
            seen.update((*player, *banker))
    return dict(sorted(seen.items()))


def _cards(event: _Event) -> tuple[Sequence[str], Sequence[str]]:
    """Return the cards of both hands in an outcome.

    Raises:
        ValueError: it has none.
    """
    player, banker = event.data.player, event.data.banker
    if not isinstance(player, _Hand) or banker is None:
        raise ValueError("an outcome without cards")
    return player.cards, banker.cards
