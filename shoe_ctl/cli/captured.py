"""Captures as commands read them: told from a shoe's own bytes, line by line, mistakes placed.

In: the bytes of a file as they come. Out: its header, its entries; or the bytes as they were.
Must not know: what the bytes mean, how they are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeVar

from firmware_proto.capture import (
    LONGEST_LINE,
    Chunk,
    Entry,
    Header,
    is_capture,
    read_entry,
    read_header,
)
from shoe_ctl.errors import InputRefused

_START = b'{"capture":'
_Read = TypeVar("_Read")


def told_apart(chunks: Iterable[bytes]) -> tuple[bool, Iterator[bytes]]:
    """Whether this is a capture, and the bytes; takes no more of them than it needs to tell."""
    coming = iter(chunks)
    seen = b""
    for chunk in coming:
        seen += chunk
        if len(seen) >= len(_START) or not _START.startswith(seen):
            break
    return is_capture(seen), chain((seen,) if seen else (), coming)


class Captured:
    """A capture being read. ``header`` is there at once, the entries as the bytes come."""

    def __init__(self, chunks: Iterable[bytes], name: str) -> None:
        self._name = name
        self._lines = enumerate(_lines(chunks, name), start=1)
        self.header: Header = self._next(read_header)

    def entries(self) -> Iterator[Entry]:
        """All that follows the header.

        Raises:
            InputRefused: a line that is none of a capture, with its number.
        """
        for number, text in self._lines:
            yield self._read(number, text, read_entry)

    def _next(self, read: Callable[[str], _Read]) -> _Read:
        number, text = next(self._lines, (1, ""))  # its first line may have been cut off
        return self._read(number, text, read)

    def _read(self, number: int, text: str, read: Callable[[str], _Read]) -> _Read:
        try:
            return read(text)
        except ValueError as error:
            raise InputRefused(f"{self._name}: line {number}: {error}") from None


def streams(entries: Iterable[Entry], sender: str) -> Iterator[Iterator[bytes]]:
    """What this end sent, a stream for each time that the port was opened."""
    from firmware_proto.capture import Opened

    coming = iter(entries)
    at_end = False

    def one() -> Iterator[bytes]:
        nonlocal at_end
        for entry in coming:
            if isinstance(entry, Opened):
                return
            if isinstance(entry, Chunk) and entry.sender == sender:
                yield entry.data
        at_end = True

    while not at_end:
        stream = one()
        yield stream
        for _ in stream:  # what the caller left of it
            pass


def _lines(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    """Whole lines; one without an end was cut off while it was written, and is left out."""
    kept = b""
    for chunk in chunks:
        *whole, kept = (kept + chunk).split(b"\n")
        for line in whole:
            if line.strip():
                yield line.decode("utf-8", "replace")
        if len(kept) > LONGEST_LINE:
            raise InputRefused(f"{name}: a line of more than {LONGEST_LINE:,} bytes")
