"""The report of a trial: lines for people, one JSON object, JUnit XML.

In: the results of the cases. Out: text. Must not know: how they came about.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import msgspec

from shoe_ctl.certification.trial import Result

SUITE = "certify-consumer"
_WORDS = {"passed": "passed", "failed": "FAILED", "skipped": "skipped", "not_run": "not run"}
_NAME = 14
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def has_passed(results: Sequence[Result]) -> bool:
    """True if no case failed."""
    return all(result.verdict in ("passed", "skipped") for result in results)


def line(result: Result) -> str:
    """Return a case as a line for people."""
    said = result.title if result.difference is None else result.difference
    return f"{_WORDS[result.verdict]:<8}  {result.case:<{_NAME}}  {said}"


def verdict_line(results: Sequence[Result]) -> str:
    """Return the last line for people: all passed, or which case failed."""
    failed = next((each for each in results if each.verdict == "failed"), None)
    if failed is not None:
        return f"{'verdict':<8}  FAILED in the case {failed.case}"
    passed = sum(each.verdict == "passed" for each in results)
    return f"{'verdict':<8}  passed: {passed} of {len(results)} cases"


def as_json(results: Sequence[Result]) -> bytes:
    """Return the report as one JSON object."""
    return msgspec.json.encode({"passed": has_passed(results), "cases": list(results)})


def as_junit(results: Sequence[Result]) -> str:
    """Return the report as JUnit XML, a test case for each case."""
    failures = sum(result.verdict == "failed" for result in results)
    skipped = sum(result.verdict in ("skipped", "not_run") for result in results)
    seconds = f"{sum(result.seconds for result in results):.3f}"
    totals = {"tests": str(len(results)), "failures": str(failures), "errors": "0"}
    suites = ET.Element("testsuites", {"name": SUITE, **totals, "time": seconds})
    suite = ET.SubElement(
        suites, "testsuite", {"name": SUITE, **totals, "skipped": str(skipped), "time": seconds}
    )
    for result in results:
        case = ET.SubElement(
            suite,
            "testcase",
            {"classname": SUITE, "name": result.case, "time": f"{result.seconds:.3f}"},
        )
        said = _NOT_XML.sub("?", result.difference or result.title)
        if result.verdict == "failed":
            ET.SubElement(case, "failure", {"message": said, "type": "difference"})
        elif result.verdict != "passed":
            ET.SubElement(case, "skipped", {"message": said})
    ET.indent(suites)
    text: str = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
