"""Two cards set aside in one pull are the two of 5.11.1; the pit orders them where nobody can."""

from __future__ import annotations

import pytest

from firmware_proto.commands import Locked
from firmware_proto.events import CardsDrawn
from shoe_ctl.games import catalog
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_testing.table_situations import (
    card_taken_table,
    count_decks,
    decide_with_consent,
    open_step,
    opinions,
)
from shoe_testing.tables import TableHarness, balanced, cards, game
from shoe_testing.twins import Twins

CONDUCTED = [
    (name, method) for name in catalog.shipped() for method in game(name).methods if method
]


def codes_of(name: str) -> tuple[str, str]:
    """Both hands draw; then what comes in the pull."""
    element = game(name).deck.name == "element65"
    return ("2f 3g Tf Tg", "4f 5g") if element else ("2D 3C TS TH", "4C 5D")


def pull(table: TableHarness, codes: str, *, known: bool) -> None:
    number = table.now.shoe.drawn + 1
    drawn = CardsDrawn(cards=tuple(cards(codes)), number=number, order_known=known, armed=True)
    table.says(drawn)


def pulled(name: str = "tiger", method: str = "A", *, known: bool) -> TableHarness:
    codes, two = codes_of(name)
    table = card_taken_table(codes, name=name, method=method)
    decide_with_consent(table, "not_known", reason="no camera")
    pull(table, two, known=known)
    return table


@pytest.mark.parametrize(("name", "method"), CONDUCTED)
def test_they_are_the_two_and_go_to_the_hands_in_the_order_drawn(name: str, method: str) -> None:
    table = pulled(name, method, known=True)
    assert [o.key for o in table.now.halt.stack] == ["card_taken"]
    assert open_step(table)["step"] == "sort" and table.desired == Locked()
    told = [(d["hand"], d["index"]) for d in table.told("round.card_dealt")[-2:]]
    assert told == [("set_aside", 1), ("set_aside", 2)]
    dealt, two = codes_of(name)
    count_decks(table, dealt.split()[0], short=f"{dealt.split()[0]} {two}")
    assert opinions(table)[-1]["decks"] == "agrees"
    decide_with_consent(table, "replaced")
    _plays_out(table)
    outcome = table.told("round.outcome")[-1]
    first, second = two.split()
    assert (outcome["player"]["cards"][2], outcome["banker"]["cards"][2]) == (first, second)
    assert balanced(table.now) and from_bytes(to_bytes(table.now)) == table.now


def _plays_out(table: TableHarness) -> None:
    for _ in range(3):
        for hand in ("player", "banker"):
            if any(d.hand == hand and not d.revealed for d in table.now.round.cards):
                table.does("expose", hand=hand)
        if not table.now.round.totals_announced:
            table.does("announce_totals")
    table.does("announce_outcome")


@pytest.mark.parametrize(("name", "method"), CONDUCTED)
def test_in_an_unknown_order_the_pit_manager_orders_them_and_players_may_withdraw(
    name: str, method: str
) -> None:
    table = pulled(name, method, known=False)
    assert (open_step(table)["step"], open_step(table)["rule"]) == ("ordering", "5.8.2.2")
    answer = table.asks("decide", choice="upper_first", reason="r", position="pit_supervisor")
    assert answer.needs == {"position": "pit_manager"}
    table.does("decide", choice="upper_first", reason="as it lay", position="pit_manager")
    (opened,) = table.told("withdrawal.opened")
    assert (opened["rule"], opened["scope"]) == ("5.8.2.2", "remaining")
    table.does("decide", choice="close_window", position="dealer")
    assert open_step(table)["step"] == "sort"
    dealt, two = codes_of(name)
    count_decks(table, dealt.split()[0], short=f"{two} {dealt.split()[0]}")
    assert opinions(table)[-1]["decks"] == "agrees"
    decide_with_consent(table, "replaced")
    for hand in ("player", "banker"):
        if any(d.hand == hand and not d.revealed for d in table.now.round.cards):
            table.does("expose", hand=hand)
    table.does("announce_totals")
    table.does("expose", hand="player")
    assert table.key == "double_draw" and table.now.halt.current.step == "name"
    wrong = game(name).deck.cards[20].code
    answer = table.asks("decide", choice="enter", card=wrong, consented_by="lee")
    assert answer.halted == "other"
    table.rules("play_on")
    table.does("decide", choice="enter", card=two.split()[1], consented_by="lee")
    assert balanced(table.now)


def test_three_in_one_pull_are_one_too_many_and_are_put_in_order_first() -> None:
    table = card_taken_table()
    decide_with_consent(table, "not_known", reason="no camera")
    pull(table, "4C 5D 6D", known=True)
    assert table.key == "double_draw" and table.now.ahead == ()


def test_a_pull_behind_the_first_of_the_two_is_one_too_many() -> None:
    table = card_taken_table()
    decide_with_consent(table, "not_known", reason="no camera")
    table.draw("4C")
    pull(table, "5D 6D", known=True)
    assert table.key == "double_draw" and len(table.now.ahead) == 1


def test_a_pull_that_the_shoe_was_not_armed_for_is_no_part_of_it() -> None:
    table = card_taken_table()
    decide_with_consent(table, "not_known", reason="no camera")
    table.says(CardsDrawn(cards=tuple(cards("4C 5D")), number=5, order_known=True, armed=False))
    assert table.key == "double_draw" and table.now.ahead == ()


def test_a_pull_with_a_card_that_is_not_the_shoes_is_inspected() -> None:
    table = card_taken_table()
    decide_with_consent(table, "not_known", reason="no camera")
    pull(table, "4C 4f", known=True)
    assert table.key == "foreign_card"


@pytest.mark.parametrize("known", [True, False])
def test_what_they_are_makes_no_difference_to_anyone(known: bool) -> None:
    twins = Twins(announcements="explicit", faces="turned_by_dealer", method="A")
    twins.both(TableHarness.open_round)
    for faces in (("2D", "9C"), ("3C", "KD"), ("TS", "4H"), ("TH", "5C")):
        twins.draws(faces)
    twins.both(lambda t: t.does("declare", key="card_taken", hand="player", index=1, reason="r"))
    twins.both(lambda t: t.does("decide", choice="not_known", reason="r"))
    twins.draws_together(("4C", "8S"), ("5D", "8H"), order_known=known)
    if not known:
        twins.both(lambda t: t.does("decide", choice="upper_first", reason="r"))
        twins.both(lambda t: t.does("decide", choice="close_window"))
    twins.both(lambda t: t.does("decide", choice="sorted"))
    assert not twins.parted and twins.compared > 8
