"""The kit at the socket of a real daemon: over restarts, and with a new journal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shoe_events.unix_socket import socket
from shoe_testing.config import TABLE, make_config, table_section, this_user
from shoe_testing.daemon import SocketTable, ToldEvents, serving, shoe_on_a_pty
from shoe_testing.guide_programs import LANGUAGES, guide_program, lines_of
from shoe_testing.socket_client import calling
from shoe_testing.table_system import TableSystem
from simulators.rig import Rig

pytestmark = pytest.mark.slow

SOCKET = "shoectl.sock"


def configuration(folder: Path) -> Path:
    path = folder / "table.toml"
    table = table_section(port=str(folder / "shoe"), announcements="explicit")
    path.write_text(make_config(table, socket={"user": [this_user("gaming_shift_manager")]}))
    return path


@asynccontextmanager
async def dealing(folder: Path, rig: Rig, told: ToldEvents) -> AsyncIterator[SocketTable]:
    async with serving(configuration(folder), told) as daemon, calling(folder / SOCKET) as caller:
        yield SocketTable(daemon, rig, told, caller)


async def test_it_follows_over_restarts_of_both_and_applies_each_event_once(tmp_path: Path) -> None:
    told = ToldEvents()
    system = TableSystem(
        lambda consumer: socket(tmp_path / SOCKET, consumer, [TABLE], from_first=True),
        begin="first",
    )
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        async with dealing(tmp_path, rig, told) as table:
            await table.rounds(1)
            async with system.running():
                await system.until(len(told.events))
            await table.rounds(2)
            async with system.running():
                await table.rounds(3)
                await system.until(len(told.events))
        await started_again(tmp_path, rig, told, system)
        for path in tmp_path.glob("journal.db*"):
            path.unlink()
        await started_again(tmp_path, rig, told, system)
    assert system.applied == [(event["source"], event["id"]) for event in told.events]
    assert len({source for source, _ in system.applied}) == 2


async def started_again(folder: Path, rig: Rig, told: ToldEvents, system: TableSystem) -> None:
    """The daemon starts while the table system waits for it, and tells that."""
    before = len(told.events)
    async with system.running(connects=False), dealing(folder, rig, told):
        await told.until(lambda: len(told.events) > before)
        await system.until(len(told.events))


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_guides_program_prints_how_rounds_stand(language: str, tmp_path: Path) -> None:
    told = ToldEvents()
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        async with dealing(tmp_path, rig, told) as table:
            await table.rounds(2)

            async def nothing() -> None:
                """All is in the journal already."""

            words = [*guide_program(language, "from_socket"), str(tmp_path / SOCKET), TABLE]
            lines = await lines_of(words, tmp_path, 2, nothing)
    outcomes = told.data("round.outcome")
    assert lines == [f"{each['round_id']} outcome {each['winner']}" for each in outcomes]
