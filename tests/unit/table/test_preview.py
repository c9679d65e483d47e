"""Previews: what would follow, from what everybody may know; nothing changes, nothing is told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from firmware_proto.events import CardsDrawn
from shoe_ctl.table.inputs import TableCommand
from shoe_ctl.table.preview import Preview, preview
from shoe_ctl.table.state import to_bytes
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.table_situations import THIRD_CARDS_DRAWN, declare, face_down_table
from shoe_testing.tables import TableHarness, betting_table, cards, place_bet


def previewed(table: TableHarness, command: str, **args: Any) -> Preview:
    asked = TableCommand(
        t_us=table.t_us, command_id="p1", command=command, args=args, person="kim",
        position="dealer",
    )  # fmt: skip
    before = to_bytes(table.now)
    found = preview(table.controller, table.now, asked)
    assert to_bytes(table.now) == before
    return found


def shown(table: TableHarness, command: str, **args: Any) -> dict[str, Any]:
    found = previewed(table, command, **args)
    assert found.shown is not None, found.answer
    return found.shown


def said(table: TableHarness, command: str, **args: Any) -> str:
    answer = previewed(table, command, **args).answer
    wrong = answer.message if answer.error is None else answer.error
    assert wrong is not None
    return english(wrong)


def tied() -> TableHarness:
    """7 to 7: seat 3 has 100 on the tie, seat 5 has 200 on Player. The outcome is announced."""
    table = betting_table(announcements="explicit")
    place_bet(table, "tie", 100)
    place_bet(table, "player", 200, player="bob", seat=5)
    table.does("no_more_bets")
    table.deal("7D 7C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    return table


def test_a_settlement_shows_each_seat_with_its_money() -> None:
    found = shown(tied(), "settle")
    assert (found["position"], found["round_ends"], found["shoe_ends"]) == (
        "dealer",
        "settled",
        False,
    )
    lines = [(one["seat"], one["wager"], one["settled"]["pays"]) for one in found["seats"]]
    assert lines == [(3, "tie", 800), (5, "player", 0)]
    assert "reason" not in found and "second_person" not in found


def test_a_void_shows_that_all_wagers_go_back_and_who_decides() -> None:
    table = tied()
    declare(table, "other")
    found = shown(table, "decide", choice="void")
    assert (found["position"], found["reason"], found["round_ends"]) == (
        "gaming_shift_manager",
        True,
        "void",
    )
    assert [one["settled"]["returned"] for one in found["seats"]] == [100, 200]
    assert all(one["after"] is None for one in found["seats"])


def test_a_correction_shows_the_card_that_is_due_and_who_must_consent() -> None:
    found = shown(tied(), "correct_card", hand="banker", index=1, card="5C")
    assert (found["state"], found["due"]) == ("drawing", {"hand": "banker", "index": 3})
    assert (found["position"], found["second_person"]) == (
        "gaming_shift_manager",
        "pit_supervisor",
    )
    assert [one["seat"] for one in found["seats"]] == [3, 5]


def test_a_revision_shows_the_outcome_and_what_each_seat_owes_or_gets() -> None:
    table = tied()
    table.does("settle")
    found = shown(table, "revise_round", player="7D AS", banker="7C TH")
    assert found["outcome"] == {"winner": "player", "totals": {"player": 8, "banker": 7}}
    assert [(one["seat"], one["settled"]["change"]) for one in found["seats"]] == [
        (3, -900),
        (5, 200),
    ]
    assert table.told("round.revised") == []


def test_a_ruling_against_the_table_of_play_is_previewed_and_changes_nothing() -> None:
    table = tied()
    table.does("settle")
    said_no = said(table, "revise_round", player="2D TS", banker="7C TH")
    assert "to rule that these cards stand, add against_table=true" in said_no
    found = shown(table, "revise_round", player="2D TS", banker="7C TH", against_table=True)
    assert found["outcome"] == {"winner": "banker", "totals": {"player": 2, "banker": 7}}
    assert [(one["seat"], one["settled"]["change"]) for one in found["seats"]] == [
        (3, -900),
        (5, -200),
    ]
    assert table.told("round.revised") == []


def test_a_retraction_shows_its_effect_on_money() -> None:
    table = betting_table(announcements="explicit")
    place_bet(table, "tie", 100)
    table.does("no_more_bets")
    table.does(
        "declare", key="late_wager", player="bob", seat=5, wager="player", amount=500, reason="late"
    )
    table.deal("7D 7C TS TH")
    found = shown(table, "retract", declaration=table.now.declarations[-1].number)
    (change,) = found["seats"]
    assert (change["seat"], change["after"]) == (5, None)
    assert found["second_person"] == "pit_supervisor"


def test_what_nobody_has_seen_is_said_to_be_seen_and_nothing_follows_from_it() -> None:
    table = face_down_table(THIRD_CARDS_DRAWN)
    found = shown(table, "expose", hand="player")
    assert found == {
        "position": "dealer",
        "reveals": [{"hand": "player", "index": 1}, {"hand": "player", "index": 2}],
    }
    assert said(table, "expose", hand="player") == (
        "would be seen: Player's card 1, Player's card 2; what follows depends on them"
    )


def test_a_refusal_is_the_tables_own() -> None:
    table = tied()
    assert said(table, "no_more_bets") == "no_more_bets cannot be taken now (the table is resolved)"
    assert previewed(table, "no_more_bets").shown is None


ORACLES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "enter_round",
        {"player": "2D TS 4C", "banker": "3C TH 5D"},
        {"player": "2D TS 4C", "banker": "3C 9H"},
    ),
]


@pytest.mark.parametrize(("command", "right", "wrong"), ORACLES)
def test_it_does_not_say_whether_the_shoe_agrees_with_a_round_that_is_typed(
    command: str, right: dict[str, Any], wrong: dict[str, Any]
) -> None:
    """Two tables that look alike: at one the cards that are typed lie there, at the other not."""
    tables = [face_down_table("2D 3C TS TH"), face_down_table("6C 6H KD QS")]
    for table in tables:
        declare(table, "other")
    for args in (right, wrong):
        one, other = (previewed(table, command, **args) for table in tables)
        assert alike(one) == alike(other)


def alike(found: Preview) -> bytes:
    return msgspec.json.encode([found.answer, found.shown])


def test_it_does_not_say_whether_an_unread_card_of_a_pull_is_the_one_that_is_typed() -> None:
    tables = [pulled("4C", "5D"), pulled("9S", "8H")]
    for card in ("4C", "5D", "9S", "JD"):
        one, other = (previewed(table, "decide", choice="enter", card=card) for table in tables)
        assert one.answer.accepted and alike(one) == alike(other)
        assert one.shown is not None and one.shown["if_shoe_agrees"] is True


def pulled(*codes: str) -> TableHarness:
    """A third card lies open: it was drawn together with another, in an unknown order."""
    table = face_down_table(THIRD_CARDS_DRAWN, announcements="explicit")
    table.turn_over()
    table.does("announce_totals")
    drawn = tuple(cards(" ".join(codes)))
    table.says(CardsDrawn(cards=drawn, number=5, order_known=False, armed=True))
    table.does("decide", choice="order_unknown", reason="nobody saw")
    table.does("decide", choice="upper_first", reason="as they lie")
    table.does("decide", choice="close_window", position="dealer")
    table.does("decide", choice="reconstruct", position="dealer")
    table.does("expose", hand="player")
    return table


def test_a_count_of_the_remainder_is_not_compared_before_it_is_given() -> None:
    tables = [TableHarness(announcements="explicit").open_shoe() for _ in range(2)]
    found = [
        shown(table, "count_remainder", left=left)
        for table, left in zip(tables, (416, 3), strict=True)
    ]
    assert found[0] == found[1] == {"position": "pit_supervisor", "depends_on_shoe": True}


def test_more_cards_may_be_hidden_than_the_decks_can_hold_less_those_that_were_shown() -> None:
    """A count was wrong: every card of the deck was shown, and four more lie there."""
    table = face_down_table(THIRD_CARDS_DRAWN, decks=1)
    every = {card.code: 1 for card in table.game.deck.cards}
    shoe = msgspec.structs.replace(table.now.shoe, shown=every, counts=every)
    now = msgspec.structs.replace(table.now, shoe=shoe)
    table = TableHarness(decks=1, state=now, faces="turned_by_dealer")
    assert len(shown(table, "expose", hand="player")["reveals"]) == 2
