"""JUnit XML, as the servers that build and test read it.

In: reports. Out: the text of the file. Must not know: how they came about.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import datetime, timezone

from simulators.report.observations import Mark, RunReport

SUITE = "shoe-sim"

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHOWN_LANES = ("acts", "table", "sink")


def junit_xml(reports: Sequence[RunReport]) -> str:
    """Return one suite with a case for each playing."""
    failures = sum(report.verdict == "failed" for report in reports)
    errors = sum(report.verdict == "error" for report in reports)
    seconds = sum(report.seconds for report in reports)
    totals = {
        "tests": str(len(reports)),
        "failures": str(failures),
        "errors": str(errors),
        "time": f"{seconds:.3f}",
    }
    suites = ET.Element("testsuites", {"name": SUITE, **totals})
    suite = ET.SubElement(suites, "testsuite", {"name": SUITE, **totals, "skipped": "0"})
    began_us = min((report.began_us for report in reports), default=0)
    suite.set("timestamp", f"{_at(began_us):%Y-%m-%dT%H:%M:%S}")
    for report in reports:
        _add_case(suite, report)
    ET.indent(suites)
    text: str = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add_case(suite: ET.Element, report: RunReport) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        {
            "classname": f"{SUITE}.{_clean(str(report.table.get('game', 'scenario')))}",
            "name": _clean(report.name),
            "time": f"{report.seconds:.3f}",
        },
    )
    if report.verdict != "passed":
        text = _clean(report.failure or report.verdict)
        kind = "failure" if report.verdict == "failed" else "error"
        first = next((line for line in text.splitlines() if "<-" in line), text.splitlines()[0])
        wrong = ET.SubElement(case, kind, {"message": first.strip(), "type": "scenario"})
        wrong.text = text
    out = ET.SubElement(case, "system-out")
    out.text = _clean("\n".join((report.title, *_lines(report))))


def _lines(report: RunReport) -> list[str]:
    return [_line(report, mark) for mark in report.marks if mark.lane in _SHOWN_LANES]


def _line(report: RunReport, mark: Mark) -> str:
    after_s = (mark.t_us - report.began_us) / 1_000_000
    lead = {"acts": "> ", "sink": "    sink: "}.get(mark.lane, "    ")
    return f"{after_s:9.3f} {lead}{mark.text}"


def _at(t_us: int) -> datetime:
    return datetime.fromtimestamp(t_us / 1_000_000, timezone.utc)


def _clean(text: str) -> str:
    """Return the text without what XML cannot hold."""
    return _NOT_XML.sub("?", text)
