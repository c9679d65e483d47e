"""The catalogue: every type of event by name, and the check of an event against it.

In: the families of events. Out: EVENTS, FAMILIES, check.
Must not know: documents, who emits events.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from shoe_ctl.events import (
    applied_outcomes,
    hands,
    irregularities,
    logins,
    refusals,
    shoe,
    table_start,
    wagers,
)
from shoe_ctl.events import round as rounds
from shoe_ctl.events.event_type import EventType
from shoe_ctl.records import Audience

FAMILIES: Mapping[str, tuple[EventType, ...]] = MappingProxyType(
    {
        "The start": table_start.EVENTS,
        "The round": rounds.EVENTS,
        "Hands and methods": hands.EVENTS,
        "Irregularities and halts": irregularities.EVENTS,
        "Wagers": wagers.EVENTS,
        "The shoe": shoe.EVENTS,
        "Applied outcomes": applied_outcomes.EVENTS,
        "Commands and delivery": refusals.EVENTS,
        "Logins": logins.EVENTS,
    }
)
"""The types by family, in the order of the docs."""

EVENTS: Mapping[str, EventType] = MappingProxyType(
    {event.name: event for family in FAMILIES.values() for event in family}
)
"""Every type of event, by its name."""


def check(name: str, audience: Audience, data: Mapping[str, Any]) -> None:
    """Hold an event of this type and stream against the catalogue, strictly.

    Raises:
        ValueError: the catalogue has no such type, the type is never on this stream, or the data
            has a key too many, lacks one, or has another value than its field takes. The message
            names the type and the field.
    """
    event = EVENTS.get(name)
    if event is None:
        raise ValueError(f"{name} is no type of the catalogue")
    expected = event.public if audience is Audience.PUBLIC else event.restricted
    if expected is None:
        raise ValueError(f"{name} is restricted: it is never on the public stream")
    try:
        msgspec.convert(data, expected)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}, {audience.name.lower()}: {error}") from error
