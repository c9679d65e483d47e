"""The timeline of a round as a picture: time runs down, five lanes, arrows from cause to effect.

In: marks. Out: SVG elements. Must not know: the page around it, where the marks are from.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from simulators.report.observations import LANES, Mark

MOST_ROWS = 400
"""Of one picture: a long round with much that went wrong."""

_WIDTHS = {"line": 168, "shoe": 178, "acts": 270, "table": 296, "sink": 122}
_TITLES = {
    "line": "line: bytes",
    "shoe": "shoe says",
    "acts": "hands and staff",
    "table": "table: public events",
    "sink": "in the sink",
}
_TIME_WIDTH = 92
_ROW = 19
_HEAD = 30
_CHAR = 6.63
_GAP_US = 400_000
"""A pause so long is shown as one."""

WIDTH = _TIME_WIDTH + sum(_WIDTHS.values())


@dataclass(slots=True)
class _Row:
    t_us: int
    marks: dict[str, tuple[int, Mark]] = field(default_factory=dict)
    state: str = ""
    pause_us: int = 0


def picture(marks: Sequence[tuple[int, Mark]], *, began_us: int, label: str) -> ET.Element:
    """Return the picture of these marks, each with its number among all of the playing.

    Times are shown from ``began_us`` on. ``label`` says what it shows.
    """
    rows = list(_rows(marks))
    left_out = max(0, len(rows) - MOST_ROWS)
    rows = rows[:MOST_ROWS]
    height = _HEAD + _ROW * (len(rows) + (1 if left_out else 0)) + 8
    svg = ET.Element(
        "svg",
        {
            "viewBox": f"0 0 {WIDTH} {height}",
            "width": str(WIDTH),
            "height": str(height),
            "role": "img",
            "class": "timeline",
        },
    )
    ET.SubElement(svg, "title").text = label
    _add_lanes(svg, height)
    at = {number: row for row, held in enumerate(rows) for number, _ in held.marks.values()}
    for number, row in enumerate(rows):
        _add_row(svg, number, row, began_us)
    for number, row in enumerate(rows):
        for _, mark in row.marks.values():
            if mark.cause in at:
                _add_arrow(svg, number, mark, rows[at[mark.cause]], at[mark.cause], mark.cause)
    if left_out:
        text = f"{left_out} more moments are in the list of all that was observed"
        _text(svg, _TIME_WIDTH, _y(len(rows)) + 4, text, "pause")
    return svg


def _rows(marks: Sequence[tuple[int, Mark]]) -> Iterator[_Row]:
    """Yield moments: a mark stands beside its cause where that is the moment before."""
    row: _Row | None = None
    state = ""
    for number, mark in _folded(marks):
        state = _state(mark, state)
        joins = row is not None and mark.lane not in row.marks and not mark.routine
        if joins and row is not None and mark.cause in {n for n, _ in row.marks.values()}:
            row.marks[mark.lane] = number, mark
            row.state = state
            continue
        if row is not None:
            yield row
        pause_us = 0 if row is None else mark.t_us - row.t_us
        row = _Row(mark.t_us, {mark.lane: (number, mark)}, state, pause_us)
    if row is not None:
        yield row


def _folded(marks: Sequence[tuple[int, Mark]]) -> Iterator[tuple[int, Mark]]:
    """Yield the marks, with routine messages that follow one another made one."""
    run: list[tuple[int, Mark]] = []
    for number, mark in marks:
        if mark.routine:
            run.append((number, mark))
            continue
        yield from _as_one(run)
        run = []
        yield number, mark
    yield from _as_one(run)


def _as_one(run: Sequence[tuple[int, Mark]]) -> Iterator[tuple[int, Mark]]:
    if len(run) < 2:
        yield from run
        return
    number, first = run[0]
    detail = "\n".join(mark.detail for _, mark in run[:20])
    text = f"{len(run)} routine messages"
    yield number, Mark(t_us=first.t_us, lane="line", text=text, detail=detail, routine=True)


_STATES = {
    "round.opened": "bets",
    "round.bets_closed": "cards",
    "round.outcome": "outcome",
    "round.settled": "",
    "round.void": "",
    "table.halted": "halted",
}


def _state(mark: Mark, state: str) -> str:
    if mark.kind == "table.resumed":
        return "cards" if state == "halted" else state
    return _STATES.get(mark.kind, state)


def _left(lane: str) -> float:
    return _TIME_WIDTH + sum(_WIDTHS[before] for before in LANES[: LANES.index(lane)])


def _y(row: int) -> float:
    return _HEAD + _ROW * row + _ROW / 2


def _add_lanes(svg: ET.Element, height: float) -> None:
    for number, lane in enumerate(LANES):
        ET.SubElement(
            svg,
            "rect",
            {
                "x": f"{_left(lane):g}",
                "y": "0",
                "width": str(_WIDTHS[lane]),
                "height": f"{height:g}",
                "class": "lane odd" if number % 2 else "lane",
            },
        )
        _text(svg, _left(lane) + 16, 19, _TITLES[lane], "head")


def _add_row(svg: ET.Element, number: int, row: _Row, began_us: int) -> None:
    y = _y(number)
    if any(mark.wrong for _, mark in row.marks.values()):
        box = {"x": "1", "y": f"{y - _ROW / 2:g}", "width": str(WIDTH - 2), "height": str(_ROW)}
        ET.SubElement(svg, "rect", {**box, "class": "wrong"})
    if row.pause_us > _GAP_US:
        rule = {"x1": "0", "x2": str(WIDTH), "y1": f"{y - _ROW / 2:g}", "y2": f"{y - _ROW / 2:g}"}
        ET.SubElement(svg, "line", {**rule, "class": "pause"})
    _text(svg, 6, y + 4, _after(row.t_us - began_us), "time")
    if row.state:
        x = _left("table")
        band = {"x": f"{x:g}", "y": f"{y - _ROW / 2:g}", "width": "5", "height": str(_ROW)}
        rect = ET.SubElement(svg, "rect", {**band, "class": f"state {row.state}"})
        ET.SubElement(rect, "title").text = row.state
    for lane, (_, mark) in row.marks.items():
        _add_mark(svg, lane, mark, y)


def _add_mark(svg: ET.Element, lane: str, mark: Mark, y: float) -> None:
    kind = f"mark {lane}{' routine' if mark.routine else ''}"
    group = ET.SubElement(svg, "g", {"class": kind})
    ET.SubElement(group, "title").text = f"{mark.text}\n{mark.detail}".strip()
    x = _left(lane) + 11
    ET.SubElement(group, "circle", {"cx": f"{x:g}", "cy": f"{y:g}", "r": "3.4"})
    room = int((_WIDTHS[lane] - 24) / _CHAR)
    text = mark.text if len(mark.text) <= room else f"{mark.text[: room - 1]}…"
    _text(group, x + 7, y + 4, text, "what")


def _add_arrow(  # noqa: PLR0913 - both ends
    svg: ET.Element, row: int, mark: Mark, cause_row: _Row, from_row: int, cause: int
) -> None:
    """Draw from the cause to its effect, where that is in another lane and on the same page."""
    lane = next(lane for lane, (number, _) in cause_row.marks.items() if number == cause)
    if lane == mark.lane:
        return
    x1, x2 = _left(lane) + 11, _left(mark.lane) + 11
    y1, y2 = _y(from_row), _y(row)
    if from_row == row:  # under the words of the lanes between
        y = y1 + 7.5
        path = f"M{x1:g} {y1 + 3:g} V{y:g} H{x2:g} V{y2 + 4:g}"
    else:
        bend = _left(mark.lane) - 3
        path = f"M{x1:g} {y1 + 3:g} V{y1 + 7.5:g} H{bend:g} V{y2:g} H{x2 - 4:g}"
    ET.SubElement(svg, "path", {"d": path, "class": "arrow"})


def _after(t_us: int) -> str:
    seconds = t_us / 1_000_000
    if seconds >= 60:
        return f"{int(seconds) // 60}:{seconds % 60:06.3f}"
    return f"{seconds:.3f} s"


def _text(parent: ET.Element, x: float, y: float, text: str, kind: str) -> None:
    ET.SubElement(parent, "text", {"x": f"{x:g}", "y": f"{y:g}", "class": kind}).text = text
