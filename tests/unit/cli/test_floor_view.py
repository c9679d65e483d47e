"""How a floor reads its tables from their events, and what it shows of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shoe_ctl.cli.floor_view import Floor, Lines, Row, plain_line, time_us
from shoe_ctl.texts.screen import Words

START = "2026-11-22T18:00:{:02}.000000Z"
NOW_US = time_us(START.format(59))


class Table:
    """Tells the floor of one table, a second later each time."""

    def __init__(self, floor: Floor, name: str = "bac-07", journal: str = "00000000") -> None:
        self._floor = floor
        self._name = name
        self.source = f"/journal/{journal}/table/{name}"
        self.number = 0

    def tells(self, kind: str, *, number: int | None = None, **data: Any) -> None:
        self.number = self.number + 1 if number is None else number
        told = {
            "id": f"{self._name}/p{self.number}",
            "source": self.source,
            "type": kind,
            "time": START.format(self.number),
            "data": data,
        }
        assert self._floor.apply(json.dumps(told).encode()) == self._name

    def row(self, now_us: int = NOW_US) -> Row:
        return self._floor.tables[self._name].row(now_us)


def test_the_state_follows_the_round() -> None:
    table = Table(Floor())
    table.tells("shoe.connected")
    assert (table.row().state, table.row().link) == ("unknown", "up")
    table.tells("shoe.loaded", shoe_id="s1")
    assert table.row().state == "idle"
    expected = {
        "round.opened": "betting",
        "round.bets_closed": "closed",
        "round.card_dealt": "dealing",
        "round.outcome": "resolved",
        "round.settled": "idle",
    }
    for kind, state in expected.items():
        table.tells(kind, round_id="s1-r1", winner="banker")
        assert (table.row().state, table.row().round_id) == (state, "s1-r1")
    assert table.row().winner == "banker"
    table.tells("round.opened", round_id="s1-r2")
    assert table.row().winner is None
    table.tells("round.void", round_id="s1-r2")
    assert (table.row().state, table.row().winner) == ("idle", "void")
    table.tells("shoe.lost")
    assert table.row().link == "lost"


def test_a_halt_stands_until_the_table_resumes_and_is_counted_for_an_hour() -> None:
    table = Table(Floor())
    reason = {"code": "halt_declared", "args": {}}
    table.tells("table.halted", reason="inspection")
    assert table.row().halted == "inspection"
    assert table.row().halted_since == START.format(1)
    table.tells("irregularity.step", key="x", reason=reason)
    assert table.row().halted == "inspection"
    table.tells("table.resumed")
    assert (table.row().halted, table.row().halts) == (None, 1)
    assert table.row(NOW_US + 3_600_000_000).halts == 0


def test_rounds_are_counted_for_an_hour() -> None:
    table = Table(Floor())
    for n in range(3):
        table.tells("round.outcome", round_id=f"r{n}", winner="tie")
    assert table.row().rounds_per_hour == 3
    an_hour_us = 3_600_000_000
    assert table.row(time_us(START.format(2)) + an_hour_us).rounds_per_hour == 1


def test_what_comes_twice_changes_nothing_and_what_is_missing_is_shown_until_it_comes() -> None:
    table = Table(Floor())
    table.tells("round.opened", round_id="r1")
    table.tells("round.settled", round_id="r1", number=4)
    assert (table.row().state, table.row().missing) == ("idle", 2)
    table.tells("round.opened", round_id="r1", number=1)
    assert (table.row().state, table.row().missing) == ("idle", 2)
    table.tells("round.outcome", round_id="r1", number=3)
    assert (table.row().state, table.row().missing) == ("idle", 1)
    assert table.row().rounds_per_hour == 1
    table.tells("round.outcome", round_id="r1", number=3)
    assert table.row().rounds_per_hour == 1
    anew = Table(Floor())
    table.source = anew.source.replace("00000000", "0badcafe")
    table.tells("round.opened", round_id="r9", number=1)
    assert (table.row().state, table.row().missing) == ("betting", 0)


def test_what_is_no_event_is_passed_over() -> None:
    floor = Floor()
    for body in (
        b"",
        b"no event",
        b"{}",
        b'{"id":"x","source":"y","type":"z","time":"","data":{}}',
    ):
        assert floor.apply(body) is None
    assert floor.rows(NOW_US) == []


def test_a_pipe_gets_a_line_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    floor = Floor()
    one, other = Table(floor), Table(floor, "bac-08")
    lines = Lines(lambda: NOW_US, as_json=False)
    one.tells("round.opened", round_id="s1-r1")
    other.tells("table.halted", reason="inspection")
    lines.show(floor)
    lines.show(floor)
    one.tells("round.total_announced")  # stands as before
    lines.show(floor)
    one.tells("round.bets_closed", round_id="s1-r1")
    lines.show(floor)
    lines.lost("nats://x:4222: connection lost")
    lines.back()
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "2026-11-22T18:00:01  bac-07        betting      s1-r1             -       0 rounds/h",
        "2026-11-22T18:00:01  bac-08        HALTED       -                 -       "
        "since 18:00:01: inspection",
        "2026-11-22T18:00:03  bac-07        closed       s1-r1             -       0 rounds/h",
    ]
    assert said.err.splitlines() == [
        "stream lost: nats://x:4222: connection lost",
        "stream is back",
    ]
    as_json = Lines(lambda: NOW_US, as_json=True)
    as_json.show(floor)
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["table"] == "bac-07" and first["state"] == "closed" and first["halted"] is None


def test_lines_are_in_the_language_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    floor = Floor()
    table = Table(floor)
    lines = Lines(lambda: NOW_US, Words("zh"), as_json=False)
    table.tells("round.opened", round_id="s1-r1")
    lines.show(floor)
    table.tells("round.outcome", winner="banker")
    lines.show(floor)
    table.tells("table.halted", reason="link_lost")
    lines.show(floor)
    lines.lost("nats://x:4222")
    said = capsys.readouterr()
    shown = [" ".join(line.split()[2:]) for line in said.out.splitlines()]
    assert shown == [
        "投注中 s1-r1 - 每小时 0 局",
        "已有结果 s1-r1 庄家赢 每小时 1 局",
        "已中止 s1-r1 庄家赢 自 18:00:03 起：连接中断",
    ]
    assert said.err == "事件流中断：nats://x:4222\n"


def test_no_control_character_of_an_event_reaches_the_terminal() -> None:
    table = Table(Floor())
    table.tells("table.halted", reason="\x1b[2J")
    assert "\x1b" not in plain_line(table.row(), Words())
