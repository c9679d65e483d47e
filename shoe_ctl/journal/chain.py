"""The hash chain of each table, and the signed checkpoints of all chains.

``chain_hash`` ties every group of a table to the one before it. The same hashes are the leaves of
the journal's Merkle tree. A ``Checkpoint`` signs the tree's root and where every chain ends;
``Checkpoints`` compares both with those that a walk over the records finds.

In: records, keys. Out: hashes; the first BadRecord. Must not know: stores, what a body means.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from enum import Enum
from hashlib import sha256

import msgspec
from msgspec import UNSET, UnsetType

from shoe_ctl.journal import signed_note
from shoe_ctl.journal.group import hashed_bytes
from shoe_ctl.journal.merkle_tree import LEAF, Frontier
from shoe_ctl.journal.record_format import JOURNAL, Ruling
from shoe_ctl.journal.signed_note import CheckpointText, Note, NoteError
from shoe_ctl.journal.signing import Signer

GENESIS = bytes(32)
"""The hash that the first group of a table follows."""

ORIGIN = "shoe-ctl/journal/"
"""The beginning of a journal's name in its checkpoints. 16 bytes of its first group's hash follow,
in hex: no other journal begins so."""

_HEAD = struct.Struct(">QHQ")
"""``n``, the table's and the body's lengths."""

pack_head = _HEAD.pack


def chain_hash(before: bytes, n: int, table: str, body: bytes) -> bytes:
    """Return the hash of the group that ends with record ``n``: 32 bytes of SHA-256.

    Hashed are, one after another: a zero byte, the hash of the table's group before it (32 bytes,
    zeros for the first), ``n`` (8 bytes), the lengths in bytes of ``table`` (2) and ``body`` (8),
    all big-endian, then ``table`` in UTF-8 and ``body``, as the file holds it. With its lengths in
    front no two different groups give the same bytes. The zero byte makes it the hash of a leaf by
    RFC 6962, so that the tree over all groups costs nothing for its leaves. Of a closed section its
    SHA-256 stands for it.
    """
    return leaf_hash(before, n, table, hashed_bytes(body))


def leaf_hash(before: bytes, n: int, table: str, hashed: bytes) -> bytes:
    """Return the hash of a group, given what of its body is hashed."""
    name = table.encode()
    return sha256(LEAF + before + pack_head(n, len(name), len(hashed)) + name + hashed).digest()


class Fault(Enum):
    """The fault of a journal at a record; the value stands in JSON."""

    MISSING = "missing"
    ADDED = "added"
    ALTERED = "altered"
    OUT_OF_ORDER = "out_of_order"
    REWRITTEN = "rewritten"
    """Records were replaced after a checkpoint had signed others."""
    WRONG_KEY = "wrong_key"
    """A checkpoint is signed with a key that is not trusted, or to which no change is recorded."""
    WRONG_HEAD = "wrong_head"
    """The numbers that are kept of a table are not those of its records."""


class BadRecord(msgspec.Struct, frozen=True):
    """The first place where a journal is not what was written.

    ``n`` is the record's number, that of the missing one where one is missing; 0 is the file
    itself. ``table`` is None where nothing that is left shows it. ``why`` is for programs,
    ``detail`` for people: None where ``why`` says it all.
    """

    table: str | None
    n: int
    why: Fault
    detail: str | None = None

    @property
    def text(self) -> str:
        """The fault in one line, for people."""
        word = self.why.value.replace("_", " ")
        return word if self.detail is None else f"{word}: {self.detail}"


_json = msgspec.json.Encoder(order="deterministic")


class SignedHead(msgspec.Struct, frozen=True):
    """A chain's end: its last record and that record's hash, in hex."""

    n: int
    hash: str


class AnchorRecord(msgspec.Struct, frozen=True, rename={"counters": "told"}):
    """The anchor of a truncated journal: it begins at record ``n``, a checkpoint.

    ``counters`` (``told`` in the record) counts the events, public and restricted, that each table
    had before it. ``key_changes`` are the notes of the checkpoints before it that changed the key:
    what is signed with a later key is still tied to the first one.
    """

    n: int
    counters: Mapping[str, tuple[int, int]]
    key_changes: tuple[str, ...] | UnsetType = UNSET


class KeyChange(msgspec.Struct, frozen=True):
    """A change of the key that signs a journal, by a person's ruling; ``old`` is in hex.

    The first checkpoint with the new key records it. The old key signs that checkpoint, too, and so
    endorses the new one; only a key that is lost cannot.
    """

    old: str
    ruling: Ruling


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A signed statement: the tree of all groups, and all chains' ends.

    ``origin`` names the journal. Its tree had ``size`` leaves and this ``root`` when records up to
    ``upto`` were stored; ``frontier`` holds the tree's right edge. ``number`` counts the journal's
    checkpoints from 1; ``public_key`` is in hex. ``begins`` is None while nothing was ever taken
    out, and ``key_change`` unless it is the first with another key.
    """

    origin: str
    size: int
    root: bytes
    number: int
    t_us: int
    upto: int
    heads: Mapping[str, SignedHead]
    frontier: tuple[str, ...]
    public_key: str
    begins: AnchorRecord | None = None
    key_change: KeyChange | None = None

    def to_bytes(self, signer: Signer, endorser: Signer | None = None) -> bytes:
        """Return the signed note, and behind it the details that it names: deterministic JSON.

        ``endorser`` is the old key where this checkpoint changes it.
        """
        change = self.key_change
        details = _json.encode(
            _Details(self.heads, self.frontier, self.public_key, self.begins, change or UNSET)
        )
        named = (self.number, self.upto, self.t_us, sha256(details).hexdigest())
        extensions = tuple(map("{} {}".format, _EXTENSIONS, named))
        if change is not None:
            extensions += (f"{_KEY} {change.old} {self.public_key}",)
        text = CheckpointText(self.origin, self.size, self.root, extensions).to_text()
        signers = (signer,) if endorser is None else (endorser, signer)
        note = Note(text, tuple(signed_note.sign(text, self.origin, each) for each in signers))
        return note.to_bytes() + details

    def edge(self) -> Frontier:
        """Return the right edge of the tree.

        Raises:
            ValueError: it is that of another tree.
        """
        edge = Frontier.read(self.size, map(bytes.fromhex, self.frontier))
        if edge.root() != self.root:
            raise ValueError("the edge of another tree")
        return edge


class _Details(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The part of a checkpoint that its note names by its hash."""

    heads: Mapping[str, SignedHead]
    frontier: tuple[str, ...]
    public_key: str
    begins: AnchorRecord | None = None
    key_change: KeyChange | UnsetType = UNSET


_details = msgspec.json.Decoder(_Details)

_EXTENSIONS = ("checkpoint", "record", "t_us", "details")
"""The words before the number, ``upto``, ``t_us`` and the hash of the details in a note."""

_KEY = "key"
"""The word before the old key and the new one in the note of a checkpoint that changes the key. It
stands in the note, so that whoever has the note alone knows which key follows."""

_two_keys = re.compile(r"([0-9a-f]{64}) ([0-9a-f]{64})").fullmatch


class NamedCheckpoint(msgspec.Struct, frozen=True):
    """A journal's checkpoint as its note alone names it: ``details`` is a hash, in hex.

    ``keys`` are the old key and the new one, in hex, where it changes the key.
    """

    origin: str
    size: int
    root: bytes
    number: int
    upto: int
    t_us: int
    details: str
    keys: tuple[str, str] | None = None


def read_note_text(text: str) -> NamedCheckpoint:
    """Read the text of a note under which a journal's checkpoint is signed.

    Raises:
        NoteError: it is none.
    """
    said = signed_note.read_checkpoint_text(text)
    pairs = [line.partition(" ") for line in said.extensions]
    words = tuple(word for word, _, _ in pairs)
    if words not in (_EXTENSIONS, (*_EXTENSIONS, _KEY)):
        raise NoteError(f"checkpoint of {said.origin}: it is not one of a journal of shoe-ctl")
    values = [value for _, _, value in pairs]
    if not all(value.isascii() and value.isdigit() and len(value) < 20 for value in values[:3]):
        raise NoteError(f"checkpoint of {said.origin}: its number, record or time is no number")
    keys: tuple[str, str] | None = None
    if words[-1] == _KEY:
        found = _two_keys(values[-1])
        if found is None or found[1] == found[2]:
            raise NoteError(f"checkpoint of {said.origin}: it does not name two keys")
        keys = found[1], found[2]
    number, upto, t_us = map(int, values[:3])
    return NamedCheckpoint(said.origin, said.size, said.root, number, upto, t_us, values[3], keys)


def note_of(body: bytes) -> bytes:
    """Return the signed note with which a checkpoint's record begins."""
    return body[: body.find(b"\n{") + 1]


def read_checkpoint(body: bytes) -> Checkpoint:
    """Decode a checkpoint's record, signed or not.

    Raises:
        ValueError: it is none (msgspec's errors are ValueErrors).
    """
    note = note_of(body)
    details = body[len(note) :]
    try:
        named = read_note_text(signed_note.read_note(note).text)
    except NoteError as error:
        raise ValueError(str(error)) from None
    if sha256(details).hexdigest() != named.details:
        raise ValueError("its details are not those that its note names")
    said = _details.decode(details)
    change = said.key_change or None
    if named.keys != (None if change is None else (change.old, said.public_key)):
        raise ValueError("its change of the key is not the one that its note names")
    return Checkpoint(
        origin=named.origin,
        size=named.size,
        root=named.root,
        number=named.number,
        t_us=named.t_us,
        upto=named.upto,
        heads=said.heads,
        frontier=said.frontier,
        public_key=said.public_key,
        begins=said.begins,
        key_change=change,
    )


def signers(body: bytes, said: Checkpoint) -> frozenset[str]:
    """Return the keys that signed a checkpoint (hex) of those that it names: its own, the old one.

    None did where one of the signatures is not that of its key.
    """
    keys = [said.public_key]
    if said.key_change is not None:
        keys.append(said.key_change.old)
    try:
        named = {signed_note.verifier_key(said.origin, bytes.fromhex(key)): key for key in keys}
        found = signed_note.verify_note(signed_note.read_note(note_of(body)), named)
    except (ValueError, NoteError):
        return frozenset()
    return frozenset(named[one.key] for one in found)


class KeyRange(msgspec.Struct, frozen=True):
    """The records ``first`` to ``upto``, which checkpoints of one ``key`` (hex) signed.

    The last of them did at ``t_us``. ``change`` says by whose ruling the key followed another, in
    checkpoint ``n``; None for the first key that is there. ``endorsed``: the old key signed that.
    """

    key: str
    first: int
    upto: int
    t_us: int
    n: int | None = None
    change: KeyChange | None = None
    endorsed: bool | None = None


class Coverage(msgspec.Struct, frozen=True):
    """The signed part of a journal: all records up to ``upto``.

    ``checkpoints`` of them signed it, the last one, ``number``, at ``t_us``. ``keys`` are the
    public keys (hex) that signed, in the order they came, and ``origin`` is the journal's name.
    ``ranges`` say which records each key signed.
    """

    checkpoints: int = 0
    upto: int = 0
    t_us: int | None = None
    keys: tuple[str, ...] = ()
    number: int | None = None
    origin: str | None = None
    ranges: tuple[KeyRange, ...] = ()


class Checkpoints:
    """Compares a journal's checkpoints with its chains, one after the other.

    ``trusted`` are the public keys that may sign; none: any may. Another key than the one before
    must be recorded as a change. ``late`` says that the first one seen may have any number: what
    was before it was taken out. ``only`` narrows what is compared to the tables that an export
    holds.
    """

    def __init__(
        self,
        trusted: frozenset[bytes] = frozenset(),
        *,
        late: bool = False,
        only: frozenset[str] | None = None,
    ) -> None:
        self._trusted = {key.hex() for key in trusted}
        self._late = late
        self._only = only
        self._heads: Mapping[str, SignedHead] = {}
        self.coverage = Coverage()

    def check(
        self, n: int, body: bytes, ends: Mapping[str, bytes], tree: Frontier | None
    ) -> BadRecord | None:
        """Return what is wrong with checkpoint ``n``.

        ``ends`` are the chains' ends before it, and ``tree`` is that of all groups before it; None
        where not all of them are there, as in an export.
        """
        try:
            said = read_checkpoint(body)
            said.edge()
        except ValueError:
            return BadRecord(JOURNAL, n, Fault.ALTERED, "it is no checkpoint")
        signed_by = signers(body, said)
        if said.public_key not in signed_by:
            return BadRecord(JOURNAL, n, Fault.ALTERED, "not signed by the key that it names")
        change, endorsed = said.key_change, None
        if change is not None:
            endorsed = change.old in signed_by
        if self._trusted and said.public_key not in self._trusted:
            detail = said.public_key
            if endorsed is False:
                detail += ", which the key before it did not endorse"
            return BadRecord(JOURNAL, n, Fault.WRONG_KEY, detail)
        at = n if change is not None else None
        key = KeyRange(said.public_key, n, said.upto, said.t_us, at, change, endorsed)
        wrong = self._out_of_turn(n, said) or self._of_other_key(n, key)
        wrong = wrong or self._against(n, said, ends) or self._of_other_tree(n, said, tree)
        if wrong is None:
            one = Coverage(1, said.upto, said.t_us, (), said.number, said.origin, (key,))
            self._add(one)
            self._heads = said.heads
        return wrong

    @property
    def number(self) -> int | None:
        """The number of the last one."""
        return self.coverage.number

    def extend(self, later: Coverage, number: int) -> bool:
        """Add what was compared with the records that follow, up to checkpoint ``number``.

        Return False if checkpoints before those are missing, or they are another journal's.
        """
        continues = self._is_next(number - later.checkpoints + 1)
        continues = continues and self.coverage.origin in (None, later.origin)
        continues = continues and all(map(self._is_due, later.ranges[:1]))
        if continues:
            self._add(later)
        return continues

    def _add(self, later: Coverage) -> None:
        before, (first, *rest) = self.coverage.ranges, later.ranges
        if not before:
            if not self._late:
                first = msgspec.structs.replace(first, first=1)
            ranges = (first, *rest)
        elif first.change is None:
            goes_on = msgspec.structs.replace(before[-1], upto=first.upto, t_us=first.t_us)
            ranges = (*before[:-1], goes_on, *rest)
        else:
            first = msgspec.structs.replace(first, first=before[-1].upto + 1)
            ranges = (*before, first, *rest)
        self.coverage = msgspec.structs.replace(
            later,
            checkpoints=self.coverage.checkpoints + later.checkpoints,
            keys=tuple(dict.fromkeys(each.key for each in ranges)),
            ranges=ranges,
        )

    def _is_due(self, key: KeyRange) -> bool:
        """Return True if the key is that of the last checkpoint, or the change from it."""
        if not self.coverage.ranges:
            return True
        before = self.coverage.ranges[-1].key
        return before == (key.key if key.change is None else key.change.old)

    def _of_other_key(self, n: int, key: KeyRange) -> BadRecord | None:
        if self._is_due(key):
            return None
        before = self.coverage.ranges[-1].key
        detail = f"{key.key}, and no change from {before} is recorded"
        return BadRecord(JOURNAL, n, Fault.WRONG_KEY, detail)

    def _is_next(self, number: int) -> bool:
        return number == self._due() or (self._late and self.number is None)

    def _due(self) -> int:
        return 1 if self.number is None else self.number + 1

    def _out_of_turn(self, n: int, said: Checkpoint) -> BadRecord | None:
        if not self._is_next(said.number):
            detail = f"checkpoint {self._due()} before checkpoint {n}"
            return BadRecord(JOURNAL, n, Fault.MISSING, detail)
        if said.upto != n - 1:
            detail = f"the checkpoint was signed as record {said.upto + 1}"
            return BadRecord(JOURNAL, n, Fault.ALTERED, detail)
        return None

    def _of_other_tree(self, n: int, said: Checkpoint, tree: Frontier | None) -> BadRecord | None:
        """Return how its tree is another than that of the groups: chains alone may agree."""
        if self.coverage.origin not in (None, said.origin):
            return BadRecord(JOURNAL, n, Fault.ALTERED, f"it is of another journal, {said.origin}")
        if tree is not None and (tree.size, tree.root()) != (said.size, said.root):
            detail = f"the tree of {tree.size} groups is not the one that it signed"
            return BadRecord(JOURNAL, n, Fault.REWRITTEN, detail)
        return None

    def _against(self, n: int, said: Checkpoint, ends: Mapping[str, bytes]) -> BadRecord | None:
        before = self._heads
        tables = said.heads.keys() | ends.keys()
        for table in sorted(tables if self._only is None else tables & self._only):
            signed = said.heads.get(table)
            if signed is None:
                return BadRecord(
                    table, n, Fault.ADDED, f"checkpoint {said.number} knows no such table"
                )
            found = ends.get(table)
            if found is None or found.hex() != signed.hash:
                first = before[table].n + 1 if table in before else 1
                detail = (
                    f"records {first} to {signed.n} are not those that checkpoint {said.number} "
                    "signed"
                )
                return BadRecord(table, signed.n, Fault.REWRITTEN, detail)
        return None
