"""A shoe that is received and does not hear, as the table tells it."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.table.inputs import HearingLost, HearingRestored
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text
from shoe_ctl.texts.message import Message
from shoe_testing.tables import TableHarness


def shown(table: TableHarness) -> dict[str, Any]:
    return status(table.now, table.game, table.settings)


def lose_hearing(table: TableHarness) -> None:
    table.feed(HearingLost(t_us=table.t_us, connection=1))


def restore_hearing(table: TableHarness) -> None:
    table.feed(HearingRestored(t_us=table.t_us, connection=1))


def stands(table: TableHarness) -> tuple[str, str | None]:
    return shown(table)["link"], shown(table)["link_reason"]


def test_it_is_told_to_everyone_and_shows_until_it_hears() -> None:
    table = TableHarness().open_shoe()
    lose_hearing(table)
    assert stands(table) == ("up", "does_not_hear")
    assert table.told("shoe.hearing_lost") == [{}]
    restore_hearing(table)
    assert stands(table) == ("up", None)
    assert table.told("shoe.hearing_restored") == [{}]


@pytest.mark.parametrize(
    ("language", "words"), [("en", "the shoe sends but does not hear"), ("zh", "但收不到")]
)
def test_what_is_next_says_what_to_check(language: str, words: str) -> None:
    table = TableHarness().open_shoe()
    lose_hearing(table)
    said = Message(**shown(table)["next"]["message"])
    assert words in text(said, language)


def test_a_round_goes_on_where_it_stood() -> None:
    table = TableHarness().open_shoe()
    table.open_round()
    table.deal("2D 3C")
    desired = table.desired
    lose_hearing(table)
    assert (table.now.state, table.now.halt, table.desired) == ("dealing", None, desired)
    restore_hearing(table)
    table.deal("4D 5C")
    assert table.now.state == "revealing"


def test_the_same_news_twice_is_told_once() -> None:
    table = TableHarness().open_shoe()
    restore_hearing(table)
    lose_hearing(table)
    lose_hearing(table)
    assert table.kinds.count("shoe.hearing_lost") == 1
    assert table.kinds.count("shoe.hearing_restored") == 0


def test_a_lost_link_and_a_restart_forget_it() -> None:
    for forget in (TableHarness.disconnect, TableHarness.restart):
        table = TableHarness().open_shoe()
        lose_hearing(table)
        forget(table)
        assert stands(table) == ("lost", None)
        table.connect()
        table.hello()
        assert stands(table) == ("up", None)


def test_a_shoe_that_has_not_said_who_it_is_may_not_hear_that_it_was_asked() -> None:
    table = TableHarness()
    table.connect()
    lose_hearing(table)
    assert stands(table) == ("unidentified", "does_not_hear")
