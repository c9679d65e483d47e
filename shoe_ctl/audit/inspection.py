"""An inspection: all that the files of a folder prove, only claim, or lack.

In: a folder, what verifies and replays one file, the keys that an inspector has from elsewhere.
Out: findings with their place, what is proven and by what, what nobody could prove from these
files, what is missing, and the questions of an inspector with their answers. Must not know: how a
report looks.

Each journal and export is verified and replayed, all of them are compared with one another, with
the ledgers, the checkpoints and the cosignatures in the folder. Memory does not grow with the
files: of findings only the first are kept, further ones are counted.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from firmware_proto.reference.mac import parse_keys
from shoe_ctl.audit import incidents as audit_incidents
from shoe_ctl.audit.archive import compare_files, read_file
from shoe_ctl.audit.checkpoint_feed import read_source
from shoe_ctl.audit.cosigned_journal import Witnessed, compare
from shoe_ctl.audit.evidence_files import (
    EvidenceFile,
    Listing,
    is_of_witness,
    list_files,
    read_keys_of,
    undisturbed,
)
from shoe_ctl.audit.incidents import Incident
from shoe_ctl.audit.ledger import Ledger, LedgerLine
from shoe_ctl.audit.ledger_money import amount, plain
from shoe_ctl.audit.reconciliation import (
    Comparison,
    Reconciliation,
    RoundDifferences,
    reconcile,
)
from shoe_ctl.audit.round_proof import read_proof, verify_proof
from shoe_ctl.audit.witness import Submission
from shoe_ctl.errors import GameFileError, InputRefused, JournalError, ShoeCtlError
from shoe_ctl.games import game_file
from shoe_ctl.journal import signed_note
from shoe_ctl.journal.chain import NamedCheckpoint, read_checkpoint, read_note_text
from shoe_ctl.journal.continuity import Continuity, compare_checkpoint
from shoe_ctl.journal.cosignatures import read_cosignatures
from shoe_ctl.journal.group import InvalidGroup, read_header
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import JOURNAL, Kind
from shoe_ctl.journal.recovery import end_of_epoch, read_meta
from shoe_ctl.journal.round_index import RoundQuery
from shoe_ctl.journal.signed_note import Note, NoteError, VerifierKey
from shoe_ctl.journal.verify import Verification
from shoe_ctl.records import Audience, epoch_in, event_id, table_in, utc
from shoe_ctl.replay.parts import Keys
from shoe_ctl.replay.replay import Replay
from shoe_ctl.replay.wire_replay import RecordedSessions
from shoe_ctl.round_report.lookup import rounds_opened_after
from shoe_ctl.round_report.rounds import RoundLine
from shoe_ctl.round_report.rounds import lines as round_lines

MOST_OF_A_KIND = 50
"""Findings of one kind in one file that are listed."""

MOST_RULINGS = 200
"""Rulings of people that are listed; ``shoectl incidents`` lists all."""

_RULINGS = frozenset(
    {
        "card_corrected", "card_moved", "round_reopened", "revision", "entered_by_hand",
        "round_void", "retraction", "set_refused", "rules_changed", "software_changed",
        "key_changed", "loss_ruling",
    }
)  # fmt: skip
"""Kinds of incidents that an inspector asks about one by one; the others are counted."""

Progress = Callable[[int, int], None]


class Checks(NamedTuple):
    """The commands that check a file, and all that the inspector has from another hand.

    ``verify`` and ``replay`` read one file, ``compare`` an earlier state that was kept elsewhere.
    ``keys`` are public keys and ``witnesses`` verifier keys that did not come with the files.
    ``progress`` shows what is done, of which the word and the noun are given.
    """

    verify: Callable[[Path], Verification]
    replay: Callable[[Path, Keys | None], tuple[Replay, RecordedSessions]]
    compare: Callable[[Path, Verification], list[tuple[Path, Continuity]]]
    progress: Callable[[str, str], AbstractContextManager[Progress]]
    keys: frozenset[bytes] = frozenset()
    witnesses: Sequence[VerifierKey] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not as it should be, in ``file``, at record ``n`` of ``table``.

    ``kind`` is a fault of ``shoectl verify`` (``altered``, ``missing`` …), or ``foreign``, ``cut``,
    ``replay``, ``ledger``, ``rules``, ``witness`` or ``unreadable``. ``round_id`` is the round that
    was open or ended last, and ``time`` that of the record; None where there is none.
    """

    kind: str
    file: str
    text: str
    table: str | None = None
    round_id: str | None = None
    n: int | None = None
    time: str | None = None


class TableRounds(msgspec.Struct, kw_only=True):
    """The rounds of a table in one file.

    ``house`` is what the house won, or lost below 0, in minor units; a fraction as ``"19/2"``.
    """

    file: str
    table: str
    first: str
    last: str
    rounds: int = 0
    void: int = 0
    revised: int = 0
    by_hand: int = 0
    house: int | str = 0


class IncidentCount(msgspec.Struct, frozen=True):
    """The number of incidents of a kind in one file."""

    file: str
    kind: str
    count: int


class Ruling(msgspec.Struct, frozen=True):
    """An incident that an inspector asks about, and the file that it is in."""

    file: str
    incident: Incident


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the worksheet. ``command`` gives the answer anew, in the folder.

    Without a command it is to be done by hand.
    """

    question: str
    answer: str = ""
    command: str = ""


class Inspection(msgspec.Struct, kw_only=True):
    """The result. ``further`` counts findings that are not listed, ``further_rulings`` rulings.

    ``files`` lists every file with its hash, ``listing_sha256`` is one hash for all of them.
    """

    folder: str
    ok: bool
    findings: list[Finding]
    further: int
    proven: list[str]
    claimed: list[str]
    missing: list[str]
    tables: list[TableRounds]
    incidents: list[IncidentCount]
    rulings: list[Ruling]
    further_rulings: int
    worksheet: list[Question]
    files: list[EvidenceFile]
    further_files: int
    listing_sha256: str


def inspect(folder: Path, checks: Checks) -> Inspection:
    """Inspect all files of a folder, and of the folders in it.

    Raises:
        JournalError: the folder cannot be read.
        InputRefused: nothing in it can be verified.
    """
    with checks.progress("hashed", "bytes") as progress:
        listing = list_files(folder, progress)
    if not listing.of_kind("journal", "export", "proof"):
        raise InputRefused(f"{folder}: no file in it is a journal, an export or a round's proof")
    with ExitStack() as copies:
        return _Walk(folder, checks, listing, copies).run()


class _Source(msgspec.Struct):
    """A journal or an export: ``path`` is where it is read, ``found`` what verifying it found."""

    name: str
    path: Path
    is_export: bool
    found: Verification | None = None
    tables: frozenset[str] = frozenset()
    origin: str | None = None

    @property
    def is_whole(self) -> bool:
        """Return True if it verified."""
        return self.found is not None and self.found.ok


class _Part(Ledger):
    """The lines of a ledger that are of one journal or export."""

    def __init__(
        self, names: Sequence[str], is_wanted: Callable[[LedgerLine], bool], progress: Progress
    ) -> None:
        super().__init__(names)
        self._is_wanted = is_wanted
        self._progress = progress

    def __iter__(self) -> Iterator[LedgerLine]:
        for count, line in enumerate(super().__iter__()):
            if count % 2000 == 0:
                self._progress(count, count)
            if self._is_wanted(line):
                yield line


class _Walk:
    def __init__(self, folder: Path, checks: Checks, listing: Listing, copies: ExitStack) -> None:
        self._folder, self._checks, self._listing, self._copies = folder, checks, listing, copies
        self._counts: Counter[tuple[str, str]] = Counter()
        self._findings: list[Finding] = []
        self._proven: list[str] = []
        self._claimed: list[str] = []
        self._missing: list[str] = []
        self._tables: list[TableRounds] = []
        self._incidents: Counter[tuple[str, str]] = Counter()
        self._rulings: list[Ruling] = []
        self._further_rulings = 0
        self._by_hand: list[Question] = []
        self._ledgers_agree: list[tuple[str, bool]] = []
        self._seen_upto: dict[str, int] = {}
        self._replayed = 0
        self._sources: list[_Source] = []
        self._shoe_keys = _shoe_keys(folder, listing)

    def run(self) -> Inspection:
        self._open_sources()
        for source in self._sources:
            self._verify(source)
        self._compare_files()
        for source in self._whole():
            self._compare_kept(source)
        self._compare_checkpoints()
        self._compare_cosignatures()
        for file in self._listing.of_kind("proof"):
            self._verify_proof(file)
        self._check_rules()
        for source in self._sources:
            self._replay(source)
            self._count_rounds(source)
            self._count_incidents(source)
        self._reconcile()
        self._add_claims()
        self._add_files()
        return Inspection(
            folder=str(self._folder),
            ok=not self._counts,
            findings=self._findings,
            further=self._counts.total() - len(self._findings),
            proven=self._proven,
            claimed=self._claimed,
            missing=self._missing,
            tables=self._tables,
            incidents=[
                IncidentCount(file, kind, count)
                for (file, kind), count in sorted(self._incidents.items())
            ],
            rulings=self._rulings,
            further_rulings=self._further_rulings,
            worksheet=[*self._questions(), *self._by_hand],
            files=self._listing.files,
            further_files=self._listing.further,
            listing_sha256=self._listing.sha256,
        )

    def _add(self, finding: Finding) -> None:
        key = finding.file, finding.kind
        self._counts[key] += 1
        if self._counts[key] <= MOST_OF_A_KIND:
            self._findings.append(finding)

    def _whole(self) -> list[_Source]:
        return [source for source in self._sources if source.is_whole]

    def _read(self) -> list[_Source]:
        """Return the sources that can be read, whether they are whole or not."""
        return [source for source in self._sources if source.found is not None]

    def _journals(self) -> list[_Source]:
        return [source for source in self._whole() if not source.is_export]

    # Journals and exports by themselves.

    def _open_sources(self) -> None:
        for file in self._listing.of_kind("journal", "export"):
            try:
                path = self._copies.enter_context(undisturbed(self._folder / file.path))
            except JournalError as error:
                self._add(Finding(kind="unreadable", file=file.path, text=str(error)))
                continue
            self._sources.append(_Source(file.path, path, file.kind == "export"))

    def _plain(self, error: Exception, source: _Source) -> str:
        """Return an error's line with the file's name, wherever it was read."""
        return str(error).replace(str(source.path), source.name)

    def _verify(self, source: _Source) -> None:
        try:
            found = self._checks.verify(source.path)
            with Reader.open(source.path) as reader:
                source.is_export = reader.is_export
                source.tables = frozenset(reader.heads()[1]) - {JOURNAL}
                source.origin = _origin(reader)
        except JournalError as error:
            text = self._plain(error, source)
            self._add(Finding(kind="unreadable", file=source.name, text=text))
            return
        source.found = found
        if (bad := found.first_bad) is not None:
            self._add(self._placed(source, bad.why.value, bad.text, bad.table, bad.n))
        for one in found.backwards:
            if one.table and (bad is None or (bad.table, bad.n) != (one.table, one.n)):
                text = f"its time is before {_moment(one.before_us)}, that of the record before it"
                self._add(self._placed(source, "altered", text, one.table, one.n))
            elif not one.table:
                self._claimed.append(
                    f"{source.name}: that the host's clock was right. It was set back before "
                    f"record {one.n:,}, to {_moment(one.t_us)} from {_moment(one.before_us)}: "
                    "ask by whom."
                )
        if found.ok:
            self._add_proof(source, found)

    def _add_proof(self, source: _Source, found: Verification) -> None:
        signed = found.signed
        if signed.t_us is None:
            self._claimed.append(
                f"{source.name}: that any of it is as it was. No checkpoint signs a record."
            )
            return
        given = bool(self._checks.keys)  # else the journal would not verify
        keys = " and ".join(signed.keys)
        whose = "the key that you gave" if given else f"the private key of {keys}"
        self._proven.append(
            f"{source.name}: nobody without {whose} altered, removed, added or moved any of the "
            f"{found.records:,} records up to {signed.upto:,}: checkpoint {signed.number} of "
            f"{_moment(signed.t_us)} signs them."
        )
        if not given:
            self._claimed.append(
                f"{source.name}: that {keys} is the casino's key. A stranger's would "
                "verify as well."
            )
            self._ask(
                f"Compare the public key with the one noted when the table was set up: {keys}"
            )
        for one in signed.ranges:
            if one.endorsed is False and one.change is not None:
                self._claimed.append(
                    f"{source.name}: that {one.key} is the casino's key, too. The key before it "
                    f"was ruled lost by {one.change.ruling.person} and endorses nothing."
                )
        if found.not_signed:
            self._claimed.append(
                f"{source.name}: that the last {found.not_signed:,} records, behind record "
                f"{signed.upto:,}, are as they were. They are chained, but not signed: a person "
                "with the file can write them again."
            )
        if found.head_file == "missing":
            self._missing.append(
                f"{source.name}: its head file. Without it nothing shows that record "
                f"{found.last_n:,} is the newest that was stored; for a copy this is no fault."
            )

    def _ask(self, what: str) -> None:
        question = Question(question=what)
        if question not in self._by_hand:
            self._by_hand.append(question)

    def _placed(self, source: _Source, kind: str, text: str, table: str | None, n: int) -> Finding:
        """Return a finding with the round and the time of its record, as far as they are told."""
        round_id, time = None, None
        if n:
            with suppress(ShoeCtlError), Reader.open(source.path) as reader:
                time = _time_of(reader, n)
                if table:
                    round_id, opened = _round_at(reader, table, n)
                    time = time or opened
        return Finding(
            kind=kind,
            file=source.name,
            text=text,
            table=table or None,
            round_id=round_id,
            n=n or None,
            time=time,
        )

    def _replay(self, source: _Source) -> None:
        if source.found is None:
            return
        try:
            found, sessions = self._checks.replay(source.path, self._shoe_keys)
        except ShoeCtlError as error:
            text = f"it cannot be replayed: {self._plain(error, source)}"
            self._add(Finding(kind="unreadable", file=source.name, text=text))
            return
        self._replayed += found.rounds
        for each in found.differences:
            finding = self._placed(
                source, "replay", _replay_text(each.replay, each.why), None, each.n
            )
            finding = msgspec.structs.replace(finding, table=each.table, round_id=each.round_id)
            self._add(finding)
        for first, last in found.missing if source.is_whole else ():
            text = f"records {first:,} to {last:,} are not there"
            self._add(self._placed(source, "missing", text, None, first))
        if source.is_whole and not (found.found or found.missing):
            self._proven.append(
                f"{source.name}: the recorded bytes, decoded again, are the cards and messages "
                f"recorded, and the rules, applied again, give each outcome and each amount of "
                f"{found.rounds:,} rounds."
            )
        self._add_authentication(source, sessions)
        for version, count in found.not_compared.items():
            self._missing.append(
                f"{source.name}: {count:,} snapshots of shoe-ctl {version} were not compared: "
                "replay with that version. All inputs and events were."
            )

    def _add_authentication(self, source: _Source, sessions: RecordedSessions) -> None:
        many = f"{sessions.authenticated:,} connections"
        if not sessions.authenticated:
            self._missing.append(
                f"{source.name}: any proof by a shoe. None had to authenticate itself, so its "
                "bytes may be anybody's."
            )
        elif sessions.checks and not sessions.missing:
            self._proven.append(
                f"{source.name}: each proof and MAC of the shoes, on {many}, was made with the "
                "keys in this folder."
            )
        else:
            why = "their keys are not here" if not sessions.checks else "keys are missing"
            self._missing.append(
                f"{source.name}: proofs and MACs of the shoes, on {many}, are taken as recorded: "
                f"{why}. Ask for the key file of the shoes."
            )

    def _count_rounds(self, source: _Source) -> None:
        if not source.is_whole:
            return
        found: dict[str, tuple[TableRounds, Fraction]] = {}
        try:
            with (
                self._checks.progress(f"{source.name}: listed", "records") as progress,
                Reader.open(source.path) as reader,
            ):
                for line in round_lines(reader, progress=progress):
                    if isinstance(line, RoundLine):
                        _count_round(source.name, line, found)
        except JournalError as error:
            text = self._plain(error, source)
            self._add(Finding(kind="unreadable", file=source.name, text=text))
        for counted, house in found.values():
            counted.house = plain(house)
            self._tables.append(counted)

    def _count_incidents(self, source: _Source) -> None:
        if source.found is None:
            return
        with (
            self._checks.progress(f"{source.name}: listed", "records") as progress,
            _as_far_as_it_goes(source),
            Reader.open(source.path) as reader,
        ):
            for one in audit_incidents.incidents(reader, progress=progress):
                self._incidents[source.name, one.kind] += 1
                if one.kind not in _RULINGS:
                    continue
                if len(self._rulings) < MOST_RULINGS:
                    self._rulings.append(Ruling(source.name, one))
                else:
                    self._further_rulings += 1

    # The files together.

    def _compare_files(self) -> None:
        read, by_path = [], {source.path: source for source in self._whole()}
        for source in self._whole():
            try:
                read.append(read_file(source.path))
            except JournalError as error:
                text = self._plain(error, source)
                self._add(Finding(kind="unreadable", file=source.name, text=text))
        archive = compare_files(read)
        for gap in archive.missing:
            sides = [
                f"{word} {by_path[side].name}"
                for word, side in (("behind", gap.behind), ("before", gap.before))
                if side is not None
            ]
            text = (
                f"records of table {gap.table} between {gap.first:,} and {gap.last:,} are in no "
                f"file that verifies, {' and '.join(sides)}"
            )
            side = by_path[gap.behind or gap.before or read[0].path]
            n = gap.first - 1 if gap.behind is not None else gap.last + 1
            placed = self._placed(side, "missing", text, gap.table, n)
            self._add(msgspec.structs.replace(placed, n=gap.first))
        for fork in archive.forks:
            text = f"it and {by_path[fork.other].name} differ up to this record: one was rewritten"
            self._add(self._placed(by_path[fork.one], "rewritten", text, fork.table, fork.n))
        for path in archive.foreign:
            text = "it is of a journal that is not in this folder"
            self._add(Finding(kind="foreign", file=by_path[path].name, text=text))
        for path in archive.cut:
            text = "it ends before one of its exports does"
            self._add(Finding(kind="cut", file=by_path[path].name, text=text))
        if len(read) > 1 and archive.ok and len(read) == len(self._sources):
            end = "" if archive.has_journal else ", up to the end of the last export"
            self._proven.append(f"No record is missing between the {len(read)} files{end}.")
        if all(source.is_export for source in self._sources):
            self._missing.append(
                "The journal itself: what is behind the last export is not shown by anything."
            )

    def _compare_kept(self, source: _Source) -> None:
        """Compare a file with what the inspector kept elsewhere."""
        if source.is_export:
            return
        assert source.found is not None
        try:
            done = self._checks.compare(source.path, source.found)
        except ShoeCtlError as error:
            self._add(Finding(kind="foreign", file=source.name, text=self._plain(error, source)))
            return
        for path, same in done:
            if same.first_bad is not None:
                bad = same.first_bad
                text = f"it does not continue {path}, which you kept: {bad.text}"
                self._add(self._placed(source, bad.why.value, text, bad.table, bad.n))
            else:
                self._seen_upto[source.name] = max(same.upto, self._seen_upto.get(source.name, 0))
                self._proven.append(
                    f"{source.name}: nobody, not even who holds its key, changed a record up to "
                    f"{same.upto:,} since {path} was made, which you kept."
                )

    def _compare_checkpoints(self) -> None:
        """Compare the journals with the notes of checkpoints that came with them."""
        for file in self._listing.of_kind("checkpoint"):
            for where, named, note in self._checkpoints(file):
                of = [one for one in self._sources if one.origin == named.origin]
                if not of:
                    text = f"{where}a checkpoint of {named.origin}, a journal that is not here"
                    self._add(Finding(kind="foreign", file=file.path, text=text))
                for source in (one for one in of if one in self._journals()):
                    self._compare_checkpoint(file, source, named, note)

    def _checkpoints(self, file: EvidenceFile) -> Iterator[tuple[str, NamedCheckpoint, Note]]:
        try:
            for arrival in read_source(str(self._folder / file.path)):
                line = arrival.where.partition(" line ")[2]
                where = f"line {line}: " if line else ""
                try:
                    if not isinstance(arrival.given, Submission):
                        raise arrival.given
                    note = signed_note.read_note(arrival.given.note)
                    yield where, read_note_text(note.text), note
                except InputRefused as error:
                    text = f"{where}{error}"
                    self._add(Finding(kind="unreadable", file=file.path, text=text))
        except ShoeCtlError as error:
            self._add(Finding(kind="unreadable", file=file.path, text=str(error)))

    def _compare_checkpoint(
        self, file: EvidenceFile, source: _Source, named: NamedCheckpoint, note: Note
    ) -> None:
        assert source.found is not None
        keys = [bytes.fromhex(key) for key in source.found.signed.keys]
        try:
            signed_note.verify_note(
                note, [signed_note.verifier_key(named.origin, key) for key in keys]
            )
        except NoteError as error:
            self._add(Finding(kind="wrong_key", file=file.path, text=str(error)))
            return
        with Reader.open(source.path) as reader:
            same = compare_checkpoint(reader, named)
        if (bad := same.first_bad) is not None:
            text = f"it does not continue {file.path}: {bad.text}"
            self._add(self._placed(source, bad.why.value, text, bad.table, bad.n))

    def _verify_proof(self, file: EvidenceFile) -> None:
        """Verify the proof of a round, and compare its checkpoint with the journal."""
        try:
            data = read_proof(self._folder / file.path)
            found = verify_proof(data, self._checks.keys)
        except ShoeCtlError as error:
            self._add(Finding(kind="altered", file=file.path, text=f"no proof: {error}"))
            return
        first, last = found.records[0].n, found.records[-1].n
        key = (
            "the key that you gave"
            if found.trusted
            else f"the private key of {found.public_key.hex()}"
        )
        self._proven.append(
            f"{file.path}: nobody without {key} changed the records {first:,} to {last:,} of round "
            f"{found.round_id} that are in it: checkpoint {found.said.number} of "
            f"{_moment(found.said.t_us)} signs them."
        )
        for witness in self._checks.witnesses:
            with suppress(InputRefused):
                (seen,) = verify_proof(data, self._checks.keys, [witness]).witnesses
                self._proven.append(
                    f"{file.path}: nor did who holds that key, since "
                    f"{_moment((seen.t_s or 0) * 1_000_000)}: witness {witness.name} saw it."
                )
        if not found.is_whole:
            self._missing.append(f"{file.path}: some events of round {found.round_id}.")
        for source in self._journals():
            if source.origin == found.said.origin:
                with Reader.open(source.path) as reader:
                    same = compare_checkpoint(reader, found.said)
                if (bad := same.first_bad) is not None:
                    text = f"it does not continue the checkpoint of {file.path}: {bad.text}"
                    self._add(self._placed(source, bad.why.value, text, bad.table, bad.n))

    def _compare_cosignatures(self) -> None:
        files = self._listing.of_kind("cosignatures")
        here = self._witness_keys()
        given = list(self._checks.witnesses)
        keys = list(dict.fromkeys([*given, *here]))
        for source in self._read():
            for key in [] if source.is_export else keys:
                seen = [one for file in files for one in self._seen(source, file, key)]
                self._add_witness(source, key, seen, is_given=key in given)
        known = {(key.name, key.key_id) for key in keys}
        unknown, others = self._unknown_cosignatures(files, known)
        for name in sorted(unknown):
            self._missing.append(
                f"The key of {name}, whose cosignatures are here: ask for it, and give it with "
                "--witness."
            )
        for origin in sorted(others):
            self._missing.append(f"The journal {origin}, of which cosignatures are here.")
        if not files:
            self._missing.append(
                "A witness: nothing here was seen by anybody outside while it was new."
            )

    def _witness_keys(self) -> list[VerifierKey]:
        """Return the keys of witnesses that came with the files."""
        found = []
        for file in self._listing.of_kind("verifier_keys"):
            with suppress(OSError, ValueError, NoteError):
                found += read_keys_of((self._folder / file.path).read_text("utf-8"))
        return [key for key in dict.fromkeys(found) if is_of_witness(key)]

    def _seen(self, source: _Source, file: EvidenceFile, key: VerifierKey) -> list[Witnessed]:
        try:
            assert source.found is not None
            verified_to = None if source.is_whole else source.found.signed.upto
            with Reader.open(source.path) as reader:
                path = self._folder / file.path
                return compare(reader, path, [key], self._checks.keys, verified_to=verified_to)
        except ShoeCtlError as error:
            text = self._plain(error, source)
            self._add(Finding(kind="unreadable", file=file.path, text=text))
            return []

    def _add_witness(
        self, source: _Source, key: VerifierKey, seen: list[Witnessed], *, is_given: bool
    ) -> None:
        here = {each.origin for each in self._sources}
        for one in seen:
            if one.first_other is not None and one.other_journal not in here - {None}:
                self._add(_witness_finding(source, one))
                return
        agreeing = [one for one in seen if one.upto is not None and one.t_s is not None]
        if not agreeing:
            if is_given:
                self._missing.append(f"{source.name}: a cosignature of {key.name}.")
            return
        best = max(agreeing, key=lambda one: (one.upto, one.t_s))
        assert best.upto is not None and best.t_s is not None
        said = (
            f"{source.name}: nobody, not even who holds its key, changed a record up to "
            f"{best.upto:,} since {_moment(best.t_s * 1_000_000)}: witness {key.name} saw them."
        )
        if is_given:
            self._proven.append(said)
            self._seen_upto[source.name] = max(best.upto, self._seen_upto.get(source.name, 0))
        else:
            self._claimed.append(f"{said} But its key came with the files.")
            self._ask(f"Ask {key.name} for its key, by a way of your own, and compare it: {key}")

    def _unknown_cosignatures(
        self, files: Iterable[EvidenceFile], known: set[tuple[str, bytes]]
    ) -> tuple[set[str], set[str]]:
        """Return the witnesses whose key is not at hand, and the journals that are not here."""
        unknown, others = set[str](), set[str]()
        here = {source.origin for source in self._sources}
        for file in files:
            for _, note in read_cosignatures(self._folder / file.path):
                if not isinstance(note, Note):
                    continue
                with suppress(NoteError):
                    origin = signed_note.read_checkpoint_text(note.text).origin
                    if origin not in here:
                        others.add(origin)
                    unknown |= {
                        one.name
                        for one in note.signatures
                        if one.name != origin and (one.name, one.key_id) not in known
                    }
        return unknown, others

    def _check_rules(self) -> None:
        """Compare the game files that were played with those in the folder."""
        here: dict[str, list[EvidenceFile]] = defaultdict(list)
        for file in self._listing.of_kind("game_file"):
            with suppress(OSError, GameFileError):
                game = game_file.parse((self._folder / file.path).read_bytes(), file.path)
                here[game.id].append(file)
        used: dict[str, EvidenceFile] = {}
        for source in self._whole():
            with Reader.open(source.path) as reader:
                for table in sorted(source.tables):
                    for n, game_id, digest in _games(reader, table):
                        used |= self._check_game(source, (table, n), (game_id, digest), here)
        for digest, file in used.items():
            self._proven.append(f"Rounds were played under {file.path}, SHA-256 {digest}.")

    def _check_game(
        self,
        source: _Source,
        at: tuple[str, int],
        played: tuple[str, str],
        here: dict[str, list[EvidenceFile]],
    ) -> dict[str, EvidenceFile]:
        (table, n), (game_id, digest) = at, played
        same = next((file for file in here[game_id] if file.sha256 == digest), None)
        if not here[game_id]:
            self._ask(f"Compare game file {game_id} with the approved one: SHA-256 {digest}")
        elif same is None:
            names = ", ".join(file.path for file in here[game_id])
            text = f"played from here on under another game file {game_id} than {names}: {digest}"
            self._add(self._placed(source, "rules", text, table, n))
        return {} if same is None else {digest: same}

    # Ledgers.

    def _reconcile(self) -> None:
        ledgers = _as_ledgers(self._listing.of_kind("ledger"))
        if not ledgers:
            self._missing.append("A ledger: no table system's own record of these rounds is here.")
        for files in ledgers:
            names = [str(self._folder / file.path) for file in files]
            shown = ", ".join(file.path for file in files)
            try:
                self._reconcile_one(names, shown)
            except ShoeCtlError as error:
                text = str(error).replace(f"{self._folder}/", "")
                self._add(Finding(kind="ledger", file=shown, text=text))

    def _reconcile_one(self, names: list[str], shown: str) -> None:
        """Compare a ledger with each file that has some of its events.

        Of each journal the longest copy is given every line, so that what is foreign to it is
        found; shorter copies and exports get the lines of their own events.
        """
        results: list[tuple[_Source, Reconciliation]] = []
        refused: list[ShoeCtlError] = []
        uncovered = 0
        with self._checks.progress(f"{shown}: compared", "lines") as progress:
            in_ledger = _sources_in(_Part(names, lambda _: True, progress))
            shares = _shares(sorted(self._read(), key=_longest_journal_first), in_ledger)
            for source, share in shares:
                try:
                    with Reader.open(source.path) as reader:
                        part = _Part(names, share.takes, progress)
                        results.append((source, reconcile(reader, part, Comparison(share.tables))))
                except (InputRefused, JournalError) as error:
                    refused.append(error)
            if results:
                part = _Part(
                    names, lambda line: not any(one.has(line) for _, one in shares), progress
                )
                uncovered = sum(1 for _ in part)
        if not results and all(source.is_whole for source in self._sources):
            raise (
                refused[0] if refused else InputRefused("no line of it is of a table that is here")
            )
        if not results:
            self._missing.append(f"{shown}: it was not compared with a journal that is not whole.")
            return
        self._add_reconciled(shown, results, {table_in(each) for each in in_ledger})
        if uncovered:
            self._missing.append(
                f"{shown}: a journal or an export with {uncovered:,} of its events, which were "
                "not compared."
            )

    def _add_reconciled(
        self, shown: str, results: list[tuple[_Source, Reconciliation]], in_ledger: set[str]
    ) -> None:
        said, agrees, lines = set[tuple[str, int]](), True, 0
        absent = set[str]()
        for source, found in results:
            lines += sum(stream.agree for stream in found.streams)
            absent |= source.tables - in_ledger
            for trouble in found.troubles:
                if (trouble.file, trouble.line) not in said:
                    said.add((trouble.file, trouble.line))
                    agrees = False
                    more = f", and {trouble.lines - 1:,} more" if trouble.lines > 1 else ""
                    text = f"line {trouble.line} {trouble.what}{more}"
                    name = trouble.file.removeprefix(f"{self._folder}/")
                    self._add(Finding(kind="ledger", file=name, text=text))
            with Reader.open(source.path) as reader:
                for one in found.rounds:
                    finding = _ledger_finding(reader, shown, one)
                    if (key := (finding.text, finding.n or 0)) not in said:
                        said.add(key)
                        self._add(finding)
            agrees = agrees and found.agrees
        if agrees and all(source.is_whole for source, _ in results):
            self._proven.append(
                f"{shown}: {lines:,} events agree with the journal, none is missing."
            )
        elif agrees:
            self._claimed.append(
                f"{shown}: that its {lines:,} events are as they were. They agree "
                "with the journal, which is not whole."
            )
        self._ledgers_agree.append((shown, agrees))
        if absent:
            self._missing.append(f"{shown}: any event of {_list(absent)}.")

    # What cannot be proven, and the questions.

    def _add_claims(self) -> None:
        for source in self._journals():
            assert source.found is not None
            upto, found = self._seen_upto.get(source.name, 0), source.found
            if upto < found.signed.upto or found.not_signed:
                behind = f"behind record {upto:,} " if upto else ""
                self._claimed.append(
                    f"{source.name}: that the holder of its private key did not write it "
                    f"again {behind}and sign it. No witness whose key you gave, and "
                    "nothing that you kept, shows it."
                )
        self._claimed += [
            "That a name is the person: the journal has the login and what was typed, not who sat "
            "there.",
            "That bytes came from the shoe: the host that holds the keys could make them, and the "
            "proofs.",
            "That the cards are those on the table: the shoe read them, or people entered them.",
            "That times are right: they are the host's, except those of a witness.",
        ]
        for file in self._listing.of_kind("signing_key"):
            self._claimed.append(
                f"{file.path} is a private key: whoever has had these files can sign with it."
            )

    def _add_files(self) -> None:
        for file in self._listing.of_kind("unopened"):
            self._missing.append(f"{file.path}: {file.note}; it was not read.")
        unknown = self._listing.of_kind("unknown")
        if unknown:
            self._missing.append(f"Not understood, only hashed: {_list(f.path for f in unknown)}.")
        if self._listing.further:
            self._missing.append(f"{self._listing.further:,} further files were not read.")

    def _questions(self) -> Iterator[Question]:
        whole = [finding for finding in self._findings if finding.kind not in ("replay", "ledger")]
        yield Question(
            question="Was anything altered, removed or added?",
            answer=_many(len(whole), "finding") if whole else "nothing found",
            command="shoectl verify .",
        )
        readable = self._read()
        rounds = [finding for finding in self._findings if finding.round_id is not None]
        if readable:
            name = shlex.quote(readable[-1].name)
            said = next((f for f in rounds if any(s.name == f.file for s in readable)), None)
            of = (said.round_id or "", said.file) if said else (_last_round(readable[-1]), "")
            yield Question(
                question="What happened in a round?",
                answer=f"{_many(len({f.round_id for f in rounds}), 'round')} with findings",
                command=f"shoectl replay {shlex.quote(of[1]) if of[1] else name} --round {of[0]}",
            )
            yield Question(
                question="Who ruled what?",
                answer=f"{sum(self._incidents.values()):,} incidents, "
                f"{len(self._rulings) + self._further_rulings:,} of them rulings or changes",
                command=f"shoectl incidents {_names(readable)}",
            )
            differ = sum(count for (_, kind), count in self._counts.items() if kind == "replay")
            yield Question(
                question="Are outcomes and money right by the rules?",
                answer=f"{_many(differ, 'difference')} in {_many(self._replayed, 'round')}",
                command=f"shoectl replay {name}",
            )
        for file in self._listing.of_kind("proof"):
            yield Question(
                question=f"What does {file.path} prove?",
                answer="see Findings and Proven",
                command=f"shoectl verify {shlex.quote(file.path)}",
            )
        for shown, agrees in self._ledgers_agree:
            ledger = " ".join(shlex.quote(each) for each in shown.split(", "))
            of_journal = next(iter(self._journals() or self._read()), None)
            if of_journal is not None:
                yield Question(
                    question=f"Does the ledger {shown} agree?",
                    answer="yes" if agrees else "no",
                    command=f"shoectl reconcile {shlex.quote(of_journal.name)} {ledger}",
                )


@contextmanager
def _as_far_as_it_goes(source: _Source) -> Iterator[None]:
    """End without an error at a record that was changed to nonsense: verifying named it."""
    try:
        yield
    except JournalError:
        pass
    except Exception:
        if source.is_whole:
            raise


# Places.


def _time_of(reader: Reader, n: int) -> str | None:
    """Return the time of the group that a record is in; None where it has none."""
    for row_n, _, body, _ in reader.rows(after=n - 1, upto=n, at_once=1):
        with suppress(InvalidGroup):
            header = read_header(body)
            return utc(header.t_us) if row_n >= n and header.t_us > 0 else None
    return None


def _round_at(reader: Reader, table: str, n: int) -> tuple[str | None, str | None]:
    """Return the last round of a table that was opened before a record, and when.

    None without one; an export has no index of times.
    """
    if reader.has_rounds:
        found = next(reader.rounds(RoundQuery(table=table, before=n + 1, last=1)), None)
        return (None, None) if found is None else (str(found.id), utc(found.t_us))
    last = None
    with suppress(JournalError):  # damaged before it: the last round before the damage
        for location in rounds_opened_after(reader, table, 0, n):
            last = location.round_id
    return last, None


def _shoe_keys(folder: Path, listing: Listing) -> Keys | None:
    """Return the keys of all shoes that came with the files; None where none did."""
    found: dict[str, dict[int, bytes]] = {}
    for file in listing.of_kind("shoe_keys"):
        with suppress(OSError, ValueError):
            for device_id, keys in parse_keys((folder / file.path).read_text("utf-8")).items():
                found.setdefault(device_id, {}).update(keys)
    return found or None


def _origin(reader: Reader) -> str | None:
    """Return the journal's name by its newest checkpoint; None without one that can be read."""
    with suppress(ShoeCtlError, ValueError):
        newest = next(reader.indexed_records(JOURNAL, Kind.CHECKPOINT), None)
        return None if newest is None else read_checkpoint(newest.body).origin
    return None


def _last_round(source: _Source) -> str:
    with suppress(ShoeCtlError), Reader.open(source.path) as reader:
        for table in sorted(source.tables):
            found, _ = _round_at(reader, table, reader.newest() or 0)
            if found is not None:
                return found
    return "ID"


def _games(reader: Reader, table: str) -> Iterator[tuple[int, str, str]]:
    """Yield each game file that a table was started with, by its first record."""
    known = set[str]()
    with suppress(ShoeCtlError):
        for record in reader.indexed_records(table, Kind.META, after=0):
            meta = read_meta(record, reader.path)
            digest = sha256(meta.game).hexdigest()
            if digest not in known:
                known.add(digest)
                with suppress(GameFileError):
                    yield record.n, game_file.parse(meta.game, table).id, digest


# Words and sums.


def _witness_finding(source: _Source, seen: Witnessed) -> Finding:
    of = seen.tables[0] if len(seen.tables) == 1 else None
    return Finding(
        kind="witness",
        file=source.name,
        text=f"witness {seen.witness}: {seen.text}",
        table=None if of is None else of.table,
        round_id=None if of is None else of.first_round,
        n=None if seen.changed is None else seen.changed.first,
        time=None if seen.changed is None else utc(seen.changed.until_us),
    )


def _moment(t_us: int) -> str:
    return f"{utc(t_us)[:19].replace('T', ' ')} UTC"


def _replay_text(replay: str, why: str) -> str:
    what = "bytes decoded again" if replay == "wire" else "inputs replayed"
    return f"{what}: {why}"


def _count_round(
    file: str, line: RoundLine, found: dict[str, tuple[TableRounds, Fraction]]
) -> None:
    of, house = found.get(line.table) or (
        TableRounds(file=file, table=line.table, first=line.time, last=line.time),
        Fraction(0),
    )
    of.rounds += 1
    of.void += line.state == "void"
    of.revised += line.revised
    of.by_hand += line.manual
    of.last = line.time
    house += amount(line.collected) - amount(line.paid)
    found[line.table] = of, house


_ROTATED = re.compile(r"(\.gz|[.-][0-9][0-9T:_-]*)+$")


def _as_ledgers(files: Iterable[EvidenceFile]) -> list[list[EvidenceFile]]:
    """Return the files of each ledger: ``events.jsonl.1.gz`` is an older part of its first file.

    Files of other names are other ledgers: a table system's own, or of another stream.
    """
    found: dict[str, list[EvidenceFile]] = defaultdict(list)
    for file in files:
        stem, ending = _ROTATED.sub("", file.path), ""
        if stem.endswith((".jsonl", ".json", ".ndjson")):
            stem, _, ending = stem.rpartition(".")
        found[f"{_ROTATED.sub('', stem)}.{ending}"].append(file)
    return list(found.values())


class _Share(msgspec.Struct):
    """The lines of a ledger that are compared with one file.

    ``ranges`` are the numbers of its events by source and audience. ``all_of`` are the sources of
    which it is given every line.
    """

    tables: frozenset[str]
    ranges: dict[tuple[str, Audience], range]
    all_of: frozenset[str] = frozenset()

    def has(self, line: LedgerLine) -> bool:
        """Return True if the file has this event, or should have it."""
        numbers = self.ranges.get((line.source, line.audience))
        if numbers is None:
            return line.source in self.all_of
        return line.number in numbers or (
            line.source in self.all_of and line.number >= numbers.start
        )

    def takes(self, line: LedgerLine) -> bool:
        """Return True if the file is compared with this line."""
        return line.source in self.all_of or self.has(line)


def _longest_journal_first(source: _Source) -> tuple[bool, int]:
    return source.is_export, -(source.found.last_n if source.found is not None else 0)


_MOST_SOURCES = 10_000


def _sources_in(ledger: Ledger) -> frozenset[str]:
    """Return the sources of a ledger's events: a journal has one for each table and epoch."""
    found = set[str]()
    for line in ledger:
        if len(found) < _MOST_SOURCES:
            found.add(line.source)
    return frozenset(found)


def _shares(sources: Iterable[_Source], in_ledger: frozenset[str]) -> list[tuple[_Source, _Share]]:
    """Return the shares of the files that a ledger with these sources can be compared with."""
    found, taken = [], set[str]()
    for source in sources:
        with suppress(JournalError), Reader.open(source.path) as reader:
            share = _share(reader, source, in_ledger)
            if not source.is_export:
                share.all_of = frozenset(of for of, _ in share.ranges) - taken
                taken |= share.all_of
            found.append((source, share))
    # what no file knows is given to the first one that has the table: it is not of this journal
    unknown = in_ledger - {of for _, share in found for of, _ in share.ranges}
    for source, share in found:
        ours = {of for of in unknown if table_in(of) in source.tables}
        unknown -= ours
        share.all_of |= ours
        share.tables |= {table_in(of) for of in ours}
    return [(source, share) for source, share in found if share.tables]


def _share(reader: Reader, source: _Source, in_ledger: frozenset[str]) -> _Share:
    ranges = {}
    for of in in_ledger:
        table = table_in(of)
        if table in source.tables and end_of_epoch(reader, table, epoch_in(of))[0]:
            for audience in Audience:
                if (numbers := reader.event_numbers(table, audience)) is not None:
                    ranges[of, audience] = range(numbers[0], numbers[1] + 1)
    return _Share(frozenset(table_in(of) for of, _ in ranges), ranges)


def _ledger_finding(reader: Reader, shown: str, found: RoundDifferences) -> Finding:
    counts: Counter[str] = Counter()
    for each in found.differences:
        counts[each.kind] += each.events
    parts = [f"{count:,} {kind}" for kind, count in counts.items()]
    types = dict.fromkeys(name for each in found.differences for name in each.types)
    text = f"{', '.join(parts)}: {_list(types)} ({found.stream})"
    keys = (key for each in found.differences for key in each.keys if key.journal or key.ledger)
    if (key := next(keys, None)) is not None:
        sides = (value if value is not None else "nothing" for value in (key.journal, key.ledger))
        text += "; {}: {} in the journal, {} in the ledger".format(key.key, *sides)
    if found.money is not None and found.money.worth != 0:
        worth = found.money.worth
        text += f"; the house has {f'{worth:+,}' if isinstance(worth, int) else worth} by it"
    n = None
    with suppress(ShoeCtlError, ValueError):
        n = reader.find_event(event_id(found.differences[0].first))
    return Finding(
        kind="ledger",
        file=shown,
        text=text,
        table=found.table,
        round_id=found.round_id,
        n=n,
        time=found.time or None,
    )


_MOST_NAMED = 20


def _list(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _MOST_NAMED:,} more" if len(every) > _MOST_NAMED else ""
    return ", ".join(every[:_MOST_NAMED]) + more


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _names(sources: Iterable[_Source]) -> str:
    return " ".join(shlex.quote(source.name) for source in sources)
