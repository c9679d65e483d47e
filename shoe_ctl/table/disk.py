"""The disk that the journal of this table lies on: a warning before it is full.

In: when it is full at the present rate. Out: disk.filling .relieved, restricted.
Must not know: what is stored, how the rate is measured.
"""

from __future__ import annotations

from shoe_ctl.records import utc
from shoe_ctl.table.inputs import DiskChecked
from shoe_ctl.table.turn import Turn


def emit_disk_use(turn: Turn) -> None:
    """Emit when the disk will be full, or that it will not be so soon.

    The rate depends on what the shoe sends, so that the public stream does not carry it.
    """
    full_us = turn.input_of(DiskChecked).full_us
    if full_us is None:
        turn.emit_restricted("disk.relieved", {})
    else:
        turn.emit_restricted("disk.filling", {"full_at": utc(full_us)})
