"""The hash that ties every record of a table to the one before it.

In: the hash before, a record's number, table, kind and body. Out: the record's hash.
Must not know: stores, groups, what a body means.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from hashlib import sha256

GENESIS = bytes(32)
"""What the first record of a table follows."""

_HEAD = struct.Struct(">QHHQ")


def link(before: bytes, n: int, table: str, kind: str, body: bytes) -> bytes:
    """The hash of record ``n``: 32 bytes of SHA-256.

    Hashed are, one after another: the hash of the table's record before it (32 bytes, zeros for
    the first), ``n`` (8 bytes), the lengths in bytes of ``table`` (2), ``kind`` (2) and ``body``
    (8), all big-endian, then ``table`` and ``kind`` in UTF-8 and ``body``. With its lengths in
    front no two different records give the same bytes.
    """
    return Names(table, kind).link(before, n, body)


class Names:
    """A table and a kind, made ready for many links.

    ``count`` is for whoever counts records; ``kept`` for who keeps some kinds' numbers, ``see`` for
    who looks at the bodies of some.
    """

    __slots__ = ("_bytes", "_kind_length", "_table_length", "count", "kept", "see")

    def __init__(self, table: str, kind: str) -> None:
        table_bytes, kind_bytes = table.encode(), kind.encode()
        self._table_length, self._kind_length = len(table_bytes), len(kind_bytes)
        self._bytes = table_bytes + kind_bytes
        self.count = 0
        self.kept: set[int] | None = None
        self.see: Callable[[bytes], None] | None = None

    def link(self, before: bytes, n: int, body: bytes) -> bytes:
        """As ``link``, of a record of this table and kind."""
        head = _HEAD.pack(n, self._table_length, self._kind_length, len(body))
        return sha256(before + head + self._bytes + body).digest()
