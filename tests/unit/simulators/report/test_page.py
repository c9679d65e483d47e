"""The page: one file, escaped, with the first difference marked."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest

from simulators.report.observations import Compared, Mark, RunReport, Verdict
from simulators.report.page import page

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=timezone.utc)
NASTY = "<script>alert('x')</script> & \"so\" \x00\ud800 ]]>"
VOID = {"meta"}

MARKS = (
    Mark(t_us=1_000_000, lane="line", text="from shoe: 65 B", detail="01 02 (card_drawn)"),
    Mark(t_us=1_000_100, lane="shoe", text="card_drawn 4D 1", cause=0),
    Mark(t_us=1_000_300, lane="acts", text="dealer: place_your_bets"),
    Mark(
        t_us=1_000_400,
        lane="table",
        text="round.opened",
        cause=2,
        kind="round.opened",
        event="t1/p3",
    ),
    Mark(
        t_us=1_400_400,
        lane="table",
        text="round.card_dealt player 1",
        cause=1,
        kind="round.card_dealt",
    ),
    Mark(t_us=1_500_000, lane="line", text="from shoe: 34 B", routine=True),
    Mark(t_us=1_600_000, lane="line", text="from shoe: 34 B", routine=True),
    Mark(
        t_us=1_700_000,
        lane="table",
        text="round.outcome tie",
        kind="round.outcome",
        event="t1/p9",
        wrong=True,
    ),
    Mark(t_us=1_712_000, lane="sink", text="outcome +12 ms", cause=7),
)
REPORT = RunReport(
    name="a_night",
    title="A night at the table",
    verdict="failed",
    failure="the public events:\n  - round.outcome winner=banker    <- expected, did not come",
    began_us=1_000_000,
    ended_us=3_500_000,
    table={"game": "tiger", "method": "A"},
    marks=MARKS,
    public=(
        Compared(expected="round.opened", came="round.opened", event="t1/p3"),
        Compared(expected="round.outcome winner=banker", came=None),
        Compared(expected=None, came="round.outcome winner=tie", event="t1/p9"),
    ),
    restricted=(),
)


class Balance(HTMLParser):
    """Reads a page and holds every element to its end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.values: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.values += [value for _, value in attrs if value is not None]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(*reports: RunReport) -> tuple[str, Balance]:
    text = page(reports, now=NOW)
    found = Balance(text)
    assert found.open == []
    return text, found


def test_a_page_is_one_file_without_scripts_or_anything_from_elsewhere() -> None:
    text, found = read(REPORT)
    assert text.startswith("<!DOCTYPE html>")
    assert not {"script", "link", "img", "iframe", "object"} & set(found.seen)
    assert not [value for value in found.values if "//" in value]
    assert "url(" not in text and "@import" not in text
    assert "default-src 'none'" in text


def test_what_anyone_wrote_is_escaped_wherever_it_is_shown() -> None:
    nasty = replace(
        REPORT,
        name=NASTY,
        title=NASTY,
        failure=NASTY,
        table={"game": NASTY},
        marks=tuple(replace(mark, text=NASTY, detail=NASTY) for mark in MARKS),
        public=(Compared(expected=NASTY, came=None), Compared(expected=None, came=NASTY)),
    )
    text, found = read(nasty)
    assert "script" not in found.seen
    assert "<script" not in text
    assert "\x00" not in text
    text.encode()


def test_the_first_difference_is_marked_and_the_overview_leads_to_it() -> None:
    text, found = read(REPORT)
    assert found.values.count("#first-1") == found.values.count("first-1") == 1
    first = text[text.index('id="first-1"') :]
    assert first.index("round.outcome winner=banker") < first.index("did not come")
    assert len(re.findall(r'class="\w+ first"', text)) == 1


def test_the_picture_shows_each_lane_its_times_and_the_row_that_differs() -> None:
    text, found = read(REPORT)
    assert found.seen.count("svg") == 2  # before the first round, and the round
    for words in (
        "line: bytes",
        "shoe says",
        "hands and staff",
        "table: public events",
        "in the sink",
        "card_drawn 4D 1",
        "outcome +12 ms",
        "2 routine messages",
    ):
        assert words in text
    assert "0.700 s" in text  # the outcome, from the beginning on
    assert text.count('class="wrong"') == 1
    assert text.count('class="arrow"') == 3


def test_a_playing_that_never_began_has_its_line() -> None:
    text, _ = read(RunReport(name="x", title="", verdict="error", failure="x.toml: steps: missing"))
    assert "x.toml: steps: missing" in text
    assert "It was not played." in text
    assert "all came so" not in text


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (("passed",), "1 scenario, all as expected"),
        (("passed", "failed", "error"), "3 scenarios, 2 not as expected"),
    ],
)
def test_the_heading_sums_up(verdicts: tuple[Verdict, ...], words: str) -> None:
    reports = [replace(REPORT, verdict=verdict) for verdict in verdicts]
    assert f">{words}</h1>" in read(*reports)[0]


def test_a_long_playing_stays_a_page_that_a_browser_opens() -> None:
    round_ = MARKS[2:]
    marks = tuple(
        replace(mark, t_us=mark.t_us + n * 1_000_000, cause=None)
        for n in range(1500)
        for mark in round_
    )
    rows = tuple(Compared(expected="round.settled", came="round.settled") for _ in range(9000))
    text, found = read(replace(REPORT, marks=marks, public=rows))
    assert found.seen.count("svg") == 120
    assert "more rounds are in the data of the report" in text
    assert "6000 more are in the data of the report" in text
    assert len(text) < 4_000_000
