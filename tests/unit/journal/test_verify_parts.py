"""A verification in parts finds what one process finds, and goes on where it was stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import EnvironmentFault, InputRefused
from shoe_ctl.journal.anchor import Anchor
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Connection, InvalidRow
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.journal.verify import Verification, Walked, WalkInParts, verify, walk_part
from shoe_ctl.journal.verify_parts import Kept, cut, in_parts
from shoe_testing import bulk_journal
from shoe_testing.cli import invoke
from shoe_testing.journals import T_US, held, opened, spoil, stored_round, verified
from shoe_testing.paths import child_environment

LEAST = 2_000

HELLO = b'{"input":"shoe","t_us":%d,"event":{"type":"hello","device_id":"SH-%d"},"seq":%d}'
CARD = b'{"input":"shoe","t_us":%d,"event":{"type":"card_drawn","card":"2D"},"seq":%d}'
FAULT = b'{"input":"fault","t_us":%d,"where":"ShoeSaid","what":"ValueError"}'


@pytest.fixture(scope="module")
def dealt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rounds of a table as a daemon stores them, with a checkpoint now and then."""
    path = tmp_path_factory.mktemp("dealt") / "journal.db"
    bulk_journal.make(path, 500)
    return path


def connected(number: int) -> Batch:
    group = Batch()
    of = Connection(number=number, profile="reference", settings={}, resume=(), t_us=T_US)
    group.append_connection("a", of)
    return group


def said(body: bytes, at: int, *numbers: int, stored: tuple[str, int] | None = None) -> Batch:
    group = Batch()
    group.append_input("a", body % (T_US + at, *numbers), T_US + at)
    if stored is not None:
        group.set_device_seq("a", *stored)
    return group


GROUPS = (
    connected(1),
    said(HELLO, 1, 1, 4, stored=("SH-1", 4)),
    stored_round(1, "b"),
    said(CARD, 2, 5, stored=("SH-1", 5)),
    said(CARD, 3, 6, stored=("SH-1", 6)),
    connected(2),
    said(HELLO, 4, 2, 7, stored=("SH-2", 7)),
    said(FAULT, 5, stored=("SH-2", 8)),
    stored_round(2, "b"),
    connected(3),
    said(CARD, 6, 9),
)
"""Two shoes one after the other, the second one's last input could not be handled; then bytes of a
shoe that never said its name. Beside it a second table."""


@pytest.fixture(scope="module")
def signed_often(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with a checkpoint behind each group but the last."""
    path = tmp_path_factory.mktemp("signed") / "journal.db"
    with opened(path) as store:
        key = open_signer(path, None)
        for at, group in enumerate(GROUPS):
            if at:
                store.checkpoint(key, T_US + at)
            store.commit([group])
    return path


def copied(path: Path, folder: Path) -> Path:
    for file in path.parent.iterdir():
        shutil.copy(file, folder)
    return folder / path.name


def walk_here(
    reader: Reader, begins: Anchor, last_n: int, *, least: int
) -> Sequence[tuple[Anchor, Walked]]:
    """Walks the parts in this process; each is taken as it comes from another one."""
    found = []
    try:
        parts = cut(reader, begins, last_n, 1_000, least)
    except InvalidRow:
        return ()
    for part in parts:
        one = walk_part(
            reader, frozenset(), part.begins, part.upto, last_n, lambda _n, _last_n: None
        )
        if one is None:
            return ()
        found.append((part.begins, msgspec.json.decode(msgspec.json.encode(one), type=Walked)))
    return found


def checked(path: Path, walk: WalkInParts) -> Verification:
    with Reader.open(path) as reader:
        return verify(reader, walk=walk)


def shared(path: Path, state: Path | None = None, jobs: int = 2) -> Verification:
    return checked(path, in_parts(frozenset(), jobs=jobs, software="1", state=state, least=LEAST))


@pytest.mark.parametrize("least", range(1, 12))
def test_the_parts_of_a_journal_add_up_to_the_whole(signed_often: Path, least: int) -> None:
    with Reader.open(signed_often) as reader:
        last_n = reader.newest() or 0
        made = cut(reader, Anchor(), last_n, 1_000, least)
    assert len(made) > 1
    assert sum(part.records for part in made) == last_n
    found = checked(signed_often, partial(walk_here, least=least))
    assert found == verified(signed_often)
    assert found.ok


@pytest.mark.parametrize("least", [1, 3, 8])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE head SET connection = 2 WHERE \"table\" = 'a'",
        "UPDATE head SET t_us = t_us + 1 WHERE \"table\" = 'a'",
        "UPDATE head SET public = public + 1 WHERE \"table\" = 'b'",
        "UPDATE device SET seq = 5 WHERE device_id = 'SH-1'",
        "UPDATE device SET seq = 9 WHERE device_id = 'SH-2'",
        "UPDATE device SET seq = 6 WHERE device_id = 'SH-2'",
        "DELETE FROM device WHERE device_id = 'SH-2'",
        "INSERT INTO device VALUES ('a', 'SH-3', 9)",
        "INSERT INTO landmark VALUES ('a', 'meta', 3)",
        "DROP INDEX of_table",
        "INSERT INTO round VALUES (3, 'a', 1, 7, 0, x'0000000000000003')",
    ],
)
def test_what_was_altered_beside_the_records_is_found_in_parts_too(
    signed_often: Path, tmp_path: Path, statement: str, least: int
) -> None:
    path = copied(signed_often, tmp_path)
    spoil(path, statement)
    assert checked(path, partial(walk_here, least=least)) == verified(path)


@pytest.mark.parametrize("place", range(2 * len(GROUPS) - 1))
@pytest.mark.parametrize(
    "change", ["body = CAST(body || x'00' AS BLOB)", "hash = zeroblob(32)", "n = n + 100"]
)
def test_an_altered_group_is_placed_as_by_one_process(
    signed_often: Path, tmp_path: Path, place: int, change: str
) -> None:
    path = copied(signed_often, tmp_path)
    spoil(path, (f"UPDATE record_group SET {change} WHERE n = ?", (held(path)[place][0],)))
    found = checked(path, partial(walk_here, least=1))
    assert found == verified(path)
    assert not found.ok


def test_several_processes_find_what_one_finds(dealt: Path) -> None:
    seen: list[tuple[int, int]] = []
    walk = in_parts(
        frozenset(), jobs=2, software="1", least=LEAST, progress=lambda *at: seen.append(at)
    )
    assert checked(dealt, walk) == verified(dealt)
    assert len(seen) > 2
    assert seen[-1] == (verified(dealt).last_n,) * 2


def test_an_altered_index_of_rounds_is_found_by_several_processes(
    dealt: Path, tmp_path: Path
) -> None:
    path = copied(dealt, tmp_path)
    spoil(path, "UPDATE round SET t_us = t_us + 1 WHERE n = (SELECT max(n) FROM round)")
    found = shared(path)
    assert found == verified(path)
    assert found.first_bad is not None and "index of rounds" in found.first_bad.text


def stopped(path: Path, state: Path) -> Kept:
    """Stop a verification once its first part is done; return what the file keeps."""

    def stop(_n: int, _last_n: int) -> None:
        if kept().done:
            raise KeyboardInterrupt

    def kept() -> Kept:
        return msgspec.json.decode(state.read_bytes(), type=Kept)

    walk = in_parts(frozenset(), jobs=4, software="1", state=state, least=LEAST, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        checked(path, walk)
    return kept()


def test_what_is_done_is_not_read_again_after_a_stop(dealt: Path, tmp_path: Path) -> None:
    path, state = copied(dealt, tmp_path), tmp_path / "state"
    kept = stopped(path, state)
    assert 0 < len(kept.done) < len(kept.parts)
    walked = kept.parts[next(iter(kept.done))]
    inside = next(row[0] for row in held(path) if walked.begins.n < row[0] < walked.upto)
    spoil(path, ("UPDATE record_group SET hash = zeroblob(32) WHERE n = ?", (inside,)))
    assert not verified(path).ok
    assert shared(path, state) == verified(dealt)
    assert not state.exists()
    assert not shared(path, state).ok


@pytest.mark.parametrize("done", [False, True])
def test_a_journal_that_grew_after_a_stop_is_verified_to_its_end(
    dealt: Path, tmp_path: Path, done: bool
) -> None:
    path, state = copied(dealt, tmp_path), tmp_path / "state"
    kept = stopped(path, state)
    if done:  # as if it was stopped as the last part was done
        with Reader.open(path) as reader:
            last_n = reader.newest() or 0
            for place, part in enumerate(kept.parts):
                one = walk_part(
                    reader, frozenset(), part.begins, part.upto, last_n, lambda *_: None
                )
                assert one is not None
                kept.done[place] = one
        kept.save(state)
    with opened(path) as store:
        for number in range(5):
            store.commit([stored_round(number, "more")])
            store.checkpoint(open_signer(path, store.signed_with), T_US)
    found = shared(path, state)
    assert found == verified(path)
    assert found.ok and found.records > verified(dealt).records
    assert not state.exists()


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"journal":"1","parts":[]}'])
def test_a_file_that_keeps_no_verification_is_refused_in_one_line(
    dealt: Path, tmp_path: Path, content: str
) -> None:
    state = tmp_path / "state"
    state.write_text(content)
    done = invoke(shoectl, "verify", str(dealt), "--state", str(state))
    assert isinstance(done.exception, InputRefused)
    assert str(done.exception).startswith(f"{state}: not the state of a verification: ")
    assert len(str(done.exception).splitlines()) == 1
    assert state.read_text() == content


def test_the_state_of_another_journal_key_or_version_is_refused_in_one_line(
    dealt: Path, signed_often: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    stopped(dealt, state)
    for path, trusted, software in (
        (signed_often, frozenset[bytes](), "1"),
        (dealt, frozenset({bytes(32)}), "1"),
        (dealt, frozenset[bytes](), "2"),
    ):
        walk = in_parts(trusted, jobs=2, software=software, state=state, least=LEAST)
        with pytest.raises(InputRefused, match=r"state: of another journal.*or remove it$"):
            checked(path, walk)
    assert shared(dealt, state).ok


def test_a_state_that_cannot_be_written_is_refused_before_anything_is_read(
    dealt: Path, tmp_path: Path
) -> None:
    with pytest.raises(EnvironmentFault, match=r"state: the state cannot be written: [A-Z]"):
        shared(dealt, tmp_path / "nowhere" / "state")
    with pytest.raises(InputRefused, match="Is a directory"):
        shared(dealt, tmp_path)


SHORT_PARTS = f"""
from shoe_ctl.journal import verify_parts
verify_parts.in_parts.__kwdefaults__["least"] = {LEAST}
from shoe_ctl.cli.main import main
main()
"""


def test_a_command_that_is_interrupted_keeps_what_is_done_and_goes_on_from_it(
    dealt: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    words = ("verify", str(dealt), "--json", "--jobs", "4", "--state", str(state))
    command = (sys.executable, "-c", SHORT_PARTS, *words)
    with subprocess.Popen(
        command,
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        while not state.exists() or b'"done":{}' in state.read_bytes():
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    kept = msgspec.json.decode(state.read_bytes(), type=Kept)
    assert 0 < len(kept.done) < len(kept.parts)
    again = subprocess.run(command, env=child_environment(), capture_output=True, check=True)
    assert again.stdout == invoke(shoectl, "verify", str(dealt), "--json").stdout.encode()
    assert json.loads(again.stdout)["ok"]
    assert not state.exists()
