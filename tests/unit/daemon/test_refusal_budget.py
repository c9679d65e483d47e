"""Commands that come again, and floods of refused ones: one table on a journal, time by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.daemon.refusal_budget import RECORDED, STRETCH_US
from shoe_ctl.journal.store import Store
from shoe_ctl.journal.verify import verify
from shoe_ctl.table.answers import REMEMBERED_COMMANDS
from shoe_testing.journals import records
from shoe_testing.refusals import AtATable, at_a_table, stored
from shoe_testing.transports import until

TAKEN = "restrict_wagers"
TWO = {"args": {"number": 2}}


@pytest.mark.parametrize("restarted", [False, True])
async def test_the_first_answer_is_given_again_to_the_same_user_and_command_alone(
    tmp_path: Path, restarted: bool
) -> None:
    path = tmp_path / "journal.db"
    async with at_a_table(path) as table:
        first = await table.gives("ann", "a", "ask_shoe", args={"what": "battery"})
        taken = await table.gives("ann", "b", TAKEN, **TWO)
        assert taken["accepted"] and taken["events"]
        if not restarted:
            await gives_again(table, first, taken)
    if restarted:
        for _ in range(2):
            async with at_a_table(path) as table:
                await gives_again(table, first, taken)
    assert verify_whole(path)


async def gives_again(table: AtATable, first: dict[str, Any], taken: dict[str, Any]) -> None:
    recorded = len(stored(table.path, "command.refused"))
    for more in ({"reason": "other", **TWO}, {"args": {"number": 1}}):
        refused = await table.gives("ann", "b", TAKEN, **more)
        assert "used before, for another command" in refused["error"]["text"]
    refused = await table.gives("dora", "b", TAKEN, **TWO, person="ann")
    assert refused["accepted"] is False and "by another user" in refused["error"]["text"]
    assert len(stored(table.path, "command.refused")) == recorded + 3
    assert await table.gives("ann", "b", TAKEN, **TWO) == taken
    assert await table.gives("ann", "a", "ask_shoe", args={"what": "battery"}) == first


def verify_whole(path: Path) -> bool:
    store = Store.open(path)
    try:
        with store.reader() as reader:
            return verify(reader).ok
    finally:
        store.close()


async def test_a_flood_of_refused_commands_is_recorded_within_a_budget_and_then_counted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    async with at_a_table(path) as table:
        before = [await table.gives("ann", f"ann-{n}", TAKEN, **TWO) for n in range(100)]
        answers = await table.floods("flood", RECORDED)
        size = len(records(path))
        answers += await table.floods("flood", 3 * REMEMBERED_COMMANDS, "more")
        assert len(records(path)) == size
        assert {a["error"]["text"] for a in answers} == {
            "settle cannot be taken now (the table is idle)"
        }
        assert len(stored(path, "command.unrecorded")) == 0
        # others, and what is accepted, are recorded as ever
        assert not (await table.gives("dora", "d", "settle"))["accepted"]
        assert (await table.gives("flood", "yes", TAKEN, **TWO))["accepted"]
        assert len(stored(path, "command.refused")) == RECORDED + 1
        for n, first in enumerate(before):
            assert first["accepted"]
            assert await table.gives("ann", f"ann-{n}", TAKEN, **TWO) == first
        since_us = table.clock.wall_us()
        table.clock.advance(STRETCH_US / 1_000_000)
        await until(lambda: len(stored(path, "command.unrecorded")) == 1)
        await table.floods("flood", 1, "later")  # a new stretch: it is recorded
        table.clock.advance(2 * STRETCH_US / 1_000_000)
        assert len(stored(path, "command.refused")) == RECORDED + 2
    (counted,) = stored(path, "commands_refused")
    assert (counted["user"], counted["count"]) == ("flood", 3 * REMEMBERED_COMMANDS)
    assert counted["since_us"] == since_us
    (told,) = stored(path, "command.unrecorded")
    assert (told["user"], told["count"]) == ("flood", 3 * REMEMBERED_COMMANDS)
    assert verify_whole(path)


async def test_a_count_that_is_not_due_yet_is_recorded_when_the_daemon_stops(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    async with at_a_table(path) as table:
        await table.floods("flood", RECORDED + 5)
    (counted,) = stored(path, "commands_refused")
    assert counted["count"] == 5
    async with at_a_table(path):
        pass
    assert len(stored(path, "commands_refused")) == 1


async def test_ids_that_come_again_with_other_commands_count_towards_the_budget(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    async with at_a_table(path) as table:
        first = await table.gives("ann", "a", TAKEN, **TWO)
        for n in range(2 * RECORDED):
            refused = await table.gives("ann", "a", TAKEN, reason=f"look {n}", **TWO)
            assert "used before" in refused["error"]["text"]
        assert await table.gives("ann", "a", TAKEN, **TWO) == first
        assert len(stored(path, "command.refused")) == RECORDED
    (counted,) = stored(path, "commands_refused")
    assert counted["count"] == RECORDED


async def test_a_refused_command_beyond_the_budget_is_known_again_by_its_id(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    async with at_a_table(path) as table:
        answers = await table.floods("flood", RECORDED + REMEMBERED_COMMANDS)
        size = len(records(path))
        for n in (RECORDED, RECORDED + REMEMBERED_COMMANDS - 1):
            assert await table.gives("flood", f"flood-{n}", "settle") == answers[n]
            for who, by in (("flood", "for another command"), ("dora", "by another user")):
                refused = await table.gives(who, f"flood-{n}", TAKEN, **TWO)
                assert refused["accepted"] is False
                assert f"used before, {by}" in refused["error"]["text"]
        assert len(records(path)) == size
        assert (await table.gives("flood", "flood-new", TAKEN, **TWO))["accepted"]
        await table.floods("flood", 1, "one-more")  # of more than 256 the oldest is forgotten
        assert (await table.gives("flood", f"flood-{RECORDED}", TAKEN, **TWO))["accepted"]
    counted = {each["user"]: each["count"] for each in stored(path, "commands_refused")}
    assert counted == {"flood": REMEMBERED_COMMANDS + 2 + 1, "dora": 2}
