"""States at a daemon's socket: each change of a table, beats, the audience and the language."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from shoe_testing.answer_shapes import assert_is_a_status
from shoe_testing.daemon import at_socket_table
from shoe_testing.socket_client import PATIENCE_S, calling

pytestmark = pytest.mark.slow

Line = dict[str, Any]


class Lines:
    """The lines of a stream."""

    def __init__(self) -> None:
        self.got: list[Line] = []
        self._news = asyncio.Event()

    def take(self, line: Line) -> None:
        self.got.append(line)
        self._news.set()

    async def until(self, so: Callable[[Line], bool]) -> Line:
        """The first line of which this is true."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for line in self.got:
                    if so(line):
                        return line
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def reading(folder: Path, **asked: Any) -> AsyncIterator[Lines]:
    lines = Lines()
    async with calling(folder / "shoectl.sock") as caller:
        caller.writer.write(json.dumps(asked).encode() + b"\n")

        async def read() -> None:
            while (line := await caller.reader.readline()).endswith(b"\n"):
                lines.take(json.loads(line))

        task = asyncio.create_task(read())
        try:
            yield lines
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def is_beat(line: Line) -> bool:
    return "beat" in line


async def test_a_stream_shows_each_state_with_the_last_event_that_it_includes(
    tmp_path: Path,
) -> None:
    async with at_socket_table(tmp_path) as table, reading(tmp_path, request="states") as lines:
        first = await lines.until(lambda line: line.get("table") == "bac-07")
        assert first["last_event"] is None or first["last_event"].startswith("bac-07/p")
        await table.rounds(1)
        (settled,) = [e for e in table.told.events if e["type"] == "round.settled"]
        done = await lines.until(lambda line: line.get("last_round") is not None)
        assert int(done["last_event"].rpartition("p")[2]) >= int(settled["id"].rpartition("p")[2])
        assert done["source"] == settled["source"]
        assert done["state"] == "idle"
        await lines.until(is_beat)
        for line in lines.got:
            if not is_beat(line):
                assert_is_a_status(line)


async def test_a_stream_of_events_beats_only_where_that_is_asked_for(tmp_path: Path) -> None:
    async with (
        at_socket_table(tmp_path) as table,
        reading(tmp_path, request="events", after="beginning", beats=True) as with_beats,
        reading(tmp_path, request="events", after="beginning") as without,
    ):
        await with_beats.until(is_beat)
        await table.rounds(1)
        for lines in (with_beats, without):
            await lines.until(lambda line: line.get("type") == "round.settled")
        assert not any(is_beat(line) for line in without.got)
        events = [line["id"] for line in with_beats.got if not is_beat(line)]
        assert events == [line["id"] for line in without.got]


async def test_a_request_chooses_its_language_and_its_audience(tmp_path: Path) -> None:
    async with (
        at_socket_table(tmp_path) as table,
        reading(tmp_path, request="states", language="none") as bare,
        reading(tmp_path, request="states", language="zh") as chinese,
    ):
        await bare.until(lambda line: line.get("state") == "idle")
        english = (await table.caller.asks(request="status"))["tables"][0]["next"]["message"]
        said = (await table.caller.asks(request="status", language="zh"))["tables"][0]
        message = said["next"]["message"]
        assert (message["code"], message["args"]) == (english["code"], english["args"])
        assert message["text"] != english["text"]
        assert not message["text"].isascii()
        done = await table.caller.asks(request="status", language="none")
        assert "text" not in done["tables"][0]["next"]["message"]
        shown = await bare.until(lambda line: "next" in line)
        assert "text" not in shown["next"]["message"]
        shown = await chinese.until(lambda line: "next" in line)
        assert not shown["next"]["message"]["text"].isascii()
        refused = await table.caller.gives("settle", language="zh")
        assert refused["accepted"] is False
        assert not refused["error"]["text"].isascii()


async def test_the_restricted_audience_is_for_users_who_have_it(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as table:
        for asked in (
            {"request": "status", "audience": "restricted"},
            {"request": "states", "audience": "restricted"},
        ):
            async with calling(tmp_path / "shoectl.sock") as caller:
                refused = await caller.asks(**asked)
            assert refused["error"]["code"] == "events_not_for_this_user", asked
        refused = await table.caller.gives("place_your_bets", audience="restricted")
        assert refused["error"]["code"] == "events_not_for_this_user"
        assert (await table.status())["state"] != "betting"
