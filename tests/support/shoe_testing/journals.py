"""Journals to test with: built by hand, by a table, or by a table and its shoe; spoiled; replayed.

In: a path. Out: the journal there, and what reading, verifying or replaying it finds.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firmware_proto.commands import AnyCommand, DesiredShoeState
from firmware_proto.profiles import profile, with_keys
from firmware_proto.reference.mac import ShoeKeys
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_ctl.history import snapshots
from shoe_ctl.history.event_ids import EventIndex, RecordedAnswer
from shoe_ctl.history.recorder import TableRecorder, in_runs, record_input
from shoe_ctl.history.snapshots import RecoveredTable
from shoe_ctl.journal import record_format
from shoe_ctl.journal.batch import Batch, CommitResult
from shoe_ctl.journal.chain import chain_hash
from shoe_ctl.journal.group import count_events, read_header, unpack_group
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind, Meta, Row
from shoe_ctl.journal.store import Store
from shoe_ctl.journal.verify import Verification, verify
from shoe_ctl.link.connection import Call, Reception
from shoe_ctl.records import Audience, Record
from shoe_ctl.replay.difference import OPENED
from shoe_ctl.replay.replay import Replay, replay
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_ctl.table.effects import Answer, TableEvent
from shoe_ctl.table.inputs import Input, ShoeSaid
from shoe_testing.bench import DealtTable, game_of
from shoe_testing.paths import child_environment
from shoe_testing.tables import TableHarness, game, settings
from simulators.faults import Faults, FaultyLine


class JournalTable:
    """One table at an open store; goes on from what the store has of it."""

    def __init__(self, store: Store, under: Meta) -> None:
        self.store = store
        self.table: str = under.settings["table"]
        with store.reader() as reader:
            before = snapshots.recover_tables(reader, [self.table])[self.table]
        self.controller = snapshots.continue_under(before.controller, before.meta, under)
        self.index: EventIndex = before.index
        self.recorder = TableRecorder(self.table, under, store, {})

    def handle(
        self, happened: Input, before: Callable[[Batch], object] = lambda _: None
    ) -> list[TableEvent]:
        """One input in a group of its own, behind what is due and ``before``, its raw bytes say."""
        group = self.recorder.begin(self.controller, self.index, waits=False)
        before(group)
        effects = self.controller.handle(happened)
        handles = record_input(group, self.table, happened, effects, self.index)
        device = self.controller.state.link.device_id
        if isinstance(happened, ShoeSaid) and isinstance(happened.seq, int) and device is not None:
            group.set_device_seq(self.table, device, happened.seq)
        (result,) = self.store.commit([group])
        events = [effect for effect in effects if isinstance(effect, TableEvent)]
        ids = tuple(result.ids[handle] for handle in handles)
        for event, given in zip(events, ids, strict=True):
            self.index.add_event(event.type, event.subject, given)
        for answer in effects:
            if isinstance(answer, Answer) and self.index.answer(answer.command_id) is None:
                self.index.add_answer(RecordedAnswer(answer, ids))
        return events

    def again(self) -> RecoveredTable:
        """The table as a restart would find it now."""
        with self.store.reader() as reader:
            return snapshots.recover_tables(reader, [self.table])[self.table]


def all_bytes_of(folder: Path) -> bytes:
    """The files of the journal in this folder, and each record as it was before it was packed.

    A secret that is in neither is nowhere in it.
    """
    files = [path.read_bytes() for path in sorted(folder.glob("journal.db*"))]
    with Reader.open(folder / "journal.db") as reader:
        bodies = [record.body for record in reader.records()]
    return b"\n".join([*files, *bodies])


@contextmanager
def journal_table(path: Path, under: Meta, inputs: Iterable[Input] = ()) -> Iterator[JournalTable]:
    """A table that has handled these inputs; its store is closed in the end."""
    store = Store.open(path)
    try:
        table = JournalTable(store, under)
        for happened in inputs:
            table.handle(happened)
        yield table
    finally:
        store.close()


def replayed_journal(path: Path) -> Replay:
    """What a replay of this journal finds."""
    with Reader.open(path) as reader:
        return replay(
            reader,
            snapshots.controller_for,
            snapshots.agrees,
            from_first_snapshot=snapshots.from_first_snapshot,
        )


T_US = 1_700_000_000_000_000


def stored_round(number: int, table: str = "bac-07") -> Batch:
    """An input with one event for each audience: four records, and a device's number."""
    group = Batch()
    hello = {"type": "hello", "device_id": "SH-0042"}
    said = {"input": "shoe", "t_us": T_US + number, "number": number, "event": hello}
    body = json.dumps({**said, "seq": number}, separators=(",", ":"))
    group.append_input(table, body.encode(), T_US + number)
    group.append_event(
        table,
        Audience.PUBLIC,
        "round.card_dealt",
        t_us=T_US + number,
        subject=f"{table}/1",
        data={"number": number},
    )
    group.append_event(
        table,
        Audience.RESTRICTED,
        "round.card_drawn",
        t_us=T_US + number,
        subject=f"{table}/1",
        data={"number": number, "card": "8S"},
    )
    group.set_device_seq(table, "SH-0042", number)
    return group


class Never:
    """For sinks that take everything."""

    async def parked(self, n: int, event: bytes, why: str) -> None:
        raise AssertionError(f"{event!r}, record {n}, was not taken: {why}")

    async def taken(self, n: int, event: bytes) -> None:
        raise AssertionError(f"{event!r}, record {n}, was never parked")


@contextmanager
def opened(path: Path, vfs: str | None = None) -> Iterator[Store]:
    """A store that is closed in the end."""
    store = Store.open(path, vfs=vfs)
    try:
        yield store
    finally:
        store.close()


def stored(path: Path, groups: Sequence[Batch]) -> list[CommitResult]:
    """Opens, stores each group with a commit of its own, closes."""
    with opened(path) as store:
        return [store.commit([group])[0] for group in groups]


def records(path: Path) -> list[Record]:
    """Everything in a journal at rest."""
    with Reader.open(path) as reader:
        return list(reader.records())


def held(path: Path) -> list[Row]:
    """Every group as the file holds it: hashes are made over these."""
    with Reader.open(path) as reader:
        return list(reader.rows())


def first_of(row: Row) -> int:
    """The number of a group's first record."""
    return row[0] - row[2][1] + 1


def plain_group(*records: tuple[str, bytes], before: tuple[int, int] = (0, 0)) -> bytes:
    """A group that is not packed: the letter and the bytes of each part, written by hand."""
    kinds = "".join(letter for letter, _ in records).encode()
    lengths = b"".join(bytes((len(part),)) for letter, part in records if letter != "=")
    numbers = bytes(4 + 7) + b"".join(number.to_bytes(5, "big") for number in before) + bytes(16)
    parts = b"".join(part for _, part in records)
    return bytes((2, len(records))) + kinds + numbers + lengths + parts


def verified(path: Path, trusted: frozenset[bytes] = frozenset()) -> Verification:
    """What verifying a journal finds."""
    with Reader.open(path) as reader:
        return verify(reader, trusted)


def spoil(path: Path, *statements: str | tuple[str, Sequence[Any]]) -> None:
    """Changes a journal behind shoe-ctl's back, as anyone with the file could."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # nothing here outlives the power
        for statement in statements:
            text, bindings = (statement, ()) if isinstance(statement, str) else statement
            connection.execute(text, bindings)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def child(program: str, *arguments: str, stderr: int | None = None) -> subprocess.Popen[str]:
    """Another Python that can import ``shoe_testing``. Its stderr goes to the test's report."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


LINE_FAULTS = Faults(
    split=0.3, merge=0.1, drop=0.02, flip=0.02, repeat=0.05, delay=0.1, unplug=0.03
)
"""Frames cut in two, damaged, doubled; cables that come off in the midst of them."""

WIRE_ROUNDS = 20

SPLIT_BYTES = Faults(split=0.5)


def bad_lines() -> dict[str, Any]:
    return {"to_host": FaultyLine(3, LINE_FAULTS), "to_shoe": FaultyLine(4, LINE_FAULTS)}


WIRE_TABLES: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "reference": ("reference", dict),
    "keyed": ("reference", lambda: {"keyed": True, **bad_lines()}),
    "bad_lines": ("reference", bad_lines),
    "angel_eye": ("angel_eye", lambda: {"pace_s": 0.35, "to_host": FaultyLine(2, SPLIT_BYTES)}),
    "told": ("angel_eye", lambda: {"session_settings": {"commands": True}}),
    "bee_tek": ("bee_tek", lambda: {"to_host": FaultyLine(2, SPLIT_BYTES)}),
}


class Drawn(msgspec.Struct):
    """Where an input says that a card was drawn: its record, its round."""

    n: int
    round_id: str | None


def drawn_cards(path: Path, number: int) -> Drawn:
    """The input of this card, counted from 1, and the round that it belongs to."""
    found: Drawn | None = None
    opened: str | None = None
    for record in records(path):
        if found is not None and record.kind == Kind.INPUT.value:
            break
        if record.kind == Kind.RESTRICTED.value and f'"{OPENED}"'.encode() in record.body:
            opened = msgspec.json.decode(record.body)["subject"]
        if record.kind == Kind.INPUT.value and b'"type":"card_drawn"' in record.body:
            number -= 1
            if not number:
                found = Drawn(record.n, opened)
    assert found is not None
    return Drawn(found.n, opened)


def shoe_inputs(path: Path) -> list[dict[str, Any]]:
    """What the shoe said, as it stands in the journal."""
    inputs = [msgspec.json.decode(r.body) for r in records(path) if r.kind == Kind.INPUT.value]
    return [one for one in inputs if one["input"] == "shoe"]


def cards_of_outcomes(path: Path) -> Iterator[tuple[Record, str | None]]:
    """Each input that a card was drawn, and its round."""
    number = 0
    for record in records(path):
        if record.kind == Kind.INPUT.value and b'"type":"card_drawn"' in record.body:
            number += 1
            yield record, drawn_cards(path, number).round_id


DEVICE, KEY = "SIM-0001", bytes(range(32))
SHOE_KEYS = {DEVICE: {1: KEY}}


class Nonces:
    """16 bytes, never the same twice."""

    def __init__(self, first: int) -> None:
        self._next = first

    def __call__(self) -> bytes:
        self._next += 1
        return self._next.to_bytes(16, "big")


class SentToShoe:
    """A host session, and what it was told, as the link keeps it."""

    def __init__(self, session: HostSession, table: WiredTable, number: int) -> None:
        self._session = session
        self._table = table
        self._number = number
        self._received = 0
        self._calls: list[Call] = []
        self.capabilities = session.capabilities

    def receive(self, data: bytes, t: float) -> list[ReceivedEvent]:
        offset, self._received = self._received, self._received + len(data)
        heard = self._session.receive(data, t)
        self._receive(offset, data, heard, t)
        return in_runs(heard, data, offset)

    def tick(self, t: float) -> list[ReceivedEvent]:
        self._call(t)
        heard = self._session.tick(t)
        if heard:
            self._receive(self._received, b"", heard, t)
        return heard

    def set_desired_state(self, state: DesiredShoeState) -> None:
        self._call(state)
        self._session.set_desired_state(state)

    def command(self, command: AnyCommand) -> None:
        self._session.command(command)
        self._call(command)

    def stored(self, seq: int | str) -> None:
        self._session.stored(seq)

    def end(self) -> list[ReceivedEvent]:
        return self._session.end()

    @property
    def next_deadline(self) -> float | None:
        return self._session.next_deadline

    def outgoing(self) -> bytes:
        return self._session.outgoing()

    def _call(self, call: Call) -> None:
        if self.capabilities.timed:
            self._calls.append(call)

    def _receive(self, offset: int, data: bytes, heard: list[ReceivedEvent], t: float) -> None:
        calls, self._calls = tuple(self._calls), []
        self._table.receive(
            Reception(
                connection=self._number,
                offset=offset,
                chunk=data,
                heard=tuple(heard),
                t_us=round(t * 1_000_000),
                calls=calls,
            )
        )


class WiredTable(DealtTable):
    """``Table`` at an open store. With ``keyed`` its shoe proves itself to who has ``known``."""

    def __init__(
        self,
        store: Store,
        profile_name: str,
        seed: int,
        *,
        keyed: bool = False,
        known: Mapping[str, Mapping[int, bytes]] = SHOE_KEYS,
        **given: Any,
    ) -> None:
        keys = ShoeKeys({1: KEY}, Nonces(1 << 100)) if keyed else None
        super().__init__(
            game_of("tiger"), profile_name, seed, face_up_after_ms=0, keys=keys, **given
        )
        self._chosen = profile(profile_name)
        if keyed:
            self._chosen = with_keys(self._chosen, known, Nonces(0))
        self._pending: list[Callable[[Batch], object]] = []
        under = snapshots.start_record(self.controller.game, self.controller.settings, 0)
        self._at = JournalTable(store, under)
        self.controller = self._at.controller

    @property
    def store(self) -> Store:
        """Where its records are."""
        return self._at.store

    @property
    def connections(self) -> int:
        """How often the shoe's port was opened."""
        return self._connection

    def receive(self, reception: Reception) -> None:
        """What came in one go stands before its inputs."""
        self._pending.append(
            lambda group: self._at.recorder.received(group, reception, reception.t_us)
        )

    def open(self) -> None:
        """The table opens, and the shoe's port."""
        self.dealer.open_table(0.0)
        self.connect()

    def deal_rounds(self, rounds: int) -> None:
        """Deals on, to so many rounds; a lost cable is plugged in again."""
        if not self._connection:
            self.open()
        while self.count["round.settled"] < rounds:
            if self._port.host is None:
                self._lose()
            self._advance()

    def ask(self, command: AnyCommand) -> None:
        """Tells the shoe this, on the connection that is open."""
        assert self._port.host is not None
        self._port.host.command(command)

    def _session(self, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:
        session = self._chosen.host_session(resume=resume, settings=settings)
        known = () if resume is None else (record_format.Resume(resume.device_id, resume.seq),)
        opened = record_format.Connection(
            number=self._connection,
            profile=self._profile_name,
            settings=dict(settings),
            resume=known,
            t_us=self._now_us,
            authenticated=session.capabilities.authenticated,
        )
        self._pending.append(lambda group: group.append_connection(self._at.table, opened))
        return SentToShoe(session, self, self._connection)

    def _happened(self, happened: Input) -> None:
        pending, self._pending = self._pending, []
        self.inputs.append(happened)
        events = self._at.handle(happened, lambda group: [add(group) for add in pending])
        self.told += events
        self.count.update(event.type for event in events)


@contextmanager
def wired_table(path: Path, profile_name: str, seed: int = 1, **given: Any) -> Iterator[WiredTable]:
    """A table at a journal; its store is closed in the end."""
    store = Store.open(path)
    store._log.execute("PRAGMA synchronous = OFF")  # nothing here has to outlive the power
    try:
        yield WiredTable(store, profile_name, seed, **given)
    finally:
        store.close()


def dealt_journal(path: Path, profile_name: str, rounds: int, **given: Any) -> WiredTable:
    """A table that was dealt so many rounds, its journal at rest."""
    with wired_table(path, profile_name, **given) as table:
        table.deal_rounds(rounds)
    return table


def both_replays(path: Path, sessions: RecordedSessions | None = None) -> Replay:
    """What both replays find in this journal."""
    with Reader.open(path) as reader:
        return replay(
            reader, snapshots.controller_for, snapshots.agrees, sessions or RecordedSessions()
        )


IMPLIED_SETTINGS: dict[str, Any] = {
    "announcements": "implied",
    "faces": "face_up",
    "face_up_after_ms": 0,
}


def table_meta(name: str = "tiger", **given: Any) -> Meta:
    return snapshots.start_record(game(name), settings(**(IMPLIED_SETTINGS | given)), t_us=0)


def dealt_by(codes: str) -> list[Input]:
    """What a table hears up to the last of these cards."""
    played = TableHarness(**IMPLIED_SETTINGS).open_shoe()
    for code in codes.split():
        played.draw(code)
    return played.inputs


@contextmanager
def counted_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many rows each look into the journal gives."""
    rows: list[int] = []

    def counting(look: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def counted(self: Reader, *args: Any) -> list[Any]:
            found = list(look(self, *args))
            rows.append(len(found))
            return found

        return counted

    with monkeypatch.context() as patch:
        for name in ("_fetch", "_batch"):
            patch.setattr(Reader, name, counting(getattr(Reader, name)))
        yield rows


def alter_journal(path: Path, n: int, body: bytes) -> None:
    """Writes another body, and every hash behind it anew: who has the file can do so."""
    rewrite_records(path, lambda record: body if record.n == n else record.body)


_AS_IS = {
    "meta": "m",
    "snapshot": "s",
    "checkpoint": "k",
    "connection": "o",
    "calls": "c",
    "wire": "w",
    "input": "I",
    "event.public": "P",
    "event.restricted": "R",
}


def with_body(table: str, group: bytes, place: int, body: bytes) -> bytes:
    """The same group with another body at this place; every record in it as it is."""
    header = read_header(group)
    found = [(kind, record) for _, kind, record in unpack_group(table, group)]
    found[place] = (found[place][0], body)
    before = (header.before.public, header.before.restricted)
    return group_as_is(found, before=before)


def group_as_is(found: Sequence[tuple[str, bytes]], *, before: tuple[int, int]) -> bytes:
    """A group that holds these kinds and bodies as they are, behind so many events."""
    kinds = "".join(_AS_IS[kind] for kind, _ in found).encode()
    lengths = b"".join(_leb128(len(record)) for _, record in found)
    numbers = bytes(4 + 7) + b"".join(number.to_bytes(5, "big") for number in before) + bytes(16)
    bodies = b"".join(body for _, body in found)
    return bytes((2, len(found))) + kinds + numbers + lengths + bodies


Edit = Callable[[Record], bytes | None]
"""Another body for a record, the same, or none: it is taken out."""


def spoil_records(path: Path, edit: Edit) -> None:
    """Changes records or takes them out; numbers and hashes stay.

    In a group with a change each record stands as it is, and what is left of it when one is taken
    out stands in further groups.
    """
    statements: list[tuple[str, Sequence[Any]]] = []
    with Reader.open(path) as reader:
        for row in reader.rows():
            found = [(record, edit(record)) for record in reader.unpacked([row])]
            if all(now == record.body for record, now in found):
                continue
            statements.append(("DELETE FROM record_group WHERE n = ?", row[:1]))
            before = _before(row[2])
            for piece in _pieces(found):
                body = group_as_is([(r.kind, now) for r, now in piece], before=before)
                again = (piece[-1][0].n, row[1], body, row[3])
                statements.append(("INSERT INTO record_group VALUES (?, ?, ?, ?)", again))
                before = _behind(before, body)
    spoil(path, *statements)


def alter_record(path: Path, n: int, body: bytes) -> None:
    """Writes another body into a record; no hash fits it."""
    spoil_records(path, lambda record: body if record.n == n else record.body)


def take_out(path: Path, *, n: int | None = None, kind: Kind | None = None) -> None:
    """Takes a record out, or all of a kind."""
    spoil_records(
        path,
        lambda record: (
            None
            if record.n == n or (kind is not None and record.kind == kind.value)
            else record.body
        ),
    )


def rewrite_records(path: Path, edit: Edit) -> None:
    """As ``spoil_records``, with numbers, hashes and heads that fit again."""
    rows: list[Row] = []
    told: dict[str, tuple[int, int]] = {}
    with Reader.open(path) as reader:
        gone = set(reader.heads()[1])
        for row in list(reader.rows()):
            _, table, was, _ = row
            found = [(r, edit(r)) for r in reader.unpacked([row])]
            left = [(r.kind, now) for r, now in found if now is not None]
            if not left:
                continue
            before = told.get(table, (0, 0))
            whole = before == _before(was) and all(now == r.body for r, now in found)
            body = was if whole else group_as_is(left, before=before)
            n = (rows[-1][0] if rows else 0) + len(left)
            end = next((row[3] for row in reversed(rows) if row[1] == table), bytes(32))
            rows.append((n, table, body, chain_hash(end, n, table, body)))
            told[table] = _behind(before, body)
    heads = {table: (n, digest, *told[table], table) for n, table, _, digest in rows}
    head = 'UPDATE head SET n = ?, hash = ?, public = ?, restricted = ? WHERE "table" = ?'
    spoil(
        path,
        "DELETE FROM record_group",
        *(("INSERT INTO record_group VALUES (?, ?, ?, ?)", row) for row in rows),
        *((head, values) for values in heads.values()),
        *(('DELETE FROM head WHERE "table" = ?', (table,)) for table in gone - heads.keys()),
    )


def _behind(before: tuple[int, int], group: bytes) -> tuple[int, int]:
    public, restricted = count_events(read_header(group).kinds)
    return before[0] + public, before[1] + restricted


def _before(group: bytes) -> tuple[int, int]:
    before = read_header(group).before
    return before.public, before.restricted


def _pieces(found: Sequence[tuple[Record, bytes | None]]) -> list[list[tuple[Record, bytes]]]:
    """Stretches of records without a gap: a group's numbers have none."""
    pieces: list[list[tuple[Record, bytes]]] = [[]]
    for record, body in found:
        if body is None:
            pieces.append([])
        else:
            pieces[-1].append((record, body))
    return [piece for piece in pieces if piece]


def _leb128(value: int) -> bytes:
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*digits, value))
