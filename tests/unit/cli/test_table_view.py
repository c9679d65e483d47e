"""What is open at a table as people read it: choices with what they take, rules, who may answer."""

from __future__ import annotations

import shlex
import subprocess
from typing import Any

import pytest

from firmware_proto.events import CuttingCard
from shoe_ctl.cli.table_view import WIDTH, lines, next_commands, preview_lines
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.preview import preview
from shoe_ctl.table.status import restricted, status
from shoe_testing.table_situations import (
    decide_differential,
    declare,
    exceeded_table,
    voided_table,
    withdrawal_table,
)
from shoe_testing.tables import TableHarness, betting_table, place_bet


def shown(table: TableHarness, **more: Any) -> list[str]:
    """The status for people; what was wrapped is one line again."""
    told: list[str] = []
    for line in lines(status(table.now, table.game, table.settings) | more):
        assert len(line) <= WIDTH
        if line.startswith(" ") and not told[-1].startswith(("halted", " ")):
            told[-1] += " " + line.strip()
        else:
            told.append(line)
    return [" ".join(line.split()) for line in told]


def test_after_a_void_the_question_stands_in_the_status_with_its_choices() -> None:
    told = shown(voided_table())
    at = told.index(
        "open after_void: the cards may be replaced: replace them, or go on with the same"
    )
    assert told[at + 1 : at + 3] == [
        "choice replace_cards (pit supervisor)",
        "choice keep_cards (dealer)",
    ]


def test_the_differential_shows_both_sides_and_what_each_choice_takes() -> None:
    table = exceeded_table()
    told = shown(table)
    assert "rules decreased 5.18.1, increased 5.18.2, removed 5.18.3, ruled 6.1" in told
    assert "wagers player 1600, banker 300: 800 over the differential of 500" in told
    assert "decrease seat 1 player by 900 at most; seat 2 player by 500 at most" in told
    assert "increase seat 3 banker by 1700 at most" in told
    assert "choice decrease [player=...] seat=... wager=... amount=... (dealer)" in told
    decide_differential(table, "insufficient")
    told = shown(table)
    assert "remove seat 1 player 1000; seat 2 player 600" in told
    assert "choice remove [player=...] seat=... wager=... (pit manager, with a reason)" in told
    assert not any("ann" in line for line in told)


def test_a_window_shows_which_seats_may_still_answer_and_what_may_go() -> None:
    table = withdrawal_table()
    assert "window seats 3 and 4 may take back all of their wagers or none (5.17.1)" in shown(table)
    for player in ("ann", "bo"):
        table.does("decide", choice="stand", player=player, position="dealer")
    assert "window every Player has answered (5.17.1)" in shown(table)


def test_a_window_without_recorded_wagers_is_for_the_whole_table() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    table.open_round()
    table.deal("7D")
    declare(table, "power_failure")
    table.does("decide", choice="offer_withdrawal", position="dealer")
    told = shown(table)
    assert "window Players may take back all of their wagers or none (5.17.1)" in told


def test_what_is_typed_next_has_a_reason_only_where_a_choice_wants_one() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    table.open_round()
    declare(table, "other")
    assert next_of(table).endswith(
        'shoectl table decide choice=play_on --reason "..." --table bac-07'
    )
    table = TableHarness(area="Paiza Club", announcements="explicit").open_shoe()
    table.does("place_your_bets")
    place_bet(table, "player", 500)
    table.does("no_more_bets")
    table.says(CuttingCard())
    assert "choice play_on (dealer)" in shown(table)
    assert next_of(table).endswith(
        "shoectl table decide choice=offer_withdrawal --table bac-07 "
        "shoectl table decide choice=play_on --table bac-07"
    )


def test_a_void_stands_apart_from_what_is_next() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    table.open_round()
    table.deal("7D 9C")
    table.disconnect()
    assert next_of(table).startswith("next wait; connect the shoe again")
    assert "void" not in next_of(table)
    assert shown(table)[-2] == (
        "void only where the round cannot go on: all wagers go back "
        'shoectl table decide choice=void --reason "..." --table bac-07'
    )


def test_who_may_not_do_it_is_told_whom_to_call() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    table.open_round()
    table.deal("7D 9C")
    declare(table, "other")
    dealer = shown(table, acts_as=["dealer"])
    assert dealer[-5:-1] == [
        "next leave everything as it is, and call the person who decides",
        "call the gaming shift manager: play_on",
        "void only where the round cannot go on: all wagers go back",
        "call the gaming shift manager: void",
    ]
    manager = shown(table, acts_as=["dealer", "pit_supervisor", "gaming_shift_manager"])
    assert not any(line.startswith("call") for line in manager)
    table.rules("play_on")
    assert not any(line.startswith("call") for line in shown(table, acts_as=["dealer"]))


def preview_of(table: TableHarness, command: str, **args: Any) -> list[str]:
    asked = TableCommand(
        t_us=table.t_us, command_id="p", command=command, args=args, person="kim",
        position="dealer",
    )  # fmt: skip
    found = preview(table.controller, table.now, asked)
    assert found.answer.message is not None
    answer = {"preview": found.shown, "message": found.answer.message.as_data()}
    told: list[str] = []
    for line in preview_lines(answer):
        assert len(line) <= WIDTH
        if line.startswith(" "):
            told[-1] += " " + line.strip()
        else:
            told.append(line)
    return [" ".join(line.split()) for line in told]


def test_a_preview_shows_each_seat_with_its_money_and_who_must_consent() -> None:
    table = betting_table(announcements="explicit")
    place_bet(table, "tie", 100)
    place_bet(table, "player", 200, player="bob", seat=5)
    table.does("no_more_bets")
    table.deal("7D 7C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    assert preview_of(table, "correct_card", hand="player", index=2, card="AS") == [
        "preview would happen: Player's card is corrected; Player 8, Banker 7; the outcome is "
        "revised: player wins, 8 to 7 (6.3); seat 3: tie loses, collect 100; seat 5: player "
        "wins, pay 200; then next: pay and collect, then settle",
        "seat 3 tie 100 loses (1.1.12): collect 100",
        "seat 5 player 200 wins 1 to 1 (4.1): pay 200, give back 200",
        "who gaming shift manager, with a reason",
        "consent another person, pit supervisor or above",
    ]
    declare(table, "other")
    assert preview_of(table, "decide", choice="void")[1:] == [
        "seat 3 tie 100 is returned (6.1): give back 100",
        "seat 5 player 200 is returned (6.1): give back 200",
        "who gaming shift manager, with a reason",
    ]


def test_cards_that_were_exchanged_are_shown_pair_by_pair() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    table.open_round()
    table.deal("7D 9C 2S 3H")
    declare(table, "wrong_order")
    table.does(
        "decide",
        choice="exchange",
        one="player 1",
        other="banker 2",
        reason="r",
        consented_by="lee",
    )
    assert "exchanged Player's card 1 and Banker's card 2" in shown(table)


def test_a_choice_says_that_it_wants_a_reason_or_another_person() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    table.open_round()
    table.deal("7D 9C")
    table.draw(None)
    table.deal("2S")
    table.does("expose", hand="player")
    told = shown(table)
    enter = "choice enter card=... [against_reading=...] (dealer, and another person consents)"
    assert enter in told
    assert "choice void (gaming shift manager, with a reason)" in told
    offered = {c["choice"]: c for c in table.told("irregularity.step")[-1]["choices"]}
    assert offered["void"]["reason"] is True
    assert offered["enter"].keys() == {"choice", "position", "args", "second_person"}


def next_of(table: TableHarness) -> str:
    return next(line for line in shown(table) if line.startswith("next"))


def test_a_step_with_a_rule_of_its_own_shows_that_one() -> None:
    table = TableHarness(method="A", announcements="explicit").open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.does("declare", key="card_taken", hand="player", index=1, reason="ran", position="dealer")
    told = shown(table)
    assert "rule 5.11" in told
    assert any(line.startswith("choice value_known source=...") for line in told)


def test_a_game_without_rules_for_it_shows_none() -> None:
    table = TableHarness(name="dragon_bonus_royal").open_shoe()
    table.does("place_your_bets")
    declare(table, "other")
    told = shown(table)
    assert "choice void (gaming shift manager, with a reason)" in told
    assert not any(line.startswith("rule") or "None" in line for line in told)


def test_what_is_wrong_with_an_argument_is_said_in_the_words_of_those_who_typed_it() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    table.does("place_your_bets")
    asked = table.asks("place_wager", player=9)
    assert asked.error == "say seat=... wager=... amount=..."
    asked = table.asks("place_wager", player=9, seat=2, wager="tie", amount="10.5")
    assert asked.error == (
        "amount: expected a whole number of the smallest unit of money, for example 500 for 5.00 "
        "where that is the cent"
    )
    asked = table.asks("place_wager", player=9, seat="two", wager="tie", amount=1050)
    assert asked.error == "seat: expected a whole number, not text"
    asked = table.asks("place_wager", player=9, seat=2, wager="tie", amount=10, chips=3)
    assert asked.error == (
        "there is no chips=... here: it takes player, seat, wager, on_behalf, amount"
    )
    place_bet(table, "player", 500)
    table.does("no_more_bets")
    table.deal("2D 3C TS TH")
    assert table.asks("expose").error == "say hand=player|banker"
    assert table.asks("expose", hand="dealer").error == "hand: it is player or banker"


@pytest.mark.parametrize(
    ("waiting", "says"),
    [(2, "2 can be offered again: redeliver"), (0, "none waits any more")],
)
def test_what_a_sink_would_not_take_is_shown_with_whether_it_still_waits(
    waiting: int, says: str
) -> None:
    table = exceeded_table()
    held = status(table.now, table.game, table.settings)
    parked = {"sink": "jsonl:a", "count": 2, "last": "t/p5", "type": "x.y", "waiting": waiting}
    told = " ".join(" ".join(lines({**held, "parked": [parked]})).split())
    assert f"parked 2 not taken by jsonl:a: the last t/p5 (x.y); {says} next" in told


def test_wagers_stand_by_seat_and_are_shown_with_their_money_before_they_are_settled() -> None:
    table = betting_table(announcements="explicit")
    place_bet(table, "banker", 1000)
    place_bet(table, "tie", 200)
    place_bet(table, "player", 300, player="bo", seat=4)
    assert {"seat 3 banker 1000, tie 200", "seat 4 player 300"} <= set(shown(table))
    table.does("no_more_bets")
    table.does(
        "declare", key="late_wager", player="bo", seat=4, wager="player", amount=50, reason="late"
    )
    assert "seat 4 player 300 (50 late that goes back)" in shown(table)
    table.deal("2D 8C TS TH")
    table.turn_over()
    table.does("announce_totals")
    assert not any("pay" in line for line in shown(table) if line.startswith("seat"))
    table.does("announce_outcome")
    told = list(lines(status(table.now, table.game, table.settings)))
    at = told.index("seat 3      banker 1000 wins 19/20 to 1 (4.1): pay 950, give back 1000")
    assert told[at + 1 : at + 6] == [
        "            commission on banker 50",
        "            tie 200 loses (1.1.12): collect 200",
        "seat 4      player 300 (50 late that goes back) loses (3.16): collect 300, give",
        "            back 50",
        "            late wager: returned (5.4)",
    ]
    named = status(table.now, table.game, table.settings)
    named |= restricted(table.now, table.game, table.settings)
    assert any("player 300 of bo" in line for line in lines(named))
    table.does("settle")
    assert not any(line.startswith("seat") for line in shown(table))


def test_in_a_game_without_commission_there_is_no_line_for_it() -> None:
    table = betting_table(announcements="explicit", name="dragon_tiger_no_commission")
    place_bet(table, "banker", 1000)
    table.does("no_more_bets")
    table.deal("2D 8C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    assert "seat 3 banker 1000 wins 1 to 1 (4.1): pay 1000, give back 1000" in shown(table)
    assert not any("commission on" in line for line in shown(table))


def test_a_window_shows_how_the_next_seat_answers_and_how_it_is_closed() -> None:
    table = withdrawal_table()
    for seat in (3, 4):
        assert [*map(shlex.split, typed(table))][:3] == [
            ["shoectl", "table", "decide", f"choice={choice}", *more, "--table", "bac-07"]
            for choice, more in (
                ("withdraw_all", [f"seat={seat}"]),
                ("stand", [f"seat={seat}"]),
                ("close_window", []),
            )
        ]
        assert f"choice stand [player=...] seat={seat} (dealer)" in shown(table)
        table.does("decide", choice="stand", seat=seat, position="dealer")
    assert typed(table)[0] == "shoectl table decide choice=close_window --table bac-07"


def test_at_a_seat_of_several_players_the_player_is_left_to_be_filled_in() -> None:
    table = betting_table(announcements="explicit")
    place_bet(table, "player", 500)
    place_bet(table, "player", 200, player="bo")
    table.does("no_more_bets")
    table.deal("7D")
    declare(table, "power_failure")
    table.does("decide", choice="offer_withdrawal", position="dealer")
    assert "shoectl table decide choice=stand player=... --table bac-07" in typed(table)


def typed(table: TableHarness) -> list[str]:
    return next_commands(status(table.now, table.game, table.settings))


def test_a_choice_of_a_position_beside_the_callers_is_typed_with_that_position() -> None:
    table = TableHarness(method="A", announcements="explicit").open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.does("declare", key="card_taken", hand="player", index=1, reason="ran", position="dealer")
    held = status(table.now, table.game, table.settings)
    (seen,) = (c for c in next_commands(held, (), "gaming_shift_manager") if "choice=seen" in c)
    assert "choice=seen cards=... --position surveillance" in seen
    (seen,) = (c for c in next_commands(held, (), "surveillance") if "choice=seen" in c)
    assert "--position" not in seen


def test_a_long_path_is_broken_so_that_a_shell_joins_it() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    path = "/srv/" + "/".join(f'the pit\'s {n} "box" $HOME' for n in range(9)) + "/s.sock"
    told = list(lines(status(table.now, table.game, table.settings), ("--socket", path)))
    assert max(map(len, told)) <= WIDTH
    at = next(n for n, line in enumerate(told) if line.lstrip().startswith("shoectl "))
    end = next(n for n in range(at, len(told)) if not told[n].endswith("\\"))
    script = "\n".join(["shoectl() { printf '%s\\n' \"$@\"; }", *told[at : end + 1]])
    said = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, check=True)
    assert said.stdout.decode().splitlines() == [
        "table", "place_your_bets", "--table", "bac-07", "--socket", path,
    ]  # fmt: skip


def test_what_was_declared_is_shown_with_its_number_and_what_each_seat_gets_without_it() -> None:
    table = TableHarness(faces="face_up", face_up_after_ms=0).open_shoe()
    table.does("place_your_bets")
    place_bet(table, "banker", 100)
    table.does("no_more_bets")
    (held,) = table.now.wagers.standing
    late = {"player": held.player, "seat": held.seat, "wager": "banker", "amount": 500}
    table.does("declare", key="late_wager", reason="seen", **late)
    (said,) = status(table.now, table.game, table.settings)["declared"]
    number = said["declaration"]
    seat = f"seat {held.seat}"
    assert f"declared {number}: late_wager, {said['chips']} at {seat} on banker" in shown(table)
