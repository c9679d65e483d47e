"""The daemon ends while nothing can be stored: the next one asks people, as this one would have.

In: a disk that fails, a daemon that is stopped or killed meanwhile. Out: what the next one tells.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from shoe_ctl.daemon import outage
from shoe_ctl.daemon.outage import Outage, OutageMarker, journal_failed
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.errors import JournalError
from shoe_testing.config import SOCKET, write_config
from shoe_testing.daemon import (
    PATIENCE_S,
    ShoeAtTable,
    ToldEvents,
    command,
    nothing_is_wrong_with,
    open_irregularities,
    runner,
    serving,
)
from shoe_testing.faulty_disk import WRITES, Call, Do, disk
from shoe_testing.programs import (
    SHOECTL,
    STORAGE_FAULT,
    daemon_service,
    let_grow,
    rest_of,
    shoe_program,
)
from shoe_testing.rounds import all_agree, lines_of, of_type, once_each

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

NOTES_FIT = 4096
"""Bytes of a file: no commit finds room, however often it is tried again; the note does."""

WAITS = "serving; storage failed and works again, waiting for resume: bac-07"


class FullDisk:
    """A disk that is full from ``fill`` on, for good."""

    def __init__(self) -> None:
        self.full = False

    def __call__(self, call: Call, do: Do) -> Any:
        if self.full and call.op in WRITES:
            raise apsw.FullError("the disk is full")
        return do()


def config_for(folder: Path) -> Path:
    return write_config(folder, str(folder / "shoe"), decks=4)


def notes(folder: Path) -> OutageMarker:
    return OutageMarker([folder / "journal.db-outage"])


@asynccontextmanager
async def ended_in_an_outage(
    folder: Path, rests: Callable[[ShoeAtTable], None]
) -> AsyncIterator[tuple[ShoeAtTable, ToldEvents, Path]]:
    """A daemon served until the hand rested; its disk was full, and it was stopped."""
    told, announced = ToldEvents(), asyncio.Event()
    config, full = config_for(folder), FullDisk()
    with ShoeAtTable(folder, "reference", seed=71) as at_table, disk(full) as layer:
        rests(at_table)
        async with serving(config, told, vfs=layer.name, tell=lambda _: announced.set()):
            await at_table.rests()
            await told.times(len(at_table.truth.cards), "round.card_dealt")
            full.full = True
            at_table.go_on()  # the shoe is armed for one more card: it comes out and is not stored
            async with asyncio.timeout(PATIENCE_S):
                await announced.wait()
        assert notes(folder).found() is not None
        with pytest.raises(JournalError, match="full"):
            async with serving(config, told, vfs=layer.name):
                pass
        assert notes(folder).found() is not None
        yield at_table, told, config


@pytest.mark.parametrize(
    ("host_boot", "halts"),
    [("boot-1", ["storage_fault", "link_lost"]), ("boot-2", ["storage_fault", "power_failure"])],
)
@pytest.mark.parametrize("place", [(3, "player", 2), (3, "banker", 2)])
async def test_a_round_that_was_open_waits_for_a_person_and_loses_no_card(
    tmp_path: Path, place: tuple[int, str, int], host_boot: str, halts: list[str]
) -> None:
    async with (
        ended_in_an_outage(tmp_path, lambda at: at.rest_at(*place)) as (at_table, told, config),
        serving(config, told, host_boot=host_boot) as daemon,
    ):
        assert runner(daemon).transactions.is_held
        assert open_irregularities(daemon) == halts
        assert notes(tmp_path).found() is None
        assert told.data("table.resumed") == []
        at_table.rest_after(6)  # before the hand goes on by itself, as the link comes back
        assert (await command(daemon, "on", "resume")).answer.accepted
        if host_boot == "boot-2":
            await told.times(2, "shoe.connected")
            assert (await command(daemon, "ruled", "decide", choice="play_on")).answer.accepted
        await at_table.rests()
        await told.times(6, "round.outcome")
    told_of = once_each(lines_of(tmp_path / "public.jsonl"))
    reasons = [data["reason"] for data in of_type(told_of, "shoe.lost")]
    assert reasons[0] == "controller_restarted"  # as it was, after the outage
    all_agree(of_type(told_of, "round.outcome"), at_table.rounds)
    assert nothing_is_wrong_with(tmp_path / "journal.db") == len(at_table.rounds)


@pytest.mark.parametrize("host_boot", ["boot-1", "boot-2"])
async def test_between_rounds_people_are_asked_too(tmp_path: Path, host_boot: str) -> None:
    async with ended_in_an_outage(tmp_path, lambda at: at.rest_after(2)) as (_, told, config):
        async with serving(config, told, host_boot=host_boot) as daemon:
            assert open_irregularities(daemon) == ["storage_fault"]
            assert not (await command(daemon, "c1", "decide", choice="void")).answer.accepted
        # Stored by now: the next daemon needs no note, and asks all the same.
        assert notes(tmp_path).found() is None
        async with serving(config, told, host_boot=host_boot) as daemon:
            assert open_irregularities(daemon) == ["storage_fault"]
            assert (await command(daemon, "on", "resume")).answer.accepted
            await told.times(2, "shoe.connected")
            assert open_irregularities(daemon) == []


async def test_a_table_without_a_socket_says_what_it_takes_and_is_resumed_at_one_that_is_added(
    tmp_path: Path,
) -> None:
    async with ended_in_an_outage(tmp_path, lambda at: at.rest_at(3, "player", 2)) as (at, told, _):
        announced: list[str] = []
        async with serving(config_for(tmp_path), told, tell=announced.append) as daemon:
            assert runner(daemon).transactions.is_held
        said = " (no [socket] to say it at: add one and start the daemon again)"
        assert announced == [WAITS + said]
        with_socket = write_config(tmp_path, str(tmp_path / "shoe"), decks=4, way_in=True)
        announced.clear()
        async with serving(with_socket, told, tell=announced.append) as daemon:
            assert announced == [WAITS]
            at.rest_after(4)  # before the hand goes on by itself, as the link comes back
            resume = (SHOECTL, "table", "resume", "--socket", str(tmp_path / SOCKET))
            said_it = await asyncio.create_subprocess_exec(*resume, stdout=subprocess.DEVNULL)
            assert await said_it.wait() == 0
            await at.rests()
            await told.times(4, "round.outcome")
    nothing_is_wrong_with(tmp_path / "journal.db")


async def test_a_start_whose_first_records_find_no_room_keeps_the_note_and_tries_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "FIRST_RETRY_S", 0.0)
    async with ended_in_an_outage(tmp_path, lambda at: at.rest_after(2)) as (_, told, config):
        before, there = notes(tmp_path).found(), list[Outage | None]()
        honest = TableRunner.start

        async def start(self: TableRunner, *args: Any) -> None:
            if len(there) < 3:
                there.append(notes(tmp_path).found())
                raise JournalError("journal: cannot grow: the disk is full")
            await honest(self, *args)

        monkeypatch.setattr(TableRunner, "start", start)
        async with serving(config, told) as daemon:
            assert open_irregularities(daemon) == ["storage_fault"]
        assert there == [before] * 3
        assert notes(tmp_path).found() is None


async def test_a_disk_on_which_the_note_hangs_keeps_nobody_from_being_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "FIRST_RETRY_S", 0.0)
    honest, hangs = OutageMarker.write, threading.Event()

    def write(self: OutageMarker, noted: Outage) -> None:
        hangs.wait()
        honest(self, noted)

    monkeypatch.setattr(OutageMarker, "write", write)
    told, full, lines = ToldEvents(), FullDisk(), asyncio.Queue[str]()
    with ShoeAtTable(tmp_path, "reference", seed=73) as at_table, disk(full) as layer:
        at_table.rest_at(2, "player", 2)
        config = config_for(tmp_path)
        async with serving(config, told, vfs=layer.name, tell=lines.put_nowait) as daemon:
            await at_table.rests()
            full.full = True
            at_table.go_on()
            async with asyncio.timeout(PATIENCE_S):
                try:
                    assert (await lines.get()).startswith(STORAGE_FAULT)
                    assert daemon.outage is not None
                finally:
                    full.full = False
                    hangs.set()
                assert (await lines.get()).startswith(WAITS)
        # Written late, it is gone all the same: the tables have it stored.
        assert notes(tmp_path).found() is None


async def test_after_an_outage_all_of_the_journal_is_verified_before_it_is_relied_upon(
    tmp_path: Path,
) -> None:
    told, config = ToldEvents(), config_for(tmp_path)
    with ShoeAtTable(tmp_path, "reference", seed=72) as at_table:
        at_table.rest_after(2)
        async with serving(config, told):
            await at_table.rests()
            await told.times(2, "round.outcome")
        journal = apsw.Connection(str(tmp_path / "journal.db"))
        journal.execute(
            "UPDATE record_group SET body = x'00' WHERE n = (SELECT min(n) FROM record_group)"
        )
        journal.close()
        notes(tmp_path).write(Outage(since_us=1, what=journal_failed("the disk failed")))
        with pytest.raises(JournalError, match="record 1: altered"):
            async with serving(config, told):
                pass
        assert notes(tmp_path).found() is not None


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_ended_in_an_outage_is_followed_by_one_that_asks_and_says_so(
    tmp_path: Path, how: signal.Signals
) -> None:
    at = ("--socket", str(tmp_path / SOCKET))
    with shoe_program("reference") as port:
        config = write_config(tmp_path, port, way_in=True)
        with daemon_service(config) as service:
            service.until("READY")
            let_grow(service, NOTES_FIT)
            assert service.until("STATUS")["STATUS"].startswith(STORAGE_FAULT)
            said = subprocess.run(
                (SHOECTL, "table", "status", *at), capture_output=True, check=False
            )
            assert STORAGE_FAULT.encode() in said.stderr
            service.process.send_signal(how)
            assert rest_of(service.process)[0] == (-how if how is signal.SIGKILL else 3)
        (tmp_path / "notify").unlink()
        assert (tmp_path / f"{SOCKET}-outage").exists()
        with daemon_service(config) as service:
            assert service.until("STATUS")["STATUS"] == WAITS
            assert service.until("READY") == {"READY": "1", "STATUS": WAITS}
            subprocess.run((SHOECTL, "table", "resume", *at), capture_output=True, check=True)
            assert service.until("STATUS")["STATUS"] == "serving"
            service.process.send_signal(signal.SIGTERM)
            ended, logged = rest_of(service.process)
            assert (ended, b"ready: the tables are served" in logged) == (0, True)
    assert list(tmp_path.glob("*-outage")) == []
    nothing_is_wrong_with(tmp_path / "journal.db")
