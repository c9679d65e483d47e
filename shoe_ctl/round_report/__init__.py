"""Reports on rounds, read from a journal: found, collected, worded and laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

if TYPE_CHECKING:
    from shoe_ctl.round_report.collect import Entry, ReportedEvent, RoundReport
    from shoe_ctl.round_report.lookup import RoundLocation, find_round, last_rounds
    from shoe_ctl.round_report.render import render_page
    from shoe_ctl.round_report.summary import summary_lines
    from shoe_ctl.round_report.wording import event_words
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Entry": "collect",
            "ReportedEvent": "collect",
            "RoundLocation": "lookup",
            "RoundReport": "collect",
            "event_words": "wording",
            "find_round": "lookup",
            "last_rounds": "lookup",
            "render_page": "render",
            "summary_lines": "summary",
        },
    )

__all__ = [
    "Entry",
    "ReportedEvent",
    "RoundLocation",
    "RoundReport",
    "event_words",
    "find_round",
    "last_rounds",
    "render_page",
    "summary_lines",
]
