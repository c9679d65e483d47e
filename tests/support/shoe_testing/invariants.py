"""What holds after every input, in whatever state it came.

In: the state before, the state after, the effects. Raises AssertionError where it does not hold.
Must not know: what the input was, what should have come of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from shoe_ctl.table.effects import Answer, Effect, TableEvent
from shoe_ctl.table.state import TableState, from_bytes, to_bytes
from shoe_testing.tables import balanced

REFUSALS = ("command.refused", "wager.refused")
TOO_LATE = ["irregularity.raised", "irregularity.resolved"]
"""What a wager that comes too late is told as, beside its refusal."""


def holds(before: TableState, now: TableState, effects: Sequence[Effect]) -> None:
    """The ledger is balanced, no card is twice, halted is halted, and a refusal changes nothing."""
    assert from_bytes(to_bytes(now)) == now
    assert balanced(now), now
    assert (now.state == "suspended") is (now.halt is not None), now
    assert now.halt is not None or now.held == ()
    assert now.halt is not None or now.pending is None
    if now.round is not None:
        numbers = [dealt.number for dealt in now.round.cards]
        slots = [(dealt.hand, dealt.index) for dealt in now.round.cards]
        assert len(numbers) == len(set(numbers)), now.round
        assert len(slots) == len(set(slots)), now.round
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
    """The state's bytes without what every command leaves: that it came, and its answer."""
    return to_bytes(msgspec.structs.replace(now, t_us=0, inputs=0, answered={}))
