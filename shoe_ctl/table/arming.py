"""The shoe refuses the draw that it is to be armed for: told with why, and what to do about it.

In: what the shoe replies and shows. Out: shoe.arm_refused .arm_taken; that both count otherwise.
Must not know: how two counts are made one again, sessions, cards.
"""

from __future__ import annotations

from typing import Any

from firmware_proto.events import Reply, Status
from shoe_ctl.texts.message import Message, message

from .state import ArmRefused, TableState
from .turn import Turn

OTHER = "other"

_REASONS = {
    "locked by key": "locked_by_key",
    "empty": "empty",
    "memory full": "memory_full",
    "busy": "busy",
    "already drawn": "already_drawn",
    "not the next draw": "not_the_next_draw",
}
"""By the reason that the shoe gives: its code."""


# What was seen.


def is_refused(turn: Turn) -> bool:
    """The shoe refuses the very draw that it is to be armed for."""
    event, armed = turn.shoe_event, turn.now.armed
    assert isinstance(event, Reply)
    refuses = not event.accepted and event.command_id is None
    return refuses and armed is not None and event.number == armed[0]


def is_taken(turn: Turn) -> bool:
    """The shoe shows that it is armed for the draw that it refused before."""
    event, refused = turn.shoe_event, turn.now.refused
    assert isinstance(event, Status)
    return refused is not None and event.armed == refused.number


def counts_differ(turn: Turn) -> bool:
    """It refused, counts other cards than the table, and has nothing more to tell.

    With all its events stored here no card is on its way: the two counts never meet by themselves.
    """
    event, now = turn.shoe_event, turn.now
    assert isinstance(event, Status)
    if now.refused is None or now.shoe is None or now.loaded is not None:
        return False
    return not event.unacknowledged and event.drawn != now.shoe.drawn


def shown(now: TableState) -> dict[str, Any] | None:
    """The draw that the shoe refuses, for everyone: its number, why, what to do."""
    refused = now.refused
    if refused is None:
        return None
    return {"number": refused.number, "why": refused.why, "message": said(refused).as_data()}


def said(refused: ArmRefused) -> Message:
    """The refusal as people are told it, with what to do."""
    return message("shoe_refuses_draw", draw=refused.number, why=refused.why)


# What is done.


def note(turn: Turn) -> None:
    """It stalls the round: the people are told once for each reason."""
    event, armed = turn.shoe_event, turn.now.armed
    assert isinstance(event, Reply) and armed is not None
    number, hand, index = armed
    refused = ArmRefused(number=number, why=_REASONS.get(event.reason or "", OTHER))
    if refused == turn.now.refused:
        return
    turn.change(refused=refused)
    data = {"number": number, "hand": hand, "index": index, "why": refused.why}
    turn.tell("shoe.arm_refused", {**data, "counted": turn.shoe.drawn})


def tell_taken(turn: Turn) -> None:
    """What stood against it is over."""
    assert turn.now.refused is not None
    turn.tell("shoe.arm_taken", {"number": turn.now.refused.number})
    turn.change(refused=None)


def forget(turn: Turn, armed: tuple[int, str, int] | None) -> None:
    """Another draw is wanted now, or none, or the shoe is away: the refusal is of the past."""
    refused = turn.now.refused
    stays = refused is not None and armed is not None and armed[0] == refused.number
    if refused is not None and not (stays and turn.now.link.up):
        turn.change(refused=None)
