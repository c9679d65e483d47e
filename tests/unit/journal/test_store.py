"""The store: what is committed stays, in one piece, with contiguous ids."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.journal.batch import Batch, CommitResult
from shoe_ctl.journal.chain import GENESIS
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Connection, Direction, Kind, Meta, Resume, Wire
from shoe_ctl.journal.recovery import ChainPlace, checked_records, last_start, recover
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, Envelope
from shoe_testing.journals import T_US, opened, records, stored, stored_round, verified


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def test_a_group_is_stored_in_the_order_it_was_built(path: Path) -> None:
    (result,) = stored(path, [stored_round(1)])
    assert (result.first_n, result.last_n) == (1, 4)
    assert [(r.n, r.table, r.kind) for r in records(path)] == [
        (1, "bac-07", "input"),
        (2, "bac-07", "event.public"),
        (3, "bac-07", "event.restricted"),
        (4, "bac-07", "event.restricted"),
    ]


def test_an_event_is_a_cloudevent_whose_bytes_do_not_depend_on_the_order_of_keys(
    tmp_path: Path,
) -> None:
    bodies = []
    for name, data in (
        ("a", {"x": 1, "b": {"d": 2, "c": 3}}),
        ("b", {"b": {"c": 3, "d": 2}, "x": 1}),
    ):
        group = Batch()
        group.append_event(
            "t", Audience.PUBLIC, "round.opened", t_us=T_US, subject="t/1", data=data
        )
        stored(tmp_path / name, [group])
        bodies.append(records(tmp_path / name)[0].body)
    assert bodies[0] == bodies[1]
    assert msgspec.json.decode(bodies[0], type=Envelope) == Envelope(
        id="t/p1",
        source="/journal/00000000/table/t",
        type="round.opened",
        time="2023-11-14T22:13:20.000000Z",
        subject="t/1",
        data={"x": 1, "b": {"c": 3, "d": 2}},
    )
    assert list(json.loads(bodies[0])) == [
        "id",
        "source",
        "type",
        "time",
        "subject",
        "data",
        "specversion",
    ]


def test_the_restricted_stream_carries_everything_and_richer_copies(path: Path) -> None:
    group = Batch()
    opened_ = group.append_event("t", Audience.PUBLIC, "a", t_us=T_US, subject=None, data={})
    secret = group.append_event("t", Audience.RESTRICTED, "b", t_us=T_US, subject=None, data={})
    outcome = group.append_event(
        "t",
        Audience.PUBLIC,
        "c",
        t_us=T_US,
        subject=None,
        data={"winner": "tie"},
        data_restricted={"winner": "tie", "proof": {"first": 1, "last": 2}},
    )
    (result,) = stored(path, [group])
    public = [result.ids[handle].of(Audience.PUBLIC) for handle in (opened_, secret, outcome)]
    restricted = [result.ids[h].of(Audience.RESTRICTED) for h in (opened_, secret, outcome)]
    assert public == ["t/p1", None, "t/p2"]
    assert restricted == ["t/r1", "t/r2", "t/r3"]
    events = [json.loads(record.body) for record in records(path)]
    assert [e["id"] for e in events] == ["t/p1", "t/r1", "t/r2", "t/p2", "t/r3"]
    assert "proof" not in events[3]["data"]
    assert events[4]["data"]["proof"] == {"first": 1, "last": 2}


def test_data_changed_after_it_was_added_is_stored_as_it_was(path: Path) -> None:
    group, data = Batch(), {"hand": "player"}
    group.append_event("t", Audience.PUBLIC, "a", t_us=T_US, subject=None, data=data)
    data["hand"] = "banker"
    stored(path, [group])
    assert [json.loads(r.body)["data"] for r in records(path)] == [{"hand": "player"}] * 2


def test_an_event_cannot_be_added_without_an_id() -> None:
    with pytest.raises(ValueError, match="its id in the commit"):
        Batch().append("t", Kind.PUBLIC, b"{}")


def test_an_empty_group_stores_nothing(path: Path) -> None:
    with opened(path) as store:
        assert store.commit([Batch()]) == [CommitResult(1, 0, {}, [])]


def test_what_was_prepared_is_stored_behind_a_checkpoint_that_came_between(path: Path) -> None:
    with opened(path) as store:
        store.commit([stored_round(0)])
        prepared = store.prepare([stored_round(1)])
        signer = open_signer(path, None)
        assert store.checkpoint(signer, T_US) == 5
        (result,) = store.commit_prepared(prepared)
        assert (result.first_n, result.last_n) == (6, 9)
        assert result.ids[1].public == "bac-07/p2"
    assert verified(path).ok


def test_many_records_are_stored_with_few_statements(path: Path) -> None:
    statements: list[str] = []

    def note(_: object, statement: str, __: object) -> bool:
        statements.append(statement)
        return True

    with opened(path) as store:
        store._log.exec_trace = note
        store.commit([stored_round(n, f"t{n}") for n in range(50)])
        assert len(statements) == 1 + 2 + 2 + 2 + 1, "50 groups, 50 heads, 50 devices"
        statements.clear()
        store.commit([stored_round(51)])
        assert len(statements) == 5, "begin, the group, the head, the device, commit"
        store._log.exec_trace = None
        assert store.last_n == 204
    assert verified(path).ok
    assert [r.n for r in records(path)] == [*range(1, 205)]


def test_commits_of_every_size_compile_no_statement_twice(path: Path) -> None:
    def commit_every_size() -> None:
        for tables in range(1, 33):
            group = Batch()
            for n in range(tables):
                group.append_input(f"t{n}", b"{}", T_US)
                group.set_device_seq(f"t{n}", "SH-1", tables)
            store.commit([group], [("sink", "", store.last_n)])

    with opened(path) as store:
        commit_every_size()
        compiled = store._log.cache_stats()["misses"]
        commit_every_size()
        assert store._log.cache_stats()["misses"] == compiled


@given(
    plan=st.lists(
        st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(Audience)), max_size=5),
        max_size=8,
    ),
    reopen=st.sets(st.integers(0, 7)),
)
def test_ids_and_numbers_are_contiguous_whatever_is_stored_and_reopened(
    tmp_path_factory: pytest.TempPathFactory,
    plan: list[list[tuple[str, Audience]]],
    reopen: set[int],
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.db"
    store = Store.open(path)
    given_ids: list[str] = []
    try:
        for position, events in enumerate(plan):
            if position in reopen:
                store.close()
                store = Store.open(path)
            group = Batch()
            for table, audience in events:
                group.append_event(table, audience, "x", t_us=T_US, subject=None, data={})
            (result,) = store.commit([group])
            for ids in result.ids.values():
                given_ids += [i for i in (ids.public, ids.restricted) if i is not None]
    finally:
        store.close()
    found = records(path)
    assert [record.n for record in found] == list(range(1, len(found) + 1))
    ids_ = [json.loads(record.body)["id"] for record in found]
    assert ids_ == given_ids
    for stream in ("a/p", "a/r", "b/p", "b/r"):
        numbers = [int(i[3:]) for i in ids_ if i.startswith(stream)]
        assert numbers == list(range(1, len(numbers) + 1))
    assert verified(path).ok


@given(
    connection=st.integers(0, 2**64 - 1),
    offset=st.integers(0, 2**64 - 1),
    t_us=st.integers(-(2**63), 2**63 - 1),
    direction=st.sampled_from(Direction),
    data=st.binary(max_size=50),
)
def test_raw_bytes_come_back_as_they_were(
    connection: int, offset: int, t_us: int, direction: Direction, data: bytes
) -> None:
    wire = Wire(connection=connection, offset=offset, t_us=t_us, direction=direction, data=data)
    assert Wire.from_bytes(wire.to_bytes()) == wire
    assert wire.to_bytes()[25:] == data


@pytest.mark.parametrize("body", [b"", b"x" * 24, bytes(24) + b"?"])
def test_what_is_no_raw_chunk_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"wire record|not a valid Direction"):
        Wire.from_bytes(body)


def test_a_restart_finds_what_it_needs(path: Path) -> None:
    meta = Meta(game=b"id = 'tiger'", settings={"decks": 8}, software="0.1.0", t_us=T_US)
    newer = msgspec.structs.replace(meta, software="0.2.0", t_us=T_US + 5)
    connection = Connection(
        number=7, profile="reference", settings={"a": 1}, resume=(Resume("SH-1", 3),), t_us=T_US
    )
    assert Connection.from_bytes(connection.to_bytes()) == connection
    group = Batch()
    for table in ("a", "b"):
        group.append_meta(table, meta)
    group.append_connection("a", connection)
    group.append_wire(
        "a", connection=7, direction=Direction.FROM_SHOE, offset=0, t_us=T_US, data=b"\0"
    )
    group.append_input("a", b"one", T_US + 1)
    group.append_input("b", b"other table", T_US + 9)
    group.append_meta("a", newer)
    group.append_input("a", b"two", T_US + 2)
    group.append_event("a", Audience.PUBLIC, "x", t_us=T_US, subject=None, data={})
    group.set_device_seq("a", "SH-1", 4)
    group.set_device_seq("a", "SH-1", 5)
    group.set_device_seq("a", "SH-2", 1)
    stored(path, [group])
    with Reader.open(path) as reader:
        found = recover(reader, "a")
        assert (found.connection, found.t_us, found.devices) == (
            7,
            T_US + 2,
            {"SH-1": 5, "SH-2": 1},
        )
        assert (found.counters.public, found.counters.restricted) == (1, 1)
        assert last_start(reader, "a", 7) == meta
        assert last_start(reader, "a", 8) == newer
        assert last_start(reader, "b", 100) == meta
        whole = {"a": ChainPlace(0, GENESIS)}
        told = [r.body for r in checked_records(reader, whole) if r.kind == "input"]
        assert told == [b"one", b"two"]
        (fifth,) = reader.records(after=4, upto=5)  # a group of the table ends there
        behind = {"a": ChainPlace(5, fifth.hash)}
        assert [r.n for r in checked_records(reader, behind)] == [7, 8, 9, 10]
        new = recover(reader, "c")
        assert (new.connection, new.t_us, new.devices) == (0, 0, {})
        assert last_start(reader, "c", 100) is None
        assert list(checked_records(reader, {"c": ChainPlace(0, GENESIS)})) == []
