"""Every promise, held after each step and at the end: what is lost, doubled, guessed or told early.

In: what every part of the world sees. Out: Broken, by the first promise that is not kept.
Must not know: what went wrong in the world, or why.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from shoe_ctl.records import Audience
from shoe_testing.faulty_disk import Image, SimulatedDisk
from tests.simulation.broken import Broken
from tests.simulation.delivered import Delivered
from tests.simulation.desk import Answer
from tests.simulation.kept import Kept, WatchedMemory
from tests.simulation.outcomes import Outcomes
from tests.simulation.secrecy import Secrecy

LOOKED_AT = 1 / 12
"""How often the disk is looked at as an acknowledgement arrives: opening a journal costs time."""

SOURCE = "watch"
"""The one remote system that is always well: what it is told in public was stored a moment ago."""


class Promises:
    """``looked`` counts what was held to a promise, by promise."""

    def __init__(  # noqa: PLR0913 - what is watched, each by name
        self,
        *,
        memory: WatchedMemory,
        disk: SimulatedDisk,
        scratch: Path,
        device: str,
        table: str,
        secrecy: Secrecy,
        game: str,
        chance: random.Random,
    ) -> None:
        self.looked: Counter[str] = Counter()
        self.secrecy = secrecy
        self.outcomes = Outcomes(game)
        self.delivered = Delivered(self.outcomes.take)
        self.kept = Kept(memory, self.delivered, scratch)
        self._memory = memory
        self._disk = disk
        self._of = (device, table)
        self._chance = chance
        self._acknowledged = 0
        self._answers: dict[str, Answer] = {}
        self._asks_to_resume = False

    def after_step(self) -> None:
        """One callback of the loop has run."""
        acknowledged = self._memory.acknowledged
        if acknowledged > self._acknowledged:
            self._acknowledged = acknowledged
            if self._chance.random() < LOOKED_AT:
                self.looked["acknowledged is synced"] += 1
                self.kept.holds(self._disk.synced_only(), *self._of)

    def crashed(self, image: Image) -> None:
        """This is what a crash left."""
        self.looked["left by a crash"] += 1
        self.kept.holds(image, *self._of)

    def starts(self, *, noted: bool) -> None:
        """A daemon is put together; ``noted``: the one before left word of an outage."""
        self._asks_to_resume = self._asks_to_resume or noted

    def gives(self, asked: Mapping[str, Any]) -> None:
        """A command is about to be given: whatever is said to be answered, it may be taken."""
        if asked["command"] == "resume" or asked.get("args", {}).get("choice") == "void":
            self._asks_to_resume = False

    def took(self, remote: str, audience: Audience, events: Sequence[bytes]) -> None:
        """A remote system was told this."""
        self.looked["delivered"] += len(events)
        if remote == SOURCE:
            for body in events:
                self.secrecy.public(body.decode())
        self.delivered.take(remote, audience, events)

    def refused(self, remote: str, audience: Audience, event: bytes) -> None:
        """A remote system would not take this."""
        self.looked["refused"] += 1
        self.delivered.refused(remote, audience, event)

    def status_told(self, told: Mapping[str, Any]) -> None:
        """Somebody was told how the table stands."""
        self.looked["status"] += 1
        if self._asks_to_resume:
            self.looked["asked to resume"] += 1
            halt = told["halt"]
            if halt is None or "storage_fault" not in (halt["reason"], *halt["earlier"]):
                raise Broken("a person resumes", f"nobody is asked after an outage: {halt}")
        of_play = {name: said for name, said in told.items() if name != "setup"}  # lists the deck
        self.secrecy.public(msgspec.json.encode(of_play).decode())

    def foretold(self, answer: Answer) -> None:
        """Somebody was told what a command would come to."""
        self.looked["preview"] += 1
        self.secrecy.public(msgspec.json.encode(answer).decode())

    def answered(self, asked: Mapping[str, Any], answer: Answer) -> None:
        """A command was answered: the same for ever, and not before what it did is stored."""
        command_id = asked["command_id"]
        if "failed" in answer:
            return
        self.looked["answered"] += 1
        first = self._answers.setdefault(command_id, answer)
        if first != answer:
            raise Broken("one answer a command", f"{command_id}: {first}, then {answer}")
        if answer["accepted"]:
            self.looked[f"{asked['command']} taken"] += 1
            self.kept.answered[command_id] = list(answer["events"])

    def at_rest(self, journal: Path, remotes: Sequence[str]) -> Counter[str]:
        """The daemon has stopped in order, and everything was well before."""
        for remote in remotes:
            if parked := self.delivered.parked[remote]:
                raise Broken("delivered", f"{remote} never had {sorted(parked)}, mended as it is")
            public = len(self.delivered.told[Audience.PUBLIC])
            restricted = len(self.delivered.told[Audience.RESTRICTED])
            if self.delivered.applied[remote] not in (public, restricted):
                applied = self.delivered.applied[remote]
                raise Broken("delivered", f"{remote} has {applied} of {public} or {restricted}")
        return self.kept.at_rest(journal)
