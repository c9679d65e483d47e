"""What a table does with what its link brings: a shoe is compared with the journal after its hello.

In: receptions of one shoe, by hand. Out: how often it was compared, and what was reported.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, Hello, ShoeEvent, Status
from firmware_proto.reference.settings import CAPABILITIES
from firmware_proto.session import ReceivedEvent, Resume
from shoe_ctl.daemon.shoe_link import Comparison, ShoeLink
from shoe_ctl.games import catalog
from shoe_ctl.history import snapshots
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.store import Store
from shoe_ctl.link.connection import Reception
from shoe_ctl.link.transport import Loss
from shoe_ctl.table.settings import TableSettings
from shoe_testing.daemon import table_runner
from shoe_testing.transports import HandClock

DEVICE = "SIM-0001"
HELLO = Hello(
    device_id=DEVICE, firmware="1", boot_id=1, deck="french52", decks=8, set_id="set-1", drawn=0
)


class OneConnection:
    """A connection that only notes what it is told."""

    capabilities = CAPABILITIES

    def __init__(self, number: int) -> None:
        self.number = number
        self.acknowledged: list[int | str] = []
        self.dropped: list[str] = []

    def take_sent(self) -> list[Any]:
        return []

    def command(self, _: object) -> None:
        pass

    def stored(self, seq: int | str) -> None:
        self.acknowledged.append(seq)

    def drop(self, why: Loss) -> None:
        self.dropped.append(why.reason)


class Rulings:
    """Notes each loss that a shoe shows; a person rules on it at once."""

    is_open = False

    def __init__(self) -> None:
        self.reported: list[str] = []

    def line(self, _: str) -> None:
        return None

    async def over(self, _: str) -> None:
        pass

    async def report(self, _: str, what: str) -> None:
        self.reported.append(what)


class AtTheLink:
    """A table whose shoe says hello, and then what it is made to say."""

    def __init__(
        self, link: ShoeLink, compared: list[str], rulings: Rulings, journal: Journal
    ) -> None:
        self._journal = journal
        self.compared = compared
        self.rulings = rulings
        self.connection = OneConnection(0)
        self._link = link
        self._offset = 0

    @property
    def stored(self) -> int:
        """The last record that is stored."""
        return self._journal.last_n

    async def connects(self) -> None:
        self.connection, self._offset = OneConnection(self.connection.number + 1), 0
        await self._link.link_up(self.connection, "reference", {})  # type: ignore[arg-type]

    async def says(
        self, event: ShoeEvent, seq: int | None = None, acknowledged: Resume | None = None
    ) -> None:
        """One reception; ``acknowledged`` is the last thing that the session knows of that."""
        first, self._offset = self._offset, self._offset + 10
        heard = ReceivedEvent(event, seq, first, self._offset)
        await self._link.receive(
            Reception(
                connection=self.connection.number,
                offset=first,
                chunk=bytes(10),
                heard=(heard,),
                t_us=1,
                acknowledged=acknowledged,
            )
        )

    async def draws(self, number: int, acknowledged: Resume | None) -> None:
        drawn = CardDrawn(card=card("7D"), number=number, armed=None)
        await self.says(drawn, number, acknowledged)


@asynccontextmanager
async def at_the_link(path: Path) -> AsyncIterator[AtTheLink]:
    store = Store.open(path)
    compared: list[str] = []
    rulings = Rulings()
    with ThreadPoolExecutor(1) as writer:
        journal = Journal(store, writer)
        under = snapshots.start_record(catalog.load("tiger"), TableSettings(table="t1", decks=8), 1)
        runner = table_runner(snapshots.controller_for(under), journal, HandClock(), under)
        runner.link.compare = Comparison(
            expected=True,
            is_compared=False,
            opens=compared.append,
            losses=rulings,  # type: ignore[arg-type]
        )
        await runner.start("boot-1", "reference")
        yield AtTheLink(runner.link, compared, rulings, journal)
        await runner.stop()
        await journal.close()


def status(drawn: int) -> Status:
    return Status(drawn=drawn, unacknowledged=0)


async def test_a_shoe_is_compared_with_the_journal_once_after_each_hello(tmp_path: Path) -> None:
    async with at_the_link(tmp_path / "journal.db") as table:
        await table.connects()
        await table.says(HELLO, 0)
        assert table.compared == []  # it did not say yet what was acknowledged
        said = Resume(DEVICE, 0)
        await table.says(status(0), None, said)
        assert table.compared == ["t1"]
        for number in (1, 2):
            await table.draws(number, said)
            await table.says(status(number), None, Resume(DEVICE, number))
        assert table.compared == ["t1"]
        assert table.connection.acknowledged == [0, 1, 2]
        last = Resume(DEVICE, 2)
        await table.says(status(2), None, last)
        await table.says(HELLO, 2, last)  # it was switched off; what it said before is old
        await table.says(status(2), None, last)
        assert table.compared == ["t1"]
        await table.says(status(2), None, Resume(DEVICE, 2))
        assert table.compared == ["t1", "t1"]
        await table.connects()
        await table.says(status(2), None, Resume(DEVICE, 2))
        assert table.compared == ["t1"] * 3
    assert table.rulings.reported == []


async def test_what_a_shoe_shows_after_another_hello_is_ruled_on_before_it_is_stored(
    tmp_path: Path,
) -> None:
    async with at_the_link(tmp_path / "journal.db") as table:
        await table.connects()
        await table.says(HELLO, 0)
        await table.draws(1, None)
        await table.connects()
        before = Resume(DEVICE, 1)
        await table.says(status(1), None, before)
        await table.says(HELLO, 1, before)
        await table.says(status(3), None, Resume(DEVICE, 3))
        assert table.rulings.reported == [
            f"table t1: shoe {DEVICE} had its events 2 to 3 acknowledged, and the journal does not "
            "hold them"
        ]
        assert table.connection.dropped == ["events_lost"]
        assert table.connection.acknowledged == [1]


async def test_of_states_that_nobody_waits_for_every_fourth_is_waited_for(tmp_path: Path) -> None:
    async with at_the_link(tmp_path / "journal.db") as table:
        await table.connects()
        await table.says(HELLO, 0)
        await table.says(status(0), None, Resume(DEVICE, 0))
        stored = []
        for _ in range(12):
            await table.says(status(0))
            stored.append(table.stored)
        grew = [later - before for before, later in pairwise(stored)]
        assert max(grew) <= 4 * 2  # the bytes and the input of each
        assert sum(grew) >= 8 * 2
