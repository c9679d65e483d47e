"""The time of a draw: a card belongs to the round in which it left the shoe."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn
from shoe_ctl.table.inputs import Tick
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import TableHarness

S = 1_000_000
HOST_US = 5_000 * S
"""This host's time as the shoe boots."""

GAMES = ("tiger", "fa_fa_fabulous_4", "immortal_dragon_tiger", "dragon_bonus_royal")


def draws(
    table: TableHarness, code: str, device_s: float, *, heard_s: float, armed: bool = True
) -> None:
    """The shoe gives its next card ``device_s`` after its boot; the report comes at ``heard_s``."""
    said = CardDrawn(card=card(code), number=table.now.shoe.drawn + 1, armed=armed)
    table.says(said, t_us=HOST_US + int(heard_s * S), device_us=int(device_s * S))


def wait_until(table: TableHarness, host_s: float) -> None:
    """Nothing happens until then."""
    table.feed(Tick(t_us=HOST_US + int(host_s * S)))


def codes(table: TableHarness) -> tuple[str, str]:
    """Four cards of which no third follows, and a fifth."""
    if table.game.deck.name == "element65":
        return "7g 7f Tg Tf", "9g"
    return "7D 7C TS TH", "9C"


def play_first_round(table: TableHarness) -> None:
    """A round in which nothing is odd: dealt from second 10 to 13."""
    wait_until(table, 5)
    table.open_round()
    for second, code in enumerate(codes(table)[0].split(), start=10):
        draws(table, code, second, heard_s=second + 0.02)
    wait_until(table, 20)
    table.finish()


def second_round(**given: Any) -> TableHarness:
    """*No more bets* of a second round, opened at second 30 and closed at 40."""
    table = TableHarness(**{**WAYS[0], **given}).open_shoe()
    play_first_round(table)
    wait_until(table, 30)
    table.does("place_your_bets")
    wait_until(table, 40)
    table.does("no_more_bets")
    return table


def asked(table: TableHarness) -> list[str]:
    """The codes of what is asked about a drawn card."""
    if table.now.halt is None:
        return []
    return [opened.seen.code for opened in table.now.halt.stack if opened.key == "overdraw"]


@pytest.mark.parametrize("name", GAMES)
def test_a_card_pulled_before_the_round_and_told_in_it_is_asked_about(name: str) -> None:
    table = second_round(name=name)
    draws(table, codes(table)[1], 15, heard_s=41, armed=False)
    assert asked(table) == ["seen_drawn_late"]
    assert table.now.halt.current.step == "ruling"
    assert table.now.round.cards == ()
    table.rules("set_aside")
    assert (table.now.state, table.now.armed) == ("closed", (6, "player", 1))


@pytest.mark.parametrize(
    ("told_after", "state"),
    [("announce_outcome", "resolved"), ("settle", "idle"), ("place_your_bets", "betting")],
)
def test_told_before_no_more_bets_it_is_asked_about_as_drawn_early(
    told_after: str, state: str
) -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    wait_until(table, 5)
    table.open_round()
    for second, code in enumerate(["7D", "7C", "TS", "TH"], start=10):
        draws(table, code, second, heard_s=second + 0.02)
    table.turn_over()
    table.does("announce_totals")
    commands = ("announce_outcome", "settle", "place_your_bets")
    for command in commands[: commands.index(told_after) + 1]:
        table.does(command)
    draws(table, "9C", 14, heard_s=40, armed=False)
    assert asked(table) == ["seen_drawn_early"]
    assert (table.now.halt.resume_state, table.now.halt.current.step) == (state, "ruling")


def test_it_may_be_ruled_to_be_the_first_card_all_the_same() -> None:
    table = second_round()
    draws(table, "9C", 15, heard_s=41, armed=False)
    table.rules("due")
    assert [(d.hand, d.number) for d in table.now.round.cards] == [("player", 5)]


def test_each_of_two_such_cards_is_asked_about() -> None:
    table = second_round()
    draws(table, "9C", 15, heard_s=41, armed=False)
    table.rules("set_aside")
    draws(table, "8C", 16, heard_s=42, armed=False)
    assert asked(table) == ["seen_drawn_late"]


def test_a_card_pulled_in_the_round_itself_is_its_first_card() -> None:
    table = second_round()
    draws(table, "9C", 31, heard_s=41, armed=False)
    assert (table.now.halt, table.now.round.cards[0].card.code) == (None, "9C")


def test_a_card_that_was_armed_for_is_in_its_turn_whatever_its_time() -> None:
    table = second_round()
    draws(table, "9C", 15, heard_s=41)
    assert (table.now.halt, table.now.round.cards[0].card.code) == (None, "9C")


def test_a_late_report_in_a_pause_takes_no_slot_by_itself() -> None:
    table = second_round()
    table.does("pause")
    draws(table, "9C", 15, heard_s=41, armed=False)
    assert table.key == "overdraw"


def test_where_cards_announce_a_card_from_before_the_settling_opens_no_round() -> None:
    table = TableHarness(**WAYS[1]).open_shoe()
    play_first_round(table)
    assert table.kinds[-1] == "round.settled"
    draws(table, "9C", 13.5, heard_s=41, armed=False)
    assert asked(table) == ["seen_drawn_late"]
    assert table.now.round is None


def test_where_cards_announce_a_card_from_after_the_settling_opens_a_round() -> None:
    table = TableHarness(**WAYS[1]).open_shoe()
    play_first_round(table)
    draws(table, "9C", 25, heard_s=41, armed=False)
    assert [(d.hand, d.index) for d in table.now.round.cards] == [("player", 1)]


# A clock that shows nothing.


def test_without_a_time_the_card_is_dealt_as_one_that_is_due() -> None:
    table = second_round()
    table.says(CardDrawn(card=card("9C"), number=5, armed=False))
    assert (table.now.halt, table.now.round.cards[0].card.code) == (None, "9C")


def test_after_another_boot_of_the_shoe_its_old_time_shows_nothing() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    play_first_round(table)
    wait_until(table, 30)
    table.hello(boot=8)
    table.open_round()
    draws(table, "9C", 15, heard_s=41, armed=False)
    assert (table.now.halt, table.now.round.cards[0].card.code) == (None, "9C")


@pytest.mark.parametrize("device_s", [13, 1], ids=["it stands", "it began anew"])
def test_a_clock_that_does_not_go_on_shows_nothing(device_s: float) -> None:
    table = second_round()
    draws(table, "9C", device_s, heard_s=41, armed=False)
    assert (table.now.halt, table.now.round.cards[0].card.code) == (None, "9C")


def test_a_clock_that_loses_a_little_shows_no_card_of_the_round_as_one_before_it() -> None:
    """Half a second into a round that was opened two minutes after the last card."""
    table = TableHarness(**WAYS[0]).open_shoe()
    play_first_round(table)
    wait_until(table, 133)
    table.does("place_your_bets")
    table.does("no_more_bets")
    draws(table, "9C", 13 + (133.5 - 13) * 0.981, heard_s=134, armed=False)
    assert (table.now.halt, table.now.round.cards[0].card.code) == (None, "9C")


# What is kept.


def test_it_survives_a_restart_of_the_controller() -> None:
    table = second_round()
    assert from_bytes(to_bytes(table.now)) == table.now
    again = TableHarness(**WAYS[0], state=from_bytes(to_bytes(table.now)))
    draws(again, "9C", 15, heard_s=41, armed=False)
    assert asked(again) == ["seen_drawn_late"]
