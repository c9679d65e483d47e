"""The lost part of a journal, from lines of sinks that may be a stranger's; and what is kept of it.

In: journals, lines. Out: rounds and cards counted, none named; records of bounded size.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import loss
from shoe_ctl.journal.evidence import PossibleLoss
from shoe_ctl.journal.files import head_path
from shoe_ctl.journal.loss import KeptLines, MissingEvents, find_loss, recovered_records
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind, LossRuling, RecoveredEvents, Ruling
from shoe_ctl.journal.recovery import recovered_events, rulings
from shoe_ctl.journal.store import AcceptedLoss, Store
from shoe_ctl.records import Audience, source_of
from shoe_testing.journals import alter_journal, opened, stored_round, verified

T_US = 1_700_000_000_000_000
RULED = Ruling(person="Ines", position="gaming_shift_manager", reason="x", consented_by="Kim")


def line(number: int, type_: str = "round.card_dealt", stream: str = "p", **data: Any) -> bytes:
    """An event of table ``a``, as a sink's file holds it."""
    event = {
        "id": f"a/{stream}{number}",
        "source": source_of("00000000", "a"),
        "type": type_,
        "time": f"2026-11-23T12:00:{number % 60:02d}.000000Z",
        "data": {"round_id": "a-s1-r1", **data},
        "specversion": "1.0",
    }
    return json.dumps(event, separators=(",", ":")).encode()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal of table ``a`` with one round."""
    path = tmp_path / "journal.db"
    with opened(path) as store:
        store.commit([stored_round(1, "a")])
    return path


def found(journal: Path, *kept: KeptLines) -> loss.Loss:
    with Reader.open(journal) as reader:
        return find_loss(reader, [], kept)


def test_cards_are_counted_once_however_many_sinks_tell_of_them(journal: Path) -> None:
    dealt = [line(9, hand="player", index=0), line(10, hand="banker", index=0)]
    again = [line(19, stream="r", hand="player", index=0, card="AS")]
    whole = [line(9, hand="player", index=0), line(11, "round.outcome", winner="player")]
    (part,) = found(
        journal, KeptLines("x", "a", dealt), KeptLines("y", "b", again), KeptLines("z", "c", whole)
    ).tables
    (round_,) = part.rounds
    assert (round_.round_id, round_.cards, round_.outcome) == ("a-s1-r1", 2, True)
    assert [each.events for each in part.held_by] == [2, None, 2]


def test_rounds_are_counted_by_time_though_rotated_files_come_newest_first(journal: Path) -> None:
    newer = [line(11, "round.void")]
    older = [line(9, hand="player", index=0), line(10, "round.outcome")]
    (part,) = found(journal, KeptLines("x", "e", newer), KeptLines("x", "e.1", older)).tables
    assert [(each.cards, each.outcome) for each in part.rounds] == [(1, False)]


def test_two_files_of_one_sink_are_without_a_gap_together(journal: Path) -> None:
    with Reader.open(journal) as reader:
        first = MissingEvents(reader).stored("a", Audience.PUBLIC) + 1
    halves = [[line(first), line(first + 1)], [line(first + 2)]]
    (part,) = found(
        journal, *(KeptLines("x", name, of) for name, of in zip("ef", halves, strict=True))
    ).tables
    assert [each.gapless for each in part.held_by] == [True, True]
    (part,) = found(journal, KeptLines("x", "f", halves[1])).tables
    assert [each.gapless for each in part.held_by] == [False]


def test_a_number_from_nowhere_and_lines_that_are_no_events_cost_nothing(journal: Path) -> None:
    far = line(10**14)
    odd = [b"{", b"[" * 100_000, line(9)[:-5], b'{"id":"a/p9","source":"s"}', b"\xff" + line(9)]
    (part,) = found(journal, KeptLines("x", "e", [*odd, far])).tables
    (holder,) = part.held_by
    assert (holder.first, holder.events, holder.gapless) == (f"a/p{10**14}", 1, False)
    (record,) = recovered_records([KeptLines("x", "e", [*odd, far])])
    assert list(map(bytes, record.lines)) == [far]


def test_recovered_events_are_kept_in_records_of_bounded_size_and_each_line_once() -> None:
    lines = [line(number, padding="x" * 1000) for number in range(1, 1001)]
    records = list(
        recovered_records([KeptLines("x", "e", lines), KeptLines("y", "f", lines[500:])])
    )
    assert [bytes(each) for record in records for each in record.lines] == lines
    assert {record.sink for record in records} == {"x"}
    assert all(len(record.to_bytes()) < 2 * loss.PORTION_BYTES for record in records)
    assert len(records) > 3


def test_two_sinks_that_tell_otherwise_are_both_kept() -> None:
    one, other = line(9, hand="player", index=0), line(9, hand="banker", index=0)
    records = recovered_records([KeptLines("x", "e", [one]), KeptLines("y", "f", [other])])
    assert [(record.sink, bytes(record.lines[0])) for record in records] == [
        ("x", one), ("y", other),
    ]  # fmt: skip


def test_a_record_keeps_the_very_bytes_of_a_line() -> None:
    odd = (
        b'{ "id":"a/p9" , "source":"s","type":"t","time":"","data":{"x":1.50,"\\u00e4":"\xc3\xa4"}}'
    )
    (record,) = recovered_records([KeptLines("x", "e", [odd])])
    assert RecoveredEvents.from_bytes(record.to_bytes()) == record
    assert bytes(RecoveredEvents.from_bytes(record.to_bytes()).lines[0]) == odd


def accepted_with(journal: Path, recovered: list[RecoveredEvents]) -> None:
    """A person rules on a lost log, with the events recovered of it."""
    head_path(journal).unlink(missing_ok=True)
    with pytest.raises(PossibleLoss) as doubtful:
        Store.open(journal, head_needed=True)
    gone_on = LossRuling(epoch="0c0c0c0c", t_us=T_US, lost=("x",), ruling=RULED)
    accepted = AcceptedLoss(doubtful.value.evidence, gone_on, tuple(recovered))
    Store.open(journal, head_needed=True, accepted=accepted).close()


def test_recovered_events_stand_before_their_ruling_and_are_shown_with_it(journal: Path) -> None:
    kept = [
        KeptLines("x", "e", [line(9, hand="player", index=0, card="7D")]),
        KeptLines("y", "f", [], 3, "only a part"),
    ]
    accepted_with(journal, list(recovered_records(kept)))
    with opened(journal) as store:
        store.commit([stored_round(2, "a")])
    accepted_with(journal, [])
    assert verified(journal).ok
    with Reader.open(journal) as reader:
        newest, first = rulings(reader)
        assert list(recovered_events(reader, newest[0].n)) == []
        assert len(list(recovered_events(reader, first[0].n))) == 2
    newer, older = found(journal).ruled
    assert newer.tables == ()
    assert [part.rounds[0].cards for part in older.tables] == [1]
    assert older.unread == (loss.Unread("y", "f", "only a part"),)
    assert b"7D" not in msgspec.json.encode((newer, older))


def test_more_recovered_events_than_can_be_counted_are_named(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line(n, hand="player", index=n, padding="x" * 1000) for n in range(9, 1009)]
    accepted_with(journal, list(recovered_records([KeptLines("x", "e", lines)])))
    monkeypatch.setattr(loss, "MOST_SHOWN_BYTES", 2 * loss.PORTION_BYTES)
    (ruled,) = found(journal).ruled
    assert ruled.unread == (loss.Unread("x", "e", loss.TOO_MUCH),)
    assert 0 < ruled.tables[0].rounds[0].cards < 1000


def test_recovered_events_that_were_altered_are_an_error_that_names_the_record(
    journal: Path,
) -> None:
    accepted_with(journal, list(recovered_records([KeptLines("x", "e", [line(9)])])))
    with Reader.open(journal) as reader:
        (record, _) = next(rulings(reader))
    alter_journal(journal, record.n - 1, b'{"own":"recovered","sink":1}')
    with pytest.raises(JournalError, match=f"record {record.n - 1} is no recovered events"):
        found(journal)


def of_round(number: int, type_: str, round_: int, stream: str = "p", **data: Any) -> bytes:
    return line(number, type_, stream, round_id=f"a-s1-r{round_}", **data)


def printed(journal: Path) -> list[dict[str, Any]]:
    with Reader.open(journal) as reader:
        return [msgspec.to_builtins(each) for each in loss.shown_recovered(reader)]


def test_recovered_events_come_in_their_order_though_rotated_files_come_newest_first(
    journal: Path,
) -> None:
    kept = [
        KeptLines("x", "e", [line(11, "round.outcome"), line(12, "round.settled")]),
        KeptLines("x", "e.1", [line(9), line(10)]),
    ]
    accepted_with(journal, list(recovered_records(kept)))
    shown = printed(journal)
    assert [(each["event"]["id"], each["holder"]) for each in shown] == [
        ("a/p9", "e.1"), ("a/p10", "e.1"), ("a/p11", "e"), ("a/p12", "e"),
    ]  # fmt: skip
    with Reader.open(journal) as reader:
        assert {each["ruling"] for each in shown} == {next(rulings(reader))[0].n}


def test_a_card_of_a_round_without_an_outcome_is_named_in_no_recovered_event(
    journal: Path,
) -> None:
    """Neither of an open, a void or a reopened round, nor of the round whose card too many it is,
    nor before a round."""
    public = [
        of_round(1, "round.card_revealed", 1, hand="player", index=1, card="2H"),
        of_round(2, "round.outcome", 1, winner="tie"),
        of_round(3, "round.card_revealed", 2, hand="player", index=1, card="3H"),
        of_round(4, "round.void", 2),
        of_round(5, "round.card_revealed", 3, hand="player", index=1, card="4H"),
        of_round(6, "round.outcome", 3, winner="tie"),
        of_round(7, "round.reopened", 3),
        of_round(8, "round.card_revealed", 4, hand="banker", index=2, card="5H"),
    ]
    restricted = [
        of_round(1, "round.card_drawn", 1, "r", hand="player", index=1, card="2H"),
        of_round(3, "irregularity.step", 1, "r", said={"card": "3H"}),
        of_round(9, "round.card_drawn", 4, "r", hand="banker", index=2, card="5H"),
        line(10, "round.card_drawn", "r", round_id=None, card="6H"),
    ]
    kept = [KeptLines("x", "p", public), KeptLines("y", "r", restricted)]
    accepted_with(journal, list(recovered_records(kept)))
    shown = printed(journal)
    assert len(shown) == len(public) + len(restricted)
    text = json.dumps(shown)
    assert [card for card in ("2H", "3H", "4H", "5H", "6H") if card in text] == ["2H"]
    by_id = {each["event"]["id"]: each for each in shown}
    assert [id_ for id_, each in by_id.items() if not each["is_withheld"]] == ["a/p1", "a/p2"]
    assert by_id["a/p8"]["event"]["data"] == {"round_id": "a-s1-r4", "hand": "banker", "index": 2}


def test_a_restricted_event_is_shown_whole_where_the_next_round_has_an_outcome_too(
    journal: Path,
) -> None:
    restricted = [
        of_round(2 * n + at, type_, n, "r", person="Ines")
        for n in (1, 2)
        for at, type_ in enumerate(("wager.accepted", "round.outcome"))
    ]
    accepted_with(journal, list(recovered_records([KeptLines("y", "r", restricted)])))
    assert [(each["is_withheld"], "person" in each["event"]["data"]) for each in printed(journal)] \
        == [(False, True), (False, True), (True, False), (True, False)]  # fmt: skip


def test_what_was_not_recovered_is_printed_with_the_reason_and_odd_data_is_data(
    journal: Path,
) -> None:
    odd = line(9, "round.outcome", round_id=["a"], hand={"x": 1})
    kept = [KeptLines("x", "e", [odd]), KeptLines("y", "f", [], 3, "only a part")]
    accepted_with(journal, list(recovered_records(kept)))
    lacking, event = printed(journal)
    assert {key: lacking[key] for key in ("sink", "holder", "not_kept", "trouble")} == {
        "sink": "y", "holder": "f", "not_kept": 3, "trouble": "only a part",
    }  # fmt: skip
    assert event["is_withheld"]


def test_an_own_record_of_another_kind_begins_otherwise(journal: Path) -> None:
    accepted_with(journal, [])
    with Reader.open(journal) as reader:
        own = next(reader.indexed_records(JOURNAL, Kind.META))
    assert not RecoveredEvents.is_one(own.body)
    assert RecoveredEvents.is_one(RecoveredEvents(sink="x", holder="e").to_bytes())
