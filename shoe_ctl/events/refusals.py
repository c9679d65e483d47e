"""Events of refused commands, of events that a sink did not take, and of a disk that fills."""

from __future__ import annotations

from shoe_ctl.events.event_type import Count, Data, EventData, EventType, Message, Time


class CommandRefused(EventData, frozen=True, kw_only=True):
    """A command was refused."""

    command: str
    """The command, as it was given."""
    error: Message
    """Why it was refused."""


class CommandUnrecorded(EventData, frozen=True, kw_only=True):
    """More commands were refused than are recorded, of a user or of a person who logged in."""

    user: str
    """The user."""
    count: Count
    """The number refused without a record."""
    since: Time
    """Since when."""
    of_person: str | None = None
    """The person who gave them, where the user vouches for logins."""


class Delivery(EventData, frozen=True, kw_only=True):
    """An event that a sink did not take."""

    sink: str
    """The sink."""
    event: str
    """The id of the event."""
    type: str
    """The type of the event."""


class Parked(Delivery, frozen=True, kw_only=True):
    """A sink rejected an event, and the event is parked. Restricted only if the sink is."""


class Taken(Delivery, frozen=True, kw_only=True):
    """A sink took a parked event after all. Restricted only if the sink is restricted."""


class Lost(EventData, frozen=True, kw_only=True):
    """A sink lost events that it had acknowledged. They are offered to it again by themselves.

    Restricted only if the sink is restricted.
    """

    sink: str
    """The sink."""
    first: Count
    """The number in the id of the first event that it lost."""
    last: Count
    """The number of the last one."""


class Refilled(Lost, frozen=True, kw_only=True):
    """A sink was offered again all that it had lost. Restricted only if the sink is restricted."""

    refused: Count | None = None
    """The number of events that it refused this time; without it, none."""


class ParkedDetails(Data, frozen=True, kw_only=True):
    """Why the event was parked."""

    reason: Message
    """Why the sink rejected it; `detail` is what the sink reported."""


class DiskFilling(EventData, frozen=True, kw_only=True):
    """The disk of the journal is full within three days at the rate of the last hour."""

    full_at: Time
    """When it is full: then every table halts."""


class DiskRelieved(EventData, frozen=True, kw_only=True):
    """The disk of the journal is not full within three days any more."""


EVENTS = (
    EventType(name="command.refused", data=CommandRefused, audience="restricted"),
    EventType(name="command.unrecorded", data=CommandUnrecorded, audience="restricted"),
    EventType(name="delivery.parked", data=Parked, adds=(ParkedDetails,), audience="either"),
    EventType(name="delivery.taken", data=Taken, audience="either"),
    EventType(name="delivery.lost", data=Lost, audience="either"),
    EventType(name="delivery.refilled", data=Refilled, audience="either"),
    EventType(name="disk.filling", data=DiskFilling, audience="restricted"),
    EventType(name="disk.relieved", data=DiskRelieved, audience="restricted"),
)
