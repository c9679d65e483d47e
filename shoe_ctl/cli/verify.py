"""``shoectl verify``: whether a journal is what was written.

In: a journal's path. Out: a table for people or one JSON object; exit 1 where something is wrong.
Must not know: how chains work. It reads only, also while a daemon writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from shoe_ctl.journal.verify import Verification


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def verify(ctx: click.Context, journal: Path, as_json: bool) -> None:
    """Check that JOURNAL is what was written: nothing altered, missing, added or reordered.

    Example: shoectl verify journal.db
    """
    found = _verified(journal)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(found))
    else:
        _show(journal, found)
    ctx.exit(0 if found.ok else 1)


def _verified(journal: Path) -> Verification:
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.journal.verify import verify as walk

    while True:
        with Reader.open(journal) as reader:
            found = walk(reader)
            # a journal at rest is read without locks: if a daemon was started on it meanwhile,
            # what looks wrong may only have been read at two different moments
            if found.ok or not reader.disturbed:
                return found


def _show(journal: Path, found: Verification) -> None:
    rows = [("journal", str(journal)), ("records", f"{found.records:,}")]
    rows.append(("tables", str(found.tables)))
    if found.first_bad is None:
        rows.append(("chains", "whole"))
    else:
        bad = found.first_bad
        rows.append(("first bad", f"record {bad.n} of table {bad.table or '(unknown)'}"))
        rows.append(("why", bad.why))
    for name, value in rows:
        click.echo(f"{name:<10} {value}")
