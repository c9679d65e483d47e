"""The end of a shoe: the cutting card, the rounds after it, the change, no cards left."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from firmware_proto.cards import FRENCH52, card
from firmware_proto.commands import Armed, Locked
from firmware_proto.events import CardDrawn, CardOutsideGame, CuttingCard, Started
from shoe_ctl.records import Audience
from shoe_ctl.table.wagers.limits import TableLimits
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import ROUNDS, TableHarness, balanced

STAND = ROUNDS["both stand"]


def shoe(*, angel_eye: bool = False, after: int = 0, way: int = 1, **given: Any) -> TableHarness:
    made = {"rounds_after_cutting_card": after, "face_up_after_ms": 0, **WAYS[way], **given}
    return TableHarness(angel_eye=angel_eye, **made).open_shoe()


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("place", [0, 1, 3, 4], ids=["first", "second", "fourth", "last"])
def test_the_round_is_completed_and_so_many_more_are_dealt(place: int, after: int) -> None:
    table = shoe(after=after, way=0)
    table.open_round()
    given = STAND.split()
    table.deal(" ".join(given[:place]))
    table.says(CuttingCard())
    table.says(CuttingCard())
    table.deal(" ".join(given[place:]))
    table.finish()
    for _ in range(after):
        assert table.now.state == "idle"
        table.play(STAND)
    assert table.now.state == "shoe_change"
    assert table.told("shoe.change_due") == [{"shoe_id": "bac-07-s1"}]
    assert len(table.told("round.outcome")) == 1 + after
    assert [d["key"] for d in table.told("irregularity.raised")] == ["cutting_card"]
    assert table.told("irregularity.raised")[0]["rule"] == "3.22"
    assert table.desired == Locked()


def test_a_cutting_card_between_rounds_lets_the_next_round_be_the_last() -> None:
    table = shoe()
    table.play(STAND)
    table.says(CuttingCard())
    assert english(table.told("irregularity.raised")[0]["seen"]).endswith("before the first card")
    table.play(STAND)
    assert table.now.state == "shoe_change"


def test_no_round_is_opened_while_a_change_is_due() -> None:
    table = shoe(way=0)
    table.does("change_shoe")
    refused = table.asks("place_your_bets")
    assert (refused.accepted, refused.needs) == (False, {"state": "idle"})


def test_a_set_that_is_loaded_ends_the_change() -> None:
    table = shoe()
    table.says(CuttingCard())
    table.play(STAND)
    table.load("set-2")
    assert table.now.state == "idle"
    assert table.desired == Armed(1, "player", 1)
    assert table.told("shoe.loaded")[-1] == {
        "shoe_id": "bac-07-s2", "set_id": "set-2", "decks": 8, "replaces": "bac-07-s1",
    }  # fmt: skip
    table.play(STAND)
    assert table.told("round.outcome")[-1]["round_id"] == "bac-07-s2-r2"


def test_a_set_loaded_while_the_link_was_away_is_counted_from_its_first_card() -> None:
    table = shoe(after=0)
    table.says(CuttingCard())
    table.play(STAND)
    table.disconnect()
    table.connect()
    table.hello(set_id="set-2", drawn=2)
    table.load("set-2")
    for number, code in enumerate(("7D", "7C"), 1):
        table.says(CardDrawn(card=card(code), number=number, armed=True))
    assert [d["set_id"] for d in table.told("shoe.loaded")] == ["set-1", "set-2"]
    assert table.now.shoe is not None
    assert (table.now.shoe.drawn, table.now.shoe.unknown) == (2, 0)
    assert table.now.state == "dealing"


@pytest.mark.parametrize("again", [False, True], ids=["link stays", "link lost once more"])
def test_a_set_loaded_before_its_last_card_was_heard_is_dealt_from_its_first(
    again: bool,
) -> None:
    table = shoe()
    table.play(STAND)
    table.disconnect()
    table.connect()
    table.hello(set_id="set-2", drawn=0)
    table.says(CardDrawn(card=card("7D"), number=5, armed=True))  # still of the set before
    assert table.key == "gap"
    table.load("set-2")
    if again:
        table.disconnect()
        table.connect()
        table.hello(set_id="set-2", drawn=0)
    table.rules("set_aside")
    assert (table.now.state, table.desired) == ("idle", Armed(1, "player", 1))
    assert balanced(table.now)
    table.play(STAND)
    assert table.told("round.outcome")[-1]["round_id"] == "bac-07-s3-r2"


def test_a_shoe_first_met_in_the_middle_counts_what_it_cannot_know_as_unseen() -> None:
    table = TableHarness(**WAYS[1])
    table.connect()
    table.hello(resumed=False, set_id="set-1", drawn=40, cutting_card_out=True)
    assert table.desired == Armed(41, "player", 1)
    assert balanced(table.now)
    table.play(STAND)
    assert table.now.state == "shoe_change"


def test_an_empty_shoe_first_met_is_changed_at_once() -> None:
    table = TableHarness(**WAYS[1])
    table.connect()
    table.hello(resumed=False, set_id="set-1", drawn=416)
    assert table.now.state == "shoe_change"


def test_cards_taken_out_between_rounds_leave_no_shoe() -> None:
    table = shoe()
    table.hello(set_id=None, decks=None, drawn=0)
    assert (table.now.state, table.desired) == ("no_shoe", Locked())
    table.load("set-2")
    assert table.now.state == "idle"


@pytest.mark.parametrize("wrong", [{"decks": 6}, {"deck": "element65"}])
def test_a_set_that_does_not_fit_the_table_is_refused_by_hello(wrong: dict[str, object]) -> None:
    table = TableHarness(**WAYS[1])
    table.connect()
    table.hello(**{"resumed": False, "set_id": "set-1", **wrong})  # type: ignore[arg-type]
    assert (table.now.state, table.now.shoe) == ("no_shoe", None)
    assert "8 decks of french52" in english(table.told("irregularity.raised")[0]["seen"])
    table.load("set-2")
    assert table.now.state == "idle"


def test_a_set_that_does_not_fit_is_refused_where_it_is_loaded() -> None:
    table = shoe()
    table.load("set-2", decks=6)
    assert table.now.state == "no_shoe"
    assert table.now.shoe is None


def test_a_set_loaded_before_settled_waits_for_it() -> None:
    table = shoe(way=0)
    table.open_round()
    table.deal(STAND)
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    table.load("set-2")
    assert table.now.state == "resolved"
    table.does("settle")
    assert table.now.shoe is not None
    assert table.now.shoe.set_id == "set-2"


@pytest.mark.parametrize("decks", [6, 8])
def test_a_set_loaded_in_a_round_halts_it_and_only_void_ends_that(decks: int) -> None:
    table = shoe(way=0)
    table.open_round()
    table.deal("7D 7C")
    table.load("set-2", decks=decks)
    assert table.key == "other"
    refused = table.asks("decide", choice="play_on", reason="r")
    assert refused.error is not None and "another set" in refused.error
    table.rules("void")
    assert table.now.state == ("idle" if decks == 8 else "no_shoe")
    assert len(table.told("round.void")) == 1


def test_a_shoe_emptied_in_a_round_leaves_no_shoe_once_the_round_is_void() -> None:
    table = shoe(way=0)
    table.open_round()
    table.deal("7D 7C")
    table.hello(set_id=None, decks=None, drawn=0)
    assert table.key == "other"
    table.rules("void")
    assert table.now.state == "no_shoe"


# A shoe that shows a new set by C and then S.


def test_c_then_s_is_a_new_shoe_once() -> None:
    table = shoe(angel_eye=True)
    table.says(CuttingCard())
    table.play(STAND)
    assert table.now.state == "shoe_change"
    table.says(Started())
    table.says(Started())
    assert table.now.state == "idle"
    assert [d["shoe_id"] for d in table.told("shoe.loaded")] == ["bac-07-s1", "bac-07-s2"]


def test_c_and_s_between_the_same_two_rounds_are_a_new_shoe() -> None:
    table = shoe(angel_eye=True, after=1)
    table.play(STAND)
    table.says(CuttingCard())
    table.says(Started())
    assert table.now.shoes == 2


def test_s_alone_between_rounds_is_a_diagnostic() -> None:
    table = shoe(angel_eye=True)
    table.play(STAND)
    told = len(table.events)
    table.says(Started())
    assert (table.now.shoes, len(table.events)) == (1, told)


def test_s_after_a_change_that_a_person_asked_for_is_the_new_shoe() -> None:
    table = shoe(angel_eye=True, way=0)
    table.does("change_shoe")
    table.says(Started())
    assert (table.now.state, table.now.shoes) == ("idle", 2)


def test_burned_cards_are_counted_and_never_played() -> None:
    table = shoe(angel_eye=True)
    table.says(CardDrawn(card=card("2H"), hand="first_card", index=1))
    table.says(CardDrawn(card=None, hand="burn", index=1))
    table.says(CardDrawn(card=card("2H"), hand="burn_count", index=2))
    assert table.now.state == "idle"
    assert table.now.shoe is not None
    assert (table.now.shoe.drawn, table.now.shoe.unknown) == (2, 1)
    assert "2H" not in str([e.data for e in table.public])
    table.play(STAND)
    assert len(table.told("round.outcome")) == 1


# No cards left.


def nearly_empty(left: int, name: str = "tiger", **given: Any) -> TableHarness:
    table = TableHarness(name=name, **{**WAYS[1], "face_up_after_ms": 0, **given})
    table.connect()
    deck = "french52" if name == "tiger" else "element65"
    whole = 8 * (52 if deck == "french52" else 65)
    table.hello(resumed=False, deck=deck, set_id="set-1", drawn=whole - left)
    return table


@pytest.mark.parametrize(("name", "rule"), [("tiger", "5.3"), ("fa_fa_fabulous_4", "5.3")])
@pytest.mark.parametrize("left", [1, 2, 3])
def test_a_shoe_that_runs_empty_with_a_card_due_voids_the_round(
    left: int, name: str, rule: str
) -> None:
    table = nearly_empty(left, name)
    faces = table.game.deck.cards
    for face in faces[:left]:
        table.draw(face.code)
    assert table.told("round.void") == [
        {"round_id": "bac-07-s1-r1", "rule": rule, "reason": "insufficient_cards"}
    ]
    assert (table.now.state, table.now.round) == ("shoe_change", None)
    assert table.told("round.outcome") == []


@pytest.mark.parametrize("state", ["idle", "betting", "closed"])
def test_the_last_card_that_leaves_without_a_slot_leaves_no_round_to_deal(state: str) -> None:
    table = nearly_empty(1, announcements="explicit")
    for command in {"idle": (), "betting": ("place_your_bets",)}.get(
        state, ("place_your_bets", "no_more_bets")
    ):
        table.does(command)
    assert table.now.state == state
    table.says(CardOutsideGame(card=card("2D"), mode="standby"))
    if state != "idle":
        table.rules("play_on")
    voids = [] if state == "idle" else ["5.3"]
    assert [void["rule"] for void in table.told("round.void")] == voids
    assert (table.now.state, table.now.round) == ("shoe_change", None)
    assert isinstance(table.desired, Locked)
    assert len(table.told("shoe.change_due")) == 1


def test_a_change_of_the_shoe_that_is_called_for_is_announced_and_no_card_opens_a_round() -> None:
    table = shoe(way=0)
    table.draw("2D")
    table.rules("first_card")
    assert len(table.now.opening) == 1
    table.does("change_shoe")
    assert table.told("shoe.change_due") == [{"shoe_id": "bac-07-s1"}]
    assert table.told("irregularity.step")[-1]["step"] == "set_aside_no_further_round"
    assert (table.now.state, table.now.opening) == ("shoe_change", ())


def test_a_shoe_that_runs_empty_after_a_void_round_answers_whether_its_cards_are_replaced() -> None:
    table = nearly_empty(2, announcements="explicit")
    table.open_round()
    table.draw("2D")
    table.does("declare", key="other", reason="seen by the dealer")
    table.rules("void")
    assert [opened.key for opened in table.now.pending_irregularities] == ["after_void"]
    table.says(CardOutsideGame(card=card("3D"), mode="standby"))
    assert (table.now.state, table.now.pending_irregularities) == ("shoe_change", ())


@pytest.mark.parametrize("choice", ["first_card", "set_aside"])
def test_the_last_card_drawn_early_opens_no_round(choice: str) -> None:
    table = nearly_empty(1, announcements="explicit")
    table.does("place_your_bets")
    table.draw("2D")
    table.rules(choice)
    assert [void["rule"] for void in table.told("round.void")] == ["5.3"]
    assert (table.now.state, table.now.opening) == ("shoe_change", ())


@pytest.mark.parametrize("state", ["idle", "betting"])
def test_the_last_card_of_the_shoe_that_takes_its_slot_after_a_pause_opens_no_round(
    state: str,
) -> None:
    table = nearly_empty(1)
    if state == "betting":
        table.does("place_your_bets")
    table.does("pause")
    table.draw("2D", armed=True)
    assert table.now.pending is not None
    table.does("resume")
    assert len(table.told("round.card_dealt")) == 1
    assert [void["rule"] for void in table.told("round.void")] == ["5.3"]
    assert (table.now.state, table.now.round) == ("shoe_change", None)


def test_a_differential_is_not_measured_in_a_round_that_no_card_can_open() -> None:
    table = nearly_empty(1, announcements="explicit", limits=TableLimits(differential=500))
    table.does("place_your_bets")
    for player, seat, wager in (("ann", 3, "player"), ("ben", 4, "banker")):
        table.does("place_wager", player=player, seat=seat, wager=wager, amount=900)
    table.does("no_more_bets")
    table.disconnect()
    table.connect()
    table.hello(boot=8)
    table.says(CardOutsideGame(card=card("2D"), mode="standby"))
    table.does("decide", choice="offer_withdrawal")
    table.does("decide", choice="withdraw_all", player="ben")
    table.does("decide", choice="close_window")
    table.does("decide", choice="play_on")
    assert "table_differential" not in [d["key"] for d in table.told("irregularity.raised")]
    assert [void["rule"] for void in table.told("round.void")] == ["5.3"]
    assert table.now.state == "shoe_change"


def test_the_last_card_of_a_round_that_was_missed_makes_a_change_due() -> None:
    table = TableHarness(angel_eye=True).open_shoe()
    assert not table.now.link.aligned
    out = 8 * 52 - 1
    shoe = msgspec.structs.replace(table.now.shoe, drawn=out, unknown=out)
    table = TableHarness(angel_eye=True, state=msgspec.structs.replace(table.now, shoe=shoe))
    table.says(CardDrawn(card=card("2D"), hand="banker", index=2))
    assert (table.now.state, table.now.shoe.drawn) == ("shoe_change", out + 1)


@pytest.mark.parametrize("hand", ["burn", "first_card"])
def test_the_last_card_burned_between_rounds_makes_a_change_due(hand: str) -> None:
    table = nearly_empty(1)
    table.says(CardDrawn(card=card("2D"), number=table.now.shoe.drawn + 1, hand=hand))
    assert table.now.state == "shoe_change"


@pytest.mark.parametrize(("left", "outcomes"), [(4, 0), (5, 0), (6, 1)])
def test_want_of_a_third_card_voids_the_round_when_it_is_due(left: int, outcomes: int) -> None:
    table = nearly_empty(left)
    table.deal(" ".join(ROUNDS["both draw"].split()[:left]))
    assert len(table.told("round.outcome")) == outcomes
    assert len(table.told("round.void")) == 1 - outcomes
    assert table.now.state == "shoe_change"


def test_the_last_cards_of_a_shoe_make_a_round_where_they_suffice() -> None:
    table = nearly_empty(4)
    table.deal(STAND)
    assert len(table.told("round.outcome")) == 1
    assert table.now.state == "shoe_change"


def test_a_whole_deck_dealt_leaves_every_face_counted_once() -> None:
    table = TableHarness(decks=1, **{**WAYS[1], "face_up_after_ms": 0})
    table.connect()
    table.hello(resumed=False, decks=1)
    table.load(decks=1)
    for face in FRENCH52.cards:
        if table.now.state == "shoe_change":
            break
        table.draw(face.code)
    shoe = table.now.shoe
    assert shoe is not None
    assert set(shoe.counts.values()) == {1}
    assert len(table.told("round.card_drawn", Audience.RESTRICTED)) == shoe.drawn == 52
