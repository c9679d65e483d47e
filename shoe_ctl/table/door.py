"""The door: logins at a program that vouches for people, and looks at what is restricted.

In: notes of what happened there. Out: login.accepted .refused .locked .ended .unrecorded and
restricted.viewed, for the restricted stream alone. Must not know: how somebody logs in.
"""

from __future__ import annotations

from shoe_ctl.records import utc
from shoe_ctl.table.inputs import DoorNoted, NotesRefused
from shoe_ctl.table.turn import Turn

TYPES = (
    *("login.accepted", "login.refused", "login.locked", "login.ended"),
    "restricted.viewed",
)
"""The types of events that may be noted."""

_SAID = ("user", "person", "by", "session", "position", "address", "reason", "about")


def emit_note(turn: Turn) -> None:
    """Emit what happened at the door, with what is known of it."""
    noted = turn.input_of(DoorNoted)
    assert noted.event in TYPES, noted
    said = {name: getattr(noted, name) for name in _SAID}
    turn.emit_restricted(noted.event, {k: v for k, v in said.items() if v is not None})


def emit_unrecorded_notes(turn: Turn) -> None:
    """Emit how many notes of one kind were not recorded."""
    refused = turn.input_of(NotesRefused)
    data = {"user": refused.user, "event": refused.event, "count": refused.count}
    turn.emit_restricted("login.unrecorded", {**data, "since": utc(refused.since_us)})
