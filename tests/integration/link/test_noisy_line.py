"""A line that floods a table with garbage, at a daemon: kept up to a bound, suspended, and back.

In: a device server in this loop that sends garbage. Out: what is told and stored, the status, the
log, both replays.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import select
import threading
import tty
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pytest

from firmware_proto.angel_eye.frames import encode_event
from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, Started, Status
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Direction, Kind, Wire
from shoe_ctl.link.line_budget import KEPT_A_MINUTE
from shoe_ctl.link.transport import READ_SIZE
from shoe_ctl.records import Audience
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.cli import run_shoectl_async
from shoe_testing.config import (
    FACE_UP,
    SOCKET,
    TABLE,
    make_config,
    table_section,
    this_user,
    write_config,
)
from shoe_testing.daemon import (
    ToldEvents,
    nothing_is_wrong_with,
    runner,
    serving,
    shoe_process,
)
from shoe_testing.faulty_ports import device_server
from shoe_testing.reference_protocol import Shoe, host_frame
from shoe_testing.rounds import all_agree, lines_of, of_type, once_each, read_rounds
from shoe_testing.transports import QuickClock, until

QUICK = 8
"""So many times as fast goes the daemon's clock: a line is suspended for seconds."""

BURNED = CardDrawn(card=card("8S"), hand="burn", index=1)


def said_by(profile: str) -> bytes:
    """A shoe that was switched on, and burned a card."""
    match profile:
        case "angel_eye":
            return encode_event(Started(), "1") + encode_event(BURNED, "2")
        case "bee_tek":
            return b" [Manual Burn Cards]<Card:8S> \r\n"
    shoe = Shoe()
    shoe.connect()
    shoe.hello(0.0)
    return shoe.session.outgoing()


KINDS: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "acknowledgements": ("angel_eye", lambda size: b"\x06" * size),
    "starts": ("angel_eye", lambda size: b"\x05" * size),
    "random": ("angel_eye", random.Random(1).randbytes),
    "endless": ("bee_tek", lambda size: b"A" * size),
    "zeros": ("reference", bytes),
    "frames of nobody": ("reference", random.Random(2).randbytes),
}


class Flood:
    """A shoe that says what it must, then garbage to the first host as fast as it is taken.

    To each later host it only says what it must.
    """

    def __init__(self, profile: str, garbage: Callable[[int], bytes]) -> None:
        self.over = asyncio.Event()
        self.connections = 0
        self._said = said_by(profile)
        self._garbage = garbage

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.write(self._said)
        await writer.drain()
        while self.connections == 1 and not self.over.is_set():
            writer.write(self._garbage(READ_SIZE))
            await writer.drain()
            await asyncio.sleep(0)
        while await reader.read(READ_SIZE):
            pass


def wires(journal: Path) -> dict[int, bytes]:
    """What came from the shoe, by connection."""
    came: dict[int, bytes] = {}
    with Reader.open(journal) as reader:
        for record in reader.records(kinds=(Kind.WIRE,)):
            wire = Wire.from_bytes(record.body)
            if wire.direction is Direction.FROM_SHOE:
                assert wire.offset == len(came.get(wire.connection, b""))
                came[wire.connection] = came.get(wire.connection, b"") + wire.data
    return came


def stored(journal: Path) -> int:
    """The bytes of all records."""
    with Reader.open(journal) as reader:
        return sum(len(record.body) + len(record.hash) for record in reader.records())


OFTEN = ("random", "endless", "frames of nobody")
"""One of each profile is tried in every run."""


@pytest.mark.usefixtures("commands")
@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[pytest.mark.exhaustive(cpu_s=1.6)] * (kind not in OFTEN))
        for kind in KINDS
    ],
)
async def test_a_flood_is_kept_up_to_a_bound_and_the_line_comes_back_by_itself(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    profile, garbage = KINDS[kind]
    told, flood = ToldEvents(), Flood(profile, garbage)
    journal = tmp_path / "journal.db"
    async with device_server(flood) as port:
        file = write_config(tmp_path, port, profile=profile, way_in=True)
        async with serving(file, told, sees=Audience.RESTRICTED, clock=QuickClock(QUICK)) as daemon:
            await until(lambda: flood.connections == 1)
            before = stored(journal)
            await told.times(1, "shoe.line_suspended")
            flood.over.set()
            grew = stored(journal) - before
            stands = await runner(daemon).status(Audience.PUBLIC)
            shown = await run_shoectl_async("table", "status", "--socket", str(tmp_path / SOCKET))
            await told.times(1, "shoe.line_resumed")
            await until(lambda: flood.connections >= 2)
            await told.times(2, "shoe.connected")
            await until(lambda: 2 in wires(journal))
    first = told.data("shoe.line_suspended")[0]
    assert first == {"reason": "garbage", "wait_s": 5, "unkept": 0}
    [resumed] = told.data("shoe.line_resumed")
    assert resumed["unkept"] > READ_SIZE
    assert (stands["link"], stands["link_reason"]) == ("suspended", "garbage")
    assert "suspended until" in english(stands["next"]["message"])
    assert "link        suspended: the line brings too much garbage" in shown[1]
    assert any("line suspended: wait_s=5 " in r.getMessage() for r in caplog.records)
    came = wires(journal)
    assert came[1].startswith(said_by(profile))
    assert came[2] == said_by(profile)
    assert len(came[1]) <= 2 * KEPT_A_MINUTE
    assert grew < 2 * len(came[1])
    nothing_is_wrong_with(journal)


@pytest.mark.slow
async def test_a_state_sent_without_end_is_counted_and_both_replays_find_it_again(
    tmp_path: Path,
) -> None:
    state = host_frame(Status(drawn=0, unacknowledged=0), 2)
    told, flood = ToldEvents(), Flood("reference", lambda _: state * 100)
    journal = tmp_path / "journal.db"
    async with (
        device_server(flood) as port,
        serving(write_config(tmp_path, port), told, sees=Audience.RESTRICTED) as daemon,
    ):
        await told.times(1, "shoe.connected")
        await until(lambda: sum(len(data) for data in wires(journal).values()) > 40_000, 60)
        stands = await runner(daemon).status(Audience.PUBLIC)
        flood.over.set()
    assert stands["link"] == "up"
    assert told.data("shoe.line_suspended") == []
    with Reader.open(journal) as reader:
        inputs = [json.loads(r.body) for r in reader.records(kinds=(Kind.INPUT,))]
    events = [each["event"] for each in inputs if each["input"] == "shoe"]
    counted = sum(e.get("count", 1) for e in events if e["type"] in ("status", "repeated"))
    assert counted > 1000
    assert len(events) < counted / 2
    nothing_is_wrong_with(journal)


@pytest.mark.slow
async def test_cards_that_were_read_before_a_flood_count(tmp_path: Path) -> None:
    told, flood = ToldEvents(), Flood("angel_eye", KINDS["random"][1])
    async with (
        device_server(flood) as port,
        serving(
            write_config(tmp_path, port, profile="angel_eye"),
            told,
            sees=Audience.RESTRICTED,
            clock=QuickClock(QUICK),
        ),
    ):
        await told.times(1, "shoe.line_suspended")
        flood.over.set()
    with Reader.open(tmp_path / "journal.db") as reader:
        inputs = [r.body for r in reader.records(kinds=(Kind.INPUT,)) if b'"shoe"' in r.body]
    assert sum(b'"card":"8S"' in body for body in inputs) == 1


@pytest.mark.slow
async def test_a_line_too_slow_to_say_hello_shows_so_in_the_status(tmp_path: Path) -> None:
    hello = said_by("reference")

    async def trickle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in hello[:-1]:
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(0.2)

    told = ToldEvents()
    stands: dict[str, Any] = {}
    async with (
        device_server(trickle) as port,
        serving(write_config(tmp_path, port), told, clock=QuickClock(QUICK)) as daemon,
    ):
        async with asyncio.timeout(30):
            while stands.get("link_reason") is None:
                stands = await runner(daemon).status(Audience.PUBLIC)
                await asyncio.sleep(0.05)
    assert (stands["link"], stands["link_reason"]) == ("unidentified", "no_hello")
    assert "no shoe has said who it is for " in english(stands["next"]["message"])
    assert told.data("shoe.connected") == []


@pytest.mark.slow
async def test_a_line_without_an_end_leaves_an_event_and_a_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hung_up = asyncio.Event()

    async def play(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b" [Game]<Card:4S> ")
        await hung_up.wait()
        writer.write(b" [Game]<Card:5")
        await writer.drain()

    told = ToldEvents()
    async with (
        device_server(play) as port,
        serving(write_config(tmp_path, port, profile="bee_tek"), told, sees=Audience.RESTRICTED),
    ):
        await told.times(1, "frame.discarded")
        hung_up.set()
        await told.times(2, "frame.discarded")
        hung_up.clear()
    assert [each["reason"] for each in told.data("frame.discarded")][:2] == ["no_end", "cut_short"]
    assert any(
        "bytes discarded: " in line and 'reason="no_end"' in line for line in caplog.messages
    )
    nothing_is_wrong_with(tmp_path / "journal.db")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "rest", "reason"),
    [("angel_eye", b"\x05\x31\x44\x81", "cut_short"), ("reference", b"\0abc", "unfinished")],
)
async def test_a_frame_that_the_end_of_a_connection_cuts_is_told(
    tmp_path: Path, profile: str, rest: bytes, reason: str
) -> None:
    async def play(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(rest)
        await writer.drain()

    told = ToldEvents()
    file = write_config(tmp_path, "", profile=profile)
    async with device_server(play) as port:
        file.write_text(file.read_text().replace('port = ""', f'port = "{port}"'))
        async with serving(file, told, sees=Audience.RESTRICTED):
            await told.times(1, "frame.discarded")
    assert told.data("frame.discarded")[0]["reason"] == reason
    nothing_is_wrong_with(tmp_path / "journal.db")


class PtyFlood:
    """The shoe's end of a pty, flooded by a thread as fast as the host reads."""

    def __init__(self, noise: bytes) -> None:
        self._end, host = os.openpty()
        tty.setraw(host)
        self.port = os.ttyname(host)
        self._host = host
        self._noise = noise
        self._over = threading.Event()
        self.sent = 0

    def __enter__(self) -> Self:
        os.set_blocking(self._end, False)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        os.close(self._end)
        os.close(self._host)

    def _run(self) -> None:
        while not self._over.is_set():
            _, writable, _ = select.select([], [self._end], [], 0.02)
            if writable:
                with suppress(BlockingIOError):
                    self.sent += os.write(self._end, self._noise)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "noise"),
    [
        ("angel_eye", b"\x06" * READ_SIZE),
        pytest.param(
            "reference",
            random.Random(9).randbytes(READ_SIZE),
            marks=pytest.mark.exhaustive(cpu_s=4),
        ),
        pytest.param(
            "bee_tek", b" [Game]<Card:4S> \r\n" * 200, marks=pytest.mark.exhaustive(cpu_s=9)
        ),
    ],
)
async def test_the_table_beside_a_flooded_pty_is_told_every_round_in_order(
    tmp_path: Path, profile: str, noise: bytes
) -> None:
    told = ToldEvents()
    async with shoe_process(tmp_path, "reference", seed=4, game_deck="french52") as (port, truth):
        with PtyFlood(noise) as flood:
            tables = [
                table_section("flooded", port=flood.port, profile=profile),
                table_section(TABLE, port=port, announcements="implied", method_b=FACE_UP),
            ]
            users = {"path": SOCKET, "user": [this_user("pit_supervisor")]}
            file = tmp_path / "table.toml"
            file.write_text(make_config(*tables, socket=users))
            async with serving(file, told, sees=Audience.RESTRICTED):
                await told.until(lambda: any(of_type(beside(told), "shoe.change_due")))
        dealt_rounds = read_rounds(lines_of(truth))
    public = beside(told)
    assert public == once_each(public)
    all_agree(of_type(public, "round.outcome"), dealt_rounds)
    assert not of_type(public, "table.halted")
    assert flood.sent > 2 * READ_SIZE
    nothing_is_wrong_with(tmp_path / "journal.db")


def beside(told: ToldEvents) -> list[dict[str, Any]]:
    """The events of the table that is not flooded."""
    return [each for each in told.events if each["id"].startswith(f"{TABLE}/")]
