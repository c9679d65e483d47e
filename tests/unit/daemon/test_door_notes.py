"""What happens where people log in, in the journal of the table that it was for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller, NoteName, NoteRequest
from shoe_ctl.daemon.refusal_budget import RECORDED
from shoe_ctl.records import Audience
from shoe_testing.refusals import AtATable, at_a_table, stored

WEB = Caller(user="shoe-web", position="pit_manager", sees=Audience.RESTRICTED, vouches=True)


async def notes(table: AtATable, event: str, **more: Any) -> dict[str, Any]:
    asked = NoteRequest(request="note", table="bac-07", event=event, **more)  # type: ignore[arg-type]
    return await table.requests.answer(WEB, asked)


@pytest.mark.parametrize("event", get_args(NoteName))
async def test_a_note_is_an_event_of_the_restricted_stream_alone(
    tmp_path: Path, event: str
) -> None:
    path = tmp_path / "journal.db"
    said = {"person": "Ann", "by": "pin", "session": "s-1", "address": "10.0.0.8"}
    async with at_a_table(path) as table:
        answer = await notes(table, event, **said)
    (told,) = stored(path, event)
    assert told == {"user": "shoe-web", **said}
    (id_,) = answer["events"]
    assert id_.startswith("bac-07/r")
    assert answer["noted"] == {"table": "bac-07", "event": event, "recorded": True}


async def test_one_who_may_not_see_the_restricted_stream_gets_no_id_of_it(tmp_path: Path) -> None:
    async with at_a_table(tmp_path / "journal.db") as table:
        asked = NoteRequest(request="note", table="bac-07", event="login.ended")
        blind = Caller(user="w", position="dealer", sees=Audience.PUBLIC, vouches=True)
        assert (await table.requests.answer(blind, asked))["events"] == []


async def test_a_flood_of_one_kind_is_counted_and_the_other_kinds_are_recorded(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.db"
    async with at_a_table(path) as table:
        recorded = [
            (await notes(table, "login.refused"))["noted"]["recorded"] for _ in range(RECORDED + 7)
        ]
        assert recorded == [True] * RECORDED + [False] * 7
        assert (await notes(table, "login.accepted", person="Ann"))["noted"]["recorded"]
    assert len(stored(path, "login.refused")) == RECORDED
    (counted,) = stored(path, "login.unrecorded")
    assert (counted["user"], counted["event"], counted["count"]) == (
        "shoe-web",
        "login.refused",
        7,
    )


async def test_one_who_vouches_for_nobody_has_nothing_to_note(tmp_path: Path) -> None:
    async with at_a_table(tmp_path / "journal.db") as table:
        asked = NoteRequest(request="note", table="bac-07", event="login.accepted")
        kim = Caller(user="kim", position="gaming_shift_manager", sees=Audience.RESTRICTED)
        with pytest.raises(RequestRefused) as refused:
            await table.requests.answer(kim, asked)
        assert refused.value.why.code == "daemon_notes_no_right"
