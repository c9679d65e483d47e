"""What must hold after every input at a table that is played on, whatever the input was.

In: a table. Raises AssertionError where a card is told before its reveal, or an outcome twice.
Must not know: what is played, what went wrong.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from firmware_proto.cards import CARDS
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import TableEvent
from shoe_testing.tables import TableHarness, balanced

CODE = re.compile("|".join(rf"\b{re.escape(code)}\b" for code in CARDS))


class Watch:
    """What must hold after every input, whatever it was."""

    def __init__(self, table: TableHarness) -> None:
        self.table = table
        self.outcomes: Counter[str] = Counter()
        self.seen: set[str] = set()
        self.told = 0

    def look(self) -> None:
        now = self.table.now
        assert balanced(now), now.shoe
        if now.round is not None:
            slots = [(d.hand, d.index) for d in now.round.cards]
            numbers = [d.number for d in now.round.cards]
            assert len(slots) == len(set(slots))
            assert len(numbers) == len(set(numbers))
            self.seen |= {d.card.code for d in now.round.cards if d.revealed}
        assert (now.state == "suspended") is (now.halt is not None)
        new = self.table.events[self.told :]
        self.told += len(new)
        for event in new:
            self.one(event)
        if now.round is None:
            self.seen = set()

    def one(self, event: TableEvent) -> None:
        if event.audience is not Audience.PUBLIC:
            return
        codes = set(CODE.findall(msgspec.json.encode(event.data).decode()))
        if event.type in ("round.card_revealed", "round.revised"):
            self.seen |= codes  # a revision names what people at the table entered
        assert codes <= self.seen, event
        if event.type == "round.outcome":
            self.outcomes[event.data["round_id"]] += 1
            assert self.outcomes[event.data["round_id"]] == 1
