"""What a table stores at once, and what it stores with the group that follows.

In: receptions. Out: the records of the journal.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, ShoeEvent, Status
from firmware_proto.session import ReceivedEvent
from shoe_ctl.daemon.refusal_budget import Principal
from shoe_ctl.daemon.table_runner import TableRunner
from shoe_ctl.games import catalog
from shoe_ctl.history import recorder, snapshots
from shoe_ctl.journal import store as store_module
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.store import Store
from shoe_ctl.journal.verify import verify
from shoe_ctl.link.connection import Reception
from shoe_ctl.records import Audience
from shoe_ctl.table.inputs import FAULT_IN_SHOE_INPUT
from shoe_ctl.table.settings import TableSettings
from shoe_testing.daemon import table_runner
from shoe_testing.journals import records
from shoe_testing.transports import HandClock

FRAME = bytes(10)


class Receiving:
    """A table whose shoe's connection is 1."""

    def __init__(self, runner: TableRunner, journal: Journal, path: Path) -> None:
        self.runner = runner
        self.journal = journal
        self._path = path
        self._offset = 0

    async def receives(self, event: ShoeEvent, seq: int | None = None) -> None:
        offset, self._offset = self._offset, self._offset + len(FRAME)
        heard = ReceivedEvent(event, seq, offset, self._offset)
        await self.runner.link.receive(
            Reception(connection=1, offset=offset, chunk=FRAME, heard=(heard,), t_us=self._offset)
        )

    def stored(self) -> list[str]:
        """The shoe's events among the stored inputs, and each snapshot."""
        told = []
        for record in records(self._path):
            if record.kind == "input":
                body = json.loads(record.body)
                told += [body["event"]["type"]] if body["input"] == "shoe" else []
            elif record.kind == "snapshot":
                told.append("snapshot")
        return told


@asynccontextmanager
async def receiving(path: Path) -> AsyncIterator[Receiving]:
    store = Store.open(path)
    with ThreadPoolExecutor(1) as writer:
        journal = Journal(store, writer)
        settings = TableSettings(table="t1", decks=8)
        under = snapshots.start_record(catalog.load("tiger"), settings, 1)
        runner = table_runner(snapshots.controller_for(under), journal, HandClock(), under)
        await runner.start("boot-1", "reference")
        yield Receiving(runner, journal, path)
        await runner.stop()
        await journal.close()


def status(drawn: int = 0) -> Status:
    return Status(drawn=drawn, unacknowledged=0)


async def test_a_status_is_stored_with_the_next_group_and_before_it(tmp_path: Path) -> None:
    async with receiving(tmp_path / "journal.db") as table:
        await table.receives(status())
        await table.receives(status())
        assert table.stored() == ["snapshot"]
        await table.receives(CardDrawn(card=card("7D"), number=1, armed=None), seq=4)
        assert table.stored() == ["snapshot", "status", "status", "card_drawn"]


async def test_a_status_is_stored_in_time_though_nothing_follows(tmp_path: Path) -> None:
    async with receiving(tmp_path / "journal.db") as table:
        await table.receives(status())
        assert table.runner.transactions._unstored is not None
        await table.runner.transactions._unstored
        assert table.stored() == ["snapshot", "status"]


async def test_a_snapshot_waits_until_the_status_before_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiving(tmp_path / "journal.db") as table:
        monkeypatch.setattr(recorder, "MOST_INPUTS", 2)
        await table.receives(status())
        await table.receives(status())
        await table.receives(CardDrawn(card=card("7D"), number=1, armed=None), seq=4)
        assert table.stored() == ["snapshot", "status", "status", "card_drawn"]
        await table.receives(status())
        assert table.stored()[-2:] == ["snapshot", "status"]
        stands = table.runner.controller.state
    with Reader.open(tmp_path / "journal.db") as reader:
        assert verify(reader).ok
        recovered = snapshots.recover_tables(reader, ["t1"])["t1"].controller
    assert recovered is not None
    assert recovered.state == stands


async def test_an_input_whose_events_cannot_be_recorded_is_a_fault_and_its_bytes_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    async with receiving(path) as table:
        before = len(records(path))
        with monkeypatch.context() as broken:
            append, appended = Batch.append_event, 0

            def fails_at_the_second(batch: Batch, *about: Any, **data: Any) -> int:
                nonlocal appended
                appended += 1
                if appended == 2:
                    raise KeyError("an outcome that nobody knows")
                return append(batch, *about, **data)

            broken.setattr(Batch, "append_event", fails_at_the_second)
            await table.receives(CardDrawn(card=card("7D"), number=1, armed=None), seq=4)
        assert appended > 2
        stored = records(path)[before:]
        assert [r.kind for r in stored if r.kind in {"wire", "input"}] == ["wire", "input"]
        fault = json.loads(stored[1].body)
        assert (fault["input"], fault["where"]) == ("fault", FAULT_IN_SHOE_INPUT)
        assert "an outcome that nobody knows" in fault["what"]
        assert table.runner.controller.state.halt is not None
        await table.receives(status())
        stands = table.runner.controller.state
    with Reader.open(path) as reader:
        recovered = snapshots.recover_tables(reader, ["t1"])["t1"].controller
    assert recovered is not None
    assert recovered.state == stands


async def test_behind_a_group_that_could_not_be_stored_nothing_more_of_its_table_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    async with receiving(path) as table:
        before = records(path)
        with monkeypatch.context() as broken:
            broken.setattr(store_module, "Packing", None)
            with pytest.raises(TypeError):
                await table.receives(CardDrawn(card=card("7D"), number=1, armed=None), seq=4)
        assert table.runner.failure is not None
        table.runner.transactions.refusals.count(Principal("Ines"), 0)
        with pytest.raises(TypeError):
            await table.receives(status())
        with pytest.raises(TypeError):
            await table.runner.waiting(Audience.RESTRICTED)
        await table.runner.stop()
        assert records(path) == before
