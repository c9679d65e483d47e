"""JUnit XML as servers read it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from simulators.report.junit import junit_xml
from simulators.report.observations import Mark, RunReport

PASSED = RunReport(
    name="a_night",
    title="A night & a day",
    verdict="passed",
    began_us=1_000_000_000_000,
    ended_us=1_000_001_500_000,
    table={"game": "tiger"},
    marks=(
        Mark(t_us=1_000_000_250_000, lane="acts", text="hand: draws 1"),
        Mark(t_us=1_000_000_300_000, lane="line", text="from shoe: 65 B"),
        Mark(t_us=1_000_000_500_000, lane="table", text="round.opened"),
    ),
)
FAILED = RunReport(
    name="<b>",
    title="\x1b[31mred\x00",
    verdict="failed",
    failure="the public events of <b>:\n  - round.void    <- expected, did not come",
    began_us=1_000_000_000_000,
    ended_us=1_000_000_250_000,
)
ERROR = RunReport(name="wrong", title="", verdict="error", failure="wrong.toml: steps: missing")


def suites() -> ET.Element:
    return ET.fromstring(junit_xml([PASSED, FAILED, ERROR]))


def test_a_suite_counts_its_cases_as_servers_read_them() -> None:
    root = suites()
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    for counted in (root, suite):
        assert {key: counted.get(key) for key in ("tests", "failures", "errors", "time")} == {
            "tests": "3",
            "failures": "1",
            "errors": "1",
            "time": "1.750",
        }
    assert suite.get("name") == "shoe-sim"
    assert [case.get("name") for case in suite] == ["a_night", "<b>", "wrong"]
    assert [case.get("time") for case in suite] == ["1.500", "0.250", "0.000"]
    assert suite[0].get("classname") == "shoe-sim.tiger"


def test_a_case_says_what_differs_and_what_was_done() -> None:
    passed, failed, error = suites()[0]
    assert passed.find("failure") is None and passed.find("error") is None
    assert (passed.findtext("system-out") or "").splitlines() == [
        "A night & a day",
        "    0.250 > hand: draws 1",
        "    0.500     round.opened",
    ]
    failure = failed.find("failure")
    assert failure is not None
    assert failure.get("message") == "- round.void    <- expected, did not come"
    assert failure.text == FAILED.failure
    wrong = error.find("error")
    assert wrong is not None and wrong.get("message") == "wrong.toml: steps: missing"


def test_what_xml_cannot_hold_is_left_out() -> None:
    text = junit_xml([FAILED])
    assert "\x1b" not in text and "\x00" not in text
    assert "?[31mred?" in (ET.fromstring(text).findtext(".//system-out") or "")
