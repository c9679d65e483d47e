"""The shoe is reset for a dealer's error (5.9): the window, cards that are out, betting again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firmware_proto.commands import Armed, Locked
from firmware_proto.events import ResetDone, Started
from shoe_ctl.games import catalog
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import declare
from shoe_testing.tables import TableHarness, betting_table, place_bet


def reset(codes: str = "", *, shown: bool = False, **given: Any) -> TableHarness:
    """Ann and Bo have wagers; with these cards out a reset is declared, and the window closed."""
    table = betting_table(**(WAYS[0] | given))
    place_bet(table, "player", 500)
    place_bet(table, "tie", 100, player="bo", seat=4)
    table.does("no_more_bets")
    table.deal(codes)
    if shown:
        table.does("expose", hand="player")
    declare(table, "device_reset")
    table.does("withdraw_wager", player="bo", seat=4, wager="tie")
    table.does("decide", choice="close_window", position="dealer")
    return table


def ready(table: TableHarness) -> None:
    table.does("decide", choice="device_is_reset", position="dealer")


def offered(table: TableHarness) -> list[str]:
    return [c["choice"] for c in table.told("irregularity.step")[-1]["choices"]]


def test_the_window_is_open_at_once_and_any_wager_may_go() -> None:
    table = betting_table(**WAYS[0])
    place_bet(table)
    table.does("no_more_bets")
    declare(table, "device_reset")
    (told,) = table.told("withdrawal.opened")
    assert (told["rule"], told["scope"], told["seats"]) == ("5.9", "any", [3])


def test_without_cards_it_is_bet_on_again_and_what_was_not_withdrawn_stands() -> None:
    table = reset()
    ready(table)
    assert (table.now.state, table.desired) == ("betting", Locked())
    assert table.told("irregularity.resolved")[-1] == {
        "key": "device_reset", "how": "betting_again", "rule": "5.9",
    }  # fmt: skip
    place_bet(table, "banker", 300, player="cy", seat=5)
    table.does("no_more_bets")
    held = [(w.player, w.wager) for w in table.now.wagers.standing]
    assert held == [("ann", "player"), ("cy", "banker")]
    assert len(table.told("round.bets_closed")) == 2
    assert table.desired == Armed(1, "player", 1)
    table.deal("9C 2D KD 3H")
    table.finish()
    assert len(table.told("round.outcome")) == 1


def test_cards_drawn_unseen_may_open_the_round_by_a_ruling() -> None:
    table = reset("2D 3C")
    ready(table)
    assert offered(table) == ["open_round", "set_aside", "void"]
    low = table.asks("decide", choice="open_round", position="pit_manager", reason="r")
    assert low.needs == {"position": "gaming_shift_manager"}
    table.rules("open_round")
    assert table.told("irregularity.resolved")[-1]["rule"] == "6.1"
    assert (table.now.state, len(table.now.round.cards)) == ("betting", 2)
    table.does("no_more_bets")
    assert (table.now.state, table.desired) == ("dealing", Armed(3, "player", 2))
    table.deal("KS 4H")
    assert table.now.state == "revealing"


def test_all_four_may_and_are_revealed_after_betting_again() -> None:
    table = reset("9C 2D KD 3H")
    ready(table)
    table.rules("open_round")
    table.does("no_more_bets")
    assert (table.now.state, table.desired) == ("revealing", Locked())
    table.finish()
    assert table.told("round.outcome")[-1]["winner"] == "player"


@pytest.mark.parametrize(
    ("codes", "given"),
    [("9C 2D KD 3H", {"shown": True}), ("9C 2D", dict(WAYS[1] | {"face_up_after_ms": 60_000}))],
)
def test_exposed_cards_never_open_it(codes: str, given: dict[str, Any]) -> None:
    table = reset(codes, **given)
    ready(table)
    assert offered(table) == ["set_aside", "void"]
    refused = table.asks("decide", choice="open_round", reason="r")
    assert refused.error == "the choice is one of set_aside, void"


def test_cards_set_aside_stay_counted_and_the_round_begins_with_the_next() -> None:
    table = reset("9C 2D KD 3H", shown=True)
    ready(table)
    table.rules("set_aside")
    assert (table.now.state, table.now.round.cards) == ("betting", ())
    assert table.now.shoe.counts == {"9C": 1, "2D": 1, "KD": 1, "3H": 1}
    table.does("no_more_bets")
    assert table.desired == Armed(5, "player", 1)
    table.deal("8C 2D TS 3H")
    table.finish()
    assert table.told("round.outcome")[-1]["player"]["cards"] == ["8C", "TS"]


def test_an_unread_card_that_is_set_aside_is_not_waited_for() -> None:
    table = betting_table(**WAYS[0])
    table.does("no_more_bets")
    table.deal("2D")
    table.draw(None)
    assert [w.key for w in table.now.pending_irregularities] == ["misread"]
    declare(table, "device_reset")
    table.does("decide", choice="close_window", position="dealer")
    ready(table)
    table.rules("set_aside")
    assert table.now.pending_irregularities == ()


def test_the_shoes_new_start_is_the_reset_and_no_loss_of_power() -> None:
    table = reset("2D 3C")
    table.hello(boot=8)
    table.says(ResetDone(command_id=1))
    table.says(Started())
    assert (table.key, table.now.halt.earlier) == ("device_reset", ())
    ready(table)
    table.rules("open_round")
    assert table.now.state == "betting"


def test_a_reset_of_the_shoes_own_is_not_the_dealers_error() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D")
    table.says(ResetDone(command_id=1))
    assert table.key == "other"
    table = TableHarness(angel_eye=True, **WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D")
    table.says(Started())
    assert table.key == "power_failure"


def test_it_is_declared_after_no_more_bets_and_before_the_outcome() -> None:
    table = betting_table(**WAYS[0])
    refused = table.asks("declare", key="device_reset", reason="r")
    assert refused.needs["state"] == "closed, dealing, revealing, drawing, suspended"


def test_a_game_without_the_rule_leaves_it_to_the_operator() -> None:
    table = TableHarness(name="dragon_bonus_royal", **WAYS[1]).open_shoe()
    table.draw("2D")
    declare(table, "device_reset")
    offered_first = [c["choice"] for c in table.told("irregularity.raised")[-1]["choices"]]
    assert offered_first == ["play_on", "void"]
    assert table.told("withdrawal.opened") == []
    table.rules("play_on")
    assert table.now.state == "dealing"


def test_under_another_irregularity_the_table_resumes_in_betting() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    declare(table, "other")
    declare(table, "device_reset")
    table.does("decide", choice="close_window", position="dealer")
    ready(table)
    assert (table.key, table.now.halt.resume_state) == ("other", "betting")
    table.rules("play_on")
    assert table.now.state == "betting"


def test_a_game_may_let_nobody_wager_anew_after_the_reset(tmp_path: Path) -> None:
    file = tmp_path / "tiger.toml"
    shipped = catalog.source("tiger")
    file.write_bytes(shipped.replace(b"wager_anew = true", b"wager_anew = false"))
    table = reset(name=str(file))
    ready(table)
    assert table.now.state == "betting"
    refused = table.asks("place_wager", player="cy", seat=5, wager="banker", amount=300)
    assert (refused.accepted, refused.error) == (False, refused_late())
    table.does("no_more_bets")
    assert [(w.player, w.wager) for w in table.now.wagers.standing] == [("ann", "player")]
    assert table.desired == Armed(1, "player", 1)


def refused_late() -> str:
    """What a wager is refused with that comes after *no more bets*."""
    late = betting_table(**WAYS[0])
    late.does("no_more_bets")
    error = late.asks("place_wager", player="cy", seat=5, wager="banker", amount=300).error
    assert error is not None
    return error
