"""The cutting card before Player's first card: where Players may withdraw, and who says so."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.events import CuttingCard
from shoe_testing.tables import TableHarness, game, place_bet, wager_table

ALLOWED = ("dragon_tiger_no_commission", "tiger", "fa_fa_fabulous_4")
RULES = {
    "immortal_dragon_tiger": "3.16.1", "dragon_tiger_no_commission": "3.17.1",
    "tiger": "3.22.1", "fa_fa_fabulous_4": "3.17.1",
}  # fmt: skip
CLOSED: dict[str, Any] = {"announcements": "explicit", "faces": "turned_by_dealer"}


def closed(name: str, area: str = "Paiza Club", **given: Any) -> TableHarness:
    """After *no more bets*, with two wagers of Ann's."""
    table = TableHarness(name=name, area=area, **(CLOSED | given))
    table.connect()
    table.hello(resumed=False, deck=game(name).deck.name)
    table.load()
    table.does("place_your_bets")
    place_bet(table, "player", 500)
    place_bet(table, "tie", 100)
    table.does("no_more_bets")
    return table


def test_in_immortal_the_window_opens_of_right() -> None:
    table = closed("immortal_dragon_tiger", layout="A")
    table.says(CuttingCard())
    (told,) = table.told("withdrawal.opened")
    assert (told["rule"], told["scope"], told["seats"]) == ("3.16.1", "any", [3])
    table.does("withdraw_wager", player="ann", seat=3, wager="tie")
    table.does("decide", choice="close_window", position="dealer")
    assert table.now.state == "closed"
    assert [w.wager for w in table.now.wagers.standing] == ["player"]
    resolved = table.told("irregularity.resolved")[-1]
    assert resolved == {"key": "cutting_card", "how": "removed", "rule": "3.16"}


@pytest.mark.parametrize("name", ALLOWED)
def test_elsewhere_it_opens_if_the_dealer_allows_it(name: str) -> None:
    table = closed(name)
    table.says(CuttingCard())
    assert table.told("withdrawal.opened") == []
    table.does("decide", choice="offer_withdrawal", position="dealer")
    assert table.told("withdrawal.opened")[0]["rule"] == RULES[name]
    table.does("decide", choice="withdraw_all", player="ann", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    assert table.now.wagers.standing == ()
    assert table.now.state == "closed"


@pytest.mark.parametrize("name", ALLOWED)
def test_a_dealer_who_does_not_allow_it_goes_on(name: str) -> None:
    table = closed(name)
    table.says(CuttingCard())
    table.does("decide", choice="play_on", position="dealer")
    assert (table.now.state, table.told("withdrawal.opened")) == ("closed", [])
    assert len(table.now.wagers.standing) == 2


@pytest.mark.parametrize("name", RULES)
def test_outside_the_high_limit_areas_nobody_is_asked(name: str) -> None:
    table = closed(name, area="main")
    table.says(CuttingCard())
    assert (table.now.state, table.now.halt) == ("closed", None)
    assert table.told("irregularity.resolved")[-1]["how"] == "removed"


def test_a_game_without_such_a_rule_asks_nobody_anywhere() -> None:
    table = TableHarness(name="dragon_bonus_royal", area="Ruby Room", **CLOSED).open_shoe()
    table.open_round()
    table.says(CuttingCard())
    assert (table.now.state, table.now.halt) == ("closed", None)


def test_after_the_first_card_and_between_rounds_nobody_is_asked() -> None:
    table = closed("tiger")
    table.deal("2D")
    table.says(CuttingCard())
    assert (table.now.state, table.now.shoe.cutting_card_out) == ("dealing", True)
    table = TableHarness(area="Ruby Room", **CLOSED).open_shoe()
    table.says(CuttingCard())
    assert table.now.state == "idle"


def test_while_bets_are_open_they_withdraw_without_it() -> None:
    table = wager_table(area="Ruby Room", **CLOSED)
    table.does("place_your_bets")
    table.says(CuttingCard())
    assert table.now.state == "betting"


def test_it_counts_as_the_first_card_and_the_round_is_the_last() -> None:
    table = closed("tiger")
    table.says(CuttingCard())
    table.says(CuttingCard())
    table.does("decide", choice="play_on", position="dealer")
    table.deal("9C 2D KD 3H")
    table.finish()
    assert table.now.state == "shoe_change"
    assert [d["key"] for d in table.told("irregularity.raised")] == ["cutting_card"]


def test_a_card_drawn_on_its_heels_takes_its_place_unseen() -> None:
    """The shoe was armed for it before the host heard of the cutting card."""
    table = closed("tiger")
    table.says(CuttingCard())
    table.draw("9C", armed=True)
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="withdraw_all", player="ann", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    assert (table.now.state, len(table.now.round.cards)) == ("dealing", 1)


def test_in_a_halt_before_the_first_card_it_is_decided_first() -> None:
    table = closed("tiger")
    table.does("declare", key="other", reason="a glass fell")
    table.says(CuttingCard())
    assert (table.key, table.now.halt.earlier) == ("cutting_card", ("other",))
    table.does("decide", choice="play_on", position="dealer")
    table.rules("play_on")
    assert table.now.state == "closed"


def test_declared_by_the_dealer_it_gives_the_same_leave() -> None:
    table = closed("immortal_dragon_tiger", layout="A")
    table.does("declare_cutting_card", position="dealer")
    assert table.told("withdrawal.opened")[0]["rule"] == "3.16.1"
    table.does("decide", choice="close_window", position="dealer")
    again = table.asks("declare_cutting_card", position="dealer")
    assert again.error == "the cutting card is out already"
