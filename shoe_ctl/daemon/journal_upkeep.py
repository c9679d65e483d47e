"""What lets a journal stop growing: sets of cards of long ago are exported and then taken out.

In: the journal, its key, the time, which sinks have had what. Out: files, a later beginning.
Must not know: links, rounds. Nothing is taken out that is not in a file which was read again, or
that a sink still waits for; what is left begins at a checkpoint and verifies.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path

import msgspec

from shoe_ctl.config.schema import Config
from shoe_ctl.errors import JournalError
from shoe_ctl.history import shoe_sections
from shoe_ctl.journal import export
from shoe_ctl.journal.beginning import Beginning
from shoe_ctl.journal.bodies import JOURNAL, Kind
from shoe_ctl.journal.checkpoint import Begins
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.recovery import kept_from
from shoe_ctl.journal.signing import Signer

log = logging.getLogger(__name__)

DAY_US = 24 * 3600 * 1_000_000

MOST_FILES = 20
"""Files made at a time: a journal of years is exported over some hours, not at once."""

MOST_RECORDS = 2_000
"""Records taken out with one commit, where checkpoints stand as close: tables wait meanwhile."""

SUFFIX = ".journal.gz"


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How long what was signed is kept, in µs; where its files go; who must have had it.

    ``tables`` are those at work: their last set of cards is always kept.
    """

    keep_us: int
    archive: Path
    tables: frozenset[str]
    sinks: tuple[str, ...]


def policy(config: Config, sinks: Sequence[str]) -> Policy | None:
    """What the configuration asks for; ``sinks`` are the names that their cursors go by."""
    if config.journal.keep_days is None:
        return None
    return Policy(
        keep_us=config.journal.keep_days * DAY_US,
        archive=config.path(config.journal.archive),
        tables=frozenset(table.id for table in config.table),
        sinks=tuple(sinks),
    )


class Retention:
    """Holds a journal to a policy. ``open_reader`` gives a reader of it, used in ``executor``."""

    def __init__(
        self,
        journal: Journal,
        open_reader: Callable[[], Reader],
        executor: Executor,
        policy: Policy,
    ) -> None:
        self._journal = journal
        self._open_reader = open_reader
        self._executor = executor
        self._policy = policy

    async def hold(self, signer: Signer, now_us: int) -> None:
        """Exports and takes out what is due; what cannot be exported stays, and is told.

        Raises:
            JournalError: the journal takes nothing more.
        """
        loop = asyncio.get_running_loop()
        try:
            steps = await loop.run_in_executor(self._executor, self._exported, now_us)
        except JournalError as error:
            log.error("journal: nothing is taken out: %s", error)  # noqa: TRY400 - one clear line
            return
        for begins in steps:
            await self._journal.take_out(begins, signer, now_us)
            log.info("journal: begins at record %d now", begins.n)

    def _exported(self, now_us: int) -> list[Begins]:
        with closing(self._open_reader()) as reader:
            return exported(reader, self._policy, now_us)


def exported(reader: Reader, policy: Policy, now_us: int) -> list[Begins]:
    """Makes the files that are due, and says where the journal may begin, one step after another.

    Raises:
        JournalError: the journal cannot be read, or a file not be made; nothing may be taken out.
    """
    begins = kept_from(reader)
    bound = min((reader.cursor(sink) + 1 for sink in policy.sinks), default=reader.heads()[0])
    due: list[tuple[Path, shoe_sections.Span, export.Stretch]] = []
    for table in sorted(reader.heads()[1].keys() - {JOURNAL}):
        if table not in begins.ends and (first := _begun_otherwise(reader, table)) is not None:
            bound = min(bound, first)
        for span in shoe_sections.spans(reader, table):
            kept = export.stretch(reader, table, span.first, span.last)
            if _is_kept(span, kept, policy, now_us) or len(due) == MOST_FILES:
                bound = min(bound, span.first)
                break
            due.append((policy.archive / f"{span.shoe_id}{SUFFIX}", span, kept))
    last = next(reader.landmarks(JOURNAL, Kind.CHECKPOINT, before=bound + 1), None)
    if last is None or last.n <= begins.n:
        return []
    for path, span, kept in due:
        if span.first < last.n:
            _file(reader, path, kept)
    return list(_steps(reader, begins, last.n))


def _begun_otherwise(reader: Reader, table: str) -> int | None:
    """The table's first record where it is in no set of cards, and so comes into no file."""
    first = next(reader.records(table=table), None)
    if first is None or first.kind == Kind.META.value:
        return None
    return first.n


def _is_kept(span: shoe_sections.Span, kept: export.Stretch, policy: Policy, now_us: int) -> bool:
    if kept.t_us is None or (span.current and span.table in policy.tables):
        return True
    return kept.t_us > now_us - policy.keep_us


def _file(reader: Reader, path: Path, kept: export.Stretch) -> None:
    """The file is there and holds the stretch, when this returns."""
    if path.exists():
        export.check(path, kept)
        return
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise JournalError(f"{path.parent} cannot be made: {error.strerror}") from None
    export.write(reader, kept, path)
    log.info("journal: exported %s", path)


def _steps(reader: Reader, begins: Beginning, upto: int) -> Iterator[Begins]:
    """From where the journal begins to the checkpoint ``upto``, by checkpoints in between."""
    at, told = begins.n, dict(begins.told)
    stops = list(_checkpoints(reader, at, upto))
    for place, n in enumerate(stops):
        if n != upto and stops[place + 1] - at <= MOST_RECORDS:
            continue
        for table, (public, restricted) in reader.told(after=at - 1, before=n).items():
            if restricted:  # every public event is a restricted one, too
                before = told.get(table, (0, 0))
                told[table] = (before[0] + public, before[1] + restricted)
        yield Begins(n, dict(told))
        at = n


def _checkpoints(reader: Reader, after: int, upto: int) -> Iterator[int]:
    for record in reader.landmarks(JOURNAL, Kind.CHECKPOINT, after=after):
        if record.n > upto:
            return
        yield record.n
