"""``shoectl verify``: check a journal's hash chain and signatures.

In: a journal's path. Out: a table for people or one JSON object; exit 1 where something is wrong.
Must not know: how chains work. It reads only, also while a daemon writes.
"""

from __future__ import annotations

import base64
import os
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from shoe_ctl.cli.common import Progress, WholeNumber
from shoe_ctl.errors import CorruptJournal, EnvironmentFault, JournalError, UsageError

if TYPE_CHECKING:
    from shoe_ctl.audit.cosigned_journal import Witnessed
    from shoe_ctl.audit.stamped_journal import Stamped
    from shoe_ctl.audit.starts import Change
    from shoe_ctl.journal.chain import KeyRange
    from shoe_ctl.journal.continuity import Continuity
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.journal.times import RanBackwards
    from shoe_ctl.journal.verify import Verification

COLUMNS = 80
MOST_DIGITS = 18
HASH_BYTES = 32
NAMED = 12
NAME = 40
"""Columns for a table's name, which in a damaged journal may be anything."""


class Noted(NamedTuple):
    """A checkpoint as somebody noted it: its last record, 0 for nothing, and its tree's root."""

    upto: int = 0
    root: bytes | None = None


class SignedTo(click.ParamType):  # type: ignore[type-arg]
    """A record's number, and the root of the tree behind a colon, as the daemon's log has them."""

    name = "N[:ROOT]"

    def convert(
        self, value: str | Noted, param: click.Parameter | None, ctx: click.Context | None
    ) -> Noted:
        """Return what was noted; refuse what is no number or no root."""
        if isinstance(value, Noted):
            return value
        number, _, root = value.partition(":")
        if not (number.isascii() and number.isdigit()) or len(number) > MOST_DIGITS:
            self.fail(f"{number[:30]!r} is no record's number", param, ctx)
        if not root:
            return Noted(int(number))
        try:
            found = base64.b64decode(root, validate=True)
        except ValueError:
            found = b""
        if len(found) != HASH_BYTES:
            self.fail(f"{root[:60]!r} is no root: 44 characters as in root=", param, ctx)
        return Noted(int(number), found)


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option(
    "--public-key",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Trust this key only, and those it endorses: 64 hex digits, or a file. Repeatable.",
)
@click.option(
    "--signed-to",
    type=SignedTo(),
    default="0",
    metavar="N[:ROOT]",
    help="Fail unless signatures cover record N, with this root (both are in the daemon's log).",
)
@click.option(
    "--against",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Fail unless JOURNAL continues this copy, export or checkpoint. Repeatable.",
)
@click.option(
    "--jobs", type=WholeNumber(min=1), default=1, metavar="N", help="Verify in N processes.  [1]"
)
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep in this file what is done, and go on from it after a stop.",
)
@click.option(
    "--witness",
    "witnesses",
    multiple=True,
    metavar="KEY",
    help="Fail unless the cosignatures of this witness, a verifier key, agree. Repeatable.",
)
@click.option(
    "--tsa-ca",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Fail unless time stamps of what witnesses cosigned hold, by the authorities in FILE.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def verify(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    journal: Path,
    keys: tuple[str, ...],
    signed_to: Noted,
    against: tuple[Path, ...],
    jobs: int,
    state: Path | None,
    witnesses: tuple[str, ...],
    tsa_ca: Path | None,
    as_json: bool,
) -> None:
    """Check the hash chain and signatures of JOURNAL.

    It fails if a record was altered, removed, added or moved.

    With --jobs or --state a long journal is verified in parts; the result is the same. Where one
    is wrong, all of it is verified by one process.

    JOURNAL may be a folder with a journal and its exports: each file is verified, and records that
    are in none of them are named, such as a shoe that was withheld.

    JOURNAL may be the proof of one round, as shoectl prove writes it: nothing else is needed, and
    the report on the round is printed with what it stands on.

    \b
    Examples:
      shoectl verify journal.db
      shoectl verify journal.db --public-key journal.pub --signed-to 100
      shoectl verify journal.db --jobs 4 --state verify.state
      shoectl verify journal.db --against copy.db
      shoectl verify archive
      shoectl verify round.json --public-key journal.pub
    """  # noqa: D301 - click wants the very character
    import msgspec

    from shoe_ctl.audit.completeness import completeness
    from shoe_ctl.audit.round_proof import is_proof
    from shoe_ctl.journal.signing import parse_public_key

    _check_authorities(tsa_ca, witnesses)
    trusted = frozenset(parse_public_key(key) for key in keys)
    if os.path.isdir(journal):  # noqa: PTH112 - never raises
        from shoe_ctl.cli.verify_folder import verify_folder

        if signed_to.upto or against or state is not None or witnesses:
            raise click.UsageError(
                "--signed-to, --against, --state and --witness are for one file: name that", ctx
            )

        def verified(path: Path, endorsed: frozenset[bytes]) -> Verification:
            return verify_file(path, trusted | endorsed if trusted else trusted, jobs=jobs)

        ok = verify_folder(journal, verified, trusted, _write, as_json=as_json)
        ctx.exit(0 if ok else 1)
    if is_proof(journal):
        from shoe_ctl.cli.common import read_verifier_keys
        from shoe_ctl.cli.verify_proof import verify_proof

        if signed_to.upto or against or state is not None:
            raise click.UsageError(
                "--signed-to, --against and --state are for a journal, not for a round's proof", ctx
            )
        named = read_verifier_keys("--witness", witnesses)
        verify_proof(journal, trusted, named, _write, as_json=as_json)
        return
    found = _with_times(_verified(journal, trusted, signed_to, jobs, state))
    continues = compare_with_kept(journal, against, trusted, found) if found.ok else []
    if continues and (bad := continues[-1][1].first_bad) is not None:
        found = msgspec.structs.replace(found, ok=False, first_bad=bad)
    seen = _witnessed(journal, witnesses, trusted, found) if witnesses else []
    stamps = _stamped(journal, witnesses, seen, tsa_ca)
    complete = completeness(found, signed_to.upto, continues, seen)
    started = _started(journal, found)
    if as_json:
        said = msgspec.to_builtins(found)
        said |= {"verifier_keys": _verifier_keys(found), "complete": complete, "starts": started}
        asked = (("witnessed", seen, witnesses), ("stamped", stamps, tsa_ca))
        click.echo(msgspec.json.encode(said | {name: what for name, what, by in asked if by}))
    else:
        _show(journal, found, continues)
        shown = "; ".join(each.text for each in complete)
        _write("complete", shown or ("nothing shows it" if found.ok else "no: see above"))
        for each in seen:
            where = "" if each.upto or each.first_other else f" in {journal.name}-cosignatures"
            _write("witness", f"{each.witness}: {each.text}{where}")
        for stamp in stamps:
            _write("stamped", f"{stamp.witness}: {stamp.text}")
        _show_starts(started)
    agree = (found.ok, *(each.ok for each in seen), *(each.ok for each in stamps))
    ctx.exit(0 if all(agree) else 1)


def _show_starts(started: list[Change]) -> None:
    from shoe_ctl.audit.starts import lines
    from shoe_ctl.terminal_text import printable

    for line in lines(started):
        _write("software", printable(line))


def _started(journal: Path, found: Verification) -> list[Change]:
    """Return what wrote a journal, and by which configuration; nothing if it is not whole."""
    from shoe_ctl.audit.starts import changes
    from shoe_ctl.journal.reader import Reader

    if not found.ok:
        return []
    with Reader.open(journal) as reader:
        return list(changes(reader))


def _witnessed(
    journal: Path, given: tuple[str, ...], trusted: frozenset[bytes], found: Verification
) -> list[Witnessed]:
    """Return what each witness saw of a journal, also of one in which something is wrong."""
    from shoe_ctl.audit.cosigned_journal import compare
    from shoe_ctl.cli.common import read_verifier_keys
    from shoe_ctl.journal.cosignatures import cosignatures_path
    from shoe_ctl.journal.reader import Reader

    keys = read_verifier_keys("--witness", given)
    with Reader.open(journal) as reader:
        verified_to = None if found.ok else found.signed.upto
        path = cosignatures_path(journal)
        try:
            return compare(reader, path, keys, trusted, verified_to=verified_to)
        except JournalError:
            if found.ok:
                raise
            return []  # too damaged to be compared


def _check_authorities(authorities: Path | None, witnesses: tuple[str, ...]) -> None:
    """Refuse a file of authorities that is none, or that nothing is asked of.

    Raises:
        UsageError, EnvironmentFault: it is one of these.
    """
    if authorities is not None and not witnesses:
        raise UsageError("--tsa-ca needs --witness: what it cosigned is stamped")
    if authorities is not None and not authorities.is_file():
        raise EnvironmentFault(f"--tsa-ca: {authorities} is no file")


def _stamped(
    journal: Path, given: tuple[str, ...], seen: list[Witnessed], authorities: Path | None
) -> list[Stamped]:
    """Return the newest time stamp of what each witness cosigned; none where nobody asks."""
    if authorities is None:
        return []
    from shoe_ctl.audit.stamped_journal import newest_stamps
    from shoe_ctl.cli.common import read_verifier_keys
    from shoe_ctl.journal.cosignatures import cosignatures_path

    keys = read_verifier_keys("--witness", given)
    return newest_stamps(cosignatures_path(journal), seen, keys, authorities)


def verify_file(journal: Path, trusted: frozenset[bytes], *, jobs: int = 1) -> Verification:
    """Verify one journal or export, with a bar of its progress; its times may not run backwards.

    Raises:
        JournalError: it cannot be read.
    """
    return _with_times(_verified(journal, trusted, Noted(), jobs=jobs, state=None))


def _verified(
    journal: Path, trusted: frozenset[bytes], signed_to: Noted, jobs: int, state: Path | None
) -> Verification:
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.journal.verify import verify as run

    with Progress("verified") as progress:
        walk = None
        if jobs > 1 or state is not None:
            from shoe_ctl.history.snapshots import software
            from shoe_ctl.journal.verify_parts import in_parts

            walk = in_parts(trusted, jobs=jobs, software=software(), state=state, progress=progress)
        while True:
            with _without_advice(), Reader.open(journal) as reader:
                to = signed_to.upto
                found = run(reader, trusted, signed_to=to, progress=progress, walk=walk)
                if found.ok and signed_to.root is not None:
                    found = _with_root(reader, found, signed_to)
                # a journal at rest is read without locks: if a daemon was started on it meanwhile,
                # what looks wrong may only have been read at two different moments
                if found.ok or not reader.has_new_writer:
                    return found


def _with_root(reader: Reader, found: Verification, noted: Noted) -> Verification:
    """Fail a journal whose checkpoint for this record has another root than the one noted."""
    import msgspec

    from shoe_ctl.journal.continuity import compare_root

    assert noted.root is not None
    bad = compare_root(reader, noted.upto, noted.root).first_bad
    return found if bad is None else msgspec.structs.replace(found, ok=False, first_bad=bad)


def _with_times(found: Verification) -> Verification:
    """Fail a journal in which a table's time ran backwards: its clock never does.

    A checkpoint has the host's time, which people may set back while no daemon runs.
    """
    import msgspec

    from shoe_ctl.journal.chain import BadRecord, Fault

    of_tables = [one for one in found.backwards if one.table]
    if not found.ok or not of_tables:
        return found
    first = of_tables[0]
    detail = "its time is before that of the table's record before it"
    bad = BadRecord(first.table, first.n, Fault.ALTERED, detail)
    return msgspec.structs.replace(found, ok=False, first_bad=bad)


def compare_with_kept(
    journal: Path, against: tuple[Path, ...], trusted: frozenset[bytes], found: Verification
) -> list[tuple[Path, Continuity]]:
    """Compare a journal with each earlier state of it, up to the first that it does not continue.

    Raises:
        JournalError: one of them cannot be read, or is damaged.
        NoteError: a note is no checkpoint of a journal, or none of this journal's keys signed it.
    """
    from shoe_ctl.journal.continuity import compare_checkpoint, compare_records, read_note_file
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.journal.verify import verify as run

    done: list[tuple[Path, Continuity]] = []
    for path in against:
        with Reader.open(journal) as reader:
            # all of them are accepted: what they signed was verified
            keys = trusted | frozenset(map(bytes.fromhex, found.signed.keys))
            if (named := read_note_file(path, reader, keys)) is not None:
                result = compare_checkpoint(reader, named)
            else:
                with Reader.open(path) as earlier:
                    bad = run(earlier, newest=False).first_bad
                    if bad is not None:
                        raise JournalError(f"{path}: record {bad.n}: {bad.text}: compare another")
                    result = compare_records(reader, earlier)
        done.append((path, result))
        if result.first_bad is not None:
            break
    return done


@contextmanager
def _without_advice() -> Iterator[None]:
    """Leave out of an error the advice to run this very command."""
    try:
        yield
    except CorruptJournal as error:
        raise JournalError(f"{error.what}. Restore it from a copy or an export.") from error


def _show(journal: Path, found: Verification, continues: list[tuple[Path, Continuity]]) -> None:
    from shoe_ctl.terminal_text import printable

    rows = [("records", f"{found.records:,}"), ("tables", str(found.tables))]
    if found.first_n > 1:
        rows.append(("begins", f"at record {found.first_n:,}, a signed checkpoint"))
    if found.first_bad is None:
        rows.append(("chains", "whole"))
        if found.head_file == "missing":
            rows.append(("head file", "missing: the newest records may be missing too"))
    else:
        bad = found.first_bad
        where = f"record {bad.n} {_whose(bad.table)}" if bad.n else "the file itself"
        rows.append(("first bad", where))
        rows.append(("why", printable(bad.text)))
    rows += [
        (
            "continues",
            f"{path}, up to record {same.upto:,}"
            if same.first_bad is None
            else f"not {path}: alike up to record {same.upto:,}",
        )
        for path, same in continues
    ]
    rows += [("backwards", time_line(one)) for one in found.backwards]
    rows += _signed(found)
    click.echo(f"{'journal':<{NAMED}}{journal}")
    for name, value in rows:
        _write(name, value)


def _write(name: str, value: str) -> None:
    for line in textwrap.wrap(
        value,
        COLUMNS,
        initial_indent=f"{name:<{NAMED}}",
        subsequent_indent=" " * NAMED,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        click.echo(line)


def _whose(table: str | None) -> str:
    from shoe_ctl.terminal_text import printable

    if table is None:
        return "of table (unknown)"
    return f"of table {printable(table, most=NAME)}" if table else "of the journal's own"


def _verifier_keys(found: Verification) -> list[str]:
    """Return the public keys as a witness needs them: with the journal's name."""
    from shoe_ctl.journal.signed_note import verifier_key

    origin = found.signed.origin
    if origin is None:
        return []
    return [f"{verifier_key(origin, bytes.fromhex(key))}" for key in found.signed.keys]


def time_line(one: RanBackwards) -> str:
    """Return one time that ran backwards, for people."""
    from shoe_ctl.records import utc

    times = f"{utc(one.t_us)} after {utc(one.before_us)}"
    if one.table:
        return f"record {one.n:,} {_whose(one.table)}: {times}"
    return f"record {one.n:,}, a checkpoint: {times}; was the host's clock set back?"


def _key_lines(one: KeyRange, *, alone: bool) -> Iterator[str]:
    """Yield what is to be said of a key: which records it signed, and how it followed another."""
    from shoe_ctl.records import utc
    from shoe_ctl.terminal_text import printable

    if one.change is not None:
        ruling = one.change.ruling
        who = f"{ruling.person} ({ruling.position}) with {ruling.consented_by}: {ruling.reason}"
        how = "endorsed by the key before it"
        if not one.endorsed:
            how = "NOT ENDORSED by the key before it, which was ruled lost"
        yield printable(f"{how}, checkpoint {one.n:,}, by {who}")
    if not alone and one.first <= one.upto:
        yield f"records {one.first:,} to {one.upto:,}, last {utc(one.t_us)}"


def _signed(found: Verification) -> list[tuple[str, str]]:
    """Return what is signed, by which keys, and what is not."""
    from shoe_ctl.records import utc

    covered = found.signed
    if covered.t_us is None:
        where = "found" if found.ok else "found before the damage"
        return [("signed", f"nothing: no valid checkpoint {where}")]
    many = "1 checkpoint" if covered.checkpoints == 1 else f"{covered.checkpoints:,} checkpoints"
    rows = [("signed", f"records up to {covered.upto:,}, by {many}, last {utc(covered.t_us)}")]
    for each in covered.ranges:
        rows.append(("public key", each.key))
        rows += [("", line) for line in _key_lines(each, alone=len(covered.ranges) == 1)]
    rows += [("verifier", key) for key in _verifier_keys(found)]
    if found.ok:
        behind = f"{found.not_signed:,} records after that" if found.not_signed else "nothing"
        rows.append(("not signed", behind))
    return rows
