"""A journal and what witnesses cosigned of it.

In: a journal, lines that witnesses handed out, the keys of the witnesses. Out: the cosignatures
that hold. Must not know: how lines arrive, how a report looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import msgspec

from shoe_ctl.audit.placement import Stretch, TableStretch, tables_of
from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.anchor import WrongAnchor, find_anchor
from shoe_ctl.journal.chain import read_checkpoint, read_note_text
from shoe_ctl.journal.cosignatures import read_cosignatures, read_cosigned
from shoe_ctl.journal.key_changes import signing_keys
from shoe_ctl.journal.past_checkpoints import trees
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.signed_note import (
    CheckpointText,
    Note,
    NoteError,
    VerifierKey,
    read_checkpoint_text,
    verifier_key,
    verify_note,
)
from shoe_ctl.records import utc


class Witnessed(msgspec.Struct, frozen=True):
    """A journal by what a witness saw: nothing was changed up to record ``upto``, at ``t_s``.

    ``upto`` and ``t_s`` are None where no cosignature agrees. ``first_other`` is the size of the
    smallest tree that the witness saw otherwise, and ``other_t_s`` when: the journal was changed.
    ``changed`` says where the first change is, and ``tables`` what the journal has there now.
    ``other_journal`` is the name of a journal of the same key, where the witness saw that one only.
    """

    witness: str
    upto: int | None = None
    t_s: int | None = None
    first_other: int | None = None
    other_t_s: int | None = None
    changed: Stretch | None = None
    tables: list[TableStretch] = []
    other_journal: str | None = None

    @property
    def ok(self) -> bool:
        """Return True if the witness saw this journal, and no other."""
        return self.upto is not None and self.first_other is None

    @property
    def text(self) -> str:
        """The finding in one line, for people."""
        parts = []
        if self.first_other is not None and self.other_t_s is not None:
            seen = utc(self.other_t_s * 1_000_000)
            parts.append(f"CHANGED: it saw another tree of {self.first_other:,} groups, {seen}")
            if self.changed is not None:
                parts.append(f"the first change is in {self.changed.text}")
            parts += [each.text for each in self.tables]
        if self.other_journal is not None:
            parts.append(f"it saw another journal of this key, {self.other_journal}")
        if self.upto is not None and self.t_s is not None:
            seen = utc(self.t_s * 1_000_000)
            parts.append(f"nothing was changed up to record {self.upto:,}, seen {seen}")
        return "; ".join(parts) or "no cosignature of this journal is stored"


def compare(
    reader: Reader,
    path: Path,
    witnesses: Sequence[VerifierKey],
    trusted: frozenset[bytes] = frozenset(),
    *,
    verified_to: int | None = None,
) -> list[Witnessed]:
    """Compare a journal with the cosignatures stored at ``path``.

    ``trusted`` are public keys that the journal is known to be signed with, whatever it says.
    ``verified_to`` is the last record that its own signatures hold for, where they do not hold for
    all: what a checkpoint behind that says is no evidence that nothing was changed.

    Raises:
        InputRefused: the journal is an export: it holds a part of the tree.
        JournalError: a file cannot be read.
    """
    if reader.is_export:
        raise InputRefused(f"{reader.path}: an export is no whole journal: verify that --witness")
    claims = Claims(signing_keys(reader) | trusted, witnesses)
    claims.read_stored(path)
    origin = _origin(reader)
    cosigned = [(said, key, t_s) for said, key, t_s in claims.cosigned() if said.origin == origin]
    others = [each for each in claims.cosigned() if each[0].origin != origin]
    roots = _roots(reader, {said.size for said, _, _ in cosigned})
    found = {str(key): Witnessed(key.name) for key in witnesses}
    begins: dict[str, tuple[int, int | None]] = dict.fromkeys(found, (0, None))
    for said, key, t_s in cosigned:
        before, upto = found[key], _upto(said)
        if roots.get(said.size) == said.root:
            begins[key] = upto, _signed_at(said)
            if verified_to is None or upto <= verified_to:
                found[key] = msgspec.structs.replace(before, upto=upto, t_s=t_s)
        elif before.first_other is None:
            after, since_us = begins[key]
            changed = Stretch(after + 1, _upto(said), since_us, _signed_at(said))
            found[key] = msgspec.structs.replace(
                before,
                first_other=said.size,
                other_t_s=t_s,
                changed=changed,
                tables=tables_of(reader, changed),
            )
    for said, key, t_s in others:  # who changes a journal's first records gives it another name
        if found[key].upto is None and found[key].first_other is None:
            changed = Stretch(1, _upto(said), None, _signed_at(said))
            found[key] = msgspec.structs.replace(
                found[key],
                first_other=said.size,
                other_t_s=t_s,
                changed=changed,
                tables=tables_of(reader, changed),
                other_journal=said.origin,
            )
    return list(found.values())


def _origin(reader: Reader) -> str | None:
    """Return the journal's name, as its newest checkpoint has it that can be read."""
    for record in reader.indexed_records(JOURNAL, Kind.CHECKPOINT):
        try:
            return read_checkpoint(record.body).origin
        except ValueError:
            continue  # `shoectl verify` names it
    return None


def _signed_at(said: CheckpointText) -> int:
    return read_note_text(said.to_text()).t_us


def _upto(said: CheckpointText) -> int:
    return read_note_text(said.to_text()).upto


def _roots(reader: Reader, sizes: AbstractSet[int]) -> dict[int, bytes]:
    """Return the root of the journal's tree at each of these sizes, where it has one."""
    found: dict[int, bytes] = {}
    for row, tree in trees(reader.past_checkpoints()):
        if row.size in sizes:
            found[row.size] = tree.root()
    for record in reader.indexed_records(JOURNAL, Kind.CHECKPOINT):
        try:
            said = read_checkpoint(record.body)
        except ValueError:
            continue  # `shoectl verify` names it
        if said.size in sizes:
            found[said.size] = said.root
    if missing := sizes - found.keys():  # whoever wrote it again signed it elsewhere
        found |= _computed_roots(reader, missing)
    return found


def _computed_roots(reader: Reader, sizes: AbstractSet[int]) -> dict[int, bytes]:
    """Return the roots at sizes that no checkpoint of the journal has, by its groups."""
    try:
        anchor = find_anchor(reader)
    except WrongAnchor:
        return {}  # `shoectl verify` names it
    tree, found = anchor.tree(), {}
    for leaf in reader.leaf_hashes(anchor.n - 1):
        tree.append(leaf)
        if tree.size in sizes:
            found[tree.size] = tree.root()
    return found


class Claims:
    """The cosignatures of a journal's checkpoints by known witnesses.

    ``keys`` are the journal's public keys. ``repeated`` counts lines that were there already.
    """

    def __init__(self, keys: frozenset[bytes], witnesses: Iterable[VerifierKey]) -> None:
        self._keys = keys
        self._witnesses = tuple(witnesses)
        self._known: set[tuple[str, str, int]] = set()
        self.repeated = 0

    def read_stored(self, path: Path) -> None:
        """Take up what is stored; lines that do not hold are passed over.

        Raises:
            JournalError: the file cannot be read.
        """
        for _, note in read_cosignatures(path):
            if isinstance(note, Note):
                try:
                    self._known.update(self._verify(note))
                except InputRefused:
                    continue

    def add(self, line: bytes) -> bool:
        """Return True if a line holds and has something new.

        Raises:
            InputRefused: it is torn, of another journal, or not by a known witness.
        """
        note = read_cosigned(line)
        if note is None:
            return False
        found = self._verify(note)
        is_new = not self._known.issuperset(found)
        self._known.update(found)
        self.repeated += not is_new
        return is_new

    def cosigned(self) -> list[tuple[CheckpointText, str, int]]:
        """Return what each cosignature says, the witness's verifier key, and the time; by size."""
        found = [(read_checkpoint_text(text), key, t_s) for text, key, t_s in self._known]
        return sorted(found, key=lambda each: (each[0].size, each[1], each[2]))

    def _verify(self, note: Note) -> set[tuple[str, str, int]]:
        """Return text, witness and time of each cosignature.

        Raises:
            InputRefused: the journal did not sign the note, or no known witness did.
        """
        said = read_checkpoint_text(note.text)
        own = [verifier_key(said.origin, key) for key in self._keys]
        try:
            verify_note(note, own)
        except NoteError:
            line = f"size {said.size} of {said.origin}: a checkpoint of another journal"
            raise InputRefused(line) from None
        return {
            (note.text, str(each.key), each.t_s or 0) for each in verify_note(note, self._witnesses)
        }
