"""Wire replay of shoes that proved themselves: by the verdicts recorded, or with the keys again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from firmware_proto.reference.codec import unwrap
from firmware_proto.reference.framing import frame_body
from shoe_ctl.journal.record_format import Kind, Wire
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_ctl.table.inputs import to_bytes
from shoe_testing.journals import (
    DEVICE,
    KEY,
    SHOE_KEYS,
    WiredTable,
    alter_record,
    both_replays,
    drawn_cards,
    records,
    shoe_inputs,
    wired_table,
)
from simulators.faults import CleanLine

CRC_BYTES = 4


def test_a_key_retired_while_its_proof_was_under_way_is_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    keys = {DEVICE: dict(SHOE_KEYS[DEVICE])}

    class Retiring(CleanLine):
        def put(self, data: bytes, t: float) -> None:
            if len(keys[DEVICE]) and table.inputs and b"challenged" in to_bytes(table.inputs[-1]):
                keys[DEVICE].clear()
            super().put(data, t)

    with wired_table(path, "reference", keyed=True, known=keys, to_host=Retiring()) as table:
        table.open()
    failed = [(one["event"].get("reason"), one["event"].get("key_id")) for one in shoe_inputs(path)]
    assert ("no key for this shoe", 1) in failed
    for sessions in (RecordedSessions(SHOE_KEYS), RecordedSessions()):
        assert both_replays(path, sessions).differences == []


def test_proofs_and_macs_are_checked_again_with_the_keys(
    kept: Callable[[str], tuple[Path, WiredTable]],
) -> None:
    path, _ = kept("keyed")
    with_keys, without = RecordedSessions(SHOE_KEYS), RecordedSessions()
    for sessions in (with_keys, without):
        found = both_replays(path, sessions)
        assert found.differences == []
        assert sessions.authenticated == found.connections
        assert sessions.missing == set()
    other = {DEVICE: {1: KEY[::-1]}}
    first = both_replays(path, RecordedSessions(other)).differences[0]
    assert '"authenticated"' in (first.recorded or "")
    assert "wrong proof" in (first.replayed or "")


@pytest.mark.parametrize("keys", [{DEVICE: {2: KEY}}, {"SH-9": {1: KEY}}])
def test_a_key_that_is_not_at_hand_is_named_and_the_verdicts_count(
    keys: dict[str, dict[int, bytes]], kept: Callable[[str], tuple[Path, WiredTable]]
) -> None:
    sessions = RecordedSessions(keys)
    assert both_replays(kept("keyed")[0], sessions).differences == []
    assert sessions.missing == {(DEVICE, 1)}


def test_a_forged_frame_is_told_from_the_true_one_only_with_the_key(
    copied: Callable[[str], Path],
) -> None:
    """Whoever rewrites a journal can make a CRC, but not a MAC."""
    path = copied("keyed")
    n = drawn_cards(path, 1).n
    drew = msgspec.json.decode(next(r.body for r in records(path) if r.n == n))
    chunk = [r for r in records(path) if r.n < n and r.kind == Kind.WIRE.value][-1]
    wire = Wire.from_bytes(chunk.body)
    frame = slice(drew["first"] - wire.offset, drew["last"] - wire.offset)
    data = bytearray(wire.data)
    data[frame] = with_another_mac(wire.data[frame])
    assert len(data) == len(wire.data)
    forged = msgspec.structs.replace(wire, data=bytes(data))
    alter_record(path, chunk.n, forged.to_bytes())
    assert both_replays(path).differences == []
    first = both_replays(path, RecordedSessions(SHOE_KEYS)).differences[0]
    assert (first.n, '"reason":"mac"' in (first.replayed or "")) == (n, True)


def with_another_mac(frame: bytes) -> bytes:
    """This frame with a bit of its MAC turned, and a CRC that fits."""
    body = bytearray(unwrap(frame.strip(b"\0"))[:-CRC_BYTES])
    body[-1] ^= 1
    return frame_body(bytes(body))


def test_no_key_is_in_the_journal(kept: Callable[[str], tuple[Path, WiredTable]]) -> None:
    path, _ = kept("keyed")
    content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert KEY not in content
    assert KEY.hex().encode() not in content
