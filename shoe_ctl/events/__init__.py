"""The catalogue of events: every type that a table emits, with its public and restricted data.

In: nothing. Out: EVENTS, check, and the documents that are made from them (``schema``).
Must not know: who emits an event, who receives it, the round, stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

if TYPE_CHECKING:
    from shoe_ctl.events.catalog import EVENTS, check
    from shoe_ctl.events.event_type import Data, EventType

__all__ = ["EVENTS", "Data", "EventType", "check"]

__getattr__ = lazy_names(
    __name__,
    {"EVENTS": "catalog", "check": "catalog", "Data": "event_type", "EventType": "event_type"},
)
