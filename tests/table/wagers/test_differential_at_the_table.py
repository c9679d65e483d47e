"""The table differential in the round: no card before it is met, by each way the rules know."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.events import Locked
from shoe_ctl.table.status import status
from tests.table.playing import SHIFT, Playing
from tests.table.staking import IMPLIED, betting, playing, secret
from tests.table.wagers.asking import NUMBERS, PLAYER_WINS, STAFFED

LIMITS: dict[str, Any] = {"minimum": 100, "maximum": 2000, "differential": 500}
UNEVEN = (("ann", 1, "player", 1000), ("ben", 2, "player", 600), ("cho", 3, "banker", 300))


def exceeded(game: str = "tiger", method: str = "B") -> Playing:
    """No more bets: Player 1600 against Banker 300, where 500 is allowed."""
    table = betting(LIMITS, name=game, method=method)
    for player, seat, wager, amount in UNEVEN:
        table.does("place_wager", player=player, seat=seat, wager=wager, amount=amount)
    table.does("place_wager", player="dan", seat=4, wager="tie", amount=900)
    table.does("no_more_bets")
    return table


def decides(table: Playing, choice: str, who: str = "", *amount: int, **more: Any) -> None:
    wager = next((w for w in UNEVEN if w[0] == who), None)
    if wager is not None:
        more |= {"player": who, "seat": wager[1], "wager": wager[2]}
    more |= {"amount": amount[0]} if amount else {}
    table.does("decide", choice=choice, **{"position": "dealer", **more})


def ended(table: Playing) -> list[tuple[str, str]]:
    return [(d["how"], d["rule"]) for d in table.told("irregularity.resolved")]


@pytest.mark.parametrize("game", STAFFED)
def test_no_more_bets_asks_the_higher_hand_to_decrease_and_frees_no_card(game: str) -> None:
    table = exceeded(game)
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
    table = exceeded(game)
    decides(table, "decrease", "ann", 700)
    assert table.key == "table_differential"
    assert table.told("irregularity.step")[-1]["differential"]["excess"] == 100
    decides(table, "increase", "cho", 100)
    assert ended(table) == [("increased", NUMBERS[game]["increased"])]
    assert (table.now.state, table.kinds[-1]) == ("closed", "table.resumed")
    assert not isinstance(table.desired, Locked)
    acts = [(d["act"], d["change"]) for d in table.told("wager.accepted")[-2:]]
    assert acts == [("decreased", -700), ("increased", 100)]
    table.deal(PLAYER_WINS[table.game.deck.name])
    table.finish()
    assert {ln["player"]: ln["stake"] for ln in secret(table, "wager.settled")} == {
        "ann": 300, "ben": 600, "cho": 400, "dan": 900,
    }  # fmt: skip


def test_a_decrease_that_meets_it_alone_ends_it_under_its_own_rule() -> None:
    table = exceeded()
    decides(table, "decrease", "ann", 800)
    assert ended(table) == [("decreased", "5.18.1")]


@pytest.mark.parametrize("game", STAFFED)
def test_where_that_is_not_enough_the_pit_manager_names_what_is_removed(game: str) -> None:
    table = exceeded(game)
    decides(table, "decrease", "ann", 100)
    decides(table, "insufficient")
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
    decides(table, "remove", "ann", position="pit_manager", reason="the highest")
    assert ended(table) == [("removed", NUMBERS[game]["removed"])]
    assert table.now.state == "closed"
    assert table.told("wager.accepted")[-1]["act"] == "removed"


def test_the_pit_manager_removes_on_until_neither_hand_exceeds_it() -> None:
    table = betting(LIMITS)
    for player, seat, wager, amount in (
        ("ann", 1, "player", 2000), ("cho", 3, "banker", 900), ("ben", 2, "player", 100),
    ):  # fmt: skip
        table.does("place_wager", player=player, seat=seat, wager=wager, amount=amount)
    table.does("no_more_bets")
    decides(table, "insufficient")
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
         "decrease: to decrease wagers on banker would widen it (5.18.1)"),
        ({"choice": "increase", "player": "ann", "seat": 1, "wager": "player", "amount": 1},
         "increase: to increase wagers on player would widen it (5.18.2)"),
        ({"choice": "decrease", "player": "dan", "seat": 4, "wager": "tie", "amount": 1},
         "decrease: tie does not count for the differential (5.18.1)"),
        ({"choice": "decrease", "player": "ann", "seat": 1, "wager": "player", "amount": 950},
         "decrease: 50 on player is under the minimum of 100 (3.5.1)"),
        ({"choice": "increase", "player": "cho", "seat": 3, "wager": "banker", "amount": 1701},
         "increase: 2001 on banker is over the maximum of 2000 (3.5.1)"),
        ({"choice": "increase", "player": "cho", "seat": 3, "wager": "banker"},
         "increase: say amount=..."),
        ({"choice": "decreased"},
         "the choice is one of decrease, increase, insufficient, set_aside"),
        ({"choice": "set_aside"}, "set_aside: no cards are there to be set aside"),
    ],
)  # fmt: skip
def test_what_does_not_bring_it_nearer_within_the_limits_is_refused(
    asked: dict[str, Any], why: str
) -> None:
    table = exceeded()
    before = table.now.wagers
    answer = table.asks("decide", reason="r", **asked)
    assert answer.error == f"decide: {why}"
    assert (table.now.wagers, table.key) == (before, "table_differential")


def test_a_placement_is_never_refused_for_it() -> None:
    table = betting(LIMITS)
    table.does("place_wager", player="ann", seat=1, wager="player", amount=2000)
    assert table.now.halt is None
    table.does("place_wager", player="cho", seat=3, wager="banker", amount=1500)
    table.does("no_more_bets")
    assert (table.now.state, table.told("irregularity.raised")) == ("closed", [])


def test_in_method_a_the_cards_go_to_whoever_has_most_once_it_is_met() -> None:
    table = exceeded(method="A")
    decides(table, "decrease", "ann", 800)
    for code in ["7D", "7C", "TS", "TH"]:
        table.draw(code)
    table.does("pass_cards", hand="player")
    told = secret(table, "cards.passed")[-1]
    assert (told["player"], told["seat"]) == ("ben", 2)


def test_a_card_drawn_before_it_is_met_has_no_place_until_it_is_laid_aside() -> None:
    table = exceeded()
    table.draw("9C")
    asked: dict[str, Any] = {"player": "ann", "seat": 1, "wager": "player", "amount": 800}
    answer = table.asks("decide", choice="decrease", **asked)
    assert answer.error == "decide: decrease: cards were drawn that have no place in the round"
    decides(table, "set_aside", position=SHIFT, reason="it lay on the felt")
    decides(table, "decrease", "ann", 800)
    assert (table.now.state, table.now.shoe.drawn) == ("closed", 1)


def test_what_comes_meanwhile_is_decided_first_and_leads_back_to_it() -> None:
    table = exceeded()
    table.fails()
    table.rules("play_on")
    assert table.key == "table_differential"
    assert isinstance(table.desired, Locked)
    decides(table, "decrease", "ann", 800)
    assert table.now.state == "closed"


def test_a_void_meanwhile_returns_all_wagers() -> None:
    table = exceeded()
    table.fails()
    table.rules("void")
    assert (table.now.state, table.now.halt) == ("idle", None)
    assert {ln["result"] for ln in table.told("wager.settled")} == {"returned"}


# Found by people, or after a card.


def test_where_no_wagers_are_recorded_staff_declare_it_and_say_how_it_was_met() -> None:
    for choices, rule in ((["decreased"], "5.18.1"), (["increased"], "5.18.2"),
                          (["insufficient", "removed"], "5.18.3")):  # fmt: skip
        table = playing()
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
    table = playing(name=game)
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
    table = playing(LIMITS, **IMPLIED)
    table.does("place_wager", player="ann", seat=1, wager="player", amount=2000)
    table.draw("9C")
    assert (table.key, table.now.halt.top.step) == ("table_differential", "ruling")
    table.rules("play_on")
    assert table.now.state == "dealing"


def test_the_status_shows_the_totals_and_what_may_change() -> None:
    table = exceeded()
    told = status(table.now, table.game, table.settings)
    assert told["halt"]["differential"]["excess"] == 800
    assert told["next"]["command"] == "decide"
    assert {c["choice"]: c.get("args") for c in told["halt"]["choices"]}["decrease"] == [
        "player", "seat", "wager", "amount",
    ]  # fmt: skip


def test_a_wager_is_decreased_by_its_seat_alone() -> None:
    table = exceeded()
    table.does("decide", choice="decrease", seat=1, wager="player", amount=800, position="dealer")
    assert secret(table, "wager.accepted")[-1]["player"] == "ann"
    assert table.now.halt is None


def test_at_a_seat_where_several_players_have_the_wager_the_player_is_said() -> None:
    table = betting(LIMITS)
    for player, seat, wager, amount in (*UNEVEN, ("eve", 1, "player", 200)):
        table.does("place_wager", player=player, seat=seat, wager=wager, amount=amount)
    table.does("no_more_bets")
    asked: dict[str, Any] = {"choice": "decrease", "seat": 1, "wager": "player", "amount": 100}
    assert "several Players have a wager on player at seat 1: say player=..." in str(
        table.asks("decide", **asked).error
    )
    assert table.asks("decide", **asked, player="eve").accepted
    refused = table.asks("decide", choice="decrease", seat=9, wager="player", amount=100)
    assert not refused.accepted and "seat 9" in str(refused.error)
