"""Storage failed and works again: the table is told, stands still, and a person lets it go on."""

from __future__ import annotations

import pytest

from firmware_proto.commands import Locked
from shoe_ctl.table.inputs import StorageRestored, from_bytes, to_bytes
from shoe_ctl.texts.catalogue import text as english
from shoe_ctl.texts.message import message
from shoe_testing.event_check import OwnData
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import pause, resume, review_table, shown_status
from shoe_testing.tables import TableHarness, restarted

PIT = "pit_supervisor"
HALTED = ["outage.opened", "table.halted"]
RESUMED = ["outage.closed", "table.resumed"]


def works_again(table: TableHarness, what: str = "the disk is full") -> None:
    """As the daemon tells it: it goes on, and is told since when nothing was stored."""
    since_us = table.now.t_us
    table.restart(reopened=True)
    failed = message("daemon_journal_failed", detail=what)
    table.feed(StorageRestored(t_us=table.t_us, since_us=since_us, what=failed))


@pytest.mark.parametrize("codes", ["", "2D 3C TS", "2D 3C TS TH"])
def test_it_stands_still_until_a_person_resumes_it_and_goes_on_with_its_shoe(codes: str) -> None:
    table = review_table(codes)
    before, desired = table.now, table.desired
    works_again(table)
    assert table.now.state == "suspended"
    assert isinstance(table.desired, Locked)
    assert not table.asks("no_more_bets").accepted
    assert "shoectl table resume" in shown_status(table)
    resume(table, PIT)
    if table.key == "link_lost":  # cards were out: the shoe is asked what it drew meanwhile
        table.connect()
        table.hello()
    assert (table.now.state, table.now.round) == (before.state, before.round)
    assert table.desired == desired


CLOSED = "the storage failed and the controller closed the link in a round"


@pytest.mark.parametrize(
    ("reopened", "code", "why"),
    [
        (True, "storage_failed", CLOSED),
        (False, "controller_restarted", "the controller was restarted in a round"),
    ],
)
def test_what_cost_the_link_is_said_as_it_was(reopened: bool, code: str, why: str) -> None:
    table = review_table("2D 3C TS")
    table.restart(reopened=reopened)
    assert [lost["reason"] for lost in table.told("shoe.lost")] == [code]
    raised = table.told("irregularity.raised")[-1]
    assert (raised["key"], english(raised["seen"])) == ("link_lost", why)
    assert why in shown_status(table)


def test_of_a_controller_that_was_started_nothing_more_is_stored_than_of_any() -> None:
    plain = restarted(1, host_boot="b1")
    assert to_bytes(plain) == (
        b'{"input":"restarted","t_us":1,"host_boot":"b1","profile":"reference","software":"0.2.0"}'
    )
    again = restarted(1, host_boot="b1", reopened=True)
    assert from_bytes(to_bytes(again)) == again


def test_only_those_above_the_dealer_resume_it() -> None:
    table = review_table("")
    works_again(table)
    assert table.asks("resume", position="dealer").needs == {"position": PIT}
    assert not table.asks("decide", choice="play_on", reason="it works").accepted
    resume(table, PIT)
    assert table.now.state == "closed"


def test_the_room_hears_that_it_halted_and_the_restricted_stream_since_when_and_why() -> None:
    table = review_table("")
    works_again(table)
    resume(table, PIT)
    told = [e for e in table.events if e.type in (*HALTED, *RESUMED)][-4:]
    assert [e.type for e in told] == [*HALTED, *RESUMED]
    assert [OwnData(e.data) for e in told] == [{}, {"reason": "storage_fault"}, {}, {}]
    opened, _, closed, _ = (e.restricted_data or {} for e in told)
    failed = message("daemon_journal_failed", detail="the disk is full")
    assert opened["what"] == closed["what"] == failed.as_data()
    assert opened["from"] < opened["until"]
    assert (closed["from"], closed["until"]) == (opened["from"], opened["until"])
    assert closed["position"] == PIT


def test_when_it_fails_again_before_anyone_came_one_resume_is_enough() -> None:
    table = review_table("")
    works_again(table)
    works_again(table, "a sync failed")
    assert table.kinds.count("outage.opened") == 2
    assert table.kinds.count("table.halted") == 1
    resume(table, PIT)
    assert table.now.halt is None


def test_a_review_that_was_open_is_open_afterwards() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    pause(table)
    works_again(table)
    assert table.key == "storage_fault"
    resume(table, PIT)
    assert table.key == "review"
    resume(table)
    assert table.now.state == "idle"
