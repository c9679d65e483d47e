"""Wire replay: every connection decoded from its first byte gives the inputs that were recorded."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firmware_proto.angel_eye.host import AngelEyeHost
from firmware_proto.bee_tek.session import BeeTekHost
from firmware_proto.events import CardDrawn, ClearError, Query
from firmware_proto.reference.codec import unwrapped
from firmware_proto.reference.framing import framed
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.session import Heard
from shoe_ctl.differences import OPENED, Difference
from shoe_ctl.journal.bodies import Direction, Kind, Wire
from shoe_ctl.records import Record
from shoe_ctl.sessions import Sessions
from shoe_ctl.table.inputs import to_bytes
from simulators.faults import CleanLine, Faults, FaultyLine
from tests.journal.making import records, spoil
from tests.wiring.on_the_wire import DEVICE, KEY, KEYS, WiredTable, both_replays, dealt, wired

FAULTS = Faults(split=0.3, merge=0.1, drop=0.02, flip=0.02, repeat=0.05, delay=0.1, unplug=0.03)
"""Frames cut in two, damaged, doubled; cables that come off in the midst of them."""

CRC_BYTES = 4
ROUNDS = 20

SPLIT = Faults(split=0.5)


def bad_lines() -> dict[str, Any]:
    return {"to_host": FaultyLine(3, FAULTS), "to_shoe": FaultyLine(4, FAULTS)}


TABLES: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "reference": ("reference", dict),
    "keyed": ("reference", lambda: {"keyed": True, **bad_lines()}),
    "bad_lines": ("reference", bad_lines),
    "angel_eye": ("angel_eye", lambda: {"pace_s": 0.35, "to_host": FaultyLine(2, SPLIT)}),
    "told": ("angel_eye", lambda: {"session_settings": {"commands": True}}),
    "bee_tek": ("bee_tek", lambda: {"to_host": FaultyLine(2, SPLIT)}),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, WiredTable]]:
    """The journal of a table, dealt once for all tests."""

    @cache
    def made(name: str) -> tuple[Path, WiredTable]:
        path = tmp_path_factory.mktemp(name) / "journal.db"
        profile, given = TABLES[name]
        return path, dealt(path, profile, ROUNDS, **given())

    return made


@pytest.fixture
def copied(kept: Callable[[str], tuple[Path, WiredTable]], tmp_path: Path) -> Callable[[str], Path]:
    """The same, to be changed."""

    def copy(name: str) -> Path:
        return Path(shutil.copy(kept(name)[0], tmp_path))

    return copy


class Drawn(msgspec.Struct):
    """Where an input says that a card was drawn: its record, its round."""

    n: int
    round_id: str | None


def drawn(path: Path, number: int) -> Drawn:
    """The input of this card, counted from 1, and the round that it belongs to."""
    found: Drawn | None = None
    opened: str | None = None
    for record in records(path):
        if found is not None and record.kind == Kind.INPUT.value:
            break
        if record.kind == Kind.RESTRICTED.value and f'"{OPENED}"'.encode() in record.body:
            opened = msgspec.json.decode(record.body)["subject"]
        if record.kind == Kind.INPUT.value and b'"type":"card_drawn"' in record.body:
            number -= 1
            if not number:
                found = Drawn(record.n, opened)
    assert found is not None
    return Drawn(found.n, opened)


@pytest.mark.parametrize("name", TABLES)
def test_what_was_heard_decodes_to_the_inputs_that_were_recorded(
    name: str, kept: Callable[[str], tuple[Path, WiredTable]]
) -> None:
    path, table = kept(name)
    found = both_replays(path)
    assert found.differences == []
    assert (found.rounds, found.found) == (table.count["round.opened"], 0)
    wires = [Wire.from_bytes(r.body) for r in records(path) if r.kind == Kind.WIRE.value]
    assert found.bytes == sum(len(wire.data) for wire in wires)
    assert found.connections == len({wire.connection for wire in wires})
    if "to_host" in TABLES[name][1]():
        ends = {(e["connection"], e["last"]) for e in said(path)}
        assert any((w.connection, w.offset + len(w.data)) not in ends for w in wires)


def said(path: Path) -> list[dict[str, Any]]:
    """What the shoe said, as it stands in the journal."""
    inputs = [msgspec.json.decode(r.body) for r in records(path) if r.kind == Kind.INPUT.value]
    return [one for one in inputs if one["input"] == "shoe"]


def test_bad_lines_were_reconnected_in_mid_frame_and_brought_damaged_bytes(
    kept: Callable[[str], tuple[Path, WiredTable]],
) -> None:
    for name in ("bad_lines", "keyed"):
        path, table = kept(name)
        assert table.count["frame.discarded"] > 5
        last: dict[int, int] = {}
        for wire in (Wire.from_bytes(r.body) for r in records(path) if r.kind == Kind.WIRE.value):
            last[wire.connection] = wire.offset + len(wire.data)
        heard = {one["connection"]: one["last"] for one in said(path)}
        assert len(last) > 3
        assert any(last[number] > heard.get(number, 0) for number in last)


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("reference", ReferenceHost),
        ("keyed", ReferenceHost),
        ("angel_eye", AngelEyeHost),
        ("told", AngelEyeHost),
        ("bee_tek", BeeTekHost),
    ],
)
def test_a_decoder_that_was_altered_is_found_and_the_round_is_named(
    name: str,
    host: type[ReferenceHost | AngelEyeHost | BeeTekHost],
    kept: Callable[[str], tuple[Path, WiredTable]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, _ = kept(name)
    right, cards = host.receive, 0

    def wrong(self: Any, data: bytes, t: float) -> list[Heard]:
        nonlocal cards
        heard: list[Heard] = right(self, data, t)
        for at, one in enumerate(heard):
            if isinstance(one.event, CardDrawn):
                cards += 1
                if cards == 23:
                    heard[at] = replace(one, event=replace(one.event, card=None))
        return heard

    monkeypatch.setattr(host, "receive", wrong)
    (difference,) = both_replays(path).differences
    expected = drawn(path, 23)
    assert (difference.replay, difference.why) == ("wire", "the bytes say something else")
    assert (difference.n, difference.round_id) == (expected.n, expected.round_id)
    assert difference.round_id is not None
    recorded, replayed = (
        msgspec.json.decode(text or "") for text in (difference.recorded, difference.replayed)
    )
    assert recorded.pop("event") != replayed.pop("event")
    assert recorded == replayed


def wire_of(path: Path, number: int) -> tuple[Record, Wire]:
    """The bytes that ended with this card."""
    n = drawn(path, number).n
    chunks = [r for r in records(path) if r.n < n and r.kind == Kind.WIRE.value]
    return chunks[-1], Wire.from_bytes(chunks[-1].body)


def the_one(path: Path, sessions: Sessions | None = None) -> Difference:
    (difference,) = both_replays(path, sessions).differences
    return difference


@pytest.mark.parametrize("name", ["reference", "angel_eye", "bee_tek"])
def test_bytes_that_were_changed_in_the_journal_are_found(
    name: str, copied: Callable[[str], Path]
) -> None:
    path = copied(name)
    record, wire = wire_of(path, 30)
    spoilt = msgspec.structs.replace(wire, data=bytes(b ^ 1 for b in wire.data))
    spoil(path, ("UPDATE record SET body = ? WHERE n = ?", (spoilt.to_bytes(), record.n)))
    found = both_replays(path).differences
    expected = drawn(path, 30)
    assert found[0].round_id == expected.round_id is not None
    assert found[0].replay == "wire"
    assert record.n <= found[0].n <= expected.n


def test_bytes_that_were_taken_out_end_what_can_be_decoded_of_their_connection(
    copied: Callable[[str], Path],
) -> None:
    path = copied("reference")
    record, wire = wire_of(path, 30)
    spoil(path, ("DELETE FROM record WHERE n = ?", (record.n,)))
    found = both_replays(path).differences
    place = f"connection 1, byte {wire.offset + len(wire.data):,}"
    assert [d.why for d in found] == [
        "an input that no bytes say",
        f"what came before {place} is missing",
    ]
    assert {d.round_id for d in found} == {drawn(path, 30).round_id}


def test_a_connection_whose_opening_was_taken_out_is_found(copied: Callable[[str], Path]) -> None:
    path = copied("angel_eye")
    spoil(path, "DELETE FROM record WHERE kind = 'connection'")
    assert the_one(path).why == "what came before connection 1, byte 0 is missing"


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        ("wire", b"short", "wire cannot be read: a wire record has"),
        ("connection", b"{}", "connection cannot be read: "),
        ("calls", b"{}", "calls cannot be read: "),
    ],
)
def test_records_of_the_line_that_were_spoilt_are_found(
    kind: str, body: bytes, why: str, copied: Callable[[str], Path]
) -> None:
    path = copied("told")
    n = next(r.n for r in records(path) if r.kind == kind)
    spoil(path, ("UPDATE record SET body = ? WHERE n = ?", (body, n)))
    difference = the_one(path)
    assert difference.n == n
    assert difference.why.startswith(why)


def test_a_profile_that_is_not_known_is_one_difference(copied: Callable[[str], Path]) -> None:
    path = copied("bee_tek")
    (opened,) = (r for r in records(path) if r.kind == Kind.CONNECTION.value)
    body = opened.body.replace(b"bee_tek", b"beetle")
    spoil(path, ("UPDATE record SET body = ? WHERE n = ?", (body, opened.n)))
    difference = the_one(path)
    assert difference.n == opened.n
    assert re.match("the connection cannot be decoded: .*beetle", difference.why)


def test_an_input_that_no_bytes_say_is_found(copied: Callable[[str], Path]) -> None:
    path = copied("reference")
    card = drawn(path, 12)
    body = next(r.body for r in records(path) if r.n == card.n)
    forged = body.replace(b'"number":12', b'"number":13')
    assert forged != body
    spoil(path, ("UPDATE record SET body = ? WHERE n = ?", (forged, card.n)))
    found = both_replays(path).differences
    assert [d.replay for d in found if d.n == card.n] == ["inputs", "wire"]
    assert {d.round_id for d in found if d.n == card.n} == {card.round_id}


def test_what_a_timed_session_was_told_is_needed_and_kept(copied: Callable[[str], Path]) -> None:
    path = copied("told")
    assert any(r.kind == Kind.CALLS.value for r in records(path))
    spoil(path, "DELETE FROM record WHERE kind = 'calls'")
    found = both_replays(path).differences
    assert found
    assert {d.why for d in found} <= {"the bytes say something else", "an input that no bytes say"}
    assert b'"reply_to_nothing"' in (found[0].replayed or "").encode()


def test_commands_to_a_timed_session_are_kept_too(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with wired(path, "angel_eye", session_settings={"commands": True}) as table:
        table.deal_rounds(2)
        table.ask(Query(91, "progress"))
        table.ask(ClearError(92))
        table.deal_rounds(4)
    answered = [one["event"].get("command_id") for one in said(path)]
    assert answered.index(91) < answered.index(92)
    assert both_replays(path).differences == []


def test_a_key_retired_while_its_proof_was_under_way_is_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    keys = {DEVICE: dict(KEYS[DEVICE])}

    class Retiring(CleanLine):
        def put(self, data: bytes, t: float) -> None:
            if len(keys[DEVICE]) and table.inputs and b"challenged" in to_bytes(table.inputs[-1]):
                keys[DEVICE].clear()
            super().put(data, t)

    with wired(path, "reference", keyed=True, known=keys, to_host=Retiring()) as table:
        table.open()
    failed = [(one["event"].get("reason"), one["event"].get("key_id")) for one in said(path)]
    assert ("no key for this shoe", 1) in failed
    for sessions in (Sessions(KEYS), Sessions()):
        assert both_replays(path, sessions).differences == []


def test_proofs_and_macs_are_checked_again_with_the_keys(
    kept: Callable[[str], tuple[Path, WiredTable]],
) -> None:
    path, _ = kept("keyed")
    with_keys, without = Sessions(KEYS), Sessions()
    for sessions in (with_keys, without):
        found = both_replays(path, sessions)
        assert found.differences == []
        assert sessions.authenticated == found.connections
        assert sessions.missing == set()
    other = {DEVICE: {1: KEY[::-1]}}
    first = both_replays(path, Sessions(other)).differences[0]
    assert '"authenticated"' in (first.recorded or "")
    assert "wrong proof" in (first.replayed or "")


@pytest.mark.parametrize("keys", [{DEVICE: {2: KEY}}, {"SH-9": {1: KEY}}])
def test_a_key_that_is_not_at_hand_is_named_and_the_verdicts_count(
    keys: dict[str, dict[int, bytes]], kept: Callable[[str], tuple[Path, WiredTable]]
) -> None:
    sessions = Sessions(keys)
    assert both_replays(kept("keyed")[0], sessions).differences == []
    assert sessions.missing == {(DEVICE, 1)}


def test_a_forged_frame_is_told_from_the_true_one_only_with_the_key(
    copied: Callable[[str], Path],
) -> None:
    """Whoever rewrites a journal can make a CRC, but not a MAC."""
    path = copied("keyed")
    n = drawn(path, 1).n
    drew = msgspec.json.decode(next(r.body for r in records(path) if r.n == n))
    chunk = [r for r in records(path) if r.n < n and r.kind == Kind.WIRE.value][-1]
    wire = Wire.from_bytes(chunk.body)
    frame = slice(drew["first"] - wire.offset, drew["last"] - wire.offset)
    data = bytearray(wire.data)
    data[frame] = with_another_mac(wire.data[frame])
    assert len(data) == len(wire.data)
    forged = msgspec.structs.replace(wire, data=bytes(data))
    spoil(path, ("UPDATE record SET body = ? WHERE n = ?", (forged.to_bytes(), chunk.n)))
    assert both_replays(path).differences == []
    first = both_replays(path, Sessions(KEYS)).differences[0]
    assert (first.n, '"reason":"MAC"' in (first.replayed or "")) == (n, True)


def with_another_mac(frame: bytes) -> bytes:
    """This frame with a bit of its MAC turned, and a CRC that fits."""
    body = bytearray(unwrapped(frame.strip(b"\0"))[:-CRC_BYTES])
    body[-1] ^= 1
    return framed(bytes(body))


def test_no_key_is_in_the_journal(kept: Callable[[str], tuple[Path, WiredTable]]) -> None:
    path, _ = kept("keyed")
    content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert KEY not in content
    assert KEY.hex().encode() not in content


def test_bytes_to_the_shoe_are_passed_over(copied: Callable[[str], Path]) -> None:
    path = copied("angel_eye")
    assert Direction.TO_SHOE.value == b">"
    (n,) = (r.n for r in records(path) if r.kind == Kind.CONNECTION.value)
    sent = Wire(connection=1, direction=Direction.TO_SHOE, offset=0, t_us=0, data=b"\x02OP")
    spoil(
        path,
        ("UPDATE record SET n = -n WHERE n > ?", (n,)),
        "UPDATE record SET n = 1 - n WHERE n < 0",
    )
    insert = "INSERT INTO record SELECT ?, \"table\", 'wire', ?, hash FROM record WHERE n = ?"
    spoil(path, (insert, (n + 1, sent.to_bytes(), n)))
    assert [d for d in both_replays(path).differences if d.replay == "wire"] == []
