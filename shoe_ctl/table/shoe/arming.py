"""Which draw the shoe is armed for: what the table wants, what the shoe shows, what may still come.

In: the draw that is due, the shoe's statuses and replies, a link that goes, a round that ends.
Out: Armed and Locked, shoe.arm_refused .arm_taken, the arm that a round leaves behind.
Must not know: which step or Player wants a draw, what becomes of a card.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.events import Armed, Locked, Reply, Status
from shoe_ctl.texts.message import Message, message

from ..state import Arming, TableState, next_slot
from ..turn import Turn

# What the shoe should be.


def wanted(turn: Turn) -> tuple[str, int] | None:
    """Return the hand and index of the draw that revealed cards imply, or None: it stays locked.

    A shoe that can only be locked and unlocked is open between rounds too: cards are burned there,
    and where the table is not aligned with it, only a card can mend that.
    """
    now, state = turn.now, turn.now.state
    is_open = turn.takes_card_in(state) or (state == "idle" and not now.link.arm)
    return next_slot(now) if is_open else None


def ordered(now: TableState) -> Armed | Locked:
    """What the shoe was last asked to be."""
    return Locked() if now.armed is None else Armed(*now.armed)


def last_withdrawn(now: TableState) -> Arming | None:
    """The arm that was taken back last: a card may have left on it already."""
    return now.arming if now.arming is not None and now.arming.withdrawn else None


def order(turn: Turn, slot: tuple[str, int] | None) -> None:
    """Ask the shoe to be open for exactly the next draw, for this hand and index, or locked.

    It is asked only if it was asked to be something else.
    """
    now = turn.now
    draw = None if now.shoe is None or slot is None else (now.shoe.drawn + 1, *slot)
    if draw != now.armed:
        turn.effects.append(Locked() if draw is None else Armed(*draw))
        turn.change(arming=_withdrawn(now) if draw is None else _armed(now, *draw))
    arming = turn.now.arming
    if arming is not None and arming.refused is not None and not turn.now.link.up:
        turn.change(arming=msgspec.structs.replace(arming, refused=None))


def _armed(now: TableState, number: int, hand: str, index: int) -> Arming:
    """The new arm. One of the same draw before it has what the shoe showed and replied of that."""
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


def _withdrawn(now: TableState) -> Arming | None:
    """The arm, taken back; None once its card is counted."""
    arming, shoe = now.arming, now.shoe
    if arming is None or shoe is None or shoe.drawn >= arming.number:
        return None
    return msgspec.structs.replace(arming, withdrawn=True, refused=None)


# What the shoe shows.


def is_taken(turn: Turn) -> bool:
    """The shoe shows that it is armed for the draw that it refused before."""
    event, arming = turn.shoe_event, turn.now.arming
    assert isinstance(event, Status)
    return arming is not None and arming.refused is not None and event.armed == arming.number


def counts_differ(turn: Turn) -> bool:
    """It refused, counts other cards than the table, and has nothing more to tell.

    With all its events stored here no card is on its way: the two counts never meet by themselves.
    """
    event, now = turn.shoe_event, turn.now
    assert isinstance(event, Status)
    if now.arming is None or now.arming.refused is None or now.shoe is None:
        return False
    return now.loaded is None and not event.unacknowledged and event.drawn != now.shoe.drawn


def on_status(turn: Turn) -> None:
    """The shoe shows for which draw it is armed, or that it is for none."""
    event, arming = turn.shoe_event, turn.now.arming
    assert isinstance(event, Status)
    if event.armed is not None and not turn.now.link.reports_arming:
        turn.set_link(reports_arming=True)
    if arming is None:
        return
    if event.armed == arming.number:
        turn.change(arming=msgspec.structs.replace(arming, confirmed=True))
    elif arming.confirmed and event.drawn < arming.number:
        _lock_again(turn, arming)


def _lock_again(turn: Turn, arming: Arming) -> None:
    """It is locked after it was armed, and no card came of that."""
    shoe = turn.now.shoe
    if shoe is not None and shoe.stale_arm is not None and shoe.stale_arm.number == arming.number:
        turn.set_shoe(stale_arm=None)
    again = None if arming.withdrawn else msgspec.structs.replace(arming, confirmed=False)
    turn.change(arming=again)


def tell_taken(turn: Turn) -> None:
    """What stood against it is over."""
    arming = turn.now.arming
    assert arming is not None
    turn.tell("shoe.arm_taken", {"number": arming.number})
    turn.change(arming=msgspec.structs.replace(arming, refused=None))


# What the shoe replies.

OTHER = "other"

REASONS = {
    "locked by key": "locked_by_key",
    "empty": "empty",
    "memory full": "memory_full",
    "busy": "busy",
    "already drawn": "already_drawn",
    "not the next draw": "not_the_next_draw",
}
"""By the reason that the shoe gives: its code."""


def is_refused(turn: Turn) -> bool:
    """The shoe refuses the very draw that it is to be armed for."""
    event, armed = turn.shoe_event, turn.now.armed
    assert isinstance(event, Reply)
    refuses = not event.accepted and event.command_id is None
    return refuses and armed is not None and event.number == armed[0]


def on_reply(turn: Turn) -> None:
    """The shoe refuses the draw, which stalls the round: people are told once for each reason."""
    event, arming = turn.shoe_event, turn.now.arming
    assert isinstance(event, Reply) and arming is not None
    why = REASONS.get(event.reason or "", OTHER)
    if why == arming.refused:
        return
    turn.change(arming=msgspec.structs.replace(arming, refused=why))
    data = {"number": arming.number, "hand": arming.hand, "index": arming.index, "why": why}
    turn.tell("shoe.arm_refused", {**data, "counted": turn.shoe.drawn})


# What may still come of an arm.


def on_link_lost(turn: Turn) -> None:
    """The shoe is out of reach: a card that it gives meanwhile is of the round that is open now."""
    arming, shoe, played = turn.now.arming, turn.now.shoe, turn.now.round
    if arming is None or shoe is None or played is None:
        return
    if arming.withdrawn and not _may_give_the_next(turn, arming):
        return
    if shoe.stale_arm is None or shoe.stale_arm.number != arming.number:
        turn.set_shoe(stale_arm=_stale(arming, played.id))


def on_round_end(turn: Turn) -> None:
    """A card that the shoe may yet give for the round that ends is not the next one's."""
    arming, round_id = turn.now.arming, turn.round.id
    if arming is not None and arming.round_id == round_id and _may_give_the_next(turn, arming):
        turn.set_shoe(stale_arm=_stale(arming, round_id))


def on_hello(turn: Turn, drawn: int) -> None:
    """The shoe is back and counts so many cards out: of a draw beyond that nothing comes any more.

    Only an arm whose card it counts stays stale: that card is on its way.
    """
    stale = turn.shoe.stale_arm
    if stale is not None and stale.number > drawn:
        turn.set_shoe(stale_arm=None)


def is_stale(now: TableState, number: int | None) -> bool:
    """True if the shoe was left armed for this draw by a round that has ended.

    Nobody can tell whether the card was drawn for that round or for the one that is open now.
    """
    stale = None if now.shoe is None else now.shoe.stale_arm
    if stale is None or stale.number != number:
        return False
    return now.round is None or now.round.id != stale.round_id


def _may_give_the_next(turn: Turn, arming: Arming) -> bool:
    """The next card may leave on this arm; a shoe that never shows its arms is not asked about."""
    return turn.now.link.reports_arming and arming.number == turn.shoe.drawn + 1


def _stale(arming: Arming, round_id: str) -> Arming:
    return msgspec.structs.replace(arming, round_id=round_id, refused=None, withdrawn=True)


# What people are told.


def public(now: TableState) -> dict[str, Any] | None:
    """The draw that the shoe refuses, for everyone: its number, why, what to do."""
    arming = now.arming
    if arming is None or arming.refused is None:
        return None
    said = refusal(now)
    assert said is not None
    return {"number": arming.number, "why": arming.refused, "message": said.as_data()}


def refusal(now: TableState) -> Message | None:
    """That the shoe refuses the draw, why, and what to do; None where it does not."""
    arming = now.arming
    if arming is None or arming.refused is None:
        return None
    return message("shoe_refuses_draw", draw=arming.number, why=arming.refused)
