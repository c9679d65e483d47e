"""Arming: which draw the shoe is armed for, from the order to the proof that it is locked again.

In: the draw that is due, the shoe's statuses and replies, a lost link, the end of a round.
Out: the effects Armed and Locked, shoe.arm_refused .arm_taken, ``Shoe.stale_arm``.
Must not know: which step or Player wants a draw, what is done with a card.

An *arm* is the order to let one numbered draw out, an ``Arming`` what is known of it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.commands import Armed, Locked
from firmware_proto.events import Reply, Status
from shoe_ctl.table.state import Arming, TableState, next_slot
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.message import Message, message

# What the shoe should be.


def wanted(turn: Turn) -> tuple[str, int] | None:
    """Return the hand and index of the draw that the revealed cards imply; None: locked.

    A shoe that can only be locked and unlocked is open between rounds too: cards are burned there,
    and only a card can align it.
    """
    now, state = turn.now, turn.now.state
    is_open = turn.takes_card_in(state) or (state == "idle" and not now.link.arm)
    return next_slot(now) if is_open else None


def order(turn: Turn, slot: tuple[str, int] | None) -> None:
    """Order the shoe to be armed for the next draw, for this slot, or to be locked.

    An order that stands is not repeated. A refusal does not outlast the link on which the shoe gave
    it.
    """
    now = turn.now
    draw = None if now.shoe is None or slot is None else (now.shoe.drawn + 1, *slot)
    if draw != now.armed:
        turn.effects.append(Locked() if draw is None else Armed(*draw))
        turn.change(arming=_as_withdrawn(now) if draw is None else _new_arm(now, *draw))
    arming = turn.now.arming
    if arming is not None and arming.refused is not None and not turn.now.link.up:
        turn.change(arming=msgspec.structs.replace(arming, refused=None))


def ordered(now: TableState) -> Armed | Locked:
    """Return what the shoe was last ordered to be."""
    return Locked() if now.armed is None else Armed(*now.armed)


def _new_arm(now: TableState, number: int, hand: str, index: int) -> Arming:
    """Return the new arm.

    What the shoe reported about an earlier arm for the same draw holds for the new one.
    """
    before = now.arming
    again = before if before is not None and before.number == number else None
    return Arming(
        number=number,
        hand=hand,
        index=index,
        round_id=None if now.round is None else now.round.id,
        confirmed=again is not None and again.confirmed,
        refused=None if again is None else again.refused,
    )


def _as_withdrawn(now: TableState) -> Arming | None:
    """Return the arm as withdrawn, or None if its card was counted."""
    arming, shoe = now.arming, now.shoe
    if arming is None or shoe is None or shoe.drawn >= arming.number:
        return None
    return msgspec.structs.replace(arming, withdrawn=True, refused=None)


def last_withdrawn(now: TableState) -> Arming | None:
    """Return the arm that was withdrawn last. A card may have been drawn on it already."""
    return now.arming if now.arming is not None and now.arming.withdrawn else None


# What the shoe reports.


def on_status(turn: Turn) -> None:
    """Record for which draw the shoe reports that it is armed, if any."""
    event, arming = turn.event(Status), turn.now.arming
    if event.armed is not None and not turn.now.link.reports_arming:
        turn.set_link(reports_arming=True)
    if arming is None:
        return
    if event.armed == arming.number:
        if not arming.confirmed:
            turn.note(arming=msgspec.structs.replace(arming, confirmed=True))
    elif arming.confirmed and event.drawn < arming.number:
        _on_locked(turn, arming)


def _on_locked(turn: Turn, arming: Arming) -> None:
    """Record that the shoe is locked after it was armed, and that no card came of the arm."""
    shoe = turn.now.shoe
    if shoe is not None and shoe.stale_arm is not None and shoe.stale_arm.number == arming.number:
        turn.set_shoe(stale_arm=None)
    wanted_still = None if arming.withdrawn else msgspec.structs.replace(arming, confirmed=False)
    turn.change(arming=wanted_still)


def counts_differ(turn: Turn) -> bool:
    """True if the shoe refused the draw because it counts other cards than the table.

    All its events are stored here, so no card is on its way: the counts will not meet by
    themselves.
    """
    event, now = turn.event(Status), turn.now
    if now.arming is None or now.arming.refused is None or now.shoe is None:
        return False
    return now.pending_set is None and not event.unacknowledged and event.drawn != now.shoe.drawn


def is_taken(turn: Turn) -> bool:
    """True if the shoe reports that it is armed for the draw that it had refused."""
    event, arming = turn.event(Status), turn.now.arming
    return arming is not None and arming.refused is not None and event.armed == arming.number


def emit_arm_taken(turn: Turn) -> None:
    """Emit that the shoe now takes the arm, and clear its refusal."""
    arming = turn.now.arming
    assert arming is not None
    turn.emit("shoe.arm_taken", {"number": arming.number})
    turn.change(arming=msgspec.structs.replace(arming, refused=None))


# What the shoe refuses.

OTHER = "other"

ALREADY_DRAWN = "already_drawn"

REASONS = frozenset(
    {"locked_by_key", "empty", "memory_full", "busy", ALREADY_DRAWN, "not_the_next_draw"}
)
"""The reasons of a shoe that the table knows; any other one is ``OTHER``."""


def is_refused(turn: Turn) -> bool:
    """True if the shoe refuses the draw that it is to be armed for."""
    event, armed = turn.event(Reply), turn.now.armed
    refuses = not event.accepted and event.command_id is None
    return refuses and armed is not None and event.number == armed[0]


def on_reply(turn: Turn) -> None:
    """Record that the shoe refuses the draw, and emit it once for each reason.

    The round cannot go on until the shoe takes the draw.
    """
    event, arming = turn.event(Reply), turn.now.arming
    assert arming is not None
    why = event.reason if event.reason in REASONS else OTHER
    if why == arming.refused:
        return
    turn.change(arming=msgspec.structs.replace(arming, refused=why))
    data = {"number": arming.number, "hand": arming.hand, "index": arming.index, "reason": why}
    turn.emit("shoe.arm_refused", {**data, "counted": turn.shoe.drawn})


def public_refusal(now: TableState) -> dict[str, Any] | None:
    """Return the draw that the shoe refuses, for everyone: its number, why, and what to do."""
    arming = now.arming
    if arming is None or arming.refused is None:
        return None
    refusal = describe_refusal(now)
    assert refusal is not None
    return {"number": arming.number, "why": arming.refused, "message": refusal.as_data()}


def describe_refusal(now: TableState) -> Message | None:
    """Return that the shoe refuses the draw, why, and what to do; None if it does not refuse it."""
    arming = now.arming
    if arming is None or arming.refused is None:
        return None
    return message("shoe_refuses_draw", draw=arming.number, why=arming.refused)


# Stale arms: a card may still come of an arm whose link or round has ended.


def on_link_lost(turn: Turn) -> None:
    """Keep the arm as stale: a card that the shoe gives while out of reach is of this round."""
    arming, shoe, played = turn.now.arming, turn.now.shoe, turn.now.round
    if arming is None or shoe is None or played is None:
        return
    if arming.withdrawn and not _may_give_the_next(turn, arming):
        return
    if shoe.stale_arm is None or shoe.stale_arm.number != arming.number:
        turn.set_shoe(stale_arm=_as_stale(arming, played.id))


def on_round_end(turn: Turn) -> None:
    """Keep the arm as stale if its card may still come: it is not a card of the next round."""
    arming, round_id = turn.now.arming, turn.round.id
    if arming is not None and arming.round_id == round_id and _may_give_the_next(turn, arming):
        turn.set_shoe(stale_arm=_as_stale(arming, round_id))


def on_hello(turn: Turn, drawn: int) -> None:
    """Clear a stale arm for a draw that the shoe does not count.

    Only a draw that the shoe counts can still be reported.
    """
    stale = turn.shoe.stale_arm
    if stale is not None and stale.number > drawn:
        turn.set_shoe(stale_arm=None)


def is_stale(now: TableState, number: int | None) -> bool:
    """True if this draw may be of a round that has ended.

    That round left the shoe armed for it: nobody can tell whether the card was drawn for it or for
    the open one. Or the shoe refused to be armed for it because its card had left it before; for
    the first card of a round the arm is ordered as the round begins. A card belongs to the round in
    which it left the shoe, however late it is reported.
    """
    played, ours = now.round, now.arming
    stale = None if now.shoe is None else now.shoe.stale_arm
    if (
        stale is not None
        and stale.number == number
        and (played is None or played.id != stale.round_id)
    ):
        return True
    if ours is None or ours.refused != ALREADY_DRAWN or ours.number != number:
        return False
    return played is None or not played.cards


def _may_give_the_next(turn: Turn, arming: Arming) -> bool:
    """True if the next card may be drawn on this arm.

    Only for shoes that report their arming.
    """
    return turn.now.link.reports_arming and arming.number == turn.shoe.drawn + 1


def _as_stale(arming: Arming, round_id: str) -> Arming:
    """Return the arm as one that this round left behind."""
    return msgspec.structs.replace(arming, round_id=round_id, refused=None, withdrawn=True)
