"""The cards as everyone sees them: in their slots, beside them, counted out and left."""

from __future__ import annotations

from typing import Any

from firmware_proto.events import CardsDrawn
from shoe_ctl.table.status import status
from shoe_testing.table_situations import face_down_table
from shoe_testing.tables import TableHarness, cards


def shown(table: TableHarness) -> dict[str, Any]:
    return status(table.now, table.game, table.settings)


def hand(table: TableHarness, name: str) -> list[dict[str, Any]]:
    return list(shown(table)["round"]["hands"][name])


def test_a_card_has_its_number_and_its_face_once_everyone_has_seen_it() -> None:
    table = face_down_table("2D 3C TS TH")
    assert hand(table, "player") == [
        {"card": None, "face_down": True, "number": 1},
        {"card": None, "face_down": True, "number": 3},
    ]
    table.does("expose", hand="player", index=2)
    assert hand(table, "player")[1] == {"card": "TS", "face_down": False, "number": 3}


def test_a_card_that_was_not_read_is_marked_until_two_persons_have_named_it() -> None:
    table = face_down_table("2D 3C TS")
    table.draw(None)
    assert hand(table, "banker")[1] == {
        "card": None, "face_down": True, "number": 4, "unread": True,
    }  # fmt: skip
    (waiting,) = shown(table)["waiting"]
    assert waiting["slot"] == {"hand": "banker", "index": 2}
    assert waiting["instance"] == table.told("irregularity.raised")[-1]["instance"]
    table.does("expose", hand="banker")
    table.does("decide", choice="enter", card="TH", consented_by="lee")
    assert hand(table, "banker")[1] == {
        "card": "TH", "face_down": False, "number": 4, "entered": True,
    }  # fmt: skip


def test_a_corrected_card_is_marked() -> None:
    table = face_down_table("2D 3C TS TH")
    table.turn_over()
    table.does(
        "correct_card", hand="player", index=1, card="4D", reason="seen", consented_by="lee",
        position="gaming_shift_manager",
    )  # fmt: skip
    assert hand(table, "player")[0] == {
        "card": "4D", "face_down": False, "number": 1, "entered": True, "corrected": True,
    }  # fmt: skip


def test_cards_whose_places_were_exchanged_are_marked_while_that_is_decided() -> None:
    table = face_down_table("2D 3C TS TH")
    table.does("declare", key="wrong_order", reason="mixed up")
    table.does(
        "decide", choice="exchange", one="player 1", other="banker 2", reason="seen",
        consented_by="lee", position="pit_supervisor",
    )  # fmt: skip
    assert [one.get("exchanged") for one in hand(table, "player")] == [True, None]
    assert [one.get("exchanged") for one in hand(table, "banker")] == [None, True]
    assert [one["number"] for one in hand(table, "player")] == [4, 3]


def test_cards_drawn_together_lie_beside_the_hands_and_say_so() -> None:
    table = TableHarness(faces="turned_by_dealer").open_shoe()
    table.open_round()
    table.says(CardsDrawn(cards=tuple(cards("2D 3C")), order_known=False))
    beside = shown(table)["beside"]
    assert [(one["place"], one["face_down"]) for one in beside] == [("held", True)] * 2
    assert all(one["drawn_together"] for one in beside)


def test_a_card_drawn_early_lies_beside_the_hands_face_down() -> None:
    table = face_down_table("2D 3C TS TH")
    table.draw("9S", armed=False)
    assert shown(table)["beside"] == [{"face_down": True, "place": "drawn_early", "number": 5}]


def test_the_shoe_counts_the_cards_that_are_out_and_left() -> None:
    table = face_down_table("2D 3C TS TH")
    shoe = shown(table)["shoe"]
    assert (shoe["decks"], shoe["out"], shoe["left"]) == (8, 4, 412)
    table.draw("9S", armed=False)
    assert shown(table)["shoe"]["out"] == 5
