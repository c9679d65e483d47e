"""The head file beside a journal: where its chains ended, kept apart from the journal itself.

In: what was stored durably, table by table. Out: slots of a fixed size, each with a checksum; their
content. A journal that lost its newest part, in whatever way, is behind what stands here.
Must not know: what a record means, what follows from a difference.

Each chain has a pair of slots that are written in turn, so that a write which is torn costs the
newest number only: what it was about to say is stored by then. The first pair says which file the
journal is and how many chains there are. Slots are as long as what a disk writes as one.

The second slot of a pair is written first: a file that ends behind a first slot was cut.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import apsw
import msgspec

from shoe_ctl.journal import files
from shoe_ctl.journal.files import head_path

SLOT_BYTES = 512
"""A disk's sector, the smallest piece that it writes as one: a torn write spoils one slot."""

CHECK_BYTES = 16
"""Of a slot's SHA-256: enough to tell a torn slot from a whole one."""

LONGEST_NAME = 255
"""Bytes of a chain's name that are kept; chains are told apart by its digest."""

_CHAIN = b"SHOECHN1"
_FILE = b"SHOEFIL1"
_SLOT = struct.Struct(">8sQQ32s32sH")
"""Chain: magic, sequence, last record, its hash, digest and length of the name that follows."""
_FILE_SLOT = struct.Struct(">8sQQQI")
"""File: magic, sequence, the journal's inode, its bytes, how many chains."""

SYNC_EVERY = 64
"""Commits between two syncs of it while the journal is at work. A kill loses nothing of it, and an
end that a power failure left behind is harmless: it only shows less of a loss."""


class ChainEnd(msgspec.Struct, frozen=True):
    """A chain's end: its last record and that record's hash. ``pair`` is its place in the file.

    ``torn``: the other slot of the pair is damaged or cut off, and may be the newer one. A later
    record than this was then stored: by what can still be read of it, record ``at_least`` at least.
    """

    name: str
    n: int
    hash: bytes
    pair: int
    sequence: int
    torn: bool = False
    at_least: int = 0


class HeadFileContent(msgspec.Struct, frozen=True):
    """The content of a head file. ``inode`` and ``size`` (0: not known) are the journal's file.

    ``unreadable`` counts pairs of which neither slot can be read.
    """

    chains: Mapping[str, ChainEnd]
    inode: int
    size: int
    sequence: int
    unreadable: int


def read_head_file(journal: Path) -> HeadFileContent | None:
    """Read the head file; None where there is none, or an unfinished one.

    Raises:
        OSError: it cannot be read.
    """
    try:
        content = head_path(journal).read_bytes()
    except FileNotFoundError:
        return None
    file = _newest_file(content)
    if file is None:
        return None
    _, sequence, inode, size, count = file
    # An older slot of the file may count fewer chains than there are: all that stand here are read.
    there = [n for n in range(1, -(-len(content) // (2 * SLOT_BYTES))) if _is_written(content, n)]
    pairs = [_newest_chain(content, pair) for pair in sorted({*range(1, count + 1), *there})]
    chains = {chain.name: chain for chain in pairs if chain is not None}
    return HeadFileContent(chains, inode, size, sequence, pairs.count(None))


def digest_of(journal: Path) -> str:
    """Return the SHA-256 of the head file as it stands, in hex; empty where there is none.

    Raises:
        OSError: it cannot be read.
    """
    try:
        return sha256(head_path(journal).read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def begin_anew(journal: Path, ends: Mapping[str, tuple[int, bytes]]) -> None:
    """Replace the head file, whole or not at all, by one that knows these chains alone.

    All of them must be durable in the journal already.

    Raises:
        OSError: it cannot be written; the old one stands.
    """
    at = journal.stat()
    slots = [_sealed(_FILE_SLOT.pack(_FILE, 1, at.st_ino, at.st_size, len(ends)))]
    slots += [_sealed(_chain_slot(1, name, n, digest)) for name, (n, digest) in ends.items()]
    # The second slot of a pair is the one that is written first; the other one is empty yet.
    files.write_atomically(head_path(journal), (bytes(SLOT_BYTES) + slot for slot in slots))


def _chain_slot(sequence: int, name: str, n: int, digest: bytes) -> bytes:
    kept = name.encode()[:LONGEST_NAME]
    return _SLOT.pack(_CHAIN, sequence, n, digest, _digest(name), len(kept)) + kept


def _is_written(content: bytes, pair: int) -> bool:
    return any(slot.strip(b"\0") for slot in _slots(content, pair))


def _slots(content: bytes, pair: int) -> list[bytes]:
    at = 2 * pair * SLOT_BYTES
    return [content[at : at + SLOT_BYTES], content[at + SLOT_BYTES : at + 2 * SLOT_BYTES]]


def _is_sound(slot: bytes) -> bool:
    if len(slot) < SLOT_BYTES:
        return False
    return sha256(slot[:-CHECK_BYTES]).digest()[:CHECK_BYTES] == slot[-CHECK_BYTES:]


def _sealed(said: bytes) -> bytes:
    body = said.ljust(SLOT_BYTES - CHECK_BYTES, b"\0")
    return body + sha256(body).digest()[:CHECK_BYTES]


def _newest_file(content: bytes) -> tuple[bytes, int, int, int, int] | None:
    slots = [_FILE_SLOT.unpack_from(slot) for slot in _slots(content, 0) if _is_sound(slot)]
    sound = [slot for slot in slots if slot[0] == _FILE]
    return max(sound, key=lambda slot: slot[1], default=None)


def _newest_chain(content: bytes, pair: int) -> ChainEnd | None:
    slots = _slots(content, pair)
    damaged = [slot for slot in slots if slot.strip(b"\0") and not _is_sound(slot)]
    if slots[0] and not slots[1]:
        damaged.append(b"")
    found: ChainEnd | None = None
    for slot in slots:
        if not _is_sound(slot):
            continue
        magic, sequence, n, digest, _, length = _SLOT.unpack_from(slot)
        if magic != _CHAIN or (found is not None and found.sequence > sequence):
            continue
        name = slot[_SLOT.size : _SLOT.size + length].decode("utf-8", "replace")
        at_least = max((_record_in(slot) for slot in damaged), default=0)
        torn = bool(damaged)
        found = ChainEnd(name, n, digest, pair, sequence, torn, max(n + 1, at_least) if torn else n)
    return found


def _record_in(damaged: bytes) -> int:
    """Return the record that a damaged slot names, right or wrong; 0 where it is cut off."""
    return 0 if len(damaged) < _SLOT.size else int(_SLOT.unpack_from(damaged)[2])


class HeadFile:
    """The head file of an open journal, on the journal's file layer. It has one writer.

    Raises:
        apsw.Error, OSError: it cannot be opened, read or written.
    """

    def __init__(self, journal: Path, vfs: str | None) -> None:
        self._journal = journal
        found = read_head_file(journal)
        self._chains: dict[bytes, tuple[int, int]] = {}
        self._since_sync = 0
        self.is_due = False
        """True if enough was written since the last sync to sync again."""
        self._known: tuple[int, int, int] = (0, 0, 0)
        self._sequence = 0
        self._said: dict[bytes, tuple[int, bytes]] = {}
        if found is not None and not found.unreadable:
            self._sequence = found.sequence
            self._known = (found.inode, found.size, len(found.chains))
            for chain in found.chains.values():
                key = _digest(chain.name)
                self._chains[key] = (chain.pair, chain.sequence)
                if not chain.torn:
                    self._said[key] = (chain.n, chain.hash)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_CREATE
        self._file: _File | None = _File(vfs or "", str(head_path(journal)), [flags, 0])
        if not self._chains:
            self._file.xTruncate(0)  # what cannot be read is begun anew

    def write_ends(self, ends: Mapping[str, tuple[int, bytes]]) -> None:
        """Write where these chains end. All of it must be durable in the journal already.

        Raises:
            apsw.Error, OSError: it cannot be written.
        """
        known = len(self._chains)
        for name, (n, digest) in ends.items():
            key = _digest(name)
            if self._said.get(key) == (n, digest):
                continue
            pair, sequence = self._chains.get(key, (len(self._chains) + 1, 0))
            sequence += 1
            self._write(pair, sequence, _chain_slot(sequence, name, n, digest))
            self._chains[key] = (pair, sequence)
            self._said[key] = (n, digest)
        if len(self._chains) > known:
            self.sync()  # the first pair counts a chain only once it is sure to be there
        self._note_file()

    def _note_file(self) -> None:
        at = os.stat(self._journal)  # noqa: PTH116 - at every commit
        known = (at.st_ino, at.st_size, len(self._chains))
        if known != self._known:
            self._sequence += 1
            self._write(0, self._sequence, _FILE_SLOT.pack(_FILE, self._sequence, *known))
            self._known = known

    def _write(self, pair: int, sequence: int, said: bytes) -> None:
        assert self._file is not None
        self._file.xWrite(_sealed(said), (2 * pair + (sequence & 1)) * SLOT_BYTES)
        self._since_sync += 1
        self.is_due = self._since_sync >= SYNC_EVERY

    def sync(self) -> None:
        """Sync the file: what was written outlasts a power failure.

        Raises:
            apsw.Error: it is not sure.
        """
        if self._since_sync and self._file is not None:
            self._file.xSync(apsw.SQLITE_SYNC_NORMAL)
            self._since_sync, self.is_due = 0, False

    def close(self) -> None:
        """Close the file. Never raises."""
        if self._file is not None:
            with suppress(apsw.Error):
                self._file.xClose()
            self._file = None


@lru_cache(1 << 14)
def _digest(name: str) -> bytes:
    return sha256(name.encode()).digest()


class _File(apsw.VFSFile):
    """A file of the file layer that the journal is on."""
