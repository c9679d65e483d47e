"""The daemon: tables at work, what people ask, events delivered, the journal kept and reopened.

``daemon`` wires links, tables, the journal and the sinks to one another. ``table_runner`` runs one
table: ``shoe_link`` receives, ``command_answers`` answers, ``transactions`` stores. ``requests`` is
asked by people, ``delivery`` feeds the sinks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_ctl.lazy_names import lazy_names

if TYPE_CHECKING:
    from shoe_ctl.daemon.daemon import Daemon
    from shoe_ctl.daemon.delivery import NamedSink
    from shoe_ctl.daemon.environment import Environment
    from shoe_ctl.daemon.table_runner import TableRunner
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Daemon": "daemon",
            "Environment": "environment",
            "NamedSink": "delivery",
            "TableRunner": "table_runner",
        },
    )

__all__ = ["Daemon", "Environment", "NamedSink", "TableRunner"]
