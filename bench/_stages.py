"""`shoectl`, with a note of the time where a card passes from one stage to the next.

In: the file to write to, then what shoectl is given. Out: a JSON array for each card that was
acknowledged: nanoseconds since the port had bytes to read, stage by stage (``STAGES``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from shoe_ctl.cli.entry_point import main as shoectl
from shoe_ctl.daemon.shoe_link import ShoeLink
from shoe_ctl.daemon.transactions import TableTransactions
from shoe_ctl.journal.head_file import HeadFile
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.store import Store
from shoe_ctl.link.connection import Connection
from shoe_ctl.link.transport import DescriptorTransport

STAGES = (
    "wake the connection, read the bytes",
    "decode",
    "begin the group",
    "controller, records",
    "hand to the journal",
    "pack, hash",
    "to the writer's thread",
    "commit, sync",
    "head file",
    "back to the loop",
    "tell the sinks",
    "resume the table",
    "acknowledge",
)
"""Each stage begins where the one before it ends; the first at the loop's word of bytes."""

Mark = tuple[type, str, str]

MARKS: tuple[Mark, ...] = (
    (DescriptorTransport, "_readable", "begin"),
    (Connection, "_take", "begin"),
    (ShoeLink, "receive", "begin"),
    (TableTransactions, "run_reception", "begin"),
    (TableTransactions, "run_reception", "end"),
    (Store, "prepare", "begin"),
    (Store, "prepare", "end"),
    (Store, "commit_prepared", "begin"),
    (HeadFile, "write_ends", "begin"),
    (HeadFile, "write_ends", "end"),
    (Journal, "_written", "begin"),
    (Journal, "_notify", "end"),
    (Connection, "stored", "begin"),
    (DescriptorTransport, "write", "end"),
)
"""What is noted, in the order of a card. A card that passes them in another order is left out."""


class Notes:
    """The times of the card that is on its way, and of all that came to their end."""

    def __init__(self) -> None:
        self.cards: list[list[int]] = []
        self._times: list[int] = []

    def note(self, position: int) -> None:
        """A mark is passed; the first one begins a card."""
        if position == 0:
            self._times = []
        if position != len(self._times):
            return
        self._times.append(perf_counter_ns())
        if position == len(MARKS) - 1:
            self.cards.append([at - self._times[0] for at in self._times[1:]])

    def watch(self, of: type, name: str) -> None:
        """Note when this method begins and ends, as ``MARKS`` ask."""
        wanted = {
            edge: at
            for at, (owner, method, edge) in enumerate(MARKS)
            if (owner, method) == (of, name)
        }
        inner: Callable[..., Any] = getattr(of, name)

        @wraps(inner)
        def noted(*args: Any, **named: Any) -> Any:
            if "begin" in wanted:
                self.note(wanted["begin"])
            result = inner(*args, **named)  # of a coroutine only the beginning is noted
            if "end" in wanted:
                self.note(wanted["end"])
            return result

        setattr(of, name, noted)


def main() -> None:
    """Run shoectl, then write what was noted."""
    target = Path(sys.argv.pop(1))
    notes = Notes()
    for of, name in dict.fromkeys((of, name) for of, name, _ in MARKS):
        notes.watch(of, name)
    try:
        shoectl()
    finally:
        target.write_text(json.dumps(notes.cards))


if __name__ == "__main__":
    main()
