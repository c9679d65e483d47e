"""Changes of a journal's key: which keys signed it, and which of them vouch for which.

The checkpoint that changes the key names the old key and the new one in its note. The new key signs
it, and the old one, too, unless it is lost: so the old key endorses the new one. Whoever trusts the
old key can trust the new one; where nothing endorses it, that is a person's word alone.

In: a reader, notes, trusted keys. Out: keys. Must not know: where a key's file is, who rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from shoe_ctl.journal.chain import Checkpoint, note_of, read_checkpoint, read_note_text
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, InvalidRow, Kind
from shoe_ctl.journal.signed_note import NoteError, read_note, verifier_key, verify_note
from shoe_ctl.records import Record


def change_notes(reader: Reader, upto: int | None = None) -> Iterator[str]:
    """Yield the note of each change of the key that the journal knows of, oldest first.

    Those whose records were removed are among them. With ``upto`` only changes in records up to
    that one. What is no checkpoint is passed over: ``verify`` reports it.

    Raises:
        JournalError: the journal cannot be read.
    """
    newest, oldest = _end(reader, newest=True), _end(reader, newest=False)
    if newest is None or oldest is None:
        return
    if newest.begins is not None:
        yield from newest.begins.key_changes or ()
    if oldest.key_change is None and oldest.public_key == newest.public_key:
        return  # nearly always: not every checkpoint need be read
    for record in reader.indexed_records(JOURNAL, Kind.CHECKPOINT, after=0):
        if upto is not None and record.n > upto:
            return
        said = _read(record)
        if said is not None and said.key_change is not None:
            yield note_of(record.body).decode()


def _end(reader: Reader, *, newest: bool) -> Checkpoint | None:
    after = None if newest else 0
    records = reader.indexed_records(JOURNAL, Kind.CHECKPOINT, after=after)
    return next((said for said in map(_read, records) if said is not None), None)


def _read(record: Record) -> Checkpoint | None:
    with suppress(ValueError):
        return read_checkpoint(record.body)
    return None


def signing_keys(reader: Reader) -> frozenset[bytes]:
    """Return the public keys that this journal's checkpoints name, removed ones included.

    Raises:
        JournalError: the journal cannot be read.
    """
    found = {said.public_key for said in _ends(reader)}
    keys = set(map(bytes.fromhex, filter(_is_hex, found)))
    for note in change_notes(reader):
        if (change := read_change(note)) is not None:
            keys |= {change.old, change.new}
    return frozenset(keys)


def _ends(reader: Reader) -> Iterator[Checkpoint]:
    for newest in (True, False):
        if (said := _end(reader, newest=newest)) is not None:
            yield said


def _is_hex(key: str) -> bool:
    with suppress(ValueError):
        return bool(bytes.fromhex(key))
    return False


class ReadChange(NamedTuple):
    """A change of the key of the journal ``origin``, by its note, which the new key signed.

    ``size`` is that of the tree then; ``endorsed``: the old key signed it, too.
    """

    origin: str
    size: int
    old: bytes
    new: bytes
    endorsed: bool


def read_change(text: str) -> ReadChange | None:
    """Read the note of a change; None if it is none, or the new key did not sign it."""
    try:
        note = read_note(text.encode())
        named = read_note_text(note.text)
        if named.keys is None:
            return None
        old, new = map(bytes.fromhex, named.keys)
        verify_note(note, [verifier_key(named.origin, new)])
    except NoteError:
        return None
    try:
        verify_note(note, [verifier_key(named.origin, old)])
    except NoteError:
        return ReadChange(named.origin, named.size, old, new, endorsed=False)
    return ReadChange(named.origin, named.size, old, new, endorsed=True)


def endorsed_keys(notes: Collection[str], known: Iterable[bytes]) -> list[bytes]:
    """Return the keys that known ones endorse, directly or one through another, in that order.

    ``notes`` are of changes. One that the old key did not sign endorses nothing.
    """
    changes = [change for note in notes if (change := read_change(note)) is not None]
    return [change.new for change in _endorsed(changes, known)]


def _endorsed(changes: Iterable[ReadChange], known: Iterable[bytes]) -> list[ReadChange]:
    keys, found = set(known), list[ReadChange]()
    left = [change for change in changes if change.endorsed]
    while new := [each for each in left if each.old in keys and each.new not in keys]:
        keys.update(each.new for each in new)
        found += new
    return found


class Trust(NamedTuple):
    """The keys that a verifier accepts, none: any.

    ``vouching`` are those named and those they endorse. ``accepted`` are also the keys before
    them: a later checkpoint of a vouching key signs all that those signed.
    """

    vouching: frozenset[bytes] = frozenset()
    accepted: frozenset[bytes] = frozenset()


def trust_of(reader: Reader, named: frozenset[bytes]) -> Trust:
    """Return which keys of this journal are accepted if these are trusted.

    Raises:
        JournalError: the journal cannot be read.
    """
    if not named:
        return Trust()
    notes: list[str] = []
    with suppress(InvalidRow):  # whoever walks the records comes to it
        notes += change_notes(reader)
    changes = [change for note in notes if (change := read_change(note)) is not None]
    vouching = named.union(change.new for change in _endorsed(changes, named))
    accepted = set(vouching)
    for change in reversed(changes):
        if change.new in accepted:
            accepted.add(change.old)
    return Trust(vouching, frozenset(accepted))
