"""At a shoe that only says that a card was drawn: by draw order, and asked after any doubt."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, Discarded, Error, Warned
from shoe_ctl.records import Audience
from shoe_ctl.table.status import status
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import ROUNDS, TableHarness, balanced

STAND = ROUNDS["both stand"]
ILLEGIBLE = Discarded(reason="form")


def shoe(way: int = 1, **given: Any) -> TableHarness:
    made = {**WAYS[way], "face_up_after_ms": 0, **given}
    return TableHarness(bee_tek=True, **made).open_shoe()


def fresh(way: int = 1) -> TableHarness:
    """Connected, and nobody has said yet where the shoe stands."""
    table = TableHarness(bee_tek=True, **WAYS[way])
    table.connect()
    return table


@pytest.mark.parametrize("codes", ROUNDS.values(), ids=ROUNDS)
@pytest.mark.parametrize("way", [0, 1])
def test_the_draw_order_says_whose_card_it_is(way: int, codes: str) -> None:
    table = shoe(way)
    table.play(codes)
    dealt = [(d["hand"], d["index"]) for d in table.told("round.card_dealt")]
    assert dealt[:4] == [("player", 1), ("banker", 1), ("player", 2), ("banker", 2)]
    assert all(index == 3 for _, index in dealt[4:])
    (outcome,) = table.told("round.outcome")
    cards = [*outcome["player"]["cards"], *outcome["banker"]["cards"]]
    assert sorted(cards) == sorted(codes.split())
    assert balanced(table.now)


def test_no_card_aligns_it_and_until_a_person_does_no_round_begins() -> None:
    table = fresh()
    assert table.told("shoe.not_aligned") == [{"until": "align"}]
    for code in STAND.split():
        table.draw(code)
    assert (table.now.state, table.now.round, table.now.link.aligned) == ("idle", None, False)
    assert balanced(table.now)
    assert not table.asks("align", position="dealer").accepted
    table.does("align", position="pit_supervisor")
    table.draw("7D")
    assert table.now.state == "dealing"


def test_no_bets_are_taken_before_a_person_has_aligned_it() -> None:
    table = fresh(way=0)
    shown = status(table.now, table.game, table.settings)
    assert shown["next"]["command"] == "align"
    refused = table.asks("place_your_bets")
    assert refused.error is not None
    assert refused.error.endswith("a person must say first where the shoe stands: align")
    table.does("align")
    table.does("place_your_bets")


def test_no_wager_opens_a_round_before_a_person_has_aligned_it() -> None:
    table = fresh()
    wager: dict[str, Any] = {"player": "17", "seat": 4, "wager": "tie", "amount": 500}
    refused = table.asks("place_wager", **wager)
    assert refused.error is not None and "align" in refused.error
    table.does("align")
    table.does("place_wager", **wager)
    assert table.now.state == "betting"


@pytest.mark.parametrize("codes", ["2D", "2D 3C TS", "2D 3C TS TH"])
def test_a_line_that_could_not_be_read_in_a_round_halts_for_it_may_have_been_a_card(
    codes: str,
) -> None:
    table = shoe()
    table.deal(codes)
    table.says(ILLEGIBLE)
    assert table.key == "gap"
    before = table.now.round
    table.draw("9C")
    assert table.now.round == before  # which slot is it for? nobody guesses
    assert [kept.card.code for kept in table.now.held if kept.card] == ["9C"]
    refused = table.asks("decide", choice="play_on", reason="r")
    assert refused.error is not None and "no place" in refused.error
    table.rules("void")
    assert (table.now.state, table.now.link.aligned) == ("idle", False)


def test_where_nothing_is_missing_the_round_goes_on_after_such_a_line() -> None:
    table = shoe()
    table.deal("2D 3C")
    table.says(ILLEGIBLE)
    table.rules("play_on")
    table.deal("TS TH 4C 5D")
    table.finish()
    assert len(table.told("round.outcome")) == 1


def test_such_a_line_once_bets_are_taken_halts_before_any_card() -> None:
    table = shoe(way=0)
    table.does("place_your_bets")
    table.says(ILLEGIBLE)
    assert table.key == "gap"


def test_such_a_line_between_rounds_asks_where_the_shoe_stands() -> None:
    table = shoe()
    table.play(STAND)
    table.says(ILLEGIBLE)
    assert (table.now.state, table.now.link.aligned) == ("idle", False)
    assert table.kinds[-1] == "shoe.not_aligned"
    table.draw("9C")
    assert table.now.round is None


def test_an_angel_eye_frame_that_could_not_be_read_halts_nothing() -> None:
    table = TableHarness(angel_eye=True, **WAYS[1]).open_shoe()
    table.deal("2D 3C")
    table.says(ILLEGIBLE)
    assert (table.now.state, table.now.link.aligned) == ("dealing", True)


FAILED_READ = CardDrawn(card=None)
ALARM = Error(code="E3", text="Card Not Read")


@pytest.mark.parametrize("said", [[ALARM, FAILED_READ], [FAILED_READ, ALARM], [FAILED_READ]])
@pytest.mark.parametrize("way", [0, 1])
def test_a_failed_read_holds_its_slot_whatever_alarm_comes_with_it(
    way: int, said: list[Any]
) -> None:
    table = shoe(way)
    if way == 0:
        table.open_round()
    table.deal("2D 3C")
    for event in said:
        table.says(event)
    assert [dealt.card for dealt in table.now.round.cards[2:]] == [None]
    assert table.now.held == ()
    open_now = [
        *(table.now.halt.stack if table.now.halt else ()),
        *table.now.pending_irregularities,
    ]
    assert [(opened.key, opened.step) for opened in open_now] == [("misread", "enter")]
    # Face down it only waits; where all can see it the table asks for it.
    assert (table.now.state == "suspended") is (way == 1)
    assert table.told("shoe.fault") == [{}] * said.count(ALARM)
    assert balanced(table.now)


def test_an_alarm_after_which_no_card_is_told_waits_for_people() -> None:
    table = shoe(way=0)
    table.open_round()
    table.deal("2D 3C")
    table.says(ALARM)
    assert (table.key, table.now.halt.current.step) == ("misread", "where")
    table.does("decide", choice="in_its_place")
    assert [dealt.card for dealt in table.now.round.cards[2:]] == [None]
    assert table.now.state == "dealing"


def test_the_next_card_is_not_taken_for_one_of_an_earlier_alarm() -> None:
    table = shoe(way=0)
    table.open_round()
    table.deal("2D")
    table.says(FAILED_READ)
    table.says(ALARM)
    table.deal("3C")
    table.says(ALARM)  # of the card that comes
    assert (table.key, table.now.halt.current.step) == ("misread", "where")
    table.says(FAILED_READ)
    assert [d.card is None for d in table.now.round.cards] == [False, True, False, True]
    assert table.key is None


OF_A_CARD = Error(code="E3", text="Card Not Read", place="game")
OF_A_BURN = Error(code="E3", text="Card Not Read", place="burn")
JAM_OF_A_CARD = Error(code="E7", text="Jam", place="game")
FAILED_BURN = CardDrawn(card=None, hand="burn")


@pytest.mark.parametrize("said", [OF_A_CARD, JAM_OF_A_CARD], ids=["E3", "another"])
@pytest.mark.parametrize("codes", ["2D 3C", "2D 3C TS"])
@pytest.mark.parametrize("way", [0, 1])
def test_an_alarm_in_the_place_of_a_card_of_a_round_is_a_misread_card(
    way: int, codes: str, said: Error
) -> None:
    table = shoe(way)
    if way == 0:
        table.open_round()
    table.deal(codes)
    table.says(said)
    assert (table.key, table.now.halt.current.step) == ("misread", "where")
    table.says(said)  # shoes say an alarm again until it is cleared
    assert [opened.key for opened in table.now.halt.stack] == ["misread"]
    table.does("decide", choice="in_its_place")
    held = len(codes.split())
    assert [dealt.card for dealt in table.now.round.cards[held:]] == [None]
    assert balanced(table.now)


@pytest.mark.parametrize("way", [0, 1])
def test_such_an_alarm_beside_its_failed_read_is_of_one_card(way: int) -> None:
    for said in ([OF_A_CARD, FAILED_READ], [FAILED_READ, OF_A_CARD]):
        table = shoe(way)
        if way == 0:
            table.open_round()
        table.deal("2D 3C")
        for event in said:
            table.says(event)
        assert [dealt.card for dealt in table.now.round.cards[2:]] == [None]
        open_now = [
            *(table.now.halt.stack if table.now.halt else ()),
            *table.now.pending_irregularities,
        ]
        assert [(opened.key, opened.step) for opened in open_now] == [("misread", "enter")]


def test_such_an_alarm_while_something_else_is_decided_may_have_been_a_card() -> None:
    table = shoe()
    table.deal("2D 3C")
    table.says(Error(code="E7", text="Jam"))
    table.says(OF_A_CARD)
    assert [opened.key for opened in table.now.halt.stack] == ["other", "gap"]


def test_such_an_alarm_while_bets_are_taken_halts_as_a_line_does_that_cannot_be_read() -> None:
    table = shoe(way=0)
    table.does("place_your_bets")
    table.says(OF_A_CARD)
    assert table.key == "gap"
    table.rules("play_on")
    assert table.now.state == "betting"


@pytest.mark.parametrize("said", [OF_A_CARD, JAM_OF_A_CARD], ids=["E3", "another"])
def test_such_an_alarm_between_rounds_asks_where_the_shoe_stands(said: Error) -> None:
    table = shoe()
    table.play(STAND)
    table.says(said)
    assert (table.now.state, table.now.link.aligned) == ("idle", False)
    assert table.told("shoe.fault")[-1:] == [{}]
    table.draw("9C")
    assert table.now.round is None


def test_a_burned_card_that_was_not_read_is_counted_and_the_table_stays_aligned() -> None:
    for said in ([FAILED_BURN], [FAILED_BURN, OF_A_BURN], [OF_A_BURN, FAILED_BURN]):
        table = shoe()
        for event in said:
            table.says(event)
        assert (table.now.state, table.now.link.aligned) == ("idle", True)
        assert table.now.shoe is not None and table.now.shoe.drawn == 1
        assert balanced(table.now)
        table.play(STAND)
        assert len(table.told("round.outcome")) == 1


def test_a_failed_burn_in_a_round_halts_as_a_burn_does_and_its_alarm_as_any_other() -> None:
    for said, key in ((FAILED_BURN, "wrong_order"), (OF_A_BURN, "other")):
        table = shoe()
        table.deal("2D 3C")
        table.says(said)
        assert table.key == key


def test_any_other_alarm_in_a_round_halts_for_the_shift_manager() -> None:
    table = shoe()
    table.deal("2D 3C")
    table.says(Error(code="E7", text="Jam"))
    assert table.key == "other"


def test_a_warning_is_told_to_few_and_halts_nothing() -> None:
    table = shoe()
    table.deal("2D 3C")
    told = len(table.public)
    table.says(Warned(code="W0x01"))
    assert (table.now.state, len(table.public)) == ("dealing", told)
    assert table.told("shoe.fault", Audience.RESTRICTED) == [{"code": "W0x01", "warning": True}]


def test_a_link_lost_in_a_round_waits_for_a_person_and_one_between_rounds_too() -> None:
    table = shoe()
    table.deal("2D 3C TS")
    table.disconnect()
    assert table.key == "link_lost"
    table.connect()
    table.draw("6H")
    assert table.now.state == "suspended"
    table.rules("void")
    table.does("align")
    table.play(STAND)
    table.disconnect()
    table.connect()
    table.draw("7D")
    assert (table.now.state, table.now.link.aligned) == ("idle", False)


def test_a_burn_is_counted_between_rounds_and_halts_in_one() -> None:
    table = shoe()
    table.says(CardDrawn(card=card("TH"), hand="burn"))
    assert (table.now.state, table.now.link.aligned) == ("idle", True)
    assert table.now.shoe is not None and table.now.shoe.drawn == 1
    table.deal("2D 3C")
    table.says(CardDrawn(card=card("9C"), hand="burn"))
    assert table.key == "wrong_order"


def test_the_same_card_twice_is_two_cards() -> None:
    table = shoe()
    table.deal("9C 9C")
    assert [d["hand"] for d in table.told("round.card_dealt")] == ["player", "banker"]


def test_staff_say_that_the_cutting_card_came_and_that_another_set_is_in() -> None:
    table = shoe()
    table.deal("2D 3C")
    table.does("declare_cutting_card", position="dealer")
    again = table.asks("declare_cutting_card")
    assert again.error == "the cutting card is out already"
    assert table.now.state == "dealing"
    table.deal("TS TH 4C 5D")
    table.finish()
    assert table.now.state == "shoe_change"
    shown = status(table.now, table.game, table.settings)
    assert shown["next"]["command"] == "declare_new_shoe"
    assert not table.asks("declare_new_shoe", position="dealer").accepted
    table.does("declare_new_shoe", position="pit_supervisor")
    assert (table.now.state, table.now.shoes) == ("idle", 2)
    assert table.now.shoe is not None and table.now.shoe.drawn == 0
    table.play(STAND)
    assert table.told("round.outcome")[-1]["shoe_id"] == "bac-07-s2"


def test_a_shoe_that_names_its_set_is_not_changed_by_word_of_mouth() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.does("change_shoe")
    refused = table.asks("declare_new_shoe")
    assert refused.error == "the shoe says itself which cards it holds"
    assert table.now.state == "shoe_change"
