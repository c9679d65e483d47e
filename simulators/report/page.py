"""The report as one HTML page: an overview, and for each playing its timeline and comparison.

In: reports. Out: the page's text: no script, nothing from elsewhere, all words escaped.
Must not know: files, how a scenario is played.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise

from simulators.report.observations import Compared, Mark, RunReport
from simulators.report.picture import picture
from simulators.report.style import STYLE

BESIDE_FIRST = 6
"""Rows of a comparison that are shown before and behind the first difference."""

MOST_ROWS = 3000
MOST_PICTURES = 120
MOST_LISTED = 4000

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS = {"passed": "passed", "failed": "differs", "error": "error"}


def page(reports: Sequence[RunReport], *, now: datetime) -> str:
    """Return the page about these playings."""
    html = ET.Element("html", {"lang": "en"})
    head = _add(html, "head")
    _add(head, "meta", charset="utf-8")
    _add(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    _add(head, "meta", **{"http-equiv": "Content-Security-Policy"},
         content="default-src 'none'; style-src 'unsafe-inline'")  # fmt: skip
    wrong = sum(report.verdict != "passed" for report in reports)
    count = f"{len(reports)} scenario{'s' if len(reports) != 1 else ''}"
    verdict = f"{count}, {'all as expected' if not wrong else f'{wrong} not as expected'}"
    _add(head, "title", f"shoe-sim: {verdict}")
    _add(head, "style", STYLE)
    body = _add(html, "body")
    header = _add(body, "header")
    _add(header, "h1", verdict, **{"class": "bad" if wrong else "good"})
    _add(header, "p", f"shoe-sim, {now:%Y-%m-%d %H:%M:%S} UTC")
    main = _add(body, "main")
    _overview(main, reports)
    for number, report in enumerate(reports, 1):
        _section(main, report, number)
    _clean(html)
    text: str = ET.tostring(html, encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{text}\n"


def _add(parent: ET.Element, tag: str, text: str | None = None, /, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, tag, attributes)
    element.text = text
    return element


def _clean(root: ET.Element) -> None:
    """Take out what a page cannot hold; whatever it means in HTML is escaped as it is written."""
    for element in root.iter():
        if element.text is not None:
            element.text = _NOT_XML.sub("?", element.text)
        for key, value in element.attrib.items():
            element.set(key, _NOT_XML.sub("?", value))


# --- all playings ------------------------------------------------------------------------------


def _overview(main: ET.Element, reports: Sequence[RunReport]) -> None:
    table = _add(_add(main, "div", **{"class": "wide"}), "table", **{"class": "overview"})
    row = _add(_add(table, "thead"), "tr")
    for name in ("scenario", "result", "game", "rounds", "seconds"):
        _add(row, "th", name, scope="col")
    body = _add(table, "tbody")
    for number, report in enumerate(reports, 1):
        row = _add(body, "tr", **{"class": report.verdict})
        cell = _add(row, "td")
        _add(cell, "a", report.name, href=f"#run-{number}")
        _add(cell, "div", report.title, **{"class": "note"})
        cell = _add(row, "td")
        target = f"#first-{number}" if report.first_difference is not None else f"#run-{number}"
        if report.verdict == "passed":
            cell.text = _WORDS[report.verdict]
        else:
            _add(cell, "a", _WORDS[report.verdict], href=target)
        _add(row, "td", _game(report))
        rounds = sum(mark.kind == "round.opened" for mark in report.marks)
        _add(row, "td", str(rounds), **{"class": "number"})
        _add(row, "td", f"{report.seconds:.1f}", **{"class": "number"})


def _game(report: RunReport) -> str:
    table = report.table
    if not table:
        return ""  # the scenario could not be read
    shoe = table.get("shoe") or {}
    parts = [str(table.get("game", "")), f"Method {table['method']}" if table.get("method") else ""]
    return ", ".join(part for part in (*parts, str(shoe.get("profile", "reference"))) if part)


# --- one playing -------------------------------------------------------------------------------


def _section(main: ET.Element, report: RunReport, number: int) -> None:
    section = _add(main, "section", id=f"run-{number}")
    heading = _add(section, "h2", report.name)
    badge = _add(heading, "span", _WORDS[report.verdict], **{"class": f"badge {report.verdict}"})
    heading.text, badge.tail = f"{report.name} ", None
    _add(section, "p", report.title)
    began = datetime.fromtimestamp(report.began_us / 1_000_000, timezone.utc)
    game = f"{_game(report)}. " if report.table else ""
    facts = f"{game}Began {began:%Y-%m-%d %H:%M:%S} UTC, took {report.seconds:.1f} s."
    _add(section, "p", facts, **{"class": "note"})
    if report.failure is not None:
        _add(section, "pre", _first_words(report), **{"class": "failure"})
    if report.verdict == "error" and not report.marks:
        _add(section, "p", "It was not played.")
        return
    _comparison(section, report, number)
    _pictures(section, report)
    _listing(section, report)


def _first_words(report: RunReport) -> str:
    """Return why it failed in a line, or what was wrong first."""
    lines = (report.failure or "").splitlines() or [""]
    if lines[0].startswith(("the public events", "the restricted events")):
        first = next((line.strip() for line in lines if "<-" in line), "")
        return f"{lines[0]}\n{first}"
    return lines[0]


def _comparison(section: ET.Element, report: RunReport, number: int) -> None:
    streams = [("public", report.public)]
    if report.restricted:
        streams.append(("restricted", report.restricted))
    _add(section, "h3", "Expected beside what came")
    found_first = False
    for stream, rows in streams:
        wrong = next((at for at, row in enumerate(rows) if not row.agrees), None)
        count = sum(not row.agrees for row in rows)
        events = f"{stream} event{'' if len(rows) == 1 else 's'}"
        text = f"{len(rows)} {events} of the types that are expected"
        differ = f", {count} of them {'differs' if count == 1 else 'differ'}."
        text += ": all came so." if wrong is None else differ
        _add(section, "p", text)
        shown: Sequence[Compared] = ()
        if wrong is not None:
            first = max(0, wrong - BESIDE_FIRST)
            shown = rows[first : wrong + BESIDE_FIRST + 1]
            anchor = None if found_first else f"first-{number}"
            _rows(section, shown, wrong - first, anchor)
            found_first = True
        if wrong is None or len(shown) < len(rows):
            details = _add(section, "details")
            _add(details, "summary", f"All {len(rows)} {events}")
            _rows(details, rows[:MOST_ROWS], wrong, None)
            if len(rows) > MOST_ROWS:
                _add(details, "p", f"{len(rows) - MOST_ROWS} more are in the data of the report.")


def _rows(
    parent: ET.Element, rows: Sequence[Compared], wrong: int | None, anchor: str | None
) -> None:
    table = _add(_add(parent, "div", **{"class": "wide"}), "table", **{"class": "beside"})
    head = _add(_add(table, "thead"), "tr")
    for name in ("", "expected", "came"):
        _add(head, "th", name, scope="col")
    body = _add(table, "tbody")
    for at, row in enumerate(rows):
        kind = "same" if row.agrees else "missing" if row.came is None else "more"
        line = _add(body, "tr", **{"class": f"{kind}{' first' if at == wrong else ''}"})
        if at == wrong and anchor is not None:
            line.set("id", anchor)
        sign = "" if row.agrees else "-" if row.came is None else "+"
        _add(line, "td", sign, **{"class": "sign"})
        _add(line, "td", row.expected or "not expected")
        _add(line, "td", row.came or "did not come")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The marks of one round, or of what is between rounds."""

    label: str
    marks: list[tuple[int, Mark]]

    @property
    def is_wrong(self) -> bool:
        return any(mark.wrong for _, mark in self.marks)

    @property
    def says(self) -> str:
        """The outcome, in a word."""
        ends = [mark.text for _, mark in self.marks if mark.kind in _ENDS]
        return ends[-1] if ends else ""


_ENDS = ("round.outcome", "round.void", "round.revised")


def _stretches(report: RunReport) -> Iterator[_Stretch]:
    """Yield the marks round by round; what leads to a round's opening belongs to it."""
    opened = [at for at, mark in enumerate(report.marks) if mark.kind == "round.opened"]
    starts = [_with_causes(report.marks, at) for at in opened]
    bounds = [0, *starts, len(report.marks)]
    for number, (first, end) in enumerate(pairwise(bounds)):
        marks = list(enumerate(report.marks[first:end], first))
        if marks:
            label = "before the first round" if number == 0 else f"round {number}"
            yield _Stretch(label, marks)


def _with_causes(marks: Sequence[Mark], at: int) -> int:
    while (cause := marks[at].cause) is not None and cause < at:
        at = cause
    return at


def _pictures(section: ET.Element, report: RunReport) -> None:
    _add(section, "h3", "Timeline")
    stretches = list(_stretches(report))
    if not stretches:
        _add(section, "p", "Nothing was observed.")
        return
    text = "Time runs down, in seconds from the beginning. Arrows lead from a cause to its effect."
    _add(section, "p", f"{text} A row on red is where it differs.", **{"class": "note"})
    wrong = next((stretch for stretch in stretches if stretch.is_wrong), None)
    shown = wrong or next((s for s in stretches if s.label != "before the first round"), None)
    for number, stretch in enumerate(stretches[:MOST_PICTURES]):
        details = _add(section, "details", **{"class": "round"})
        if stretch is shown or len(stretches) == 1:
            details.set("open", "open")
        summary = _add(details, "summary", f"{stretch.label} ")
        _add(summary, "span", stretch.says, **{"class": "note"})
        if stretch.is_wrong:
            _add(summary, "span", "differs", **{"class": "badge failed"})
        wide = _add(details, "div", **{"class": "wide", "tabindex": "0"})
        label = f"{report.name}, {stretch.label}"
        wide.append(picture(stretch.marks, began_us=report.began_us, label=label))
        if number == MOST_PICTURES - 1 and len(stretches) > MOST_PICTURES:
            left = len(stretches) - MOST_PICTURES
            _add(section, "p", f"{left} more rounds are in the data of the report.")


def _listing(section: ET.Element, report: RunReport) -> None:
    """Everything that was observed, with the bytes."""
    details = _add(section, "details")
    _add(details, "summary", f"All {len(report.marks)} observations, with the bytes")
    listed: list[str] = []
    for mark in report.marks[:MOST_LISTED]:
        after_s = (mark.t_us - report.began_us) / 1_000_000
        words = f"{mark.text}  {mark.detail}" if mark.lane == "line" else mark.text
        listed.append(f"{after_s:10.3f}  {mark.lane:5}  {words}")
    hidden = len(report.marks) - len(listed) + report.left_out
    if hidden:
        listed.append(f"{hidden} more are not listed")
    _add(details, "pre", "\n".join(listed), **{"class": "listing"})
