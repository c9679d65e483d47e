"""Past rounds at a daemon's socket: found by id, by shoe, page by page, as an audience may know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shoe_testing.daemon import SocketTable, at_socket_table

pytestmark = pytest.mark.slow


async def asks(at: SocketTable, /, **more: Any) -> dict[str, Any]:
    return dict(await at.caller.asks(request="rounds", **more))


async def code(at: SocketTable, /, **more: Any) -> str:
    return str((await asks(at, **more))["error"]["code"])


async def test_rounds_come_newest_first_page_by_page_and_one_by_its_id(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as at:
        await at.rounds(3)
        told = {one["round_id"]: one for one in at.told.data("round.outcome")}
        first, second, third = told
        page = await asks(at, table="bac-07", limit=2, audience="public")
        assert [one["round_id"] for one in page["rounds"]] == [third, second]
        assert (page["more"], page["removed"]) == (True, False)
        rest = await asks(at, before=second, audience="public")
        assert [one["round_id"] for one in rest["rounds"]] == [first]
        assert (rest["more"], rest["removed"]) == (False, False)
        (one,) = (await asks(at, round=second, audience="public"))["rounds"]
        assert one in page["rounds"]
        assert one["state"] == "settled" and one["outcome"]["winner"] == told[second]["winner"]
        assert one["outcome"]["player"] == told[second]["player"]
        assert one["last_event"].startswith("bac-07/p")
        shoe = told[first]["shoe_id"]
        whole = await asks(at, shoe=shoe, audience="public")
        assert [one["round_id"] for one in whole["rounds"]] == [third, second, first]


async def test_the_open_round_shows_nothing_that_is_not_public(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as at:
        held = await at.deal(lambda held: held["state"] == "revealing")
        page = await asks(at, table="bac-07", audience="public")
        (one,) = page["rounds"]
        assert one["round_id"] == held["round"]["round_id"]
        assert (one["state"], one["outcome"], one["wagers"]) == ("open", None, [])
        assert "card" not in json.dumps(page)


async def test_what_the_journal_does_not_have_is_refused_by_its_name(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as at:
        await at.rounds(1)
        assert await code(at, round="bac-07-s1-r99") == "rounds_unknown"
        assert await code(at, round="nonsense", table="bac-07") == "rounds_unknown"
        assert await code(at, shoe="bac-07-s99") == "rounds_unknown"
        assert await code(at, round="bac-08-s1-r1") == "daemon_no_such_table"
        assert await code(at) == "rounds_without_table"
        assert await code(at, table="bac-07", limit=0) == "request_invalid"


async def test_events_begin_with_the_shoe_on_the_table(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as at:
        await at.rounds(1)
        first = await at.caller.asks(
            request="events", after="shoe", table="bac-07", audience="public"
        )
        assert first["type"] == "shoe.loaded"
