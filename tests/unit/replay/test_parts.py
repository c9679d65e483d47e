"""A replay in parts gives what one process gives, and goes on where it was stopped."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import InputRefused
from shoe_ctl.history import snapshots
from shoe_ctl.journal.part_processes import MOST_PARTS
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.replay.parts import Kept, cut, replay_in_parts
from shoe_ctl.replay.replay import Part, Replay, replay
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_testing import bulk_journal
from shoe_testing.cli import invoke
from shoe_testing.journals import dealt_journal, take_out

LEAST = 3_000


@pytest.fixture(scope="module")
def reconnected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose shoe connects anew for each set of cards."""
    path = tmp_path_factory.mktemp("reconnected") / "journal.db"
    bulk_journal.make(path, 400)
    return path


@pytest.fixture(scope="module")
def connected_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with one long connection."""
    path = tmp_path_factory.mktemp("connected") / "journal.db"
    dealt_journal(path, "reference", 60)
    return path


def run(reader: Reader, part: Part | None = None) -> Replay:
    return replay(
        reader,
        snapshots.controller_for,
        snapshots.agrees,
        RecordedSessions(),
        from_first_snapshot=snapshots.from_first_snapshot,
        part=part,
    )


def summed(found: list[Replay]) -> Replay:
    assert all(one.found == 0 for one in found)
    return Replay(
        rounds=sum(one.rounds for one in found),
        differences=[],
        connections=sum(one.connections for one in found),
        bytes=sum(one.bytes for one in found),
    )


@pytest.mark.parametrize("least", [700, 1_200])
@pytest.mark.parametrize("journal", ["reconnected", "connected_once"])
def test_the_parts_of_a_journal_add_up_to_the_whole(
    journal: str, least: int, request: pytest.FixtureRequest
) -> None:
    with Reader.open(request.getfixturevalue(journal)) as reader:
        made = cut(reader, 2, least=least)
        assert len(made) > 1
        assert summed([run(reader, part) for part in made]) == run(reader)


def test_each_input_of_a_table_is_in_one_part(reconnected: Path) -> None:
    with Reader.open(reconnected) as reader:
        made = cut(reader, 3, least=LEAST)
        inputs = [record.n for record in reader.records(kinds=(Kind.INPUT,))]
        snapshot_numbers = {r.n for r in reader.indexed_records("t1", Kind.SNAPSHOT, after=0)}
    assert all(sum(part.inputs["t1"].has(n) for part in made) == 1 for n in inputs)
    assert {part.inputs["t1"].after for part in made[1:]} <= snapshot_numbers


def test_a_number_from_nowhere_makes_no_more_parts_than_a_journal_can_have(
    connected_once: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(connected_once, tmp_path))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE record_group SET n = ? WHERE n = (SELECT max(n) FROM record_group)",
            (2**63 - 1,),
        )
    with Reader.open(path) as reader:
        assert len(cut(reader, 2, least=LEAST)) <= MOST_PARTS + 1


def test_several_processes_find_what_one_finds(reconnected: Path) -> None:
    sessions = RecordedSessions()
    seen: list[tuple[int, int]] = []
    found = replay_in_parts(
        reconnected, sessions, jobs=2, least=8_000, progress=lambda *at: seen.append(at)
    )
    with Reader.open(reconnected) as reader:
        assert found == run(reader)
    assert seen[-1][0] == seen[-1][1]


def test_a_short_journal_is_left_to_one_process(connected_once: Path) -> None:
    assert replay_in_parts(connected_once, RecordedSessions(), jobs=4) is None


def test_a_difference_is_left_to_one_process(reconnected: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(reconnected, tmp_path))
    with Reader.open(path) as reader:
        last = [record.n for record in reader.records(kinds=(Kind.INPUT,))][-40]
    take_out(path, n=last)
    assert replay_in_parts(path, RecordedSessions(), jobs=2, least=8_000) is None
    alone = invoke(shoectl, "replay", str(path), "--json")
    shared = invoke(shoectl, "replay", str(path), "--json", "--jobs", "2")
    assert (shared.exit_code, shared.stdout) == (alone.exit_code, alone.stdout)
    assert alone.exit_code == 1


def stopped(path: Path, state: Path) -> Kept:
    """Stop a replay once its first part is done; return what the file keeps."""

    def stop(_n: int, _last_n: int) -> None:
        if kept().done:
            raise KeyboardInterrupt

    def kept() -> Kept:
        return msgspec.json.decode(state.read_bytes(), type=Kept)

    with pytest.raises(KeyboardInterrupt):
        replay_in_parts(path, RecordedSessions(), jobs=1, state=state, least=8_000, progress=stop)
    return kept()


def test_a_replay_goes_on_where_it_was_stopped(reconnected: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    kept = stopped(reconnected, state)
    assert list(kept.done) == [0] and len(kept.parts) > 1
    first = kept.done[0]
    kept.done[0] = msgspec.structs.replace(
        first, replay=msgspec.structs.replace(first.replay, rounds=first.replay.rounds + 1_000)
    )
    state.write_bytes(msgspec.json.encode(kept))
    with Reader.open(reconnected) as reader:
        whole = run(reader)
    found = replay_in_parts(reconnected, RecordedSessions(), jobs=2, state=state)
    assert found == msgspec.structs.replace(whole, rounds=whole.rounds + 1_000)
    assert not state.exists()


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"journal":"1","parts":[]}'])
def test_a_file_that_keeps_no_replay_is_refused_in_one_line(
    connected_once: Path, tmp_path: Path, content: str
) -> None:
    state = tmp_path / "state"
    state.write_text(content)
    with pytest.raises(InputRefused) as error:
        replay_in_parts(connected_once, RecordedSessions(), jobs=2, state=state)
    assert str(error.value).startswith(f"{state}: ")
    assert len(str(error.value).splitlines()) == 1
    assert state.read_text() == content


def test_the_state_of_another_journal_or_with_other_keys_is_refused(
    reconnected: Path, connected_once: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    stopped(reconnected, state)
    with pytest.raises(InputRefused, match="of another journal"):
        replay_in_parts(connected_once, RecordedSessions(), jobs=2, state=state)
    with pytest.raises(InputRefused, match="of another journal"):
        replay_in_parts(reconnected, RecordedSessions({}), jobs=2, keys={}, state=state)


@pytest.mark.parametrize(
    "words", [["--jobs", "2", "--last", "1"], ["--state", "s", "--round", "r"], ["--jobs", "0"]]
)
def test_parts_are_for_a_whole_replay(connected_once: Path, words: list[str]) -> None:
    assert invoke(shoectl, "replay", str(connected_once), *words).exit_code == 2
