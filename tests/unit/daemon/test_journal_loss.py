"""A loss that one shoe shows, at several tables on one journal: who goes on under which epoch."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn, cast

import pytest

from shoe_ctl.daemon.journal_loss import LossRulings, OpenLosses
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.batch import Batch, CommitResult
from shoe_ctl.journal.journal import DeliveryGate, Journal
from shoe_ctl.table.inputs import SecondPerson, TableCommand
from shoe_ctl.texts.catalogue import text as english
from shoe_ctl.texts.message import Message
from shoe_testing.transports import HandClock, until

RULING = TableCommand(
    t_us=0,
    command_id="r",
    command="accept_loss",
    person="Ines",
    position="gaming_shift_manager",
    reason="lost",
    consented_by="Kim",
    second_person=SecondPerson(positions=("pit_supervisor",)),
)


class FakeJournal:
    """Stores nothing, and fails when it is told to."""

    def __init__(self) -> None:
        self.last_n = 9
        self.fails = False
        self.groups: list[Batch] = []

    async def commit(self, group: Batch) -> CommitResult:
        if self.fails:
            raise JournalError("the disk is full")
        self.groups.append(group)
        self.last_n += 1
        return CommitResult(self.last_n, self.last_n, {})

    async def store_waiting(self) -> None:
        """Nothing waits."""


class FakeTable:
    def __init__(self, table: str) -> None:
        self.table = table
        self.turn = asyncio.Lock()
        self.started_n = 5
        self.epoch = "old"
        self.restored: list[TableCommand | None] = []
        self.failures = 0

    def begin_epoch(self, _: Batch, epoch: str) -> None:
        self.epoch = epoch

    def restore(self, _: Batch, __: Message, ruling: TableCommand | None) -> None:
        self.restored.append(ruling)

    async def stored(self, _: CommitResult) -> None:
        pass

    def failed(self, _: Exception) -> None:
        self.failures += 1


class AtWork:
    """Tables a and b; the shoe of a shows a loss."""

    def __init__(self, losses: OpenLosses | None = None) -> None:
        self.losses = OpenLosses() if losses is None else losses
        self.journal = FakeJournal()
        self.a, self.b = FakeTable("a"), FakeTable("b")
        self.gate = DeliveryGate(5)
        self.gate.wait_for("a")
        self.drawn: list[str] = []
        self.rulings = LossRulings(
            self.losses,
            {"a": self.a, "b": self.b},
            cast(Journal, self.journal),
            self.gate,
            HandClock(),
            epoch=self.draw,
            tell=lambda _: None,
        )

    def draw(self) -> str:
        self.drawn.append(f"new-{len(self.drawn)}")
        return self.drawn[-1]


async def reported(at: AtWork, table: str) -> asyncio.Task[Any]:
    task = asyncio.create_task(at.rulings.report(table, f"table {table}: events are missing"))
    await until(lambda: at.rulings.line(table) is not None and not at.gate.waiting)
    return task


async def test_the_other_tables_go_on_at_once_and_the_ruling_is_for_all() -> None:
    at = AtWork()
    waits = await reported(at, "a")
    assert (at.a.epoch, at.b.epoch) == ("old", "new-0")
    assert at.rulings.line("b") is None
    assert at.losses.unpublished == {"a": (6, 9), "b": (6, 9)}
    answer = await at.rulings.rule("b", RULING, None)
    assert answer is not None and answer.accepted
    await waits
    assert (at.a.epoch, at.b.epoch, at.drawn) == ("new-0", "new-0", ["new-0"])
    assert (at.a.restored, at.b.restored) == ([None], [RULING])
    assert not at.rulings.is_open
    assert await at.rulings.rule("a", RULING, None) is None


async def test_a_second_table_that_shows_a_loss_is_ruled_on_with_the_first() -> None:
    at = AtWork()
    both = [await reported(at, table) for table in ("a", "b")]
    assert at.drawn == ["new-0"]  # what b stores is under that epoch already
    answer = await at.rulings.rule("a", RULING, None)
    assert answer is not None and answer.accepted
    await asyncio.gather(*both)
    assert at.losses.unpublished == {}


async def test_an_epoch_that_could_not_be_stored_is_begun_after_the_outage() -> None:
    at = AtWork()
    at.journal.fails = True
    with pytest.raises(JournalError):
        await at.rulings.report("a", "table a: events are missing")
    assert (at.a.failures, at.b.failures) == (0, 1)
    again = AtWork(at.losses)  # the tables are opened anew, and b is under its old epoch
    waits = await reported(again, "a")
    assert again.b.epoch == "new-0"
    assert await again.rulings.rule("a", RULING, None) is not None
    await waits


async def test_a_ruling_that_could_not_be_stored_leaves_the_loss_open() -> None:
    at = AtWork()
    waits = await reported(at, "a")
    at.journal.fails = True
    with pytest.raises(JournalError):
        await at.rulings.rule("a", RULING, None)
    assert at.rulings.is_open and not waits.done()
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits


@pytest.mark.parametrize("broken", ["restore", "commit"])
async def test_a_ruling_that_breaks_off_leaves_no_table_at_work_behind_what_is_missing(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = AtWork()
    waits = await reported(at, "a")

    def breaks_off(*_: object) -> NoReturn:
        raise TypeError("as never happens")

    monkeypatch.setattr(at.b if broken == "restore" else at.journal, broken, breaks_off)
    with pytest.raises(TypeError):
        await at.rulings.rule("a", RULING, None)
    assert (at.a.failures, at.b.failures) == (1, 1)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"reason": None}, "a reason is missing"),
        ({"args": {"x": 1}}, "takes no x"),
        ({"round_id": "r1"}, "takes no round"),
        ({"position": "pit_manager"}, "needs a gaming shift manager"),
    ],
)
async def test_a_ruling_that_is_refused_changes_nothing(wrong: dict[str, Any], why: str) -> None:
    at = AtWork()
    waits = await reported(at, "a")
    given = {name: getattr(RULING, name) for name in RULING.__struct_fields__}
    answer = await at.rulings.rule("a", TableCommand(**given | wrong), None)
    assert answer is not None and answer.error is not None and not answer.accepted
    assert why in english(answer.error)
    assert at.rulings.is_open and at.a.epoch == "old"
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
