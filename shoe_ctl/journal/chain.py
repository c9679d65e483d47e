"""The hash that ties every record of a table to the one before it.

In: the hash before, a record's number, table, kind and body. Out: the record's hash.
Must not know: stores, groups, what a body means.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from hashlib import sha256

import msgspec

from shoe_ctl.journal.codec import JOURNAL
from shoe_ctl.journal.signing import SIGNATURE_BYTES, Signer, is_signed

GENESIS = bytes(32)
"""What the first record of a table follows."""

_HEAD = struct.Struct(">QHHQ")


def chain_hash(before: bytes, n: int, table: str, kind: str, body: bytes) -> bytes:
    """The hash of record ``n``: 32 bytes of SHA-256.

    Hashed are, one after another: the hash of the table's record before it (32 bytes, zeros for
    the first), ``n`` (8 bytes), the lengths in bytes of ``table`` (2), ``kind`` (2) and ``body``
    (8), all big-endian, then ``table`` and ``kind`` in UTF-8 and ``body``. With its lengths in
    front no two different records give the same bytes.
    """
    return HashNames(table, kind).link(before, n, body)


class HashNames:
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


class BadRecord(msgspec.Struct, frozen=True):
    """Where a journal first is not what was written.

    ``n`` is the record's number, of the missing one where one is missing. ``table`` is None where
    nothing that is left tells it.
    """

    table: str | None
    n: int
    why: str


_json = msgspec.json.Encoder(order="deterministic")

Sign = Callable[[bytes], bytes]


class SignedHead(msgspec.Struct, frozen=True):
    """A chain's end: its last record and that record's hash, in hex."""

    n: int
    hash: str


class AnchorRecord(msgspec.Struct, frozen=True):
    """From where on a journal is kept: record ``n``, a checkpoint. What was before is taken out.

    ``told`` counts the events, public and restricted, that each table had before it.
    """

    n: int
    told: Mapping[str, tuple[int, int]]


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What is signed: all chains' ends when records up to ``upto`` were stored.

    ``number`` counts the journal's checkpoints from 1; ``public_key`` is in hex. ``begins`` is None
    while nothing was ever taken out.
    """

    number: int
    t_us: int
    upto: int
    heads: Mapping[str, SignedHead]
    public_key: str
    begins: AnchorRecord | None = None

    def to_bytes(self, signer: Signer) -> bytes:
        """The signature (64 bytes), then the statement that it signs: deterministic JSON."""
        statement = _json.encode(self)
        return signer.sign(statement) + statement


def read_checkpoint(body: bytes) -> Checkpoint:
    """What a checkpoint's record says, signed or not.

    Raises:
        ValueError: it is none (msgspec's errors are ValueErrors).
    """
    return msgspec.json.decode(body[SIGNATURE_BYTES:], type=Checkpoint)


class Coverage(msgspec.Struct, frozen=True):
    """What is signed: ``checkpoints`` of them, all records up to ``upto``, last at ``t_us``.

    ``keys`` are the public keys (hex) that signed, in the order they came.
    """

    checkpoints: int = 0
    upto: int = 0
    t_us: int | None = None
    keys: tuple[str, ...] = ()


class Checkpoints:
    """Holds a journal's checkpoints against its chains, one after the other.

    ``trusted`` are the public keys that may sign; none: any may. ``late`` says that the first one
    seen may have any number: what was before it was taken out. ``only`` narrows what is compared to
    the tables that an export holds.
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
        self._last: Checkpoint | None = None
        self.coverage = Coverage()

    def see(self, n: int, body: bytes, ends: Mapping[str, bytes]) -> BadRecord | None:
        """Record ``n`` is a checkpoint; ``ends`` are the chains' ends before it."""
        try:
            said = read_checkpoint(body)
            key = bytes.fromhex(said.public_key)
        except ValueError:
            return BadRecord(JOURNAL, n, "altered: it is no checkpoint")
        if not is_signed(body[SIGNATURE_BYTES:], body[:SIGNATURE_BYTES], key):
            return BadRecord(JOURNAL, n, "altered: not signed by the key that it names")
        if self._trusted and said.public_key not in self._trusted:
            return BadRecord(JOURNAL, n, f"signed by another key: {said.public_key}")
        wrong = self._out_of_turn(n, said) or self._against(n, said, ends)
        if wrong is None:
            keys = dict.fromkeys((*self.coverage.keys, said.public_key))
            self.coverage = Coverage(
                self.coverage.checkpoints + 1, said.upto, said.t_us, tuple(keys)
            )
            self._last = said
        return wrong

    def _out_of_turn(self, n: int, said: Checkpoint) -> BadRecord | None:
        due = 1 if self._last is None else self._last.number + 1
        if said.number != due and not (self._late and self._last is None):
            return BadRecord(JOURNAL, n, f"missing: checkpoint {due} before checkpoint {n}")
        if said.upto != n - 1:
            why = f"altered: the checkpoint was signed as record {said.upto + 1}"
            return BadRecord(JOURNAL, n, why)
        return None

    def _against(self, n: int, said: Checkpoint, ends: Mapping[str, bytes]) -> BadRecord | None:
        before = {} if self._last is None else self._last.heads
        tables = said.heads.keys() | ends.keys()
        for table in sorted(tables if self._only is None else tables & self._only):
            signed = said.heads.get(table)
            if signed is None:
                return BadRecord(table, n, f"added: checkpoint {said.number} knows no such table")
            found = ends.get(table)
            if found is None or found.hex() != signed.hash:
                first = before[table].n + 1 if table in before else 1
                why = (
                    f"rewritten: records {first} to {signed.n} are not those that checkpoint "
                    f"{said.number} signed"
                )
                return BadRecord(table, signed.n, why)
        return None
