"""An evening on a disk that fails again and again, at every call of its layer in turn.

Each time the table stands still until the disk works and a person resumes it; in the end every card
is where the shoe's own list has it, and everything published is stored.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.errors import JournalError
from shoe_ctl.journal.reader import Reader
from shoe_ctl.records import Audience
from shoe_testing.daemon import PATIENCE_S, ShoeAtTable, ToldEvents, command, nothing_is_wrong_with
from shoe_testing.faulty_disk import Call, Do, Fault
from shoe_testing.rounds import all_agree, lines_of, of_type, once_each

STORAGE_FAULT = "storage fault, nothing is stored, acknowledged or published: "
WAITS_FOR_RESUME = "serving; storage failed and works again, waiting for resume: bac-07"


LASTS = 12
"""Calls that a lasting fault spoils before the disk is mended."""


class FailingCalls:
    """Fails so many calls after it was armed; ``then`` is when it fails again after that."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._left: int | None = None
        self._spoilt = 0
        self.then: int | None = None
        self.met: list[Call] = []

    def arm(self, calls: int) -> None:
        self._left, self._spoilt = calls, 0

    def __call__(self, call: Call, do: Do) -> Any:
        if self._left is None or call.op not in self._fault.ops:
            return do()
        self._left -= 1
        if self._left > 0:
            return do()
        self.met.append(call)
        self._spoilt += 1
        if self._spoilt == (LASTS if self._fault.lasting else 1):
            self._left, self._spoilt, self.then = self.then, 0, None
        raise self._fault.error("the disk failed")


class Evening:
    """One daemon, one shoe, one bad disk, and the supervisor who is called to the table."""

    def __init__(self, folder: Path, fault: Fault, shoe: ShoeAtTable) -> None:
        self.folder = folder
        self.failing = FailingCalls(fault)
        self.shoe = shoe
        self.told = ToldEvents()
        self.daemon: Daemon | None = None
        self._announced: list[str] = []
        self._news = asyncio.Event()
        self._resumed = 0

    def tell(self, line: str) -> None:
        """What is announced out of band."""
        self._announced.append(line)
        self._news.set()

    async def hears(self, line: str) -> None:
        """Waits until this was announced again."""
        async with asyncio.timeout(PATIENCE_S):
            while line not in self._announced:
                self._news.clear()
                await self._news.wait()
        assert any(said.startswith(STORAGE_FAULT) for said in self._announced)
        self._announced.clear()

    async def resumes(self) -> None:
        """The supervisor lets the table go on; where that cannot be stored, once it can be."""
        assert self.daemon is not None
        while True:
            self._resumed += 1
            try:
                answered = await command(self.daemon, f"on-{self._resumed}", "resume")
            except JournalError:
                await self.hears(WAITS_FOR_RESUME)
            else:
                assert answered.answer.accepted, answered
                return

    async def ends(self) -> None:
        """The hand rests at the end of a round, and all of it was told."""
        self.shoe.rest_after(len(self.shoe.truth.rounds) + 1)
        await self.shoe.rests()
        await self.told.until(lambda: self._told_outcomes() == len(self.shoe.rounds))

    def _told_outcomes(self) -> int:
        """What was told twice counts once."""
        return len({e["id"] for e in self.told.events if e["type"] == "round.outcome"})

    def nothing_was_lost_doubled_or_made_up(self) -> None:
        journal = self.folder / "journal.db"
        assert nothing_is_wrong_with(journal) == len(self.shoe.rounds)
        for audience in Audience:
            lines = (self.folder / f"{audience.name.lower()}.jsonl").read_bytes().splitlines()
            with Reader.open(journal) as reader:
                stored, _ = reader.events(audience, after=0, limit=1_000_000)
            assert list(dict.fromkeys(lines)) == [body for _, body in stored]
            stream = once_each(json.loads(line) for line in lines)
            all_agree(of_type(stream, "round.outcome"), self.shoe.rounds)
        told = lines_of(self.folder / "restricted.jsonl")
        lost = of_type(once_each(told), "shoe.lost")
        why = "storage_failed"
        # A shoe that had not said who it is yet when the storage failed was never connected.
        connected = of_type(once_each(told), "shoe.connected")
        assert [data["reason"] for data in lost] == [why] * (len(connected) - 1)
        cards = of_type(once_each(told), "round.card_drawn")
        drawn = [(data["number"], data["card"]) for data in cards]
        assert drawn == self.shoe.truth.cards
