"""A journal's checkpoints as events, each with the proof that it continues an older one.

That is what a witness takes. The proof needs no records that were removed: what is kept of their
checkpoints is enough.

In: a reader. Out: events; the journal's verifier key. Must not know: how an event travels, what
a witness checks.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from shoe_ctl.errors import InputRefused, ShoeCtlError
from shoe_ctl.journal.anchor import WrongAnchor, find_anchor
from shoe_ctl.journal.chain import Checkpoint, note_of, read_checkpoint
from shoe_ctl.journal.files import corrupt_journal
from shoe_ctl.journal.key_changes import change_notes
from shoe_ctl.journal.merkle_tree import Frontier, KnownParts, UnknownPart, consistency_proof
from shoe_ctl.journal.past_checkpoints import trees
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.signed_note import VerifierKey, verifier_key
from shoe_ctl.records import Record, utc

CHECKPOINT_SIGNED = "checkpoint.signed"
"""The type of these events."""

_json = msgspec.json.Encoder()


class Signed(NamedTuple):
    """A checkpoint, and the note under which the journal signed it."""

    said: Checkpoint
    note: bytes

    @property
    def key(self) -> VerifierKey:
        """The key that signed it, as a witness needs it."""
        return verifier_key(self.said.origin, bytes.fromhex(self.said.public_key))


def newest_checkpoint(reader: Reader) -> Signed:
    """Return the newest checkpoint of a journal.

    Raises:
        InputRefused: the journal is an export, or has no checkpoint yet.
        JournalError: the file cannot be read.
    """
    if reader.is_export:
        raise InputRefused(f"{reader.path}: an export is no whole journal: name the journal")
    record = next(reader.indexed_records(JOURNAL, Kind.CHECKPOINT), None)
    if record is None:
        raise InputRefused(f"{reader.path}: no checkpoint yet: a running daemon signs one soon")
    return Signed(_read(reader, record), note_of(record.body))


def events_after(reader: Reader, n: int, limit: int) -> list[tuple[int, bytes]]:
    """Return the events of the first checkpoints behind record ``n``, each with its own record.

    The first of them continues the last checkpoint up to ``n``, also where the records between were
    removed; each other one continues the one before. Where ``n`` is 0 only the newest is returned:
    nobody has an older one.

    Raises:
        JournalError: the file cannot be read, or its groups are not those that were signed.
    """
    found: list[tuple[int, bytes]] = []
    old = _size_at(reader, n) if n else None
    coming = reader.indexed_records(JOURNAL, Kind.CHECKPOINT, after=n or None)
    changes = list(change_notes(reader))
    for record in islice(coming, limit if n else 1):
        signed = Signed(_read(reader, record), note_of(record.body))
        found.append((record.n, event(reader, signed, old, changes)))
        old = signed.said.size
    return found


def _size_at(reader: Reader, n: int) -> int | None:
    """Return the size of the tree that the checkpoint at record ``n`` signed; None without one."""
    for record in reader.indexed_records(JOURNAL, Kind.CHECKPOINT, before=n + 1):
        return _read(reader, record).size if record.n == n else None
    return next((row.size for row in reader.past_checkpoints() if row.n == n), None)


def event(
    reader: Reader, signed: Signed, old: int | None = None, changes: Sequence[str] | None = None
) -> bytes:
    """Return the event of a checkpoint, a line, with the proof from the tree of ``old`` groups.

    ``old`` is by default the size of the tree of the checkpoint before; 0 needs no proof.
    ``changes`` are the notes that changed the journal's key, where they were read already.

    Raises:
        InputRefused: the tree is smaller, or what is left of the journal has no proof from there.
        JournalError: the file cannot be read, or its groups are not those that were signed.
    """
    if changes is None:
        changes = list(change_notes(reader))
    while True:
        begins = reader.first_n()
        try:
            return _encode(signed, *_proof(reader, signed.said, old), changes)
        except ShoeCtlError:
            if reader.first_n() == begins:  # else a daemon removed records between two reads
                raise


def _encode(signed: Signed, old: int, proof: list[bytes], changes: Sequence[str]) -> bytes:
    said = signed.said
    line: dict[str, Any] = {
        "id": f"{said.origin}/{said.size}",
        "source": f"/{said.origin}",
        "type": CHECKPOINT_SIGNED,
        "time": utc(said.t_us),
        "data": {
            "note": signed.note.decode(),
            "old_size": old,
            "proof": [base64.b64encode(each).decode() for each in proof],
        },
        "specversion": "1.0",
    }
    if changes:
        line["data"]["key_changes"] = changes
    return _json.encode(line) + b"\n"


def _proof(reader: Reader, said: Checkpoint, old: int | None) -> tuple[int, list[bytes]]:
    """Return the size from which the proof is, and its hashes."""
    if old is not None and old > said.size:
        raise InputRefused(
            f"{reader.path}: its newest checkpoint has a tree of {said.size} groups, less than "
            f"{old}: it was cut, or it is another journal"
        )
    checkpoints = reader.indexed_records(JOURNAL, Kind.CHECKPOINT, before=said.upto + 1)
    try:
        for record in checkpoints:
            earlier = _read(reader, record)
            if old is None or earlier.size <= old:
                return _from_tree(reader, said, earlier.edge(), earlier.upto, old or earlier.size)
        if not old:
            return 0, []
        if (begins := find_anchor(reader).n) == 1:
            return _from_tree(reader, said, Frontier(), 0, old)
        return _from_past(reader, said, begins, old)
    except (ValueError, WrongAnchor) as error:
        raise corrupt_journal(reader.path, str(error)) from None


def _from_tree(
    reader: Reader, said: Checkpoint, tree: Frontier, after: int, old: int
) -> tuple[int, list[bytes]]:
    """Go on from a tree whose last group ends with record ``after``, to ``old``, and to the end."""
    leaves = reader.leaf_hashes(after)
    for leaf in islice(leaves, old - tree.size):
        tree.append(leaf)
    return old, _between(reader, said, tree, Frontier(old, start=old), leaves)


def _from_past(reader: Reader, said: Checkpoint, begins: int, old: int) -> tuple[int, list[bytes]]:
    """Prove it from a checkpoint whose records were removed; the journal begins at ``begins``."""
    tree: Frontier | None = None
    between = Frontier(old, start=old)
    leaf = b""
    for row, earlier in trees(reader.past_checkpoints()):
        if tree is not None:
            between.append(leaf)
            between.extend(row.size, row.hashes)
        elif earlier.size == old:
            tree = earlier
        leaf = row.leaf
    if tree is None:
        raise InputRefused(
            f"{reader.path}: the records around group {old} were removed, and no checkpoint has a "
            f"tree of {old} groups: name the size of one, as the witness says it"
        )
    return old, _between(reader, said, tree, between, reader.leaf_hashes(begins - 1))


def _between(
    reader: Reader, said: Checkpoint, tree: Frontier, between: Frontier, leaves: Iterator[bytes]
) -> list[bytes]:
    """Add what is missing ``between`` the older tree and the signed one; return the proof."""
    for leaf in islice(leaves, said.size - between.size):
        between.append(leaf)
    known = KnownParts()
    known.add_frontier(tree)
    known.add_frontier(between)
    try:
        if known.hash_of(0, said.size) == said.root:
            return consistency_proof(tree.size, said.size, known.hash_of)
    except UnknownPart:
        pass
    detail = f"its first {said.size} groups are not those that checkpoint {said.number} signed"
    raise corrupt_journal(reader.path, detail)


def _read(reader: Reader, record: Record) -> Checkpoint:
    try:
        return read_checkpoint(record.body)
    except ValueError:
        raise corrupt_journal(reader.path, f"record {record.n} is no checkpoint") from None
