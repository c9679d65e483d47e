"""Cards drawn early: they wait for revealed cards, take their place, or open the next round."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.commands import Armed, Locked
from firmware_proto.events import CardDrawn, CuttingCard, Reply
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import (
    NO_THIRD_CARD,
    THIRD_CARDS_DRAWN,
    early_card_ends,
    face_down_table,
    object_to_card,
    overdraw_table,
    reveal_all,
)
from shoe_testing.tables import ROUNDS, SHIFT, TableHarness, balanced

GAMES = {
    "immortal_dragon_tiger": ("5.7", "6.1"),
    "dragon_tiger_no_commission": ("5.7", "6.1"),
    "tiger": ("5.7", "6.1"),
    "fa_fa_fabulous_4": ("5.7", "6.1"),
}


# It waits.


def test_it_waits_beside_the_round_which_goes_on() -> None:
    table = face_down_table(THIRD_CARDS_DRAWN)
    table.draw("4C")
    assert (table.now.state, table.now.halt) == ("revealing", None)
    (waiting,) = table.now.pending_irregularities
    assert (waiting.key, waiting.subject) == ("overdraw", "draw 5")
    assert [k.card.code for k in table.now.early] == ["4C"]
    assert len(table.now.round.cards) == 4
    assert from_bytes(to_bytes(table.now)) == table.now
    assert balanced(table.now)


@pytest.mark.parametrize("way", [0, 1])
def test_due_after_all_it_takes_its_slot_by_itself(way: int) -> None:
    table = face_down_table(THIRD_CARDS_DRAWN, way=way)
    table.draw("4C")
    reveal_all(table)
    assert table.now.pending_irregularities == () == table.now.early
    if way == 0:
        assert [(d.hand, d.index, d.number) for d in table.now.round.cards[4:]] == [
            ("player", 3, 5)
        ]
    assert early_card_ends(table) == [("kept", "5.7")]
    assert table.told("table.halted") == []
    reveal_all(table)
    assert table.desired == Armed(6, "banker", 3)
    table.draw("5D")
    table.finish()
    (outcome,) = table.told("round.outcome")
    assert outcome["player"]["cards"] == ["2D", "TS", "4C"]


def test_the_shoe_is_never_armed_for_a_card_that_lies_there_already() -> None:
    table = face_down_table(THIRD_CARDS_DRAWN)
    table.draw("4C")
    table.draw("5D")
    table.desires.clear()
    reveal_all(table)
    reveal_all(table)
    reveal_all(table)
    assert table.desires == []
    assert [d.number for d in table.now.round.cards] == [1, 2, 3, 4, 5, 6]
    assert early_card_ends(table) == [("kept", "5.7")] * 2


def test_it_takes_its_place_only_when_everyone_has_seen_why() -> None:
    table = face_down_table(THIRD_CARDS_DRAWN)
    table.draw("4C")
    before = len(table.public)
    table.does("expose", hand="player")
    table.does("expose", hand="banker")
    assert "round.card_dealt" not in [e.type for e in table.public[before:]]
    table.does("announce_totals")
    assert "round.card_dealt" in [e.type for e in table.public[before:]]


@pytest.mark.parametrize("angel_eye", [False, True])
def test_a_card_not_due_halts_once_the_outcome_is_known_and_not_before(angel_eye: bool) -> None:
    table = face_down_table(NO_THIRD_CARD, angel_eye=angel_eye)
    object_to_card(table) if angel_eye else table.draw("4C")
    table.turn_over()
    assert table.now.state == "revealing"
    table.does("announce_totals")
    assert (table.now.state, table.key, table.now.halt.current.step) == (
        "suspended", "overdraw", "ruling",
    )  # fmt: skip
    assert table.told("table.halted") == [{"reason": "drawn_early"}]
    assert table.told("round.outcome") == []


def test_two_cards_drawn_early_are_judged_one_after_the_other() -> None:
    table = face_down_table(ROUNDS["Banker draws alone"].rpartition(" ")[0])
    table.draw("2C")
    table.draw("9D")
    assert [o.subject for o in table.now.pending_irregularities] == ["draw 5", "draw 6"]
    reveal_all(table)
    assert table.now.round.cards[4].hand == "banker"
    table.turn_over()
    assert (table.key, table.now.halt.current.subject) == ("overdraw", "draw 6")
    table.rules("first_card")
    table.finish()
    assert [k.number for k in table.now.opening] == [6]
    assert early_card_ends(table) == [("kept", "5.7"), ("first_card", "6.1")]


def test_what_halts_meanwhile_is_decided_first_and_the_card_waits_on() -> None:
    table = face_down_table(THIRD_CARDS_DRAWN)
    table.draw("4C")
    table.disconnect()
    assert (table.key, len(table.now.pending_irregularities)) == ("link_lost", 1)
    table.connect()
    table.hello()
    assert table.now.state == "revealing"
    reveal_all(table)
    assert early_card_ends(table) == [("kept", "5.7")]


def test_a_void_ends_what_waits() -> None:
    table = face_down_table(THIRD_CARDS_DRAWN)
    table.draw("4C")
    table.fails()
    table.rules("void")
    assert [o.key for o in table.now.pending_irregularities] == ["after_void"]
    assert (table.now.early, table.now.state) == ((), "idle")
    assert early_card_ends(table) == [("void", "6.1")]
    table.play(ROUNDS["both stand"])


def test_an_unarmed_card_that_is_due_is_that_hands_and_the_record_says_so() -> None:
    table = face_down_table("2D 3C")
    table.draw("TS", armed=False)
    assert [d.card.code for d in table.now.round.cards] == ["2D", "3C", "TS"]
    raised = table.told("irregularity.raised")[-1]
    assert (raised["key"], english(raised["seen"])) == (
        "drawn_early", "a card was drawn that the shoe was not armed for",
    )  # fmt: skip
    assert early_card_ends(table) == [("kept", "5.7")]
    assert table.told("table.halted") == []


@pytest.mark.parametrize("name", GAMES)
def test_each_end_cites_the_games_own_rules(name: str) -> None:
    due, silent = GAMES[name]
    deck = {"fa_fa_fabulous_4": "element65"}.get(name, "french52")
    codes = "2f 3g Tf Tg 4f 5f 6f 7f" if deck == "element65" else "2D 3C TS TH 4C 5D 6C 7C"
    table = TableHarness(name=name, **WAYS[0])
    table.connect()
    table.hello(resumed=False, deck=deck)
    table.load()
    table.open_round()
    table.deal(" ".join(codes.split()[:4]))
    for code in codes.split()[4:]:
        table.draw(code)
    for _ in range(3):
        reveal_all(table)
    table.rules("first_card")
    table.rules("set_aside")
    assert early_card_ends(table) == [
        ("kept", due), ("kept", due), ("first_card", silent), ("set_aside", silent),
    ]  # fmt: skip


def test_a_game_without_rules_of_it_cites_none_and_its_top_position_decides() -> None:
    table = TableHarness(name="dragon_bonus_royal", method=None, **WAYS[1]).open_shoe()
    table.deal(NO_THIRD_CARD)
    table.draw("4C")
    table.turn_over()
    assert table.key == "overdraw"
    table.rules("first_card")
    assert early_card_ends(table) == [("first_card", None)]


# It opens the next round.


def opening(way: int = 0, **more: Any) -> TableHarness:
    """A table between rounds whose next round begins with the 4C."""
    table = face_down_table(NO_THIRD_CARD, way=way, **more)
    table.draw("4C")
    reveal_all(table)
    table.rules("first_card")
    if table.now.round is not None:
        table.finish()
    assert table.now.state == "idle"
    return table


def test_it_is_dealt_to_player_when_bets_are_closed_and_the_shoe_is_armed_for_the_next() -> None:
    table = opening()
    assert table.desired == Locked()
    table.does("place_your_bets")
    assert table.now.round.cards == ()
    table.does("no_more_bets")
    (dealt,) = table.now.round.cards
    assert (dealt.hand, dealt.index, dealt.card.code, dealt.number) == ("player", 1, "4C", 5)
    assert (table.now.state, table.now.opening) == ("dealing", ())
    assert table.desired == Armed(6, "banker", 1)
    table.deal("7C 5S QH")
    table.finish()
    assert table.told("round.outcome")[-1]["player"]["cards"] == ["4C", "5S"]
    assert balanced(table.now)


def test_where_announcements_are_implied_the_next_card_opens_the_round_behind_it() -> None:
    table = opening(way=1)
    assert table.desired == Armed(6, "banker", 1)
    before = len(table.kinds)
    table.draw("7C")
    assert table.kinds[before:] == [
        "round.opened", "round.bets_closed", "round.card_dealt", "round.card_dealt",
    ]  # fmt: skip
    assert [(d.hand, d.number) for d in table.now.round.cards] == [("player", 5), ("banker", 6)]


@pytest.mark.parametrize("method", ["A", "C"])
def test_where_players_handle_cards_it_is_passed_with_the_hand(method: str) -> None:
    table = opening(method=method, area="Paiza Club")
    table.open_round()
    table.deal("7C 5S QH")
    table.does("pass_cards", hand="player", seat=3)
    table.does("expose", hand="player", by="holder")
    told = [d["card"] for d in table.told("round.card_revealed") if d["hand"] == "player"]
    assert told[-2:] == ["4C", "5S"]


def test_a_card_that_was_seen_never_opens_a_round() -> None:
    table = face_down_table(NO_THIRD_CARD)
    table.draw("4C")
    reveal_all(table)
    table.does("decide", choice="exposed", position="dealer", reason="it fell over")
    assert [c.name for c in stack.offered_choices(overdraw_table(table))] == ["set_aside", "void"]
    assert english(table.told("irregularity.step")[-1]["prompt"]) == (
        "the card was seen: it is set aside"
    )
    refused = table.asks("decide", choice="first_card", reason="r")
    assert refused.error == "the choice is one of set_aside, void"
    table.rules("set_aside")
    assert table.now.opening == ()


def test_a_card_that_lay_face_up_in_the_shoe_never_opens_a_round() -> None:
    table = face_down_table(NO_THIRD_CARD)
    table.draw("4C", face_up=True)
    reveal_all(table)
    refused = table.asks("decide", choice="first_card", reason="r")
    assert refused.error == "a card that was seen never opens a round"


def test_only_one_card_opens_the_next_round() -> None:
    table = opening()
    table.draw("5C")
    refused = table.asks("decide", choice="first_card", reason="r")
    assert refused.error == "a card lies there already that opens the round"


def test_no_card_opens_a_round_that_will_not_be_dealt() -> None:
    table = face_down_table("7D 7C TS")
    table.says(CuttingCard())
    table.deal("TH")
    table.draw("4C")
    reveal_all(table)
    refused = table.asks("decide", choice="first_card", reason="r")
    assert refused.error == "no further round is dealt from this shoe"
    table.rules("set_aside")
    table.finish()
    assert table.now.state == "shoe_change"
    table.draw("5C")
    assert "first_card" not in [
        c["choice"] for c in table.told("irregularity.raised")[-1]["choices"]
    ]


@pytest.mark.parametrize("how", ["change_shoe", "load"])
def test_another_shoe_begins_without_it(how: str) -> None:
    table = opening()
    if how == "change_shoe":
        table.does("change_shoe")
    table.load("set-2")
    assert table.now.opening == ()
    said = [d.get("step") for d in table.told("irregularity.step")]
    assert "set_aside_no_further_round" in said
    table.play(ROUNDS["both stand"])


@pytest.mark.parametrize("state", ["idle", "betting"])
def test_a_card_drawn_before_bets_are_closed_may_be_the_rounds_first(state: str) -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    if state == "betting":
        table.does("place_your_bets")
    table.draw("4C")
    assert (table.key, table.now.halt.current.step) == ("overdraw", "ruling")
    assert table.asks("decide", choice="first_card", reason="r", position="pit_manager").needs == {
        "position": SHIFT
    }
    table.rules("first_card")
    assert table.now.state == state
    if state == "idle":
        table.does("place_your_bets")
    table.does("no_more_bets")
    assert [d.card.code for d in table.now.round.cards] == ["4C"]


def test_a_player_with_neither_wager_nor_leave_draws_what_is_ruled_on() -> None:
    table = TableHarness(method="C", area="Paiza Club", **WAYS[0]).open_shoe()
    table.does("offer_shoe", player="ann", seat=1)
    table.does("place_your_bets")
    table.does("place_wager", player="bob", seat=2, wager="tie", amount=100)
    table.does("no_more_bets")
    assert table.desired == Locked()
    table.draw("4C", armed=False)
    assert (table.key, table.now.halt.current.step) == ("overdraw", "ruling")
    table.rules("due")
    assert (table.now.state, [d.card.code for d in table.now.round.cards]) == ("dealing", ["4C"])


# Player's first card, pulled during a pause: it can only be that card.


@pytest.mark.parametrize("armed", [True, False])
@pytest.mark.parametrize("name", ["tiger", "dragon_bonus_royal", "immortal_dragon_tiger"])
def test_a_card_pulled_in_a_pause_before_players_first_card_takes_its_slot(
    name: str, armed: bool
) -> None:
    table = TableHarness(name=name, **WAYS[0]).open_shoe()
    table.open_round()
    table.does("pause")
    table.says(CardDrawn(card=card("9C"), number=1, armed=armed))
    assert table.key == "review"
    table.does("resume")
    assert (table.now.state, table.now.halt) == ("dealing", None)
    assert [(d.hand, d.index, d.card.code) for d in table.now.round.cards] == [("player", 1, "9C")]
    assert table.now.armed == (2, "banker", 1)
    unarmed = [d["how"] for d in table.told("irregularity.resolved")]
    assert unarmed == ([] if armed else ["kept"])


def test_a_card_pulled_in_a_pause_while_bets_are_open_is_ruled_on() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.does("place_your_bets")
    table.does("pause")
    table.says(CardDrawn(card=card("9C"), number=1, armed=False))
    assert table.key == "overdraw"


def test_a_second_card_pulled_in_that_pause_is_no_first_card() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.does("pause")
    table.says(CardDrawn(card=card("9C"), number=1, armed=False))
    table.says(CardDrawn(card=card("2D"), number=2, armed=False))
    assert table.key == "overdraw"


# A card belongs to the round in which it left the shoe.


@pytest.mark.parametrize("name", ["tiger", "fa_fa_fabulous_4", "dragon_bonus_royal"])
def test_a_card_that_the_shoe_drew_before_the_round_is_ruled_on_however_late_it_is_told(
    name: str,
) -> None:
    """It was pulled by force after the outcome, and its report was held back."""
    codes = "7g 7f Tg Tf" if name.startswith("fa") else "7D 7C TS TH"
    table = TableHarness(name=name, **WAYS[0]).open_shoe()
    table.play(codes)
    table.does("place_your_bets")
    table.does("no_more_bets")
    table.says(Reply(accepted=False, reason="already_drawn", number=5))
    late = card("9g" if name.startswith("fa") else "9C")
    table.says(CardDrawn(card=late, number=5, armed=False))
    assert (table.key, table.now.halt.current.step) == ("overdraw", "ruling")
    assert table.told("irregularity.raised")[-1]["seen"]["code"] == "seen_drawn_late"
    table.rules("set_aside")
    assert (table.now.state, table.now.armed) == ("closed", (6, "player", 1))


def test_such_a_card_may_be_ruled_to_be_the_first_card_all_the_same() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.play("7D 7C TS TH")
    table.open_round()
    table.says(Reply(accepted=False, reason="already_drawn", number=5))
    table.says(CardDrawn(card=card("9C"), number=5, armed=False))
    table.rules("due")
    assert [(d.hand, d.number) for d in table.now.round.cards] == [("player", 5)]


def test_a_third_card_that_left_before_its_arm_is_still_that_hands_card() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.says(Reply(accepted=False, reason="already_drawn", number=5))
    table.says(CardDrawn(card=card("4C"), number=5, armed=False))
    assert [(d.hand, d.index) for d in table.now.round.cards][-1] == ("player", 3)
