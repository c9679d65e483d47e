"""Previews at a running daemon: nothing is done or recorded, within a budget for each user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoe_ctl.journal.reader import Reader
from shoe_testing.daemon import SocketTable, at_socket_table


async def stood(table: SocketTable) -> dict[str, Any]:
    answer = await table.caller.asks(request="status")
    return {name: value for name, value in answer["tables"][0].items() if name != "link_reason"}


async def test_a_preview_changes_and_records_nothing_and_has_a_budget(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as table:
        await table.deal(lambda h: h["state"] == "revealing")
        before, told = await stood(table), len(table.told.events)
        seen = await table.caller.gives("expose", args={"hand": "player"}, preview=True)
        assert (seen["accepted"], seen["preview"]["position"]) == (True, "dealer")
        assert [card["index"] for card in seen["preview"]["reveals"]] == [1, 2]
        refused = await table.caller.gives("settle", preview=True)
        assert refused["error"]["code"] == "refused_in_this_state"
        assert refused["message"]["text"].startswith("next: expose ")
        for _ in range(58):
            assert (await table.caller.gives("pause", preview=True))["accepted"]
        spent = await table.caller.gives("pause", preview=True)
        assert spent["error"]["code"] == "refused_too_many_previews"
        assert await stood(table) == before
        assert len(table.told.events) == told
        done = await table.caller.gives("expose", args={"hand": "player"})
        assert done["accepted"]
    with Reader.open(tmp_path / "journal.db") as reader:
        recorded = [record.body for record in reader.records() if b'"pause"' in record.body]
    assert recorded == []


async def test_a_void_is_looked_at_before_it_is_decided(tmp_path: Path) -> None:
    async with at_socket_table(tmp_path) as table:
        await table.deal(lambda h: h["state"] == "revealing")
        gives = table.caller.gives
        await gives("declare", args={"key": "other"}, reason="a chip fell")
        shown = (await gives("decide", args={"choice": "void"}, preview=True))["preview"]
        assert (shown["position"], shown["reason"]) == ("gaming_shift_manager", True)
        assert (shown["round_ends"], shown["state"], shown["halted"]) == ("void", "idle", None)
        held = await stood(table)
        assert held["halt"]["reason"] == "other"
        assert held["next"]["who"] == {"position": "gaming_shift_manager"}
