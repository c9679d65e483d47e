"""Withdrawal windows: who may take what back, who answered, what stands when the dealer closes."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.procedures import stack, withdrawal
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_ctl.table.status import status
from shoe_ctl.table.turn import Turn
from shoe_testing.table_situations import ON_A_FELT, declare, wagered_table, withdrawal_table
from shoe_testing.tables import TableHarness, betting_table, place_bet, restricted_data


def rescoped(table: TableHarness, key: str) -> None:
    """The same window as another rule would open it."""
    turn = Turn(table.game, table.settings, PROCEDURES)
    turn.now = table.now
    withdrawal.open_window(turn, key)
    table._state = turn.now


def stakes(table: TableHarness) -> dict[tuple[str, str], int]:
    return {(w.player, w.wager): w.amount for w in table.now.wagers.standing}


def test_a_window_opens_for_the_seats_with_wagers_and_names_nobody_in_public() -> None:
    table = withdrawal_table()
    (told,) = table.told("withdrawal.opened")
    assert told == {
        "round_id": table.now.round.id, "rule": "5.17.1", "whose": "players", "seats": [3, 4],
        "scope": "all",
    }  # fmt: skip
    (kept,) = restricted_data(table, "withdrawal.opened")
    assert kept["players"] == ["ann", "bo"]


def test_who_withdraws_all_has_all_back_and_has_answered() -> None:
    table = withdrawal_table()
    table.does("decide", choice="withdraw_all", player="ann", position="dealer")
    assert stakes(table) == {("bo", "banker"): 300}
    gone = [(d["seat"], d["wager"], d["change"]) for d in table.told("wager.accepted")[-2:]]
    assert gone == [(3, "player", -500), (3, "tie", -100)]
    assert restricted_data(table, "wager.accepted")[-1]["rule"] == "5.17.1"
    answered = table.told("withdrawal.closed")[-1]
    assert (answered["whose"], answered["seats"], answered["answer"]) == (
        "player",
        [3],
        "withdrawn",
    )
    refused = table.asks("decide", choice="withdraw_all", player="ann")
    assert refused.error == ("ann has answered: the window is closed for them")


def test_all_or_none_lets_no_part_go() -> None:
    table = withdrawal_table()
    refused = table.asks("withdraw_wager", player="ann", seat=3, wager="tie")
    assert refused.error == (
        "ann withdraws all wagers or none: decide choice=withdraw_all (5.17.1)"
    )
    assert len(stakes(table)) == 3


def test_a_players_only_wager_is_all_of_them() -> None:
    table = withdrawal_table()
    table.does("withdraw_wager", player="bo", seat=4, wager="banker")
    assert table.told("withdrawal.closed")[-1]["answer"] == "withdrawn"
    assert ("bo", "banker") not in stakes(table)


def test_who_stands_cannot_withdraw_after_it() -> None:
    table = withdrawal_table()
    table.does("decide", choice="stand", player="bo", position="dealer")
    assert table.told("withdrawal.closed")[-1]["answer"] == "stands"
    refused = table.asks("withdraw_wager", player="bo", seat=4, wager="banker")
    assert "bo has answered" in str(refused.error)
    assert ("bo", "banker") in stakes(table)


def test_without_an_answer_the_wagers_stand_when_the_dealer_closes() -> None:
    table = withdrawal_table()
    table.does("decide", choice="stand", player="bo", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    closed = table.told("withdrawal.closed")[-1]
    assert (closed["whose"], closed["seats"], closed["answer"]) == ("players", [3], "stands")
    assert len(stakes(table)) == 3
    refused = table.asks("withdraw_wager", player="ann", seat=3, wager="tie")
    assert refused.error == ("after no more bets no wager may be withdrawn (5.5)")


def test_the_status_says_who_may_still_answer() -> None:
    table = withdrawal_table()
    table.does("decide", choice="stand", player="bo", position="dealer")
    assert withdrawn_seats(table) == [3]


def withdrawn_seats(table: TableHarness) -> Any:
    halt = status(table.now, table.game, table.settings)["halt"]
    return halt["withdrawal"]["seats"]


def test_any_of_them_may_go_where_the_rule_says_so() -> None:
    table = withdrawal_table()
    rescoped(table, "double_draw")
    table.does("withdraw_wager", player="ann", seat=3, wager="tie")
    assert stakes(table) == {("ann", "player"): 500, ("bo", "banker"): 300}
    assert table.told("withdrawal.closed") == []
    table.does("withdraw_wager", player="ann", seat=3, wager="player")
    assert table.told("withdrawal.closed")[-1]["answer"] == "withdrawn"


def test_decided_wagers_stay_where_only_the_remaining_may_go() -> None:
    table = wagered_table(codes="9C 2D KD 3H")
    table.refers("void")
    table.does("place_your_bets")
    place_bet(table, "player", 500)
    place_bet(table, "big_tiger", 100)
    table.does("no_more_bets")
    table.deal("9C 2D KD 3H")
    table.turn_over()
    declare(table, "other")
    rescoped(table, "double_draw_ordered")
    turn = Turn(table.game, table.settings, PROCEDURES)
    turn.now = table.now
    window = turn.halt.current.window
    assert window is not None and {"player", "big_tiger"} <= set(window.decided)
    refused = table.asks("withdraw_wager", player="ann", seat=3, wager="player")
    assert "player is decided: it stays" in str(refused.error)


def test_where_no_wagers_are_recorded_the_window_is_the_whole_tables() -> None:
    table = TableHarness(**ON_A_FELT).open_shoe()
    table.open_round()
    table.deal("7D")
    declare(table, "power_failure")
    table.does("decide", choice="offer_withdrawal", position="dealer")
    (told,) = table.told("withdrawal.opened")
    assert (told["whose"], told["seats"]) == ("table", None)
    assert [c.name for c in offered(table)] == ["close_window", "refer"]
    table.does("decide", choice="close_window", position="dealer")
    assert table.told("withdrawal.closed")[-1]["whose"] == "table"


def offered(table: TableHarness) -> Any:
    turn = Turn(table.game, table.settings, PROCEDURES)
    turn.now = table.now
    return stack.offered_choices(turn)


def test_a_window_waits_while_something_else_is_decided_and_is_open_after_it() -> None:
    table = withdrawal_table()
    table.does("decide", choice="stand", player="bo", position="dealer")
    declare(table, "other")
    refused = table.asks("withdraw_wager", player="ann", seat=3, wager="tie")
    assert not refused.accepted
    table.rules("play_on")
    assert withdrawn_seats(table) == [3]
    assert len(table.told("withdrawal.opened")) == 1
    table.does("decide", choice="withdraw_all", player="ann", position="dealer")


def test_a_void_closes_the_window_and_returns_what_was_left() -> None:
    table = withdrawal_table()
    table.does("decide", choice="withdraw_all", player="ann", position="dealer")
    declare(table, "other")
    table.rules("void")
    kinds = [k for k in table.kinds if k in ("withdrawal.closed", "round.void", "wager.settled")]
    assert kinds == ["withdrawal.closed", "withdrawal.closed", "round.void", "wager.settled"]
    closed = table.told("withdrawal.closed")[-1]
    assert (closed["answer"], closed["seats"]) == ("void", [4])


def test_an_open_window_survives_its_bytes() -> None:
    table = withdrawal_table()
    table.does("decide", choice="stand", player="bo", position="dealer")
    assert from_bytes(to_bytes(table.now)) == table.now


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, "say player=..."),
        ({"player": "eve"}, "eve has no wager that may be withdrawn"),
    ],
)
def test_an_answer_names_a_player_who_has_one(more: dict[str, Any], why: str) -> None:
    table = withdrawal_table()
    refused = table.asks("decide", choice="withdraw_all", **more)
    assert why in str(refused.error)


def test_a_seat_answers_for_the_player_who_has_wagers_there() -> None:
    table = withdrawal_table()
    table.does("decide", choice="withdraw_all", seat=3, position="dealer")
    assert stakes(table) == {("bo", "banker"): 300}
    answered = restricted_data(table, "withdrawal.closed")[-1]
    assert (answered["players"], answered["seats"], answered["answer"]) == (
        ["ann"], [3], "withdrawn",
    )  # fmt: skip
    table.does("decide", choice="stand", seat=4, position="dealer")
    assert restricted_data(table, "withdrawal.closed")[-1]["players"] == ["bo"]
    assert withdrawn_seats(table) == []
    refused = table.asks("decide", choice="withdraw_all", seat=4)
    assert str(refused.error).endswith("seat 4 has answered: the window is closed for it")


@pytest.mark.parametrize("game", ["tiger", "immortal_dragon_tiger", "fa_fa_fabulous_4"])
def test_a_player_at_two_seats_answers_for_both_by_either(game: str) -> None:
    table = betting_table(**ON_A_FELT, name=game)
    place_bet(table, "player", 500)
    place_bet(table, "banker", 300, seat=5)
    table.does("no_more_bets")
    table.deal("7D")
    declare(table, "power_failure")
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="withdraw_all", seat=5, position="dealer")
    assert table.told("withdrawal.closed")[-1]["seats"] == [3, 5]
    assert stakes(table) == {}


def shared_seat() -> TableHarness:
    """Ann and Bo have wagers at seat 3, Bo another at seat 4."""
    table = betting_table(**ON_A_FELT)
    place_bet(table, "player", 500)
    place_bet(table, "player", 200, player="bo")
    place_bet(table, "banker", 300, player="bo", seat=4)
    table.does("no_more_bets")
    table.deal("7D")
    declare(table, "power_failure")
    table.does("decide", choice="offer_withdrawal", position="dealer")
    return table


def test_at_a_seat_of_several_players_each_is_named() -> None:
    table = shared_seat()
    for choice in ("withdraw_all", "stand"):
        refused = table.asks("decide", choice=choice, seat=3)
        assert str(refused.error).endswith("several Players have wagers at seat 3: say player=...")
    refused = table.asks("decide", choice="stand", seat=4, player="ann")
    assert str(refused.error).endswith("ann has no wager that may be withdrawn at seat 4")
    table.does("decide", choice="stand", player="bo", seat=3, position="dealer")
    table.does("decide", choice="withdraw_all", seat=3, position="dealer")
    assert restricted_data(table, "withdrawal.closed")[-1]["players"] == ["ann"]


@pytest.mark.parametrize(("seat", "why"), [(5, "no wager that may be"), (99, "no seat 99")])
def test_a_seat_that_has_nothing_to_answer_is_refused(seat: int, why: str) -> None:
    table = withdrawal_table()
    assert why in str(table.asks("decide", choice="stand", seat=seat).error)
    assert withdrawn_seats(table) == [3, 4]


def test_one_wager_goes_by_its_seat_alone() -> None:
    table = withdrawal_table()
    rescoped(table, "double_draw")
    table.does("withdraw_wager", seat=3, wager="tie")
    assert stakes(table) == {("ann", "player"): 500, ("bo", "banker"): 300}
    refused = table.asks("withdraw_wager", seat=4, wager="tie")
    assert refused.error == "there is no wager on tie at seat 4"
    table = shared_seat()
    rescoped(table, "double_draw")
    refused = table.asks("withdraw_wager", seat=3, wager="player")
    assert str(refused.error).endswith(
        "several Players have a wager on player at seat 3: say player=..."
    )


def test_while_bets_are_open_a_wager_goes_by_its_seat_alone() -> None:
    table = betting_table(**ON_A_FELT)
    place_bet(table, "tie", 100)
    table.does("withdraw_wager", seat=3, wager="tie")
    assert stakes(table) == {}
    assert restricted_data(table, "wager.accepted")[-1]["player"] == "ann"
