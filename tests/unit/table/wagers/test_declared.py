"""What staff declare of wagers: recorded without a halt, and settled as each game's rules want."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.table.round import entitlement
from shoe_ctl.table.status import status
from shoe_ctl.table.wagers.declared import RECORDED
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.event_check import OwnData
from shoe_testing.ledger_requests import BANKER_WINS, NUMBERS, PLAYER_WINS, STAFFED, TIE
from shoe_testing.tables import IMPLIED, TableHarness, betting_table, restricted_data, wager_table

LIMITS: dict[str, Any] = {"minimum": 100, "maximum": 1000}
FIVE_FOUR = {"tiger": "returned", "fa_fa_fabulous_4": "returned"}
SETTLED = {"immortal_dragon_tiger": "5.14"}


def closed(game: str = "tiger", **stakes: int) -> TableHarness:
    """No more bets; ann at seat 3 has these wagers."""
    table = betting_table(LIMITS, name=game)
    for wager, amount in stakes.items():
        table.does("place_wager", player="ann", seat=3, wager=wager, amount=amount)
    table.does("no_more_bets")
    return table


def declares(table: TableHarness, key: str, *what: object, **more: Any) -> None:
    """``what`` is the wager, and the amount where one is named; of ann, at seat 3."""
    names: dict[str, Any] = dict(zip(("wager", "amount"), what, strict=False))
    table.does("declare", key=key, reason="seen", player="ann", seat=3, **names, **more)


def resolved(table: TableHarness) -> dict[str, Any]:
    found = [d for d in table.told("irregularity.resolved") if d["key"] in RECORDED]
    return {d["key"]: (d["how"], d["rule"]) for d in found}


def finishes(table: TableHarness, rounds: dict[str, str]) -> list[dict[str, Any]]:
    """The rest of the round; the lines of its settlement."""
    before = len(restricted_data(table, "wager.settled"))
    table.deal(rounds[table.game.deck.name])
    table.finish()
    return restricted_data(table, "wager.settled")[before:]


def to_its_outcome(table: TableHarness, rounds: dict[str, str]) -> None:
    table.deal(rounds[table.game.deck.name])
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")


# Late.


@pytest.mark.parametrize("game", STAFFED)
@pytest.mark.parametrize(
    ("command", "key", "rule"),
    [("increase_wager", "late_wager", "5.4"), ("withdraw_wager", "late_withdrawal", "5.5")],
)
def test_a_late_command_is_refused_and_recorded_as_an_irregularity_that_halts_nothing(
    game: str, command: str, key: str, rule: str
) -> None:
    table = closed(game, player=500)
    more: dict[str, Any] = {"amount": 100} if command == "increase_wager" else {}
    assert not table.asks(command, player="ann", seat=3, wager="player", **more).accepted
    raised, ended = table.public[-2:]
    assert (raised.data["key"], raised.data["rules"]["refused"]) == (key, rule)
    assert OwnData(ended.data) == {
        "key": key, "how": "refused", "rule": rule, "seat": 3, "wager": "player",
    }  # fmt: skip
    assert raised.restricted_data is not None and raised.restricted_data["person"] == "kim"
    assert "ann" not in repr((raised.data, ended.data))
    assert (table.now.state, table.now.halt) == ("closed", None)


@pytest.mark.parametrize("game", STAFFED)
def test_chips_placed_late_and_left_on_the_layout_are_not_honoured(game: str) -> None:
    table = closed(game, player=500)
    declares(table, "late_wager", "player", 200)
    how = FIVE_FOUR.get(game, "refused")
    assert resolved(table) == {"late_wager": (how, "5.4")}
    (line,) = finishes(table, PLAYER_WINS)
    assert (line["stake"], line["pays"], line["returned"]) == (700, 500, 700)
    assert line["applied"] == [{"key": "late_wager", "end": how, "rule": "5.4"}]


@pytest.mark.parametrize("game", STAFFED)
def test_chips_taken_late_are_won_or_lost_as_if_they_lay_there(game: str) -> None:
    table = closed(game, player=500)
    declares(table, "late_withdrawal", "player")
    assert resolved(table) == {"late_withdrawal": ("settled_as_placed", "5.5")}
    (line,) = finishes(table, BANKER_WINS)
    assert (line["result"], line["collected"]) == ("lose", 500)
    assert line["applied"][0]["end"] == "settled_as_placed"


@pytest.mark.parametrize("key", ["late_wager", "late_withdrawal"])
def test_where_no_wagers_are_recorded_a_late_one_is_recorded_by_its_declaration_alone(
    key: str,
) -> None:
    table = closed()
    table.does("declare", key=key, reason="a hand came late", position="dealer")
    raised = restricted_data(table, "irregularity.raised")[-1]
    assert (english(raised["seen"]), raised["key"]) == ("a hand came late", key)
    assert "hand" not in english(table.told("irregularity.raised")[-1]["seen"])
    assert table.now.wagers.standing == ()
    assert finishes(table, PLAYER_WINS) == []


def test_what_is_declared_makes_no_record_of_all_wagers_of_a_table() -> None:
    """Or the cards would be due to whoever placed a chip too late."""
    table = closed()
    declares(table, "late_wager", "player", 200)
    declares(table, "over_maximum", "banker", 1500)
    assert not entitlement.has_wager_feed(table.now.wagers)


def test_a_halt_does_not_keep_what_is_late_from_being_declared() -> None:
    table = closed(player=500)
    table.fails()
    declares(table, "late_wager", "tie", 50)
    assert (table.now.state, table.key) == ("suspended", "other")
    table.rules("play_on")
    assert table.now.state == "closed"


# Outside the limits.


@pytest.mark.parametrize("game", STAFFED)
@pytest.mark.parametrize("when", ["before the cards", "after the outcome"])
def test_under_the_minimum_is_settled_once_for_each_player_and_later_ones_go_back(
    game: str, when: str
) -> None:
    rule = NUMBERS[game]["once"]
    table = closed(game)
    if when == "before the cards":
        declares(table, "under_minimum", "player", 40)
        to_its_outcome(table, PLAYER_WINS)
    else:
        to_its_outcome(table, PLAYER_WINS)
        declares(table, "under_minimum", "player", 40)
    assert resolved(table) == {}
    table.does("settle")
    assert restricted_data(table, "wager.settled")[-1]["pays"] == 40
    assert resolved(table) == {"under_minimum": ("once", rule)}
    for _ in range(2):
        table.open_round()
        declares(table, "under_minimum", "player", 60)
        (line,) = finishes(table, BANKER_WINS)
        assert (line["result"], line["returned"]) == ("returned", 60)
        assert resolved(table) == {"under_minimum": ("returned", rule)}


@pytest.mark.parametrize("game", STAFFED)
@pytest.mark.parametrize("rounds", [PLAYER_WINS, BANKER_WINS], ids=["won", "lost"])
def test_over_the_maximum_plays_to_the_maximum_and_the_rest_goes_back(
    game: str, rounds: dict[str, str]
) -> None:
    table = closed(game, player=900)
    declares(table, "over_maximum", "player", 1500)
    (line,) = finishes(table, rounds)
    won = rounds is PLAYER_WINS
    assert (line["pays"], line["collected"]) == ((1000, 0) if won else (0, 1000))
    assert line["returned"] == 1500 - line["collected"]
    assert resolved(table) == {"over_maximum": ("to_maximum", NUMBERS[game]["to_maximum"])}
    ends = {a["end"] for a in line["applied"]}
    assert ends == {"to_maximum", "excess_returned"}


def test_what_pushes_ends_as_a_push_and_leaves_the_one_round_to_come() -> None:
    table = closed()
    declares(table, "under_minimum", "player", 40)
    finishes(table, TIE)
    assert resolved(table) == {"under_minimum": ("push", "3.16.1")}
    assert table.now.wagers.settled_once == ()


def test_a_void_returns_what_was_declared_too() -> None:
    table = closed()
    declares(table, "over_maximum", "player", 1500)
    table.fails()
    table.rules("void")
    assert resolved(table) == {"over_maximum": ("returned", "6.1")}
    assert restricted_data(table, "wager.settled")[-1]["returned"] == 1500


@pytest.mark.parametrize("game", STAFFED)
@pytest.mark.parametrize(("key", "amount"), [("under_minimum", 40), ("over_maximum", 1500)])
def test_what_an_earlier_round_settled_stays_settled(game: str, key: str, amount: int) -> None:
    table = wager_table(LIMITS, name=game)
    declares(table, key, "player", amount, earlier=True)
    rule = SETTLED.get(game, "5.16")
    assert resolved(table) == {key: ("earlier_settled", rule)}
    assert table.now.wagers.standing == ()
    once = ("ann",) if key == "under_minimum" else ()
    assert table.now.wagers.settled_once == once


# Late and over the maximum, said of the same chips.


SAME_CHIPS: dict[str, tuple[str, int]] = {
    "late_wager": ("player", 300),
    "over_maximum": ("player", 1200),
}
"""900 was placed in time, 300 late: 1200 lies there, and 1000 is the maximum."""


@pytest.mark.parametrize("game", STAFFED)
@pytest.mark.parametrize("wins", [True, False])
@pytest.mark.parametrize("when", ["before the cards", "after the outcome"])
@pytest.mark.parametrize("order", [tuple(SAME_CHIPS), tuple(SAME_CHIPS)[::-1]])
def test_late_chips_go_back_and_the_rest_plays_in_whichever_order_it_is_declared(
    game: str, order: tuple[str, ...], when: str, *, wins: bool
) -> None:
    table = closed(game, player=900)
    if when == "after the outcome":
        to_its_outcome(table, PLAYER_WINS if wins else BANKER_WINS)
    for key in order:
        declares(table, key, *SAME_CHIPS[key])
    late = FIVE_FOUR.get(game, "refused")
    assert resolved(table) == {"late_wager": (late, "5.4"), "over_maximum": ("late", "5.4")}
    (held,) = table.now.wagers.standing
    assert (held.amount, held.not_honoured, held.declared) == (900, 300, None)
    if when == "after the outcome":
        table.does("settle")
    else:
        finishes(table, PLAYER_WINS if wins else BANKER_WINS)
    (line,) = restricted_data(table, "wager.settled")
    assert line["applied"] == [{"key": "late_wager", "end": late, "rule": "5.4"}]
    assert line["stake"] == 1200
    assert (line["pays"] > 0, line["collected"]) == ((True, 0) if wins else (False, 900))
    assert len(table.told("irregularity.resolved")) == 2


def test_late_chips_are_taken_from_those_that_were_found_and_the_rest_lies_there_besides() -> None:
    table = closed(player=900)
    declares(table, "over_maximum", "player", 1200)
    declares(table, "late_wager", "player", 100)
    (held,) = table.now.wagers.standing
    assert (held.amount, held.not_honoured, held.chips) == (1100, 100, 1200)
    assert resolved(table) == {"late_wager": ("returned", "5.4")}
    declares(table, "late_wager", "player", 500)
    (held,) = table.now.wagers.standing
    assert (held.amount, held.not_honoured, held.chips) == (900, 600, 1500)
    changes = [(told["act"], told["change"]) for told in table.told("wager.accepted")]
    assert changes == [("placed", 900), ("found", 300), ("found_late", 0), ("found_late", 300)]


def test_all_that_lies_there_is_counted_late_chips_too() -> None:
    table = closed(player=900)
    declares(table, "late_wager", "player", 300)
    declares(table, "over_maximum", "player", 1500)
    (held,) = table.now.wagers.standing
    assert (held.amount, held.not_honoured) == (1200, 300)
    (line,) = finishes(table, BANKER_WINS)
    assert (line["stake"], line["collected"], line["returned"]) == (1500, 1000, 500)
    assert resolved(table)["over_maximum"] == ("to_maximum", "5.15")


@pytest.mark.parametrize(
    ("key", "lies", "why"),
    [
        ("over_maximum", 1250, "950 on player without the 300 that came late is not over the "),
        ("over_maximum", 1100, "800 on player without the 300 that came late is not over the "),
        ("under_minimum", 400, "100 on player without the 300 that came late is not under the "),
        ("under_minimum", 350, "the ledger holds 1200 there; chips that are gone are a withdr"),
    ],
)
def test_what_is_not_so_without_the_late_chips_is_not_recorded(
    key: str, lies: int, why: str
) -> None:
    table = closed(player=900)
    declares(table, "late_wager", "player", 300)
    before = table.now.wagers
    of: dict[str, Any] = {"player": "ann", "seat": 3, "wager": "player", "amount": lies}
    answer = table.asks("declare", key=key, reason="r", **of)
    assert (answer.error or "").startswith(f"{why}")
    assert table.now.wagers == before


def test_among_equals_found_chips_that_were_late_leave_the_order_as_it_was() -> None:
    """In Method A the cards go to whoever had as much first (3.10.4)."""
    table = betting_table(LIMITS, method="A")
    for player, seat in (("ann", 3), ("bob", 5)):
        table.does("place_wager", player=player, seat=seat, wager="player", amount=900)
    table.does("no_more_bets")
    declares(table, "over_maximum", "player", 1200)
    declares(table, "late_wager", "player", 300)
    table.deal("2D 3C TS TH")
    table.does("pass_cards", hand="player")
    assert table.told("cards.passed")[-1]["seat"] == 3


def test_whose_wager_was_found_is_not_public() -> None:
    table = closed()
    declares(table, "under_minimum", "player", 40)
    finishes(table, PLAYER_WINS)
    assert "ann" not in repr([e.data for e in table.public])
    told = restricted_data(table, "irregularity.resolved")[-1]
    assert told["player"] == "ann"
    assert restricted_data(table, "wager.accepted")[-1]["act"] == "found"


# What cannot be declared.


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"key": "under_minimum", "wager": "tie", "amount": 100},
         "100 on tie is not under the minimum (3.5.1)"),
        ({"key": "over_maximum", "wager": "tie", "amount": 1000},
         "1000 on tie is not over the maximum (3.5.1)"),
        ({"key": "under_minimum", "wager": "player", "amount": 99},
         "the ledger holds 500 there; chips that are gone are a withdrawal"),
        ({"key": "under_minimum", "wager": "tie"},
         "under_minimum takes player, seat, wager, amount, not player, seat, wager"),
        ({"key": "late_withdrawal", "wager": "player", "amount": 5},
         "late_withdrawal takes player, seat, wager, not player, seat, wager, amount"),
        ({"key": "late_withdrawal", "wager": "tie"}, "ann has no wager on tie at seat 3"),
        ({"key": "late_wager", "wager": "tie", "amount": 0},
         "an amount is from 1 to 1000000000000000 minor units, not 0"),
        ({"key": "late_wager", "wager": "tie", "amount": 5, "earlier": True},
         "late_wager is declared in its own round"),
        ({"key": "over_maximum", "wager": "tie", "amount": 5000, "colour": "red"},
         "there is no colour=... here: it takes key, player, seat, wager, amount, earlier"),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_not_recorded(asked: dict[str, Any], why: str) -> None:
    table = closed(player=500)
    before = table.now.wagers
    answer = table.asks("declare", player="ann", seat=3, reason="r", **asked)
    assert answer.error == f"{why}"
    assert (table.now.wagers, table.told("irregularity.raised")) == (before, [])


@pytest.mark.parametrize("key", sorted(RECORDED))
def test_nothing_is_declared_of_wagers_while_they_may_still_be_changed(key: str) -> None:
    stake: dict[str, Any] = {"player": "ann", "seat": 3, "wager": "tie", "amount": 5}
    table = wager_table(LIMITS)
    between = table.asks("declare", key=key, reason="r", **stake)
    assert (between.error or "").startswith("no round is open")
    table.does("place_your_bets")
    asked = table.asks("declare", key=key, reason="r", **stake)
    assert asked.error == "bets are still open: refuse the wager, or change it"


def test_without_its_reason_nothing_is_recorded() -> None:
    table = closed()
    asked = table.asks("declare", key="late_wager")
    assert asked.error == "a reason is missing: say what was seen"


# All wagers back at once.

ROYAL: dict[str, Any] = {**IMPLIED, "name": "dragon_bonus_royal", "method": None}


def test_the_royal_game_clears_all_bets_until_the_deal() -> None:
    table = wager_table(**ROYAL)
    for wager in ("player", "tie"):
        table.does("place_wager", player="ann", seat=1, wager=wager, amount=50)
    takes = [t["command"] for t in status(table.now, table.game, table.settings)["takes"]]
    assert "clear_bets" in takes
    table.does("clear_bets")
    assert [d["act"] for d in table.told("wager.accepted")] == ["placed"] * 2 + ["withdrawn"] * 2
    assert table.now.wagers.standing == ()
    nothing = table.asks("clear_bets")
    assert nothing.error == "no wagers lie on the layout"
    table.does("place_wager", player="ann", seat=1, wager="tie", amount=50)
    assert not table.asks("clear_bets", player="ann").accepted
    table.draw("9C")
    late = table.asks("clear_bets")
    assert (late.accepted, late.needs) == (False, {"state": "betting"})
    assert [held.wager for held in table.now.wagers.standing] == ["tie"]


@pytest.mark.parametrize("game", STAFFED)
def test_a_game_whose_file_does_not_say_so_clears_no_bets(game: str) -> None:
    table = betting_table(name=game)
    answer = table.asks("clear_bets")
    assert answer.error == f"in {game} wagers are withdrawn one by one"
    takes = [t["command"] for t in status(table.now, table.game, table.settings)["takes"]]
    assert "clear_bets" not in takes
