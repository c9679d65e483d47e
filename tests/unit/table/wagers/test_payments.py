"""Money in the status and in answers: from the outcome until *settle*, and after a revision."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.table.status import restricted, status
from shoe_ctl.table.wagers.payments import change_message
from shoe_testing.tables import TableHarness, betting_table, place_bet

STAND = "7D 7C TS TH"


def announced(*, settled: bool = False) -> TableHarness:
    """7 to 7: ann at seat 3 has 100 on the tie, bob at seat 5 has 200 on Player, 1 to 1."""
    table = betting_table(announcements="explicit")
    place_bet(table, "tie", 100)
    place_bet(table, "player", 200, player="bob", seat=5)
    table.does("no_more_bets")
    table.deal(STAND)
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    if settled:
        table.does("settle")
    return table


def wagers(table: TableHarness) -> list[dict[str, Any]]:
    return list(status(table.now, table.game, table.settings)["wagers"])


def paid(table: TableHarness) -> list[tuple[int, str, str, int]]:
    """Seat, wager, result, what the house pays."""
    return [
        (w["seat"], w["wager"], w["settlement"]["result"], w["settlement"]["pays"])
        for w in wagers(table)
    ]


def test_a_wagers_settlement_says_what_it_comes_to_and_not_again_whose_it_is() -> None:
    for wager in wagers(announced()):
        assert wager["settlement"].keys() >= {"result", "pays"}
        assert not wager["settlement"].keys() & {"number", "player", "seat", "wager"}


TIED = [(3, "tie", "win", 800), (5, "player", "push", 0)]


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("pause", {}),
        ("declare", {"key": "other", "reason": "a chip fell"}),
        ("declare", {"key": "missed_draw", "reason": "no third card"}),
        ("declare", {"key": "unshuffled", "reason": "two alike"}),
    ],
)
def test_the_money_stays_in_the_status_while_the_table_is_halted_before_settle(
    command: str, args: dict[str, Any]
) -> None:
    table = announced()
    assert paid(table) == TIED
    table.does(command, **args)
    assert table.now.state == "suspended"
    assert paid(table) == TIED


def test_before_the_outcome_a_halt_shows_no_money() -> None:
    table = betting_table(announcements="explicit")
    place_bet(table, "tie", 100)
    table.does("no_more_bets")
    table.deal(STAND)
    table.turn_over()
    table.does("announce_totals")
    table.does("pause")
    assert wagers(table) == [{"number": 1, "seat": 3, "wager": "tie", "amount": 100}]


def revises(table: TableHarness, player: str, banker: str) -> str | None:
    answer = table.asks(
        "revise_round", player=player, banker=banker, reason="seen", consented_by="lee"
    )
    assert answer.accepted, answer
    return answer.text


def test_a_revision_before_settle_is_answered_with_what_each_seat_is_paid_and_loses() -> None:
    table = announced()
    assert revises(table, "7D AS", "7C TH") == (
        "Player's card is corrected; the outcome is revised: player wins, 8 to 7 (6.3); "
        "seat 3: tie loses, collect 100; "
        "seat 5: player wins, pay 200; next: pay and collect, then settle"
    )
    assert revises(table, "7D TS", "7C TH") == (
        "Player's card is corrected; the outcome is revised: tie, 7 to 7 (6.3); "
        "seat 3: tie wins, pay 800; "
        "seat 5: 200 on player goes back; next: pay and collect, then settle"
    )


def test_a_revision_after_settle_is_answered_with_what_each_seat_owes_or_gets_more() -> None:
    table = announced(settled=True)
    assert revises(table, "7D AS", "7C TH") == (
        "Player's card is corrected; the outcome is revised: player wins, 8 to 7 (6.3); "
        "seat 3 owes 900 on tie; "
        "seat 5 gets 200 more on player; next: place your bets"
    )


def test_the_last_settled_round_stays_in_the_status_with_its_revisions() -> None:
    table = announced(settled=True)
    last = status(table.now, table.game, table.settings)["last_round"]
    assert (last["round_id"], last["shoe_id"], last["winner"]) == (
        "bac-07-s1-r1",
        "bac-07-s1",
        "tie",
    )
    assert last["hands"] == {"player": ["7D", "TS"], "banker": ["7C", "TH"]}
    assert last["totals"] == {"player": 7, "banker": 7}
    assert [w["settlement"]["pays"] for w in last["wagers"]] == [800, 0]
    assert last["revisions"] == []
    revises(table, "7D AS", "7C TH")
    revises(table, "7D 2S", "7C TH")
    table.does("place_your_bets")
    last = status(table.now, table.game, table.settings)["last_round"]
    assert (last["winner"], last["totals"]) == ("player", {"player": 9, "banker": 7})
    assert [w["settlement"]["result"] for w in last["wagers"]] == ["lose", "win"]
    first, second = last["revisions"]
    assert (first["winner"], second["winner"]) == ("tie", "player")
    assert second["totals"] == {"player": 8, "banker": 7}
    changes = [{k: v for k, v in one.items() if k != "message"} for one in first["changes"]]
    assert changes == [
        {"number": 1, "seat": 3, "wager": "tie", "change": -900},
        {"number": 2, "seat": 5, "wager": "player", "change": 200},
    ]
    assert second["changes"] == []
    assert first["until"] < second["until"]


def test_a_revision_before_settle_changed_no_money() -> None:
    table = announced()
    revises(table, "7D AS", "7C TH")
    table.does("settle")
    (before,) = status(table.now, table.game, table.settings)["last_round"]["revisions"]
    assert (before["winner"], before["changes"]) == ("tie", [])


def test_whose_the_money_is_stands_in_the_restricted_status_alone() -> None:
    table = announced(settled=True)
    revises(table, "7D AS", "7C TH")
    public = status(table.now, table.game, table.settings)
    assert "'ann'" not in str(public) and "'bob'" not in str(public)
    last = restricted(table.now, table.game, table.settings)["last_round"]
    assert [w["player"] for w in last["wagers"]] == ["ann", "bob"]
    assert [one["player"] for one in last["revisions"][0]["changes"]] == ["ann", "bob"]


def test_without_a_settled_round_there_is_none() -> None:
    table = TableHarness(announcements="explicit").open_shoe()
    assert status(table.now, table.game, table.settings)["last_round"] is None


@pytest.mark.parametrize(
    ("change", "code"),
    [("5", "done_wager_gets_more"), ("1/2", "done_wager_gets_more"), ("0", "done_wager_revised"),
     ("-1/2", "done_wager_owes"), ("-5", "done_wager_owes")],
)  # fmt: skip
def test_a_revision_says_what_a_player_gets_more_owes_or_neither(change: str, code: str) -> None:
    assert change_message({"change": change, "seat": 3, "wager": "tie"}).code == code
