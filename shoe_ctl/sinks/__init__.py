"""Where events go: the pump that delivers a stream, and JSON lines to a file or an output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

if TYPE_CHECKING:
    from shoe_ctl.sinks.jsonl import JsonlFile, JsonlStream, open_jsonl
    from shoe_ctl.sinks.jsonl_tail import newest_ids
    from shoe_ctl.sinks.pump import EventRefused, Pump, Sink, SinkEnded
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "EventRefused": "pump",
            "JsonlFile": "jsonl",
            "JsonlStream": "jsonl",
            "Pump": "pump",
            "Sink": "pump",
            "SinkEnded": "pump",
            "newest_ids": "jsonl_tail",
            "open_jsonl": "jsonl",
        },
    )

__all__ = [
    "EventRefused",
    "JsonlFile",
    "JsonlStream",
    "Pump",
    "Sink",
    "SinkEnded",
    "newest_ids",
    "open_jsonl",
]
