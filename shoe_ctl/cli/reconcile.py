"""``shoectl reconcile``: compare a table system's ledger with the journal.

In: a journal's path, the ledger's files. Out: a page for people or one JSON object; exit 1 where
they differ. Must not know: how events are compared. It reads only, also while a daemon writes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_ctl.cli.common import COLUMNS, Moment, explain_damage
from shoe_ctl.terminal_text import printable

if TYPE_CHECKING:
    from shoe_ctl.audit.ledger import Trouble
    from shoe_ctl.audit.reconciliation import (
        AlteredKey,
        Difference,
        Reconciliation,
        RoundDifferences,
    )

_NAME = 12
_KIND = 10
_MOST_SHOWN = 100
"""Rounds that are shown to people; ``--json`` has more."""
_MOST_KEYS = 8
_VALUE = 24


@click.command
@click.argument("journal", type=click.Path(path_type=Path))
@click.argument("ledger", nargs=-1, required=True)
@click.option("--table", metavar="ID", help="Compare the events of this table only.")
@click.option(
    "--from",
    "since",
    type=Moment(),
    metavar="TIME",
    help="Compare events of this time or later: 2026-03-01 or 2026-03-01T18:30, in UTC.",
)
@click.option(
    "--to", "until", type=Moment(), metavar="TIME", help="Compare events before this time."
)
@click.option(
    "--as-delivered", is_flag=True, help="Allow a line twice, as a sink may deliver an event twice."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def reconcile(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    journal: Path,
    ledger: tuple[str, ...],
    table: str | None,
    since: int | None,
    until: int | None,
    as_delivered: bool,
    as_json: bool,
) -> None:
    """Compare a LEDGER of events with JOURNAL, or with an export of it.

    LEDGER is a file of JSON lines, one event a line, as a sink writes it or a table system keeps
    it: plain or compressed with gzip, in any order, several files in a row; - is standard input.

    Each event that is missing in the ledger, foreign to the journal, altered or doubled is listed
    with its round, and each round with what the house has more or less by the ledger. A stream of
    which the ledger has nothing is not compared. The exit code is 1 if they differ.

    \b
    Examples:
      shoectl reconcile journal.db events.jsonl
      zcat events.jsonl.gz | shoectl reconcile journal.db - --from 2026-03-01
    """  # noqa: D301 - click wants the very character
    from shoe_ctl.audit.ledger import Ledger
    from shoe_ctl.audit.reconciliation import Comparison
    from shoe_ctl.audit.reconciliation import reconcile as compare
    from shoe_ctl.journal.reader import Reader

    lines = Ledger(ledger)
    tables = None if table is None else frozenset({table})
    compared = Comparison(tables, since, until, as_delivered)
    with explain_damage(journal), Reader.open(journal) as reader:
        found = compare(reader, lines, compared)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(found))
    else:
        _show(journal, ledger, found)
    ctx.exit(0 if found.agrees else 1)


def _show(journal: Path, ledger: tuple[str, ...], found: Reconciliation) -> None:
    _write("journal", str(journal))
    _write("", f"NOT VERIFIED: run shoectl verify {journal}")
    _write("ledger", f"{', '.join(ledger)}: {_many(found.lines, 'line')} compared")
    for stream in found.streams:
        events = "no event" if stream.first is None else f"{stream.first} to {stream.last}"
        _write(stream.table, f"{stream.stream}: {events} in the journal; {stream.agree:,} agree")
        if stream.not_compared:
            lines = _many(stream.not_compared, "line")
            _write("", f"{lines} of older events not compared: compare them with an export")
    for trouble in found.troubles:
        _write("ledger", _trouble(trouble))
    counts = (f"{_many(many, 'event')} {kind}" for kind, many in sorted(found.counts.items()))
    _write("verdict", "they agree" if found.agrees else f"they DIFFER{_list(counts)}")
    if found.worth is not None:
        _write("money", f"the house has {_signed(found.worth)} by the ledger, in minor units")
    for each in found.rounds[:_MOST_SHOWN]:
        click.echo()
        for line in _round(each):
            click.echo(line)
    if len(found.rounds) > _MOST_SHOWN:
        click.echo()
        _write("further", f"{len(found.rounds) - _MOST_SHOWN:,} rounds: --json lists them")
    if found.not_listed:
        _write("not listed", f"{_many(found.not_listed, 'difference')} of still more rounds")


def _list(counts: Iterator[str]) -> str:
    words = ", ".join(counts)
    return f": {words}" if words else ""


def _trouble(trouble: Trouble) -> str:
    more = f", and {_many(trouble.lines - 1, 'further line')}" if trouble.lines > 1 else ""
    return f"{trouble.file} line {trouble.line} {trouble.what}{more}"


def _round(found: RoundDifferences) -> Iterator[str]:
    what = f"table {found.table}" if found.round_id is None else found.round_id
    when = found.time[:19].replace("T", " ")
    yield from _wrapped(f"{what}  {when}  {found.stream}", "  ")
    if (money := found.money) is not None:
        how = ", by its outcome" if money.by_outcome else ""
        yield from _wrapped(
            f"  the house wins {money.journal} by the journal, {money.ledger} by the ledger{how}: "
            f"{_signed(money.worth)} of stakes of {money.stakes:,}",
            "    ",
        )
    for difference in found.differences:
        first = f"  {difference.kind:<{_KIND}}"
        yield from _wrapped(first + _difference(difference), " " * (_KIND + 2))
        for key in difference.keys[:_MOST_KEYS]:
            yield from _wrapped(" " * (_KIND + 4) + _key(key), " " * (_KIND + 6))
        if (more := len(difference.keys) - _MOST_KEYS) > 0:
            yield f"{'':{_KIND + 4}}and {_many(more, 'further key')}"


def _difference(difference: Difference) -> str:
    ids = difference.first
    if difference.events > 1:
        ids += f" to {difference.last}, {_many(difference.events, 'event')}"
    parts = [f"{ids}: {', '.join(difference.types)}"]
    if difference.file is not None:
        parts.append(f"{difference.file} line {difference.line}")
    parts += [difference.why] if difference.why else []
    return "; ".join(parts)


def _key(key: AlteredKey) -> str:
    if key.journal is None and key.ledger is None:
        return key.key
    ours, theirs = (
        "left out" if value is None else printable(value, most=_VALUE)
        for value in (key.journal, key.ledger)
    )
    return f"{key.key}: {ours} in the journal, {theirs} in the ledger"


def _signed(amount: int | str) -> str:
    return f"{amount:+,}" if isinstance(amount, int) else amount if "-" in amount else f"+{amount}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _write(name: str, value: str) -> None:
    for line in _wrapped(f"{printable(name):<{_NAME}}{value}", " " * _NAME):
        click.echo(line)


def _wrapped(text: str, rest: str) -> list[str]:
    return textwrap.wrap(printable(text), COLUMNS, subsequent_indent=rest, break_on_hyphens=False)
