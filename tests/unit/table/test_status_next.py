"""What is next: what it asks for, which command brings it, and who does it."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.events import CardDrawn, CardsDrawn, ResetDone
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.table_corpus import kind_of
from shoe_testing.table_situations import (
    THIRD_CARDS_DRAWN,
    commanded_table,
    declare,
    face_down_table,
)
from shoe_testing.tables import (
    HLGA,
    STAND,
    TableHarness,
    betting_table,
    cards,
    place_bet,
)

Next = tuple[str | None, dict[str, Any] | None, str]
"""The command, who does it, what people read."""

DEALER = {"position": "dealer"}


def next_of(table: TableHarness) -> Next:
    said = status(table.now, table.game, table.settings)["next"]
    return said["command"], said["who"], english(said["message"])


def choices(table: TableHarness) -> list[str]:
    halt = status(table.now, table.game, table.settings)["halt"]
    return [choice["choice"] for choice in halt["choices"]]


def test_a_round_goes_from_the_dealers_announcements_to_third_cards_by_name() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    assert next_of(table) == ("place_your_bets", DEALER, "place your bets")
    table.open_round()
    assert next_of(table) == (None, DEALER, "draw Player's card 1")
    table.deal(THIRD_CARDS_DRAWN)
    assert next_of(table) == ("expose", DEALER, "expose Player's cards")
    table.turn_over()
    table.does("announce_totals")
    assert next_of(table) == (None, DEALER, "draw Player's third card")
    table.draw("4C")
    assert next_of(table) == ("expose", DEALER, "expose Player's third card")
    table.turn_over()
    assert next_of(table) == (None, DEALER, "draw Banker's third card")


def test_at_a_change_the_next_set_is_loaded_and_nothing_is_typed() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    table.does("change_shoe")
    assert next_of(table) == (
        None,
        DEALER,
        "load the next set of cards into the shoe; nothing is typed",
    )


def test_a_shoe_that_reports_no_set_is_said_to_be_changed_by_a_pit_supervisor() -> None:
    table = TableHarness(angel_eye=True, announcements="explicit").open_shoe()
    table.open_round()
    table.deal("2D")
    declare(table, "unshuffled")
    table.rules("void")
    table.does("decide", choice="replace_cards")
    command, who, says = next_of(table)
    assert (command, who) == ("declare_new_shoe", {"position": "pit_supervisor"})
    assert says.endswith("say declare_new_shoe")


def test_with_a_lost_link_it_says_to_wait_and_a_void_is_no_step() -> None:
    table = face_down_table("2D 3C")
    table.disconnect()
    command, who, says = next_of(table)
    assert (command, who) == (None, DEALER)
    assert says.startswith("wait; connect the shoe again: if nothing was missed, the round goes on")
    assert "void" in choices(table)


def test_a_link_that_is_back_and_leaves_nothing_but_a_void_leads_to_it() -> None:
    """A fifth card came over the lost link; nobody has looked at the four that lie there."""
    table = face_down_table(THIRD_CARDS_DRAWN)
    table.disconnect()
    table.says(CardDrawn(card=cards("KC")[0], number=5, armed=True))
    table.connect()
    table.hello()
    command, who, _ = next_of(table)
    assert (command, who) == ("decide", {"position": "gaming_shift_manager"})
    table.does("decide", choice="void", reason="as it lies", consented_by="lee")
    assert table.told("round.void")


@pytest.mark.parametrize("shoe", ["angel_eye", "bee_tek"])
def test_a_shoe_that_says_no_hello_is_not_waited_for_once_its_link_is_back(shoe: str) -> None:
    """An unread fifth card came; nobody has looked at the four that lie there."""
    table = betting_table(**kind_of(shoe), announcements="explicit", faces="turned_by_dealer")
    table.does("no_more_bets")
    table.deal(THIRD_CARDS_DRAWN)
    table.disconnect()
    table.connect()
    table.draw(None)
    command, who, _ = next_of(table)
    assert (command, who) == ("decide", {"position": "gaming_shift_manager"})
    table.does("decide", choice="void", reason="as it lies", consented_by="lee")
    assert table.told("round.void")


def test_after_a_miscount_it_says_who_decides() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    table.does("count_remainder", left=400)
    command, who, _ = next_of(table)
    assert (command, who) == ("decide", {"position": "gaming_shift_manager"})


def test_in_method_c_the_hand_goes_to_the_player_who_has_the_shoe() -> None:
    table = betting_table(announcements="explicit", **HLGA)
    place_bet(table, "player", 500, player="ann", seat=3)
    table.does("offer_shoe", player="ann", seat=3)
    table.does("no_more_bets")
    assert next_of(table) == (None, {"seat": 3}, "draw Player's card 1")
    table.deal(STAND)
    assert next_of(table) == (
        "pass_cards",
        DEALER,
        "pass Player's cards, face down, to seat 3, or expose them",
    )
    table.does("pass_cards", hand="player")
    assert next_of(table) == ("expose", {"seat": 3}, "seat 3 exposes Player's cards")


def test_a_hand_that_its_player_refused_is_exposed_by_the_dealer_in_method_c() -> None:
    table = betting_table(announcements="explicit", **HLGA)
    place_bet(table, "player", 500, player="ann", seat=3)
    table.does("offer_shoe", player="ann", seat=3)
    table.does("no_more_bets")
    table.deal(STAND)
    table.does("pass_cards", hand="player")
    table.does("refuse_cards", hand="player")
    assert next_of(table) == ("expose", DEALER, "expose Player's cards")


def test_without_a_wager_the_shoe_waits_for_an_assistant_casino_manager() -> None:
    table = betting_table(announcements="explicit", **HLGA)
    place_bet(table, "player", 500, player="ann", seat=3)
    table.does("offer_shoe", player="ann", seat=3)
    table.does("withdraw_wager", player="ann", seat=3, wager="player")
    table.does("no_more_bets")
    command, who, _ = next_of(table)
    assert (command, who) == ("relinquish_shoe", {"position": "assistant_casino_manager"})


def test_an_open_step_names_the_lowest_position_that_may_take_a_choice() -> None:
    table = face_down_table("2D 3C")
    declare(table, "other")
    assert next_of(table)[:2] == ("decide", {"position": "gaming_shift_manager"})
    table = face_down_table("2D 3C")
    table.does("pause")
    assert next_of(table)[:2] == ("resume", {"position": "pit_supervisor"})


def test_while_the_shoe_resets_itself_nobody_says_that_it_is_reset() -> None:
    table = commanded_table(announcements="explicit")
    table.open_round()
    declare(table, "device_reset")
    table.does("decide", choice="close_window", position="dealer")
    assert choices(table) == ["void"]
    assert next_of(table)[:2] == (None, None)
    table.says(ResetDone(command_id=table.now.outbox.waiting[-1].number))
    assert table.now.state == "betting"


def test_a_reset_that_is_not_answered_in_time_is_said_by_people() -> None:
    table = commanded_table(announcements="explicit")
    table.open_round()
    declare(table, "device_reset")
    table.does("decide", choice="close_window", position="dealer")
    table.tick()
    assert choices(table) == ["device_is_reset", "void"]
    table.does("decide", choice="device_is_reset", position="dealer")
    assert table.now.state == "betting"


def test_the_answer_of_the_shoe_goes_with_the_next_round() -> None:
    table = commanded_table(announcements="explicit")
    table.does("reset_shoe")
    table.says(ResetDone(command_id=table.now.outbox.waiting[-1].number))
    told = status(table.now, table.game, table.settings)["told"]
    assert told["answered"]["command"] == "reset"
    table.does("place_your_bets")
    assert status(table.now, table.game, table.settings)["told"]["answered"] is None


def ordered() -> TableHarness:
    """Both third cards were drawn together; the pit manager has said which comes first."""
    table = face_down_table(THIRD_CARDS_DRAWN, announcements="explicit")
    table.turn_over()
    table.does("announce_totals")
    table.says(CardsDrawn(cards=tuple(cards("4C 5D")), number=5, order_known=False, armed=True))
    table.does("decide", choice="order_unknown", reason="nobody saw")
    table.does("decide", choice="upper_first", reason="as they lie")
    table.does("decide", choice="close_window", position="dealer")
    return table


def test_cards_of_a_double_draw_are_named_by_hand_and_slot_while_they_are_open() -> None:
    table = ordered()
    answer = table.asks("decide", choice="reconstruct", position="dealer")
    assert (answer.accepted, answer.halted, answer.asks) == (True, None, None)
    assert "Player's card 3 is one of those that were drawn together" in str(answer.text)
    waiting = status(table.now, table.game, table.settings)["waiting"]
    assert [english(one["prompt"]) for one in waiting if one["key"] == "double_draw"] == [
        "name Player's card 3 when it lies open"
    ]
    table.does("expose", hand="player")
    command, who, says = next_of(table)
    assert (command, who) == ("decide", DEALER)
    assert says == (
        "enter Player's card 3 as it lies open, with a second person; never take it from a Player"
    )


def test_a_card_drawn_early_that_was_due_is_said_to_be_laid_in_its_place() -> None:
    table = face_down_table(THIRD_CARDS_DRAWN)
    table.draw("4C", armed=False)
    table.turn_over()
    assert str(table.asks("announce_totals").text).startswith(
        "Player 2, Banker 3; the card drawn early is Player's third card: lay it there, face down "
        "(5.7); next: expose Player's third card"
    )


def test_an_entry_that_differs_says_what_play_on_is_for() -> None:
    table = ordered()
    table.does("decide", choice="reconstruct", position="dealer")
    table.does("expose", hand="player")
    table.does("decide", choice="enter", card="9S", consented_by="lee", position="dealer")
    assert next_of(table) == (
        "decide",
        {"position": "gaming_shift_manager"},
        "what was entered is not what the shoe read: call the person who decides, who lets you "
        "enter it again",
    )
    table.rules("play_on")
    assert next_of(table)[2].startswith("enter Player's card 3 as it lies open")
