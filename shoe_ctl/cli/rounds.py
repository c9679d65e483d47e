"""``shoectl rounds``: list the shoes and rounds of a journal or an export.

In: a journal's path. Out: a table a shoe for people at a terminal, plain lines in a pipe, CSV or
JSON lines. Must not know: what a round is made of. It reads only, also while a daemon writes.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoe_ctl.cli.common import (
    Column,
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
@click.option("--shoe", "shoe_id", metavar="ID", help="List the rounds of this shoe only.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with a header line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@with_language
def rounds(
    journal: Path, shoe_id: str | None, as_csv: bool, as_json: bool, language: str | None
) -> None:
    """List the shoes and rounds of JOURNAL with outcomes, money and irregularities.

    JOURNAL is a journal or an export. HOUSE is what the house wins, or loses below
    0, in minor units; --csv and --json say what it paid, collected and gave back.
    The list is restricted information, as the reports of shoectl replay are.

    \b
    Examples:
      shoectl rounds journal.db
      shoectl rounds journal.db --shoe bac-07-s1 --csv
    """  # noqa: D301 - click wants the very character
    if as_csv and as_json:
        raise click.UsageError("--csv cannot be combined with --json: give one of them")
    from shoe_ctl.cli.common import Progress, explain_damage
    from shoe_ctl.journal.reader import Reader

    words = words_in(language)
    to_people = is_terminal() and not (as_csv or as_json)
    with explain_damage(journal), Reader.open(journal) as reader, Progress("listed") as said:
        found = _lines(reader, shoe_id, said if not is_terminal() else lambda _n, _last: None)
        if as_json:
            _show(_as_json(found))
        elif as_csv:
            _show(_as_csv(found))
        elif to_people:
            _show_tables(found, words)
        else:
            _show(_as_text(found, words))


def _lines(reader: Reader, shoe_id: str | None, progress: Any) -> Iterator[Line]:
    from shoe_ctl.history.shoe_sections import find_section
    from shoe_ctl.round_report.rounds import lines

    if shoe_id is None:
        return lines(reader, progress=progress)
    span = find_section(reader, shoe_id)
    return lines(
        reader,
        table=span.table,
        shoe_id=shoe_id,
        first=span.first,
        last=span.last,
        progress=progress,
    )


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


def _as_json(found: Iterable[Line]) -> Iterator[str]:
    import msgspec

    for line in found:
        yield msgspec.json.encode(line).decode()


def _as_csv(found: Iterable[Line]) -> Iterator[str]:
    """Every key of a line in its column; lists are words with a space between them."""
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
