"""The disclosure of one round of a journal: which groups prove it, and nothing of other rounds.

In: a reader, a round, cosigned notes. Out: a RoundProof. Must not know: how a proof is verified, or
reported.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import UNSET

from shoe_ctl.audit.round_proof import (
    ENDS,
    TYPE,
    VERSION,
    ProvedGroup,
    RoundProof,
    Stretch,
)
from shoe_ctl.errors import InputRefused
from shoe_ctl.journal.anchor import WrongAnchor, find_anchor
from shoe_ctl.journal.chain import Checkpoint, note_of, read_checkpoint
from shoe_ctl.journal.cosignatures import read_cosignatures
from shoe_ctl.journal.files import corrupt_journal
from shoe_ctl.journal.group import (
    CLOSED,
    LETTERS,
    InvalidGroup,
    open_bytes,
    read_header,
    unpack_group,
)
from shoe_ctl.journal.key_changes import change_notes
from shoe_ctl.journal.merkle_tree import KnownParts, UnknownPart, inclusion_proof
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Direction, InvalidRow, Kind, Row, Wire
from shoe_ctl.journal.round_index import IndexedRound, round_id
from shoe_ctl.journal.signed_note import Note, NoteSignature, read_note

_AHEAD = 200
"""Groups behind the round that are looked at for what its last bytes brought."""

_EVENTS = (Kind.PUBLIC.value, Kind.RESTRICTED.value)


def prove_round(
    reader: Reader, wanted: str, *, players: bool, cosigned: Path | None = None
) -> RoundProof:
    """Return the proof of a round that is over and signed.

    ``players``: records that name a Player are given, too. ``cosigned`` is the file of witnesses'
    cosignatures: the oldest checkpoint behind the round that one of them signed is taken, else the
    oldest.

    Raises:
        InputRefused: the journal is an export, has no such round, or it is not over or not signed.
        JournalError: the journal cannot be read, or is damaged.
    """
    if reader.is_export:
        raise InputRefused(
            f"{reader.path}: an export holds a part of the tree only: name the journal"
        )
    of = round_id(wanted)
    found = None if of is None else reader.round(of)
    if of is None or found is None:
        raise InputRefused(f"{reader.path}: no round {wanted}; shoectl rounds lists them")
    stretches = _Disclosure(reader, wanted, found, players=players).stretches()
    rules = _start(reader, of.table, stretches[0][0].row[0])
    checkpoint, note = _checkpoint(reader, wanted, stretches[-1][-1].row[0], cosigned)
    tree = _Tree(reader, checkpoint, (rules or stretches[0])[0].row)
    return RoundProof(
        type=TYPE,
        version=VERSION,
        round=wanted,
        table=of.table,
        checkpoint=note.to_bytes().decode(),
        public_key=checkpoint.public_key,
        rules=None if rules is None else tree.stretch(reader, rules),
        stretches=tuple(tree.stretch(reader, stretch) for stretch in stretches),
        key_changes=tuple(change_notes(reader)) or UNSET,
    )


class _Group(msgspec.Struct):
    """A group that is disclosed, with or without its closed section."""

    row: Row
    players: bool

    def proved(self) -> ProvedGroup:
        body, closed = open_bytes(self.row[2])
        if self.players or not closed:
            return ProvedGroup(self.row[0], _text(self.row[2]), "")
        return ProvedGroup(self.row[0], _text(body), _text(sha256(closed).digest()))


class _Event(msgspec.Struct):
    type: str
    subject: str | None = None


class _ShoeInput(msgspec.Struct):
    """The place of a message in what the shoe sent on a connection."""

    connection: int = 0
    first: int = 0
    last: int = 0


class _Content(msgspec.Struct):
    """The parts of a group that decide whether it is disclosed."""

    row: Row
    rounds: set[str] = set()
    ends: bool = False
    has_state: bool = False
    chunks: list[Wire] = []
    messages: list[tuple[_ShoeInput, set[str]]] = []
    texts: list[str] = []
    names: set[str] = set()

    def add_event(self, record: bytes, wanted: str) -> None:
        """Add what an event is of, and the input before it."""
        event = msgspec.json.decode(record, type=_Event)
        of = event.subject
        if of is None or round_id(of) is None:
            self.has_state |= _CARDS(record) is not None
            return
        self.rounds.add(of)
        if self.messages:
            self.messages[-1][1].add(of)
        self.ends |= of == wanted and event.type in ENDS


class _Disclosure:
    """Chooses the groups of a round.

    They are those of the table from its beginning to its end, and later ones with an event of it. A
    group is withheld if anything of it is of another round, or if a reason in it has the name of a
    Player.
    """

    def __init__(self, reader: Reader, wanted: str, found: IndexedRound, *, players: bool) -> None:
        self._reader, self._wanted, self._players = reader, wanted, players
        self._table = found.id.table
        self._records = found.records

    def stretches(self) -> list[list[_Group]]:
        """Return the groups that are disclosed, those that follow one another together.

        Raises:
            InputRefused: the round is not over.
            JournalError: the journal cannot be read.
        """
        within, behind = self._groups()
        names = {name for content in within for name in content.names}
        messages = [one for content in (*within, *behind) for one in content.messages]
        found: list[list[_Group]] = []
        joined = False
        for content in within:
            if self._is_of_others(content, messages) or (
                not self._players and _has_name(content.texts, names)
            ):
                joined = False
                continue
            if joined:
                found[-1].append(_Group(content.row, self._players))
            else:
                found.append([_Group(content.row, self._players)])
            joined = True
        found += [
            [_Group(content.row, self._players)]
            for content in self._later(within[-1].row[0])
            if not self._is_of_others(content, messages)
            and (self._players or not _has_name(content.texts, names | content.names))
        ]
        return found

    def _groups(self) -> tuple[list[_Content], list[_Content]]:
        """Return the groups from the round's beginning to its end, and the next ones."""
        within: list[_Content] = []
        behind: list[_Content] = []
        ended = False
        for row in self._reader.rows(after=self._records[0] - 1, table=self._table):
            content = _content(self._reader, row, self._wanted)
            if not ended:
                within.append(content)
                ended = content.ends
            elif len(behind) < _AHEAD and not _reaches(behind, within):
                behind.append(content)
            else:
                break
        if not ended:
            raise InputRefused(
                f"{self._reader.path}: round {self._wanted} is not over: prove it once it is"
            )
        return within, behind

    def _later(self, after: int) -> Iterator[_Content]:
        """Yield the groups behind the round that the index leads to."""
        last_n = after
        for n in self._records:
            if n > last_n:
                row = next(self._reader.rows(after=n - 1, table=self._table))
                last_n = row[0]
                yield _content(self._reader, row, self._wanted)

    def _is_of_others(
        self, content: _Content, messages: Iterable[tuple[_ShoeInput, set[str]]]
    ) -> bool:
        """Return True if anything of a group is of another round, or of the whole shoe."""
        if content.has_state or content.rounds - {self._wanted}:
            return True
        return any(
            rounds
            and self._wanted not in rounds
            and message.connection == chunk.connection
            and message.first < chunk.offset + len(chunk.data)
            and chunk.offset < message.last
            for chunk in content.chunks
            for message, rounds in messages
        )


def _reaches(behind: Sequence[_Content], within: Sequence[_Content]) -> bool:
    """Return True if a message behind the round begins after the last bytes within it."""
    chunks = [chunk for content in within for chunk in content.chunks]
    if not chunks:
        return True
    end = chunks[-1].offset + len(chunks[-1].data)
    return any(
        message.last > 0 and (message.connection != chunks[-1].connection or message.first >= end)
        for content in behind
        for message, _ in content.messages
    )


_CARDS = re.compile(rb'"cards?":(?:"|\["|\{)').search
_TEXTS = re.compile(rb'"(?:reason|why|words)":"((?:[^"\\]|\\.)*)"').findall
_NAMED = re.compile(rb'"(?:player|designee|from)":"((?:[^"\\]|\\.)*)"').findall
_LISTED = re.compile(rb'"players":\[([^\]]*)\]').findall


def _content(reader: Reader, row: Row, wanted: str) -> _Content:
    """Return what a group holds.

    Raises:
        InvalidRow: it cannot be unpacked.
    """
    n, table, body, _ = row
    found = _Content(row)
    try:
        header = read_header(body)
        found.has_state = header.has(LETTERS[Kind.SNAPSHOT])
        for place, kind, record in unpack_group(table, body, header=header):
            if kind == Kind.WIRE.value:
                wire = Wire.from_bytes(record)
                if wire.direction is Direction.FROM_SHOE:
                    found.chunks.append(wire)
            elif kind == Kind.INPUT.value:
                found.messages.append((msgspec.json.decode(record, type=_ShoeInput), set()))
            elif kind in _EVENTS:
                found.add_event(record, wanted)
            if header.kinds[place] in CLOSED:
                found.names.update(_names(record))
            found.texts += [text.decode() for text in _TEXTS(record)]
    except (InvalidGroup, ValueError) as error:
        raise InvalidRow(reader.path, n, table, str(error)) from None
    return found


def _names(record: bytes) -> Iterator[str]:
    """Yield the names of Players in a record, as JSON has them between quotes."""
    for name in _NAMED(record):
        yield name.decode()
    for listed in _LISTED(record):
        for name in listed.split(b","):
            yield name.strip(b'"').decode()


def _has_name(texts: Iterable[str], names: Iterable[str]) -> bool:
    """Return True if one of the texts has one of the names in it, as a word of its own."""
    words = [
        re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE) for name in names if name
    ]
    return any(word.search(text) for text in texts for word in words)


def _start(reader: Reader, table: str, before: int) -> list[_Group] | None:
    """Return the group with the table's last start before a record; None where it was removed."""
    record = next(reader.indexed_records(table, Kind.META, before=before), None)
    if record is None:
        return None
    row = next(reader.rows(after=record.n - 1, upto=record.n))
    return [_Group(row, players=False)]


def _checkpoint(
    reader: Reader, wanted: str, after: int, cosigned: Path | None
) -> tuple[Checkpoint, Note]:
    """Return the checkpoint that a round is proved by, and its note with all cosignatures.

    Raises:
        InputRefused: there is none behind the round's records.
        JournalError: one of the files cannot be read.
    """
    signatures = {} if cosigned is None else _cosignatures(cosigned)
    oldest: tuple[Checkpoint, Note] | None = None
    for record in reader.indexed_records(JOURNAL, Kind.CHECKPOINT, after=after):
        try:
            said = read_checkpoint(record.body)
            note = read_note(note_of(record.body))
        except ValueError:
            raise corrupt_journal(reader.path, f"record {record.n} is no checkpoint") from None
        if more := signatures.pop(note.text, None):
            return said, note.add(*more)
        oldest = oldest or (said, note)
        if not signatures:
            break
    if oldest is None:
        raise InputRefused(
            f"{reader.path}: no checkpoint signs round {wanted} yet: a running daemon signs one "
            "soon"
        )
    return oldest


def _cosignatures(path: Path) -> dict[str, list[NoteSignature]]:
    """Return the signatures of stored notes by their text."""
    found: dict[str, list[NoteSignature]] = {}
    for _, note in read_cosignatures(path):
        if isinstance(note, Note):
            found.setdefault(note.text, []).extend(note.signatures)
    return found


class _Tree:
    """The tree that a checkpoint signed, as far as proofs of groups from ``first`` on need it."""

    def __init__(self, reader: Reader, said: Checkpoint, first: Row) -> None:
        self._path, self._said = reader.path, said
        self._known = KnownParts()
        self._leaves: dict[bytes, int] = {}
        before = next(
            reader.indexed_records(JOURNAL, Kind.CHECKPOINT, before=_first_record(first)), None
        )
        try:
            self._begins = begins = find_anchor(reader)
            if before is None:
                tree, after = begins.tree(), begins.n - 1
            else:
                earlier = read_checkpoint(before.body)
                tree, after = earlier.edge(), earlier.upto
        except (ValueError, WrongAnchor) as error:
            raise corrupt_journal(reader.path, str(error)) from None
        self._known.add_frontier(tree)
        leaves = islice(reader.leaf_hashes(after), max(0, said.size - tree.size))
        for place, digest in enumerate(leaves, tree.size):
            self._known.add(place, place + 1, digest)
            self._leaves[digest] = place

    def stretch(self, reader: Reader, groups: Sequence[_Group]) -> Stretch:
        """Return groups that follow one another, with the proof that they are in the tree.

        Raises:
            JournalError: they are not.
        """
        first, last = groups[0].row, groups[-1].row
        leaf = self._leaves.get(last[3], -1)
        try:
            path = inclusion_proof(leaf, self._said.size, self._known.hash_of)
            root = self._known.hash_of(0, self._said.size)
        except (ValueError, UnknownPart):
            path, root = [], b""
        if root != self._said.root:
            detail = f"its groups are not those that checkpoint {self._said.number} signed"
            raise corrupt_journal(self._path, detail)
        before = reader.hash_before(first[1], first[0])
        return Stretch(
            before=_text(self._begins.end(first[1]) if before is None else before),
            groups=tuple(group.proved() for group in groups),
            leaf=leaf,
            path=tuple(map(_text, path)),
        )


def _first_record(row: Row) -> int:
    return row[0] - read_header(row[2]).records + 1


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
