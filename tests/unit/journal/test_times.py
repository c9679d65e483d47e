"""Times that run backwards: what an insider who holds the key moved is named with both times."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from shoe_ctl.cli.main import shoectl
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Connection, Direction
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.journal.times import MOST, Times
from shoe_ctl.journal.verify import verify
from shoe_ctl.journal.verify_parts import in_parts
from shoe_ctl.table.inputs import Tick
from shoe_testing.cli import invoke
from shoe_testing.journals import (
    T_US,
    journal_table,
    opened,
    replayed_journal,
    rewrite_records,
    stored_round,
    table_meta,
    verified,
)

ROUNDS = 12
RECORDS = 4
"""Records of one stored round: an input, a public event with its copy, a restricted one."""


def signed(path: Path, times: list[int], checkpoints: dict[int, int] | None = None) -> Path:
    """Rounds of two tables in turn at these times, signed after some of them at others."""
    with opened(path) as store:
        key = open_signer(path, None)
        for at, number in enumerate(times):
            store.commit([stored_round(number, "ab"[at % 2])])
            if (t_us := (checkpoints or {}).get(at)) is not None:
                store.checkpoint(key, T_US + t_us)
        store.checkpoint(key, T_US + 10**9)
    return path


@pytest.mark.parametrize("seed", range(8))
def test_a_round_that_was_set_to_an_earlier_time_is_named(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    times = [60 * at for at in range(1, ROUNDS + 1)]
    at = dice.randrange(2, ROUNDS)
    before = times[at - 2]
    times[at] = before - dice.randrange(1, 60)
    path = signed(tmp_path / "journal.db", times)
    result = invoke(shoectl, "verify", path, "--json")
    said = json.loads(result.stdout)
    n = said["backwards"][0]["n"]
    assert said["backwards"] == [
        {"table": "ab"[at % 2], "n": n, "t_us": T_US + times[at], "before_us": T_US + before}
    ]
    assert RECORDS * at < n <= RECORDS * (at + 1)
    bad = said["first_bad"]
    assert (result.exit_code, said["ok"], bad["n"], bad["why"]) == (1, False, n, "altered")
    assert said["records"] == ROUNDS * RECORDS + 1  # and all the rest was verified
    shown = invoke(shoectl, "verify", path).stdout
    assert f"backwards   record {n} of table {'ab'[at % 2]}: 2023-" in shown


def test_an_older_checkpoint_is_a_note_because_people_may_set_the_hosts_clock(
    tmp_path: Path,
) -> None:
    path = signed(tmp_path / "journal.db", [1, 2, 3, 4], {0: 500, 2: 400})
    result = invoke(shoectl, "verify", path)
    assert result.exit_code == 0
    assert "a checkpoint: 2023-11-14T22:13:20.000400Z" in result.stdout
    (one,) = verified(path).backwards
    assert (one.table, one.t_us, one.before_us) == ("", T_US + 400, T_US + 500)


def test_bytes_to_a_shoe_have_the_hosts_time_which_a_start_may_set_back(tmp_path: Path) -> None:
    def sent(number: int, offset: int, t_us: int) -> Batch:
        group = Batch()
        group.append_wire(
            "a",
            connection=number,
            direction=Direction.TO_SHOE,
            offset=offset,
            t_us=T_US + t_us,
            data=b"x",
        )
        return group

    def connected(number: int) -> Batch:
        group = Batch()
        of = Connection(number=number, profile="reference", settings={}, resume=(), t_us=T_US)
        group.append_connection("a", of)
        return group

    def started() -> Batch:
        group = Batch()
        group.append_meta("a", table_meta())
        return group

    path = tmp_path / "journal.db"
    with opened(path) as store:
        for group in (started(), connected(1), stored_round(50, "a"), sent(1, 0, 60)):
            store.commit([group])
        for group in (started(), connected(2), sent(2, 0, 10), stored_round(70, "a")):
            store.commit([group])
        store.commit([sent(2, 1, 5)])
    assert [(one.t_us - T_US, one.before_us - T_US) for one in verified(path).backwards] == [
        (5, 10)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_parts_find_what_one_process_finds(seed: int) -> None:
    dice = random.Random(seed)
    events: list[int | None] = [dice.choice([None, *range(20)]) for _ in range(40)]
    cuts = [0, *sorted(dice.sample(range(1, 40), 3)), 40]

    def walked(first: int, behind: int) -> Times:
        times = Times()
        for n in range(first, behind):
            if (t_us := events[n]) is None:
                times.begin_anew()
            else:
                times.see(n, t_us)
        return times

    joined = Times()
    for first, behind in pairwise(cuts):
        part = msgspec.json.encode(walked(first, behind))
        joined.extend(msgspec.json.decode(part, type=Times))
    assert joined.backwards == walked(0, 40).backwards
    assert 0 < len(joined.backwards) <= MOST


def test_a_verification_in_parts_names_the_same_times(tmp_path: Path) -> None:
    times = [60 * at for at in range(1, 401)]
    times[200] = 7
    path = signed(tmp_path / "journal.db", times, {at: 60 * at for at in range(20, 400, 20)})
    walk = in_parts(frozenset(), jobs=2, software="1", state=None, least=300)
    with Reader.open(path) as reader:
        assert verify(reader, walk=walk) == verify(reader)
        assert len(verify(reader).backwards) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_replay_says_at_which_input_time_ran_backwards(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    path = tmp_path / "journal.db"
    ticks = [Tick(t_us=T_US + 100 * at) for at in range(1, 20)]
    with journal_table(path, table_meta(), ticks):
        pass
    with Reader.open(path) as reader:
        inputs = [record for record in reader.records() if record.kind == "input"]
    at = dice.randrange(1, 19)
    moved = T_US + 100 * at - dice.randrange(1, 50)
    was = b'"t_us":%d' % ticks[at].t_us
    n = inputs[at].n
    rewrite_records(
        path, lambda r: r.body.replace(was, b'"t_us":%d' % moved) if r.n == n else r.body
    )
    first = replayed_journal(path).differences[0]
    assert (first.table, first.n) == (inputs[at].table, n)
    assert first.why.startswith("time runs backwards: 2023-11-14T22:13:2")
