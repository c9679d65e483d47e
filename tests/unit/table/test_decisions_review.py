"""The table paused for review: nothing is armed or decided, and it goes on exactly where it was."""

from __future__ import annotations

import pytest

from firmware_proto.commands import Locked
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.event_check import OwnData
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import REVIEW_WATCHES, pause, resume, review_table, shown_status
from shoe_testing.tables import TableHarness


@pytest.mark.parametrize(
    ("codes", "state"),
    [("", "closed"), ("2D 3C TS", "dealing"), ("2D 3C TS TH", "revealing")],
)
def test_it_goes_on_exactly_where_it_was(codes: str, state: str) -> None:
    table = review_table(codes)
    before, desired = table.now, table.desired
    pause(table)
    assert table.now.state == "suspended"
    assert isinstance(table.desired, Locked)
    assert from_bytes(to_bytes(table.now)) == table.now
    resume(table)
    after = table.now
    assert after.state == before.state == state
    assert (after.round, after.shoe, after.halt, after.held) == (
        before.round,
        before.shoe,
        None,
        (),
    )
    assert table.desired == desired
    assert table.kinds[-4:] == ["review.opened", "table.halted", "review.closed", "table.resumed"]
    assert table.told("table.halted")[-1] == {"reason": "review"}
    assert "irregularity.raised" not in table.kinds


def test_it_may_be_paused_between_rounds_and_after_the_outcome() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    pause(table)
    resume(table)
    assert table.now.state == "idle"
    table.open_round()
    table.deal("7D 7C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    pause(table)
    assert not table.asks("settle").accepted
    resume(table)
    table.does("settle")


def test_a_card_seen_by_time_is_seen_once_the_review_is_over() -> None:
    table = review_table("2D 3C", way=1)
    pause(table)
    assert table.told("round.card_revealed") == []
    resume(table)
    table.tick()
    assert len(table.told("round.card_revealed")) >= 1


@pytest.mark.parametrize("position", [REVIEW_WATCHES, "pit_supervisor", "pit_manager"])
def test_surveillance_and_whoever_is_above_the_dealer_may(position: str) -> None:
    table = review_table()
    pause(table, position)
    resume(table, position)
    refused = table.asks("pause", position="dealer")
    assert refused.needs == {"position": "pit_supervisor"}


def test_surveillance_may_do_nothing_else_that_is_anothers() -> None:
    table = review_table()
    for command in ("expose", "declare", "settle"):
        assert "position" in table.asks(command, position=REVIEW_WATCHES).needs


def test_who_paused_and_why_is_not_public() -> None:
    table = review_table()
    pause(table)
    opened = next(e for e in table.events if e.type == "review.opened")
    assert OwnData(opened.data) == {}
    assert opened.restricted_data is not None
    assert (opened.restricted_data["position"], opened.restricted_data["why"]) == (
        REVIEW_WATCHES,
        "look at seat 3",
    )


def test_it_lies_on_top_of_what_is_open_and_leads_back_to_it() -> None:
    table = review_table()
    table.does("declare", key="other", reason="r")
    pause(table)
    refused = table.asks("decide", choice="play_on", reason="r")
    assert not refused.accepted
    resume(table)
    assert (table.key, table.told("irregularity.step")[-1]["key"]) == ("other", "other")
    table.rules("play_on")
    assert table.now.state == "dealing"


def test_what_comes_meanwhile_is_decided_first_and_leads_back_to_it() -> None:
    table = review_table()
    pause(table)
    table.does("declare", key="other", reason="r")
    refused = table.asks("resume")
    assert refused.error == "what came since is decided first"
    table.rules("play_on")
    assert (table.key, table.kinds[-1]) == ("review", "review.opened")
    resume(table)
    assert table.now.state == "dealing"


def test_a_void_meanwhile_ends_the_review_too() -> None:
    table = review_table()
    pause(table)
    table.does("declare", key="other", reason="r")
    table.rules("void")
    assert table.now.halt is None
    assert "review.closed" in table.kinds


def test_a_card_drawn_meanwhile_was_drawn_early() -> None:
    table = review_table("2D 3C TS TH")
    pause(table)
    table.draw("4C")
    assert table.key == "overdraw" or table.now.pending_irregularities
    assert table.now.shoe.drawn == 5


def test_it_does_not_go_on_without_its_shoe() -> None:
    table = review_table()
    pause(table)
    table.disconnect()
    refused = table.asks("resume")
    assert not refused.accepted
    table.connect()
    table.hello()
    if table.key == "link_lost":
        table.rules("play_on")
    resume(table)
    assert table.now.state == "dealing"


def test_it_is_paused_once_and_resumed_only_when_paused() -> None:
    table = review_table()
    assert table.asks("resume").needs == {"state": "suspended"}
    pause(table)
    again = table.asks("pause", position=REVIEW_WATCHES)
    assert again.error == "the table is paused for review already"
    resume(table)
    table.fails()
    assert table.asks("resume").error == "the table is halted for another reason: decide"


def test_the_status_shows_it_and_what_ends_it() -> None:
    table = review_table()
    assert "pause (pit supervisor)" in shown_status(table)
    pause(table)
    assert "review: the table is paused for review" in shown_status(table)
    assert "shoectl table resume" in shown_status(table)
    assert "pause (" not in shown_status(table)


def test_the_status_says_what_resume_waits_for_and_shows_no_command_that_is_refused() -> None:
    table = review_table()
    pause(table)
    table.disconnect()
    assert not table.asks("resume", position=REVIEW_WATCHES).accepted
    told = status(table.now, table.game, table.settings)["next"]
    assert told["command"] is None
    assert "resume is not possible yet: the link to the shoe is down" in english(told["message"])
    assert "if it stays so, declare other" in shown_status(table)
    table.connect()
    table.hello(resumed=True)
    assert "shoectl table resume" in shown_status(table)
    resume(table)
