"""``shoectl verify FOLDER``: verify a journal with its exports, and name what is in none of them.

In: a folder, what verifies one file. Out: a table for people or one JSON object, and whether all is
right. Must not know: chains, how one file is verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.errors import InputRefused, JournalError
from shoe_ctl.terminal_text import printable

if TYPE_CHECKING:
    from shoe_ctl.audit.archive import Archive
    from shoe_ctl.journal.verify import Verification

Result = tuple[Path, "Verification | str"]
"""A file, and what verifying it found, or why it cannot be read."""


def verify_folder(
    folder: Path,
    verified: Callable[[Path, frozenset[bytes]], Verification],
    trusted: frozenset[bytes],
    write: Callable[[str, str], None],
    *,
    as_json: bool,
) -> bool:
    """Verify all files of a folder and show the result; return True if nothing is wrong.

    ``verified`` verifies one of them, and is given the keys that the ``trusted`` ones endorse.

    Raises:
        InputRefused: no file in it is a journal or an export.
        JournalError: the folder cannot be read.
    """
    from shoe_ctl.audit.archive import compare_files, find_files, read_file

    paths, others = find_files(folder)
    if not paths:
        raise InputRefused(f"{folder}: no file in it is a journal or an export")
    endorsed = _endorsed(paths, trusted)
    results: list[Result] = []
    for path in paths:
        try:
            results.append((path, verified(path, endorsed)))
        except JournalError as error:
            results.append((path, f"{error}"))
    good = [path for path, found in results if not isinstance(found, str) and found.ok]
    archive = compare_files([read_file(path) for path in good])
    ok = archive.ok and len(good) == len(paths)
    if as_json:
        _print_json(ok, results, archive, others)
    else:
        click.echo(f"{'folder':<12}{folder}")
        for name, value in _rows(folder, results, archive, others):
            write(name, printable(value))
    return ok


def _endorsed(paths: list[Path], trusted: frozenset[bytes]) -> frozenset[bytes]:
    """Return the keys that trusted ones endorse by any file: an export may be signed after that."""
    from shoe_ctl.journal.key_changes import change_notes, endorsed_keys
    from shoe_ctl.journal.reader import Reader

    if not trusted:
        return frozenset()
    notes: list[str] = []
    for path in paths:
        with suppress(JournalError), Reader.open(path) as reader:  # whoever verifies it reports it
            notes += change_notes(reader)
    return frozenset(endorsed_keys(notes, trusted))


def _print_json(ok: bool, results: list[Result], archive: Archive, others: list[Path]) -> None:
    import msgspec

    files = [
        {"path": str(path), "error": found}
        if isinstance(found, str)
        else {"path": str(path), "error": None, **msgspec.to_builtins(found)}
        for path, found in results
    ]
    said = {
        "ok": ok,
        "files": files,
        **msgspec.to_builtins(archive, enc_hook=str),
        "others": [str(path) for path in others],
    }
    click.echo(msgspec.json.encode(said))


def _rows(
    folder: Path, results: list[Result], archive: Archive, others: list[Path]
) -> Iterator[tuple[str, str]]:
    from shoe_ctl.cli.verify import time_line

    def named(path: Path) -> str:
        return str(path.relative_to(folder))

    for path, found in results:
        yield "file", f"{named(path)}: {_found(found)}"
        for one in [] if isinstance(found, str) else found.backwards:
            yield "backwards", f"{named(path)}: {time_line(one)}"
    for gap in archive.missing:
        sides = [
            f"{word} {named(side)}"
            for word, side in (("behind", gap.behind), ("before", gap.before))
            if side is not None
        ]
        between = f"records {gap.first:,} to {gap.last:,}"
        yield "MISSING", f"table {gap.table}, in {between}, {' and '.join(sides)}"
    for fork in archive.forks:
        files = f"{named(fork.one)} and {named(fork.other)}"
        yield "REWRITTEN", f"table {fork.table}: {files} differ up to record {fork.n:,}"
    for path in archive.foreign:
        yield "FOREIGN", f"{named(path)}: of a journal that is not in this folder"
    for path in archive.cut:
        yield "CUT", f"{named(path)}: it ends before one of its exports does"
    if archive.ok and all(not isinstance(found, str) and found.ok for _, found in results):
        behind = "" if archive.has_journal else "; what is behind the last export is not shown"
        yield "complete", f"no record is missing between these files{behind}"
    if others:
        yield "not read", ", ".join(named(path) for path in others)


def _found(found: Verification | str) -> str:
    if isinstance(found, str):
        return found
    if found.first_bad is None:
        signed = f"signed up to record {found.signed.upto:,}"
        return f"whole, {found.records:,} records, {signed if found.signed.upto else 'not signed'}"
    bad = found.first_bad
    return f"record {bad.n:,}{f' of table {bad.table}' if bad.table else ''}: {bad.text}"
