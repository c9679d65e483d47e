"""What goes to the shoe is in the journal: all of it, in order, and without a commit of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_ctl.journal.record_format import Direction, Kind, Wire
from shoe_testing.config import write_config
from shoe_testing.daemon import ShoeAtTable, ToldEvents, nothing_is_wrong_with, serving
from shoe_testing.journals import records
from simulators.faults import CleanLine

pytestmark = pytest.mark.slow


MOST_LOST = 60
"""Bytes that are under way when a cable comes off or a daemon stops: an acknowledgement and arm."""


class Overheard(CleanLine):
    """Keeps every byte that arrives at the shoe."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()

    def put(self, data: bytes, t: float) -> None:
        self.sent += data
        super().put(data, t)


def arrived(heard: bytes, streams: list[bytes]) -> bool:
    """Whether these streams arrived so: of each, its last bytes may have been lost on their way."""
    if not streams:
        return heard == b""
    sent, *others = streams
    return any(
        heard.startswith(sent[:length]) and arrived(heard[length:], others)
        for length in range(len(sent), max(0, len(sent) - MOST_LOST), -1)
    )


async def test_every_byte_that_came_to_the_shoe_is_in_the_journal_over_reconnects_and_restarts(
    tmp_path: Path,
) -> None:
    line, told = Overheard(), ToldEvents()
    with ShoeAtTable(tmp_path, "reference", seed=41, to_shoe=line) as shoe:
        config = write_config(tmp_path, str(tmp_path / "shoe"), decks=4)
        for stop in (2, 3):
            shoe.rest_at(stop, "player", 2)
            async with serving(config, told):
                shoe.go_on()
                await shoe.rests()
                await told.times(len(shoe.truth.cards), "round.card_dealt")
                if stop == 2:
                    shoe.rig.unplug()
                    await told.times(1, "shoe.lost")
                    shoe.rig.replug()
                    await told.times(2, "shoe.connected")
    journal = tmp_path / "journal.db"
    wires = [Wire.from_bytes(r.body) for r in records(journal) if r.kind == Kind.WIRE.value]
    sent = [wire for wire in wires if wire.direction is Direction.TO_SHOE]
    ends: dict[int, int] = {}
    for wire in sent:
        assert wire.offset == ends.get(wire.connection, 0)
        ends[wire.connection] = wire.offset + len(wire.data)
    assert sorted(ends) == [1, 2, 3]
    streams = [b"".join(w.data for w in sent if w.connection == number) for number in ends]
    assert len(line.sent) > 300
    assert arrived(bytes(line.sent), streams)
    nothing_is_wrong_with(journal)
