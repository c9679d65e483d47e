"""The draw that the shoe was last freed for, until it shows that it is locked again.

In: what the shoe is to be armed for, its statuses. Out: the draw that a round leaves behind.
Must not know: what is done with a card, connections that come and go.
"""

from __future__ import annotations

import msgspec

from firmware_proto.events import Status

from .state import Freed
from .turn import Turn


def order(turn: Turn, number: int) -> None:
    """The shoe is to be armed for this draw; only of one that shows so is its locking awaited."""
    link, played = turn.now.link, turn.now.round
    if not link.shows_arms:
        return
    before = link.freed
    shown = before is not None and before.number == number and before.shown
    round_id = None if played is None else played.id
    turn.set_link(freed=Freed(number=number, round_id=round_id, shown=shown))


def note(turn: Turn) -> None:
    """The shoe shows for which draw it is armed, or that it is for none."""
    event, link, freed = turn.shoe_event, turn.now.link, turn.now.link.freed
    assert isinstance(event, Status)
    if event.armed is not None and not link.shows_arms:
        turn.set_link(shows_arms=True)
    if freed is None:
        return
    if event.armed == freed.number:
        turn.set_link(freed=msgspec.structs.replace(freed, shown=True))
    elif freed.shown and event.drawn < freed.number:
        _locked_again(turn, freed)


def _locked_again(turn: Turn, freed: Freed) -> None:
    """What was ordered is taken back, and no card came of it."""
    shoe, armed = turn.now.shoe, turn.now.armed
    if shoe is not None and shoe.left_armed is not None and shoe.left_armed[0] == freed.number:
        turn.set_shoe(left_armed=None)
    again = armed is not None and armed[0] == freed.number
    turn.set_link(freed=msgspec.structs.replace(freed, shown=False) if again else None)


def leave(turn: Turn) -> None:
    """The round ends: a card that the shoe may yet give for it is not the next one's."""
    freed, shoe = turn.now.link.freed, turn.shoe
    if freed is not None and (freed.number, freed.round_id) == (shoe.drawn + 1, turn.round.id):
        turn.set_shoe(left_armed=(freed.number, turn.round.id))
