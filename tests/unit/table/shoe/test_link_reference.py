"""At a shoe that is armed and sends again: links, power, gaps, and cards that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.commands import Armed, Locked
from firmware_proto.events import CardDrawn, Error, Gap, Status
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import ROUNDS, TableHarness, balanced

STAND = ROUNDS["both stand"]


def shoe(way: int = 1, **given: Any) -> TableHarness:
    made = {**WAYS[way], "face_up_after_ms": 0, **given}
    table = TableHarness(**made)
    table.restart("b1")
    return table.open_shoe()


def halted(**given: Any) -> TableHarness:
    """In mid-round, its link lost and back."""
    table = shoe(**given)
    table.deal("2D 3C TS")
    table.disconnect()
    assert (table.key, table.desired) == ("link_lost", Locked())
    table.connect()
    return table


def test_the_same_shoe_that_replays_all_resumes_the_round_by_itself() -> None:
    table = halted()
    table.hello(drawn=4)
    assert (table.now.state, table.desired) == ("dealing", Armed(4, "banker", 2))
    table.draw("6H")
    assert len(table.told("round.outcome")) == 1
    assert table.kinds.count("table.halted") == table.kinds.count("table.resumed") == 1
    assert table.told("irregularity.resolved")[0]["rule"] is None


@pytest.mark.parametrize("state", ["dealing", "revealing", "drawing"])
def test_it_resumes_where_it_was(state: str) -> None:
    table = shoe(way=0)
    table.open_round()
    table.deal({"dealing": "2D", "revealing": "2D 3C TS TH", "drawing": "2D 3C TS TH"}[state])
    if state == "drawing":
        table.turn_over()
        table.does("announce_totals")
    desired = table.desired
    assert table.now.state == state
    table.disconnect()
    table.connect()
    table.hello()
    assert (table.now.state, table.desired) == (state, desired)


@pytest.mark.parametrize("more", [{"boot": 8}, {"device_id": "SH-0043"}])
def test_a_shoe_that_booted_or_another_one_is_a_power_failure(more: dict[str, object]) -> None:
    table = halted()
    table.hello(**more)  # type: ignore[arg-type]
    assert (table.now.state, table.key) == ("suspended", "power_failure")
    table.concludes()
    assert table.desired == Armed(4, "banker", 2)
    ended = [(d["key"], d["rule"]) for d in table.told("irregularity.resolved")]
    assert ended == [("power_failure", "5.17.1"), ("link_lost", "5.17.1")]


def test_a_boot_without_a_lost_link_is_a_power_failure_too() -> None:
    table = shoe()
    table.deal("2D")
    table.hello(boot=8)
    assert table.key == "power_failure"


def test_a_boot_between_rounds_is_nothing() -> None:
    table = shoe()
    table.play(STAND)
    table.hello(boot=8)
    assert (table.now.state, table.key) == ("idle", None)


def test_another_set_halts_until_the_own_one_is_back_or_the_round_is_void() -> None:
    table = halted()
    table.hello(set_id="set-2", drawn=0)
    assert table.key == "other"
    assert not table.asks("decide", choice="play_on", reason="r").accepted
    table.hello(set_id="set-1", drawn=3)
    table.rules("play_on")
    assert table.key == "link_lost"
    table.rules("play_on")
    assert table.desired == Armed(4, "banker", 2)


def test_after_the_void_the_other_set_is_the_tables() -> None:
    table = halted()
    table.hello(set_id="set-2", drawn=0)
    table.says(Status(drawn=2, unacknowledged=0))
    table.rules("void")
    assert table.now.shoe is not None
    assert (table.now.shoe.set_id, table.now.shoe.unknown) == ("set-2", 2)
    assert table.desired == Armed(3, "player", 1)


def test_a_shoe_that_does_not_replay_leaves_it_to_a_person() -> None:
    table = halted()
    table.hello(resumed=False)
    assert table.key == "link_lost"
    table.rules("play_on")
    assert table.now.state == "dealing"


def test_cards_that_were_drawn_unheard_of_are_a_gap_and_the_next_draw_has_its_number() -> None:
    table = halted()
    table.hello(resumed=False, drawn=5)
    assert table.key == "gap"
    refused = table.asks("decide", choice="play_on", reason="r")
    assert refused.error == "the shoe counts cards that it did not report"
    table.rules("void")
    assert table.desired == Armed(6, "player", 1)
    assert balanced(table.now)


def test_a_gap_between_rounds_halts_and_the_table_goes_on_with_the_shoes_own_count() -> None:
    table = shoe()
    table.play(STAND)
    table.says(Gap(first=7, last=9))
    assert table.key == "gap"
    assert (
        english(table.told("irregularity.raised")[-1]["seen"])
        == "the shoe's events 7 to 9 are lost"
    )
    table.says(Status(drawn=6, unacknowledged=0))
    table.rules("play_on")
    assert table.desired == Armed(7, "player", 1)
    assert table.now.shoe is not None
    assert table.now.shoe.unknown == 2


def test_a_number_that_is_not_the_next_is_a_gap_and_those_passed_over_are_unseen() -> None:
    table = shoe()
    table.deal("2D")
    table.says(CardDrawn(card=card("3C"), number=4, armed=True))
    assert table.key == "gap"
    assert table.now.shoe is not None
    assert (table.now.shoe.drawn, table.now.shoe.unknown) == (4, 2)
    table.rules("void")
    assert table.desired == Armed(5, "player", 1)
    table.play(STAND)


def test_a_number_that_was_drawn_already_is_not_counted_twice() -> None:
    table = shoe()
    table.deal("2D 3C")
    table.says(CardDrawn(card=card("3C"), number=2, armed=True))
    assert table.key == "gap"
    assert (table.now.shoe.drawn, table.now.shoe.unknown) == (2, 0)
    assert table.now.shoe.counts == {"2D": 1, "3C": 1}


@pytest.mark.parametrize("state", ["idle", "betting", "resolved"])
def test_a_card_drawn_where_none_is_due_waits_for_a_ruling(state: str) -> None:
    table = shoe(way=0)
    if state != "idle":
        table.does("place_your_bets")
    if state == "resolved":
        table.does("no_more_bets")
        table.deal(STAND)
        table.turn_over()
        table.does("announce_totals")
        table.does("announce_outcome")
    assert table.now.state == state
    before = table.now.round
    table.draw("4C")
    assert table.key == "overdraw"
    assert table.now.round == before
    table.draw("5C")
    table.rules("set_aside")
    assert (table.now.state, table.now.round) == (state, before)
    resolved = next(e for e in reversed(table.events) if e.type == "irregularity.resolved")
    assert resolved.restricted_data is not None
    assert resolved.restricted_data["cards_kept"] == 1


def test_a_restart_of_the_controller_alone_resumes_by_itself() -> None:
    table = shoe()
    table.deal("2D 3C TS")
    table.restart("b1")
    assert (table.key, table.now.link.up) == ("link_lost", False)
    table.connect()
    table.hello()
    assert table.now.state == "dealing"


@pytest.mark.parametrize("lost_first", [False, True])
def test_a_host_that_lost_power_in_a_round_is_a_power_failure(lost_first: bool) -> None:
    table = shoe()
    table.deal("2D 3C TS")
    if lost_first:
        table.disconnect()
    table.restart("b2")
    assert table.key == "power_failure"
    table.connect()
    table.hello()
    assert table.now.state == "suspended"
    table.concludes()
    assert table.now.state == "dealing"


def test_between_rounds_neither_link_nor_restart_halts() -> None:
    table = shoe()
    table.play(STAND)
    table.disconnect()
    table.restart("b2")
    table.connect()
    table.hello()
    assert (table.now.state, table.key) == ("idle", None)
    table.play(STAND)


@pytest.mark.parametrize(("code", "key"), [("9C", "extra_card"), ("4f", "foreign_card")])
@pytest.mark.parametrize("dealt", ["", "9C", "9C 2D KD"])
def test_a_card_that_cannot_be_the_shoes_halts(code: str, key: str, dealt: str) -> None:
    table = TableHarness(decks=1, **{**WAYS[1], "face_up_after_ms": 0})
    table.connect()
    table.hello(resumed=False, decks=1)
    table.load(decks=1)
    if code == "9C" and not dealt:
        table.play("9C 2D KD 3H")
    table.deal(dealt)
    before = table.now.round
    table.draw(code)
    assert (table.key, table.now.round) == (key, before)
    assert balanced(table.now)


def test_a_foreign_card_drawn_while_halted_is_an_inspection_of_its_own() -> None:
    table = shoe()
    table.deal("2D")
    table.disconnect()
    table.draw("4f")
    assert table.now.halt is not None
    assert (*table.now.halt.earlier, table.key) == ("link_lost", "foreign_card")
    assert table.told("irregularity.raised")[-1]["key"] == "link_lost"


def test_a_shoes_fault_in_a_round_halts_and_between_rounds_is_told() -> None:
    table = shoe()
    table.says(Error(code="jam"))
    assert table.now.state != "suspended"
    table.deal("2D")
    table.says(Error(code="jam"))
    assert table.key == "other"
    assert table.told("shoe.fault") == [{}, {}]


def test_cards_without_a_shoe_are_kept_and_asked_about() -> None:
    table = TableHarness(**WAYS[1])
    table.connect()
    table.draw("9C")
    table.draw("8C")
    assert (table.key, len(table.now.held)) == ("other", 2)
    table.load("set-1")
    table.rules("set_aside")
    assert table.now.state == "idle"
