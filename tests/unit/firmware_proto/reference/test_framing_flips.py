"""Flipped bits, cuts: of every kind of message, with and without keys, nothing wrong is believed.

In: the frames of SPEC.md, seeds. Out: that a damaged frame is lost, and it alone.
Must not know: stuffing, CRC, MACs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import combinations
from random import Random
from zlib import crc32

import pytest

from firmware_proto.reference.framing import CRC_RESIDUE, DecodeError, unstuff
from shoe_testing.reference_protocol import EXAMPLES, Example, FramedLine

HANDSHAKE = ("challenge", "challenge_answered")
"""Said without a MAC only: an end that has agreed believes neither."""

PAIRS = 150
"""Two-bit flips a frame that are tried on the line in every run; the soak tries them all there."""

MILLION = 1_000_000

FRAMES = [
    (example, keyed)
    for example in EXAMPLES
    for keyed in (False, True)
    if not (keyed and example.name in HANDSHAKE)
]
LINES = [
    pytest.param(example, keyed, id=f"{example.name}-{'keyed' if keyed else 'open'}")
    for example, keyed in FRAMES
]


def flipped(frame: bytes, bits: tuple[int, ...]) -> bytes:
    damaged = bytearray(frame)
    for bit in bits:
        damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def hold(line: FramedLine, bits: tuple[int, ...]) -> None:
    hold_with(line, flipped(line.frame, bits))


def hold_with(line: FramedLine, damaged: bytes) -> None:
    assert line.believed(damaged) == line.neighbours, damaged.hex()


def cannot_be_read(run: bytes) -> bool:
    """Whether this is one run between delimiters whose stuffing or CRC is wrong.

    Nothing reads such a run, whatever is in it: SPEC 2 comes before all else.
    """
    try:
        return crc32(unstuff(run)) != CRC_RESIDUE
    except DecodeError:
        return 0 not in run


@pytest.mark.parametrize(("example", "keyed"), LINES)
def test_the_frame_itself_is_believed_between_its_neighbours(example: Example, keyed: bool) -> None:
    line = FramedLine(example.frame, keyed=keyed)
    before, behind = line.neighbours
    assert line.believed(line.frame) == [before, line.frame.strip(b"\0"), behind]


@pytest.mark.parametrize(("example", "keyed"), LINES)
def test_one_flipped_bit_costs_that_frame_alone(example: Example, keyed: bool) -> None:
    line = FramedLine(example.frame, keyed=keyed)
    for bit in range(8 * len(line.frame)):
        hold(line, (bit,))


@pytest.mark.parametrize(("example", "keyed"), LINES)
def test_two_flipped_bits_cost_that_frame_alone(example: Example, keyed: bool, seed: int) -> None:
    line, random = FramedLine(example.frame, keyed=keyed), Random(f"{seed} {example} {keyed}")
    bits = 8 * len(line.frame)
    for first in range(min(bits - 1, PAIRS)):  # neighbours: what a short burst does
        hold(line, (first, first + 1))
    for _ in range(PAIRS):
        first, second = random.sample(range(bits), 2)
        hold(line, (first, second))


def syndrome(bit: int, size: int) -> int:
    """What this bit flipped in ``size`` bytes adds to their CRC-32, whatever the bytes are."""
    return crc32(flipped(bytes(size), (bit,))) ^ crc32(bytes(size))


@pytest.mark.parametrize(("example", "keyed"), LINES)
def test_no_two_flipped_bits_of_what_is_stuffed_leave_its_crc_right(
    example: Example, keyed: bool
) -> None:
    """All pairs at once: CRC-32 is linear, so two flips hide only if both add the same to it.

    That each bit of this very frame adds its syndrome is tried. Flips that move a zero or a frame's
    end are another matter: the test above tries some on the line, the one below all.
    """
    whole = unstuff(FramedLine(example.frame, keyed=keyed).frame[1:-1])
    bits = range(8 * len(whole))
    assert crc32(whole) == CRC_RESIDUE
    added = [crc32(flipped(whole, (bit,))) ^ CRC_RESIDUE for bit in bits]
    assert added == [syndrome(bit, len(whole)) for bit in bits]
    assert 0 not in added and len(set(added)) == len(bits)


@pytest.mark.slow
@pytest.mark.exhaustive(cpu_s=0.4)
@pytest.mark.parametrize(("example", "keyed"), LINES)
def test_every_two_flipped_bits_cost_that_frame_alone(example: Example, keyed: bool) -> None:
    """On the line are tried those that change where frames begin and end, or that could be read."""
    line = FramedLine(example.frame, keyed=keyed)
    run = line.frame[1:-1]
    whole, bits = int.from_bytes(run, "big"), [1 << n for n in range(8 * len(run))]
    for first, second in combinations(bits, 2):
        damaged = (whole ^ first ^ second).to_bytes(len(run), "big")
        if not cannot_be_read(damaged):
            hold_with(line, b"\0" + damaged + b"\0")
    everywhere = range(8 * len(line.frame))
    for of_delimiter in (*everywhere[:8], *everywhere[-8:]):
        for other in everywhere:
            if other != of_delimiter:
                hold(line, (of_delimiter, other))


@pytest.mark.parametrize(("example", "keyed"), LINES)
def test_a_cut_at_any_byte_costs_that_frame_alone(example: Example, keyed: bool) -> None:
    line = FramedLine(example.frame, keyed=keyed)
    for size in range(1, len(line.frame) - 1):
        assert line.believed(line.frame[:size]) == line.neighbours
        assert line.believed(line.frame[-size:]) == line.neighbours


def in_turn(seed: int) -> Iterator[tuple[FramedLine, Random]]:
    """Every line, over and over, each time with other numbers."""
    made = [FramedLine(example.frame, keyed=keyed) for example, keyed in FRAMES]
    turn = 0
    while True:
        for line in made:
            yield line, Random(f"{seed} {turn}")
            turn += 1


@pytest.mark.soak
@pytest.mark.parametrize(("example", "keyed"), LINES)
def test_any_two_flipped_bits_on_the_line_cost_that_frame_alone(
    example: Example, keyed: bool
) -> None:
    line = FramedLine(example.frame, keyed=keyed)
    for bits in combinations(range(8 * len(line.frame)), 2):
        hold(line, bits)


@pytest.mark.soak
def test_three_flipped_bits_by_the_million_cost_that_frame_alone(seed: int) -> None:
    """A million at least, and for a quarter of the time that the soak has."""
    until = time.monotonic() + float(os.environ.get("SHOE_CTL_SOAK_S", "60")) / 4
    tried = 0
    for line, random in in_turn(seed):
        bits = range(8 * len(line.frame))
        for _ in range(1000):
            hold(line, tuple(random.sample(bits, 3)))
        tried += 1000
        if tried >= MILLION and time.monotonic() > until:
            break
    print(f"{tried} flips of three bits")  # noqa: T201 - what a soak did
