"""Past checkpoints: a row for each, which keeps the Merkle tree where records were removed.

A row has the hash of the checkpoint's own group, and those of the full parts of the tree between
the checkpoint before it and this one. From all of them the root of every checkpoint that the
journal ever signed is computed. So an export, or a note that a witness has, is compared with a
journal from which the records were removed long ago.

In: a connection, or rows. Out: roots. Must not know: what a record means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from shoe_ctl.journal.merkle_tree import HASH_BYTES, Frontier

TABLE: Final = """
CREATE TABLE past_checkpoint (
    n     INTEGER PRIMARY KEY,
    size  INTEGER NOT NULL,
    leaf  BLOB NOT NULL,
    parts BLOB NOT NULL
) STRICT;
"""

INSERT: Final = "INSERT INTO past_checkpoint VALUES (?, ?, ?, ?)"


class PastCheckpoint(NamedTuple):
    """A checkpoint whose records were removed, or the one that the journal begins with.

    ``n`` is its record, ``size`` counts the groups before it, ``leaf`` is its group's hash.
    ``parts`` are the hashes of the full parts between the checkpoint before it and this one.
    """

    n: int
    size: int
    leaf: bytes
    parts: bytes

    @property
    def hashes(self) -> list[bytes]:
        """The hashes that ``parts`` holds, one after another."""
        starts = range(0, len(self.parts), HASH_BYTES)
        return [self.parts[at : at + HASH_BYTES] for at in starts]


def past_checkpoint(n: int, leaf: bytes, between: Frontier) -> PastCheckpoint:
    """Return what is kept of checkpoint ``n``; ``between`` are the groups since the last one."""
    return PastCheckpoint(n, between.size, leaf, b"".join(between.hashes))


def trees(rows: Iterable[PastCheckpoint]) -> Iterator[tuple[PastCheckpoint, Frontier]]:
    """Yield each row, in order, and the tree that its checkpoint signed.

    Raises:
        ValueError: a row does not follow from the one before.
    """
    tree = Frontier()
    for row in rows:
        if row.size < tree.size or len(row.leaf) != HASH_BYTES or len(row.parts) % HASH_BYTES:
            raise ValueError(f"what is kept of checkpoint {row.n} does not follow the one before")
        try:
            tree.extend(row.size, row.hashes)
        except ValueError:
            raise ValueError(f"what is kept of checkpoint {row.n} is of another length") from None
        yield row, tree.copy()
        tree.append(row.leaf)
