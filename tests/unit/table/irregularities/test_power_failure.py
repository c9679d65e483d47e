"""Power lost in a round: what is decided by the cards seen, and the rule that then holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firmware_proto.commands import Armed, Locked
from firmware_proto.events import Started
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.staff import plays_out
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import declare
from shoe_testing.tables import TableHarness, betting_table, place_bet


def loses_power_after(codes: str, *, name: str = "tiger", **given: Any) -> dict[str, Any]:
    """What the room is told when the host booted with these cards on the table."""
    shown: dict[str, Any] = {"announcements": "implied", "faces": "face_up", "face_up_after_ms": 0}
    table = TableHarness(name=name, **(shown | given)).open_shoe()
    table.restart("b1")
    table.connect()
    table.hello()
    for code in codes.split():
        table.draw(code)
    (raised,) = (
        effect
        for effect in table.restart("b2")
        if isinstance(effect, TableEvent) and effect.type == "irregularity.raised"
    )
    assert raised.audience is Audience.PUBLIC
    return raised.data


@pytest.mark.parametrize(
    ("name", "rule"), [("tiger", "5.17.1"), ("immortal_dragon_tiger", "5.15.1")]
)
def test_with_nothing_decided_each_player_may_withdraw(name: str, rule: str) -> None:
    told = loses_power_after("7D", name=name, layout="A")
    assert told["decided"] == {}
    assert (told["end"], told["rule"]) == ("withdrawal", rule)


@pytest.mark.parametrize(
    ("name", "rule"), [("tiger", "5.17.2"), ("immortal_dragon_tiger", "5.15.2")]
)
def test_with_a_wager_decided_play_goes_on(name: str, rule: str) -> None:
    # Player stands on 6, Banker draws: Banker can no longer win on 6 with two cards
    told = loses_power_after("6D 2C TS TH", name=name, layout="A")
    assert told["decided"]["small_tiger"] == "lose"
    assert "player" not in told["decided"]
    assert (told["end"], told["rule"]) == ("continued", rule)


def test_a_pair_in_players_hand_wins_tiger_pair_before_banker_is_complete() -> None:
    assert loses_power_after("4D 2C 4S")["decided"]["tiger_pair"] == "win"


def test_only_wagers_that_the_layout_offers_count() -> None:
    on = {
        layout: loses_power_after("7D 2C 4S", name="immortal_dragon_tiger", layout=layout)
        for layout in "AB"
    }
    assert "player_pair" not in on["A"]["decided"]
    assert on["B"]["decided"] == on["A"]["decided"] | {"player_pair": "lose"}


def test_cards_face_down_decide_nothing_however_they_lie() -> None:
    """Rounds alike from the table are told alike: the facts follow revealed cards only."""
    told = [
        loses_power_after(codes, face_up_after_ms=60_000)
        for codes in ("4D 2C 4S", "9D 9C KS", "7D 2C AS")
    ]
    assert told[0]["decided"] == {}
    assert told == [told[0]] * 3


# What follows.


def dark(codes: str = "2D 3C TS", **given: Any) -> TableHarness:
    """Face down, with the host's power lost and back, and the shoe's link."""
    table = TableHarness(**(WAYS[0] | given)).open_shoe()
    table.restart("b1")
    table.connect()
    table.hello()
    table.open_round()
    table.deal(codes)
    table.restart("b2")
    table.connect()
    return table


def test_the_round_is_concluded_even_if_all_withdraw() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.does("place_your_bets")
    place_bet(table)
    table.does("no_more_bets")
    table.deal("2D")
    declare(table, "power_failure")
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="withdraw_all", player="ann", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    table.does("decide", choice="play_on", position="dealer")
    table.deal("8C 7S TH")
    table.finish()
    assert table.told("round.outcome") and table.told("wager.settled") == []


def test_nobody_is_asked_to_rule_where_the_rules_say_what_follows() -> None:
    table = dark()
    raised = table.told("irregularity.raised")[-1]
    assert choices(raised) == {"offer_withdrawal": "dealer", "refer": "dealer"}
    assert raised["rule"] == "5.17.1" and "no wager is decided" in english(raised["prompt"])


def choices(told: dict[str, Any]) -> dict[str, str]:
    return {c["choice"]: c["position"] for c in told["choices"]}


@pytest.mark.parametrize("codes", ["", "2D 3C TS TH"])
def test_it_is_referred_to_the_shift_manager_under_another_rule_and_with_a_reason(
    codes: str,
) -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal(codes)
    declare(table, "power_failure")
    table.does("decide", choice="offer_withdrawal", position="dealer")
    assert "a reason is missing" in str(table.asks("decide", choice="refer").error)
    table.does("decide", choice="refer", position="dealer", reason="smoke at the table")
    assert table.told("withdrawal.closed")[-1]["answer"] == "stands"
    told = table.told("irregularity.step")[-1]
    assert choices(told) == dict.fromkeys(("play_on", "void"), "gaming_shift_manager")
    assert (told["end"], told["rule"]) == ("ruled", "6.1")
    table.rules("void")
    assert table.told("round.void")[-1]["rule"] == "6.1"


# Whoever holds cards.

TIGER_PAIR = "4D 2C 4S TH"


def held(codes: str, *hands: str, method: str = "A", fed: bool = True) -> TableHarness:
    """Ann and Bo have wagers, and these hands were passed to the Players whose they are."""
    table = betting_table(**WAYS[0], method=method, area="Paiza Club")
    if fed:
        place_bet(table, "player", 500)
        place_bet(table, "banker", 400, player="bo", seat=4)
        place_bet(table, "tiger_pair", 100, player="bo", seat=4)
    table.does("no_more_bets")
    table.deal(codes)
    for hand, player, seat in (("player", "ann", 3), ("banker", "bo", 4)):
        if hand in hands:
            table.does("pass_cards", hand=hand, player=player, seat=seat)
    return table


@pytest.mark.parametrize("method", ["A", "C"])
def test_with_a_wager_decided_play_goes_on_and_no_void_is_offered_whoever_holds_cards(
    method: str,
) -> None:
    table = held(TIGER_PAIR, "banker", method=method)
    table.does("expose", hand="player", by="dealer")
    declare(table, "power_failure")
    raised = table.told("irregularity.raised")[-1]
    assert raised["decided"]["tiger_pair"] == "win"
    assert (raised["end"], raised["rule"]) == ("continued", "5.17.2")
    assert choices(raised) == {"play_on": "dealer"}
    assert "a wager is decided" in english(raised["prompt"])
    for choice in ("void", "refer", "offer_withdrawal", "take_hands_back"):
        refused = table.asks("decide", choice=choice, reason="r")
        assert refused.error == "the choice is one of play_on"
    table.does("decide", choice="play_on", position="dealer")
    assert table.told("irregularity.resolved")[-1]["rule"] == "5.17.2"
    assert table.now.round.hands.banker.holder.seat == 4  # who holds a hand goes on holding it
    table.does("expose", hand="banker", by="holder")


@pytest.mark.parametrize("method", ["A", "C"])
@pytest.mark.parametrize("fed", [True, False])
def test_with_nothing_decided_a_held_hand_is_taken_back_before_players_are_asked(
    method: str, fed: bool
) -> None:
    table = held("2D 3C TS TH", "player", "banker", method=method, fed=fed)
    declare(table, "power_failure")
    raised = table.told("irregularity.raised")[-1]
    assert choices(raised) == {"take_hands_back": "dealer", "refer": "dealer"}
    assert raised["rule"] == "5.17.1" and "take back" in english(raised["prompt"])
    table.does("decide", choice="take_hands_back", position="dealer")
    back = [(told["hand"], told["seat"], told["rule"]) for told in table.told("cards.retrieved")]
    assert back == [("player", 3, "5.17.1"), ("banker", 4, "5.17.1")]
    assert choices(table.told("irregularity.step")[-1]) == {
        "offer_withdrawal": "dealer", "refer": "dealer",
    }  # fmt: skip
    table.concludes()
    assert table.told("irregularity.resolved")[-1]["how"] == "concluded"
    assert not table.asks("expose", hand="player", by="holder").accepted


def test_a_hand_taken_back_goes_to_whom_the_wagers_name_that_are_left() -> None:
    table = held("2D 3C TS TH", "player")
    declare(table, "power_failure")
    table.does("decide", choice="take_hands_back", position="dealer")
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="withdraw_all", player="ann", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    table.does("decide", choice="play_on", position="dealer")
    refused = table.asks("pass_cards", hand="player", seat=3)
    assert "a pit supervisor names who does" in str(refused.error)


def test_a_hand_that_everyone_has_seen_is_held_by_nobody() -> None:
    table = held("2D 3C TS TH", "player")
    table.does("expose", hand="player", by="holder")
    declare(table, "power_failure")
    raised = table.told("irregularity.raised")[-1]
    assert "take_hands_back" not in choices(raised)


# Before the first card.


def loses_host(table: TableHarness) -> None:
    table.restart("b2")


def loses_shoe(table: TableHarness) -> None:
    table.disconnect()
    table.connect()
    table.hello(boot=8)


@pytest.mark.parametrize("lose", [loses_host, loses_shoe])
@pytest.mark.parametrize("announcements", ["explicit", "implied"])
@pytest.mark.parametrize("wagers", [True, False])
def test_before_the_first_card_power_is_lost_too_once_bets_are_closed(
    lose: Callable[[TableHarness], None], announcements: str, wagers: bool
) -> None:
    way = WAYS[announcements == "implied"]
    table = TableHarness(**way).open_shoe()
    table.restart("b1")
    table.connect()
    table.hello()
    table.does("place_your_bets")
    if wagers:
        place_bet(table)
    lose(table)
    assert table.now.state == "betting"  # bets are open: whoever wants to may withdraw
    table.connect()
    table.hello(boot=9)
    table.restart("b1")
    table.connect()
    table.hello(boot=9)
    table.does("no_more_bets")
    if lose is loses_shoe:
        table.disconnect()
        table.connect()
        table.hello(boot=10)
    else:
        table.restart("b3")
        table.connect()
        table.hello(boot=9)
    assert (table.now.state, table.key) == ("suspended", "power_failure")
    raised = table.told("irregularity.raised")[-1]
    assert (raised["decided"], raised["end"], raised["rule"]) == ({}, "withdrawal", "5.17.1")
    table.concludes()
    assert (table.now.state, table.desired) == ("closed", Armed(1, "player", 1))
    table.deal("9C 2D KD 3H")
    table.finish()
    assert len(table.told("round.outcome")) == 1


NUMBERS = {
    "immortal_dragon_tiger": "5.15.1",
    "dragon_tiger_no_commission": "5.17.1",
    "tiger": "5.17.1",
    "fa_fa_fabulous_4": "5.17.1",
}


@pytest.mark.parametrize("name", [*NUMBERS, "dragon_bonus_royal"])
def test_in_every_game_it_is_raised_before_the_first_card(name: str) -> None:
    table = TableHarness(name=name, announcements="explicit").open_shoe()
    table.restart("b1")
    table.connect()
    table.hello()
    table.open_round()
    table.restart("b2")
    raised = table.told("irregularity.raised")[-1]
    assert (raised["key"], raised["rule"]) == ("power_failure", NUMBERS.get(name))


def test_a_restart_of_the_controller_alone_before_the_first_card_is_no_loss_of_power() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.restart("b1")
    table.connect()
    table.hello()
    table.open_round()
    table.restart("b1")
    table.connect()
    table.hello()
    assert (table.now.state, table.desired) == ("closed", Armed(1, "player", 1))


def test_the_first_card_takes_its_slot_though_it_came_as_the_power_went() -> None:
    table = dark("")
    table.hello(boot=8, drawn=1)
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    refused = table.asks("decide", choice="play_on", position="dealer")
    assert refused.error == "the shoe counts cards that it did not report"
    table.draw("TH", number=1, armed=True)
    table.does("decide", choice="play_on", position="dealer")
    assert (table.now.state, table.desired) == ("dealing", Armed(2, "banker", 1))


def test_a_shoe_that_starts_anew_before_the_first_card_lost_power() -> None:
    table = TableHarness(angel_eye=True, **WAYS[0]).open_shoe()
    table.does("align", reason="new shoe")
    table.open_round()
    table.says(Started())
    assert table.key == "power_failure"
    table.concludes()
    assert (table.now.state, table.now.link.aligned) == ("closed", False)
    table.draw("9C", hand="player", index=1)
    assert (table.now.state, table.now.link.aligned) == ("dealing", True)


def test_before_the_first_card_too_play_goes_on_only_with_the_shoe_connected() -> None:
    table = dark("")
    table.disconnect()
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    refused = table.asks("decide", choice="play_on", position="dealer")
    assert refused.error == "the link to the shoe is down"
    table.connect()
    table.hello(boot=8)
    assert len(table.told("irregularity.raised")) == 1
    table.does("decide", choice="play_on", position="dealer")
    assert table.now.state == "closed"


def test_a_shoe_that_names_no_hand_is_aligned_by_a_person_before_its_first_card() -> None:
    table = TableHarness(bee_tek=True, **WAYS[0]).open_shoe()
    table.restart("b1")
    table.connect()
    table.does("align")
    table.open_round()
    table.restart("b2")
    table.connect()
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    refused = table.asks("decide", choice="play_on", position="dealer")
    assert refused.error == ("the shoe is not aligned: a pit supervisor says align")
    table.does("align")
    table.does("decide", choice="play_on", position="dealer")
    assert table.now.state == "closed"


def test_power_lost_while_the_table_is_halted_before_the_first_card_is_seen_too() -> None:
    table = dark("")
    table.concludes()
    declare(table, "other")
    table.restart("b3")
    assert table.key == "power_failure"


def test_a_game_without_a_rule_for_it_leaves_it_to_the_operator() -> None:
    table = TableHarness(name="dragon_bonus_royal", announcements="implied").open_shoe()
    table.draw("2D")
    declare(table, "power_failure")
    offered = table.told("irregularity.raised")[-1]["choices"]
    assert [c["choice"] for c in offered] == ["play_on", "void"]
    table.rules("play_on")
    assert table.told("irregularity.resolved")[-1]["rule"] is None


def test_a_card_that_the_shoe_was_armed_for_takes_its_slot_by_replay() -> None:
    table = dark()
    table.hello(boot=8, drawn=4, resumed=True)
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    refused = table.asks("decide", choice="play_on", position="dealer")
    assert refused.error == "the shoe counts cards that it did not report"
    table.draw("TH", armed=True)
    assert len(table.now.round.cards) == 4
    table.does("decide", choice="play_on", position="dealer")
    assert (table.now.state, table.desired) == ("revealing", Locked())
    table.turn_over()
    table.does("announce_totals")
    assert table.desired == Armed(5, "player", 3)


def test_the_first_cards_still_to_come_are_armed_for_after_it() -> None:
    table = dark("2D 3C")
    table.hello(boot=8, drawn=3)
    table.draw("TS", armed=True)
    table.concludes()
    assert (table.now.state, table.desired) == ("dealing", Armed(4, "banker", 2))


def test_a_third_card_takes_its_slot_too() -> None:
    table = dark("2D 3C TS TH")
    table.hello(boot=7)
    table.concludes()
    table.turn_over()
    table.does("announce_totals")
    assert table.now.state == "drawing"
    table.restart("b3")
    table.connect()
    table.hello(boot=9, drawn=5)
    table.draw("4C", armed=True)
    table.concludes()
    assert (table.now.state, len(table.now.round.cards)) == ("revealing", 5)


@pytest.mark.parametrize("more", [{"armed": False}, {"armed": True, "number": 9}])
def test_any_other_card_has_no_place_and_only_a_void_is_left(more: dict[str, Any]) -> None:
    table = dark()
    table.hello(boot=8)
    table.draw("TH", **more)
    assert len(table.now.held) == 1
    if table.key != "power_failure":
        table.rules("void")
        assert table.now.state == "idle"
        return
    assert "void" not in choices(status(table.now, table.game, table.settings)["halt"])
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    refused = table.asks("decide", choice="play_on", position="dealer")
    assert "cards were drawn that have no place" in str(refused.error)
    table.refers("void")


def test_with_a_wager_decided_and_a_card_that_has_no_place_it_can_be_referred() -> None:
    table = held(TIGER_PAIR, "banker")
    table.does("expose", hand="player", by="dealer")
    declare(table, "power_failure")
    assert offered_names(table) == ["play_on"]
    table.draw("9S", armed=False)
    refused = table.asks("decide", choice="play_on", position="dealer")
    assert "cards were drawn that have no place" in str(refused.error)
    assert offered_names(table) == ["play_on", "refer"]
    table.refers("void")
    assert table.told("round.void")[-1]["rule"] == "6.1"


def offered_names(table: TableHarness) -> list[str]:
    return [c["choice"] for c in status(table.now, table.game, table.settings)["halt"]["choices"]]


def test_a_card_that_lay_face_up_when_power_failed_counts_among_what_is_decided() -> None:
    table = TableHarness(**WAYS[1], face_up_after_ms=0).open_shoe()
    table.restart("b1")
    table.connect()
    table.hello()
    table.deal("4D 2C")
    table.restart("b2")
    assert table.told("irregularity.raised")[-1]["end"] == "withdrawal"
    table.connect()
    table.hello(boot=8, drawn=3)
    table.draw("4S", armed=True)
    told = table.told("irregularity.step")[-1]
    assert (told["end"], told["decided"]["tiger_pair"]) == ("continued", "win")
    table.does("decide", choice="play_on", position="dealer")
    assert table.now.state == "dealing"


def test_a_shoe_that_is_not_aligned_is_aligned_by_a_person_before_play_goes_on() -> None:
    table = TableHarness(angel_eye=True, **WAYS[0]).open_shoe()
    table.restart("b1")
    table.connect()
    table.open_round()
    table.deal("2D 3C")
    table.restart("b2")
    table.connect()
    table.does("decide", choice="offer_withdrawal", position="dealer")
    table.does("decide", choice="close_window", position="dealer")
    refused = table.asks("decide", choice="play_on", position="dealer")
    assert refused.error == ("the shoe is not aligned: a pit supervisor says align")
    shown = status(table.now, table.game, table.settings)["next"]
    assert (shown["command"], shown["args"]) == ("align", {})
    assert english(shown["message"]).endswith("if none is, align the shoe")
    table.does("align", reason="no card was drawn")
    assert status(table.now, table.game, table.settings)["next"]["command"] == "decide"
    table.does("decide", choice="play_on", position="dealer")
    assert table.now.state == "dealing"


def test_with_a_wager_decided_and_the_shoe_not_aligned_the_status_leads_on() -> None:
    table = TableHarness(angel_eye=True, **WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.turn_over()
    table.does("announce_totals")
    assert table.now.state == "drawing"
    table.says(Started())
    assert table.now.halt.current.step == "continue"
    plays_out(table)
    assert len(table.told("round.outcome")) == 1
