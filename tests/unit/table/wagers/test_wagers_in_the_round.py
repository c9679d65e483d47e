"""Wagers in the round: who may give them when, what is told to whom, money at the round's end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.errors import InputRefused
from shoe_ctl.games import catalog
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.tables import (
    BANKER_WINS,
    IMPLIED,
    PLAYER_WINS,
    TableHarness,
    betting_table,
    place_bet,
    restricted_data,
    wager_table,
)


def plays_out(table: TableHarness, codes: str) -> None:
    table.does("no_more_bets")
    table.deal(codes)
    table.finish()


# A round with wagers.


def test_a_round_takes_wagers_and_settles_them_before_it_is_settled() -> None:
    table = betting_table()
    place_bet(table, amount=500)
    table.does("increase_wager", player="ann", seat=3, wager="player", amount=100)
    place_bet(table, "tie", 50)
    place_bet(table, "banker", 1000, player="ben", seat=5)
    table.does("decrease_wager", player="ben", seat=5, wager="banker", amount=200)
    place_bet(table, "tiger", 10, player="ben", seat=5)
    table.does("withdraw_wager", player="ben", seat=5, wager="tiger")
    plays_out(table, BANKER_WINS)
    lines = restricted_data(table, "wager.settled")
    assert [(ln["player"], ln["wager"], ln["result"], ln["pays"]) for ln in lines] == [
        ("ann", "player", "lose", 0),
        ("ann", "tie", "lose", 0),
        ("ben", "banker", "win", 760),
    ]
    assert [(ln["collected"], ln["returned"]) for ln in lines] == [(600, 0), (50, 0), (0, 800)]
    assert lines[2]["commission"] == 40
    assert table.kinds[-4:] == ["wager.settled"] * 3 + ["round.settled"]
    assert {e.subject for e in table.events if e.type.startswith("wager.")} == {
        table.told("round.outcome")[0]["round_id"]
    }


def test_an_accepted_wager_is_told_with_its_change_and_what_then_stands() -> None:
    table = betting_table()
    place_bet(table, amount=500, on_behalf=True)
    table.does("increase_wager", player="ann", seat=3, wager="player", amount=100, reason="asked")
    round_id = table.now.round.id
    assert table.told("wager.accepted") == [
        {"round_id": round_id, "number": 1, "act": "placed", "seat": 3, "wager": "player",
         "change": 500, "amount": 500},
        {"round_id": round_id, "number": 1, "act": "increased", "seat": 3, "wager": "player",
         "change": 100, "amount": 600},
    ]  # fmt: skip
    first, second = restricted_data(table, "wager.accepted")
    assert (first["player"], first["person"], first["on_behalf"]) == ("ann", "kim", True)
    assert (second["why"], second["rule"]) == ("asked", "3.5.1")


def test_the_public_never_learns_whose_a_wager_is() -> None:
    table = betting_table()
    place_bet(table, player="a-very-secret-name")
    table.asks("place_wager", player="a-very-secret-name", seat=99, wager="tie", amount=5)
    plays_out(table, PLAYER_WINS)
    assert "wager.settled" in table.kinds
    assert not any("a-very-secret-name" in repr((e.data, e.subject)) for e in table.public)
    assert "wager.refused" not in table.kinds


def test_the_outcome_is_what_it_is_without_wagers() -> None:
    def outcome(*, with_wagers: bool) -> dict[str, Any]:
        table = betting_table()
        if with_wagers:
            place_bet(table)
        plays_out(table, PLAYER_WINS)
        return table.told("round.outcome")[0]

    assert outcome(with_wagers=True) == outcome(with_wagers=False)


def test_nothing_of_a_round_is_left_in_the_next() -> None:
    table = betting_table()
    place_bet(table)
    plays_out(table, PLAYER_WINS)
    table.does("place_your_bets")
    assert table.now.wagers.standing == table.now.wagers.history == ()
    place_bet(table)
    assert restricted_data(table, "wager.accepted")[-1]["number"] == 1


# Refusals.


def test_a_refused_wager_says_under_which_rule_and_changes_nothing() -> None:
    table = betting_table({"minimum": 100})
    before = table.now.wagers
    answer = table.asks("place_wager", player="ann", seat=3, wager="tie", amount=99)
    assert not answer.accepted
    assert answer.error == "99 on tie is under the minimum of 100 (3.5.1)"
    (told,) = restricted_data(table, "wager.refused")
    assert (told["rule"], english(told["error"])) == (
        "3.5.1",
        "99 on tie is under the minimum of 100",
    )
    assert told["asked"] == {"amount": 99, "player": "ann", "seat": 3, "wager": "tie"}
    assert (told["person"], told["command"]) == ("kim", "place_wager")
    assert table.now.wagers == before
    assert table.told("wager.refused") == []


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"player": "ann", "seat": 3, "wager": "tie"},
        {"player": "ann", "seat": "3", "wager": "tie", "amount": 5},
        {"player": "ann", "seat": 3, "wager": "tie", "amount": 5.0},
        {"player": "ann", "seat": 3, "wager": "tie", "amount": True},
        {"player": "", "seat": 3, "wager": "tie", "amount": 5},
        {"player": "x" * 65, "seat": 3, "wager": "tie", "amount": 5},
        {"player": "ann", "seat": 3, "wager": "tie", "amount": 5, "colour": "red"},
        {"player": {"id": 1}, "seat": 3, "wager": "tie", "amount": 5},
    ],
)
def test_wrong_arguments_are_refused_by_name(args: dict[str, Any]) -> None:
    table = betting_table()
    assert not table.asks("place_wager", **args).accepted
    assert table.now.wagers.standing == ()
    assert len(restricted_data(table, "wager.refused")) == 1


def test_what_was_asked_is_told_as_far_as_it_is_plain() -> None:
    table = betting_table()
    table.asks("place_wager", player=None, seat={"n": [1]}, wager="tie", amount=2.5)
    assert restricted_data(table, "wager.refused")[0]["asked"] == {"player": None, "wager": "tie"}


def test_a_player_may_be_a_number() -> None:
    table = betting_table()
    place_bet(table, player=17)
    assert table.now.wagers.standing[0].player == "17"


LATE = {
    "place_wager": ("tie", 5, "5.4"),
    "increase_wager": ("player", 5, "5.4"),
    "decrease_wager": ("player", 5, "5.5"),
    "withdraw_wager": ("player", None, "5.5"),
}


@pytest.mark.parametrize("command", LATE)
def test_after_no_more_bets_a_wager_is_refused_until_the_round_is_over(command: str) -> None:
    wager, amount, rule = LATE[command]
    args: dict[str, Any] = {"player": "ann", "seat": 3, "wager": wager}
    args |= {} if amount is None else {"amount": amount}
    table = betting_table()
    place_bet(table)
    table.does("no_more_bets")
    held = table.now.wagers
    seen = set()

    def tries() -> None:
        seen.add(table.now.state)
        before = len(table.effects)
        assert not table.asks(command, **args).accepted
        told = table.effects[before]
        assert isinstance(told, TableEvent)
        assert (told.type, told.data["rule"]) == ("wager.refused", rule)
        assert table.now.wagers == held

    tries()
    for code in PLAYER_WINS.split():
        table.draw(code)
        tries()
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    tries()
    table.fails()
    tries()
    assert seen == {"closed", "dealing", "revealing", "resolved", "suspended"}


@pytest.mark.parametrize("command", LATE)
def test_between_rounds_no_wager_is_taken_before_place_your_bets(command: str) -> None:
    wager, amount, _ = LATE[command]
    args: dict[str, Any] = {} if amount is None else {"amount": amount}
    table = wager_table()
    answer = table.asks(command, player="ann", seat=3, wager=wager, **args)
    assert answer.error == "no round is open (3.1)"
    assert "round_id" not in restricted_data(table, "wager.refused")[0]


def test_while_an_irregularity_is_open_in_betting_the_state_that_takes_wagers_is_named() -> None:
    table = betting_table()
    table.fails()
    answer = table.asks("withdraw_wager", player="ann", seat=3, wager="tie")
    assert (answer.accepted, answer.needs) == (False, {"state": "betting"})
    assert restricted_data(table, "wager.refused") == []


def test_a_stale_round_id_is_refused() -> None:
    table = betting_table()
    answer = table.asks(
        "place_wager", player="ann", seat=3, wager="tie", amount=5, round_id="bac-07-s1-r9"
    )
    assert not answer.accepted
    place_bet(table, round_id=table.now.round.id)


def test_a_repeated_command_places_nothing_twice() -> None:
    table = betting_table()
    for _ in range(2):
        place_bet(table, command_id="c-1")
    assert [held.amount for held in table.now.wagers.standing] == [500]


def test_a_position_outside_the_ladder_places_nothing() -> None:
    table = betting_table()
    answer = table.asks(
        "place_wager", position="surveillance", player="ann", seat=3, wager="tie", amount=5
    )
    assert answer.needs == {"position": "dealer"}


# Implied announcements: the first wager opens the round.


def test_the_first_wager_opens_the_round_where_announcements_are_implied() -> None:
    table = wager_table(**IMPLIED)
    place_bet(table)
    assert table.kinds[-2:] == ["round.opened", "wager.accepted"]
    assert table.told("round.opened")[0]["inferred"] is True
    assert table.now.state == "betting"
    place_bet(table, "tie", 5)
    table.play(PLAYER_WINS)
    assert [line["result"] for line in table.told("wager.settled")] == ["win", "lose"]
    assert table.now.state == "idle"


def test_a_refused_first_wager_opens_no_round() -> None:
    table = wager_table({"minimum": 100}, **IMPLIED)
    answer = table.asks("place_wager", player="ann", seat=3, wager="tie", amount=5)
    assert answer.error is not None and "under the minimum" in answer.error
    assert (table.now.state, table.now.round, table.now.rounds) == ("idle", None, 0)
    assert len(restricted_data(table, "wager.refused")) == 1


def test_a_round_opened_by_its_first_card_takes_no_wager_any_more() -> None:
    table = wager_table(**IMPLIED)
    table.draw("9C")
    answer = table.asks("place_wager", player="ann", seat=3, wager="tie", amount=5)
    assert answer.error is not None and "(5.4)" in answer.error


# Void.


def test_a_void_round_returns_every_wager_decided_ones_too() -> None:
    table = betting_table()
    place_bet(table)
    place_bet(table, "tie", 50)
    table.does("no_more_bets")
    table.deal("9C 2D KD 3H")
    table.fails()
    table.rules("void")
    lines = table.told("wager.settled")
    assert [(ln["result"], ln["returned"], ln["pays"]) for ln in lines] == [
        ("returned", 500, 0),
        ("returned", 50, 0),
    ]
    assert {line["rule"] for line in lines} == {table.told("round.void")[0]["rule"]}
    assert table.kinds.index("round.void") < table.kinds.index("wager.settled")
    assert table.now.wagers.standing == ()


def test_a_void_while_bets_are_open_returns_them_too() -> None:
    table = betting_table()
    place_bet(table)
    table.fails()
    table.rules("void")
    assert [line["returned"] for line in table.told("wager.settled")] == [500]
    assert table.now.wagers.betting == "between"


# Limits of the table.


def test_payouts_are_rounded_and_under_minimum_is_remembered_at_the_table() -> None:
    table = betting_table({"minimum": 10, "currency": {"unit": 10, "rounding": "down"}})
    place_bet(table, "banker", 330)
    plays_out(table, BANKER_WINS)
    (line,) = table.told("wager.settled")
    assert (line["pays"], line["commission"], line["odds"]) == (310, 20, "19/20")


def test_the_royal_game_caps_a_win_and_takes_one_player() -> None:
    royal = {**IMPLIED, "name": "dragon_bonus_royal", "method": None}
    table = wager_table({"payout_cap": 300}, **royal)
    table.does("place_wager", player="ann", seat=1, wager="player", amount=500)
    answer = table.asks("place_wager", player="ben", seat=1, wager="tie", amount=5)
    assert answer.error == "dragon_bonus_royal takes 1 Player at once"
    table.play(PLAYER_WINS)
    (line,) = table.told("wager.settled")
    assert (line["pays"], line["returned"]) == (300, 500)
    assert line["applied"] == [{"key": "payout_cap", "end": "capped", "rule": None}]


def test_limits_that_the_game_has_no_place_for_make_no_table() -> None:
    with pytest.raises(InputRefused, match="payout_cap: tiger knows no highest payout"):
        wager_table({"payout_cap": 300})


def test_a_pit_manager_restricts_the_wagers_of_an_area_from_the_next_round() -> None:
    table = betting_table()
    low = table.asks("restrict_wagers", position="pit_supervisor", number=1)
    assert low.needs == {"position": "pit_manager"}
    table.does("restrict_wagers", position="pit_manager", number=1)
    assert table.told("wagers.restricted") == [{"number": 1, "from": "next_round", "rule": "3.7.1"}]
    assert restricted_data(table, "wagers.restricted")[0]["person"] == "kim"
    place_bet(table)
    place_bet(table, player="ben")
    plays_out(table, PLAYER_WINS)
    table.does("place_your_bets")
    place_bet(table)
    answer = table.asks("place_wager", player="ben", seat=3, wager="player", amount=5)
    assert answer.error == "seat 3 takes 1 wager on player (3.7.1)"


def test_a_game_may_leave_the_restriction_to_a_higher_position(tmp_path: Path) -> None:
    rules = catalog.load("tiger").source.decode()
    variant = tmp_path / "variant.toml"
    variant.write_text(rules.replace('lowered_by = "pit', 'lowered_by = "gaming_shift'))
    table = betting_table(name=str(variant))
    answer = table.asks("restrict_wagers", position="pit_manager", number=1)
    assert answer.needs == {"position": "gaming_shift_manager"}
    table.does("restrict_wagers", position="gaming_shift_manager", number=1)


@pytest.mark.parametrize("args", [{}, {"number": 3}, {"number": 0}, {"number": "1"}, {"n": 1}])
def test_a_restriction_that_is_none_is_refused(args: dict[str, Any]) -> None:
    table = betting_table()
    assert not table.asks("restrict_wagers", **args).accepted
    assert table.now.wagers.restriction_next is None
    assert table.told("wagers.restricted") == []
