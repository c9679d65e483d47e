"""What a settled round makes of every wager: exact money, and what the rules make of the rest."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from shoe_ctl.table.wagers.ledger import (
    close_bets,
    declare_found,
    declare_found_late,
    declare_taken_back,
    open_bets,
    place,
)
from shoe_ctl.table.wagers.settlement import (
    SettlementLine,
    line_data,
    return_all_wagers,
    settle_all,
)
from shoe_ctl.table.wagers.types import Wagers
from shoe_testing.ledger_requests import (
    BANKER_WINS,
    GAMES,
    NUMBERS,
    PLAYER_WINS,
    STAFFED,
    TIE,
    asked,
    cards,
    done,
    outcome,
    rules_of,
    staked,
    standing,
)


def settled(
    game: str, codes: str, wager: str, stake: int, layout: str = "A", **limits: Any
) -> SettlementLine:
    """One wager, settled."""
    rules = rules_of(game, layout, **limits)
    now = standing(rules, staked(wager, stake), closed=True)
    (line,) = settle_all(now, cards(rules, codes), rules).lines
    assert line.stake == line.collected + line.returned
    return line


def of(line: SettlementLine, *names: str) -> tuple[object, ...]:
    """These fields of a line."""
    return tuple(getattr(line, name) for name in names)


@pytest.mark.parametrize("game", GAMES)
def test_won_lost_and_pushed_wagers_are_paid_collected_and_returned(game: str) -> None:
    rules = rules_of(game)
    now = standing(rules, staked("player", 70), staked("tie", 30), closed=True)
    player, tie = settle_all(now, outcome(rules, PLAYER_WINS), rules).lines
    assert of(player, "result", "pays", "collected", "returned") == ("win", 70, 0, 70)
    assert of(tie, "result", "pays", "collected", "returned") == ("lose", 0, 30, 0)
    player, tie = settle_all(now, outcome(rules, TIE), rules).lines
    assert of(player, "result", "pays", "collected", "returned") == ("push", 0, 0, 70)
    assert of(tie, "result", "pays", "collected", "returned") == ("win", 240, 0, 30)


@pytest.mark.parametrize("game", ["immortal_dragon_tiger", "tiger", "dragon_bonus_royal"])
def test_banker_is_paid_nineteen_twentieths_exactly(game: str) -> None:
    line = settled(game, BANKER_WINS["french52"], "banker", 333)
    assert of(line, "odds", "pays") == (Fraction(19, 20), Fraction(6327, 20))


def test_tiger_shows_the_commission_as_a_line_of_its_own() -> None:
    """T 1.1.2."""
    line = settled("tiger", BANKER_WINS["french52"], "banker", 1000)
    assert of(line, "pays", "commission") == (950, 50)
    assert line_data(line)["commission"] == 50


@pytest.mark.parametrize("game", ["immortal_dragon_tiger", "dragon_bonus_royal"])
def test_games_whose_rules_speak_of_no_commission_show_none(game: str) -> None:
    line = settled(game, BANKER_WINS["french52"], "banker", 1000)
    assert of(line, "pays", "commission") == (950, None)
    assert "commission" not in line_data(line)


@pytest.mark.parametrize(
    ("table", "codes", "wager", "pays", "rule"),
    [
        # Immortal: Player with 7 is paid a half, and pushes against Banker's 8 or 9.
        (("immortal_dragon_tiger", "A"), "7D 6C TS TH", "player", Fraction(101, 2), "4.1"),
        (("immortal_dragon_tiger", "A"), "7D 6C TS TH", "dragon_tiger", 3030, "4.2"),
        (("immortal_dragon_tiger", "C"), "7D 9C TS TH", "immortal_dragon", 2525, "4.6"),
        (("immortal_dragon_tiger", "B"), "7D 9C 7S TH", "player_pair", 1111, "4.5"),
        # No Commission: Banker with 6 is paid a half, else even money.
        (("dragon_tiger_no_commission", "A"), "2D 6C KS TH AH", "banker", Fraction(101, 2), "4.1"),
        (("dragon_tiger_no_commission", "A"), "5D 9C TS TH", "banker", 101, "4.1"),
        (("tiger", "A"), "2D 6C KS TH AH", "small_tiger", 2222, "4.3"),
        # Fa Fa: a tie on four Fours is paid 800 to 1.
        (("fa_fa_fabulous_4", "A"), "4f 4g 4e 4w", "tie", 80_800, "4.1"),
        (("dragon_bonus_royal", "A"), "9D TC TS TH", "player_dragon_bonus", 101, None),
    ],
)
def test_wagers_of_each_game_are_paid_to_the_last_fraction(
    table: tuple[str, str], codes: str, wager: str, pays: Fraction | int, rule: str | None
) -> None:
    line = settled(table[0], codes, wager, 101, table[1])
    assert of(line, "result", "pays", "rule", "returned") == ("win", pays, rule, 101)


def test_a_pushed_main_wager_goes_back_whole_and_cites_its_rule() -> None:
    line = settled("immortal_dragon_tiger", "7D 9C TS TH", "player", 500)
    assert of(line, "result", "returned", "rule") == ("push", 500, "3.14.2")


def test_a_currency_unit_rounds_payouts_and_nothing_else() -> None:
    money = {"unit": 10, "rounding": "down"}
    line = settled("tiger", BANKER_WINS["french52"], "banker", 333, currency=money)
    assert of(line, "pays", "commission", "returned") == (310, 23, 333)
    line = settled("tiger", PLAYER_WINS["french52"], "banker", 333, currency=money)
    assert of(line, "collected", "returned") == (333, 0)


def test_a_settled_line_reads_as_plain_json() -> None:
    data = line_data(settled("immortal_dragon_tiger", "7D 6C TS TH", "player", 101))
    assert data == {
        "number": 1,
        "player": "ann",
        "seat": 1,
        "wager": "player",
        "stake": 101,
        "result": "win",
        "odds": "1/2",
        "pays": "101/2",
        "collected": 0,
        "returned": 101,
        "rule": "4.1",
        "applied": [],
    }


def test_lines_follow_the_seats_and_the_games_order_of_wagers() -> None:
    rules = rules_of("tiger")
    now = standing(
        rules,
        staked("tie", 5, seat=3),
        staked("player", 5, player="zoe", seat=3),
        staked("player", 5, player="ann", seat=3),
        staked("tie", 5, seat=1),
        closed=True,
    )
    lines = settle_all(now, outcome(rules, TIE), rules).lines
    assert [(line.seat, line.wager, line.player) for line in lines] == [
        (1, "tie", "ann"),
        (3, "player", "ann"),
        (3, "player", "zoe"),
        (3, "tie", "ann"),
    ]


@pytest.mark.parametrize("game", GAMES)
def test_after_a_void_everything_goes_back(game: str) -> None:
    rules = rules_of(game)
    now = standing(rules, staked("player", 70), staked("tie", 30), closed=True)
    now = done(declare_found_late(now, staked("banker", 5), rules)) if game in STAFFED else now
    after = return_all_wagers(now, "5.3", rules)
    assert all(
        of(ln, "result", "returned", "pays") == ("returned", ln.stake, 0) for ln in after.lines
    )
    assert sum(line.returned for line in after.lines) == (105 if game in STAFFED else 100)
    assert {line.rule for line in after.lines} == {"5.3"}
    assert (after.wagers.betting, after.wagers.standing) == ("between", ())


def test_after_the_round_nothing_stands_and_its_history_is_there_until_the_next() -> None:
    rules = rules_of("tiger")
    now = standing(rules, staked("player", 70), closed=True)
    after = settle_all(now, outcome(rules, TIE), rules).wagers
    assert (after.betting, after.standing, len(after.history)) == ("between", (), 1)
    assert open_bets(after).history == ()


# Under the minimum.


@pytest.mark.parametrize("game", STAFFED)
@pytest.mark.parametrize("first", [PLAYER_WINS, BANKER_WINS])
def test_what_is_under_the_minimum_is_settled_in_one_round_and_returned_ever_after(
    game: str, first: dict[str, str]
) -> None:
    """N/T/F 5.14, I 5.12: once per Player, won or lost alike."""
    rules = rules_of(game, minimum=100)
    once = NUMBERS[game]["once"]
    now = done(declare_found(standing(rules, closed=True), staked("player", 40), rules))
    after, (line,) = settle_all(now, outcome(rules, first), rules)
    assert line.result == ("win" if first is PLAYER_WINS else "lose")
    assert of(line, "pays", "collected") == ((40, 0) if first is PLAYER_WINS else (0, 40))
    assert line.applied == (("under_minimum", "once", once),)
    assert after.settled_once == ("ann",)
    for later in (PLAYER_WINS, BANKER_WINS, TIE):
        again = done(declare_found(close_bets(open_bets(after)), staked("player", 40), rules))
        after, (line,) = settle_all(again, outcome(rules, later), rules)
        assert of(line, "result", "returned", "pays") == ("returned", 40, 0)
        assert (line.rule, line.applied[0][:2]) == (once, ("under_minimum", "returned"))


def test_all_that_is_under_the_minimum_in_that_one_round_is_settled() -> None:
    rules = rules_of("tiger", minimum=100)
    now = standing(rules, closed=True)
    for wager in ("player", "banker", "tie"):
        now = done(declare_found(now, staked(wager, 40), rules))
    lines = settle_all(now, outcome(rules, PLAYER_WINS), rules).lines
    assert [line.result for line in lines] == ["win", "lose", "lose"]


def test_a_push_under_the_minimum_leaves_the_one_time_to_come() -> None:
    rules = rules_of("tiger", minimum=100)
    now = done(declare_found(standing(rules, closed=True), staked("player", 40), rules))
    after, (line,) = settle_all(now, outcome(rules, TIE), rules)
    assert (line.result, after.settled_once) == ("push", ())


def test_another_player_has_a_first_time_too_and_good_wagers_are_never_returned() -> None:
    rules = rules_of("tiger", minimum=100)
    before = Wagers(settled_once=("ann",))
    now = done(place(open_bets(before), staked("tie", 100), rules))
    now = done(declare_found(close_bets(now), staked("player", 40, player="ben"), rules))
    after, (ben, ann) = settle_all(now, outcome(rules, PLAYER_WINS), rules)
    assert (ann.result, ben.result) == ("lose", "win")
    assert after.settled_once == ("ann", "ben")


def test_a_void_round_is_not_the_one_time() -> None:
    rules = rules_of("tiger", minimum=100)
    now = done(declare_found(standing(rules, closed=True), staked("player", 40), rules))
    assert return_all_wagers(now, "5.3", rules).wagers.settled_once == ()


# Over the maximum, and above the payout cap.


@pytest.mark.parametrize("game", STAFFED)
def test_what_is_over_the_maximum_is_not_played(game: str) -> None:
    """N/T/F 5.15, I 5.13."""
    rules = rules_of(game, maximum=1000)
    now = done(declare_found(standing(rules, closed=True), staked("player", 1500), rules))
    (win,) = settle_all(now, outcome(rules, PLAYER_WINS), rules).lines
    (lose,) = settle_all(now, outcome(rules, BANKER_WINS), rules).lines
    (push,) = settle_all(now, outcome(rules, TIE), rules).lines
    assert of(win, "result", "pays", "returned", "collected") == ("win", 1000, 1500, 0)
    assert of(lose, "result", "collected", "returned") == ("lose", 1000, 500)
    assert of(push, "result", "returned", "applied") == ("push", 1500, ())
    number = NUMBERS[game]["to_maximum"]
    for line in (win, lose):
        assert line.applied == (
            ("over_maximum", "to_maximum", number),
            ("over_maximum", "excess_returned", number),
        )


def test_a_wager_of_exactly_the_maximum_or_minimum_is_settled_like_any_other() -> None:
    tried: tuple[dict[str, Any], ...] = ({"maximum": 70}, {"minimum": 70})
    for limits in tried:
        line = settled("tiger", PLAYER_WINS["french52"], "player", 70, **limits)
        assert of(line, "pays", "applied") == (70, ())


@pytest.mark.parametrize("game", STAFFED)
def test_what_earlier_rounds_paid_or_collected_is_settled(game: str) -> None:
    """N/T/F 5.16, I 5.14: later rounds touch neither its line nor its stake."""
    rules = rules_of(game, maximum=1000)
    now = done(declare_found(standing(rules, closed=True), staked("player", 1500), rules))
    after = settle_all(now, outcome(rules, PLAYER_WINS), rules).wagers
    assert settle_all(close_bets(open_bets(after)), outcome(rules, TIE), rules).lines == ()


def test_the_royal_game_cuts_a_win_above_the_payout_cap() -> None:
    codes = "KS 3H QD KC AH 3D"
    line = settled("dragon_bonus_royal", codes, "fortune_six", 100, payout_cap=1500)
    assert of(line, "odds", "pays", "returned") == (20, 1500, 100)
    assert line.applied == (("payout_cap", "capped", None),)
    line = settled("dragon_bonus_royal", codes, "fortune_six", 100, payout_cap=2000)
    assert of(line, "pays", "applied") == (2000, ())


# After no more bets.


@pytest.mark.parametrize(
    ("game", "end"),
    [
        ("immortal_dragon_tiger", "refused"),
        ("dragon_tiger_no_commission", "refused"),
        ("tiger", "returned"),
        ("fa_fa_fabulous_4", "returned"),
    ],
)
def test_what_was_placed_late_goes_back_whatever_the_outcome(game: str, end: str) -> None:
    """5.4: refused; where the document says so, not honoured."""
    rules = rules_of(game)
    now = done(declare_found_late(standing(rules, closed=True), staked("player", 80), rules))
    for codes in (PLAYER_WINS, BANKER_WINS, TIE):
        (line,) = settle_all(now, outcome(rules, codes), rules).lines
        assert of(line, "result", "returned", "pays") == ("returned", 80, 0)
        assert line.rule == "5.4"
        assert line.applied == (("late_wager", end, "5.4"),)


@pytest.mark.parametrize("game", STAFFED)
def test_a_late_increase_goes_back_and_the_rest_plays(game: str) -> None:
    """5.4: to the extent increased."""
    rules = rules_of(game)
    now = standing(rules, staked("player", 100), closed=True)
    now = done(declare_found_late(now, staked("player", 60), rules))
    (win,) = settle_all(now, outcome(rules, PLAYER_WINS), rules).lines
    (lose,) = settle_all(now, outcome(rules, BANKER_WINS), rules).lines
    assert of(win, "stake", "pays", "returned") == (160, 100, 160)
    assert of(lose, "stake", "collected", "returned") == (160, 100, 60)
    assert win.applied[0].key == "late_wager"


@pytest.mark.parametrize("game", STAFFED)
def test_a_wager_taken_back_late_is_settled_as_if_it_stood(game: str) -> None:
    """5.5."""
    rules = rules_of(game)
    now = standing(rules, staked("player", 100), closed=True)
    now = done(declare_taken_back(now, asked("player"), rules))
    (win,) = settle_all(now, outcome(rules, PLAYER_WINS), rules).lines
    (lose,) = settle_all(now, outcome(rules, BANKER_WINS), rules).lines
    assert of(win, "result", "pays") == ("win", 100)
    assert of(lose, "result", "collected") == ("lose", 100)
    assert win.applied == lose.applied == (("late_withdrawal", "settled_as_placed", "5.5"),)
