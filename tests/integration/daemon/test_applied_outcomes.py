"""A table system at a running daemon reports what it applied, and what it has of the shoe."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.verify import verify
from shoe_testing.config import make_config, table_section, this_user
from shoe_testing.daemon import SocketTable, ToldEvents, serving, shoe_on_a_pty
from shoe_testing.socket_client import calling

BOUND_S = 3600
"""Longer than any test takes."""


def write(folder: Path, *, within_s: int = BOUND_S, **user: Any) -> Path:
    """A table whose outcomes are to be applied within an hour."""
    config = folder / "table.toml"
    section = table_section(
        port=str(folder / "shoe"), announcements="explicit", applied_within_s=within_s
    )
    reporter = this_user("gaming_shift_manager", **{"applies": True, **user})
    others = [{"user": 64_001, "position": "dealer", "applies": True}]
    config.write_text(make_config(section, socket={"user": [reporter, *others]}))
    return config


@asynccontextmanager
async def at_table(folder: Path, told: ToldEvents, **user: Any) -> AsyncIterator[SocketTable]:
    with shoe_on_a_pty(folder, seed=7) as rig:
        async with (
            serving(write(folder, **user), told) as daemon,
            calling(folder / "shoectl.sock", held=True) as caller,
        ):
            yield SocketTable(daemon, rig, told, caller)


def outcomes(told: ToldEvents) -> list[dict[str, Any]]:
    return [event for event in told.events if event["type"] == "round.outcome"]


async def test_what_was_applied_is_stored_and_told_once_also_after_a_restart(
    tmp_path: Path,
) -> None:
    told = ToldEvents()
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        config = write(tmp_path)
        async with (
            serving(config, told) as daemon,
            calling(tmp_path / "shoectl.sock", held=True) as caller,
        ):
            table = SocketTable(daemon, rig, told, caller)
            await table.rounds(2)
            first, second = outcomes(told)
            asked = {
                "request": "applied",
                "event": first["id"],
                "source": first["source"],
                "reference": "b-1",
            }
            answer = await caller.asks(**asked)
            said = {"event": first["id"], "round_id": first["subject"], "reference": "b-1"}
            assert answer["applied"] == {**said, "repeated": False}
            await told.until(lambda: "outcome.applied" in [e["type"] for e in told.events])
            (applied,) = [e for e in told.events if e["type"] == "outcome.applied"]
            assert [applied["id"]] == answer["events"]
            assert applied["data"] == {"round_id": first["subject"], "event": first["id"]}
            waiting = (await table.status())["unapplied"]
            assert [each["round_id"] for each in waiting] == [second["subject"]]
        before = len(told.events)
        async with serving(config, told), calling(tmp_path / "shoectl.sock", held=True) as caller:
            assert (await caller.asks(**asked))["applied"] == {**said, "repeated": True}
            other = await caller.asks(**{**asked, "reference": "b-2"})
            assert other["error"]["code"] == "refused_applied_twice"
            assert "as b-1" in other["error"]["text"]
        assert "outcome.applied" not in [e["type"] for e in told.events[before:]]
    with Reader.open(tmp_path / "journal.db") as reader:
        assert verify(reader).ok


async def test_the_pit_learns_of_what_nobody_applied_also_after_a_restart(tmp_path: Path) -> None:
    told = ToldEvents()
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        config = write(tmp_path, within_s=1)
        async with serving(config, told) as daemon, calling(tmp_path / "shoectl.sock") as caller:
            table = SocketTable(daemon, rig, told, caller)
            await table.rounds(1)
        async with serving(config, told) as daemon, calling(tmp_path / "shoectl.sock") as caller:
            await told.until(lambda: bool(told.data("outcome.not_applied")))
            (outcome,) = outcomes(told)
            (late,) = told.data("outcome.not_applied")
            assert late["round_id"] == outcome["subject"]
            assert late["told"] == outcome["time"]
            (held,) = (await caller.asks(request="status"))["tables"]
            assert [each["overdue"] for each in held["unapplied"]] == [True]
            assert outcome["subject"] in held["next"]["message"]["text"]
            await caller.asks(request="applied", event=outcome["id"], reference="b-1")
            (held,) = (await caller.asks(request="status"))["tables"]
            assert held["unapplied"] == []
            assert outcome["subject"] not in held["next"]["message"]["text"]


async def test_what_was_not_told_to_the_user_cannot_be_applied(tmp_path: Path) -> None:
    told = ToldEvents()
    async with at_table(tmp_path, told) as table:
        await table.rounds(1)
        (outcome,) = outcomes(told)
        opened = next(e for e in told.events if e["type"] == "round.opened")
        strays: list[tuple[dict[str, Any], str]] = [
            ({"event": opened["id"]}, "refused_applied_unknown"),
            ({"event": "bac-07/p9999"}, "refused_applied_unknown"),
            ({"event": "bac-07/r1"}, "refused_applied_unknown"),
            ({"event": "nonsense"}, "daemon_no_such_table"),
            ({"event": outcome["id"], "source": "/journal/0"}, "refused_applied_other_source"),
        ]
        before = (await table.caller.asks(request="status"))["tables"]
        for stray, code in strays:
            answer = await table.caller.asks(request="applied", reference="b-1", **stray)
            assert answer["error"]["code"] == code, (stray, answer)
        assert (await table.caller.asks(request="status"))["tables"] == before


async def test_who_has_not_the_right_applies_nothing(tmp_path: Path) -> None:
    told = ToldEvents()
    async with at_table(tmp_path, told, applies=False) as table:
        await table.rounds(1)
        (outcome,) = outcomes(told)
        asked = {"event": outcome["id"], "reference": "b-1"}
        answer = await table.caller.asks(request="applied", **asked)
        assert answer["error"]["code"] == "refused_applied_no_right"
        shoe = outcome["data"]["shoe_id"]
        answer = await table.caller.asks(
            request="shoe", table="bac-07", shoe_id=shoe, rounds=[{"round_id": outcome["subject"]}]
        )
        assert answer["error"]["code"] == "refused_applied_no_right"


async def test_a_shoe_as_the_table_system_counts_it_is_compared(tmp_path: Path) -> None:
    told = ToldEvents()
    async with at_table(tmp_path, told) as table:
        await table.rounds(2)
        rounds = [{"round_id": outcome["subject"]} for outcome in outcomes(told)]
        shoe = outcomes(told)[0]["data"]["shoe_id"]
        asked = {"request": "shoe", "table": "bac-07", "shoe_id": shoe}
        answer = await table.caller.asks(**asked, rounds=rounds[:1])
        second = rounds[1]["round_id"]
        differs = {"shoe_id": shoe, "agrees": False, "first": second, "what": "not_stated"}
        assert answer["shoe"] == differs
        answer = await table.caller.asks(**asked, rounds=rounds)
        assert answer["shoe"] == {"shoe_id": shoe, "agrees": True}
        await told.until(lambda: len(reconciled(told)) == 2)
        assert [event["data"]["agrees"] for event in reconciled(told)] == [False, True]
        again = await table.caller.asks(**asked, rounds=rounds)
        assert again["error"]["code"] == "refused_shoe_agreed"


def reconciled(told: ToldEvents) -> list[dict[str, Any]]:
    return [event for event in told.events if event["type"] == "shoe.reconciled"]
