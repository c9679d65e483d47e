"""The store: what is committed stays, in one piece, with contiguous ids; nobody else writes."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import tempfile
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_ctl.errors import JournalError
from shoe_ctl.journal.bodies import Connection, Direction, Kind, Meta, Resume, Wire
from shoe_ctl.journal.group import CommitResult, Group
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.recovery import inputs, recover
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience, Envelope
from tests.journal.making import T_US, child, dealt, opened, records, spoil, stored, verified


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def beside(path: Path) -> list[str]:
    """Every file in the journal's folder."""
    return sorted(entry.name for entry in path.parent.iterdir())


def test_a_group_is_stored_in_the_order_it_was_built(path: Path) -> None:
    (result,) = stored(path, [dealt(1)])
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
        group = Group()
        group.event("t", Audience.PUBLIC, "round.opened", t_us=T_US, subject="t/1", data=data)
        stored(tmp_path / name, [group])
        bodies.append(records(tmp_path / name)[0].body)
    assert bodies[0] == bodies[1]
    assert msgspec.json.decode(bodies[0], type=Envelope) == Envelope(
        id="t/p1",
        source="/table/t",
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
    group = Group()
    opened_ = group.event("t", Audience.PUBLIC, "a", t_us=T_US, subject=None, data={})
    secret = group.event("t", Audience.RESTRICTED, "b", t_us=T_US, subject=None, data={})
    outcome = group.event(
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
    group, data = Group(), {"hand": "player"}
    group.event("t", Audience.PUBLIC, "a", t_us=T_US, subject=None, data=data)
    data["hand"] = "banker"
    stored(path, [group])
    assert [json.loads(r.body)["data"] for r in records(path)] == [{"hand": "player"}] * 2


def test_what_a_failing_input_added_is_taken_back_alone(path: Path) -> None:
    group = Group()
    group.input("t", b"first", T_US)

    def failing() -> None:
        with group.savepoint():
            group.input("t", b"second", T_US)
            group.device_seq("t", "SH-1", 9)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    group.input("t", b"third", T_US)
    stored(path, [group])
    assert [record.body for record in records(path)] == [b"first", b"third"]
    with Reader.open(path) as reader:
        assert reader.devices("t") == {}


def test_an_event_cannot_be_added_without_an_id() -> None:
    with pytest.raises(ValueError, match="its id in the commit"):
        Group().add("t", Kind.PUBLIC, b"{}")


def test_an_empty_group_stores_nothing(path: Path) -> None:
    with opened(path) as store:
        assert store.commit([Group()]) == [CommitResult(1, 0, {})]


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
            group = Group()
            for table, audience in events:
                group.event(table, audience, "x", t_us=T_US, subject=None, data={})
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
    other = msgspec.structs.replace(newer, settings={"decks": 6})
    connection = Connection(
        number=7, profile="reference", settings={"a": 1}, resume=(Resume("SH-1", 3),), t_us=T_US
    )
    assert Connection.from_bytes(connection.to_bytes()) == connection
    group = Group()
    for table in ("a", "b"):
        group.meta(table, meta)
    group.connection("a", connection)
    group.wire("a", connection=7, direction=Direction.FROM_SHOE, offset=0, t_us=T_US, data=b"\0")
    group.input("a", b"one", T_US + 1)
    group.input("b", b"other table", T_US + 9)
    group.meta("a", newer)
    group.input("a", b"two", T_US + 2)
    group.event("a", Audience.PUBLIC, "x", t_us=T_US, subject=None, data={})
    group.device_seq("a", "SH-1", 4)
    group.device_seq("a", "SH-1", 5)
    group.device_seq("a", "SH-2", 1)
    stored(path, [group])
    with Reader.open(path) as reader:
        found = recover(reader, "a")
        assert (found.connection, found.t_us, found.devices) == (
            7,
            T_US + 2,
            {"SH-1": 5, "SH-2": 1},
        )
        assert (found.counters.public, found.counters.restricted) == (1, 1)
        assert (found.meta, found.since) == (newer, 1)
        assert [body for _, body in inputs(reader, "a")] == [b"one", b"two"]
        assert list(inputs(reader, "a", after=5)) == [(8, b"two")]
        new = recover(reader, "c")
        assert (new.meta, new.connection, new.t_us, new.devices) == (None, 0, 0, {})
    again = Group()
    again.meta("a", other)
    stored(path, [again])
    with Reader.open(path) as reader:
        assert recover(reader, "a").since == 11


def test_a_second_writer_is_told_who_has_the_journal(path: Path) -> None:
    with opened(path):
        with pytest.raises(JournalError, match=rf"in use by process {os.getpid()}$"):
            Store.open(path)
        link = path.with_name("link.db")
        link.symlink_to(path)
        with pytest.raises(JournalError, match="in use by process"):
            Store.open(link)
    with opened(path):
        pass


def test_a_writer_that_died_has_let_go_of_the_lock(path: Path) -> None:
    program = """
import sys
from shoe_ctl.journal.store import Store
store = Store.open(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""
    with child(program, str(path)) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(JournalError, match=f"in use by process {other.pid}$"):
            Store.open(path)
        other.kill()
        other.wait()
        with opened(path) as store:
            store.commit([dealt(1)])
    assert len(records(path)) == 4


def test_a_new_journal_is_for_its_owner_only_and_leaves_nothing_beside_it(path: Path) -> None:
    stored(path, [dealt(1)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert beside(path) == ["journal.db"]


def test_reading_a_journal_at_rest_leaves_nothing_beside_it(path: Path) -> None:
    stored(path, [dealt(1)])
    assert verified(path).ok
    assert beside(path) == ["journal.db"]


def test_an_empty_file_becomes_a_journal(path: Path) -> None:
    path.touch()
    assert len(stored(path, [dealt(1)])) == 1


def test_a_half_made_journal_is_made_anew(path: Path) -> None:
    path.with_name("journal.db-new").write_bytes(b"cut off")
    stored(path, [dealt(1)])
    assert beside(path) == ["journal.db"]


def _text(path: Path) -> None:
    path.write_text("not a database at all, but long enough to look like one\n" * 20)


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")


def _other_version(path: Path) -> None:
    stored(path, [])
    spoil(path, "PRAGMA user_version = 2")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (_text, "is not a journal of shoe-ctl: it is not an SQLite file"),
        (_foreign, "is not a journal of shoe-ctl: another program's file"),
        (_other_version, "has version 2; this shoe-ctl reads version 1"),
        (Path.mkdir, "is a"),
    ],
    ids=["text", "foreign", "version", "directory"],
)
def test_what_is_no_journal_is_refused_in_one_line_and_left_as_it_is(
    path: Path, make: object, told: str
) -> None:
    assert callable(make)
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for refused in (Store.open, Reader.open):
        with pytest.raises(JournalError) as error:
            refused(path)
        assert "\n" not in str(error.value)
        if before is not None or refused is Store.open:
            assert told in str(error.value)
    if before is not None:
        assert path.read_bytes() == before
    assert beside(path) == ["journal.db"]


def test_a_missing_directory_and_a_missing_journal_are_told(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no such directory"):
        Store.open(tmp_path / "none" / "journal.db")
    with pytest.raises(JournalError, match="does not exist"):
        Reader.open(tmp_path / "journal.db")


def test_places_that_cannot_be_written_are_told() -> None:
    # root may write anywhere, so the child becomes nobody once it has imported what it needs
    program = """
import os, sys
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.store import Store
if os.geteuid() == 0:
    os.setuid(65534)
for name in ("new.db", "old.db"):
    try:
        Store.open(f"{sys.argv[1]}/{name}")
    except JournalError as error:
        print(error)
"""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stored(folder / "old.db", [dealt(1)])
        folder.chmod(0o555)
        with child(program, name) as other:
            out, err = other.communicate()
        folder.chmod(0o755)
        assert beside(folder / "old.db") == ["old.db"]
    assert err == ""
    assert [line.partition("db ")[2] for line in out.splitlines()] == [
        "is not writable: Permission denied"
    ] * 2


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM record WHERE n = 8",
        "UPDATE record SET hash = x'00' WHERE n = 8",
        "DELETE FROM head",
        "INSERT INTO record VALUES (9, 'x', 'input', x'00', x'00')",
    ],
)
def test_a_journal_that_does_not_end_as_it_should_is_not_written_on(
    path: Path, statement: str
) -> None:
    stored(path, [dealt(1), dealt(2)])
    spoil(path, statement)
    with pytest.raises(JournalError, match="is damaged"):
        Store.open(path)
    assert not path.with_name("journal.db-lock").exists()


def test_a_damaged_file_is_told_in_one_line(path: Path) -> None:
    stored(path, [dealt(n) for n in range(200)])
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    for refused in (Store.open, verified):
        with pytest.raises(JournalError, match="is damaged"):
            refused(path)
