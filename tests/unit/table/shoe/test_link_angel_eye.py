"""At a shoe that judges, names hands and cannot send again: aligned, compared, never guessed."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, CardOutsideGame, Redesignated, Result, Started
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import WakeAt
from shoe_ctl.table.inputs import Tick
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import ROUNDS, TableHarness, balanced

STAND = ROUNDS["both stand"]


def shoe(way: int = 1, **given: Any) -> TableHarness:
    made = {**WAYS[way], "face_up_after_ms": 0, **given}
    return TableHarness(angel_eye=True, **made).open_shoe()


def test_it_is_not_aligned_until_players_first_card() -> None:
    table = shoe()
    assert table.kinds == ["shoe.connected", "shoe.not_aligned", "shoe.loaded"]
    assert not table.now.link.aligned
    for hand, index in (("banker", 1), ("player", 2), ("banker", 2), ("player", 3)):
        table.draw("9C", hand=hand, index=index)
    assert (table.now.state, table.now.round) == ("idle", None)
    assert balanced(table.now)
    assert table.now.shoe is not None
    assert table.now.shoe.drawn == 4
    table.draw("7D")
    assert table.now.link.aligned
    assert table.now.state == "dealing"


def test_a_person_aligns_it_and_then_its_order_is_held_to() -> None:
    table = shoe()
    assert not table.asks("align", position="dealer").accepted
    table.does("align", position="pit_supervisor")
    assert table.asks("align").error == "the shoe is aligned already"
    table.draw("9C", hand="banker", index=1)
    assert table.key == "wrong_order"


def test_a_first_card_that_no_announcement_opened_halts() -> None:
    table = shoe(way=0)
    table.draw("7D")
    assert table.key == "overdraw"
    table.rules("set_aside")
    assert table.now.state == "idle"


@pytest.mark.parametrize("wrong", [{"winner": "player"}, {"player_pair": True},
                                   {"banker_pair": True}])  # fmt: skip
def test_a_result_that_disagrees_halts_before_anything_is_published(
    wrong: dict[str, object],
) -> None:
    table = shoe()
    table.deal(STAND)
    assert table.told("round.outcome") == []
    table.judges(**wrong)  # type: ignore[arg-type]
    assert table.key == "result_disagrees"
    assert table.told("round.outcome") == []
    table.rules("play_on")
    resolved = table.told("irregularity.resolved")[-1]
    assert (resolved["how"], resolved["rule"]) == ("play_on", "6.3")
    (outcome,) = table.told("round.outcome")
    assert outcome["winner"] == "tie"


def test_the_dealers_announcement_waits_for_the_shoes_result_too() -> None:
    table = shoe(way=0)
    table.open_round()
    table.deal(STAND)
    table.turn_over()
    table.does("announce_totals")
    refused = table.asks("announce_outcome")
    assert refused.error == "the shoe's own result has not come yet"
    table.judges()
    table.does("announce_outcome")
    assert len(table.told("round.outcome")) == 1


def test_a_result_before_the_cards_are_seen_waits_for_them() -> None:
    table = shoe(face_up_after_ms=1000)
    table.deal(STAND)
    table.judges()
    assert table.told("round.outcome") == []
    table.turn_over()
    assert len(table.told("round.outcome")) == 1


def test_a_result_that_does_not_come_in_time_halts() -> None:
    table = shoe(result_timeout_s=3)
    table.deal(STAND)
    (wake,) = (e for e in table.effects if isinstance(e, WakeAt))
    assert wake.t_us == table.now.t_us + 3_000_000
    table.feed(Tick(t_us=wake.t_us - 1))
    assert table.now.state != "suspended"
    table.feed(Tick(t_us=wake.t_us))
    assert table.key == "result_missing"
    table.judges("player")
    assert table.told("frame.discarded", Audience.RESTRICTED) == [{"reason": "result_not_awaited"}]
    table.rules("play_on")
    assert table.told("irregularity.resolved")[-1]["rule"] == "6.3"
    assert table.told("round.outcome")[0]["winner"] == "tie"


def test_a_late_result_is_kept_apart_and_never_applied() -> None:
    table = shoe()
    table.play(STAND)
    table.draw("2D")
    table.draw("8C")
    table.disconnect()
    table.rules("void")
    before = len(table.public)
    table.says(result("player"))
    assert len(table.public) == before
    assert len(table.told("round.outcome")) == 1
    assert table.told("frame.discarded", Audience.RESTRICTED)


@pytest.mark.parametrize("dealt", ["2D 3C", "2D 3C TS TH"])
def test_a_result_while_a_card_is_due_halts(dealt: str) -> None:
    table = shoe()
    table.deal(dealt)
    if len(dealt.split()) == 4:
        assert table.now.state == "drawing"
    table.says(result("player"))
    assert table.key == "result_disagrees"
    assert table.told("round.outcome") == []
    table.rules("play_on")
    table.deal(" ".join(ROUNDS["both draw"].split()[len(dealt.split()) :]))
    assert len(table.told("round.outcome")) == 1


def test_a_result_that_came_before_the_reveal_halts_when_cards_call_for_more() -> None:
    table = shoe(way=0)
    table.open_round()
    table.deal("2D 3C TS TH")
    table.says(result("banker"))
    assert table.now.state != "suspended"
    table.turn_over()
    table.does("announce_totals")
    assert table.key == "result_disagrees"
    table.rules("play_on")
    assert table.now.state == "drawing"


def result(winner: str) -> Result:
    return Result(winner=winner, player_pair=False, banker_pair=False)


def test_a_forced_quit_halts() -> None:
    table = shoe()
    table.deal("2D 3C")
    table.says(result("forced_quit"))
    assert table.key == "result_disagrees"


def test_the_same_card_in_the_same_slot_is_a_repeat() -> None:
    table = shoe()
    table.deal("2D 3C")
    now = table.now
    table.draw("3C", hand="banker", index=1)
    assert (table.now.round, table.now.shoe) == (now.round, now.shoe)


def test_another_card_in_an_occupied_slot_is_a_conflict() -> None:
    table = shoe()
    table.deal("2D 3C")
    before = table.now.round
    table.draw("4C", hand="banker", index=1)
    assert table.key == "wrong_order"
    assert table.now.round == before


def test_a_link_lost_in_a_round_never_resumes_by_itself_nor_takes_later_cards() -> None:
    table = shoe()
    table.deal("2D 3C TS")
    table.disconnect()
    assert table.key == "link_lost"
    table.connect()
    assert table.kinds[-1] == "shoe.not_aligned"
    table.draw("2D", hand="player", index=1)  # the same face opens the next round
    table.draw("9D", hand="banker", index=1)
    assert table.now.link.aligned
    assert table.now.state == "suspended"
    assert [k.card.code for k in table.now.held if k.card] == ["2D", "9D"]
    assert table.now.round is not None
    assert len(table.now.round.cards) == 3
    refused = table.asks("decide", choice="play_on", reason="r")
    assert refused.error is not None and "no place" in refused.error
    table.rules("void")
    assert (table.now.state, table.now.held, table.now.link.aligned) == ("idle", (), False)
    table.draw("5H", hand="player", index=2)
    assert table.now.round is None
    table.draw("6H", hand="player", index=1)
    assert table.now.state == "dealing"
    assert balanced(table.now)


def test_a_link_lost_in_a_round_goes_on_where_a_person_says_that_nothing_is_missing() -> None:
    table = shoe()
    table.deal("2D 3C TS")
    table.disconnect()
    assert not table.asks("decide", choice="play_on", reason="r").accepted
    table.connect()
    table.rules("play_on")
    table.deal("6H")
    table.judges()
    assert len(table.told("round.outcome")) == 1


def test_a_link_lost_while_halted_is_an_irregularity_of_its_own() -> None:
    table = shoe(way=0)
    table.open_round()
    table.deal("2D 3C")
    table.draw("4C", hand="banker", index=1)
    assert table.key == "wrong_order"
    table.disconnect()
    assert table.now.halt is not None
    assert (table.now.halt.earlier, table.key) == (("wrong_order",), "link_lost")
    assert not table.asks("decide", choice="set_aside", reason="r").accepted
    table.rules("void")
    resolved = [d["key"] for d in table.told("irregularity.resolved")]
    assert resolved == ["link_lost", "wrong_order"]
    assert table.kinds.count("table.halted") == table.kinds.count("table.resumed") == 1


def test_a_reset_in_a_round_is_a_power_failure_and_loses_the_alignment() -> None:
    table = shoe()
    table.deal("2D 3C")
    table.says(Started())
    assert table.key == "power_failure"
    assert not table.now.link.aligned
    assert table.now.shoes == 1


@pytest.mark.parametrize("codes", ["2D 3C", "2D 3C TS TH"])
def test_a_card_given_another_place_or_drawn_outside_the_game_halts(codes: str) -> None:
    table = shoe()
    table.deal(codes)
    table.says(Redesignated(card=card("9C"), hand="player", index=1))
    assert table.key == "other"
    table.rules("play_on")
    table.says(CardOutsideGame(card=card("9C"), mode="lock"))
    assert table.key == "other"
    assert balanced(table.now)


def test_a_hand_that_the_shoe_deals_anew_halts_and_loses_the_alignment() -> None:
    table = shoe()
    table.deal("2D 3C")
    anew = Redesignated(card=card("9C"), hand="player", index=1, meaning="dealt_anew")
    table.says(anew)
    assert (table.key, table.now.link.aligned) == ("other", False)
    table = shoe()
    table.deal("2D 3C")
    table.says(Redesignated(card=card("9C"), hand="player", index=1, meaning="next_round"))
    assert (table.key, table.now.link.aligned) == ("other", True)


def test_a_burn_in_a_round_is_out_of_order() -> None:
    table = shoe()
    table.deal("2D 3C")
    table.says(CardDrawn(card=card("9C"), hand="burn", index=1))
    assert table.key == "wrong_order"
