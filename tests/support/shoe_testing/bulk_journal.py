"""Large journals, made in process in bulk: what a table would have stored over years, in seconds.

In: a path, a number of rounds. Out: a journal, byte for byte as if every set had been dealt.
One set is dealt by a simulated shoe; a real table stores it a few times; what rises from one time
to the next (numbers, times, ids) goes on rising, and chain and checkpoints are made over it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import msgspec

from shoe_ctl.games import catalog
from shoe_ctl.history import snapshots
from shoe_ctl.journal.batch import Batch, Counters
from shoe_ctl.journal.chain import Checkpoint, SignedHead, chain_hash, read_checkpoint
from shoe_ctl.journal.files import head_path
from shoe_ctl.journal.group import (
    LETTERS,
    Header,
    Letter,
    count_events,
    landmarks,
    pack_group,
    read_header,
    split_group,
    unpack_group,
)
from shoe_ctl.journal.merkle_tree import Frontier
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Connection, Direction, Kind, Meta, Row
from shoe_ctl.journal.round_index import IndexedRound, RoundQuery
from shoe_ctl.journal.signing import Signer, open_signer
from shoe_ctl.journal.store import Store
from shoe_ctl.records import utc
from shoe_ctl.table.inputs import Input, LinkLost, LinkUp, ShoeSaid
from shoe_testing.bench import DealtTable
from shoe_testing.journals import JournalTable
from simulators.faults import CleanLine

TABLE = "t1"
PROFILE = "angel_eye"
"""Its frames bear no number that goes on from set to set: a set's bytes are those of any other."""

BEGAN_US = 1_700_000_000_000_000
PACE_S = 5.0
SIGNED_S = 600

DEALT = 3
"""Sets that a real table stores. What stands between the checkpoints of the second and the third
set, and between those of the third and the next, says what rises, and by how much."""

_RISING = re.compile(
    rb'"hash":"(?P<chained>[0-9a-f]{64})"'
    rb"|[0-9a-f]{64}"
    rb"|(?P<moment>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)"
    rb"|(?P<number>\d+)"
)
_CHAINED = b'"hash":?'
_INSERT = "INSERT INTO record_group VALUES (?, ?, ?, ?)"
_LANDMARK = "INSERT INTO landmark VALUES (?, ?, ?)"
_INSERT_ROUND = "INSERT INTO round VALUES (?, ?, ?, ?, ?, ?)"
_TABLE_HEAD = (
    "UPDATE head SET n = ?, hash = ?, public = public + ?, restricted = restricted + ?,"
    ' connection = connection + ?, t_us = t_us + ? WHERE "table" = ?'
)
_SIGNED_HEAD = 'UPDATE head SET n = ?, hash = ? WHERE "table" = ?'


@dataclass(frozen=True, slots=True)
class Made:
    """A journal and what is in it: ``records`` is its last record's number."""

    path: Path
    rounds: int
    records: int
    signer: Signer
    under: Meta


@dataclass(frozen=True, slots=True)
class _Dealt:
    """What a table hears of one set of cards, the bytes that said so, and what it runs under."""

    inputs: tuple[Input, ...]
    sent: bytes
    lasts_us: int
    under: Meta


class _Overheard(CleanLine):
    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()

    def put(self, data: bytes, t: float) -> None:
        self.sent += data
        super().put(data, t)


@cache
def _dealt() -> _Dealt:
    line = _Overheard()
    table = DealtTable(
        catalog.load("tiger"), PROFILE, seed=7, pace_s=PACE_S, face_up_after_ms=0, to_host=line
    )
    table.deal()
    under = snapshots.start_record(table.controller.game, table.controller.settings, BEGAN_US)
    lasts_us = table.inputs[-1].t_us + 60_000_000
    return _Dealt(tuple(table.inputs), bytes(line.sent), lasts_us, under)


class _Unsynced(apsw.VFS):
    """A file layer that waits for no disk."""

    def __init__(self) -> None:
        self.vfs_name = "unsynced"
        super().__init__(self.vfs_name, "")

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        return _UnsyncedFile("", name, flags)


class _UnsyncedFile(apsw.VFSFile):
    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        """Nothing here has to outlive the power."""


@contextmanager
def opened(path: Path) -> Iterator[JournalTable]:
    """A table at a new journal that is not synced."""
    disk = _Unsynced()
    store = Store.open(path, vfs=disk.vfs_name)
    try:
        yield JournalTable(store, _dealt().under)
    finally:
        store.close()
        disk.unregister()


@contextmanager
def dealing(path: Path, sets: int, key: Signer) -> Iterator[JournalTable]:
    """A table that was dealt this many sets and began the next, as a daemon stores it.

    As a daemon does, it signs where each set begins: the journal ends with a checkpoint.
    """
    with opened(path) as table:
        store, hearing = table.store, heard_by(table, key)
        while table.controller.state.shoes <= sets or store.last_n != store.head(JOURNAL).n:
            next(hearing)
        yield table


def heard_by(table: JournalTable, key: Signer) -> Iterator[None]:
    """The table hears set after set without end, one thing at a time.

    The shoe is switched off and on for each set, and a connection begins. What there is is signed
    when a set begins, and ever ``SIGNED_S`` after that.
    """
    dealt, signed_us = _dealt(), 0
    for number in itertools.count(1):
        for happened in dealt.inputs:
            t_us = BEGAN_US + (number - 1) * dealt.lasts_us + happened.t_us
            if isinstance(happened, LinkUp) and number > 1:
                table.handle(LinkLost(t_us=t_us, connection=number - 1, reason="switched off"))
            assert isinstance(happened, LinkUp | ShoeSaid), "an Angel Eye table needs no one"
            now = msgspec.structs.replace(happened, t_us=t_us, connection=number)
            table.handle(now, _raw(now, dealt.sent))
            is_due = signed_us and t_us >= signed_us + SIGNED_S * 10**6
            if table.recorder.has_new_set or is_due:
                table.recorder.has_new_set = False
                table.store.checkpoint(key, t_us)
                signed_us = t_us
            yield


def _raw(now: LinkUp | ShoeSaid, sent: bytes) -> Callable[[Batch], object]:
    """What stands before this input in its group."""
    if isinstance(now, LinkUp):
        opened = Connection(
            number=now.connection, profile=PROFILE, settings={}, resume=(), t_us=now.t_us
        )
        return lambda group: group.append_connection(TABLE, opened)
    return lambda group: group.append_wire(
        TABLE,
        connection=now.connection,
        direction=Direction.FROM_SHOE,
        offset=now.first,
        t_us=now.t_us,
        data=sent[now.first : now.last],
    )


class _Group:
    """A group in its parts; what stands before a part's text (its time, a connection) apart."""

    def __init__(self, row: Row) -> None:
        self.n, self.table, body, self.end = row
        self.header = read_header(body)
        parts = split_group(body, self.header)
        self.parts = [b"" if letter == Letter.COPY else next(parts) for letter in self.header.kinds]
        self.connections = [
            _leb128_at(part, _leb128_at(part, 0)[1])[0] if letter in _WIRE else None
            for letter, part in zip(self.header.kinds, self.parts, strict=True)
        ]

    def texts(self) -> Iterator[tuple[bytes, bytes]]:
        """Of each part the bytes before its text, and its text. Raw bytes have none."""
        for letter, part in zip(self.header.kinds, self.parts, strict=True):
            if letter in _WIRE:
                time = _leb128_at(part, 0)[1]
                offset = _leb128_at(part, time)[1]
                yield part[:time], part[offset:]
            else:
                at = _leb128_at(part, 0)[1] if letter in _TIMED else 0
                yield part[:at], part[at:]


_WIRE = bytes((Letter.FROM_SHOE, Letter.TO_SHOE))
_TIMED = bytes(
    (
        *(Letter.INPUT, Letter.PUBLIC, Letter.RESTRICTED),
        *(Letter.CLOSED_INPUT, Letter.CLOSED_RESTRICTED),
    )
)


def _leb128_at(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7


def _leb128(value: int) -> bytes:
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*digits, value))


class _Parts:
    """The parts of a table's groups of a set, said from those of the second and the third set.

    All texts but raw bytes are one form, so that a set is filled in at once: JSON has no line's end
    in it. ``chained`` says in which texts a hash is to be put in: that of which group, counted from
    1 within the set, 0 being the one before it.
    """

    def __init__(self, second: Sequence[_Group], third: Sequence[_Group]) -> None:
        self.chained: dict[int, int] = {}
        self._numbers: list[tuple[int, int]] = []
        self._moments: list[int] = []
        self._third = third
        self._connections = 0
        self._second = second
        chain = [second[-1].end, *(group.end for group in third)]
        forms: list[bytes] = []
        for was, now in zip(second, third, strict=True):
            assert was.header.kinds == now.header.kinds
            pairs = zip(was.texts(), now.texts(), was.connections, now.connections, strict=True)
            for (time, text), (time_now, text_now), before, connection in pairs:
                assert time == time_now
                if before is None or connection is None:
                    forms.append(self._form(len(forms), text, text_now, chain))
                else:
                    assert text == text_now
                    self._connections = connection - before
                    forms.append(b"")
        self._all = b"\n".join(forms)

    def _form(self, place: int, second: bytes, third: bytes, chain: Sequence[bytes]) -> bytes:
        form, at = bytearray(), 0
        for was, now in zip(_RISING.finditer(second), _RISING.finditer(third), strict=True):
            form += _literal(third[at : now.start()])
            at = now.end()
            if now["chained"] is not None:
                form += _CHAINED
                self.chained[place] = chain.index(bytes.fromhex(now["chained"].decode()))
            elif was[0] == now[0]:
                form += _literal(now[0])
            elif now["moment"] is not None:
                form += b"%b"
                self._moments.append(len(self._numbers))
                self._rises(_t_us(was["moment"]), _t_us(now["moment"]))
            else:
                form += b"%d"
                self._rises(int(was["number"]), int(now["number"]))
        return bytes(form + _literal(third[at:]))

    def _rises(self, was: int, now: int) -> None:
        self._numbers.append((now, now - was))

    def after(self, sets: int) -> Iterator[tuple[Header, list[bytes], list[tuple[int, int]]]]:
        """Each group as it stands ``sets`` sets after the third, with ``_CHAINED`` where a hash is.

        Header and parts, and the places of the texts where a hash comes.
        """
        values: list[Any] = [third + sets * step for third, step in self._numbers]
        told: dict[int, bytes] = {}
        for at in self._moments:
            if (text := told.get(values[at])) is None:
                text = told[values[at]] = utc(values[at]).encode()
            values[at] = text
        texts = iter((self._all % tuple(values)).split(b"\n"))
        place = 0
        for was, now in zip(self._second, self._third, strict=True):
            parts: list[bytes] = []
            chained: list[tuple[int, int]] = []
            pairs = zip(now.texts(), now.connections, now.header.kinds, strict=True)
            for (time, raw), connection, letter in pairs:
                text = next(texts)
                if connection is not None:
                    text = _leb128(connection + sets * self._connections) + raw
                if letter != Letter.COPY:
                    parts.append(time + text)
                if place in self.chained:
                    chained.append((len(parts) - 1, self.chained[place]))
                place += 1
            yield _later(was.header, now.header, sets), parts, chained


def _later(was: Header, now: Header, sets: int) -> Header:
    """A header as it is ``sets`` sets after the third one's."""
    before = Counters(
        now.before.public + sets * (now.before.public - was.before.public),
        now.before.restricted + sets * (now.before.restricted - was.before.restricted),
    )
    return now._replace(t_us=now.t_us + sets * (now.t_us - was.t_us), before=before)


def _literal(text: bytes) -> bytes:
    return text.replace(b"%", b"%%")


def _t_us(moment: bytes) -> int:
    return int(datetime.fromisoformat(moment.decode()).timestamp()) * 1_000_000 + int(moment[20:26])


class _Sets:
    """What comes after the third set: the groups to the checkpoint of any further one."""

    def __init__(self, rows: Sequence[Row], rounds: Sequence[IndexedRound], key: Signer) -> None:
        ends = _ends(rows)
        assert len(ends) == DEALT + 1
        second = rows[ends[-3] + 1 : ends[-2] + 1]
        third = rows[ends[-2] + 1 : ends[-1] + 1]
        before, of_table = (
            [_Group(row) for row in rows_ if row[1] == TABLE] for rows_ in (second, third)
        )
        self._parts = _Parts(before, of_table)
        self._signed_at = {row[0]: _checkpoint(row).t_us for row in third if row[1] == JOURNAL}
        self._many = third[-1][0] - second[-1][0]
        self._rounds = [r for r in rounds if second[-1][0] < r.records[0] <= third[-1][0]]
        self._signed = _checkpoint(rows[-1])
        self._key = key
        self.events = Counter(
            {
                kind: sum(count_events(group.header.kinds)[of] for group in of_table)
                for of, kind in enumerate((Kind.PUBLIC, Kind.RESTRICTED))
            }
        )
        self.landmarks: list[tuple[str, str, int]] = []
        self.last_n, self.end, self.signed_end = rows[-1][0], of_table[-1].end, rows[-1][3]
        self._tree = Frontier()
        self._tree.append_all([row[3] for row in rows])

    def after(self, sets: int) -> Iterator[Row]:
        """The groups of the set that is ``sets`` sets after the third; ask for each in turn."""
        signed_at = {
            n + sets * self._many: t_us + sets * _dealt().lasts_us
            for n, t_us in self._signed_at.items()
        }
        chain = [self.end]
        for header, parts, chained in self._parts.after(sets):
            for place, of in chained:
                hashed = b'"hash":"%b"' % chain[of].hex().encode()
                parts[place] = parts[place].replace(_CHAINED, hashed)
            yield self._next(TABLE, pack_group(header, parts), header)
            chain.append(self.end)
            if self.last_n + 1 in signed_at:
                yield self._sign(signed_at[self.last_n + 1])

    def rounds_after(self, sets: int) -> Iterator[tuple[int, str, int, int, int, bytes]]:
        """The index's rows for the rounds of that set."""
        more = sets * self._many
        for one in self._rounds:  # a table goes on counting its rounds from set to set
            table, shoe, number = one.id
            number += sets * len(self._rounds)
            t_us = one.t_us + sets * _dealt().lasts_us
            records = b"".join((n + more).to_bytes(8, "big") for n in one.records)
            yield one.records[0] + more, table, shoe + sets, number, t_us, records

    def _next(self, table: str, body: bytes, header: Header) -> Row:
        n = self.last_n = self.last_n + header.records
        before = self.signed_end if table == JOURNAL else self.end
        end = chain_hash(before, n, table, body)
        if table == JOURNAL:
            self.signed_end = end
        else:
            self.end = end
        self._tree.append(end)
        self.landmarks += landmarks(table, n, header)
        return n, table, body, end

    def _sign(self, t_us: int) -> Row:
        upto = self.last_n
        self._signed = msgspec.structs.replace(
            self._signed,
            number=self._signed.number + 1,
            size=self._tree.size,
            root=self._tree.root(),
            frontier=tuple(map(bytes.hex, self._tree.hashes)),
            t_us=t_us,
            upto=upto,
            heads={
                JOURNAL: SignedHead(self._signed.upto + 1, self.signed_end.hex()),
                TABLE: SignedHead(upto, self.end.hex()),
            },
        )
        header = Header(1, LETTERS[Kind.CHECKPOINT], bytes(4), 0, Counters(), 0, 0)
        body = pack_group(header, [self._signed.to_bytes(self._key)])
        return self._next(JOURNAL, body, header)

    def heads(self, connection: apsw.Connection, more: int) -> None:
        """Brings the heads to where the chains end after so many more sets."""
        public, restricted = (more * self.events[kind] for kind in (Kind.PUBLIC, Kind.RESTRICTED))
        lasted_us = more * _dealt().lasts_us
        table = (self.last_n - 1, self.end, public, restricted, more, lasted_us, TABLE)
        connection.execute(_TABLE_HEAD, table)
        connection.execute(_SIGNED_HEAD, (self.last_n, self.signed_end, JOURNAL))


def _checkpoint(row: Row) -> Checkpoint:
    ((_, _, body),) = unpack_group(JOURNAL, row[2])
    return read_checkpoint(body)


def _ends(rows: Sequence[Row]) -> list[int]:
    """Where the checkpoints stand that begin a set: each is the first behind how it began."""
    ends, begun = [], False
    for place, (_, table, body, _) in enumerate(rows):
        if table == JOURNAL and begun:
            ends.append(place)
            begun = False
        elif read_header(body).has(LETTERS[Kind.META]):
            begun = place > 0
    return ends


def make(path: Path, rounds: int, key: Signer | None = None) -> Made:
    """Makes a journal of this many rounds or a few more; ``key`` signs it, one made beside it.

    The first sets are stored as a daemon stores them, all others are made from them. It is not
    synced, and written past SQLite's log: only what is measured after it counts.
    """
    key = open_signer(path, None) if key is None else key
    with dealing(path, DEALT, key) as table:
        rounds_each = table.controller.state.rounds // DEALT
    with Reader.open(path) as reader:
        sets = _Sets(list(reader.rows()), list(reader.rounds(RoundQuery())), key)
    more = max(0, math.ceil(rounds / rounds_each) - DEALT)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.pragma("journal_mode", "off")
        connection.pragma("synchronous", 0)
        with connection:
            for number in range(1, more + 1):
                connection.executemany(_INSERT, sets.after(number))
                connection.executemany(_LANDMARK, sets.landmarks)
                sets.landmarks.clear()
                connection.executemany(_INSERT_ROUND, sets.rounds_after(number))
            sets.heads(connection, more)
        connection.pragma("journal_mode", "wal")
    finally:
        connection.close()
    head_path(path).unlink()  # it knows of the first sets alone; opening makes it anew
    Store.open(path).close()
    return Made(path, rounds_each * (DEALT + more), sets.last_n, key, _dealt().under)
