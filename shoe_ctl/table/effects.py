"""Effects: everything that the controller asks for after an input.

In: nothing. Out: TableEvent, WakeAt, Answer, ShoeCommand, and the state that the shoe should have.
Must not know: who delivers them, the ids of events (given in the commit), clocks.
"""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_proto.commands import Armed, Locked
from shoe_ctl.records import Audience
from shoe_ctl.texts.message import Message


class Instances(msgspec.Struct, frozen=True, kw_only=True):
    """The count of things opened at the table that close again, as each stream shows it."""

    public: int = 0
    """On the public stream."""
    restricted: int = 0
    """On the restricted stream, which shows all of them."""


class Instance(msgspec.Struct, frozen=True):
    """The name by which events call something that opens and closes: its number on each stream."""

    public: int | None
    """Its number on the public stream; None where that does not show it."""
    restricted: int
    """Its number on the restricted stream."""


class TableEvent(msgspec.Struct, frozen=True):
    """Something that the table reports. A public event also goes to the restricted stream."""

    type: str
    """The event's type."""
    audience: Audience
    """The public, or the restricted stream alone."""
    subject: str | None
    """The id of the round or the shoe that it is about; None where there is neither."""
    data: dict[str, Any]
    """Its data."""
    restricted_data: dict[str, Any] | None = None
    """The data of a public event on the restricted stream, where that differs."""
    revises: str | None = None
    """The round whose outcome it replaces. The commit adds the id of the event that told it."""
    revokes: str | None = None
    """The round whose outcome it takes back. The commit adds the id of the event that told it."""
    reopens: str | None = None
    """The round that goes on after its outcome. The commit adds the id of the event that told
    it."""


class WakeAt(msgspec.Struct, frozen=True):
    """Send a Tick at this time (µs since 1970 UTC). Replaces an earlier WakeAt."""

    t_us: int


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a command."""

    command_id: str
    """The id of the command."""
    accepted: bool
    """False if it was refused."""
    error: Message | None = None
    """Why it was refused, one line for people."""
    needs: dict[str, str] = {}
    """The needs of a refused command, by kind: a position, a state, a consent."""
    halted: str | None = None
    """The reason for the halt now that the command is done, by its public key."""
    asks: str | None = None
    """The question that the table asks now without being halted, by its public key."""
    message: Message | None = None
    """The news: what happened and what is next."""


class ShoeCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command to send to the shoe, once everything of this input is stored."""

    number: int
    """Its id on the wire."""
    command: str
    """One of ``firmware_proto.session.COMMANDS``."""
    of: str | int | None = None
    """The question of a query, an overdrawn card's fate, or the id of a new key. The table never
    has the key's bytes."""


Effect = TableEvent | WakeAt | Answer | ShoeCommand | Armed | Locked
"""Anything the controller may ask for. Armed and Locked are the state the shoe should have."""

__all__ = ["Answer", "Armed", "Effect", "Locked", "ShoeCommand", "TableEvent", "WakeAt"]
