"""An inspection laid out for people: a page of 80 columns, or one for a browser to be printed.

In: an inspection, when and by what it was made. Out: lines. Must not know: files, options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from shoe_ctl.audit.inspection import Finding, Inspection, Question, TableRounds
from shoe_ctl.cli import incidents_view
from shoe_ctl.cli.common import COLUMNS, format_row
from shoe_ctl.terminal_text import printable, wrap
from shoe_ctl.texts.screen import Words

_WORDS = Words("en")
_TITLE = "Inspection of a folder of evidence"
_RESTRICTED = "Restricted: this page names people, rounds and amounts."
_INDENT = "  "
_CUSTODY_LINES = 4
_CUSTODY = ("Date and time", "Handed over by", "Received by", "Medium or seal", "Signatures")

_PROVEN = "What these files prove."
_CLAIMED = "What they say, but cannot prove: ask for evidence from elsewhere."
_MISSING = "What is not here."
_WORKSHEET = "Commands are run in the folder. Tick what you did yourself."
_HOUSE = "House: what it won, in minor units."
_HANDED = "One line for each time that the files change hands, filled in by hand."


def verdict(found: Inspection) -> str:
    """Return the verdict in one sentence."""
    if many := len(found.findings) + found.further:
        counted = "1 finding" if many == 1 else f"{many:,} findings"
        return f"{counted}: not everything is as it should be."
    return "Nothing wrong was found, as far as these files can show it."


def text(found: Inspection, made: str, software: str) -> Iterator[str]:
    """Yield the lines of a page of 80 columns."""
    yield _TITLE
    yield from _named("folder", found.folder)
    yield from _named("made", f"{_time(made)} UTC, by shoe-ctl {software}")
    yield from _named("all files", f"{len(found.files):,}, SHA-256 of their list:")
    yield f"{'':12}{found.listing_sha256}"
    yield _RESTRICTED
    yield ""
    yield from _wrapped(f"VERDICT: {verdict(found)}", "", "         ")
    if found.findings:
        yield from _head("Findings")
        for number, finding in enumerate(found.findings, 1):
            yield from _finding(number, finding)
        if found.further:
            yield from _wrapped(f"and {found.further:,} more of the same kinds", _INDENT, _INDENT)
    for title, said, lines in _lists(found):
        yield from _head(title, said)
        for line in lines:
            yield from _wrapped(line, "  * ", "    ")
    yield from _head("Rounds", _HOUSE)
    yield from _rounds(found.tables)
    yield from _rulings(found)
    yield from _head("Worksheet", _WORKSHEET)
    for number, question in enumerate(found.worksheet, 1):
        yield from _question(number, question)
    yield from _files(found)
    yield from _head("Custody", _HANDED)
    for _ in range(_CUSTODY_LINES):
        yield from (f"  {name:<15}{'_' * 50}" for name in _CUSTODY)
        yield ""


def _files(found: Inspection) -> Iterator[str]:
    yield from _head("Files")
    for file in found.files:
        kind = _readable(file.kind) + (f" ({file.note})" if file.note else "")
        yield from _wrapped(f"{file.path}: {kind}, {file.bytes:,} bytes", _INDENT, "    ")
        if file.sha256 is not None:
            yield f"    {file.sha256}"
    if found.further_files:
        yield f"  and {found.further_files:,} files that were not read"


def _lists(found: Inspection) -> Iterator[tuple[str, str, list[str]]]:
    for title, said, lines in (
        ("Proven", _PROVEN, found.proven),
        ("Only claimed", _CLAIMED, found.claimed),
        ("Missing", _MISSING, found.missing),
    ):
        if lines:
            yield title, said, lines


def _head(title: str, said: str = "") -> Iterator[str]:
    yield ""
    yield title.upper()
    if said:
        yield from _wrapped(said, "", "")


def _named(name: str, value: str) -> Iterator[str]:
    yield from _wrapped(value, f"{name:<12}", " " * 12)


def _wrapped(line: str, first: str, rest: str) -> list[str]:
    return wrap(printable(line), COLUMNS, first=first, rest=rest)


def _time(time: str) -> str:
    return time[:19].replace("T", " ")


def _readable(code: str) -> str:
    return code.replace("_", " ")


def _place(finding: Finding) -> list[str]:
    """Return where something was found: file, table, round, record, time."""
    parts = [finding.file]
    if finding.round_id is not None:
        parts.append(f"round {finding.round_id}")
    elif finding.table is not None:
        parts.append(f"table {finding.table}")
    parts += [f"record {finding.n:,}"] if finding.n is not None else []
    return [*parts, f"{_time(finding.time)}"] if finding.time is not None else parts


def _finding(number: int, finding: Finding) -> Iterator[str]:
    first = f"{number:>3}  {_readable(finding.kind):<13}"
    yield from _wrapped(", ".join(_place(finding)), first, " " * 18)
    yield from _wrapped(finding.text, " " * 18, " " * 18)


_COLUMNS = ("TABLE", "ROUNDS", "FIRST", "LAST", "VOID", "REVISED", "BY HAND", "HOUSE")
_WIDTHS = (10, -6, 10, 10, -4, -7, -7, -10)


def _rounds(tables: Sequence[TableRounds]) -> Iterator[str]:
    if not tables:
        yield "  no round in a file that is whole"
    before = None
    for one in tables:
        if one.file != before:
            yield from _wrapped(one.file, _INDENT, _INDENT)
            yield _INDENT + format_row(_COLUMNS, _WIDTHS)
            before = one.file
        yield _INDENT + format_row(_round_cells(one), _WIDTHS)


def _round_cells(one: TableRounds) -> tuple[str, ...]:
    counts = (one.void, one.revised, one.by_hand)
    house = f"{one.house:+,}" if isinstance(one.house, int) else one.house
    return (one.table, f"{one.rounds:,}", one.first[:10], one.last[:10], *map(str, counts), house)


def _rulings(found: Inspection) -> Iterator[str]:
    if not found.incidents:
        return
    yield from _head("Incidents", "What was no ordinary play, and the rulings of people.")
    yield from _wrapped(_counted(found), _INDENT, _INDENT)
    before = None
    for one in found.rulings:
        if one.file != before:
            yield from ["", *_wrapped(one.file, _INDENT, _INDENT)]
            before = one.file
        yield from incidents_view.block(one.incident, _WORDS)
    if found.further_rulings:
        yield f"  and {found.further_rulings:,} more: shoectl incidents lists them"


def _counted(found: Inspection) -> str:
    counts: dict[str, int] = {}
    for one in found.incidents:
        counts[one.kind] = counts.get(one.kind, 0) + one.count
    named = ((_WORDS.name("incident", kind), count) for kind, count in counts.items())
    return ", ".join(f"{name} {count:,}" for name, count in named)


def _question(number: int, question: Question) -> Iterator[str]:
    first = f"  [ ] {number:>2}  "
    yield from _wrapped(question.question, first, " " * 10)
    if not question.command:
        yield f"{'':10}{'_' * 60}"
        return
    yield from _wrapped(question.answer, " " * 10, " " * 10)
    yield f"{'':10}{printable(question.command)}"


# HTML.

_STYLE = (
    "@page{size:A4;margin:15mm}"
    "body{font:10pt sans-serif;margin:1.5em auto;max-width:60em;padding:0 1em}"
    "h1{font-size:16pt}h2{font-size:12pt;margin:1.4em 0 .3em;break-after:avoid}"
    "p{margin:.3em 0}li{margin:.2em 0}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{border-bottom:1px solid #999;padding:.25em .5em;text-align:left;vertical-align:top}"
    "thead{display:table-header-group}tr,li{break-inside:avoid}"
    ".verdict{font-size:13pt;border:2px solid;padding:.5em .8em;margin:1em 0}"
    ".hash{font:7pt monospace;overflow-wrap:anywhere}td.hash{min-width:64ch}"
    ".wrap{overflow-wrap:anywhere}td.wrap{min-width:6.5em}"
    "code{font:9pt monospace;overflow-wrap:anywhere}.right{text-align:right}"
    ".fill{table-layout:fixed}"
    ".fill td{height:2.6em;border:1px solid #999}.fill th{border:1px solid #999}"
    ".box{white-space:nowrap}"
    "@media print{body{margin:0;padding:0;max-width:none}}"
)


def page(found: Inspection, made: str, software: str) -> Iterator[str]:
    """Yield the lines of a page that needs nothing else: no script, no other file."""
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<title>{_TITLE}</title><style>{_STYLE}</style></head><body><h1>{_TITLE}</h1>"
    yield f'<p class="wrap">Folder {_cell(found.folder)}, {len(found.files):,} files, inspected '
    yield f"{_time(made)} UTC by shoe-ctl {_cell(software)}. {_RESTRICTED}</p>"
    listing = f'<span class="hash">{found.listing_sha256}</span>'
    yield f"<p>SHA-256 of the list of all files: {listing}</p>"
    yield f'<p class="verdict"><b>Verdict.</b> {_cell(verdict(found))}</p>'
    yield from _findings_table(found)
    for title, said, lines in _lists(found):
        yield from _html_head(title, said)
        items = "".join(f'<li class="wrap">{_cell(line)}</li>' for line in lines)
        yield f"<ul>{items}</ul>"
    yield from _html_head("Rounds", _HOUSE)
    yield from _table(
        ["File", *(name.capitalize() for name in _COLUMNS)],
        ([one.file, *_round_cells(one)] for one in found.tables),
        wrapped=(0, 1),
    )
    yield from _incidents_table(found)
    yield from _html_head("Worksheet", _WORKSHEET)
    yield from _worksheet_table(found)
    yield from _html_head("Files")
    yield "<table><thead><tr><th>File</th><th>Kind</th><th>Bytes</th><th>SHA-256</th></tr></thead>"
    yield "<tbody>"
    for file in found.files:
        kind = _readable(file.kind) + (f" ({file.note})" if file.note else "")
        yield (
            f'<tr><td class="wrap">{_cell(file.path)}</td><td>{_cell(kind)}</td>'
            f'<td class="right">{file.bytes:,}</td><td class="hash">{file.sha256 or ""}</td></tr>'
        )
    yield "</tbody></table>"
    if found.further_files:
        yield f"<p>And {found.further_files:,} files that were not read.</p>"
    yield from _html_head("Custody", _HANDED)
    heads = "".join(f"<th>{name}</th>" for name in _CUSTODY)
    blank = f"<tr>{'<td></td>' * len(_CUSTODY)}</tr>" * _CUSTODY_LINES
    yield f'<table class="fill"><thead><tr>{heads}</tr></thead><tbody>{blank}</tbody></table>'
    yield "</body></html>"


def _html_head(title: str, said: str = "") -> Iterator[str]:
    yield f"<h2>{title}</h2>"
    if said:
        yield f"<p>{said}</p>"


def _findings_table(found: Inspection) -> Iterator[str]:
    if not found.findings:
        return
    yield from _html_head("Findings")
    yield from _table(
        ("", "Kind", "File", "Table or round", "Record", "Time (UTC)", "Finding"),
        (
            (
                str(number),
                _readable(one.kind),
                one.file,
                one.round_id or one.table or "",
                "" if one.n is None else f"{one.n:,}",
                "" if one.time is None else _time(one.time),
                one.text,
            )
            for number, one in enumerate(found.findings, 1)
        ),
        wrapped=(2, 3, 6),
    )
    if found.further:
        yield f"<p>And {found.further:,} more of the same kinds.</p>"


def _incidents_table(found: Inspection) -> Iterator[str]:
    if not found.incidents:
        return
    yield from _html_head("Incidents", "What was no ordinary play, and the rulings of people.")
    yield f"<p>{_cell(_counted(found))}</p>"
    if found.rulings:
        heads = "".join(
            f"<th>{escape(_WORDS.name('incident_head', head))}</th>"
            for head in incidents_view.HEADS
        )
        yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
        before = None
        for one in found.rulings:
            if one.file != before:
                yield f'<tr><th colspan="{len(incidents_view.HEADS)}">{_cell(one.file)}</th></tr>'
                before = one.file
            yield incidents_view.html_row(one.incident, _WORDS)
        yield "</tbody></table>"
    if found.further_rulings:
        yield f"<p>And {found.further_rulings:,} more: <code>shoectl incidents</code>.</p>"


def _worksheet_table(found: Inspection) -> Iterator[str]:
    yield "<table><thead><tr><th></th><th>Question</th><th>Answer</th><th>Checked by, on</th></tr>"
    yield "</thead><tbody>"
    for number, one in enumerate(found.worksheet, 1):
        command = f"<br><code>{_cell(one.command)}</code>" if one.command else ""
        yield (
            f'<tr><td class="box">&#9744; {number}</td>'
            f'<td class="wrap">{_cell(one.question)}{command}</td>'
            f"<td>{_cell(one.answer)}</td><td>________________</td></tr>"
        )
    yield "</tbody></table>"


def _table(
    heads: Iterable[str], rows: Iterable[Iterable[str]], *, wrapped: Sequence[int]
) -> Iterator[str]:
    """Yield a table; in the columns ``wrapped`` a word that is too long is broken."""
    yield f"<table><thead><tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr></thead>"
    yield "<tbody>"
    for row in rows:
        cells = (
            f"<td{' class=wrap' if column in wrapped else ''}>{_cell(cell)}</td>"
            for column, cell in enumerate(row)
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table>"


def _cell(value: str) -> str:
    return escape(printable(value))
