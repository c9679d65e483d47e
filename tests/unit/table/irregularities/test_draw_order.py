"""Cards to the wrong place, cards not drawn, an order altered: reconstructed, or ruled on."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.commands import Armed
from firmware_proto.events import Error
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.status import status
from shoe_testing.event_check import OwnData
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import overdraw_table
from shoe_testing.tables import ROUNDS, TableHarness, balanced

PIT = "pit_supervisor"
GAMES = ("immortal_dragon_tiger", "dragon_tiger_no_commission", "tiger", "fa_fa_fabulous_4")


def dealt(
    codes: str = "2D 3C TS TH", *, angel_eye: bool = False, name: str = "tiger"
) -> TableHarness:
    table = TableHarness(angel_eye=angel_eye, name=name, **WAYS[0])
    if name == "fa_fa_fabulous_4":
        table.connect()
        table.hello(resumed=False, deck="element65")
        table.load()
    else:
        table.open_shoe()
    table.open_round()
    table.deal(codes)
    return table


def ended(table: TableHarness) -> tuple[str, str, str | None]:
    told = table.told("irregularity.resolved")[-1]
    return told["key"], told["how"], told["rule"]


def offered(table: TableHarness) -> list[str]:
    return [choice.name for choice in stack.offered_choices(overdraw_table(table))]


# To the wrong place.


@pytest.mark.parametrize("name", GAMES)
def test_cards_laid_wrongly_are_put_right_by_the_dealer_and_the_round_goes_on(name: str) -> None:
    table = dealt("2f 3g" if name == "fa_fa_fabulous_4" else "2D 3C", name=name)
    table.does("declare", key="wrong_order", reason="Player's card lies at Banker")
    before = table.now.round.cards
    table.does("decide", choice="reconstruct", position="dealer")
    assert ended(table) == ("wrong_order", "reconstructed", "5.7")
    assert (table.now.state, table.now.round.cards) == ("dealing", before)
    assert table.desired == Armed(3, "player", 2)


def test_a_card_drawn_out_of_turn_takes_the_place_that_the_draw_order_gives_it() -> None:
    table = dealt("2D 3C", angel_eye=True)
    table.draw("TS", hand="banker", index=2)
    assert table.key == "wrong_order"
    refused = table.asks("decide", choice="reconstruct")
    assert refused.error is not None and "no place in the round" in refused.error
    place = {"choice": "place", "reason": "it lies before Player"}
    assert table.asks("decide", **place).needs == {"consent": "another_person"}
    table.does("decide", consented_by="lee", position="pit_supervisor", **place)
    table.does("decide", choice="reconstruct", position="dealer")
    last = table.now.round.cards[-1]
    assert (last.hand, last.index, last.card) == ("player", 2, card("TS"))
    assert ended(table) == ("wrong_order", "reconstructed", "5.7")
    assert balanced(table.now)


@pytest.mark.parametrize("way", [0, 1])
def test_a_rounds_first_card_that_the_shoe_names_otherwise_is_placed_too(way: int) -> None:
    table = TableHarness(angel_eye=True, **WAYS[way]).open_shoe()
    table.play(ROUNDS["both stand"])
    table.open_round()
    table.draw("TS", hand="banker", index=2)
    assert table.key == "wrong_order"
    assert offered(table)[0] == "place"
    placed = {"choice": "place", "reason": "the first", "consented_by": "lee"}
    table.does("decide", position="pit_supervisor", **placed)
    table.does("decide", choice="reconstruct", position="dealer")
    first = table.now.round.cards[0]
    assert (first.hand, first.index, first.card) == ("player", 1, card("TS"))
    assert (table.now.state, table.told("round.bets_closed") != []) == ("dealing", True)
    assert balanced(table.now)


def exchanges(table: TableHarness, one: str, other: str, **more: str) -> dict[str, str]:
    said = {"choice": "exchange", "one": one, "other": other, "reason": "camera 2"}
    return {**said, "consented_by": "lee", "position": "pit_supervisor", **more}


def test_two_cards_recorded_in_each_others_place_change_places_and_none_is_named() -> None:
    table = dealt()
    table.does("declare", key="wrong_order", reason="the draws were counted wrongly")
    before = len(table.public)
    table.does("decide", **exchanges(table, "player 1", "banker 1"))
    moved = next(e for e in table.public[before:] if e.data.get("step") == "exchanged")
    assert OwnData(moved.data) == {
        "key": "wrong_order", "step": "exchanged", "moved": ["player 1", "banker 1"],
    }  # fmt: skip
    assert moved.restricted_data is not None and moved.restricted_data["person"] == "kim"
    table.does("decide", choice="reconstruct")
    table.does("expose", hand="player")
    assert [d["card"] for d in table.told("round.card_revealed")] == ["3C", "TS"]
    assert balanced(table.now)


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("player 1", "player 1", "name two different cards"),
        ("player 2", "banker 3", "no card lies there: Banker's third card"),
        ("player 1", "banker 1", "everyone has seen Player's card 1: it stays where it is"),
    ],
)
def test_what_was_seen_or_is_not_there_is_not_exchanged(one: str, other: str, why: str) -> None:
    table = dealt()
    table.does("expose", hand="player", index=1)
    table.does("declare", key="wrong_order", reason="r")
    answer = table.asks("decide", **exchanges(table, one, other))
    assert answer.error == f"{why}"


def test_cards_are_exchanged_by_a_pit_supervisor_and_another_person() -> None:
    table = dealt()
    table.does("declare", key="wrong_order", reason="r")
    asked = exchanges(table, "player 1", "banker 1")
    assert table.asks("decide", **{**asked, "position": "dealer"}).needs == {
        "position": "pit_supervisor"
    }
    assert table.asks("decide", **{**asked, "consented_by": "kim"}).needs == {
        "consent": "another_person"
    }


def test_nothing_is_exchanged_where_all_is_seen() -> None:
    table = dealt()
    table.turn_over()
    table.does("declare", key="wrong_order", reason="r")
    assert "exchange" not in offered(table)


# Not drawn.


@pytest.mark.parametrize("name", GAMES)
def test_a_card_that_was_missed_is_drawn_after_all(name: str) -> None:
    table = dealt("2f 3g Tf Tg" if name == "fa_fa_fabulous_4" else "2D 3C TS TH", name=name)
    table.turn_over()
    table.does("announce_totals")
    called = table.asks("announce_outcome")
    assert called.error == "Player's third card is due"
    assert table.asks("settle").error == "Player's third card is due"
    table.does("declare", key="missed_draw", reason="the outcome was called")
    table.does("decide", choice="reconstruct", position="dealer")
    assert ended(table) == ("missed_draw", "reconstructed", "5.7")
    assert table.desired == Armed(5, "player", 3)


@pytest.mark.parametrize("state", ["resolved", "idle", "betting", "closed"])
def test_a_missed_card_found_after_the_outcome_is_ruled_on(state: str) -> None:
    table = dealt("7D 7C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    later = {"idle": 1, "betting": 2, "closed": 3}.get(state, 0)
    for command in ("settle", "place_your_bets", "no_more_bets")[:later]:
        table.does(command)
    table.does("declare", key="missed_draw", reason="a Player says so")
    assert "reconstruct" not in offered(table)
    assert ("void" in offered(table)) is (state == "resolved")
    refused = table.asks("decide", choice="play_on", reason="r", position="pit_manager")
    assert refused.needs == {"position": "gaming_shift_manager"}
    table.rules("play_on")
    assert (table.now.state, ended(table)) == (state, ("missed_draw", "play_on", "6.1"))


# Altered.


@pytest.mark.parametrize("code", ["reverse_run_at_exit", "reverse_run_midway"])
def test_a_card_that_ran_back_into_the_shoe_alters_the_order(code: str) -> None:
    table = dealt("2D 3C", angel_eye=True)
    table.says(Error(code=code, in_error_mode=True))
    assert table.key == "order_altered"
    table.rules("void")
    assert table.told("round.void")[-1]["rule"] == "5.2"


@pytest.mark.parametrize("halted", [False, True])
def test_a_reverse_run_of_a_shoe_that_counts_draws_alters_the_order_too(halted: bool) -> None:
    table = dealt("2D 3C")
    if halted:
        table.does("declare", key="other", reason="noise")
    table.says(Error(code="reverse_run"))
    assert table.key == "order_altered"
    table.does("decide", choice="reconstructed", reason="it ran out again", position=PIT)
    assert (table.key, table.now.state) == (("other", "suspended") if halted else (None, "dealing"))


def test_a_whole_round_is_played_after_each_of_them() -> None:
    table = dealt()
    for key in ("wrong_order", "order_altered", "missed_draw"):
        table.does("declare", key=key, reason="r")
        choice = "reconstructed" if key == "order_altered" else "reconstruct"
        table.does("decide", choice=choice, reason="r")
    table.deal("4C 5D")
    table.finish()
    table.play(ROUNDS["both stand"])


# What the room sees of an exchange.


def halt_of(table: TableHarness) -> dict[str, Any]:
    return dict(status(table.now, table.game, table.settings)["halt"])


def places_of(table: TableHarness) -> list[list[str]]:
    (choice,) = [one for one in halt_of(table)["choices"] if one["choice"] == "exchange"]
    return [one["values"] for one in choice["arguments"] if one["name"] in ("one", "other")]


def test_the_status_and_the_answer_say_what_was_exchanged() -> None:
    table = dealt()
    table.does("declare", key="wrong_order", reason="r")
    assert "exchanged" not in halt_of(table)
    first = table.asks("decide", **exchanges(table, "player 1", "banker 1"))
    assert str(first.text).startswith(
        "Player's card 1 and Banker's card 1 have changed places (exchange 1); next: "
    )
    second = table.asks("decide", **exchanges(table, "banker 2", "player 2"))
    assert str(second.text).startswith(
        "Banker's card 2 and Player's card 2 have changed places (exchange 2); next: "
    )
    assert halt_of(table)["exchanged"] == [["player 1", "banker 1"], ["banker 2", "player 2"]]


def test_an_exchange_lists_the_places_of_cards_that_nobody_has_seen() -> None:
    table = dealt()
    table.does("expose", hand="player", index=1)
    table.does("declare", key="wrong_order", reason="r")
    places = ["banker 1", "player 2", "banker 2"]
    assert places_of(table) == [places, places]


def test_the_same_exchange_again_is_asked_for_in_so_many_words() -> None:
    table = dealt()
    table.does("declare", key="wrong_order", reason="r")
    table.does("decide", **exchanges(table, "player 1", "banker 1"))
    refused = table.asks("decide", **exchanges(table, "banker 1", "player 1"))
    assert refused.error == (
        "Banker's card 1 and Player's card 1 were exchanged already: to exchange them again, say "
        "again=true"
    )
    table.does("decide", **exchanges(table, "banker 1", "player 1"), again=True)
    table.does("decide", choice="reconstruct")
    table.does("expose", hand="player")
    assert [d["card"] for d in table.told("round.card_revealed")] == ["2D", "TS"]


def test_an_exchange_is_offered_alike_whether_the_shoe_reads_an_early_card_or_objects() -> None:
    """By its reading the shoe knows whether a card is due. Banker's second card is not seen yet."""
    tables = []
    for fourth, objects in (("8H", True), ("TH", False)):
        table = TableHarness(angel_eye=True, faces="face_up", face_up_after_ms=1000).open_shoe()
        table.open_round()
        for code in ("2D", "3C", "TS"):
            table.draw(code)
            table.turn_over()
        table.draw(fourth)
        if objects:
            table.says(Error(code="overdraw", in_error_mode=True))
        else:
            table.draw("4C")
        table.does("declare", key="wrong_order", reason="mixed up")
        tables.append(table)
    one, other = (status(t.now, t.game, t.settings) for t in tables)
    assert one["halt"] == other["halt"]
    assert one["next"] == other["next"]
