"""A line that brings more garbage than is kept, as the table tells it."""

from __future__ import annotations

from typing import Any

from shoe_ctl.records import Audience
from shoe_ctl.table.inputs import LineResumed, LineSuspended
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.tables import TableHarness


def shown(table: TableHarness) -> dict[str, Any]:
    return status(table.now, table.game, table.settings)


def suspend(table: TableHarness, wait_s: int = 5, unkept: int = 0, *, again: bool = False) -> None:
    table.feed(
        LineSuspended(t_us=table.t_us, connection=1, wait_s=wait_s, unkept=unkept, again=again)
    )
    if not again:
        table.disconnect()


def test_a_suspended_line_is_told_to_everyone_and_then_the_loss() -> None:
    table = TableHarness(angel_eye=True)
    table.connect()
    suspend(table)
    assert table.kinds[-2:] == ["shoe.line_suspended", "shoe.lost"]
    assert table.told("shoe.line_suspended") == [{"reason": "garbage", "wait_s": 5}]
    assert (shown(table)["link"], shown(table)["link_reason"]) == ("suspended", "garbage")
    assert "the line is suspended until" in english(shown(table)["next"]["message"])


def test_that_it_is_as_noisy_as_before_is_told_to_staff_alone() -> None:
    table = TableHarness(angel_eye=True)
    table.connect()
    suspend(table)
    suspend(table, wait_s=10, unkept=60_000, again=True)
    again = {"reason": "garbage", "wait_s": 10, "unkept": 60_000}
    assert table.told("shoe.line_suspended", Audience.RESTRICTED) == [again]
    assert table.kinds.count("shoe.line_suspended") == 1


def test_a_line_that_is_quiet_again_is_told_with_what_was_not_kept() -> None:
    table = TableHarness(angel_eye=True)
    table.connect()
    suspend(table)
    table.feed(LineResumed(t_us=table.t_us, unkept=61_000))
    [event] = [e for e in table.events if e.type == "shoe.line_resumed"]
    assert (event.data, event.restricted_data) == ({}, {"unkept": 61_000})
    assert (shown(table)["link"], shown(table)["link_reason"]) == ("lost", None)
    table.connect()
    assert shown(table)["link"] == "up"


def test_a_restart_forgets_the_suspension() -> None:
    table = TableHarness(angel_eye=True)
    table.connect()
    suspend(table)
    table.restart()
    assert shown(table)["link"] == "lost"


def test_a_round_halts_as_it_does_for_any_lost_link() -> None:
    table = TableHarness(angel_eye=True).open_shoe()
    table.open_round()
    table.deal("2D 3C")
    suspend(table)
    assert (table.now.state, table.key) == ("suspended", "link_lost")


def test_a_shoe_that_does_not_say_who_it_is_shows_in_the_status_in_time() -> None:
    table = TableHarness()
    table.connect()
    later = table.now.t_us + 7_000_000
    stands = status(table.now, table.game, table.settings, later)
    assert (stands["link"], stands["link_reason"]) == ("unidentified", "no_hello")
    todo = english(stands["next"]["message"])
    assert "no shoe has said who it is for 7 s: check the cable" in todo
    # The doctor shows this text while a daemon has the port: it must not lead back to the doctor.
    assert "profile, port and baud in [table.shoe]" in todo
    assert todo.endswith("then stop the daemon and run shoectl doctor")
