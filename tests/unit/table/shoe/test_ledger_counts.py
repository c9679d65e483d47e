"""The shoe refuses a draw: people learn which and why, and two counts become one by their word."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, Reply, Status
from shoe_ctl.cli.table_view import lines
from shoe_ctl.table.round import reconstruct
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import TableHarness, balanced

KEYED = "it is locked by its key: unlock it"


def at_the_deal(cards: str = "4D 7C", *, way: int = 0) -> TableHarness:
    table = TableHarness(**{**WAYS[way], "face_up_after_ms": 0}).open_shoe()
    table.open_round()
    table.deal(cards)
    return table


def refuses(table: TableHarness, why: str | None = "not_the_next_draw", **more: Any) -> None:
    number = {"number": table.now.armed[0]} if table.now.armed is not None else {}
    table.says(Reply(**{"accepted": False, "reason": why, **number, **more}))


def shows(
    table: TableHarness, drawn: int, *, unacknowledged: int = 0, armed: int | None = None
) -> None:
    table.says(Status(drawn=drawn, unacknowledged=unacknowledged, armed=armed))


def stands(table: TableHarness) -> dict[str, Any]:
    return status(table.now, table.game, table.settings)


def decides(table: TableHarness, choice: str, **more: Any) -> Any:
    given = {"reason": "counted", "consented_by": "lee", "position": "pit_supervisor", **more}
    return table.asks("decide", choice=choice, **given)


def entered_and_never_drawn(*, way: int = 0, card: str | None = None) -> TableHarness:
    """Two cards are out; while the link was away people entered a third; the shoe is back."""
    table = at_the_deal(way=way)
    table.disconnect()
    assert decides(table, "enter", **({} if card is None else {"card": card})).accepted
    table.connect()
    table.hello(drawn=2)
    return table


# What people learn.


def test_a_refused_draw_is_told_with_its_number_why_and_what_the_table_counts() -> None:
    table = at_the_deal()
    refuses(table, "locked_by_key")
    (told,) = table.told("shoe.arm_refused")
    assert told == {
        "number": 3, "hand": "player", "index": 2, "reason": "locked_by_key", "counted": 2,
    }  # fmt: skip
    held = stands(table)
    refused = held["refused"]
    assert (refused["number"], refused["why"]) == (3, "locked_by_key")
    assert english(refused["message"]) == f"the shoe refuses draw 3: {KEYED}"
    assert (
        english(held["next"]["message"])
        == f"draw Player's card 2; the shoe refuses draw 3: {KEYED}"
    )
    assert held["next"]["draw"] == {"hand": "player", "index": 2}
    assert any(line.startswith("refused") for line in lines(held))


def test_it_is_told_once_for_each_reason_and_is_over_when_the_shoe_shows_itself_armed() -> None:
    table = at_the_deal()
    for _ in range(3):
        refuses(table, "locked_by_key")
        shows(table, 2)
    refuses(table, "busy")
    assert [told["reason"] for told in table.told("shoe.arm_refused")] == ["locked_by_key", "busy"]
    shows(table, 2, armed=3)
    assert table.told("shoe.arm_taken") == [{"number": 3}]
    assert stands(table)["refused"] is None
    table.deal("5S")
    assert "table.halted" not in table.kinds


def test_a_reason_that_is_not_known_is_told_as_another() -> None:
    table = at_the_deal()
    refuses(table, "the seven of diamonds")
    assert table.told("shoe.arm_refused")[-1]["reason"] == "other"
    assert "seven" not in str(stands(table))


@pytest.mark.parametrize("more", [{"number": 2}, {"number": None}, {"accepted": True},
                                  {"command_id": 9}])  # fmt: skip
def test_what_the_shoe_says_of_anything_else_is_no_refusal(more: dict[str, Any]) -> None:
    table = at_the_deal()
    refuses(table, **more)
    assert stands(table)["refused"] is None and not table.told("shoe.arm_refused")


def test_a_refusal_is_forgotten_with_the_draw_and_with_the_link() -> None:
    table = at_the_deal()
    refuses(table, "locked_by_key")
    table.draw("5S", armed=False)  # by hand, under the key
    assert stands(table)["refused"] is None
    table = at_the_deal()
    refuses(table, "locked_by_key")
    table.disconnect()
    assert stands(table)["refused"] is None


def test_counts_that_differ_halt_once_the_shoe_has_nothing_more_to_tell() -> None:
    table = at_the_deal()
    refuses(table)
    shows(table, 1, unacknowledged=1)  # what it has still to tell may be the very difference
    assert "table.halted" not in table.kinds
    shows(table, 1)
    assert (table.key, table.now.halt.current.step) == ("gap", "counts")
    assert english(table.told("irregularity.raised")[-1]["seen"]) == (
        "cards drawn: 1 by the shoe's count, 2 by the table's"
    )
    assert stands(table)["halt"]["counts"] == {"table": 2, "shoe": 1}
    assert any(line.split() == ["counted", "2", "by", "the", "table,", "1", "by", "the", "shoe"]
               for line in lines(stands(table)))  # fmt: skip
    raised = len(table.told("irregularity.raised"))
    shows(table, 1)
    assert len(table.told("irregularity.raised")) == raised


def test_counts_that_differ_halt_nothing_while_the_shoe_takes_its_draws() -> None:
    table = at_the_deal()
    shows(table, 1)
    shows(table, 9)
    assert table.key is None


# What people decide.


@pytest.mark.parametrize(("way", "named"), [(0, None), (1, "TS")])
def test_a_shoe_that_is_back_with_fewer_cards_than_were_entered_does_not_resume_the_round(
    way: int, named: str | None
) -> None:
    table = entered_and_never_drawn(way=way, card=named)
    assert (table.key, table.now.halt.current.step) == ("gap", "counts")
    refused = decides(table, "play_on", position="gaming_shift_manager")
    assert refused.error == ("the shoe counts fewer cards than were entered: take_back, or recount")


@pytest.mark.parametrize(("way", "named"), [(0, None), (1, "TS")])
def test_a_card_that_was_never_drawn_is_taken_back_and_drawn_by_the_shoes_number(
    way: int, named: str | None
) -> None:
    table = entered_and_never_drawn(way=way, card=named)
    assert decides(table, "take_back").accepted
    assert table.told("irregularity.step")[-2]["moved"] == ["player 2"]
    assert [(d.hand, d.index) for d in table.now.round.cards] == [("player", 1), ("banker", 1)]
    assert decides(table, "play_on").accepted
    assert (table.now.state, table.now.pending_irregularities) == ("dealing", ())
    assert table.now.armed == (3, "player", 2)
    assert balanced(table.now) and table.now.shoe.counts == {"4D": 1, "7C": 1}
    assert sum(table.now.shoe.shown.values()) == (2 if way else 0)
    table.deal("5S QH")
    table.finish()
    assert table.told("round.outcome")[-1]["player"]["cards"] == ["4D", "5S"]


@pytest.mark.parametrize(("way", "named"), [(0, None), (1, "TS")])
def test_a_card_that_lies_there_stays_and_the_shoes_numbers_count_on(
    way: int, named: str | None
) -> None:
    table = entered_and_never_drawn(way=way, card=named)
    assert decides(table, "recount").accepted
    step = table.told("irregularity.step")[-2]
    assert (step["step"], step["counts"]) == ("recounted", {"table": 3, "shoe": 2})
    assert decides(table, "play_on").accepted
    assert table.now.armed == (3, "banker", 2)
    assert balanced(table.now) and table.now.shoe.uncounted == 1
    table.says(CardDrawn(card=card("QH"), number=3, armed=True))
    assert (len(table.now.round.cards), table.key) == (4, None)
    assert [d.number for d in table.now.round.cards] == [1, 2, -1, 3]
    assert table.now.shoe.entered_draws == {}
    places = [card.place for card in reconstruct.last_drawn(table.now, 3)]
    assert places == ["banker 1", "player 2", "banker 2"]


def test_a_third_card_that_was_never_drawn_is_due_again() -> None:
    table = at_the_deal("2D 3C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.disconnect()
    assert decides(table, "enter").accepted
    table.connect()
    table.hello(drawn=4)
    assert decides(table, "take_back").accepted and decides(table, "play_on").accepted
    assert (table.now.state, table.now.armed) == ("drawing", (5, "player", 3))


def test_the_first_card_that_was_never_drawn_leaves_the_round_without_one() -> None:
    table = at_the_deal("")
    table.hello(resumed=False, drawn=1)
    assert table.key == "gap" and decides(table, "enter").accepted
    table.disconnect()
    table.connect()
    table.hello(drawn=0)
    assert decides(table, "take_back").accepted and decides(table, "play_on").accepted
    assert table.key == "gap" and decides(table, "play_on").accepted
    assert (table.now.state, table.now.round.cards) == ("closed", ())
    assert table.now.armed == (1, "player", 1)


def test_what_rests_on_the_card_keeps_it_where_it_is() -> None:
    table = entered_and_never_drawn()
    table.says(CardDrawn(card=card("QH"), number=4, armed=False))
    assert decides(table, "take_back").error == "a card was drawn after it"
    table = at_the_deal("2D 3C TS", way=1)
    table.disconnect()
    assert decides(table, "enter", card="TH").accepted
    table.connect()
    table.hello(drawn=4)
    assert table.now.state == "drawing"
    table.disconnect()
    table.connect()
    table.hello(drawn=3)
    refused = decides(table, "take_back")
    assert refused.error == "the totals were announced with it"


def test_it_takes_two_to_take_a_card_back_or_to_recount() -> None:
    table = entered_and_never_drawn()
    for choice in ("take_back", "recount"):
        refused = decides(table, choice, consented_by=None)
        assert refused.needs == {"consent": "another_person"}
        assert decides(table, choice, position="dealer").needs == {"position": "pit_supervisor"}


def test_cards_of_a_round_before_are_recounted_where_the_next_is_refused() -> None:
    table = at_the_deal()
    table.fails()
    by_hand = {"player": "4D 5S", "banker": "7C QH", "reason": "by hand", "consented_by": "lee"}
    table.does("enter_round", **by_hand)
    table.does("settle")
    table.open_round()
    assert table.now.armed == (5, "player", 1)
    refuses(table)
    shows(table, 2)
    table.hello(drawn=2)
    assert table.key == "gap"
    assert "take_back" not in [c["choice"] for c in stands(table)["halt"]["choices"]]
    assert decides(table, "recount").accepted and decides(table, "play_on").accepted
    assert (table.now.state, table.now.armed) == ("closed", (3, "player", 1))
    assert balanced(table.now)


def test_a_card_that_the_shoe_counts_and_nobody_heard_of_is_entered() -> None:
    table = at_the_deal()
    table.hello(drawn=2)
    refuses(table, "already_drawn")
    shows(table, 3)
    assert stands(table)["halt"]["counts"] == {"table": 2, "shoe": 3}
    assert decides(table, "enter").accepted and decides(table, "play_on").accepted
    assert table.now.armed == (4, "banker", 2)
