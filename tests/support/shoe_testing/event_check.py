"""Holds what a table emits against the catalogue of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoe_ctl.events import check
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import TableEvent


def copies(event: TableEvent) -> Iterator[tuple[Audience, dict[str, Any]]]:
    """Each stream that an event is on, with its data there."""
    revises = {} if event.revises is None else {"revises": "the id that the commit gives"}
    if event.audience is Audience.PUBLIC:
        yield Audience.PUBLIC, event.data | revises
    secret = event.data if event.restricted_data is None else event.restricted_data
    yield Audience.RESTRICTED, secret | revises


def check_event(event: TableEvent) -> None:
    """Hold an event against the catalogue.

    Raises:
        ValueError: it is not as the catalogue says.
    """
    for audience, data in copies(event):
        check(event.type, audience, data)
