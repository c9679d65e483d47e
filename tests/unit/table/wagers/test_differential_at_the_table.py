"""The table differential in the round: no card before it is met, by each way the rules know."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.commands import Locked
from firmware_proto.events import CardsDrawn
from shoe_ctl.table.status import status
from shoe_testing.ledger_requests import NUMBERS, PLAYER_WINS, STAFFED
from shoe_testing.table_situations import (
    DIFFERENTIAL_LIMITS,
    UNEVEN_STAKES,
    decide_differential,
    exceeded_table,
)
from shoe_testing.tables import (
    IMPLIED,
    SHIFT,
    TableHarness,
    betting_table,
    restricted_data,
    wager_table,
)


def ended(table: TableHarness) -> list[tuple[str, str]]:
    return [(d["how"], d["rule"]) for d in table.told("irregularity.resolved")]


# Looked at again when wagers change.

EVEN = (("ann", 1, "player", 1900), ("ben", 2, "banker", 1600))


def even(codes: str = "", game: str = "tiger", **given: Any) -> TableHarness:
    """No more bets: Player 1900 against Banker 1600, and these cards."""
    table = betting_table(DIFFERENTIAL_LIMITS, name=game, **given)
    for player, seat, wager, amount in EVEN:
        table.does("place_wager", player=player, seat=seat, wager=wager, amount=amount)
    table.does("no_more_bets")
    table.deal(codes)
    return table


def declares(table: TableHarness, key: str, amount: int) -> None:
    """Of ann's wager on Player."""
    of = {"player": "ann", "seat": 1, "wager": "player", "amount": amount}
    table.does("declare", key=key, reason="seen", **of)


def leaves(table: TableHarness, who: str, key: str) -> None:
    """In the window that this opens this Player withdraws all."""
    table.does("declare", key=key, reason="seen")
    if key == "power_failure":
        table.does("decide", choice="offer_withdrawal")
    table.does("decide", choice="withdraw_all", player=who)
    table.does("decide", choice="close_window")


@pytest.mark.parametrize("game", STAFFED)
def test_what_is_found_before_the_first_card_is_met_by_players_like_at_no_more_bets(
    game: str,
) -> None:
    table = even(game=game)
    assert table.now.state == "closed"
    declares(table, "over_maximum", 2500)
    assert (table.now.state, table.key) == ("suspended", "table_differential")
    raised = table.told("irregularity.raised")[-1]
    assert (raised["step"], raised["differential"]["excess"]) == ("changing", 400)
    of = {"player": "ben", "seat": 2, "wager": "banker", "amount": 400}
    table.does("decide", choice="increase", **of)
    assert table.now.state == "closed"


@pytest.mark.parametrize("game", STAFFED)
def test_with_power_lost_before_the_first_card_it_is_looked_at_after_the_window(game: str) -> None:
    table = even(game=game)
    leaves(table, "ben", "power_failure")
    assert table.key == "power_failure"
    table.does("decide", choice="play_on")
    assert (table.key, table.told("irregularity.raised")[-1]["step"]) == (
        "table_differential",
        "changing",
    )


RULED = ("play_on", "void")


def is_for_the_shift_manager(table: TableHarness) -> bool:
    """It is the differential, and under 6.1."""
    assert table.now.halt is not None, table.now.state
    halt = status(table.now, table.game, table.settings)["halt"]
    offered = [(choice["choice"], choice["position"]) for choice in halt["choices"]]
    assert offered == [(choice, SHIFT) for choice in RULED]
    return bool(table.key == "table_differential")


@pytest.mark.parametrize("codes", ["2D", "2D 3C TS TH"])
@pytest.mark.parametrize("method", ["A", "B", "C"])
def test_what_is_found_with_cards_out_is_the_shift_managers(codes: str, method: str) -> None:
    area = {"area": "Paiza Club"} if method == "C" else {}
    table = even(codes, method=method, **area)
    declares(table, "over_maximum", 2500)
    assert is_for_the_shift_manager(table)
    table.rules("play_on")
    assert ended(table)[-1] == ("play_on", "6.1")
    assert table.now.halt is None
    table.does("declare", key="other", reason="a lamp went out")
    table.rules("play_on")
    assert table.now.halt is None  # what was ruled on is not asked again


def test_a_wager_found_after_the_outcome_is_looked_at_before_it_is_settled() -> None:
    table = even("9C 2D KD 3H")
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    declares(table, "over_maximum", 2500)
    assert is_for_the_shift_manager(table)
    table.rules("play_on")
    table.does("settle")
    assert table.now.state == "idle"


def test_what_lies_late_does_not_count_and_what_turns_out_late_counts_no_longer() -> None:
    table = even()
    declares(table, "late_wager", 700)
    assert table.now.state == "closed"
    table = even("2D")
    declares(table, "over_maximum", 2600)
    assert is_for_the_shift_manager(table)
    declares(table, "late_wager", 700)
    table.rules("play_on")
    assert table.now.state == "dealing"


def test_late_chips_on_the_lower_hand_may_exceed_it() -> None:
    table = even("2D")
    of = {"player": "ben", "seat": 2, "wager": "banker"}
    table.does("declare", key="over_maximum", reason="seen", amount=2300, **of)
    assert table.now.state == "dealing"
    declares(table, "over_maximum", 2400)
    assert table.now.state == "dealing"
    table.does("declare", key="late_wager", reason="seen", amount=700, **of)
    assert is_for_the_shift_manager(table)


@pytest.mark.parametrize("key", ["power_failure", "double_draw"])
def test_who_withdraws_in_a_window_with_cards_out_leaves_it_to_the_shift_manager(key: str) -> None:
    table = even("2D" if key == "power_failure" else "")
    if key == "power_failure":
        leaves(table, "ben", key)
        table.does("decide", choice="play_on")
    else:
        table.says(CardsDrawn(cards=(card("2D"), card("3C")), number=1, order_known=True))
        table.does("decide", choice="order_from_shoe", reason="its count")
        table.does("decide", choice="withdraw_all", player="ben")
        table.does("decide", choice="close_window")
        assert table.key == "double_draw"
        table.does("decide", choice="reconstruct")
    assert is_for_the_shift_manager(table)
    table.rules("play_on")
    assert table.now.state == "dealing"


def test_a_round_bet_on_again_with_its_cards_on_the_table_is_looked_at_with_no_more_bets() -> None:
    table = even("2D 3C")
    table.does("declare", key="device_reset", reason="drawn too early")
    table.does("decide", choice="withdraw_all", player="ben")
    for choice in ("close_window", "device_is_reset", "open_round"):
        table.does("decide", choice=choice, reason="seen")
    assert table.now.state == "betting"
    table.does("no_more_bets")
    assert is_for_the_shift_manager(table)
    table.rules("play_on")
    assert table.now.state == "dealing"


def test_found_while_the_table_is_halted_it_waits_for_what_halts_it() -> None:
    table = even("2D")
    table.does("declare", key="other", reason="a lamp went out")
    declares(table, "over_maximum", 2500)
    assert table.key == "other"
    table.rules("play_on")
    assert is_for_the_shift_manager(table)


@pytest.mark.parametrize("game", STAFFED)
def test_no_more_bets_asks_the_higher_hand_to_decrease_and_frees_no_card(game: str) -> None:
    table = exceeded_table(game)
    assert (table.now.state, table.key) == ("suspended", "table_differential")
    assert table.kinds[-3:] == ["round.bets_closed", "irregularity.raised", "table.halted"]
    assert isinstance(table.desired, Locked)
    raised = table.told("irregularity.raised")[-1]
    assert raised["rules"]["decreased"] == NUMBERS[game]["decreased"]
    assert raised["differential"] == {
        "player": 1600, "banker": 300, "limit": 500, "high": "player", "excess": 800,
        "decrease": [
            {"number": 1, "seat": 1, "wager": "player", "most": 900},
            {"number": 2, "seat": 2, "wager": "player", "most": 500},
        ],
        "increase": [{"number": 3, "seat": 3, "wager": "banker", "most": 1700}],
    }  # fmt: skip
    assert "ann" not in repr([e.data for e in table.public])


@pytest.mark.parametrize("game", STAFFED)
def test_it_ends_by_itself_with_the_change_that_meets_it(game: str) -> None:
    table = exceeded_table(game)
    decide_differential(table, "decrease", "ann", 700)
    assert table.key == "table_differential"
    assert table.told("irregularity.step")[-1]["differential"]["excess"] == 100
    decide_differential(table, "increase", "cho", 100)
    assert ended(table) == [("increased", NUMBERS[game]["increased"])]
    assert (table.now.state, table.kinds[-1]) == ("closed", "table.resumed")
    assert not isinstance(table.desired, Locked)
    acts = [(d["act"], d["change"]) for d in table.told("wager.accepted")[-2:]]
    assert acts == [("decreased", -700), ("increased", 100)]
    table.deal(PLAYER_WINS[table.game.deck.name])
    table.finish()
    assert {ln["player"]: ln["stake"] for ln in restricted_data(table, "wager.settled")} == {
        "ann": 300, "ben": 600, "cho": 400, "dan": 900,
    }  # fmt: skip


def test_a_decrease_that_meets_it_alone_ends_it_under_its_own_rule() -> None:
    table = exceeded_table()
    decide_differential(table, "decrease", "ann", 800)
    assert ended(table) == [("decreased", "5.18.1")]


@pytest.mark.parametrize("game", STAFFED)
def test_where_that_is_not_enough_the_pit_manager_names_what_is_removed(game: str) -> None:
    table = exceeded_table(game)
    decide_differential(table, "decrease", "ann", 100)
    decide_differential(table, "insufficient")
    step = table.told("irregularity.step")[-1]
    assert [c["choice"] for c in step["choices"]] == ["remove", "set_aside"]
    assert step["differential"]["remove"] == [
        {"number": 1, "seat": 1, "wager": "player", "amount": 900},
        {"number": 2, "seat": 2, "wager": "player", "amount": 600},
    ]
    low = table.asks(
        "decide", position="pit_supervisor", reason="r", choice="remove", player="ann", seat=1,
        wager="player",
    )  # fmt: skip
    assert low.needs == {"position": "pit_manager"}
    decide_differential(table, "remove", "ann", position="pit_manager", reason="the highest")
    assert ended(table) == [("removed", NUMBERS[game]["removed"])]
    assert table.now.state == "closed"
    assert table.told("wager.accepted")[-1]["act"] == "removed"


def test_the_pit_manager_removes_on_until_neither_hand_exceeds_it() -> None:
    table = betting_table(DIFFERENTIAL_LIMITS)
    for player, seat, wager, amount in (
        ("ann", 1, "player", 2000), ("cho", 3, "banker", 900), ("ben", 2, "player", 100),
    ):  # fmt: skip
        table.does("place_wager", player=player, seat=seat, wager=wager, amount=amount)
    table.does("no_more_bets")
    decide_differential(table, "insufficient")
    for player, seat, wager in (("ann", 1, "player"), ("cho", 3, "banker")):
        assert table.key == "table_differential"
        table.does(
            "decide", position="pit_manager", reason="r", choice="remove", player=player,
            seat=seat, wager=wager,
        )  # fmt: skip
    assert table.now.state == "closed"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"choice": "decrease", "player": "cho", "seat": 3, "wager": "banker", "amount": 1},
         "to decrease wagers on banker would widen it (5.18.1)"),
        ({"choice": "increase", "player": "ann", "seat": 1, "wager": "player", "amount": 1},
         "to increase wagers on player would widen it (5.18.2)"),
        ({"choice": "decrease", "player": "dan", "seat": 4, "wager": "tie", "amount": 1},
         "tie does not count for the differential (5.18.1)"),
        ({"choice": "decrease", "player": "ann", "seat": 1, "wager": "player", "amount": 950},
         "50 on player is under the minimum of 100 (3.5.1)"),
        ({"choice": "increase", "player": "cho", "seat": 3, "wager": "banker", "amount": 1701},
         "2001 on banker is over the maximum of 2000 (3.5.1)"),
        ({"choice": "increase", "player": "cho", "seat": 3, "wager": "banker"},
         "say amount=..."),
        ({"choice": "decreased"},
         "the choice is one of decrease, increase, insufficient, set_aside"),
        ({"choice": "set_aside"}, "no cards are there to be set aside"),
    ],
)  # fmt: skip
def test_what_does_not_bring_it_nearer_within_the_limits_is_refused(
    asked: dict[str, Any], why: str
) -> None:
    table = exceeded_table()
    before = table.now.wagers
    answer = table.asks("decide", reason="r", **asked)
    assert answer.error == f"{why}"
    assert (table.now.wagers, table.key) == (before, "table_differential")


def test_a_placement_is_never_refused_for_it() -> None:
    table = betting_table(DIFFERENTIAL_LIMITS)
    table.does("place_wager", player="ann", seat=1, wager="player", amount=2000)
    assert table.now.halt is None
    table.does("place_wager", player="cho", seat=3, wager="banker", amount=1500)
    table.does("no_more_bets")
    assert (table.now.state, table.told("irregularity.raised")) == ("closed", [])


def test_in_method_a_the_cards_go_to_whoever_has_most_once_it_is_met() -> None:
    table = exceeded_table(method="A")
    decide_differential(table, "decrease", "ann", 800)
    for code in ["7D", "7C", "TS", "TH"]:
        table.draw(code)
    table.does("pass_cards", hand="player")
    told = restricted_data(table, "cards.passed")[-1]
    assert (told["player"], told["seat"]) == ("ben", 2)


def test_a_card_drawn_before_it_is_met_has_no_place_until_it_is_laid_aside() -> None:
    table = exceeded_table()
    table.draw("9C")
    asked: dict[str, Any] = {"player": "ann", "seat": 1, "wager": "player", "amount": 800}
    answer = table.asks("decide", choice="decrease", **asked)
    assert answer.error == "cards were drawn that have no place in the round"
    decide_differential(table, "set_aside", position=SHIFT, reason="it lay on the felt")
    decide_differential(table, "decrease", "ann", 800)
    assert (table.now.state, table.now.shoe.drawn) == ("closed", 1)


def test_what_comes_meanwhile_is_decided_first_and_leads_back_to_it() -> None:
    table = exceeded_table()
    table.fails()
    table.rules("play_on")
    assert table.key == "table_differential"
    assert isinstance(table.desired, Locked)
    decide_differential(table, "decrease", "ann", 800)
    assert table.now.state == "closed"


def test_a_void_meanwhile_returns_all_wagers() -> None:
    table = exceeded_table()
    table.fails()
    table.rules("void")
    assert (table.now.state, table.now.halt) == ("idle", None)
    assert {ln["result"] for ln in table.told("wager.settled")} == {"returned"}


# Found by people, or after a card.


def test_where_no_wagers_are_recorded_staff_declare_it_and_say_how_it_was_met() -> None:
    for choices, rule in ((["decreased"], "5.18.1"), (["increased"], "5.18.2"),
                          (["insufficient", "removed"], "5.18.3")):  # fmt: skip
        table = wager_table()
        table.open_round()
        table.does("declare", key="table_differential", reason="counted", position="dealer")
        assert isinstance(table.desired, Locked)
        for choice in choices:
            by = "pit_manager" if choice == "removed" else "dealer"
            table.does("decide", choice=choice, reason="counted again", position=by)
        assert ended(table)[-1][1] == rule
        assert table.now.state == "closed"


@pytest.mark.parametrize("game", STAFFED)
@pytest.mark.parametrize("choice", ["play_on", "void"])
def test_found_after_a_card_the_shift_manager_rules(game: str, choice: str) -> None:
    table = wager_table(name=game)
    table.open_round()
    table.draw(PLAYER_WINS[table.game.deck.name].split()[0])
    table.does("declare", key="table_differential", reason="counted")
    assert [c["choice"] for c in table.told("irregularity.raised")[-1]["choices"]] == [
        "play_on",
        "void",
    ]
    table.rules(choice)
    assert ended(table)[-1][1] == "6.1"
    assert table.now.state == ("dealing" if choice == "play_on" else "idle")


def test_where_the_first_card_closes_the_bets_it_is_found_after_a_card() -> None:
    table = wager_table(DIFFERENTIAL_LIMITS, **IMPLIED)
    table.does("place_wager", player="ann", seat=1, wager="player", amount=2000)
    table.draw("9C")
    assert (table.key, table.now.halt.current.step) == ("table_differential", "ruling")
    table.rules("play_on")
    assert table.now.state == "dealing"


def test_the_status_shows_the_totals_and_what_may_change() -> None:
    table = exceeded_table()
    told = status(table.now, table.game, table.settings)
    assert told["halt"]["differential"]["excess"] == 800
    assert told["next"]["command"] == "decide"
    assert {c["choice"]: c.get("args") for c in told["halt"]["choices"]}["decrease"] == [
        "player", "seat", "wager", "amount",
    ]  # fmt: skip


def test_a_wager_is_decreased_by_its_seat_alone() -> None:
    table = exceeded_table()
    table.does("decide", choice="decrease", seat=1, wager="player", amount=800, position="dealer")
    assert restricted_data(table, "wager.accepted")[-1]["player"] == "ann"
    assert table.now.halt is None


def test_at_a_seat_where_several_players_have_the_wager_the_player_is_said() -> None:
    table = betting_table(DIFFERENTIAL_LIMITS)
    for player, seat, wager, amount in (*UNEVEN_STAKES, ("eve", 1, "player", 200)):
        table.does("place_wager", player=player, seat=seat, wager=wager, amount=amount)
    table.does("no_more_bets")
    asked: dict[str, Any] = {"choice": "decrease", "seat": 1, "wager": "player", "amount": 100}
    assert "several Players have a wager on player at seat 1: say player=..." in str(
        table.asks("decide", **asked).error
    )
    assert table.asks("decide", **asked, player="eve").accepted
    refused = table.asks("decide", choice="decrease", seat=9, wager="player", amount=100)
    assert not refused.accepted and "seat 9" in str(refused.error)
