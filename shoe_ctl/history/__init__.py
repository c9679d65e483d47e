"""The history of a table: recorded, and read again when the daemon starts.

``recorder`` adds bytes, inputs and events to a journal group, ``snapshots`` a table's state.
``event_ids`` knows which events answered a command or reported an outcome, ``shoe_sections`` which
records belong to which set of cards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

if TYPE_CHECKING:
    from shoe_ctl.history.event_ids import EventIndex
    from shoe_ctl.history.recorder import TableRecorder, record_input
    from shoe_ctl.history.shoe_sections import ShoeSection, find_section
    from shoe_ctl.history.snapshots import RecoveredTable
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "EventIndex": "event_ids",
            "RecoveredTable": "snapshots",
            "ShoeSection": "shoe_sections",
            "TableRecorder": "recorder",
            "find_section": "shoe_sections",
            "record_input": "recorder",
        },
    )

__all__ = [
    "EventIndex",
    "RecoveredTable",
    "ShoeSection",
    "TableRecorder",
    "find_section",
    "record_input",
]
