"""What must always hold at a table, and which ends of which procedures are reached.

In: a table before and after an input. Raises AssertionError where something does not hold.
Must not know: what the input was, what should have come of it.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import msgspec

from firmware_proto.cards import CARDS
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import Answer, Effect, Instances, TableEvent
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.state import TableState, from_bytes, to_bytes
from shoe_ctl.table.turn import Turn
from shoe_testing.tables import TableHarness, balanced

REFUSALS = ("command.refused", "wager.refused")
TOO_LATE = ["irregularity.raised", "irregularity.resolved"]
"""What a wager that comes too late is told as, beside its refusal."""


def assert_consistent(now: TableState) -> None:
    """The ledger is balanced, no slot and no draw is twice, suspended is halted."""
    assert balanced(now), now
    assert (now.state == "suspended") is (now.halt is not None), now
    if now.round is not None:
        numbers = [dealt.number for dealt in now.round.cards]
        slots = [(dealt.hand, dealt.index) for dealt in now.round.cards]
        assert len(numbers) == len(set(numbers)), now.round
        assert len(slots) == len(set(slots)), now.round


def assert_transition(before: TableState, now: TableState, effects: Sequence[Effect]) -> None:
    """The state is consistent and survives its bytes, and a refusal changes nothing."""
    assert from_bytes(to_bytes(now)) == now
    assert_consistent(now)
    assert now.halt is not None or now.held == ()
    assert now.halt is not None or now.pending is None
    for effect in effects:
        if isinstance(effect, TableEvent):
            msgspec.json.encode((effect.data, effect.restricted_data))
    if any(isinstance(effect, Answer) and not effect.accepted for effect in effects):
        _refused(before, now, effects)


def _refused(before: TableState, now: TableState, effects: Sequence[Effect]) -> None:
    told, *recorded, answer = effects
    assert [getattr(effect, "type", None) for effect in recorded] in ([], TOO_LATE)
    assert isinstance(told, TableEvent) and told.type in REFUSALS
    assert isinstance(answer, Answer) and answer.error
    assert apart_from_the_count(now) == apart_from_the_count(before)


def apart_from_the_count(now: TableState) -> bytes:
    """The state's bytes without what every command leaves: that it came, and its answer.

    One that came too late is an irregularity, which is numbered.
    """
    same = {"t_us": 0, "inputs": 0, "answered": {}, "instances": Instances()}
    return to_bytes(msgspec.structs.replace(now, **same))


Reached = tuple[str, str]

EVERY_END: frozenset[Reached] = frozenset(
    (key, end.name) for key, procedure in PROCEDURES.items() for end in procedure.ends
)


@contextlib.contextmanager
def ends_reached(take: Callable[[Turn, Reached], None]) -> Iterator[None]:
    """Calls ``take`` with each end, and the turn that takes it, until the block is left."""

    def closes(turn: Turn, *given: Any, **more: Any) -> None:
        end = given[-1]
        key = given[0].key if len(given) > 1 else turn.now.halt.current.key  # type: ignore[union-attr]
        take(turn, (key, end.name))
        (resolve_pending if len(given) > 1 else close)(turn, *given, **more)

    def drops(turn: Turn, waiting: Any, how: str) -> None:
        take(
            turn, (waiting.key, next(e.name for e in PROCEDURES[waiting.key].ends if e.how == how))
        )
        answer_question(turn, waiting, how)

    close, resolve_pending, answer_question = (
        stack.close,
        stack.resolve_pending,
        stack.answer_question,
    )
    with (
        mock.patch.object(stack, "close", closes),
        mock.patch.object(stack, "resolve_pending", closes),
        mock.patch.object(stack, "answer_question", drops),
    ):
        yield


CODE = re.compile("|".join(rf"\b{re.escape(code)}\b" for code in CARDS))


class RoundWatch:
    """After every input: consistent, no card told before its reveal, no outcome told twice."""

    def __init__(self, table: TableHarness) -> None:
        self.table = table
        self.outcomes: Counter[str] = Counter()
        self.seen: set[str] = set()
        self.told = 0

    def look(self) -> None:
        now = self.table.now
        assert_consistent(now)
        if now.round is not None:
            self.seen |= {d.card.code for d in now.round.cards if d.revealed}
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
        if event.type in ("round.card_revealed", "round.card_corrected", "round.revised"):
            self.seen |= codes  # a revision names what people at the table entered
        assert codes <= self.seen, event
        if event.type == "round.outcome":
            self.outcomes[event.data["round_id"]] += 1
            assert self.outcomes[event.data["round_id"]] == 1
