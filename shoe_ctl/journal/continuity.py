"""The continuity of a journal with an earlier state: a copy, an export, a signed checkpoint.

Who holds the signing key can write a journal again so that it verifies. What somebody else kept of
it shows that, and up to where the two are alike.

In: readers, a note. Out: the first difference, or up to which record they are alike. Must not know:
where the earlier state was kept.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import signed_note
from shoe_ctl.journal.anchor import find_anchor
from shoe_ctl.journal.chain import (
    ORIGIN,
    BadRecord,
    Fault,
    NamedCheckpoint,
    read_checkpoint,
    read_note_text,
)
from shoe_ctl.journal.group import InvalidGroup, read_header
from shoe_ctl.journal.past_checkpoints import trees
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind, Row


class Continuity(msgspec.Struct, frozen=True):
    """The result: alike up to record ``upto``, or what differs first."""

    upto: int
    first_bad: BadRecord | None = None


def read_note_file(path: Path, reader: Reader, keys: frozenset[bytes]) -> NamedCheckpoint | None:
    """Read the signed note of a checkpoint of this journal; None where the file is no text.

    Raises:
        NoteError: it is another journal's, is signed by none of the keys, or is no checkpoint.
        JournalError: one of the files cannot be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(signed_note.LONGEST_NOTE + 1)
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}") from None
    if not data.startswith(ORIGIN.encode()):
        return None
    note = signed_note.read_note(data)
    named = read_note_text(note.text)
    newest = next(reader.indexed_records(JOURNAL, Kind.CHECKPOINT), None)
    if newest is None or read_checkpoint(newest.body).origin != named.origin:
        raise signed_note.NoteError(f"{path} is a checkpoint of another journal, {named.origin}")
    signed_note.verify_note(note, [signed_note.verifier_key(named.origin, key) for key in keys])
    return named


def compare_records(reader: Reader, earlier: Reader) -> Continuity:
    """Compare a journal with a copy or an export of it that was made earlier.

    Each group of it must be in the journal. Where the journal's own were removed, each checkpoint
    of it must be one that the journal signed; the groups between are chained to those.

    Raises:
        JournalError: one of them cannot be read.
    """
    begins = find_anchor(reader).n
    past = {row.n: row.leaf for row in reader.past_checkpoints()}
    rows = reader.rows()
    row: Row | None = None
    upto = 0
    for n, table, body, digest in earlier.rows():
        first = _first_record(n, body)
        if n < begins:
            if table == JOURNAL and past.get(first, digest) != digest:
                return Continuity(upto, _differs(table, first))
            upto = n
            continue
        while row is None or row[0] < n:
            row = next(rows, None)
            if row is None:
                detail = f"it ends before record {n} of the earlier one"
                return Continuity(upto, BadRecord(table, first, Fault.MISSING, detail))
        if (row[0], row[3]) != (n, digest):
            return Continuity(upto, _differs(table, first))
        upto = n
    return Continuity(upto)


def compare_checkpoint(reader: Reader, named: NamedCheckpoint) -> Continuity:
    """Compare a journal with the note of a checkpoint of it: the root of its tree at that size.

    Raises:
        JournalError: the journal cannot be read.
    """
    detail = f"its first {named.size} groups are not those of checkpoint {named.number}"
    differs = BadRecord(None, named.upto, Fault.REWRITTEN, detail)
    anchor = find_anchor(reader)
    tree = anchor.tree()
    if named.size < tree.size:
        for _, earlier in trees(reader.past_checkpoints()):
            if earlier.size == named.size and earlier.root() == named.root:
                return Continuity(named.upto)
        return Continuity(0, differs)
    for leaf in reader.leaf_hashes(anchor.n - 1):
        if tree.size == named.size:
            break
        tree.append(leaf)
    if tree.size < named.size:
        detail = f"it ends before record {named.upto}, which checkpoint {named.number} signed"
        return Continuity(0, BadRecord(None, reader.newest() or 0, Fault.MISSING, detail))
    return Continuity(named.upto) if tree.root() == named.root else Continuity(0, differs)


def compare_root(reader: Reader, upto: int, root: bytes) -> Continuity:
    """Compare a journal with the root of the checkpoint that signed it up to a record.

    Raises:
        JournalError: the journal cannot be read.
    """
    signed: bytes | None = None
    after = next(reader.indexed_records(JOURNAL, Kind.CHECKPOINT, after=upto), None)
    if after is not None and (said := read_checkpoint(after.body)).upto == upto:
        signed = said.root
    else:
        past = (tree.root() for row, tree in trees(reader.past_checkpoints()) if row.n - 1 == upto)
        signed = next(past, None)
    if signed is None:
        detail = (
            "no checkpoint signs the journal up to here: it was written again, or it was another"
        )
        return Continuity(0, BadRecord(None, upto, Fault.MISSING, detail))
    if signed != root:
        detail = "the checkpoint up to here has another root than the one that was noted"
        return Continuity(0, BadRecord(None, upto, Fault.REWRITTEN, detail))
    return Continuity(upto)


def _first_record(n: int, body: bytes) -> int:
    try:
        return n - read_header(body).records + 1
    except InvalidGroup:
        return n


def _differs(table: str, n: int) -> BadRecord:
    return BadRecord(table, n, Fault.REWRITTEN, "it is not what the earlier one has there")
