"""A round finished by hand: entered by two, held to rules and ledger, each card counted once."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, CardOutsideGame
from shoe_ctl.games import catalog
from shoe_ctl.records import Audience
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import public_bytes
from shoe_testing.tables import TableHarness, balanced


def halted(codes: str, *, way: int = 0, angel_eye: bool = False, **given: Any) -> TableHarness:
    """A round dealt so far, with everything turned; then the link is gone."""
    made = {**WAYS[way], "face_up_after_ms": 0, **given}
    table = TableHarness(angel_eye=angel_eye, **made).open_shoe()
    table.open_round()
    table.deal(codes)
    table.disconnect()
    return table


def enters(table: TableHarness, player: str, banker: str, **more: Any) -> Any:
    said = {"reason": "finished by key", "consented_by": "lee", **more}
    return table.asks("enter_round", player=player, banker=banker, **said)


@pytest.mark.parametrize("angel_eye", [False, True])
@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize("codes", ["2D", "2D 3C TS", "2D 3C TS TH"])
def test_it_is_told_marked_manual_and_settled(angel_eye: bool, way: int, codes: str) -> None:
    table = halted(codes, way=way, angel_eye=angel_eye)
    assert enters(table, "2D TS 4C", "3C TH 5D", position="pit_supervisor").accepted
    (outcome,) = table.told("round.outcome")
    assert (outcome["manual"], outcome["winner"]) == (True, "banker")
    assert outcome["banker"]["cards"] == ["3C", "TH", "5D"]
    totals = [(d["hand"], d["total"]) for d in table.told("round.total_announced")]
    assert totals == [("player", 2), ("banker", 3)]
    assert len(table.told("round.card_dealt")) == len(table.told("round.card_revealed")) == 6
    assert (table.now.halt, table.now.held, table.now.pending_irregularities) == (None, (), ())
    assert table.now.shoe.drawn == sum(table.now.shoe.counts.values()) == 6
    if way == 0:
        table.does("settle")
    assert table.now.state == "idle"
    assert from_bytes(to_bytes(table.now)) == table.now
    assert table.told("irregularity.resolved")[-1] == {
        "key": "link_lost", "how": "entered_by_hand", "rule": "6.3",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("player", "banker", "why"),
    [
        ("2D TS", "3C TH 5D", "Banker has a third card before Player's third card was dealt"),
        ("2D TS", "3C TH", "the round is not complete: Player draws"),
        ("2D TS 4C", "3C TH 5D 6D", "a hand has two cards or three"),
        (
            "3D TS 4C",
            "3C TH 5D",
            "Player's card 1 was seen to be 2D; if that is wrong, the gaming shift manager says "
            "so: correct_card, or against_reading=true",
        ),
        ("2D TS 4f", "3C TH 5D", "4f is not a card of this deck"),
        ("2D TS 4X", "3C TH 5D", "4X is no card; name rank and suit, as in AS"),
    ],
)
def test_hands_that_cannot_be_are_refused(player: str, banker: str, why: str) -> None:
    table = halted("2D", way=1)
    before = table.now.round
    assert enters(table, player, banker).error == f"{why}"
    assert (table.now.state, table.now.round) == ("suspended", before)


@pytest.mark.parametrize(
    ("more", "needs"),
    [
        ({"consented_by": None}, {"consent": "another_person"}),
        ({"consented_by": "kim"}, {"consent": "another_person"}),
        ({"position": "dealer"}, {"position": "pit_supervisor"}),
        ({"reason": None}, {}),
        (
            {"position": "pit_supervisor", "against_reading": True},
            {"position": "gaming_shift_manager"},
        ),
    ],
)
def test_two_people_enter_it_and_say_why(more: dict[str, Any], needs: dict[str, str]) -> None:
    table = halted("2D", way=1)
    refused = enters(table, "2D TS 4C", "3C TH 5D", **more)
    assert (refused.accepted, refused.needs) == (False, needs)


def test_no_card_more_often_than_the_decks_hold() -> None:
    table = TableHarness(decks=1, **{**WAYS[1], "face_up_after_ms": 0})
    table.connect()
    table.hello(resumed=False, decks=1)
    table.load(decks=1)
    table.deal("7D 7C TS TH")
    table.deal("2D")
    table.disconnect()
    refused = enters(table, "2D 7D", "3C TH 5D")
    assert refused.error == "every 7D that the decks hold was seen already"
    assert not enters(table, "2D 4C", "4C KH").accepted
    assert enters(table, "2D KD 4C", "3C KC 5D").accepted
    assert balanced(table.now)


def test_cards_drawn_by_key_meanwhile_are_counted_once() -> None:
    table = halted("2D 3C", way=1)
    table.connect()
    table.says(CardDrawn(card=card("TS"), number=3, armed=False))
    table.says(CardDrawn(card=None, number=4, armed=False))
    table.says(CardDrawn(card=card("4C"), number=6, armed=False))
    assert enters(table, "2D TS 4C", "3C TH 5D").accepted
    assert table.now.shoe.drawn == 6
    assert table.now.shoe.unknown == 0
    assert set(table.now.shoe.counts.values()) == {1}
    assert balanced(table.now)


def test_cards_a_shoe_called_outside_the_game_are_counted_once() -> None:
    table = halted("2D 3C", way=1, angel_eye=True)
    table.connect()
    for code in ("TS", "TH", "4C", "5D", "9S"):
        table.says(CardOutsideGame(card=card(code), mode="lock"))
    assert enters(table, "2D TS 4C", "3C TH 5D").accepted
    assert table.now.shoe.drawn == 7
    assert table.now.shoe.counts["9S"] == 1
    assert balanced(table.now)


@pytest.mark.parametrize("way", [0, 1])
def test_one_too_many_with_cards_nobody_saw_is_inspected_once_the_round_is_told(way: int) -> None:
    table = TableHarness(
        angel_eye=True, decks=1, **{**WAYS[way], "face_up_after_ms": 0}
    ).open_shoe()
    table.says(CardOutsideGame(card=card("TS"), mode="lock"))
    table.open_round()
    table.draw("2D")
    table.fails()
    assert enters(table, "2D TS 4C", "3C TH 5D").accepted
    assert (table.now.state, table.key) == ("suspended", "extra_card")
    assert table.now.halt.resume_state == "resolved"
    assert (len(table.told("round.outcome")), table.told("round.settled")) == (1, [])
    table.rules("play_on")
    assert table.now.state == ("resolved" if way == 0 else "idle")
    assert len(table.told("round.settled")) == way
    assert balanced(table.now)


@pytest.mark.parametrize("way", [0, 1])
def test_a_round_whose_entry_shows_one_too_many_may_be_void(way: int) -> None:
    """It is discovered in the course of the round, before wagers are paid (5.1.1)."""
    table = TableHarness(
        angel_eye=True, decks=1, **{**WAYS[way], "face_up_after_ms": 0}
    ).open_shoe()
    table.says(CardOutsideGame(card=card("TS"), mode="lock"))
    if way == 0:
        table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=1, wager="banker", amount=100)
    if way == 0:
        table.does("no_more_bets")
    table.draw("2D")
    table.fails()
    assert enters(table, "2D TS 4C", "3C TH 5D").accepted
    table.rules("void")
    (void,) = table.told("round.void")
    assert void["rule"] == "5.1"
    assert table.told("round.settled") == []
    (line,) = table.told("wager.settled")
    assert (line["result"], line["returned"], line["rule"]) == ("returned", 100, "5.1")
    assert balanced(table.now)


@pytest.mark.parametrize("outside", ["9C", "4C"])
def test_cards_laid_aside_before_are_none_of_the_round(outside: str) -> None:
    table = TableHarness(angel_eye=True, **{**WAYS[1], "face_up_after_ms": 0}).open_shoe()
    table.deal("2D")
    table.says(CardOutsideGame(card=card(outside), mode="lock"))
    table.rules("play_on")
    table.fails()
    assert enters(table, "2D TS 4C", "3C TH 5D").accepted
    assert (table.now.shoe.drawn, table.now.shoe.unknown) == (7, 0)
    assert balanced(table.now)


def test_the_shoes_own_record_that_comes_later_counts_nothing_twice() -> None:
    table = halted("2D 3C", way=1)
    assert enters(table, "2D TS 4C", "3C TH 5D").accepted
    table.connect()
    table.hello(drawn=6)
    for number, code in enumerate(["TS", "TH", "4C", "5D"], start=3):
        table.draw(code, number=number)
    assert (table.now.state, table.now.shoe.drawn) == ("idle", 6)
    table.draw("9C")
    assert table.now.state == "dealing"
    assert balanced(table.now)


def test_what_the_shoe_read_otherwise_halts_and_tells_nobody_which() -> None:
    tables = [halted("2D 3C TS TH"), halted("2D 3C TS 9H")]
    for table in tables:
        assert enters(table, "2D TS 4C", "3C KH 5D").accepted
        assert (table.key, table.told("round.outcome")) == ("other", [])
    assert public_bytes(tables[0]) == public_bytes(tables[1])
    assert tables[0].now.round.cards[3].card == card("TH")
    refused = enters(tables[0], "2D TS 4C", "3C KH 5D", against_reading=True)
    assert refused.accepted
    assert tables[0].told("round.outcome")[0]["banker"]["cards"][1] == "KH"
    assert tables[0].now.shoe.counts.get("TH") is None
    assert balanced(tables[0].now)


def test_it_ends_all_that_is_open_each_under_its_own_rule() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.draw("2D")
    table.draw(None)
    table.does("declare", key="other", reason="a fire alarm")
    table.disconnect()
    table.does("declare", key="wrong_order", reason="mixed up")
    assert enters(table, "2D TS 4C", "3C TH 5D").accepted
    ended = [(d["key"], d["rule"]) for d in table.told("irregularity.resolved")]
    assert ended == [("wrong_order", "6.1"), ("other", "6.1"), ("misread", "6.3")]
    assert table.kinds.count("table.resumed") == 1
    assert balanced(table.now)


def test_who_entered_it_is_in_the_restricted_stream_alone() -> None:
    table = halted("2D")
    assert enters(table, "2D TS 4C", "3C TH 5D").accepted
    (entered,) = table.told("round.entered", Audience.RESTRICTED)
    assert (entered["person"], entered["consented_by"]) == ("kim", "lee")
    assert not any("lee" in str(e.data) for e in table.public)


def test_only_a_halted_round_whose_bets_are_closed_is_entered() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    refused = enters(table, "2D TS 4C", "3C TH 5D")
    assert refused.needs == {"state": "suspended"}
    table.fails()
    refused = enters(table, "2D TS 4C", "3C TH 5D")
    assert refused.error == "no round is open"
    table.rules("play_on")
    table.does("place_your_bets")
    table.fails()
    refused = enters(table, "2D TS 4C", "3C TH 5D")
    assert refused.error == "no cards were being dealt: the table was betting"


@pytest.mark.parametrize("name", catalog.shipped())
def test_in_every_game_the_round_goes_on_to_its_outcome(name: str) -> None:
    table = TableHarness(name=name, **{**WAYS[1], "face_up_after_ms": 0})
    table.connect()
    table.hello(resumed=False, deck=table.game.deck.name)
    table.load()
    suit = table.game.deck.cards[0].code[1]
    table.deal(f"2{suit}")
    table.fails()
    assert enters(table, f"2{suit} 5{suit}", f"3{suit} 4{suit}").accepted
    assert table.told("round.outcome")[0]["manual"] is True
