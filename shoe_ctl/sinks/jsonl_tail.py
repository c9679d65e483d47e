"""The end of a ``jsonl`` sink's file: evidence of the events that were published last.

In: a path. Out: the newest ids that stand at its end, by source and audience. It only reads.
Must not know: the journal, what an event means, who compares.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from shoe_ctl.records import Audience, event_id

MOST_BYTES = 1 << 20
"""So much of the file's end is read: about two thousand events, of whichever tables were busy. A
file of years costs a start no more."""


class _Line(msgspec.Struct):
    id: str
    source: str


_decoder = msgspec.json.Decoder(_Line)

Newest = Mapping[tuple[str, Audience], int]
"""By source and audience: the highest number of an id; what was written last stands last."""


def newest_ids(path: Path) -> Newest | None:
    """Return the highest numbers at the file's end; None where there is no such file.

    A line that was cut off, or is none of ours, says nothing.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MOST_BYTES))
            lines = file.read(MOST_BYTES).split(b"\n")
    except FileNotFoundError:
        return None
    found: dict[tuple[str, Audience], int] = {}
    for line in lines:
        try:
            said = _decoder.decode(line)
            _, audience, number = event_id(said.id)
        except ValueError:
            continue
        key = (said.source, audience)
        found[key] = max(number, found.pop(key, 0))
    return found


def lines_behind(path: Path, is_lost: Callable[[str, str], bool | None]) -> list[bytes]:
    """Return the lines at the file's end of which the journal does not have the event, in order.

    ``is_lost`` is given an id and its source; None says that it is of no table of the journal. The
    file is in the order of the journal: it is read backwards to the first piece of ``MOST_BYTES``
    in which no line is lost.

    Raises:
        OSError: the file cannot be read.
    """
    found: list[bytes] = []
    with path.open("rb") as file:
        start = file.seek(0, os.SEEK_END)
        rest = b""
        while start:
            end, start = start, max(0, start - MOST_BYTES)
            file.seek(start)
            lines = (file.read(end - start) + rest).split(b"\n")
            rest = lines.pop(0) if start else b""
            lost = []
            for line in lines:
                try:
                    said = _decoder.decode(line)
                    if is_lost(said.id, said.source):
                        lost.append(line)
                except ValueError:
                    continue
            if not lost:
                break
            found = lost + found
    return found
