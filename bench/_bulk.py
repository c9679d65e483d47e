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

from shoe_ctl import rules
from shoe_ctl.games import catalog
from shoe_ctl.journal.bodies import Connection, Direction, Kind, Meta, Wire
from shoe_ctl.journal.chain import Names, link
from shoe_ctl.journal.checkpoint import JOURNAL, SignedHead, read
from shoe_ctl.journal.group import Group
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signing import Signer, signer
from shoe_ctl.journal.store import Store
from shoe_ctl.records import utc
from shoe_ctl.table.inputs import Input, LinkLost, LinkUp, ShoeSaid
from simulators.faults import CleanLine
from tests.end_to_end.at_a_table import Table
from tests.wiring.at_a_journal import AtAJournal

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
_INSERT = "INSERT INTO record VALUES (?, ?, ?, ?, ?)"
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
    table = Table(
        catalog.load("tiger"), PROFILE, seed=7, pace_s=PACE_S, face_up_after_ms=0, to_host=line
    )
    table.deal()
    under = rules.meta(table.controller.game, table.controller.settings, BEGAN_US)
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
def opened(path: Path) -> Iterator[AtAJournal]:
    """A table at a new journal that is not synced."""
    disk = _Unsynced()
    store = Store.open(path, vfs=disk.vfs_name)
    try:
        yield AtAJournal(store, _dealt().under)
    finally:
        store.close()
        disk.unregister()


@contextmanager
def dealing(path: Path, sets: int, key: Signer) -> Iterator[AtAJournal]:
    """A table that was dealt this many sets and began the next, as a daemon stores it.

    As a daemon does, it signs where each set begins: the journal ends with a checkpoint.
    """
    with opened(path) as table:
        store, hearing = table.store, heard_by(table, key)
        while table.controller.state.shoes <= sets or store.last_n != store.head(JOURNAL).n:
            next(hearing)
        yield table


def heard_by(table: AtAJournal, key: Signer) -> Iterator[None]:
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
            if table.sections.turned() or (signed_us and t_us >= signed_us + SIGNED_S * 10**6):
                table.store.checkpoint(key, t_us)
                signed_us = t_us
            yield


def _raw(now: LinkUp | ShoeSaid, sent: bytes) -> Callable[[Group], object]:
    """What stands before this input in its group."""
    if isinstance(now, LinkUp):
        opened = Connection(
            number=now.connection, profile=PROFILE, settings={}, resume=(), t_us=now.t_us
        )
        return lambda group: group.connection(TABLE, opened)
    return lambda group: group.wire(
        TABLE,
        connection=now.connection,
        direction=Direction.FROM_SHOE,
        offset=now.first,
        t_us=now.t_us,
        data=sent[now.first : now.last],
    )


class _Risen:
    """A record of a set, with what rises in it, said from its bodies in the second and third set.

    ``chain`` are the hashes of the third set's records, behind that of the record before it.
    """

    def __init__(self, second: bytes, third: bytes, chain: Sequence[bytes]) -> None:
        form, at = bytearray(), 0
        self._numbers: list[tuple[int, int]] = []
        self._moments: list[int] = []
        self._hashes: list[tuple[int, int]] = []
        for was, now in zip(_RISING.finditer(second), _RISING.finditer(third), strict=True):
            form += _literal(third[at : now.start()])
            at = now.end()
            if now["chained"] is not None:
                form += b'"hash":"%b"'
                earlier = chain.index(bytes.fromhex(now["chained"].decode()))
                self._hashes.append((len(self._numbers), earlier))
                self._rises(0, 0)
            elif was[0] == now[0]:
                form += _literal(now[0])
            elif now["moment"] is not None:
                form += b"%b"
                self._moments.append(len(self._numbers))
                self._rises(_t_us(was["moment"]), _t_us(now["moment"]))
            else:
                form += b"%d"
                self._rises(int(was["number"]), int(now["number"]))
        self._form = bytes(form + _literal(third[at:]))

    def _rises(self, was: int, now: int) -> None:
        self._numbers.append((now, now - was))

    def body(self, sets: int, chain: Sequence[bytes], moments: dict[Any, bytes]) -> bytes:
        """As it stands ``sets`` sets after the third; ``moments`` keeps times already written."""
        values: list[Any] = [third + sets * step for third, step in self._numbers]
        for at in self._moments:
            if (text := moments.get(values[at])) is None:
                text = moments[values[at]] = utc(values[at]).encode()
            values[at] = text
        for at, earlier in self._hashes:
            values[at] = chain[earlier].hex().encode()
        return self._form % tuple(values)


class _RisenWire:
    """Raw bytes of a set: the same in each, on another connection, at another time."""

    def __init__(self, second: bytes, third: bytes, chain: Sequence[bytes]) -> None:  # noqa: ARG002
        was, self._now = Wire.from_bytes(second), Wire.from_bytes(third)
        assert (was.offset, was.data) == (self._now.offset, self._now.data)
        self._connections = self._now.connection - was.connection
        self._lasts_us = self._now.t_us - was.t_us

    def body(self, sets: int, chain: Sequence[bytes], moments: dict[Any, bytes]) -> bytes:  # noqa: ARG002
        """As ``_Risen.body``."""
        now = self._now
        return Wire(
            connection=now.connection + sets * self._connections,
            direction=now.direction,
            offset=now.offset,
            t_us=now.t_us + sets * self._lasts_us,
            data=now.data,
        ).to_bytes()


def _literal(text: bytes) -> bytes:
    return text.replace(b"%", b"%%")


def _t_us(moment: bytes) -> int:
    return int(datetime.fromisoformat(moment.decode()).timestamp()) * 1_000_000 + int(moment[20:26])


class _Sets:
    """What comes after the third set: the records to the checkpoint of any further one."""

    def __init__(self, rows: Sequence[Row], key: Signer) -> None:
        ends = _ends(rows)
        assert len(ends) == DEALT + 1
        second = rows[ends[-3] + 1 : ends[-2] + 1]
        third = rows[ends[-2] + 1 : ends[-1] + 1]
        of_table = [row for row in third if row[1] == TABLE]
        chain = [
            next(row[4] for row in reversed(second) if row[1] == TABLE),
            *(row[4] for row in of_table),
        ]
        self._forms = [
            (Names(TABLE, row[2]), row[2], _form(row[2])(was[3], row[3], chain))
            for was, row in zip(second, third, strict=True)
            if row[1] == TABLE
        ]
        self._signed_at = {row[0]: read(row[3]).t_us for row in third if row[1] == JOURNAL}
        self._many = len(third)
        self._signed = read(rows[-1][3])
        self._key = key
        self.events = Counter(row[2] for row in third)
        self.last_n, self.end, self.signed_end = rows[-1][0], chain[-1], rows[-1][4]

    def after(self, sets: int) -> Iterator[Row]:
        """The records of the set that is ``sets`` sets after the third; ask for each in turn."""
        moments: dict[Any, bytes] = {}
        chain = [self.end]
        signed_at = {
            n + sets * self._many: t_us + sets * _dealt().lasts_us
            for n, t_us in self._signed_at.items()
        }
        for names, kind, form in self._forms:
            n = self.last_n = self.last_n + 1
            body = form.body(sets, chain, moments)
            self.end = names.link(self.end, n, body)
            chain.append(self.end)
            yield n, TABLE, kind, body, self.end
            if n + 1 in signed_at:
                yield self._checkpoint(signed_at[n + 1])

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
        self.signed_end = link(self.signed_end, n, JOURNAL, kind, body)
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


def _form(kind: str) -> type[_Risen | _RisenWire]:
    return _RisenWire if kind == Kind.WIRE.value else _Risen


def make(path: Path, rounds: int, key: Signer | None = None) -> Made:
    """Makes a journal of this many rounds or a few more; ``key`` signs it, one made beside it.

    The first sets are stored as a daemon stores them, all others are made from them. It is not
    synced, and written past SQLite's log: only what is measured after it counts.
    """
    key = signer(path, None) if key is None else key
    with dealing(path, DEALT, key) as table:
        rounds_each = table.controller.state.rounds // DEALT
    with Reader.open(path) as reader:
        sets = _Sets(list(reader.rows()), key)
    more = max(0, math.ceil(rounds / rounds_each) - DEALT)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.pragma("journal_mode", "off")
        connection.pragma("synchronous", 0)
        with connection:
            for number in range(1, more + 1):
                connection.executemany(_INSERT, sets.after(number))
            sets.heads(connection, more)
        connection.pragma("journal_mode", "wal")
    finally:
        connection.close()
    return Made(path, rounds_each * (DEALT + more), sets.last_n, key, _dealt().under)
