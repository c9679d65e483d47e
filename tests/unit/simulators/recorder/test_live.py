"""Rounds of a table are followed at the daemon's socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from simulators.errors import WrongUsage
from simulators.recorder.live import Followed, follow


def told(kind: str, round_id: str) -> dict[str, Any]:
    return {"type": kind, "data": {"round_id": round_id}}


@asynccontextmanager
async def daemon(
    folder: Path, tables: list[str], events: list[dict[str, Any]]
) -> AsyncIterator[Path]:
    """A socket that names these tables, sends these events and then hangs up."""

    served: list[asyncio.Task[Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        served.append(task)
        while line := await reader.readline():
            if json.loads(line)["request"] == "status":
                answer = {"tables": [{"table": table} for table in tables]}
                writer.write(json.dumps(answer).encode() + b"\n")
                continue
            for event in events:
                writer.write(json.dumps(event).encode() + b"\n")
            break
        writer.close()
        await writer.wait_closed()

    path = folder / "s"
    async with await asyncio.start_unix_server(serve, path):
        yield path
        await asyncio.gather(*served)


EVENTS = [
    told("round.settled", "bac-1-s1-r1"),  # it was open before
    told("round.opened", "bac-1-s1-r2"),
    told("round.void", "bac-1-s1-r2"),
    told("round.settled", "bac-1-s1-r2"),
    told("round.opened", "bac-1-s1-r3"),
    told("round.settled", "bac-1-s1-r3"),
    told("round.opened", "bac-1-s1-r4"),
]


@pytest.mark.parametrize(("count", "ended"), [(1, ["r2"]), (None, ["r2", "r3"])])
async def test_rounds_count_that_begin_and_end_meanwhile(
    count: int | None, ended: list[str], tmp_path: Path
) -> None:
    followed, notes = Followed(None), list[str]()
    async with daemon(tmp_path, ["bac-1"], EVENTS) as socket:
        await follow(followed, socket, count, notes.append)
    assert followed == Followed("bac-1", [f"bac-1-s1-{round_id}" for round_id in ended])
    assert ("bac-1: the daemon has ended" in notes) == (count is None)


async def test_a_table_that_the_daemon_does_not_serve_is_told(tmp_path: Path) -> None:
    async with daemon(tmp_path, ["bac-1", "bac-2"], []) as socket:
        for asked in (None, "bac-9"):
            with pytest.raises(WrongUsage, match="--table: the daemon serves bac-1, bac-2"):
                await follow(Followed(asked), socket, None, lambda _: None)


async def test_a_request_that_is_refused_ends_it(tmp_path: Path) -> None:
    refusal = [{"accepted": False, "error": {"code": "refused_audience"}}]
    async with daemon(tmp_path, ["bac-1"], refusal) as socket:
        with pytest.raises(WrongUsage, match="refused_audience"):
            await follow(Followed("bac-1"), socket, None, lambda _: None)
