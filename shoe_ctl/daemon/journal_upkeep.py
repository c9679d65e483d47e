"""Keep the journal signed and bounded while tables are at work.

In: the journal, its key, a clock, which sinks have had what. Out: checkpoints; exported files and a
later beginning. Must not know: links, rounds. Nothing is taken out that is not in a file which was
read again, or that a sink still waits for; what is left begins at a checkpoint and verifies.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from shoe_ctl.clock import Clock, sleep
from shoe_ctl.config import Config
from shoe_ctl.errors import JournalError
from shoe_ctl.history import shoe_sections
from shoe_ctl.journal.anchor import Anchor
from shoe_ctl.journal.chain import AnchorRecord
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.recovery import read_anchor
from shoe_ctl.journal.signing import Signer

if TYPE_CHECKING:
    from shoe_ctl.journal import export

log = logging.getLogger(__name__)

FIRST_S = 1.0
"""The first signature waits for so long: the signing library loads longer than the tables start."""

DAY_US = 24 * 3600 * 1_000_000

MOST_FILES = 20
"""Files made at a time: a journal of years is exported over some hours, not at once."""

MOST_RECORDS = 2_000
"""Records taken out with one commit, where checkpoints stand as close: tables wait meanwhile."""

SUFFIX = ".journal.gz"


class RetentionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The time that signed records are kept (µs), where exports go, which sinks must have had them.

    ``tables`` are those at work: their current set of cards always stays.
    """

    keep_us: int
    archive: Path
    tables: frozenset[str]
    sinks: tuple[str, ...]


def retention_policy(config: Config, sinks: Sequence[str]) -> RetentionPolicy | None:
    """Return what the configuration asks for; ``sinks`` are the names of the sinks' cursors."""
    if config.journal.keep_days is None:
        return None
    return RetentionPolicy(
        keep_us=config.journal.keep_days * DAY_US,
        archive=config.path(config.journal.archive),
        tables=frozenset(table.id for table in config.table),
        sinks=tuple(sinks),
    )


class Retention:
    """Exports and takes out old records. ``open_reader`` gives a reader, used in ``executor``."""

    def __init__(
        self,
        journal: Journal,
        open_reader: Callable[[], Reader],
        executor: Executor,
        policy: RetentionPolicy,
    ) -> None:
        self._journal = journal
        self._open_reader = open_reader
        self._executor = executor
        self._policy = policy

    async def hold(self, signer: Signer, now_us: int) -> None:
        """Export and take out what is due. What cannot be exported stays, and is logged.

        Raises:
            JournalError: the journal takes nothing more.
        """
        loop = asyncio.get_running_loop()
        try:
            steps = await loop.run_in_executor(self._executor, self._exported, now_us)
        except JournalError as error:
            log.error(  # noqa: TRY400 - one clear line
                'journal: export failed: reason="%s". No records are removed.', error
            )
            return
        for begins in steps:
            await self._journal.truncate_before(begins, signer, now_us)
            log.info("journal: old records removed: first_record=%d", begins.n)
            _log_signed(self._journal)

    def _exported(self, now_us: int) -> list[AnchorRecord]:
        with closing(self._open_reader()) as reader:
            return exported(reader, self._policy, now_us)


def exported(reader: Reader, policy: RetentionPolicy, now_us: int) -> list[AnchorRecord]:
    """Write the files that are due, and return where the journal may begin, step by step.

    Raises:
        JournalError: the journal cannot be read, or a file not be made; nothing may be taken out.
    """
    from shoe_ctl.journal import export

    begins = read_anchor(reader)
    bound = min((reader.cursor(sink) + 1 for sink in policy.sinks), default=reader.heads()[0])
    due: list[tuple[Path, shoe_sections.ShoeSection, export.Selection]] = []
    for table in sorted(reader.heads()[1].keys() - {JOURNAL}):
        if table not in begins.ends and (first := _begun_otherwise(reader, table)) is not None:
            bound = min(bound, first)
        for section in shoe_sections.sections(reader, table):
            kept = export.select_records(reader, table, section.first, section.last)
            if _is_kept(section, kept, policy, now_us) or len(due) == MOST_FILES:
                bound = min(bound, section.first)
                break
            due.append((policy.archive / f"{section.shoe_id}{SUFFIX}", section, kept))
    last = next(reader.indexed_records(JOURNAL, Kind.CHECKPOINT, before=bound + 1), None)
    if last is None or last.n <= begins.n:
        return []
    for path, section, kept in due:
        if section.first < last.n:
            _file(reader, path, kept)
    return list(_steps(reader, begins, last.n))


def _begun_otherwise(reader: Reader, table: str) -> int | None:
    """Return the table's first record where it belongs to no set, and so comes into no file."""
    first = next(reader.records(table=table), None)
    if first is None or first.kind == Kind.META.value:
        return None
    return first.n


def _is_kept(
    section: shoe_sections.ShoeSection, kept: export.Selection, policy: RetentionPolicy, now_us: int
) -> bool:
    if kept.t_us is None or (section.current and section.table in policy.tables):
        return True
    return kept.t_us > now_us - policy.keep_us


def _file(reader: Reader, path: Path, kept: export.Selection) -> None:
    """Write the file, or check the one that is there."""
    from shoe_ctl.journal import export

    if path.exists():
        export.check_export(path, kept)
        return
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise JournalError(f"{path.parent} cannot be made: {error.strerror}") from None
    export.write_export(reader, kept, path)
    log.info("journal: exported: path=%s", path)


def _steps(reader: Reader, begins: Anchor, upto: int) -> Iterator[AnchorRecord]:
    """Yield the steps from where the journal begins to ``upto``, by checkpoints in between."""
    at, told = begins.n, dict(begins.counters)
    stops = list(_checkpoints(reader, at, upto))
    for place, n in enumerate(stops):
        if n != upto and stops[place + 1] - at <= MOST_RECORDS:
            continue
        for table, (public, restricted) in reader.count_events(after=at - 1, before=n).items():
            if restricted:  # every public event is a restricted one, too
                before = told.get(table, (0, 0))
                told[table] = (before[0] + public, before[1] + restricted)
        yield AnchorRecord(n, dict(told))
        at = n


def _checkpoints(reader: Reader, after: int, upto: int) -> Iterator[int]:
    for record in reader.indexed_records(JOURNAL, Kind.CHECKPOINT, after=after):
        if record.n > upto:
            return
        yield record.n


class Checkpointer:
    """Signs the journal soon after the start, at each shoe, every ``every_s`` seconds, at the end.

    ``load`` gives the key; it blocks, and is called once, in ``executor``. ``look`` is called after
    each signature: it reports a key that is not private. With ``retention``, old records are looked
    for after each signature but the last.
    """

    def __init__(  # noqa: PLR0913 - what it signs, with what, when, and what goes with it
        self,
        journal: Journal,
        load: Callable[[], Signer],
        clock: Clock,
        executor: Executor,
        *,
        every_s: float,
        retention: Retention | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        self._journal = journal
        self._load = load
        self._look = look
        self._signer: Signer | None = None
        self._loading: asyncio.Future[Signer] | None = None
        self._clock = clock
        self._executor = executor
        self._every_s = every_s
        self._retention = retention
        self._due = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []

    def on_signed(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` on the loop after every checkpoint."""
        self._listeners.append(listener)

    def new_shoe(self) -> None:
        """Sign now: a set of cards ended or began."""
        self._due.set()

    async def run(self) -> None:
        """Sign until cancelled.

        Raises:
            JournalError: the journal takes nothing more.
        """
        await sleep(self._clock, FIRST_S)
        while True:
            self._due.clear()
            signer = await self.sign()
            self._look()
            if self._retention is not None:
                await self._retention.hold(signer, self._clock.wall_us())
                self._notify()
            await sleep(self._clock, self._every_s, unless=self._due)

    async def sign(self) -> Signer:
        """Sign what was stored since the last signature, if anything; return the signer.

        Raises:
            JournalError: as ``run``; or the key is not there any more.
        """
        if self._signer is None:
            self._signer = await self._loaded()
        n = await self._journal.checkpoint(self._signer, self._clock.wall_us())
        if n is not None:
            _log_signed(self._journal)
            self._notify()
        return self._signer

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()

    async def _loaded(self) -> Signer:
        """Return the key. It is loaded once, even if the first caller is cancelled meanwhile."""
        if self._loading is None:
            loop = asyncio.get_running_loop()
            self._loading = loop.run_in_executor(self._executor, self._load)
        try:
            return await asyncio.shield(self._loading)
        except JournalError:
            self._loading = None
            raise


def _log_signed(journal: Journal) -> None:
    """Log the last checkpoint as its note has it: whoever keeps the log can compare."""
    said = journal.last_checkpoint
    if said is not None:
        log.info(
            "journal: signed: last_record=%d checkpoint=%d size=%d root=%s public_key=%s",
            said.upto,
            said.number,
            said.size,
            base64.b64encode(said.root).decode(),
            said.public_key,
        )
