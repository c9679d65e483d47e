"""The kit at a real nats-server: what is missing is read from the stream, and applied once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoe_ctl.cli.recording import SHIPPED
from shoe_events.nats import nats_stream
from shoe_testing.cli import run_shoectl_async
from shoe_testing.guide_programs import LANGUAGES, SHOWN, are_as_shown, guide_program, lines_of
from shoe_testing.nats_server import nats_server
from shoe_testing.table_system import TableSystem

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

LINES = (SHIPPED / "irregular_shoe.jsonl").read_bytes().splitlines()
PUBLIC = [event for event in map(json.loads, LINES) if "/p" in event["id"]]


async def published(address: str, *more: str) -> None:
    words = ("publish", "--from", "irregular_shoe", "--pace-ms", "0", "--to", address, *more)
    done = await run_shoectl_async(*words)
    assert done.code == 0, done.err


async def test_a_gap_is_closed_and_a_program_goes_on_where_it_was(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        system = TableSystem(
            lambda consumer: nats_stream(server.address, consumer, ["t1"], from_first=True),
            begin="first",
        )
        await published(server.address, "--leave-out", "t1/p9")
        async with system.running():
            await system.until(8)
        assert len(system.applied) == 8
        async with system.running():
            await published(server.address)
            await system.until(len(PUBLIC))
        server.kill()
        server.start()
        async with system.running():
            await published(server.address, "--new-source")
            await system.until(2 * len(PUBLIC))
    known = [(event["source"], event["id"]) for event in PUBLIC]
    assert system.applied[: len(PUBLIC)] == known
    assert [event_id for _, event_id in system.applied[len(PUBLIC) :]] == [i for _, i in known]
    assert len(set(system.applied)) == 2 * len(PUBLIC)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_guides_program_prints_how_rounds_stand(language: str, tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        await published(server.address)

        async def nothing() -> None:
            """All is in the stream already."""

        words = [*guide_program(language, "from_nats"), server.address, "t1"]
        lines = await lines_of(words, tmp_path, len(SHOWN), nothing)
    assert are_as_shown(lines), lines
