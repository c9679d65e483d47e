"""An outcome that was wrong: told anew in full, by two, wagers changed by their difference."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.games import catalog
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import TableHarness, balanced

STAND = "7D 7C TS TH"


def played(way: int = 0, *, settled: bool = True, name: str = "tiger") -> TableHarness:
    table = TableHarness(name=name, **{**WAYS[way], "face_up_after_ms": 0}).open_shoe()
    if way == 0:
        table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=1, wager="tie", amount=100)
    table.does("place_wager", player="bob", seat=2, wager="player", amount=200)
    if way == 0:
        table.does("no_more_bets")
    table.deal(STAND)
    if way == 0:
        table.turn_over()
        table.does("announce_totals")
        table.does("announce_outcome")
        if settled:
            table.does("settle")
    return table


def revises(table: TableHarness, player: str, banker: str, **more: Any) -> Any:
    said = {"reason": "an ace, not a ten", "consented_by": "lee", **more}
    return table.asks("revise_round", player=player, banker=banker, **said)


@pytest.mark.parametrize("way", [0, 1])
def test_a_settled_round_is_told_anew_and_its_wagers_change_by_the_difference(way: int) -> None:
    table = played(way)
    before = len(table.events)
    assert revises(table, "7D AS", "7C TH").accepted
    revised, *lines = table.events[before:]
    (outcome,) = table.told("round.outcome")
    assert (revised.type, revised.revises) == ("round.revised", outcome["round_id"])
    assert revised.data.keys() == {*outcome, "rule"} - {"inferred"}
    assert (revised.data["winner"], revised.data["rule"]) == ("player", "6.3")
    assert revised.restricted_data is not None
    assert revised.restricted_data["consented_by"] == "lee"
    assert "person" not in revised.data
    changes = {line.data["wager"]: (line.data["result"], line.data["change"]) for line in lines}
    assert changes == {"tie": ("lose", -900), "player": ("win", 200)}
    assert all(line.subject == outcome["round_id"] for line in lines)
    assert "player" not in lines[0].data
    assert table.now.shoe.counts == {"7D": 1, "AS": 1, "7C": 1, "TH": 1}
    assert table.now.shoe.shown == table.now.shoe.counts
    assert from_bytes(to_bytes(table.now)) == table.now
    assert balanced(table.now)


def test_before_settling_wagers_are_settled_once_by_what_was_revised() -> None:
    table = played(settled=False)
    assert revises(table, "7D AS", "7C TH").accepted
    assert table.told("wager.settled") == table.told("wager.revised") == []
    table.does("settle")
    assert {d["wager"]: d["result"] for d in table.told("wager.settled")} == {
        "tie": "lose",
        "player": "win",
    }


def test_revised_back_everything_is_as_it_was() -> None:
    table = played()
    shoe = table.now.shoe
    assert revises(table, "7D AS", "7C TH").accepted
    assert revises(table, "7D TS", "7C TH").accepted
    assert (table.now.shoe.counts, table.now.shoe.shown) == (shoe.counts, shoe.shown)
    changes = [d["change"] for d in table.told("wager.revised")]
    assert sum(changes) == 0 and len(changes) == 4


def test_a_card_that_nobody_told_of_is_counted_and_one_too_many_stays_counted() -> None:
    table = played()
    assert revises(table, "2D TS 4C", "7C TH").accepted
    assert (table.now.shoe.drawn, table.now.shoe.counts["4C"]) == (5, 1)
    assert balanced(table.now)


@pytest.mark.parametrize(
    ("player", "banker", "why"),
    [
        ("7D TS", "7C TH", "those are the cards of the outcome as it stands"),
        ("7D TS", "7C TH 2D 3D", "a hand has two cards or three"),
        ("2D TS", "7C TH", "the round is not complete: Player draws"),
        ("7D 4f", "7C TH", "4f is not a card of this deck"),
    ],
)
def test_hands_that_cannot_be_are_refused(player: str, banker: str, why: str) -> None:
    table = played()
    before = table.now.last_settled
    assert revises(table, player, banker).error == f"{why}"
    assert table.now.last_settled == before


@pytest.mark.parametrize(
    ("more", "needs"),
    [
        ({"consented_by": "kim"}, {"consent": "another_person"}),
        ({"position": "pit_manager"}, {"position": "gaming_shift_manager"}),
        ({"reason": None}, {}),
        ({"round": "bac-07-s1-r9"}, {}),
    ],
)
def test_it_wants_the_shift_manager_another_person_a_reason_and_the_last_round(
    more: dict[str, Any], needs: dict[str, str]
) -> None:
    table = played()
    refused = revises(table, "7D AS", "7C TH", **more)
    assert (refused.accepted, refused.needs) == (False, needs)
    assert table.told("round.revised") == []


def test_the_last_round_is_revised_until_no_more_bets_of_the_next() -> None:
    table = played()
    table.does("place_your_bets")
    assert revises(table, "7D AS", "7C TH", round="bac-07-s1-r1").accepted
    table.does("no_more_bets")
    assert revises(table, "7D TS", "7C TH").needs["state"] == "resolved, idle, shoe_change, betting"


def test_before_any_round_there_is_nothing_to_revise() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    refused = revises(table, "7D AS", "7C TH")
    assert refused.error == "there is no outcome that can be revised"


def test_a_round_of_cards_that_are_gone_is_revised_without_touching_the_new_ones() -> None:
    table = played()
    table.does("change_shoe")
    table.load("set-2")
    assert revises(table, "7D AS", "7C TH").accepted
    assert (table.now.shoe.counts, table.now.shoe.drawn) == ({}, 0)


def test_a_void_round_is_not_revised() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D")
    table.fails()
    table.rules("void")
    assert not revises(table, "7D AS", "7C TH").accepted


@pytest.mark.parametrize("name", catalog.shipped())
def test_each_game_cites_its_own_rule(name: str) -> None:
    table = TableHarness(name=name, **{**WAYS[1], "face_up_after_ms": 0})
    table.connect()
    table.hello(resumed=False, deck=table.game.deck.name)
    table.load()
    a, b, *_ = dict.fromkeys(c.code[1] for c in table.game.deck.cards)
    table.deal(f"7{a} 7{b} T{a} T{b}")
    assert revises(table, f"7{a} A{a}", f"7{b} T{b}").accepted
    rule = None if name == "dragon_bonus_royal" else "6.3"
    assert table.told("round.revised")[-1]["rule"] == rule
