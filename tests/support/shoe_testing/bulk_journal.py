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
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.chain import RecordHasher, SignedHead, chain_hash, read_checkpoint
from shoe_ctl.journal.files import head_path
from shoe_ctl.journal.packing import Packer
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Connection, Direction, Kind, Meta, Wire
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
_INSERT = "INSERT INTO record VALUES (?, ?, ?, ?, ?)"
_INSERT_ROUND = "INSERT INTO round VALUES (?, ?, ?, ?, ?, ?)"
_TABLE_HEAD = (
    "UPDATE head SET n = ?, hash = ?, public = public + ?, restricted = restricted + ?,"
    ' connection = connection + ?, t_us = t_us + ? WHERE "table" = ?'
)
_SIGNED_HEAD = 'UPDATE head SET n = ?, hash = ? WHERE "table" = ?'

Row = tuple[int, str, str, bytes, bytes]


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


class _Bodies:
    """The bodies of a table's records of a set, said from those of the second and the third set.

    All but raw bytes are one form, so that a set is filled in at once: JSON has no line's end in
    it. ``chained`` says in which bodies a hash is to be put in: that of which record, counted from
    1 within the set, 0 being the one before it.
    """

    def __init__(self, second: Sequence[Row], third: Sequence[Row]) -> None:
        self.chained: dict[int, int] = {}
        self._numbers: list[tuple[int, int]] = []
        self._moments: list[int] = []
        self._wire: list[tuple[int, int, Wire, Wire]] = []
        chain = [second[-1][4], *(row[4] for row in third)]
        forms = []
        for place, (was, now) in enumerate(zip(second, third, strict=True)):
            assert was[2] == now[2]
            if now[2] == Kind.WIRE.value:
                self._see_wire(place, Wire.from_bytes(was[3]), Wire.from_bytes(now[3]))
                forms.append(b"")
            else:
                forms.append(self._form(place, was[3], now[3], chain))
        self._all = b"\n".join(forms)

    def _see_wire(self, place: int, was: Wire, now: Wire) -> None:
        """Raw bytes are the same in each set, on another connection, at another time."""
        assert (was.offset, was.direction, was.data) == (now.offset, now.direction, now.data)
        self._wire.append((place, now.connection - was.connection, was, now))

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

    def after(self, sets: int) -> list[bytes]:
        """As they stand ``sets`` sets after the third, with ``_CHAINED`` where a hash comes."""
        values: list[Any] = [third + sets * step for third, step in self._numbers]
        told: dict[int, bytes] = {}
        for at in self._moments:
            if (text := told.get(values[at])) is None:
                text = told[values[at]] = utc(values[at]).encode()
            values[at] = text
        bodies = (self._all % tuple(values)).split(b"\n")
        for place, connections, was, now in self._wire:
            bodies[place] = Wire(
                connection=now.connection + sets * connections,
                direction=now.direction,
                offset=now.offset,
                t_us=now.t_us + sets * (now.t_us - was.t_us),
                data=now.data,
            ).to_bytes()
        return bodies


def _literal(text: bytes) -> bytes:
    return text.replace(b"%", b"%%")


def _t_us(moment: bytes) -> int:
    return int(datetime.fromisoformat(moment.decode()).timestamp()) * 1_000_000 + int(moment[20:26])


class _Sets:
    """What comes after the third set: the records to the checkpoint of any further one."""

    def __init__(self, rows: Sequence[Row], rounds: Sequence[IndexedRound], key: Signer) -> None:
        ends = _ends(rows)
        assert len(ends) == DEALT + 1
        second = rows[ends[-3] + 1 : ends[-2] + 1]
        third = rows[ends[-2] + 1 : ends[-1] + 1]
        before, of_table = ([row for row in rows_ if row[1] == TABLE] for rows_ in (second, third))
        self._bodies = _Bodies(before, of_table)
        names = {row[2]: RecordHasher(TABLE, row[2]) for row in of_table}
        self._kinds = [(names[row[2]], row[2]) for row in of_table]
        self._signed_at = {
            row[0]: read_checkpoint(row[3]).t_us for row in third if row[1] == JOURNAL
        }
        self._many = len(third)
        self._rounds = [r for r in rounds if third[0][0] <= r.records[0] <= third[-1][0]]
        self._signed = read_checkpoint(rows[-1][3])
        self._key = key
        self.events = Counter(row[2] for row in third)
        self.last_n, self.end, self.signed_end = rows[-1][0], of_table[-1][4], rows[-1][4]

    def after(self, sets: int) -> Iterator[Row]:
        """The records of the set that is ``sets`` sets after the third; ask for each in turn."""
        signed_at = {
            n + sets * self._many: t_us + sets * _dealt().lasts_us
            for n, t_us in self._signed_at.items()
        }
        chained, chain = self._bodies.chained, [self.end]
        bodies = self._bodies.after(sets)
        packer = Packer()
        for place, (names, kind) in enumerate(self._kinds):
            body = bodies[place]
            if place in chained:
                hashed = chain[chained[place]].hex().encode()
                body = body.replace(_CHAINED, b'"hash":"' + hashed + b'"')
            n = self.last_n = self.last_n + 1
            body = packer.pack(TABLE, kind, body)
            self.end = names.hash(self.end, n, body)
            chain.append(self.end)
            yield n, TABLE, kind, body, self.end
            if n + 1 in signed_at:
                yield self._checkpoint(signed_at[n + 1])

    def rounds_after(self, sets: int) -> Iterator[tuple[int, str, int, int, int, bytes]]:
        """The index's rows for the rounds of that set."""
        more = sets * self._many
        for one in self._rounds:  # a table goes on counting its rounds from set to set
            table, shoe, number = one.id
            number += sets * len(self._rounds)
            t_us = one.t_us + sets * _dealt().lasts_us
            records = b"".join((n + more).to_bytes(8, "big") for n in one.records)
            yield one.records[0] + more, table, shoe + sets, number, t_us, records

    def _checkpoint(self, t_us: int) -> Row:
        upto, kind = self.last_n, Kind.CHECKPOINT.value
        self._signed = msgspec.structs.replace(
            self._signed,
            number=self._signed.number + 1,
            t_us=t_us,
            upto=upto,
            heads={
                JOURNAL: SignedHead(self._signed.upto + 1, self.signed_end.hex()),
                TABLE: SignedHead(upto, self.end.hex()),
            },
        )
        body = self._signed.to_bytes(self._key)
        n = self.last_n = upto + 1
        self.signed_end = chain_hash(self.signed_end, n, JOURNAL, kind, body)
        return n, JOURNAL, kind, body, self.signed_end

    def heads(self, connection: apsw.Connection, more: int) -> None:
        """Brings the heads to where the chains end after so many more sets."""
        public, restricted = (
            more * self.events[kind.value] for kind in (Kind.PUBLIC, Kind.RESTRICTED)
        )
        lasted_us = more * _dealt().lasts_us
        table = (self.last_n - 1, self.end, public, restricted, more, lasted_us, TABLE)
        connection.execute(_TABLE_HEAD, table)
        connection.execute(_SIGNED_HEAD, (self.last_n, self.signed_end, JOURNAL))


def _plain(reader: Reader) -> Iterator[Row]:
    for record in reader.records():
        yield record.n, record.table, record.kind, record.body, record.hash


def _ends(rows: Sequence[Row]) -> list[int]:
    """Where the checkpoints stand that begin a set: each is the first behind how it began."""
    ends, begun = [], False
    for place, (_, _, kind, _, _) in enumerate(rows):
        if kind == Kind.META.value:
            begun = place > 0
        elif kind == Kind.CHECKPOINT.value and begun:
            ends.append(place)
            begun = False
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
        sets = _Sets(list(_plain(reader)), list(reader.rounds(RoundQuery())), key)
    more = max(0, math.ceil(rounds / rounds_each) - DEALT)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.pragma("journal_mode", "off")
        connection.pragma("synchronous", 0)
        with connection:
            for number in range(1, more + 1):
                connection.executemany(_INSERT, sets.after(number))
                connection.executemany(_INSERT_ROUND, sets.rounds_after(number))
            sets.heads(connection, more)
        connection.pragma("journal_mode", "wal")
    finally:
        connection.close()
    head_path(path).unlink()  # it knows of the first sets alone; opening makes it anew
    Store.open(path).close()
    return Made(path, rounds_each * (DEALT + more), sets.last_n, key, _dealt().under)
