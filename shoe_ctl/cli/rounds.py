"""``shoectl rounds``: list the shoes and rounds of a journal or an export.

In: a journal's path. Out: a table a shoe for people at a terminal, plain lines in a pipe, CSV or
JSON lines. Must not know: what a round is made of. It reads only, also while a daemon writes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoe_ctl.cli import help_language
from shoe_ctl.cli.common import (
    Column,
    Moment,
    WholeNumber,
    format_row,
    is_terminal,
    make_cell,
    make_console,
    make_table,
    with_language,
    words_in,
)
from shoe_ctl.terminal_text import printable

if TYPE_CHECKING:
    from rich.table import Table

    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.journal.round_index import RoundQuery
    from shoe_ctl.round_report.rounds import Line, RoundLine
    from shoe_ctl.texts.screen import Words

COLUMNS = 90
"""Of a line in a pipe: what stands behind an outcome is cut there."""

_HEADS = ("ROUND", "OPENED", "PLAYER", "BANKER", "HOUSE", "OUTCOME")
_WIDTHS = (14, 8, 11, 11, -9, 0)
_STYLES = {"player": "blue", "banker": "red", "tie": "green"}
"""Of an outcome on a terminal, by its winner; a void round is yellow."""


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.option("--table", metavar="ID", help="List the rounds of this table only.")
@click.option("--shoe", "shoe_id", metavar="ID", help="List the rounds of this shoe only.")
@click.option("--last", type=WholeNumber(min=1), metavar="N", help="List the last N rounds.")
@click.option(
    "--since",
    type=Moment(),
    metavar="TIME",
    help="List rounds opened at this time or later: 2026-03-01 or 2026-03-01T18:30, in UTC.",
)
@click.option(
    "--until", type=Moment(), metavar="TIME", help="List rounds opened before this time, in UTC."
)
@click.option(
    "--all-records", is_flag=True, help="Read every record instead of using the journal's index."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with a header line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@with_language
def rounds(  # noqa: PLR0913 - one for each option
    journal: Path,
    table: str | None,
    shoe_id: str | None,
    last: int | None,
    since: int | None,
    until: int | None,
    all_records: bool,
    as_csv: bool,
    as_json: bool,
    language: str | None,
) -> None:
    """List the shoes and rounds of JOURNAL with outcomes, money and irregularities.

    JOURNAL is a journal or an export. HOUSE is what the house wins, or loses below
    0, in minor units; --csv and --json say what it paid, collected and gave back.
    The list is restricted information, as the reports of shoectl replay are.

    Rounds are found by the journal's index, and each is listed from its own records.
    An index that leads elsewhere is an error; shoectl verify checks that it leaves
    nothing out. An export has none: every record is read, as with --all-records.

    \b
    Examples:
      shoectl rounds journal.db
      shoectl rounds journal.db --table bac-07 --last 100
      shoectl rounds journal.db --since 2026-03-01 --until 2026-03-02
      shoectl rounds journal.db --shoe bac-07-s1 --csv
    """  # noqa: D301 - click wants the very character
    if as_csv and as_json:
        raise click.UsageError(
            help_language.said("--csv cannot be combined with --json: give one of them")
        )
    from shoe_ctl.cli.common import Progress, explain_damage
    from shoe_ctl.journal.reader import Reader
    from shoe_ctl.journal.round_index import RoundQuery
    from shoe_ctl.round_report.rounds import lines

    words = words_in(language)
    to_people = is_terminal() and not (as_csv or as_json)
    with explain_damage(journal), Reader.open(journal) as reader, Progress("listed") as listed:
        between = RoundQuery(since_us=since, until_us=until, last=last)
        query = _query(reader, table, shoe_id, between)
        progress = listed if not is_terminal() else lambda _n, _last: None
        found = lines(reader, query, all_records=all_records, progress=progress)
        if as_json:
            _show(_as_json(found))
        elif as_csv:
            _show(_as_csv(found))
        elif to_people:
            _show_tables(found, words)
        else:
            _show(_as_text(found, words))
    if not (as_csv or as_json):
        by_index = reader.has_rounds and not all_records
        said_how = words("listed_by_index") if by_index else words("listed_from_records")
        click.echo(said_how, err=True)
        click.echo(printable(words("not_verified", journal=journal)), err=True)


def _query(reader: Reader, table: str | None, shoe_id: str | None, query: RoundQuery) -> RoundQuery:
    """Return the query with its table and shoe.

    Raises:
        InputRefused: the journal has no such table or shoe, or the shoe is another table's.
    """
    if table is None and shoe_id is None:
        return query
    from msgspec.structs import replace

    from shoe_ctl.errors import InputRefused
    from shoe_ctl.history.shoe_sections import find_section, tables_of

    if table is not None and table not in (known := tables_of(reader)):
        have = ", ".join(known) or "none"
        raise InputRefused(f"{reader.path}: no table {table} (have: {have})")
    if shoe_id is None:
        return replace(query, table=table)
    section = find_section(reader, shoe_id)
    if table not in (None, section.table):
        raise InputRefused(f"shoe {shoe_id} is of table {section.table}, not of {table}")
    return replace(query, table=section.table, shoe=section.number)


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


def _as_json(found: Iterable[Line]) -> Iterator[str]:
    import msgspec

    encode = msgspec.json.Encoder().encode
    for line in found:
        yield encode(line).decode()


def _as_csv(found: Iterable[Line]) -> Iterator[str]:
    """Every key of a line in its column; lists are words with a space between them."""
    import csv
    import io

    import msgspec

    from shoe_ctl.round_report.rounds import RoundLine

    names = ["line", *(field.name for field in msgspec.structs.fields(RoundLine))]
    yield ",".join(names)
    for line in found:
        plain = msgspec.to_builtins(line)
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(_cell(plain.get(name)) for name in names)
        yield text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value


def _as_text(found: Iterable[Line], words: Words) -> Iterator[str]:
    from shoe_ctl.round_report.rounds import ShoeLine

    yield format_row([words.name("head", head) for head in _HEADS], _WIDTHS)
    empty = True
    for line in found:
        empty = False
        if isinstance(line, ShoeLine):
            yield printable(_heading(line, words), most=COLUMNS)
        else:
            yield printable(format_row(_cells(line, words), _WIDTHS), most=COLUMNS)
    if empty:
        click.echo(words("no_rounds"), err=True)


def _heading(line: Any, words: Words) -> str:
    return words("shoe_heading", shoe_id=line.shoe_id, date=line.time[:10])


def _cells(line: RoundLine, words: Words) -> tuple[str, ...]:
    """A round for people: its id, when it was opened, both hands, its money, how it ended."""
    hands = ("", "")
    if line.player is not None and line.banker is not None:
        hands = (
            f"{' '.join(line.player)} ={line.player_total}",
            f"{' '.join(line.banker)} ={line.banker_total}",
        )
    return line.round_id, line.time[11:19], *hands, _house(line), _outcome(line, words)


def _house(line: RoundLine) -> str:
    """Return what the house wins or loses in the round, in minor units; empty without a wager."""
    if not any((line.paid, line.collected, line.returned)):
        return ""
    from fractions import Fraction

    wins = Fraction(line.collected) - Fraction(line.paid)
    return f"+{wins}" if wins > 0 else str(wins)


def _outcome(line: RoundLine, words: Words) -> str:
    parts = [words("winner", winner=line.winner)] if line.winner else []
    parts += [words("no_outcome")] if not line.winner and line.state != "void" else []
    parts += [words.name("round_state", line.state)] if line.state != "settled" else []
    parts += [words("revised_round")] if line.revised else []
    parts += [words("by_hand")] if line.manual else []
    parts += [words.name("key", key) for key in line.irregularities]
    return words.join(parts, "facts")


def _show_tables(found: Iterable[Line], words: Words) -> None:
    """A table for each shoe, once all its rounds are known: no more of them is held at a time."""
    from shoe_ctl.round_report.rounds import ShoeLine

    console = make_console()
    columns = [
        Column(words.name("head", head), fits=head not in ("ROUND", "OUTCOME")) for head in _HEADS
    ]
    open_tables: dict[str, Table] = {}
    for line in found:
        if isinstance(line, ShoeLine):
            if (before := open_tables.pop(line.table, None)) is not None:
                console.print(before)
            open_tables[line.table] = make_table(columns, _heading(line, words))
        else:
            *cells, outcome = _cells(line, words)
            shown = make_cell(outcome, _STYLES.get(line.winner or "", "yellow"))
            open_tables[line.table].add_row(*map(make_cell, cells), shown)
    for table in open_tables.values():
        console.print(table)
    if not open_tables:
        click.echo(words("no_rounds"), err=True)
