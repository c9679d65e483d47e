"""An open card is really another one, in each game and method, and with cards drawn ahead."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_testing.table_situations import (
    card_taken_table,
    count_decks,
    decide_with_consent,
    set_two_aside,
)
from shoe_testing.tables import CASINO, TableHarness, balanced, exposed_table, place_bets

ANN = ("ann", 3, "banker", 500)
GAMES = {
    "immortal_dragon_tiger": "AB",
    "dragon_tiger_no_commission": "ABC",
    "tiger": "ABC",
    "fa_fa_fabulous_4": "ABC",
}
"""The methods that each game's rules give it."""
PLAYED = [(name, method) for name, methods in GAMES.items() for method in methods]
FRENCH = {"deal": "7D 4H TS 3C", "really": "2H", "third": "5C"}
ELEMENTS = {"deal": "7f 4g Te 3a", "really": "2g", "third": "5a"}


def cards_of(name: str) -> dict[str, str]:
    return ELEMENTS if name == "fa_fa_fabulous_4" else FRENCH


def exposed(name: str, method: str) -> TableHarness:
    """Ann has the shoe in Method C; her hand was exposed, and so was Player's."""
    codes = cards_of(name)["deal"]
    if method != "C":
        return exposed_table(ANN, method=method, name=name, codes=codes)
    table = passed(name)
    for hand in ("player", "banker"):
        table.does("expose", hand=hand)
    return table


def passed(name: str = "tiger") -> TableHarness:
    """In Method C Ann drew the cards and holds Banker's; Player's lie before the dealer."""
    table = TableHarness(name=name, method="C", area="Paiza Club").open_shoe()
    place_bets(table, ANN)
    table.does("offer_shoe", player="ann", seat=3)
    table.does("no_more_bets")
    for code in cards_of(name)["deal"].split():
        table.draw(code)
    table.does("pass_cards", hand="banker")
    return table


def corrects(table: TableHarness, hand: str, index: int, code: str) -> Any:
    said = {"reason": "it lies open", "consented_by": "lee"}
    return table.asks("correct_card", hand=hand, index=index, card=code, **said)


def ends(table: TableHarness, third: str) -> None:
    """Banker's third card, exposed by whoever holds it or the dealer, and the outcome."""
    assert (table.now.state, table.now.armed) == ("drawing", (5, "banker", 3))
    table.draw(third)
    table.turn_over()
    table.does("announce_outcome")
    assert balanced(table.now)


@pytest.mark.parametrize(("name", "method"), PLAYED)
def test_a_card_missing_after_the_outcome_is_drawn_in_every_game_and_method(
    name: str, method: str
) -> None:
    """Banker was read as 7 and has 5: against Player's 7 it draws, and 5 more make 0."""
    codes = cards_of(name)
    table = exposed(name, method)
    table.does("announce_totals")
    table.does("announce_outcome")
    (outcome,) = table.told("round.outcome")
    assert outcome["winner"] == "tie"
    assert corrects(table, "banker", 1, codes["really"]).accepted
    ends(table, codes["third"])
    (revised,) = table.told("round.revised")
    assert (revised["winner"], revised["rule"]) == ("player", "6.3")
    assert (revised["player"]["total"], revised["banker"]["total"]) == (7, 0)
    assert len(table.told("round.outcome")) == 1
    table.does("settle")
    (line,) = table.told("wager.settled")
    assert (line["result"], line["collected"]) == ("lose", 500)


@pytest.mark.parametrize(("name", "method"), PLAYED)
@pytest.mark.parametrize("stage", ["exposed", "announced"])
def test_before_the_outcome_the_corrected_card_decides_who_draws(
    name: str, method: str, stage: str
) -> None:
    codes = cards_of(name)
    table = exposed(name, method)
    if stage == "announced":
        table.does("announce_totals")
    assert corrects(table, "banker", 1, codes["really"]).accepted
    if stage == "exposed":
        table.does("announce_totals")
    totals = {told["hand"]: told["total"] for told in table.told("round.total_announced")}
    assert totals == {"player": 7, "banker": 5}
    ends(table, codes["third"])
    assert [told["winner"] for told in table.told("round.outcome")] == ["player"]
    assert table.told("round.reopened") == table.told("round.revised") == []


@pytest.mark.parametrize("name", [name for name, methods in GAMES.items() if "C" in methods])
def test_while_the_holder_of_the_shoe_squeezes_only_the_open_hand_is_corrected(name: str) -> None:
    """Player has 8, not 7: a natural, and nobody draws once Ann's hand is open."""
    suit = cards_of(name)["deal"][1]
    table = passed(name)
    refused = corrects(table, "banker", 1, cards_of(name)["really"])
    assert refused.error == "no card of the round lies open"
    table.does("expose", hand="player")
    assert corrects(table, "player", 1, f"8{suit}").accepted
    refused = corrects(table, "banker", 1, cards_of(name)["really"])
    assert refused.error == (
        "that card does not lie open; these can be corrected: Player's card 1, Player's card 2"
    )
    table.does("expose", hand="banker")
    table.does("announce_totals")
    table.does("announce_outcome")
    (outcome,) = table.told("round.outcome")
    assert (outcome["winner"], outcome["player"]["natural"]) == ("player", True)


def test_the_shoe_stays_with_its_holder_until_the_corrected_round_is_settled() -> None:
    """Ann's Banker wager was a push, and loses by the corrected cards: the shoe goes on."""
    table = exposed("tiger", "C")
    table.does("announce_totals")
    table.does("announce_outcome")
    assert corrects(table, "banker", 1, "2H").accepted
    assert table.now.control.holder.id == "ann"
    ends(table, "5C")
    table.does("settle")
    assert table.now.control.holder is None


def test_the_one_who_may_change_the_method_may_not_correct_a_card() -> None:
    table = exposed("tiger", "C")
    said = {"hand": "banker", "index": 1, "card": "2H", "reason": "r", "consented_by": "lee"}
    assert table.asks("correct_card", position=CASINO, **said).accepted is False


# Cards drawn ahead.


def ahead(name: str) -> TableHarness:
    """Player's first card was taken; two cards lie aside, and it is ruled to be the 7."""
    codes = cards_of(name)["deal"]
    two = "5a 6a" if name == "fa_fa_fabulous_4" else "5C 6C"
    seven = codes.split()[0]
    table = set_two_aside(card_taken_table(codes, name=name), two)
    count_decks(table, seven, short=f"{seven} {two}")
    decide_with_consent(table, "replaced")
    table.turn_over()
    table.does("announce_totals")
    return table


@pytest.mark.parametrize("name", GAMES)
def test_a_card_that_is_missing_is_the_first_that_was_drawn_ahead(name: str) -> None:
    """No card is drawn from a shoe that is sorted: Banker takes the 5, and the 6 stays aside."""
    codes = cards_of(name)
    table = ahead(name)
    assert (table.now.state, len(table.now.ahead)) == ("revealing", 2)
    assert corrects(table, "banker", 1, codes["really"]).accepted
    assert (table.now.state, table.now.armed) == ("revealing", None)
    assert table.told("round.card_dealt")[-1] == {"hand": "banker", "index": 3, "face": "down"}
    table.turn_over()
    table.does("announce_outcome")
    (outcome,) = table.told("round.outcome")
    assert (outcome["winner"], outcome["banker"]["cards"][2]) == ("player", codes["third"])
    assert len(table.now.ahead) == 1
    assert balanced(table.now)


@pytest.mark.parametrize("name", GAMES)
def test_after_the_outcome_too_the_missing_card_is_one_drawn_ahead(name: str) -> None:
    codes = cards_of(name)
    table = ahead(name)
    table.does("announce_outcome")
    assert corrects(table, "banker", 1, codes["really"]).accepted
    assert table.now.armed is None
    assert table.told("round.card_dealt")[-1] == {"hand": "banker", "index": 3, "face": "down"}
    table.turn_over()
    table.does("announce_outcome")
    assert [told["winner"] for told in table.told("round.revised")] == ["player"]
    assert len(table.told("round.outcome")) == 1
    table.does("settle")
    assert table.now.state == "shoe_change"
    assert balanced(table.now)


@pytest.mark.parametrize("name", GAMES)
def test_cards_drawn_ahead_lie_face_down_and_cannot_be_corrected(name: str) -> None:
    table = ahead(name)
    refused = corrects(table, "banker", 3, cards_of(name)["really"])
    assert refused.error == (
        "that card does not lie open; these can be corrected: Player's card 1, "
        "Banker's card 1, Player's card 2, Banker's card 2"
    )
