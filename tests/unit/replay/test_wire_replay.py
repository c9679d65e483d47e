"""Wire replay: every connection decoded from its first byte gives the inputs that were recorded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from firmware_proto.angel_eye.host import UNANSWERED, AngelEyeHost
from firmware_proto.bee_tek.profile import BeeTekHost
from firmware_proto.commands import ClearError, Query
from firmware_proto.events import CardDrawn
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.session import ReceivedEvent
from shoe_ctl.journal.record_format import Direction, Kind, Wire
from shoe_ctl.records import Record
from shoe_ctl.replay.difference import Difference
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_ctl.replay.wire_resync import SHOE_INPUT
from shoe_testing.journals import (
    WIRE_TABLES,
    WiredTable,
    alter_record,
    both_replays,
    drawn_cards,
    plain_group,
    records,
    shoe_inputs,
    spoil,
    take_out,
    wired_table,
)
from simulators.faults import CleanLine


@pytest.mark.parametrize("name", WIRE_TABLES)
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
    if "to_host" in WIRE_TABLES[name][1]():
        ends = {(e["connection"], e["last"]) for e in shoe_inputs(path)}
        assert any((w.connection, w.offset + len(w.data)) not in ends for w in wires)


def test_bad_lines_were_reconnected_in_mid_frame_and_brought_damaged_bytes(
    kept: Callable[[str], tuple[Path, WiredTable]],
) -> None:
    for name in ("bad_lines", "keyed"):
        path, table = kept(name)
        assert table.count["frame.discarded"] > 5
        last: dict[int, int] = {}
        for wire in (Wire.from_bytes(r.body) for r in records(path) if r.kind == Kind.WIRE.value):
            last[wire.connection] = wire.offset + len(wire.data)
        heard = {one["connection"]: one["last"] for one in shoe_inputs(path)}
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

    def wrong(self: Any, data: bytes, t: float) -> list[ReceivedEvent]:
        nonlocal cards
        heard: list[ReceivedEvent] = right(self, data, t)
        for at, one in enumerate(heard):
            if isinstance(one.event, CardDrawn):
                cards += 1
                if cards == 23:
                    heard[at] = replace(one, event=replace(one.event, card=None))
        return heard

    monkeypatch.setattr(host, "receive", wrong)
    (difference,) = both_replays(path).differences
    expected = drawn_cards(path, 23)
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
    n = drawn_cards(path, number).n
    chunks = [r for r in records(path) if r.n < n and r.kind == Kind.WIRE.value]
    return chunks[-1], Wire.from_bytes(chunks[-1].body)


def the_one(path: Path, sessions: RecordedSessions | None = None) -> Difference:
    (difference,) = both_replays(path, sessions).differences
    return difference


@pytest.mark.parametrize("name", ["reference", "angel_eye", "bee_tek"])
def test_bytes_that_were_changed_in_the_journal_are_found(
    name: str, copied: Callable[[str], Path]
) -> None:
    path = copied(name)
    record, wire = wire_of(path, 30)
    spoilt = msgspec.structs.replace(wire, data=bytes(b ^ 1 for b in wire.data))
    alter_record(path, record.n, spoilt.to_bytes())
    found = both_replays(path).differences
    expected = drawn_cards(path, 30)
    assert found[0].round_id == expected.round_id is not None
    assert found[0].replay == "wire"
    assert record.n <= found[0].n <= expected.n


def test_bytes_that_were_taken_out_end_what_can_be_decoded_of_their_connection(
    copied: Callable[[str], Path],
) -> None:
    path = copied("reference")
    record, wire = wire_of(path, 30)
    take_out(path, n=record.n)
    found = both_replays(path).differences
    place = f"connection 1, byte {wire.offset + len(wire.data):,}"
    assert [d.why for d in found] == [
        "an input that no bytes say",
        f"what came before {place} is missing",
    ]
    assert {d.round_id for d in found} == {drawn_cards(path, 30).round_id}


def test_a_connection_whose_opening_was_taken_out_is_found(copied: Callable[[str], Path]) -> None:
    path = copied("angel_eye")
    take_out(path, kind=Kind.CONNECTION)
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
    alter_record(path, n, body)
    difference = the_one(path)
    assert difference.n == n
    assert difference.why.startswith(why)


def test_a_profile_that_is_not_known_is_one_difference(copied: Callable[[str], Path]) -> None:
    path = copied("bee_tek")
    (opened,) = (r for r in records(path) if r.kind == Kind.CONNECTION.value)
    body = opened.body.replace(b"bee_tek", b"beetle")
    alter_record(path, opened.n, body)
    difference = the_one(path)
    assert difference.n == opened.n
    assert re.match("the connection cannot be decoded: .*beetle", difference.why)


def test_an_input_that_no_bytes_say_is_found(copied: Callable[[str], Path]) -> None:
    path = copied("reference")
    card = drawn_cards(path, 12)
    body = next(r.body for r in records(path) if r.n == card.n)
    forged = body.replace(b'"number":12', b'"number":13')
    assert forged != body
    alter_record(path, card.n, forged)
    found = both_replays(path).differences
    assert [d.replay for d in found if d.n == card.n] == ["inputs", "wire"]
    assert {d.round_id for d in found if d.n == card.n} == {card.round_id}


def test_what_a_timed_session_was_told_is_needed_and_kept(copied: Callable[[str], Path]) -> None:
    path = copied("told")
    assert any(r.kind == Kind.CALLS.value for r in records(path))
    take_out(path, kind=Kind.CALLS)
    found = both_replays(path).differences
    assert found
    assert {d.why for d in found} <= {"the bytes say something else", "an input that no bytes say"}
    assert b'"reply_to_nothing"' in (found[0].replayed or "").encode()


def test_commands_to_a_timed_session_are_kept_too(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with wired_table(path, "angel_eye", session_settings={"commands": True}) as table:
        table.deal_rounds(2)
        table.ask(Query(91, "progress"))
        table.ask(ClearError(92))
        table.deal_rounds(4)
    answered = [one["event"].get("command_id") for one in shoe_inputs(path)]
    assert answered.index(91) < answered.index(92)
    assert both_replays(path).differences == []


def test_bytes_to_the_shoe_are_passed_over(copied: Callable[[str], Path]) -> None:
    path = copied("angel_eye")
    assert Direction.TO_SHOE.value == b">"
    (n,) = (r.n for r in records(path) if r.kind == Kind.CONNECTION.value)
    sent = Wire(connection=1, direction=Direction.TO_SHOE, offset=0, t_us=0, data=b"\x02OP")
    spoil(
        path,
        ("UPDATE record_group SET n = -n WHERE n > ?", (n,)),
        "UPDATE record_group SET n = 1 - n WHERE n < 0",
    )
    take_out(path, n=n + 2)  # so that there is room for it
    insert = 'INSERT INTO record_group SELECT ?, "table", ?, hash FROM record_group WHERE n = ?'
    spoil(path, (insert, (n + 1, plain_group(("w", sent.to_bytes())), n)))
    assert [d for d in both_replays(path).differences if d.replay == "wire"] == []


class DeafLine(CleanLine):
    """Nothing arrives."""

    def put(self, data: bytes, t: float) -> None:
        """Lost."""


def test_what_a_host_gave_up_is_given_up_again(tmp_path: Path) -> None:
    """It comes of time passing alone: no byte says so."""
    path = tmp_path / "journal.db"
    given: dict[str, Any] = {"session_settings": {"commands": True}, "to_shoe": DeafLine()}
    with wired_table(path, "angel_eye", pace_s=5.0, **given) as table:
        table.open()
        for _ in range(40):
            table._advance()
    gave_up = [one for one in shoe_inputs(path) if one["event"].get("code") == UNANSWERED]
    assert gave_up
    assert {one["first"] - one["last"] for one in gave_up} == {0}
    assert both_replays(path).differences == []
    begun = [
        r
        for r in records(path)
        if r.body.startswith(SHOE_INPUT) and b'"command_unanswered"' in r.body
    ]
    take_out(path, n=begun[0].n)
    assert "the bytes say what is not recorded" in [d.why for d in both_replays(path).differences]


@pytest.mark.parametrize("name", ["told", "keyed"])
def test_a_damaged_record_never_ends_the_replay_and_none_of_an_event_or_of_a_shoe_goes_unnoticed(
    name: str, copied: Callable[[str], Path], seed: int
) -> None:
    path, chance = copied(name), Random(seed)
    starts = {Kind.META.value, Kind.SNAPSHOT.value}  # a start is an error of its own
    events = {Kind.PUBLIC.value, Kind.RESTRICTED.value}
    for record in chance.sample([r for r in records(path) if r.kind not in starts], 4):
        body = bytearray(record.body)
        at = chance.randrange(len(body))
        body[at : at + chance.randrange(1, 9)] = chance.randbytes(chance.randrange(9))
        alter_record(path, record.n, bytes(body))
        found = both_replays(path).found
        if bytes(body) != record.body and (
            record.kind in events or record.body.startswith(SHOE_INPUT)
        ):
            assert found, (record, bytes(body))
        alter_record(path, record.n, record.body)
