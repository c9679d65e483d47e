"""A restart from a snapshot and the few inputs since: the same table as from all of them."""

from __future__ import annotations

import random
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.cli.replay_view import lines
from shoe_ctl.errors import JournalError
from shoe_ctl.games import catalog
from shoe_ctl.history import recorder, snapshots
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind, Meta, Snapshot
from shoe_ctl.records import Audience, Record
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_ctl.table import state as states
from shoe_ctl.table.inputs import Input, TableCommand
from shoe_testing.bench import DealtTable
from shoe_testing.journals import (
    JournalTable,
    alter_journal,
    alter_record,
    counted_reads,
    dealt_by,
    held,
    journal_table,
    records,
    replayed_journal,
    rewrite_records,
    table_meta,
    verified,
)
from shoe_testing.tables import restarted

FEW = 7


@pytest.fixture(scope="module")
def dealt() -> tuple[Meta, list[Input]]:
    """What a table heard of two sets of cards, and what it ran under."""
    table = DealtTable(catalog.load("tiger"), "reference", seed=3, sets=2)
    table.deal(2)
    controller = table.controller
    return snapshots.start_record(controller.game, controller.settings, t_us=0), table.inputs


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots every few inputs, so that a round meets several."""
    monkeypatch.setattr(recorder, "MOST_INPUTS", FEW)


def same(table: JournalTable) -> None:
    """A restart now would find the table as it is."""
    again = table.again()
    assert again.controller is not None
    assert states.to_bytes(again.controller.state) == states.to_bytes(table.controller.state)
    assert again.index.outcomes == table.index.outcomes
    for command_id in table.controller.state.answered:
        assert again.index.answer(command_id) == table.index.answer(command_id) is not None


def test_a_restart_at_any_moment_finds_the_table_as_it_was(
    tmp_path: Path, dealt: tuple[Meta, list[Input]], few: None
) -> None:
    under, inputs = dealt
    with journal_table(tmp_path / "j.db", under) as table:
        for n, happened in enumerate(inputs[:400]):
            table.handle(happened)
            if n % 5 == 0:
                same(table)
    assert verified(tmp_path / "j.db").ok
    found = replayed_journal(tmp_path / "j.db")
    assert found.rounds > 5
    assert found.differences == []


def test_a_restart_reads_no_more_of_a_long_journal_than_of_a_short_one(
    tmp_path: Path, dealt: tuple[Meta, list[Input]], monkeypatch: pytest.MonkeyPatch
) -> None:
    under, inputs = dealt
    looked: list[int] = []
    with journal_table(tmp_path / "j.db", under) as table:
        for n, happened in enumerate(inputs):
            table.handle(happened)
            if n % 1000 == 999:
                with counted_reads(monkeypatch) as rows:
                    same(table)
                looked.append(sum(rows))
    assert len(looked) >= 3
    assert max(looked) < recorder.MOST_INPUTS * 6  # an input has a few events
    total = len(records(tmp_path / "j.db"))
    assert max(looked) < total / 5


def test_each_set_of_cards_begins_a_section_that_needs_nothing_before_it(
    tmp_path: Path, dealt: tuple[Meta, list[Input]]
) -> None:
    under, inputs = dealt
    with journal_table(tmp_path / "j.db", under, inputs):
        pass
    found = records(tmp_path / "j.db")
    begun = [record.n for record in found if record.kind == "meta"]
    assert len(begun) == 3  # the start, and each of two sets
    for n in begun:
        behind = found[n]
        assert behind.kind == "snapshot"
        snapshot = Snapshot.from_bytes(behind.body)
        assert (snapshot.after, snapshot.rules) == (n - 1, under.rules)
        assert n == 1 or snapshot.hash == found[n - 2].hash.hex()


def test_a_quiet_table_among_busy_ones_is_found_by_reading_a_few_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_RECORDS", 50)
    monkeypatch.setattr(recorder, "RECORDS_A_TABLE", 25)
    other = table_meta(table="busy")
    first, second = dealt_by("2D 3C"), dealt_by("9C 2D KD 3H" + " 2D 3C 4S 5H KD" * 20)
    with journal_table(tmp_path / "j.db", table_meta(), first[:-1]) as quiet:
        busy = JournalTable(quiet.store, other)
        for happened in second:
            busy.handle(happened)
        quiet.handle(first[-1])
        for happened in dealt_by("9C")[:1]:
            busy.handle(msgspec.structs.replace(happened, t_us=second[-1].t_us))
        with counted_reads(monkeypatch) as rows:
            same(quiet)
            same(busy)
        assert quiet.store.last_n > 200
        assert sum(rows) < 2 * 70


def test_what_other_software_kept_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: None
) -> None:
    inputs = dealt_by("2D 3C TS 4D")
    with journal_table(tmp_path / "j.db", table_meta(), inputs) as table:
        places = [r.n for r in records(tmp_path / "j.db") if r.kind == "snapshot"]
        assert len(places) >= 2
        monkeypatch.setattr(snapshots, "software", lambda: "99.0")
        with counted_reads(monkeypatch) as rows:
            same(table)
        assert sum(rows) > len(held(tmp_path / "j.db"))


def test_what_was_kept_under_other_rules_is_passed_over(tmp_path: Path) -> None:
    with journal_table(tmp_path / "j.db", table_meta(), dealt_by("9C 2D KD 3H")) as table:
        before = table.controller
        kept = kept_last(tmp_path / "j.db")
        otherwise = stood_otherwise(Snapshot.from_bytes(kept.body))
        forged = msgspec.structs.replace(otherwise, rules="00" * 32)
        assert snapshots.restore(table_meta(), forged) is not None
    alter_journal(tmp_path / "j.db", kept.n, forged.to_bytes())
    (tmp_path / "j.db-head").unlink()  # every hash behind it was computed anew
    with journal_table(tmp_path / "j.db", table_meta()) as table:
        assert table.controller.state == before.state


def kept_last(path: Path) -> Record:
    """The last snapshot."""
    with Reader.open(path) as reader:
        return next(reader.indexed_records("bac-07", Kind.SNAPSHOT))


def stood_otherwise(snapshot: Snapshot) -> Snapshot:
    state = states.from_bytes(bytes(snapshot.state))
    other = states.to_bytes(msgspec.structs.replace(state, rounds=state.rounds + 7))
    return msgspec.structs.replace(snapshot, state=msgspec.Raw(other))


@pytest.mark.parametrize("seed", range(4))
def test_a_replay_names_the_snapshots_of_other_versions_that_it_cannot_compare(
    tmp_path: Path, few: None, seed: int
) -> None:
    path, rng = tmp_path / "j.db", random.Random(seed)
    with journal_table(path, table_meta(), dealt_by("2D 3C TS 4D 5H 9C 2D KD 3H")):
        pass
    kept = {r.n: Snapshot.from_bytes(r.body) for r in records(path) if r.kind == "snapshot"}
    assert len(kept) >= 3
    chosen = {n: rng.choice(["0.1.0", "0.2.0"]) for n in rng.sample([*kept], 3)}
    equal, *others = chosen
    claimed = {n: msgspec.structs.replace(kept[n], software=of) for n, of in chosen.items()}
    forged = {n: stood_otherwise(one) if n in others else one for n, one in claimed.items()}
    rewrite_records(path, lambda r: forged[r.n].to_bytes() if r.n in forged else r.body)
    found = replayed_journal(path)
    assert found.found == 0
    assert found.not_compared == Counter(chosen[n] for n in others)
    shown = " ".join(" ".join(lines(found, RecordedSessions())).split())
    assert all(f"of shoe-ctl {chosen[n]}: " in shown for n in others)
    alter_journal(path, equal, stood_otherwise(kept[equal]).to_bytes())
    assert [one.n for one in replayed_journal(path).differences] == [equal]


def test_a_snapshot_is_held_against_the_inputs_by_a_replay(tmp_path: Path, few: None) -> None:
    path = tmp_path / "j.db"
    with journal_table(path, table_meta(), dealt_by("2D 3C TS 4D 5H")):
        pass
    kept = kept_last(path)
    alter_journal(path, kept.n, stood_otherwise(Snapshot.from_bytes(kept.body)).to_bytes())
    assert [(d.n, d.why) for d in replayed_journal(path).differences] == [
        (kept.n, "the snapshot is not what the inputs lead to")
    ]


def test_a_snapshot_that_does_not_fit_the_chain_is_not_gone_on_from(
    tmp_path: Path, few: None
) -> None:
    path = tmp_path / "j.db"
    with journal_table(path, table_meta(), dealt_by("2D 3C TS 4D 5H")):
        pass
    kept = kept_last(path)
    body = stood_otherwise(Snapshot.from_bytes(kept.body)).to_bytes()
    alter_record(path, kept.n, body)
    with (
        pytest.raises(JournalError, match=r"record \d+ does not follow"),
        journal_table(path, table_meta()),
    ):
        pass


def taken(folder: Path) -> Snapshot:
    with journal_table(folder / "j.db", table_meta(), dealt_by("2D 3C")) as table:
        head = table.store.head("bac-07")
        return snapshots.take_snapshot(table.controller, table_meta(), head, table.index)


@pytest.mark.parametrize(
    "state", [b'{"state": "idle"}', b'{"state":1}'], ids=["a state of other fields", "no state"]
)
def test_a_snapshot_that_this_software_would_not_write_is_refused(
    state: bytes, tmp_path: Path
) -> None:
    good = taken(tmp_path)
    assert snapshots.restore(table_meta(), good) is not None
    with pytest.raises(ValueError, match=r"is missing|Expected `str`"):
        snapshots.restore(table_meta(), msgspec.structs.replace(good, state=msgspec.Raw(state)))


def test_a_snapshot_of_another_input_is_none(tmp_path: Path) -> None:
    good = taken(tmp_path)
    other = msgspec.structs.replace(good, inputs=good.inputs + 1)
    assert snapshots.restore(table_meta(), other) is None


def command(t_us: int, name: str, **args: Any) -> TableCommand:
    return TableCommand(
        t_us=t_us,
        command_id=f"c-{name}",
        command=name,
        args=args,
        person="P. Boss",
        position="gaming_shift_manager",
        reason="seen by all",
    )


@pytest.mark.parametrize("every", [1, 10_000], ids=["from a snapshot", "from inputs"])
def test_a_halt_that_stood_at_power_down_stands_at_power_up(
    tmp_path: Path, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_INPUTS", every)
    inputs = dealt_by("2D 3C")
    t_us = inputs[-1].t_us
    path = tmp_path / "j.db"
    with journal_table(path, table_meta(), inputs) as table:
        table.handle(command(t_us, "declare", key="other"))
        halt = table.controller.state.halt
        assert halt is not None
    with journal_table(path, table_meta()) as table:
        assert table.controller.state.halt == halt
        first = table.index.answer("c-declare")
        assert first is not None and first.answer.accepted
        assert first.seen_by(Audience.PUBLIC).events
        table.handle(restarted(t_us, host_boot="after"))
        still = table.controller.state.halt
        assert still is not None
        assert still.stack[: len(halt.stack)] == halt.stack
        assert table.controller.state.state == "suspended"


@pytest.mark.parametrize("every", [1, 10_000], ids=["from a snapshot", "from inputs"])
def test_power_lost_in_mid_round_halts_with_the_decided_wagers_worked_out(
    tmp_path: Path, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_INPUTS", every)
    inputs = dealt_by("4D 3C 4H TS")
    t_us = inputs[-1].t_us
    path = tmp_path / "j.db"
    with journal_table(
        path,
        table_meta(),
        [
            restarted(0, host_boot="before"),
            *inputs[:-1],
        ],
    ) as table:
        assert table.controller.state.round is not None
    with journal_table(path, table_meta()) as table:
        table.handle(restarted(t_us, host_boot="after"))
        halt = table.controller.state.halt
        assert halt is not None and halt.current.key == "power_failure"
    raised = [r for r in records(path) if b'"irregularity.raised"' in r.body]
    assert raised and b'"decided":{' in raised[-1].body
    assert replayed_journal(path).differences == []


def test_the_tables_of_a_journal_are_found_by_reading_it_once(
    tmp_path: Path, dealt: tuple[Meta, list[Input]], monkeypatch: pytest.MonkeyPatch
) -> None:
    under, inputs = dealt
    with journal_table(tmp_path / "j.db", under) as first:
        others = [JournalTable(first.store, table_meta(table=f"t{n}")) for n in range(2, 7)]
        hands = [dealt_by("9C 2D KD 3H" + " 2D 3C 4S 5H KD" * n) for n in range(1, 6)]
        for n, happened in enumerate(inputs[:120]):
            first.handle(happened)
            for table, heard in zip(others, hands, strict=True):
                if n < len(heard):
                    table.handle(heard[n])
        tables = [first, *others]
        with first.store.reader() as reader, counted_reads(monkeypatch) as rows:
            found = snapshots.recover_tables(reader, [table.table for table in tables])
        assert sum(rows) < first.store.last_n + 12 * len(tables)
        for table in tables:
            again, one = table.again(), found[table.table]
            assert one.controller is not None
            assert again.controller is not None
            state = states.to_bytes(table.controller.state)
            assert states.to_bytes(one.controller.state) == state
            assert states.to_bytes(again.controller.state) == state
            assert one.index.outcomes == again.index.outcomes == table.index.outcomes


def test_a_record_altered_among_those_of_other_tables_is_found(tmp_path: Path) -> None:
    with journal_table(tmp_path / "j.db", table_meta(), dealt_by("2D 3C TS")[:-1]) as first:
        second = JournalTable(first.store, table_meta(table="t2"))
        for happened in dealt_by("2D 3C TS 4D"):
            second.handle(happened)
        first.handle(dealt_by("2D 3C TS")[-1])
        last = first.store.head("t2").n
    alter_record(tmp_path / "j.db", last, b"x")
    with Reader.open(tmp_path / "j.db") as reader:
        recovered = snapshots.recover_tables(reader, [first.table])
        assert recovered[first.table].controller is not None
        with pytest.raises(JournalError, match=rf"record {last} "):
            snapshots.recover_tables(reader, [first.table, "t2"])


@pytest.mark.parametrize("there", [(), ("shoe_ctl-1.2.dist-info", "shoe_ctl-1.3.dist-info")])
def test_the_version_is_that_of_the_installed_package(
    there: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert snapshots.software.__wrapped__() == version("shoe-ctl")
    for name in there:
        (tmp_path / name).mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert snapshots.software.__wrapped__() == version("shoe-ctl")
    (tmp_path / "alone" / "shoe_ctl-9.8.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "alone")
    assert snapshots.software.__wrapped__() == "9.8"
