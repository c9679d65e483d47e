"""Bytes of a connection that began before its journal, held to the inputs frame by frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from click.testing import Result

from firmware_proto.bee_tek import codec as bee_tek_codec
from firmware_proto.bee_tek.profile import BeeTekHost
from firmware_proto.events import CardDrawn
from firmware_proto.reference import codec as reference_codec
from firmware_proto.session import ReceivedEvent
from shoe_ctl.cli.main import shoectl
from shoe_ctl.history.recorder import DECODING, shoe_input
from shoe_ctl.journal.record_format import Connection, Direction, Kind, Wire
from shoe_ctl.journal.signing import open_signer
from shoe_ctl.records import Record, event_head
from shoe_ctl.replay.difference import Difference, Differences, Rounds
from shoe_ctl.replay.wire_replay import RecordedSessions, WireReplay
from shoe_ctl.replay.wire_resync import PartialConnection
from shoe_ctl.table.inputs import Fault, Input, to_bytes
from shoe_testing.cli import invoke
from shoe_testing.journals import WIRE_TABLES, WiredTable, cards_of_outcomes, records, wired_table


def begun_late(rows: list[Record]) -> tuple[WireReplay, list[Difference]]:
    """What is found of these records when those before the last snapshot are not there."""
    table = rows[0].table
    begins = max(at for at, record in enumerate(rows) if record.kind == Kind.SNAPSHOT.value)
    replaying, found, rounds = (
        WireReplay(table, RecordedSessions(), whole=False),
        Differences(),
        Rounds(),
    )
    for record in rows[begins:]:
        open_round = rounds.open
        if record.kind == Kind.RESTRICTED.value:
            rounds.add(event_head(record.body))
        found.add(replaying.add(record, open_round))
    found.add(replaying.settle(rounds.open))
    return replaying, found.first


@pytest.mark.parametrize("name", WIRE_TABLES)
def test_a_connection_whose_beginning_is_not_there_is_held_to_the_inputs_frame_by_frame(
    name: str, kept: Callable[[str], tuple[Path, WiredTable]]
) -> None:
    replaying, found = begun_late(records(kept(name)[0]))
    assert found == []
    assert replaying.overheard > 50


@pytest.mark.parametrize(
    ("name", "codec"),
    [("reference", reference_codec), ("keyed", reference_codec), ("bee_tek", bee_tek_codec)],
)
def test_a_codec_that_was_altered_is_found_there_too(
    name: str,
    codec: ModuleType,
    kept: Callable[[str], tuple[Path, WiredTable]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, _ = kept(name)
    right = codec.Listener.feed

    def wrong(self: Any, data: bytes) -> list[ReceivedEvent]:
        return [
            replace(one, event=replace(one.event, card=None))
            if isinstance(one.event, CardDrawn)
            else one
            for one in right(self, data)
        ]

    monkeypatch.setattr(codec.Listener, "feed", wrong)
    _, found = begun_late(records(path))
    assert len(found) > 3
    assert {(d.replay, d.why) for d in found} == {("wire", "the bytes say something else")}
    rounds = {record.n: drawn_at for record, drawn_at in cards_of_outcomes(path)}
    assert all(d.round_id in (rounds[d.n], None) for d in found)  # None: it was open before
    assert found[-1].round_id == rounds[found[-1].n]


@pytest.mark.parametrize("name", ["reference", "angel_eye", "bee_tek"])
def test_what_is_not_recorded_there_or_not_said_is_found(
    name: str, kept: Callable[[str], tuple[Path, WiredTable]]
) -> None:
    path, _ = kept(name)
    rows = records(path)
    card = next(
        at
        for at in range(len(rows) - 1, -1, -1)
        if rows[at].kind == Kind.INPUT.value and b'"type":"card_drawn"' in rows[at].body
    )
    _, found = begun_late(rows[:card] + rows[card + 1 :])
    assert [d.why for d in found] == ["the bytes say what is not recorded"]
    wire = max(at for at in range(card) if rows[at].kind == Kind.WIRE.value)
    silent = msgspec.structs.replace(Wire.from_bytes(rows[wire].body), data=b"")
    rows[wire] = msgspec.structs.replace(rows[wire], body=silent.to_bytes())
    _, found = begun_late(rows)
    assert "an input that no bytes say" in [d.why for d in found]


CARD = b" [Game]<Card:4S> \r\n"


class Breaking(BeeTekHost):
    """A session whose decoding breaks off at the second read."""

    reads = 0

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:
        self.reads += 1
        if self.reads == 2:
            raise ZeroDivisionError("as never happens")
        return super().receive(data, t)


def record(n: int, kind: Kind, body: bytes) -> Record:
    return Record(n=n, table="t1", kind=kind.value, body=body, hash=b"")


def broken_off() -> list[Record]:
    """A card; one that could not be decoded; and one that was read along with it."""

    def wire(n: int, offset: int) -> Record:
        read = Wire(connection=1, direction=Direction.FROM_SHOE, offset=offset, t_us=2, data=CARD)
        return record(n, Kind.WIRE, read.to_bytes())

    def taken(n: int, happened: Input) -> Record:
        return record(n, Kind.INPUT, to_bytes(happened))

    (heard,) = BeeTekHost().receive(CARD, 0.0)
    fault = Fault(t_us=2, where=DECODING, what="ZeroDivisionError: as never happens")
    return [
        wire(2, 0),
        taken(3, shoe_input(heard, 1, 2)),
        wire(4, len(CARD)),
        taken(5, fault),
        wire(6, 2 * len(CARD)),
    ]


@pytest.mark.parametrize("whole", [True, False])
def test_what_was_read_along_with_bytes_that_could_not_be_decoded_says_nothing(
    whole: bool,
) -> None:
    opened = Connection(number=1, profile="bee_tek", settings={}, resume=(), t_us=1)
    rows = [record(1, Kind.CONNECTION, opened.to_bytes()), *broken_off()]
    replaying: WireReplay | PartialConnection
    if whole:
        replaying = WireReplay("t1", lambda *_: Breaking())
    else:
        replaying = PartialConnection("t1", "bee_tek")
    found = [d for row in rows for d in replaying.add(row, None)]
    assert [*found, *replaying.settle(None)] == []
    if whole:
        invented = msgspec.structs.replace(rows[2], n=7)
        replaying = WireReplay("t1", lambda *_: Breaking())
        found = [d for row in [*rows, invented] for d in replaying.add(row, None)]
        assert [d.why for d in [*found, *replaying.settle(None)]] == ["an input that no bytes say"]


@pytest.mark.slow
@pytest.mark.parametrize("keyed", [False, True])
def test_an_exported_shoe_replays_though_its_connection_began_before_it(
    keyed: bool, tmp_path: Path
) -> None:
    path, out = tmp_path / "journal.db", tmp_path / "s2.gz"
    with wired_table(path, "reference", sets=2, keyed=keyed) as table:
        table.deal_rounds(1)
        table.store.checkpoint(open_signer(path, None), 1)
        table.deal_rounds(95)
        second = [e for e in table.told if (e.subject or "").startswith("t1-s2-r")]
        assert table.connections == 1
    rounds = len({event.subject for event in second})
    exported = shoectl_runs("export", path, "--shoe", "t1-s2", "--output", out)
    assert exported.exit_code == 0, exported.output
    again = shoectl_runs("replay", out, "--json")
    plain = msgspec.json.decode(again.output)
    assert (again.exit_code, plain["differences"], plain["rounds"]) == (0, [], rounds)
    assert (plain["bytes"], plain["overheard"] > 1000 * rounds / 2) == (0, True)


def shoectl_runs(*words: object) -> Result:
    return invoke(shoectl, *words)
