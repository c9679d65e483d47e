"""Reports as data, and files that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulators.errors import PortFault, WrongUsage
from simulators.report.observations import Compared, Mark, RunReport, from_json, to_json, write

REPORT = RunReport(
    name="a_night",
    title="é <b>",
    verdict="failed",
    failure="it differs",
    began_us=1,
    ended_us=2_000_001,
    table={"game": "tiger"},
    marks=(
        Mark(t_us=1, lane="line", text="x", routine=True),
        Mark(t_us=2, lane="shoe", text="y", cause=0),
    ),
    public=(Compared(expected="a", came="a"), Compared(expected=None, came="b", event="t1/p2")),
    restricted=(Compared(expected="c", came=None),),
    left_out=3,
)


def test_a_report_is_read_back_as_it_was_written() -> None:
    assert from_json(to_json(REPORT), "r.json") == REPORT
    assert REPORT.seconds == 2.0
    assert REPORT.first_difference == Compared(expected=None, came="b", event="t1/p2")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', '{"version": 1}'])
def test_what_is_no_report_is_told_in_a_line(text: str) -> None:
    with pytest.raises(WrongUsage, match=r"^r\.json: "):
        from_json(text, "r.json")


def test_a_file_that_cannot_be_written_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(PortFault, match=r"x/report\.html: No such file or directory"):
        write(tmp_path / "x" / "report.html", "")
