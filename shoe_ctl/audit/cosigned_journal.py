"""A journal and what witnesses cosigned of it.

In: a journal, lines that witnesses handed out, the keys of the witnesses. Out: the cosignatures
that hold. Must not know: how lines arrive, how a report looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.chain import read_checkpoint
from shoe_ctl.journal.cosignatures import read_cosignatures, read_cosigned
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.signed_note import (
    Note,
    NoteError,
    VerifierKey,
    read_checkpoint_text,
    verifier_key,
    verify_note,
)


def signing_keys(reader: Reader) -> frozenset[bytes]:
    """Return the public keys that this journal's checkpoints name.

    Raises:
        JournalError: the file cannot be read.
    """
    found: set[bytes] = set()
    for record in reader.indexed_records(JOURNAL, Kind.CHECKPOINT):
        try:
            found.add(bytes.fromhex(read_checkpoint(record.body).public_key))
        except ValueError:
            continue  # `shoectl verify` names it
    return frozenset(found)


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
