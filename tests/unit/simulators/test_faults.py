"""Faulty lines: seeded, in order, counted.

In: chunks. Out: what arrives. Must not know: what the bytes mean.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.errors import WrongUsage
from simulators.faults import CleanLine, Faults, FaultyLine, Line, parse_faults

CHUNKS = [bytes([n]) * 5 for n in range(1, 60)]


def through(line: Line, chunks: list[bytes] = CHUNKS) -> list[bytes]:
    arrived: list[bytes] = []
    t = 0.0
    for chunk in chunks:
        line.put(chunk, t)
        arrived += line.take(t)
        t += 0.01
    return arrived + line.take(t + 100)


def test_a_clean_line_changes_nothing() -> None:
    assert through(CleanLine()) == CHUNKS
    assert through(FaultyLine(1, Faults())) == CHUNKS


@given(st.integers(), st.lists(st.binary(min_size=1, max_size=9), max_size=30))
def test_splits_merges_and_delays_keep_every_byte_in_order(seed: int, chunks: list[bytes]) -> None:
    line = FaultyLine(seed, Faults(split=0.5, merge=0.5, delay=0.5))
    assert b"".join(through(line, chunks)) == b"".join(chunks)


def test_the_same_seed_gives_the_same_faults() -> None:
    every = Faults(split=0.3, merge=0.3, drop=0.3, flip=0.3, repeat=0.3, delay=0.3)
    first, second, third = (through(FaultyLine(seed, every)) for seed in (7, 7, 8))
    assert first == second
    assert first != third


def test_a_flip_turns_exactly_one_bit() -> None:
    line = FaultyLine(1, Faults(flip=1))
    for before, after in zip(CHUNKS, through(line), strict=True):
        difference = int.from_bytes(before) ^ int.from_bytes(after)
        assert difference.bit_count() == 1
    assert line.struck["flip"] == len(CHUNKS)


def test_a_drop_loses_bytes_and_a_repeat_gives_them_twice() -> None:
    assert all(len(c) < 5 for c in through(FaultyLine(1, Faults(drop=1))))
    assert through(FaultyLine(1, Faults(repeat=1))) == [c + c for c in CHUNKS]


def test_a_delay_holds_back_what_follows() -> None:
    line = FaultyLine(2, Faults(delay=1, delay_s=1.0))
    line.put(b"first", 0.0)
    due = line.next_deadline
    assert due is not None
    assert 0.0 < due <= 1.0
    line.put(b"second", 0.0)
    assert line.take(due - 1e-6) == []
    assert line.take(2.0) == [b"first", b"second"]
    assert line.next_deadline is None


def test_a_merged_chunk_that_nothing_follows_arrives_by_itself() -> None:
    line = FaultyLine(2, Faults(merge=1, delay_s=0.5))
    line.put(b"alone", 0.0)
    assert line.take(0.4) == []
    assert line.next_deadline == 0.5
    assert line.take(0.5) == [b"alone"]


def test_a_pulled_cable_gives_a_part_and_then_nothing_until_it_is_mended() -> None:
    line = FaultyLine(3, Faults(unplug=1))
    line.put(b"0123456789", 0.0)
    line.put(b"never", 0.0)
    assert b"0123456789".startswith(b"".join(line.take(0.0)))
    assert line.pulled(0.0)
    assert not line.pulled(0.0)
    line.cut()
    assert line.next_deadline is None


@pytest.mark.parametrize("rates", [{"drop": 1.5}, {"flip": -0.1}, {"delay_s": 61.0}])
def test_rates_out_of_range_are_refused(rates: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        Faults(**rates)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("drop=0.02,flip=0.01", Faults(drop=0.02, flip=0.01)),
        ("delay=1, delay_s=2.5", Faults(delay=1.0, delay_s=2.5)),
        ("unplug=0", Faults()),
    ],
)
def test_faults_are_named_with_their_rates(text: str, faults: Faults) -> None:
    assert parse_faults(text) == faults


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "unknown"),
        ("drop", "expected drop=a rate, 0 to 1"),
        ("drop=", "expected drop=a rate, 0 to 1"),
        ("drop=2", "expected drop=a rate, 0 to 1"),
        ("drop=nan", "expected drop=a rate, 0 to 1"),
        ("drop=-0.1", "expected drop=a rate, 0 to 1"),
        ("delay_s=61", "expected delay_s=seconds, 0 to 60"),
        ("drop=0.1,drop=0.2", "drop is given twice"),
        ("drop=0.1,", "unknown"),
        ("noise=0.1", "have: delay, delay_s, drop, flip, merge, repeat, split, unplug"),
    ],
)
def test_faults_that_cannot_be_are_refused_in_one_line(text: str, why: str) -> None:
    with pytest.raises(WrongUsage, match="--fault") as refused:
        parse_faults(text)
    assert why in str(refused.value) and "\n" not in str(refused.value)
