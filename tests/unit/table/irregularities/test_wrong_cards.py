"""The cards of the shoe: foreign, extra, unshuffled, missing; between rounds nothing is void."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn
from shoe_ctl.games import catalog
from shoe_ctl.records import Audience
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import TableHarness, balanced

STAFFED = [name for name in catalog.shipped() if catalog.load(name).options.staffed]


def between(decks: int = 8, **more: Any) -> TableHarness:
    table = TableHarness(decks=decks, **WAYS[0], **more)
    table.connect()
    table.hello(resumed=False, decks=decks)
    table.load(decks=decks)
    return table


def ended(table: TableHarness, kind: str = "irregularity.resolved") -> list[tuple[str, str]]:
    every = [e.restricted_data or e.data for e in table.events if e.type == kind]
    return [(d["how"], d["rule"]) for d in every]


@pytest.mark.parametrize("code", ["4f", "9C"], ids=["foreign", "extra"])
def test_a_strange_card_burned_between_rounds_voids_nothing_and_is_laid_aside(code: str) -> None:
    table = between(decks=1)
    for burned in ("9C", code):
        table.says(CardDrawn(card=card(burned), hand="burn", index=1))
    assert table.key == {"4f": "foreign_card", "9C": "extra_card"}[code]
    table.rules("earlier_stand")
    assert ended(table) == [("earlier_stand", "5.1.2")]
    assert (table.now.state, table.now.held) == ("idle", ())
    assert table.told("round.void") == []
    assert balanced(table.now)


@pytest.mark.parametrize("game", STAFFED)
def test_unshuffled_cards_between_rounds_void_nothing_and_are_changed(game: str) -> None:
    table = between(name=game)
    table.does("declare", key="unshuffled", reason="a run of spades")
    table.rules("earlier_stand")
    assert ended(table) == [("earlier_stand", "5.1.2")]
    assert (table.now.state, table.kinds[-2]) == ("shoe_change", "shoe.change_due")


@pytest.mark.parametrize("game", STAFFED)
@pytest.mark.parametrize("key", ["unshuffled", "missing_card_in_shoe"])
def test_in_a_round_earlier_rounds_stand_with_the_void(game: str, key: str) -> None:
    table = between(name=game)
    table.open_round()
    table.does("declare", key=key, reason="counted")
    assert not table.asks("decide", choice="earlier_stand", reason="r").accepted
    table.rules("void")
    assert ended(table)[-1] == ("void", "5.1")


# What is left at the shoe's end, counted by a person.


def counts(table: TableHarness, **what: Any) -> dict[str, Any]:
    """What the restricted stream was told of the count."""
    table.does("count_remainder", position="pit_supervisor", **what)
    told = next(e for e in reversed(table.events) if e.type == "shoe.counted")
    assert told.restricted_data is not None
    assert set(told.data) == {"shoe_id", "left", "agrees"}
    return told.restricted_data


def at_its_end(decks: int = 1) -> tuple[TableHarness, list[str]]:
    """A round was dealt, no further one is; the cards that are left."""
    table = between(decks=decks)
    table.play("7D 7C TS TH")
    table.does("change_shoe")
    left = Counter({c.code: decks for c in table.game.deck.cards})
    left.subtract(["7D", "7C", "TS", "TH"])
    return table, list(left.elements())


@pytest.mark.parametrize("state", ["idle", "shoe_change"])
def test_a_remainder_that_agrees_changes_nothing(state: str) -> None:
    table, left = at_its_end()
    if state == "idle":
        table = between(decks=1)
        table.play("7D 7C TS TH")
    assert counts(table, left=48)["agrees"] is True
    assert counts(table, cards=" ".join(left))["agrees"] is True
    assert (table.now.state, table.now.halt) == (state, None)


@pytest.mark.parametrize("listed", [False, True], ids=["counted", "listed"])
def test_a_card_missing_at_the_shoes_end_voids_nothing_and_is_told(listed: bool) -> None:
    table, left = at_its_end()
    left.remove("KS")
    what: dict[str, Any] = {"cards": " ".join(left)} if listed else {"left": 47}
    told = counts(table, **what)
    assert (told["expected"], told["too_few"]) == (48, 1)
    assert told["missing"] == ({"KS": 1} if listed else {})
    assert table.key == "missing_card_in_shoe"
    assert "KS" not in repr([e.data for e in table.public])
    refused = table.asks("decide", choice="earlier_stand", reason="r", position="pit_manager")
    assert refused.needs == {"position": "gaming_shift_manager"}
    table.rules("earlier_stand")
    assert ended(table) == [("earlier_stand", "5.1.2")]
    assert (table.now.state, table.told("round.void")) == ("shoe_change", [])


def test_a_card_too_many_or_foreign_at_the_end_is_an_inspection_and_no_more() -> None:
    table, left = at_its_end()
    told = counts(table, cards=" ".join([*left[1:], "TS", "4f"]))
    assert (told["extra"], told["foreign"], told["missing"]) == (
        {"TS": 1},
        {"4f": 1},
        {left[0]: 1},
    )
    assert table.key == "missing_card_in_shoe"
    assert table.now.halt.earlier == ("foreign_card", "extra_card")
    for _ in range(3):
        table.rules("earlier_stand")
    assert table.now.state == "shoe_change"
    raised = [d["key"] for d in table.told("irregularity.raised")]
    assert raised == ["missing_card_in_shoe"]


def test_cards_nobody_knew_may_be_the_missing_ones_and_only_their_number_counts() -> None:
    table, left = at_its_end()
    table.says(CardDrawn(card=None, hand="burn", index=1))
    left.remove("KS")
    assert counts(table, cards=" ".join(left))["agrees"] is True


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({}, "say how many cards are left, or which: one of the two"),
        ({"left": 3, "cards": "7D"}, "say how many cards are left, or which: one of the two"),
        ({"cards": "7D 1X"}, "there is no card 1X"),
        ({"left": -1}, "left: expected a whole number >= 0"),
    ],
)
def test_a_count_says_how_many_or_which(asked: dict[str, Any], why: str) -> None:
    answer = between().asks("count_remainder", **asked)
    assert answer.error == f"{why}"


# How the set was put in.

OPENING: dict[str, Any] = {"shuffle": "machine 3", "cut": "seat 4", "burn": 8, "same_backs": True}


def test_the_opening_record_holds_set_decks_shuffle_cut_burn_and_like_backs() -> None:
    table = between()
    table.does("record_shoe", position="dealer", set="set-1177", decks=8, **OPENING)
    told = table.told("shoe.opened")[0]
    assert told == {
        "shoe_id": "bac-07-s1", "set_id": "set-1177", "decks": 8, "rule": "2.1", **OPENING,
    }  # fmt: skip
    again = table.asks("record_shoe", **OPENING)
    assert again.error == "how these cards were put in is recorded already"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"same_backs": False},
         "cards with unlike backs are not played: load another set (2.1)"),
        ({"decks": 6}, "the table counts 8 decks: load another set (2.1)"),
    ],
)  # fmt: skip
def test_what_may_not_be_played_is_not_recorded(asked: dict[str, Any], why: str) -> None:
    answer = between().asks("record_shoe", **{**OPENING, **asked})
    assert answer.error == f"{why}"


def test_replaced_cards_are_a_new_shoe_that_names_the_one_before() -> None:
    table, _ = at_its_end(decks=8)
    table.does("count_remainder", left=412)
    table.load("set-2")
    first, second = table.told("shoe.loaded")
    assert (first["shoe_id"], first["replaces"]) == ("bac-07-s1", None)
    assert (second["shoe_id"], second["replaces"]) == ("bac-07-s2", "bac-07-s1")
    assert table.now.shoe.counts == {}
    table.does("record_shoe", **OPENING)


# A run in factory order.


def alarms(table: TableHarness) -> list[dict[str, Any]]:
    return table.told("shoe.alarm", Audience.RESTRICTED)


@pytest.mark.parametrize("codes", ["3S 4S 5S 6S 7S", "5D 4D 3D 2D AD"])
def test_a_run_in_factory_order_raises_an_alarm_and_no_halt(codes: str) -> None:
    table = between()
    table.open_round()
    for code in codes.split()[:4]:
        table.draw(code)
    assert alarms(table) == []
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    assert alarms(table) == []
    table.does("settle")
    table.play(codes.split()[4] + " 9C TS TH")
    assert alarms(table) == [
        {"shoe_id": "bac-07-s1", "what": "factory_order", "cards": 5, "draws": [1, 5]}
    ]
    assert table.told("shoe.alarm") == []
    assert (table.now.state, table.key) == ("idle", None)


@pytest.mark.parametrize("first", ["3S 4S 5S 6H", "3S 4S 5S 7S", "4S 3S 4S 3S"])
def test_what_is_no_run_raises_none(first: str) -> None:
    table = between()
    table.play(first)
    table.play("8H 2C TS TH")
    assert alarms(table) == []
