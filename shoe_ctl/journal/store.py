"""The journal's one writer: opens or creates the file, stores batches, moves cursors.

In: a path and batches. Out: record numbers and event ids, once they are durable.
Must not know: loops and threads, sinks, what a body means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import files, head_file, past_checkpoints, round_index, schema, wal
from shoe_ctl.journal.batch import Batch, CommitResult, Counters, Head
from shoe_ctl.journal.chain import (
    GENESIS,
    ORIGIN,
    AnchorRecord,
    Checkpoint,
    KeyChange,
    SignedHead,
    chain_hash,
    read_checkpoint,
)
from shoe_ctl.journal.evidence import DeliveredEvent, Evidence, PossibleLoss, find_evidence
from shoe_ctl.journal.files import SharedMemoryFile, WriterLock, corrupt_journal
from shoe_ctl.journal.group import LETTERS, Packing, read_header
from shoe_ctl.journal.head_file import HeadFile
from shoe_ctl.journal.key_changes import change_notes
from shoe_ctl.journal.merkle_tree import Frontier
from shoe_ctl.journal.past_checkpoints import PastCheckpoint, past_checkpoint
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import (
    JOURNAL,
    Kind,
    LossRuling,
    RecoveredEvents,
    Row,
    Ruling,
)
from shoe_ctl.journal.recovery import read_anchor
from shoe_ctl.journal.signing import Signer
from shoe_ctl.journal.wal import sync_log

_INSERT = "INSERT INTO record_group"
_LANDMARK = "INSERT INTO landmark"
_HEAD = "INSERT OR REPLACE INTO head"
_DEVICE = "INSERT OR REPLACE INTO device"
_LEAVES_AT_ONCE = 1024
"""Groups whose hashes wait to be taken into the tree at most: 32 kB, and a few ms of work."""

_ROWS_AT_ONCE = 32
"""Rows that one statement inserts at most. Each number of rows needs its own statement, for each of
four tables; ``schema.STATEMENT_CACHE`` keeps these compiled."""

_TAKE_OUT = (
    "DELETE FROM record_group WHERE n < ?",
    "DELETE FROM landmark WHERE n < ?",
    round_index.TAKE_OUT,
)
_CURSOR = "INSERT OR REPLACE INTO cursor VALUES (?, ?, ?)"

_CURSORS_BACK = "UPDATE cursor SET n = ? WHERE n > ?"

Cursor = tuple[str, str, int]
"""A sink, a table (empty for all of them), and the last record that was delivered."""


class Store:
    """The open journal. Calls block on the disk. Make one at a time, from any thread.

    After a failed write it stores nothing more until it is reopened: SQLite and the system may
    have dropped pages that a second sync would then claim to have written. A batch whose commit
    failed may or may not be there after reopening; it was never acknowledged.

    Attributes:
        last_n: the last record's number; 0 in an empty journal.
        tables: how many tables have records.
        failure: why the store accepts nothing more, or None.
        is_head_file_due: True if ``sync_head_file`` is due.
    """

    def __init__(
        self, path: Path, lock: WriterLock, vfs: str | None, accepted: AcceptedLoss | None = None
    ) -> None:
        self.path = path
        self._lock = lock
        self._vfs = vfs
        self.failure: str | None = None
        self.is_head_file_due = False
        self.stored: Counter[str] = Counter()
        """Bytes that this process stored, about, by table."""
        self._log_pages = 0
        with schema.translate_errors(path):
            sync_log(path, vfs)  # first: what it shows may be in the system's memory only
            _truncate_log(path, vfs, accepted)
            # In WAL mode FULL syncs the log at each commit, NORMAL only when it is written back.
            self._log = schema.open_writing(path, vfs, synchronous="FULL")
        try:
            # Cursors need no sync of their own: one lost with the power only repeats events.
            with schema.translate_errors(path):
                self._cursors = schema.open_writing(path, vfs, synchronous="NORMAL")
            for connection in (self._log, self._cursors):
                connection.set_wal_hook(self._log_grew)
            try:
                self.last_n, self._heads = _trusted_heads(path, vfs)
                self.tables = len(self._heads) - (JOURNAL in self._heads)
                self._signed = _last_checkpoint(path, vfs)
                self._tree = self._since = Frontier()
                self._leaves: list[bytes] = []
                self._files = files.file_ids(path)
                with schema.translate_errors(path):
                    self._index = SharedMemoryFile(path)
            except BaseException:
                schema.close(self._cursors)
                raise
            try:
                if accepted is not None:
                    self._go_on(accepted)
                self._read_tree()
                self._note_heads(path, vfs)
            except BaseException:
                schema.close(self._cursors)
                self._index.close()
                raise
        except BaseException:
            schema.close(self._log)
            raise

    def _read_tree(self) -> None:
        """Read the tree that the last checkpoint signed, and the groups since."""
        signed, after = self._signed, 0
        with self.reader() as reader:
            if signed is not None:
                after = signed.upto
                try:
                    self._tree = signed.edge()
                except ValueError as error:
                    raise corrupt_journal(
                        self.path, f"checkpoint {signed.number}: {error}"
                    ) from None
            self._since = Frontier(self._tree.size, start=self._tree.size)
            for leaf in reader.leaf_hashes(after):
                self._since.append(leaf)

    def _grow_tree(self) -> None:
        """Take the groups that were stored into the tree, many at a time: that costs less."""
        self._since.append_all(self._leaves)
        self._leaves.clear()

    def _note_heads(self, path: Path, vfs: str | None) -> None:
        """Open or create the head file, and write all chains' ends: they are on the disk."""
        with schema.translate_errors(path):
            if self._is_behind_head_file():
                # A person ruled on that, and the daemon was killed before it was begun anew.
                head_file.begin_anew(path, self.ends())
            self._noted = HeadFile(path, vfs)
            try:
                self._noted.write_ends(self.ends())
                self._noted.sync()
            except BaseException:
                self._noted.close()
                raise

    def _go_on(self, accepted: AcceptedLoss) -> None:
        """Store recovered events and the ruling first; move cursors back to the journal's end."""
        batch = Batch()
        with schema.translate_errors(self.path):
            ruled_on = head_file.digest_of(self.path)
        for found in accepted.recovered:
            batch.append(JOURNAL, Kind.META, found.to_bytes())
        batch.append_ruling(msgspec.structs.replace(accepted.ruling, head_file=ruled_on))
        transaction = _Transaction(self.last_n, self._heads, [batch])
        with schema.translate_errors(self.path):
            self._log.execute("BEGIN IMMEDIATE")
            transaction.write(self._log)
            self._log.execute(_CURSORS_BACK, (self.last_n, self.last_n))
            self._log.execute("COMMIT")
        self.last_n = transaction.last_n
        self._heads.update(transaction.heads)

    def _is_behind_head_file(self) -> bool:
        """Return True if the head file names records or tables that the journal does not have.

        It would show them lost at each start.
        """
        found = head_file.read_head_file(self.path)
        chains = {} if found is None else found.chains
        return any(chain.n > self.head(chain.name).n for chain in chains.values())

    @classmethod
    def open(  # noqa: PLR0913 - what it is opened with, each by name
        cls,
        path: str | Path,
        *,
        vfs: str | None = None,
        new: bool = True,
        given: Callable[[], Iterable[DeliveredEvent]] = tuple,
        accepted: AcceptedLoss | None = None,
        head_needed: bool = False,
    ) -> Store:
        """Open the journal, or create it if there is none (readable by its owner only).

        ``vfs`` names a registered SQLite file layer other than the system's. If ``new`` is false,
        the journal must exist. ``given`` returns the events that sinks were given last.
        ``accepted`` is a person's ruling that the journal goes on despite evidence of a loss; the
        files that show the loss are copied first. ``head_needed``: a missing head file is such
        evidence, too, if the journal has records.

        Raises:
            PossibleLoss: it may have lost its newest part; nothing was written to it.
            JournalError: in use by another process, no such directory, not writable, disk full,
                not a journal, another version, damaged, or gone. Nothing is left half made.
        """
        path = Path(path)
        with schema.translate_errors(path):
            try:
                path = path.resolve()
            except RuntimeError:
                raise JournalError(f"journal {path} is a link that leads to itself") from None
            if path.is_dir():
                raise JournalError(f"journal {path} is a directory")
            files.refuse_if_foreign(path)
        lock = WriterLock(path)
        try:
            with schema.translate_errors(path):
                files.refuse_if_full(path)
                if not path.exists() or path.stat().st_size == 0:
                    files.refuse_if_lost(path, new=new)
                    schema.create(path, vfs)
                files.refuse_if_linked(path)
                found = _find_evidence(path, vfs, given, head_needed=head_needed)
                if accepted is None and found:
                    raise PossibleLoss(path, found)
                if accepted is not None:
                    if tuple(found) != accepted.evidence:
                        raise PossibleLoss(path, found or accepted.evidence)
                    _copy_lost_files(path, accepted.ruling.epoch)
            return cls(path, lock, vfs, accepted)
        except BaseException:
            lock.release()
            raise

    def reader(self) -> Reader:
        """Open a further connection to the same journal, for reading.

        Raises:
            JournalError: the file cannot be read.
        """
        return Reader.open(self.path, in_use=True, vfs=self._vfs)

    def prepare(self, batches: Sequence[Batch]) -> Prepared:
        """Encode and pack batches for ``commit_prepared``, while no other call stores records.

        Batches of one table that follow one another share a group.

        It does not touch the file. Compressing releases the GIL at each group, and then waits for
        a busy thread to give it back: call this in the busy thread itself.
        """
        return Prepared(self.last_n, batches, _Transaction(self.last_n, self._heads, batches))

    def commit(
        self, batches: Sequence[Batch], cursors: Sequence[Cursor] = ()
    ) -> list[CommitResult]:
        """Store these batches in this order with one sync; on return they are durable.

        ``cursors`` are moved in the same transaction.

        Raises:
            JournalError: nothing of them may be relied upon, and the store takes nothing more.
        """
        self._refuse_after_failure()
        return self.commit_prepared(self.prepare(batches), cursors)

    def commit_prepared(
        self, prepared: Prepared, cursors: Sequence[Cursor] = ()
    ) -> list[CommitResult]:
        """Store batches that were prepared, as ``commit``.

        Raises:
            JournalError: as ``commit``.
        """
        return self._store(prepared, [(_CURSOR, cursor) for cursor in cursors])

    def _store(
        self, prepared: Prepared, also: Sequence[tuple[str, tuple[int | str | bytes, ...]]]
    ) -> list[CommitResult]:
        """Store batches and execute further statements in the same transaction."""
        self._refuse_after_failure()
        if prepared.after != self.last_n:  # a checkpoint came between
            prepared = self.prepare(prepared.batches)
        transaction = prepared.transaction

        def write(connection: apsw.Connection) -> None:
            transaction.write(connection)
            for statement, bindings in also:
                connection.execute(statement, bindings)

        moved = {table: (head.n, head.hash) for table, head in transaction.heads.items()}
        self._write(self._log, write, moved)
        self._heads.update(transaction.heads)
        self.stored.update(transaction.sizes)
        self.tables = len(self._heads) - (JOURNAL in self._heads)
        self._leaves += [digest for *_, digest in transaction.rows]
        if len(self._leaves) > _LEAVES_AT_ONCE:
            self._grow_tree()
        self.last_n = transaction.last_n  # set last: what was prepared meanwhile shows as outdated
        return transaction.results

    def checkpoint(self, signer: Signer, t_us: int) -> int | None:
        """Sign where every chain ends; return the checkpoint's record number.

        None if the last one covers everything, or nothing was ever stored. ``t_us`` is the time, in
        µs since 1970 UTC.

        Raises:
            JournalError: as ``commit``.
        """
        if self.last_n == self.head(JOURNAL).n:
            return None
        return self._sign(signer, t_us, None if self._signed is None else self._signed.begins)

    def change_key(
        self, signer: Signer, t_us: int, ruling: Ruling, *, endorser: Signer | None
    ) -> int:
        """Sign with another key from now on; return the checkpoint's record number.

        The journal was signed before. ``endorser`` is the key that signed it; None where that is
        lost.

        Raises:
            JournalError: as ``commit``.
        """
        assert self._signed is not None
        change = KeyChange(self._signed.public_key, ruling)
        return self._sign(signer, t_us, self._signed.begins, change=change, endorser=endorser)

    def truncate_before(self, begins: AnchorRecord, signer: Signer, t_us: int) -> int:
        """Remove the records before ``begins.n``, a checkpoint, and sign that they were removed.

        Both are one transaction: a crash leaves both or neither. Returns the new checkpoint's
        record number.

        Raises:
            JournalError: as ``commit``; or there is no such checkpoint.
        """
        with self.reader() as reader:
            found = next(reader.records(after=begins.n - 1, upto=begins.n), None)
            if found is None or found.kind != Kind.CHECKPOINT.value:
                raise JournalError(f"journal {self.path}: record {begins.n} is no checkpoint")
            past = list(_past_checkpoints(reader, begins.n))
            changes = tuple(change_notes(reader, upto=begins.n - 1))
        if changes:
            begins = msgspec.structs.replace(begins, key_changes=changes)
        kept = ((past_checkpoints.INSERT, each) for each in past)
        return self._sign(signer, t_us, begins, *kept, *((each, (begins.n,)) for each in _TAKE_OUT))

    def _sign(
        self,
        signer: Signer,
        t_us: int,
        begins: AnchorRecord | None,
        *also: tuple[str, tuple[int | bytes, ...]],
        change: KeyChange | None = None,
        endorser: Signer | None = None,
    ) -> int:
        self._grow_tree()
        tree = self._tree.copy()
        tree.extend(self._since.size, self._since.hashes)
        said = Checkpoint(
            origin=self._origin() if self._signed is None else self._signed.origin,
            size=tree.size,
            root=tree.root(),
            number=1 if self._signed is None else self._signed.number + 1,
            t_us=t_us,
            upto=self.last_n,
            heads={
                table: SignedHead(head.n, head.hash.hex()) for table, head in self._heads.items()
            },
            frontier=tuple(map(bytes.hex, tree.hashes)),
            public_key=signer.public_key.hex(),
            begins=begins,
            key_change=change,
        )
        batch = Batch()
        batch.append(JOURNAL, Kind.CHECKPOINT, said.to_bytes(signer, endorser))
        before = self._since
        self._since = Frontier(tree.size, start=tree.size)
        try:
            (result,) = self._store(self.prepare([batch]), also)
        except BaseException:
            self._since = before
            raise
        self._signed, self._tree = said, tree
        return result.last_n

    def _origin(self) -> str:
        """Return the name that the journal's checkpoints have: it is in its first group's hash."""
        with self.reader() as reader:
            first = next(reader.leaf_hashes(0))
        return f"{ORIGIN}{first[:16].hex()}"

    @property
    def last_checkpoint(self) -> Checkpoint | None:
        """The last checkpoint; None before the first."""
        return self._signed

    @property
    def signed_with(self) -> bytes | None:
        """The public key that the last checkpoint names; None before the first."""
        return None if self._signed is None else bytes.fromhex(self._signed.public_key)

    def move_cursor(self, sink: str, n: int, table: str | None = None) -> None:
        """Store that this sink has every event (of this table) up to record ``n``.

        Raises:
            JournalError: as ``commit``.
        """
        self.move_cursors([(sink, table or "", n)])

    def move_cursors(self, cursors: Sequence[Cursor]) -> None:
        """Move several cursors, in one transaction.

        Raises:
            JournalError: as ``commit``.
        """
        self._refuse_after_failure()
        self._write(self._cursors, lambda connection: connection.executemany(_CURSOR, cursors), {})

    def sync_head_file(self) -> None:
        """Sync the head file. Call it while no batch waits to be stored.

        Raises:
            JournalError: as ``commit``.
        """
        self._refuse_after_failure()
        try:
            with schema.translate_errors(self.path):
                self._noted.sync()
        except JournalError as error:
            self.failure = str(error)
            raise
        finally:
            self.is_head_file_due = False

    def head(self, table: str) -> Head:
        """Return where this table's chain ends; an unknown table is as new."""
        return self._heads.get(table, Head(0, GENESIS, Counters()))

    def ends(self) -> dict[str, tuple[int, bytes]]:
        """Return the last stored record of each chain, and its hash."""
        return {table: (head.n, head.hash) for table, head in self._heads.items()}

    def close(self) -> None:
        """Close the journal and release the lock. Never raises, not even the second time."""
        for connection in (self._cursors, self._log):
            schema.close(connection)
        self._index.close()
        if self.failure is None:
            with suppress(apsw.Error, OSError):
                self._noted.write_ends({})  # the journal's new size: the log was written back
                self._noted.sync()
        self._noted.close()
        self._lock.release()

    def _refuse_after_failure(self) -> None:
        if self.failure is not None:
            raise JournalError(f"{self.failure}; it must be reopened")

    def _log_grew(self, _: apsw.Connection, __: str, pages: int) -> int:
        """Note how long the write-ahead log is: ``wal.PAGES`` at most, then it is written back."""
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _write(
        self,
        connection: apsw.Connection,
        work: Callable[[apsw.Connection], object],
        ends: Mapping[str, tuple[int, bytes]],
    ) -> None:
        """Call ``work`` in a transaction; ``ends`` are the new chain ends, for the head file."""
        done = False
        try:
            connection.execute("BEGIN IMMEDIATE")
            work(connection)
            connection.execute("COMMIT")
            if self._log_pages >= wal.PAGES:
                wal.write_back(connection)
            files.refuse_if_moved(self.path, self._files)
            # The journal first: the head file must not name a record that a crash can take back.
            self._noted.write_ends(ends)
            if self.last_n == 0:
                # With its first records in the file itself, a journal whose log and head file
                # were both cut to nothing is told from one that was just created.
                wal.write_back(connection)
                self._noted.write_ends({})
            self.is_head_file_due = self._noted.is_due
            done = True
        except schema.ERRORS as error:
            failed = schema.journal_error(self.path, error)
            self.failure = str(failed)
            raise failed from error
        except JournalError as error:
            self.failure = str(error)
            raise
        finally:
            if not done:
                self.is_head_file_due = False
                self.failure = self.failure or f"journal {self.path}: a write was broken off"
                with suppress(apsw.Error):
                    if not connection.get_autocommit():
                        connection.execute("ROLLBACK")


class AcceptedLoss(msgspec.Struct, frozen=True):
    """A person's ruling that a journal goes on despite this evidence of a loss.

    ``recovered`` is what sinks still hold of the lost part.
    """

    evidence: tuple[Evidence, ...]
    ruling: LossRuling
    recovered: tuple[RecoveredEvents, ...] = ()


def _find_evidence(
    path: Path, vfs: str | None, given: Callable[[], Iterable[DeliveredEvent]], *, head_needed: bool
) -> list[Evidence]:
    in_use = files.log_path(path).exists()
    _trusted_heads(path, vfs, in_use=in_use)  # raises: no ruling makes a corrupt journal good
    with Reader.open(path, in_use=in_use, vfs=vfs) as reader:
        if (found_schema := reader.schema_difference()) is not None:
            what = f"{found_schema.fault}: {found_schema.what}"
            raise corrupt_journal(path, what)
        found = find_evidence(reader, given)
    return [doubt for doubt in found if head_needed or doubt.code != "head_missing"]


def _truncate_log(path: Path, vfs: str | None, accepted: AcceptedLoss | None) -> None:
    """Remove the frames behind the end of the log that SQLite reads.

    Behind new frames they would be found again, and taken for lost ones. Committed frames are only
    removed with ``accepted``: then the log was copied.
    """
    if not files.log_path(path).exists():
        return
    with Reader.open(path, in_use=True, vfs=vfs) as reader:
        reader.heads()
        passed = wal.skipped_frames(path, reader.page_of("cursor"))
    if passed is not None and passed.stale and (accepted is not None or not passed.lost):
        wal.truncate_log(path, vfs, passed.end)


def _copy_lost_files(path: Path, epoch: str) -> None:
    """Copy the files that show the loss: a journal that goes on overwrites them."""
    for beside in (files.log_path(path), files.head_path(path)):
        if beside.exists():
            suffix = beside.name.removeprefix(path.name)
            files.write_atomically(
                path.with_name(f"{path.name}-lost-{epoch}{suffix}"), beside.read_bytes()
            )


class _Transaction:
    """Batches on their way into one transaction, with the tables' heads after it."""

    def __init__(self, last_n: int, heads: dict[str, Head], batches: Sequence[Batch]) -> None:
        self.heads: dict[str, Head] = {}
        self._before = heads
        self._packing = packing = Packing(last_n, self._head)
        self._rounds = round_index.Changes()
        self.results = [packing.add(batch) for batch in batches]
        packing.close()
        self._rounds.take(packing.of_rounds)
        self.last_n = packing.last_n
        self.rows: list[Row] = []
        self.sizes: Counter[str] = Counter()
        for n, table, body in packing.groups:
            head = self.heads[table]
            head.n, head.hash = n, chain_hash(head.hash, n, table, body)
            self.rows.append((n, table, body, head.hash))
            self.sizes[table] += len(body) + ROW_BYTES

    def _head(self, table: str) -> Head:
        head = self.heads.get(table)
        if head is None:
            was = self._before.get(table, Head(0, GENESIS, Counters()))
            counters = Counters(was.counters.public, was.counters.restricted)
            head = self.heads[table] = Head(was.n, was.hash, counters, was.connection, was.t_us)
        return head

    def write(self, connection: apsw.Connection) -> None:
        _insert(connection, _INSERT, self.rows)
        _insert(connection, _LANDMARK, self._packing.landmarks)
        heads = [
            (
                table,
                head.n,
                head.hash,
                head.counters.public,
                head.counters.restricted,
                head.connection,
                head.t_us,
            )
            for table, head in self.heads.items()
        ]
        _insert(connection, _HEAD, heads)
        _insert(connection, _DEVICE, self._packing.devices)
        self._rounds.write(connection)


def _insert(
    connection: apsw.Connection, into: str, rows: Sequence[tuple[int | str | bytes, ...]]
) -> None:
    """Insert rows with as few statements as possible.

    apsw releases the GIL at each statement. With many tables the loop then holds it, and this
    thread waits.
    """
    for at in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[at : at + _ROWS_AT_ONCE]
        statement = _insertion(into, len(some[0]), len(some))
        connection.execute(statement, tuple(chain.from_iterable(some)))


@lru_cache(4 * _ROWS_AT_ONCE)
def _insertion(into: str, columns: int, rows: int) -> str:
    values = f"({', '.join('?' * columns)})"
    return f"{into} VALUES {', '.join((values,) * rows)}"


ROW_BYTES = 60
"""Bytes that a group takes beside its body: number, table, hash, their lengths, and the index."""


class Prepared(NamedTuple):
    """Batches that are ready to be stored right after record ``after``."""

    after: int
    batches: Sequence[Batch]
    transaction: _Transaction


def _trusted_heads(
    path: Path, vfs: str | None, *, in_use: bool = True
) -> tuple[int, dict[str, Head]]:
    """Return the last record's number and the heads, after a check of each head's record.

    Raises:
        JournalError: a head is not that of its table's last record: nothing is written to it.
    """
    with Reader.open(path, in_use=in_use, vfs=vfs) as reader:
        last_n, heads = reader.heads()
        if last_n != max((head.n for head in heads.values()), default=0):
            raise corrupt_journal(path, "its last records are missing")
        begins = read_anchor(reader)
        for table, head in heads.items():
            if head.n < begins.n and begins.ends.get(table) == head.hash:
                continue  # a table of long ago: all of its records were removed
            if not reader.has_end(table, head.n, head.hash):
                raise corrupt_journal(path, f"record {head.n} is not the end of table {table}")
    return last_n, heads


def _past_checkpoints(reader: Reader, upto: int) -> Iterator[PastCheckpoint]:
    """Yield what is to be kept of each checkpoint that is removed, and of that which is first then.

    The one that is first now was noted when it became the first.
    """
    anchor = read_anchor(reader)
    between = Frontier(anchor.size, start=anchor.size)
    for n, table, body, digest in reader.rows(after=anchor.n - 1, upto=upto):
        header = read_header(body)
        if table == JOURNAL and header.has(LETTERS[Kind.CHECKPOINT]):
            first = n - header.records + 1
            if first > anchor.n:
                yield past_checkpoint(first, digest, between)
            between = Frontier(between.size + 1, start=between.size + 1)
        else:
            between.append(digest)


def _last_checkpoint(path: Path, vfs: str | None) -> Checkpoint | None:
    """Return the last checkpoint, whose key is valid hex; None if there is none."""
    with Reader.open(path, in_use=True, vfs=vfs) as reader:
        for record in reader.indexed_records(JOURNAL, Kind.CHECKPOINT):
            try:
                said = read_checkpoint(record.body)
                bytes.fromhex(said.public_key)
            except ValueError:
                raise corrupt_journal(path, f"record {record.n} is no checkpoint") from None
            return said
    return None
