"""``shoectl incidents``: list what at the tables was no ordinary play, and who decided it.

In: paths of journals or exports. Out: a list for people, a page, CSV or JSON lines.
Must not know: what an incident is, how it is laid out. It reads only, also while a daemon writes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.cli import help_language
from shoe_ctl.cli.common import Moment, Progress, explain_damage, with_language, words_in
from shoe_ctl.errors import InputRefused
from shoe_ctl.terminal_text import printable

if TYPE_CHECKING:
    from shoe_ctl.audit.incidents import Incident

_FORMULA = ("=", "+", "-", "@")
"""Characters that begin a formula in a spreadsheet."""


@click.command
@click.argument("journal", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--table", metavar="ID", help="List the incidents of this table only.")
@click.option(
    "--from",
    "since",
    type=Moment(),
    metavar="TIME",
    help="List incidents of this time or later: 2026-03-01 or 2026-03-01T18:30, in UTC.",
)
@click.option(
    "--to", "until", type=Moment(), metavar="TIME", help="List incidents before this time, in UTC."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with a header line.")
@click.option("--html", "as_html", is_flag=True, help="Print a page for a browser, to be printed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@with_language
def incidents(  # noqa: PLR0913 - one for each option
    journal: tuple[Path, ...],
    table: str | None,
    since: int | None,
    until: int | None,
    as_csv: bool,
    as_html: bool,
    as_json: bool,
    language: str | None,
) -> None:
    """List what was no ordinary play in JOURNAL, and who decided it.

    JOURNAL is a journal or an export; several are listed one after the other. Listed are
    irregularities, decisions, halts, reviews, corrections, retractions, revisions, rounds entered
    by hand, void rounds, refused shoes and sets of cards, alarms, breaches of the method, starts,
    changes of rules, software and key, and rulings on lost records: each with its person, login,
    second person, reason, rule and effect on money.

    The list is restricted information. Of a round that has no outcome yet it says no more than the
    public stream.

    \b
    Examples:
      shoectl incidents journal.db --from 2026-03-01 --to 2026-04-01
      shoectl incidents journal.db --table bac-07 --csv
      shoectl incidents archive/*.journal.gz --html > march.html
    """  # noqa: D301 - click wants the very character
    if as_csv + as_html + as_json > 1:
        raise click.UsageError(
            help_language.said("--csv, --html and --json are forms: give one of them")
        )
    import msgspec

    words = words_in(language)
    found = _found(journal, table, since, until)
    if as_json:
        encode = msgspec.json.encode
        lines: Iterable[str] = (
            encode({"journal": str(of), **msgspec.to_builtins(one)}).decode() for of, one in found
        )
    elif as_csv:
        lines = _as_csv(found)
    else:
        from shoe_ctl.cli import incidents_view

        shown = incidents_view.page if as_html else incidents_view.text
        lines = shown(found, words)
    for line in lines:
        click.echo(line)


def _found(
    journals: tuple[Path, ...], table: str | None, since: int | None, until: int | None
) -> Iterator[tuple[Path, Incident]]:
    """Yield the incidents of each journal that has the table.

    Raises:
        InputRefused: none has it.
        JournalError: one cannot be read.
    """
    from shoe_ctl.audit import incidents as audit
    from shoe_ctl.journal.reader import Reader

    with Progress("read") as progress:
        for journal in journals if table is None else _with_table(journals, table):
            with explain_damage(journal), Reader.open(journal) as reader:
                for one in audit.incidents(
                    reader, table=table, since_us=since, until_us=until, progress=progress
                ):
                    yield journal, one


def _with_table(journals: tuple[Path, ...], table: str) -> list[Path]:
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.journal.record_format import JOURNAL

    found, known = [], set[str]()
    for journal in journals:
        with explain_damage(journal), Reader.open(journal) as reader:
            tables = reader.heads()[1].keys() - {JOURNAL}
        known |= tables
        found += [journal] if table in tables else []
    if not found:
        have = ", ".join(sorted(known)) or "none"
        raise InputRefused(f"{', '.join(map(str, journals))}: no table {table} (have: {have})")
    return found


def _as_csv(found: Iterable[tuple[Path, Incident]]) -> Iterator[str]:
    from shoe_ctl.audit.incidents import Incident

    names = [*Incident.__struct_fields__]
    yield _row(["journal", *names])
    for journal, one in found:
        values = {name: getattr(one, name) for name in names}
        values |= {"details": "; ".join(one.details), "withheld": one.withheld or None}
        yield _row([str(journal), *values.values()])


def _row(values: Iterable[object]) -> str:
    """Return a line of CSV; no text is a formula, whatever people typed."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(map(_cell, values))
    return line.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(_FORMULA) else value)
