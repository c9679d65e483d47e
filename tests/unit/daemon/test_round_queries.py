"""Past rounds from a journal of which the first shoe was removed, and what one may see of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller, RoundsRequest
from shoe_ctl.daemon.journal_upkeep import DAY_US, RetentionPolicy, exported
from shoe_ctl.daemon.round_queries import RoundQueries
from shoe_ctl.history.shoe_sections import find_section
from shoe_ctl.journal.export import select_records
from shoe_ctl.journal.journal import DeliveryGate
from shoe_ctl.journal.reader import Reader
from shoe_ctl.records import Audience
from shoe_testing import bulk_journal
from shoe_testing.journals import opened

TABLE = bulk_journal.TABLE
KIM = Caller(user="kim", position="dealer", sees=Audience.RESTRICTED)
ANN = Caller(user="ann", position="dealer", sees=Audience.PUBLIC)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two shoes, and the end of the one before, whose other rounds were taken out."""
    made = bulk_journal.make(tmp_path_factory.mktemp("bulk") / "journal.db", rounds=82 * 2 + 10)
    with Reader.open(made.path) as reader:
        span = find_section(reader, f"{TABLE}-s1")
        ended = select_records(reader, span.table, span.first, span.last).t_us
    assert ended is not None
    policy = RetentionPolicy(
        keep_us=DAY_US, archive=made.path.parent / "archive", tables=frozenset({TABLE}), sinks=()
    )
    now_us = ended + DAY_US
    with opened(made.path) as store:
        with store.reader() as reader:
            steps = exported(reader, policy, now_us)
        for begins in steps:
            store.truncate_before(begins, made.signer, now_us)
    return made.path


async def asks(path: Path, caller: Caller = ANN, **more: Any) -> dict[str, Any]:
    with Reader.open(path) as reader:

        async def read(call: Callable[[Reader], Any], /) -> Any:
            return call(reader)

        queries = RoundQueries(read, DeliveryGate(reader.newest() or 0))
        asked = RoundsRequest(request="rounds", table=TABLE, **more)
        answer = await queries.answer(caller, asked, TABLE)
    return dict(json.loads(msgspec.json.encode(answer)))


async def refused(path: Path, **more: Any) -> str:
    with pytest.raises(RequestRefused) as why:
        await asks(path, **more)
    return why.value.why.code


async def test_what_was_removed_is_said_and_not_left_out(path: Path) -> None:
    page = await asks(path, limit=100)
    assert (page["more"], page["removed"]) == (True, False)
    rest = await asks(path, limit=100, before=page["rounds"][-1]["round_id"])
    assert (rest["more"], rest["removed"]) == (False, True)
    known = [one["round_id"] for one in (*page["rounds"], *rest["rounds"])]
    assert len(set(known)) == len(known) > 100
    newest, oldest = known[0].rpartition("-r")[0], known[-1].rpartition("-r")[0]
    whole, cut = await asks(path, shoe=newest, limit=100), await asks(path, shoe=oldest, limit=100)
    assert (whole["more"], whole["removed"]) == (False, False)
    assert (cut["more"], cut["removed"]) == (False, True)
    assert await refused(path, round=f"{oldest}-r1") == "rounds_removed"
    assert await refused(path, shoe=f"{TABLE}-s0") == "rounds_unknown"
    assert await refused(path, shoe=f"{TABLE}-s99") == "rounds_unknown"
    assert await refused(path, round=f"{newest}-r9999") == "rounds_unknown"


async def test_each_audience_gets_its_own_copies(path: Path) -> None:
    public, restricted = await asks(path, limit=3), await asks(path, KIM, limit=3)
    assert [one["round_id"] for one in public["rounds"]] == [
        one["round_id"] for one in restricted["rounds"]
    ]
    for ours, theirs in zip(public["rounds"], restricted["rounds"], strict=True):
        assert ours["last_event"].startswith(f"{TABLE}/p")
        assert theirs["last_event"].startswith(f"{TABLE}/r")
        assert "proof" not in ours["outcome"] and "proof" in theirs["outcome"]
        assert ours["state"] == theirs["state"] == "settled"
    with pytest.raises(RequestRefused):
        await asks(path, ANN, audience="restricted")
