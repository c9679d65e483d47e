"""Evidence that a journal lost its newest part, collected before anything is written to it.

In: a reader of the journal, its log and head file, the last events that sinks got. Out: Evidence,
one line each. Must not know: who decides, how a journal goes on.

A journal without its newest part is a whole journal of an earlier moment: its chains hold, and it
would give ids that are used to other events. Only what is kept apart from it can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import files, head_file, wal
from shoe_ctl.journal.anchor import WrongAnchor, find_anchor
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.recovery import current_epoch, read_meta, rulings
from shoe_ctl.records import Audience, epoch_in, table_in

EvidenceCode = Literal["log", "head", "head_missing", "head_unreadable", "cursor", "sink", "shoe"]


class Evidence(msgspec.Struct, frozen=True):
    """One thing that shows, or may hide, a loss. ``what`` is one line for people."""

    code: EvidenceCode
    what: str


class DeliveredEvent(msgspec.Struct, frozen=True):
    """The last event that a sink got: ``id`` of ``source``, number ``number``.

    ``ends``: of this table it was given nothing of another source after that.
    """

    sink: str
    source: str
    audience: Audience
    number: int
    id: str
    ends: bool = True


class PossibleLoss(JournalError):
    """A journal that may have lost its newest part: nothing was written to it.

    The line says what shows it and what to do.
    """

    def __init__(self, path: Path, evidence: Sequence[Evidence]) -> None:
        self.path = path
        self.evidence = tuple(evidence)
        super().__init__(f"{self.what}; {WHAT_TO_DO}")

    @property
    def what(self) -> str:
        """The evidence in one line."""
        shown = "; ".join(doubt.what for doubt in self.evidence)
        return f"journal {self.path} may have lost its newest records: {shown}"


WHAT_TO_DO = (
    "put the lost file back and start again, or a gaming shift manager rules that it goes on "
    "without them: shoectl table accept_loss --reason WHY --consented-by NAME"
)


def find_evidence(
    reader: Reader,
    given: Callable[[], Iterable[DeliveredEvent]] = tuple,
    *,
    writer_at_work: bool = False,
) -> list[Evidence]:
    """Return all that shows that this journal is not the newest that was stored.

    ``writer_at_work``: some process reads and writes the log, so that nothing is wrong with it.

    Raises:
        JournalError: the journal cannot be read.
        OSError: its log or head file cannot.
    """
    # The head file before the journal: whoever writes meanwhile only adds to the journal.
    heads = head_file.read_head_file(reader.path)
    found: list[Evidence] = []
    if not writer_at_work and (lost := _lost_in_log(reader)) is not None:
        found.append(lost)
    found += _behind_head_file(reader, heads)
    found += _cursors_ahead(reader)
    found += _sinks_ahead(reader, given())
    return found


def was_replaced(journal: Path) -> bool:
    """Return True if the journal's file is not the one that was written last, or was changed since.

    Such a one may lack anything, not its newest part alone: it is to be verified first.
    """
    try:
        journal = journal.resolve()
        heads, at = head_file.read_head_file(journal), journal.stat()
    except (OSError, RuntimeError):  # a loop of links is a RuntimeError
        return False  # whoever opens it says why
    return heads is not None and (heads.inode, heads.size) != (at.st_ino, at.st_size)


def _lost_in_log(reader: Reader) -> Evidence | None:
    last_n = reader.heads()[0]  # from here on the log's index is there
    passed = wal.skipped_frames(reader.path, reader.page_of("cursor"))
    if passed is None or not passed.lost:
        return None
    return Evidence(
        "log",
        f"its log {files.log_path(reader.path).name} is damaged behind frame {passed.valid}, "
        f"{passed.frames} frames that were stored cannot be read, record {last_n} is the last "
        "that can",
    )


def _behind_head_file(
    reader: Reader, heads: head_file.HeadFileContent | None
) -> Iterator[Evidence]:
    last_n, known = reader.heads()
    if _is_ruled_on(reader, last_n):
        return
    name = files.head_path(reader.path).name
    if last_n == 0 and (heads is None or not heads.chains):
        return
    if heads is None:
        yield Evidence("head_missing", f"its head file {name} is missing or cannot be read")
        return
    if heads.unreadable:
        yield Evidence("head_unreadable", f"its head file {name} cannot be read")
        return
    try:
        begins = find_anchor(reader)
    except WrongAnchor:
        return  # it is damaged elsewhere: whoever opens or verifies it says so
    beyond = [chain for chain in heads.chains.values() if chain.n > last_n]
    if beyond:
        upto = max(chain.n for chain in beyond)
        tables = ", ".join(sorted(chain.name for chain in beyond if chain.name != JOURNAL))
        whose = f" of {tables}" if tables else ""
        yield Evidence(
            "head",
            f"it ends at record {last_n}, and records up to {upto}{whose} were stored",
        )
        return
    for chain in sorted(heads.chains.values(), key=lambda chain: chain.n):
        whose = f"table {chain.name}" if chain.name != JOURNAL else "the journal's own"
        head = known.get(chain.name)
        if head is None or head.n < chain.n or not _holds(reader, chain, begins.n):
            yield Evidence("head", f"record {chain.n} of {whose} was stored, and is not in it")
            return
        if chain.torn and head.n < chain.at_least:
            yield Evidence("head_unreadable", f"its head file {name} is damaged where it is newest")
            return


def _is_ruled_on(reader: Reader, last_n: int) -> bool:
    """Return True if the newest record is a ruling on the head file that still stands there.

    The daemon was killed before it began the head file anew.
    """
    try:
        newest = next(iter(rulings(reader)), None)
    except JournalError:
        return False  # such a record is damaged: whoever opens or verifies it says so
    if newest is None or newest[0].n != last_n:
        return False
    return newest[1].head_file == head_file.digest_of(reader.path)


def _holds(reader: Reader, chain: head_file.ChainEnd, begins_n: int) -> bool:
    if chain.n < begins_n:
        return True  # of long ago: it was taken out
    return reader.has_end(chain.name, chain.n, chain.hash)


def _cursors_ahead(reader: Reader) -> Iterator[Evidence]:
    found = reader.moment()
    for sink, n in found.cursors:
        if n > found.last_n:
            what = f"sink {sink} has had record {n}, and {found.last_n} is the last"
            yield Evidence("cursor", what)


def _sinks_ahead(reader: Reader, given: Iterable[DeliveredEvent]) -> Iterator[Evidence]:
    heads = reader.heads()[1]
    for last in given:
        table = table_in(last.source)
        if table not in heads:
            continue
        if epoch_in(last.source) != current_epoch(reader, table):
            if last.ends and (doubt := _of_unknown_epoch(reader, table, last)) is not None:
                yield doubt
            continue
        counters = heads[table].counters
        stored = counters.public if last.audience is Audience.PUBLIC else counters.restricted
        if last.number > stored and last.audience is Audience.RESTRICTED:
            # The line is told to everyone: of that stream's numbers only its readers know.
            yield Evidence(
                "sink", "a sink of the restricted stream was given events beyond its last"
            )
        elif last.number > stored:
            newest = f"{table}/{last.audience.value}{stored}"
            yield Evidence(
                "sink", f"sink {last.sink} was given event {last.id}, and {newest} is the last"
            )


def _of_unknown_epoch(reader: Reader, table: str, last: DeliveredEvent) -> Evidence | None:
    """Return that the ruling which began the epoch is lost, with all events after it.

    An epoch of before a ruling that is known says nothing. Nor does another journal's, where this
    journal gave the sink none of the table's events; nor what a person ruled on already.
    """
    epoch = epoch_in(last.source)
    known = (
        read_meta(record, reader.path).epoch for record in reader.indexed_records(table, Kind.META)
    )
    if epoch in known or any(gone_on.epoch == epoch for _, gone_on in rulings(reader)):
        return None
    first, _ = reader.events(last.audience, after=0, limit=1, table=table)
    if not first or first[0][0] > reader.cursor(last.sink):
        return None
    what = f"was given events of table {table} under epoch {epoch}, which the journal does not know"
    if last.audience is Audience.RESTRICTED:
        doubt = Evidence("sink", f"a sink of the restricted stream {what}")
    else:
        doubt = Evidence("sink", f"sink {last.sink} {what}: {last.id} is the last")
    ruled = any(doubt.what in gone_on.lost for _, gone_on in rulings(reader))
    return None if ruled else doubt
