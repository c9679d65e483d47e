"""``shoectl export``: export one shoe of a journal as a file that is a journal by itself.

In: a journal's path, a shoe's id. Out: one compressed file, and what it holds.
Must not know: how it is laid out. It only reads the journal, also while a daemon writes.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from shoe_ctl.errors import UsageError


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option("--shoe", "shoe_id", metavar="ID", help="The shoe to export.  [the last one]")
@click.option(
    "--unpacked",
    is_flag=True,
    help="Export every record for queries with sqlite3 instead: no journal, and no proof.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write.  [SHOE.journal.gz, or unpacked.db]",
)
@click.option("--json", "as_json", is_flag=True, help="Print its contents as one JSON object.")
def export(
    journal: Path, shoe_id: str | None, unpacked: bool, output: Path | None, as_json: bool
) -> None:
    """Export one shoe of JOURNAL to one compressed file.

    verify, replay, rounds and decode read the file as they read a journal.

    \b
    Example:
      shoectl export journal.db --shoe bac-07-s1
      shoectl export journal.db --unpacked
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.cli.common import explain_damage
    from shoe_ctl.daemon.journal_upkeep import SUFFIX
    from shoe_ctl.history.shoe_sections import find_section
    from shoe_ctl.journal import export as exports
    from shoe_ctl.journal.reader import Reader

    if unpacked:
        if shoe_id is not None:
            raise UsageError("--unpacked exports every record: leave --shoe out")
        path = Path("unpacked.db") if output is None else output
        with explain_damage(journal), Reader.open(journal) as reader:
            last = exports.write_unpacked(reader, path)
        text = f"{path}: up to record {last}, unpacked"
        click.echo(json.dumps({"path": str(path), "last": last}) if as_json else text)
        return
    with explain_damage(journal), Reader.open(journal) as reader:
        span = find_section(reader, shoe_id)
        path = Path(f"{span.shoe_id}{SUFFIX}") if output is None else output
        kept = exports.select_records(reader, span.table, span.first, span.last)
        exports.write_export(reader, kept, path)
    if as_json:
        import msgspec

        held = {"path": str(path), "shoe_id": span.shoe_id, "first": span.first}
        click.echo(msgspec.json.encode({**held, "last": span.last, "signed": bool(kept.ends)}))
        return
    signed = "signed" if kept.ends is not None else "its end is not signed yet"
    click.echo(f"{path}: {span.shoe_id}, records {span.first} to {span.last}, {signed}")
