"""Holds what a table emits against the catalogue of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shoe_ctl.events import check
from shoe_ctl.events.event_type import Actor
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import TableEvent


def copies(event: TableEvent) -> Iterator[tuple[Audience, dict[str, Any]]]:
    """Each stream that an event is on, with its data there."""
    told = {"revises": event.revises, "revokes": event.revokes, "reopens": event.reopens}
    ids = {key: "the id that the commit gives" for key, of in told.items() if of is not None}
    if event.audience is Audience.PUBLIC:
        yield Audience.PUBLIC, event.data | ids
    secret = event.data if event.restricted_data is None else event.restricted_data
    yield Audience.RESTRICTED, secret | ids


COMMON = frozenset({"round_id", "instance", *Actor.__struct_fields__})
"""Keys that the table adds to the data of an event, whatever it says."""


class OwnData(dict[str, Any]):
    """An event's data. It equals other data without a common key that only this one has.

    Whether the common keys are right is held for every event of a table by ``check_event``.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        own = {key: value for key, value in self.items() if key in other or key not in COMMON}
        return own == dict(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None


def check_event(event: TableEvent) -> None:
    """Hold an event against the catalogue.

    Raises:
        ValueError: it is not as the catalogue says.
    """
    about = event.subject if "-r" in (event.subject or "") else None
    for audience, data in copies(event):
        check(event.type, audience, data)
        if data.get("round_id") != about:
            raise ValueError(f"{event.type} is about {about}, its data about another round")
