"""Events of logins at a program that vouches for people, and of looks at what is restricted."""

from __future__ import annotations

from typing import Literal

from shoe_ctl.events.event_type import Count, EventData, EventType, Time


class AtTheDoor(EventData, frozen=True, kw_only=True):
    """Something happened at a program at which people log in.

    ``person`` and ``position`` are those of who logged in, left out where nobody by that name is
    known.
    """

    user: str
    """The configured user of that program."""
    by: Literal["pin", "token", "certificate"] | None = None
    """The way of the login."""
    session: str | None = None
    """The session, by the program's own name."""
    address: str | None = None
    """The address that it came from."""
    reason: str | None = None
    """Why, as a code of the program's."""


class Accepted(AtTheDoor, frozen=True, kw_only=True):
    """A person logged in."""


class Refused(AtTheDoor, frozen=True, kw_only=True):
    """A login was refused."""


class Locked(AtTheDoor, frozen=True, kw_only=True):
    """A name takes no login for a while, after too many that were refused."""


class Ended(AtTheDoor, frozen=True, kw_only=True):
    """A session ended."""


class Viewed(AtTheDoor, frozen=True, kw_only=True):
    """A person viewed what only the restricted stream shows."""

    about: str | None = None
    """The thing that was viewed."""


class Unrecorded(EventData, frozen=True, kw_only=True):
    """More notes of one kind came than are recorded."""

    user: str
    """The configured user of the program."""
    event: str
    """The type of the event that each of them would have been."""
    count: Count
    """The number of notes without a record."""
    since: Time
    """Since when."""


EVENTS = (
    EventType(name="login.accepted", data=Accepted, audience="restricted"),
    EventType(name="login.refused", data=Refused, audience="restricted"),
    EventType(name="login.locked", data=Locked, audience="restricted"),
    EventType(name="login.ended", data=Ended, audience="restricted"),
    EventType(name="login.unrecorded", data=Unrecorded, audience="restricted"),
    EventType(name="restricted.viewed", data=Viewed, audience="restricted"),
)
