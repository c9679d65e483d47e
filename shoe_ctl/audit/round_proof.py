"""The proof of one round: a file with its records, and what ties them to a signed checkpoint.

The groups that hold the round are given as the journal holds them. Each follows from the one
before it, and the last of a stretch is a leaf of the tree whose root a checkpoint signs. Records
that name a Player stand in closed sections, which may be left out.

In: the bytes of a file, public keys. Out: a ProvedRound, or one line that says what is wrong. Must
not know: journals as files, how a round is reported.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.journal import signed_note
from shoe_ctl.journal.batch import Counters
from shoe_ctl.journal.chain import NamedCheckpoint, leaf_hash, read_note_text
from shoe_ctl.journal.group import (
    LETTERS,
    Header,
    InvalidGroup,
    count_events,
    hashed_bytes,
    read_header,
    unpack_group,
)
from shoe_ctl.journal.key_changes import endorsed_keys
from shoe_ctl.journal.merkle_tree import HASH_BYTES, verify_inclusion
from shoe_ctl.journal.record_format import LONGEST_NAME, Kind
from shoe_ctl.journal.round_index import OPENED, round_id
from shoe_ctl.journal.signed_note import Note, Verified, VerifierKey
from shoe_ctl.journal.signing import KEY_BYTES
from shoe_ctl.records import Record

TYPE: Final = "shoe-ctl/round-proof"

VERSION: Final = 1

LONGEST_BYTES: Final = 1 << 22
"""A longer file is refused unread: an ordinary round's proof has less than 20 kB."""

ENDS: Final = ("round.settled", "round.void")
"""Events that end a round."""


class ProofError(InputRefused):
    """A proof is not what it should be: one line says what and where."""


class ProvedGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group: the number of its last record, and its bytes in base64.

    Of a closed section that is left out ``closed`` is the SHA-256, in base64 too; without one, and
    where it stands in ``body``, it is empty.
    """

    n: int
    body: str
    closed: str


class Stretch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Groups of the table that follow one another; ``before`` is the hash that the first follows.

    The last of them is leaf ``leaf`` of the tree, counted from 0, by the hashes in ``path``. All
    hashes are in base64.
    """

    before: str
    groups: tuple[ProvedGroup, ...]
    leaf: int
    path: tuple[str, ...]


class RoundProof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A proof as its file holds it.

    ``checkpoint`` is the signed note, with the signatures of witnesses that there were.
    ``public_key`` (hex) is the key that the journal signed it with. ``rules`` is the table's start,
    with its game and settings; None where the journal does not hold that any more. ``key_changes``
    are the notes that changed the journal's key, if any did. ``digest`` is the SHA-256 of all that
    stands before it: a file that was damaged is told by it.
    """

    type: str
    version: int
    round: str
    table: str
    checkpoint: str
    public_key: str
    rules: Stretch | None
    stretches: tuple[Stretch, ...]
    key_changes: tuple[str, ...] | UnsetType = UNSET
    digest: str = ""

    def to_bytes(self) -> bytes:
        """Return the file: one line of JSON."""
        whole = _json.encode(msgspec.structs.replace(self, digest=""))
        digest = sha256(whole.removesuffix(_NO_DIGEST)).hexdigest()
        return whole.removesuffix(_NO_DIGEST) + b'"digest":"%b"}\n' % digest.encode()


_json = msgspec.json.Encoder()
_proof = msgspec.json.Decoder(RoundProof)
_NO_DIGEST = b'"digest":""}'
_BEGINS = b'{"type":"' + TYPE.encode()


def is_proof(path: Path) -> bool:
    """Return True if the file begins as the proof of a round does. Never raises."""
    try:
        with path.open("rb") as file:
            return file.read(len(_BEGINS)) == _BEGINS
    except (OSError, ValueError):
        return False


class Gap(msgspec.Struct, frozen=True):
    """Records of the table between two that are given; ``events`` of them are events.

    ``is_later``: the round was over before them.
    """

    after: int
    before: int
    events: int
    is_later: bool


class ProvedRound(msgspec.Struct, frozen=True):
    """A round whose proof holds.

    ``said`` is the checkpoint, signed with ``public_key``; ``trusted`` is True if that key was one
    that the verifier trusts. ``witnesses`` cosigned it with keys that the verifier named;
    ``cosigned_by`` are the names of all that say they did. ``rules`` is the start of the table.
    ``left_out`` counts records that name a Player and are not given: for an input one of the kind
    ``left_out`` stands in ``records``. ``ended`` is the type of the event that ended the round.
    """

    round_id: str
    table: str
    said: NamedCheckpoint
    public_key: bytes
    trusted: bool
    witnesses: tuple[Verified, ...]
    cosigned_by: tuple[str, ...]
    rules: Record | None
    records: tuple[Record, ...]
    groups: int
    left_out: int
    gaps: tuple[Gap, ...]
    ended: str

    @property
    def is_whole(self) -> bool:
        """Return True if no event between the round's first and last record is withheld."""
        return not any(gap.events for gap in self.gaps if not gap.is_later)


def read_proof(path: Path) -> bytes:
    """Return the bytes of the file.

    Raises:
        JournalError: it cannot be read.
        ProofError: it is longer than any proof.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST_BYTES + 1)
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > LONGEST_BYTES:
        raise ProofError(f"{path}: longer than {LONGEST_BYTES:,} bytes, which no proof is")
    return data


def verify_proof(
    data: bytes,
    trusted: frozenset[bytes] = frozenset(),
    witnesses: Sequence[VerifierKey] = (),
) -> ProvedRound:
    """Verify a proof by itself.

    ``trusted`` are the public keys that may have signed; none: the one that it names. All of
    ``witnesses`` must have cosigned its checkpoint.

    Raises:
        ProofError: it is torn or altered, or does not prove this round.
        NoteError: its checkpoint is not signed by the key that it names, or not cosigned.
    """
    given = _decoded(data)
    named, note, key = _signed(given, trusted)
    cosigned = tuple(
        each for witness in witnesses for each in signed_note.verify_note(note, (witness,))
    )
    table = given.table
    if not table or len(table.encode()) > LONGEST_NAME:
        raise ProofError("the proof names no table")
    walk = _Walk(given, named)
    rules = None if given.rules is None else walk.rules(given.rules)
    records = [record for stretch in given.stretches for record in walk.stretch(stretch)]
    walk.check_round(records)
    return ProvedRound(
        round_id=given.round,
        table=table,
        said=named,
        public_key=key,
        trusted=bool(trusted),
        witnesses=cosigned,
        cosigned_by=tuple(each.name for each in note.signatures if each.name != named.origin),
        rules=rules,
        records=tuple(records),
        groups=walk.groups,
        left_out=walk.left_out,
        gaps=tuple(walk.gaps),
        ended=walk.ended,
    )


def _decoded(data: bytes) -> RoundProof:
    """Return the proof that these bytes are, down to the last one.

    Raises:
        ProofError: they are none, or not as they were written.
    """
    if not data.endswith(b"}\n"):
        raise ProofError("the proof is cut short: its last line is torn")
    try:
        given = _proof.decode(data)
    except (ValueError, RecursionError) as error:
        raise ProofError(f"this is no proof of a round: {error}") from None
    if given.type != TYPE:
        raise ProofError(f"this is no proof of a round, but {given.type[:40]!r}")
    if given.version != VERSION:
        raise ProofError(
            f"the proof has version {given.version}, this shoectl reads {VERSION}: use a newer one"
        )
    if given.to_bytes() != data:
        raise ProofError("the proof was altered: its digest is not that of its bytes")
    return given


def _signed(given: RoundProof, trusted: frozenset[bytes]) -> tuple[NamedCheckpoint, Note, bytes]:
    """Return the checkpoint, its note and the key that signed it.

    Raises:
        ProofError: the key is not a trusted one, or is none.
        NoteError: the note is none, or is not signed by it.
    """
    try:
        key = bytes.fromhex(given.public_key)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES or key.hex() != given.public_key:
        raise ProofError("the proof names no public key of 64 hex digits")
    if trusted and key not in trusted.union(endorsed_keys(given.key_changes or (), trusted)):
        raise ProofError(f"the proof is signed with another key than is trusted: {key.hex()}")
    note = signed_note.read_note(given.checkpoint.encode())
    named = read_note_text(note.text)
    signed_note.verify_note(note, (signed_note.verifier_key(named.origin, key),))
    return named, note, key


class _Event(msgspec.Struct):
    type: str
    subject: str | None = None


class _Walk:
    """One pass over the groups of a proof, in order."""

    def __init__(self, given: RoundProof, named: NamedCheckpoint) -> None:
        self._given, self._named = given, named
        self._last_n = 0
        self._leaf = -1
        self._counters: Counters | None = None
        self.groups = 0
        self.left_out = 0
        self.gaps: list[Gap] = []
        self.ended = ""

    def rules(self, stretch: Stretch) -> Record:
        """Return the start of the table.

        Raises:
            ProofError: it is not in the tree, or is none.
        """
        found = list(self.stretch(stretch))
        if [record.kind for record in found] != [Kind.META.value]:
            raise ProofError("what the proof gives as the table's rules is no start of a table")
        self._counters, self.groups, self.gaps = None, 0, []
        return found[0]

    def stretch(self, stretch: Stretch) -> Iterator[Record]:
        """Yield the records of a stretch once all of it is shown to be in the tree.

        Raises:
            ProofError: it is not.
        """
        end = _hash(stretch.before, "the hash that a stretch follows")
        if not stretch.groups:
            raise ProofError("the proof has a stretch without records")
        bodies: list[tuple[int, bytes, Header, bool]] = []
        for at, group in enumerate(stretch.groups):
            n, body = group.n, _bytes(group.body, f"the group that ends with record {group.n}")
            try:
                header = read_header(body)
            except InvalidGroup as error:
                raise ProofError(f"record {n}: it cannot be unpacked: {error}") from None
            first = n - header.records + 1
            if first <= self._last_n or n > self._named.upto:
                raise ProofError(f"record {first} is not in its place in the proof")
            whole = not group.closed
            hashed = hashed_bytes(body) if whole else body + _hash(group.closed, f"record {n}")
            if not whole and not header.closed:
                raise ProofError(f"record {n}: no section of its group was left out")
            self._count(first, header, follows=at > 0)
            end = leaf_hash(end, n, self._given.table, hashed)
            bodies.append((n, body, header, whole))
            self._last_n = n
        path = [_hash(each, f"record {self._last_n}") for each in stretch.path]
        size, root = self._named.size, self._named.root
        if stretch.leaf <= self._leaf or not verify_inclusion(stretch.leaf, size, end, path, root):
            raise ProofError(
                f"records {bodies[0][0] - bodies[0][2].records + 1} to {self._last_n} of table "
                f"{self._given.table} are not in the journal that checkpoint "
                f"{self._named.number} signed"
            )
        self._leaf = stretch.leaf
        for n, body, header, whole in bodies:
            self.groups += 1
            yield from self._records(n, body, header, end, whole=whole)

    def _count(self, first: int, header: Header, *, follows: bool) -> None:
        """Count the events before a group; those that are not given lie between two stretches."""
        public, restricted = count_events(header.kinds)
        before, due = header.before, self._counters
        if due is not None:
            more = (before.public - due.public, before.restricted - due.restricted)
            if min(more) < 0 or (follows and any(more)):
                raise ProofError(f"record {first}: it counts other events before it than there are")
            if not follows:
                self.gaps.append(Gap(self._last_n, first, sum(more), False))
        self._counters = Counters(before.public + public, before.restricted + restricted)

    def _records(
        self, n: int, body: bytes, header: Header, end: bytes, *, whole: bool
    ) -> Iterator[Record]:
        """Yield a group's records. For an input that is left out one stands that says so."""
        first = n - header.records + 1
        found: dict[int, tuple[str, bytes]] = {}
        try:
            for place, kind, record in unpack_group(
                self._given.table, body, header=header, whole=whole
            ):
                found[place] = (kind, record)
        except InvalidGroup as error:
            raise ProofError(f"record {first}: it cannot be unpacked: {error}") from None
        for place, letter in enumerate(header.kinds):
            if place in found:
                kind, record = found[place]
            else:
                self.left_out += 1
                if letter not in LETTERS[Kind.INPUT]:
                    continue
                kind = Kind.INPUT.value
                record = b'{"input":"left_out","t_us":%d}' % header.t_us
            yield Record(n=first + place, table=self._given.table, kind=kind, body=record, hash=end)

    def check_round(self, records: Sequence[Record]) -> None:
        """Check that the records are those of this one round, from its beginning to its end.

        Raises:
            ProofError: they are not.
        """
        wanted = self._given.round
        opened, ended_at = False, 0
        for record in records:
            if record.kind not in (Kind.PUBLIC.value, Kind.RESTRICTED.value):
                continue
            try:
                event = msgspec.json.decode(record.body, type=_Event)
            except ValueError:
                raise ProofError(f"record {record.n}: it is no event") from None
            of = event.subject
            if of is not None and of != wanted and round_id(of) is not None:
                raise ProofError(f"record {record.n} is of another round, {of}")
            if of != wanted:
                continue
            if not opened and event.type != OPENED:
                raise ProofError(f"the proof does not begin where round {wanted} was opened")
            opened = True
            if event.type in ENDS and not self.ended:
                self.ended, ended_at = event.type, record.n
        if not self.ended:
            raise ProofError(f"the proof does not reach to the end of round {wanted}")
        self.gaps = [
            msgspec.structs.replace(gap, is_later=gap.after >= ended_at) for gap in self.gaps
        ]


def _bytes(text: str, what: str) -> bytes:
    """Return the bytes that this base64 is.

    Raises:
        ProofError: it is none.
    """
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ProofError(f"{what}: no base64") from None
    if base64.b64encode(found).decode() != text:
        raise ProofError(f"{what}: no base64 as it is written")
    return found


def _hash(text: str, what: str) -> bytes:
    found = _bytes(text, what)
    if len(found) != HASH_BYTES:
        raise ProofError(f"{what}: a hash has {HASH_BYTES} bytes")
    return found
