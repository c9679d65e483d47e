"""What the table wants done after an input: the controller's only way out.

In: nothing. Out: TableEvent, WakeAt, Answer, ShoeCommand, and the shoe's desired state.
Must not know: who delivers them, ids (given in the commit), clocks.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.events import Armed, Locked
from shoe_ctl.records import Audience
from shoe_ctl.texts.message import Message


class TableEvent(msgspec.Struct, frozen=True):
    """Something the table now knows. ``subject`` is a round's or a shoe's id.

    A public event also goes to the restricted stream: with ``restricted_data`` where the two
    differ, else with the same data. A restricted event goes there alone. ``revises`` is the round
    whose outcome it replaces: the id of the event that told it is added in the commit.
    """

    type: str
    audience: Audience
    subject: str | None
    data: dict[str, Any]
    restricted_data: dict[str, Any] | None = None
    revises: str | None = None


class WakeAt(msgspec.Struct, frozen=True):
    """Send a Tick at this time (µs since 1970 UTC); replaces any earlier wish."""

    t_us: int


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a command: accepted, or refused with why and what it would need.

    Where it is accepted: what the table is ``halted`` for once it is done, as the room is told, or
    what it ``asks`` without a halt; ``message`` says what happened and what is next.
    """

    command_id: str
    accepted: bool
    error: Message | None = None
    needs: dict[str, str] = {}
    halted: str | None = None
    asks: str | None = None
    message: Message | None = None


class ShoeCommand(msgspec.Struct, frozen=True, kw_only=True):
    """Tell the shoe this, once all of this input is stored. ``number`` is its id on the wire.

    ``command`` is one of ``firmware_proto.session.COMMANDS``; ``of`` is what a query asks, an
    overdrawn card's fate, or the id of a new key, whose bytes the table never has.
    """

    number: int
    command: str
    of: str | int | None = None


Effect = TableEvent | WakeAt | Answer | ShoeCommand | Armed | Locked
"""Anything the controller may ask for. Armed and Locked are the shoe's desired state."""

__all__ = ["Answer", "Armed", "Effect", "Locked", "ShoeCommand", "TableEvent", "WakeAt"]
