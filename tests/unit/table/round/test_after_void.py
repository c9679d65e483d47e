"""After a void round: what goes back, what stays used, and whether the cards are replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardsDrawn, CuttingCard, ShoeLoaded
from shoe_ctl.games import catalog
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.shoe import card_set
from shoe_ctl.table.status import status
from shoe_ctl.table.turn import Turn
from shoe_testing.event_check import OwnData
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import FACE_DOWN, declare, voided_table
from shoe_testing.tables import TableHarness, betting_table, place_bet


def asked(table: TableHarness) -> Any:
    """The question as the status shows it, None where nothing is asked."""
    waiting = status(table.now, table.game, table.settings)["waiting"]
    return waiting[0] if waiting else None


def answers(table: TableHarness) -> list[Any]:
    """What was told of the question, and of its answer."""
    kinds = ("irregularity.step", "irregularity.resolved")
    told = [e for e in table.public if e.type in kinds]
    return [OwnData(e.data) for e in told if e.data["key"] == "after_void"]


def test_the_table_is_idle_and_asks_whether_the_cards_are_replaced() -> None:
    table = voided_table()
    assert table.now.state == "idle"
    assert [(one["choice"], one["position"]) for one in asked(table)["choices"]] == [
        ("replace_cards", "pit_supervisor"),
        ("keep_cards", "dealer"),
    ]
    assert "decide" in [
        t["command"] for t in status(table.now, table.game, table.settings)["takes"]
    ]


@pytest.mark.parametrize("name", catalog.shipped())
def test_replacing_them_leads_to_a_shoe_change_under_each_games_rule(name: str) -> None:
    deck = catalog.load(name).deck
    table = TableHarness(name=name, **FACE_DOWN)
    table.connect()
    table.hello(resumed=False, deck=deck.name)
    table.load()
    table.open_round()
    table.draw(deck.cards[0].code)
    declare(table, "other")
    table.rules("void")
    rule = table.game.rule("after_void", "shoe_replaced")
    ruled = rule == table.game.rule("other", "ruled")
    low = table.asks("decide", choice="replace_cards", position="pit_supervisor")
    assert low.accepted is not ruled
    if ruled:
        assert "needs a" in str(low.error)
        table.rules("replace_cards")
    assert table.now.state == "shoe_change"
    end = answers(table)[-1]
    assert (end["how"], end["rule"]) == ("cards_replaced", rule)
    assert table.kinds[-1] == "shoe.change_due"
    assert asked(table) is None


def test_keeping_them_goes_on_with_the_same_shoe() -> None:
    table = voided_table()
    table.does("decide", choice="keep_cards", position="dealer")
    assert (table.now.state, asked(table)) == ("idle", None)
    assert answers(table)[-1] == {"key": "after_void", "how": "cards_kept", "rule": "5.13"}
    table.play("9C 2D KD 3H")
    assert table.told("round.settled")


def test_the_next_round_from_the_same_cards_answers_too() -> None:
    table = voided_table()
    table.does("place_your_bets")
    assert asked(table) is None
    assert answers(table)[-1]["how"] == "cards_kept"


def test_changing_the_shoe_or_showing_another_answers_too() -> None:
    table = voided_table()
    table.does("change_shoe")
    assert (table.now.state, answers(table)[-1]["how"]) == ("shoe_change", "cards_replaced")
    table = voided_table()
    table.load("set-2")
    assert (table.now.state, answers(table)[-1]["how"]) == ("idle", "cards_replaced")


def implied(table: TableHarness) -> TableHarness:
    """The table where announcements are inferred from the cards."""
    return TableHarness(**WAYS[1], state=table.now)


@pytest.mark.parametrize(
    "comes",
    [
        lambda table: table.draw("9C"),
        place_bet,
        lambda table: table.says(CardsDrawn(cards=(card("9C"), card("2D")), order_known=True)),
    ],
    ids=["card", "wager", "pull"],
)
def test_what_opens_the_next_round_by_itself_answers_too(
    comes: Callable[[TableHarness], Any],
) -> None:
    table = implied(voided_table())
    comes(table)
    assert table.now.round is not None
    assert answers(table)[0]["how"] == "cards_kept"


def to_shoe_change(table: TableHarness) -> TableHarness:
    """Another irregularity led to the change, with the question still open."""
    table.does("declare", key="unshuffled", reason="seen by the dealer")
    table.rules("earlier_stand")
    assert table.now.state == "shoe_change"
    return table


def to_no_shoe(table: TableHarness) -> TableHarness:
    """The table was started again with other cards configured."""
    gone = msgspec.structs.replace(table.now, state="no_shoe", shoe=None)
    return TableHarness(**FACE_DOWN, state=gone)


@pytest.mark.parametrize("leaves", [lambda table: table, to_shoe_change, to_no_shoe])
@pytest.mark.parametrize(
    ("comes", "state"),
    [
        (lambda table: table.load("set-2"), "idle"),
        (lambda table: table.load("set-2", decks=4), "no_shoe"),
        (lambda table: table.says(ShoeLoaded(set_id=None, decks=0)), "no_shoe"),
    ],
    ids=["admitted", "refused", "empty"],
)
def test_another_set_or_none_answers_wherever_the_question_is_open(
    leaves: Callable[[TableHarness], TableHarness], comes: Callable[[TableHarness], Any], state: str
) -> None:
    table = leaves(voided_table())
    assert asked(table) is not None
    comes(table)
    assert (table.now.state, asked(table)) == (state, None)
    assert answers(table)[-1]["how"] == "cards_replaced"
    assert (table.now.shoe is None) is (state == "no_shoe")
    assert table.now.pending_set is None


@pytest.mark.parametrize("leaves", [lambda table: table, to_shoe_change])
def test_a_shoe_that_was_emptied_answers_too(
    leaves: Callable[[TableHarness], TableHarness],
) -> None:
    table = leaves(voided_table())
    table.hello(set_id=None, decks=0, drawn=0)
    assert (table.now.state, asked(table), table.now.shoe) == ("no_shoe", None, None)
    assert answers(table)[-1]["how"] == "cards_replaced"


def test_a_new_shoe_that_is_declared_answers_too() -> None:
    table = to_shoe_change(voided_table())
    table = TableHarness(**FACE_DOWN, bee_tek=True, state=table.now)
    table.disconnect()
    table.connect()
    table.does("declare_new_shoe")
    assert (table.now.state, answers(table)[-1]["how"]) == ("idle", "cards_replaced")


def test_nothing_is_asked_where_a_change_is_due_already() -> None:
    table = TableHarness(**FACE_DOWN).open_shoe()
    table.says(CuttingCard())
    table.open_round()
    table.deal("2D")
    declare(table, "other")
    table.rules("void")
    assert (table.now.state, asked(table)) == ("shoe_change", None)


def test_cards_that_shall_be_replaced_are_not_asked_for() -> None:
    table = TableHarness(**FACE_DOWN).open_shoe()
    table.open_round()
    table.deal("2D")
    turn = Turn(table.game, table.settings, PROCEDURES)
    turn.now = table.now
    card_set.replace_before_next(turn)
    table._state = turn.now
    declare(table, "other")
    table.rules("void")
    assert (table.now.state, asked(table)) == ("shoe_change", None)


def test_no_other_choice_is_known_and_none_where_nothing_is_asked() -> None:
    table = voided_table()
    refused = table.asks("decide", choice="play_on", reason="r")
    assert refused.error == "the choice is one of replace_cards, keep_cards"
    table.does("decide", choice="keep_cards")
    refused = table.asks("decide", choice="keep_cards")
    assert refused.error == "decide cannot be taken now (the table is idle)"


def test_a_halt_between_rounds_leaves_the_question_open() -> None:
    table = voided_table()
    table.fails()
    table.rules("play_on")
    assert asked(table) is not None
    table.does("decide", choice="replace_cards")


def test_all_wagers_go_back_decided_ones_too_and_the_cards_stay_used() -> None:
    table = betting_table(**FACE_DOWN)
    place_bet(table, "player", 500)
    place_bet(table, "big_tiger", 100)
    table.does("no_more_bets")
    table.deal("9C 2D KD 3H")
    table.turn_over()
    declare(table, "other")
    table.rules("void")
    lines = [(d["wager"], d["result"], d["returned"]) for d in table.told("wager.settled")]
    assert lines == [("player", "returned", 500), ("big_tiger", "returned", 100)]
    assert table.now.shoe.counts == {"9C": 1, "2D": 1, "KD": 1, "3H": 1}


def test_the_player_who_has_the_shoe_keeps_it() -> None:
    table = TableHarness(**FACE_DOWN, method="C", area="Paiza Club").open_shoe()
    table.does("offer_shoe", seat=3)
    table.open_round()
    table.deal("2D")
    declare(table, "other")
    table.rules("void")
    assert table.now.control.holder.seat == 3
