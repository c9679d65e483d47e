"""Incidents laid out for people: blocks of 80 columns, or a page for a browser.

In: incidents, words. Out: lines. Must not know: journals, options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from shoe_ctl.cli.common import COLUMNS
from shoe_ctl.terminal_text import printable, wrap

if TYPE_CHECKING:
    from shoe_ctl.audit.incidents import Incident
    from shoe_ctl.texts.screen import Words

_TIME = 21
_INDENT = " " * _TIME
HEADS = ("time", "place", "what", "who", "reason", "rule", "money")

_STYLE = (
    "body{font:11pt sans-serif;margin:1.5em}table{border-collapse:collapse;width:100%}"
    "th,td{border-bottom:1px solid #999;padding:.3em .6em;text-align:left;vertical-align:top}"
    "thead{display:table-header-group}tr{break-inside:avoid}td:first-child{white-space:nowrap}"
)


def text(found: Iterable[tuple[Path, Incident]], words: Words) -> Iterator[str]:
    """Yield the lines of all incidents; where the journal changes, its name comes first."""
    before: Path | None = None
    for journal, one in found:
        if journal != before:
            yield from [""] if before is not None else []
            yield from wrap(printable(words("incidents_of", journal=journal)), COLUMNS)
            yield from wrap(printable(words("not_verified", journal=journal)), COLUMNS)
            before = journal
        yield from block(one, words)
    if before is None:
        yield words("incidents_none")


def block(one: Incident, words: Words) -> Iterator[str]:
    """Yield the lines of one incident, its time first."""
    first = f"{one.time[:19].replace('T', ' ')}  "
    rule = [words("incident_rule", rule=one.rule)] if one.rule is not None else []
    lines = [words.join([_what(one, words), *rule], "facts"), _place(one, words)]
    lines += [who] if (who := _who(one, words)) else []
    if reason := _reason(one, words):
        lines.append(words("incident_reason", reason=reason))
    lines += [*_money(one, words), *one.details]
    for number, line in enumerate(lines):
        yield from wrap(
            printable(line), COLUMNS, first=_INDENT if number else first, rest=_INDENT + "  "
        )


def page(found: Iterable[tuple[Path, Incident]], words: Words) -> Iterator[str]:
    """Yield the lines of a page that needs nothing else: no script, no other file."""
    title = escape(words("incidents_title"))
    heads = "".join(f"<th>{escape(words.name('incident_head', head))}</th>" for head in HEADS)
    yield f'<!doctype html><html lang="{words.language}"><head><meta charset="utf-8">'
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
    yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
    before: Path | None = None
    for journal, one in found:
        if journal != before:
            named = _cell(words("incidents_of", journal=journal))
            told = _cell(words("not_verified", journal=journal))
            yield f'<tr><th colspan="{len(HEADS)}">{named}<br>{told}</th></tr>'
            before = journal
        yield html_row(one, words)
    if before is None:
        yield f'<tr><td colspan="{len(HEADS)}">{escape(words("incidents_none"))}</td></tr>'
    yield "</tbody></table></body></html>"


def html_row(one: Incident, words: Words) -> str:
    """Return one incident as a row of a table: time, place, what, who, reason, rule, money."""
    cells = (
        one.time[:19].replace("T", " "),
        _place(one, words),
        words.join([_what(one, words), *one.details], "clauses"),
        _who(one, words),
        _reason(one, words),
        one.rule or "",
        words.join(_money(one, words), "clauses"),
    )
    return f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in cells)}</tr>"


def _cell(value: str) -> str:
    return escape(printable(value))


def _what(one: Incident, words: Words) -> str:
    parts = [words.name("incident", one.kind)]
    parts += [words.code(code) for code in (one.key, one.how) if code is not None]
    return words.join(parts, "facts")


def _place(one: Incident, words: Words) -> str:
    if one.round_id is not None:
        return words("incident_place", place=one.round_id, n=f"{one.n:,}")
    if one.table:
        place = words.sentence("table {value}", value=one.table)
        return words("incident_place", place=place, n=f"{one.n:,}")
    return words("incident_of_journal", n=f"{one.n:,}")


def _who(one: Incident, words: Words) -> str:
    if one.person is None:
        return ""
    held = [words.name("position", one.position)] if one.position is not None else []
    held += [words("incident_login", login=one.login)] if one.login is not None else []
    who = words("cited", text=one.person, rule=words.join(held)) if held else one.person
    if one.consented_by is None:
        return who
    return words("incident_with", who=who, second=one.consented_by)


def _reason(one: Incident, words: Words) -> str:
    if one.withheld and one.round_id is not None:
        return words("incident_withheld")
    return one.reason or ""


def _money(one: Incident, words: Words) -> list[str]:
    lines = []
    if one.players_get is not None:
        lines.append(words("incident_players_get", amount=_signed(one.players_get)))
    if one.returned is not None:
        lines.append(words("incident_returned", amount=_amount(one.returned)))
    return lines


def _amount(amount: int | str) -> str:
    return f"{amount:,}" if isinstance(amount, int) else amount


def _signed(amount: int | str) -> str:
    return f"{amount:+,}" if isinstance(amount, int) else amount if "-" in amount else f"+{amount}"
