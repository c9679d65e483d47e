"""An open card is really another one: totals, third cards and the outcome follow it."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.games import catalog
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_ctl.table.status import status
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import public_bytes
from shoe_testing.tables import (
    SHIFT,
    TableHarness,
    balanced,
    cards,
    restricted_data,
    staked_table,
)

IMPLIED: dict[str, Any] = {"announcements": "implied", "faces": "face_up", "face_up_after_ms": 1000}
FACE_UP: dict[str, Any] = {"faces": "face_up", "face_up_after_ms": 0}
STAFFED = sorted(set(catalog.shipped()) - {"fa_fa_fabulous_4"})
"""Games with the same cards; the fifth has suits of its own."""


def announced(codes: str = "7D 4H TS 3C", *, name: str = "tiger", **given: Any) -> TableHarness:
    """A round whose outcome is announced, as the shoe read its cards."""
    table = TableHarness(name=name, **{**FACE_UP, **given}).open_shoe()
    table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=1, wager="banker", amount=100)
    table.does("no_more_bets")
    table.deal(codes)
    table.turn_over()
    if not table.now.round.totals_announced:
        table.does("announce_totals")
    table.does("announce_outcome")
    return table


def corrects(table: TableHarness, hand: str, index: int, code: str, **more: Any) -> Any:
    said = {"reason": "it lies open", "consented_by": "lee", **more}
    return table.asks("correct_card", hand=hand, index=index, card=code, **said)


def hands(table: TableHarness) -> dict[str, str]:
    return {
        hand: " ".join(d.card.code for d in table.now.round.cards if d.hand == hand)
        for hand in ("player", "banker")
    }


@pytest.mark.parametrize("name", STAFFED)
def test_a_card_that_is_missing_after_the_outcome_is_drawn_and_the_outcome_revised(
    name: str,
) -> None:
    """4H was read and 2H lies there: Banker has 5, not 7, and draws against Player's 7."""
    table = announced(name=name)
    assert corrects(table, "banker", 1, "2H").accepted
    (outcome,) = table.told("round.outcome")
    reopened = next(event for event in table.events if event.type == "round.reopened")
    assert reopened.reopens == outcome["round_id"]
    assert reopened.data["rule"] == (None if name == "dragon_bonus_royal" else "6.3")
    assert (table.now.state, table.now.armed) == ("drawing", (5, "banker", 3))
    assert table.told("round.card_corrected") == [
        {"hand": "banker", "index": 1, "card": "2H", "was": "4H"}
    ]
    table.draw("5C")
    table.turn_over()
    table.does("announce_outcome")
    (revised,) = (event for event in table.events if event.type == "round.revised")
    assert revised.revises == outcome["round_id"]
    assert (revised.data["winner"], revised.data["banker"]["cards"]) == (
        "player",
        ["2H", "3C", "5C"],
    )
    assert len(table.told("round.outcome")) == 1
    table.does("settle")
    (line,) = table.told("wager.settled")
    assert (line["result"], line["collected"]) == ("lose", 100)
    (former,) = table.now.last_settled.round.revised
    assert [d.card.code for d in former.cards] == ["7D", "4H", "TS", "3C"]
    assert balanced(table.now)
    assert from_bytes(to_bytes(table.now)) == table.now


def test_the_ledger_keeps_what_the_shoe_read_beside_what_people_ruled() -> None:
    table = announced()
    assert corrects(table, "banker", 1, "2H").accepted
    shoe = table.now.shoe
    assert (shoe.counts, shoe.overruled) == ({"7D": 1, "TS": 1, "2H": 1, "3C": 1}, {"4H": 1})
    assert shoe.shown == shoe.counts
    assert corrects(table, "banker", 1, "AH").accepted
    assert table.now.shoe.overruled == {"4H": 1}
    assert corrects(table, "banker", 1, "4H").accepted
    assert (table.now.shoe.counts["4H"], table.now.shoe.overruled) == (1, {})
    assert corrects(table, "banker", 1, "2H").accepted
    assert (table.now.shoe.counts["2H"], table.now.shoe.overruled) == (1, {"4H": 1})


def test_a_total_that_changes_nothing_else_revises_the_outcome_at_once() -> None:
    table = announced("7D 6H TS TC")
    assert corrects(table, "banker", 1, "7H").accepted
    assert table.now.state == "resolved"
    assert table.told("round.reopened") == []
    assert [d["winner"] for d in table.told("round.revised")] == ["tie"]
    table.does("settle")
    assert [d["result"] for d in table.told("wager.settled")] == ["push"]


def test_a_card_dealt_to_the_wrong_hand_is_moved() -> None:
    """Player was read as 6 and has 5: Player draws, and what Banker drew alone is Player's."""
    table = announced("6D 5H TS TC 2C")
    assert hands(table) == {"player": "6D TS", "banker": "5H TC 2C"}
    assert corrects(table, "player", 1, "5D").accepted
    assert table.told("round.card_moved") == [
        {
            "hand": "player", "index": 3, "from": {"hand": "banker", "index": 3}, "rule": "5.7",
        }
    ]  # fmt: skip
    assert hands(table) == {"player": "5D TS 2C", "banker": "5H TC"}
    # 5 against Player's third card 2: Banker stands, and the outcome is revised at once.
    assert table.now.state == "resolved"
    (revised,) = table.told("round.revised")
    assert (revised["winner"], revised["player"]["total"], revised["banker"]["total"]) == (
        "player", 7, 5,
    )  # fmt: skip


def test_a_moved_card_may_make_a_card_due() -> None:
    """Player's third card is then a 6, on which Banker's 5 draws."""
    table = announced("6D 5H TS TC 6C")
    assert corrects(table, "player", 1, "5D").accepted
    assert (table.now.state, table.now.armed) == ("drawing", (6, "banker", 3))
    table.draw("2D")
    table.turn_over()
    table.does("announce_outcome")
    assert hands(table) == {"player": "5D TS 6C", "banker": "5H TC 2D"}
    assert table.told("round.revised")[-1]["winner"] == "banker"


def test_a_card_that_was_not_due_is_ruled_on_and_never_opens_a_round() -> None:
    """Banker was read as 5 and has 6: Player's 7 stands, and so does Banker."""
    table = announced("7D 5H TS TC 2C")
    assert corrects(table, "banker", 1, "6H").accepted
    assert table.told("round.card_moved") == [
        {"hand": None, "index": None, "from": {"hand": "banker", "index": 3}, "rule": None}
    ]
    (revised,) = table.told("round.revised")
    assert (revised["winner"], revised["banker"]["cards"]) == ("player", ["6H", "TC"])
    assert (table.now.state, table.key, table.now.halt.resume_state) == (
        "suspended", "overdraw", "resolved",
    )  # fmt: skip
    opens = table.asks("decide", choice="first_card", reason="r")
    assert (opens.accepted, table.now.halt.current.step) == (False, "seen")
    table.rules("set_aside")
    table.does("settle")
    assert (table.now.state, table.now.shoe.drawn) == ("idle", 5)
    assert balanced(table.now)


def test_two_cards_that_were_not_due_are_ruled_on_one_after_the_other() -> None:
    table = announced("2D 3H TS TC 4C 5C")
    assert corrects(table, "banker", 1, "9H").accepted
    assert [d["banker"]["natural"] for d in table.told("round.revised")] == [True]
    for _ in range(2):
        assert table.key == "overdraw"
        table.rules("set_aside")
    assert table.now.state == "resolved"
    table.does("settle")


def test_corrected_back_while_the_card_is_ruled_on_it_is_that_hands_card_again() -> None:
    table = announced("7D 5H TS TC 2C")
    assert corrects(table, "banker", 1, "6H").accepted
    assert corrects(table, "banker", 1, "5H").accepted
    assert len(table.told("round.reopened")) == 1
    assert table.now.halt.resume_state == "revealing"
    table.rules("due")
    assert hands(table) == {"player": "7D TS", "banker": "5H TC 2C"}


@pytest.mark.parametrize("way", [FACE_UP, {"faces": "turned_by_dealer"}, {"method": "A"}])
def test_before_the_outcome_the_round_goes_on_with_the_cards_as_they_lie(way: Any) -> None:
    table = TableHarness(**way).open_shoe()
    table.open_round()
    table.deal("7D 4H TS 3C")
    table.turn_over()
    table.does("announce_totals")
    assert corrects(table, "banker", 1, "2H").accepted
    assert table.told("round.total_announced")[-1]["total"] == 5
    assert (table.now.state, table.told("round.reopened")) == ("drawing", [])
    assert corrects(table, "banker", 1, "4D").accepted
    assert (table.now.state, table.now.armed) == ("revealing", None)
    table.does("announce_outcome")
    assert [d["winner"] for d in table.told("round.outcome")] == ["tie"]


def test_a_third_card_that_lies_face_down_is_moved_face_down() -> None:
    table = TableHarness(faces="turned_by_dealer").open_shoe()
    table.open_round()
    table.deal("6D 5H TS TC 2C")
    assert corrects(table, "player", 1, "5D").accepted
    third = table.now.round.cards[-1]
    assert (third.hand, third.index, third.revealed) == ("player", 3, False)
    assert b"2C" not in b"".join(repr(e.data).encode() for e in table.public)
    table.does("expose", hand="player")
    assert hands(table)["player"] == "5D TS 2C"


def test_in_the_deal_face_up_it_only_changes_the_card() -> None:
    table = TableHarness(**IMPLIED).open_shoe()
    table.draw("7D")
    table.tick()
    table.draw("4H")
    table.tick()
    assert corrects(table, "banker", 1, "2H").accepted
    assert table.now.state == "dealing"
    for code in ("TS", "3C"):
        table.draw(code)
    while table.now.state == "dealing" or not table.now.round.all_revealed:
        table.tick()
    assert (table.now.state, table.now.armed) == ("drawing", (5, "banker", 3))


@pytest.mark.parametrize("halts", ["pause", "link"])
def test_in_a_halt_play_resumes_where_the_corrected_cards_are(halts: str) -> None:
    table = TableHarness(**FACE_UP).open_shoe()
    table.open_round()
    table.deal("7D 4H TS 3C")
    table.turn_over()
    table.does("announce_totals")
    if halts == "pause":
        table.does("pause")
    else:
        table.disconnect()
    assert corrects(table, "banker", 1, "2H").accepted
    assert table.now.state == "suspended"
    if halts == "pause":
        table.does("resume")
    else:
        table.connect()
        table.hello()
    assert (table.now.state, table.now.armed) == ("drawing", (5, "banker", 3))


def test_in_a_pause_after_the_outcome_the_round_is_reopened() -> None:
    table = announced()
    table.does("pause")
    assert corrects(table, "banker", 1, "2H").accepted
    assert len(table.told("round.reopened")) == 1
    assert table.asks("settle").error is not None
    table.does("resume")
    assert (table.now.state, table.now.armed) == ("drawing", (5, "banker", 3))


def test_a_missed_draw_after_the_outcome_leads_to_the_correction() -> None:
    table = announced()
    table.does("declare", key="missed_draw", reason="Banker has 5", position="dealer")
    assert table.now.halt.current.step == "correction"
    assert table.asks("decide", choice="reconstruct").error is not None
    assert corrects(table, "banker", 1, "2H").accepted
    assert table.now.halt.current.step == "ruling"
    table.does("decide", choice="reconstruct", position="dealer")
    assert (table.now.state, table.now.armed) == ("drawing", (5, "banker", 3))


def test_a_reopened_round_that_is_void_takes_its_outcome_back() -> None:
    table = announced()
    assert corrects(table, "banker", 1, "2H").accepted
    table.does("declare", key="other", reason="r")
    table.rules("void")
    void = next(event for event in table.events if event.type == "round.void")
    assert void.revokes == table.told("round.outcome")[0]["round_id"]
    assert table.told("round.revised") == []


def test_a_reopened_round_that_is_finished_by_hand_revises_its_outcome() -> None:
    table = announced()
    assert corrects(table, "banker", 1, "2H").accepted
    table.disconnect()
    said = {"reason": "by key", "consented_by": "lee"}
    table.does("enter_round", player="7D TS", banker="2H 3C 5C", **said)
    assert len(table.told("round.outcome")) == 1
    assert [d["manual"] for d in table.told("round.revised")] == [True]


def test_the_shoes_own_result_by_its_wrong_reading_counts_no_longer() -> None:
    table = TableHarness(angel_eye=True, **FACE_UP).open_shoe()
    table.open_round()
    table.deal("7D 6H TS TC")
    table.turn_over()
    table.does("announce_totals")
    assert corrects(table, "banker", 1, "7H").accepted
    table.judges("player")
    table.does("announce_outcome")
    assert [d["winner"] for d in table.told("round.outcome")] == ["tie"]


@pytest.mark.parametrize(
    ("hand", "index", "code", "why"),
    [
        ("banker", 1, "4H", "it is 4H already"),
        ("banker", 1, "4f", "4f is not a card of this deck"),
        ("banker", 1, "XX", "XX is no card; name rank and suit, as in AS"),
        (
            "banker", 3, "2H",
            "that card does not lie open; these can be corrected: Player's card 1, "
            "Banker's card 1, Player's card 2, Banker's card 2",
        ),
        (
            "player", 7, "2H",
            "that card does not lie open; these can be corrected: Player's card 1, "
            "Banker's card 1, Player's card 2, Banker's card 2",
        ),
    ],
)  # fmt: skip
def test_a_card_that_cannot_be_is_refused(hand: str, index: int, code: str, why: str) -> None:
    table = announced()
    assert corrects(table, hand, index, code).error == why


def test_a_card_that_lies_face_down_cannot_be_corrected() -> None:
    table = TableHarness(faces="turned_by_dealer").open_shoe()
    table.open_round()
    table.deal("7D 4H TS 3C")
    assert corrects(table, "player", 1, "8D").error == "no card of the round lies open"
    table.does("expose", hand="player")
    assert corrects(table, "banker", 1, "8D").error == (
        "that card does not lie open; these can be corrected: Player's card 1, Player's card 2"
    )


def test_no_card_more_often_than_the_decks_less_the_revealed_cards_hold() -> None:
    table = TableHarness(decks=1, faces="turned_by_dealer").open_shoe()
    table.open_round()
    table.deal("7D 4H TS 3C")
    table.does("expose", hand="player")
    assert corrects(table, "player", 1, "TS").error == (
        "every TS that the decks hold was seen already"
    )
    # 4H lies face down: nobody is told so.
    answer = corrects(table, "player", 1, "9H")
    assert answer.accepted


@pytest.mark.parametrize("position", [SHIFT, "dealer"])
def test_a_settled_round_is_revised_and_not_corrected(position: str) -> None:
    table = announced()
    table.does("settle")
    refused = corrects(table, "banker", 1, "2H", position=position)
    assert refused.error == ("round bac-07-s1-r1 is settled: revise_round corrects its outcome")


@pytest.mark.parametrize(
    ("more", "needs"),
    [
        ({"position": "pit_manager"}, {"position": SHIFT}),
        ({"consented_by": None}, {"consent": "another_person"}),
        ({"consented_by": "kim"}, {"consent": "another_person"}),
        ({"reason": None}, {}),
    ],
)
def test_the_shift_manager_says_so_with_another_person_and_why(
    more: dict[str, Any], needs: dict[str, str]
) -> None:
    table = announced()
    refused = corrects(table, "banker", 1, "2H", **more)
    assert (refused.accepted, refused.needs) == (False, needs)


def test_who_corrected_it_is_restricted() -> None:
    table = announced()
    assert corrects(table, "banker", 1, "2H").accepted
    (told,) = table.told("round.card_corrected")
    assert "person" not in told
    (secret,) = restricted_data(table, "round.card_corrected")
    assert (secret["person"], secret["consented_by"], secret["why"]) == (
        "kim", "lee", "it lies open",
    )  # fmt: skip


def test_a_round_entered_by_hand_may_contradict_an_open_card() -> None:
    table = TableHarness(**FACE_UP).open_shoe()
    table.open_round()
    table.deal("7D 4H TS 3C")
    table.turn_over()
    table.disconnect()
    said = {"reason": "by key", "consented_by": "lee"}
    refused = table.asks("enter_round", player="7D TS", banker="2H 3C 5C", **said)
    assert "correct_card" in (refused.error or "")
    table.does("enter_round", player="7D TS", banker="2H 3C 5C", against_reading=True, **said)
    assert table.told("round.card_corrected") == [
        {"hand": "banker", "index": 1, "card": "2H", "was": "4H"}
    ]
    assert table.told("round.outcome")[0]["banker"]["cards"] == ["2H", "3C", "5C"]
    shoe = table.now.shoe
    assert (shoe.overruled, shoe.drawn) == ({"4H": 1}, 5)
    assert balanced(table.now)


# A third card that lies face down with a Player.


def with_a_player(third: str = "4C") -> TableHarness:
    """Ann has Player's third card face down; the four others are open. Bob has Banker's hand."""
    table = staked_table(("ann", 1, "player", 100), ("bob", 2, "banker", 100))
    table.does("no_more_bets")
    for code in ["2D", "3C", "TS", "TH"]:
        table.draw(code)
    for hand in ("player", "banker"):
        table.does("pass_cards", hand=hand)
        table.does("expose", hand=hand)
    table.does("announce_totals")
    table.draw(third)
    return table


def test_a_card_face_down_with_a_player_goes_to_the_hand_that_is_due() -> None:
    tables = [with_a_player(third) for third in ("4C", "9H")]
    for table in tables:
        assert corrects(table, "player", 1, "7D").accepted
        assert status(table.now, table.game, table.settings)["next"]["args"] == {"hand": "banker"}
    assert public_bytes(tables[0]) == public_bytes(tables[1])
    table = tables[0]
    table.does("expose", hand="banker")
    table.does("announce_outcome")
    assert table.told("round.outcome")[0]["banker"]["cards"] == ["3C", "TH", "4C"]
    assert balanced(table.now)


def test_one_that_was_not_due_is_ruled_on_and_may_open_the_next_round() -> None:
    tables = [with_a_player(third) for third in ("4C", "9H")]
    for table in tables:
        assert corrects(table, "player", 1, "9D").accepted
        assert (table.key, table.now.halt.current.step) == ("overdraw", "ruling")
    assert public_bytes(tables[0]) == public_bytes(tables[1])
    tables[0].rules("first_card")
    assert [one.card.code for one in tables[0].now.opening] == ["4C"]
    assert balanced(tables[0].now)


DECLARED = [{"hand": "player", "index": 3}, {"hand": "player"}, {"hand": "both"}]


@pytest.mark.parametrize("declared", DECLARED, ids=["by its place", "by its hand", "as any"])
def test_a_card_that_a_player_took_is_still_the_one_once_it_is_anothers(
    declared: dict[str, Any],
) -> None:
    """Nobody has determined it yet when the correction makes it Banker's."""
    tables = [with_a_player(third) for third in ("4C", "9H")]
    for table in tables:
        table.does("declare", key="card_taken", reason="gone", **declared)
        assert corrects(table, "player", 1, "7D").accepted
        (step,) = list(table.told("irregularity.step"))[-1:]
        assert step["gone"] == ["banker 3"]
    assert public_bytes(tables[0]) == public_bytes(tables[1])
    table = tables[0]
    table.does("decide", choice="value_known", source="shoe", reason="read", consented_by="lee")
    assert table.told("round.card_revealed")[-1] == {"hand": "banker", "index": 3, "card": "4C"}
    table.does("announce_outcome")
    assert table.told("round.outcome")[0]["banker"]["cards"] == ["3C", "TH", "4C"]
    assert balanced(table.now)


def with_a_card_gone_that_is_not_due(declared: dict[str, Any]) -> TableHarness:
    """Whatever it is, the room learns the same."""
    tables = [with_a_player(third) for third in ("4C", "9H")]
    for table in tables:
        table.does("declare", key="card_taken", reason="gone", **declared)
        assert corrects(table, "player", 1, "9D").accepted
        assert (table.key, table.now.halt.current.step) == ("card_taken", "not_due")
    assert public_bytes(tables[0]) == public_bytes(tables[1])
    return tables[0]


@pytest.mark.parametrize("declared", DECLARED, ids=["by its place", "by its hand", "as any"])
def test_a_taken_card_that_is_not_due_opens_no_round_and_the_cards_are_replaced(
    declared: dict[str, Any],
) -> None:
    table = with_a_card_gone_that_is_not_due(declared)
    table.rules("set_aside")
    assert table.told("irregularity.resolved")[-1]["key"] == "card_taken"
    assert (table.now.open_irregularities, table.now.opening) == ((), ())
    assert table.now.shoe.to_be_replaced
    table.does("announce_outcome")
    table.does("settle")
    assert table.now.state == "shoe_change"
    assert table.told("round.outcome")[0]["winner"] == "player"


def test_a_player_who_is_back_with_a_card_that_is_not_due_lays_it_where_it_is_ruled_on() -> None:
    table = with_a_card_gone_that_is_not_due({"hand": "player"})
    table.rules("play_on")
    assert (table.key, table.now.halt.current.step) == ("overdraw", "ruling")
    table.rules("first_card")
    assert [one.card.code for one in table.now.opening] == ["4C"]
    assert not table.now.shoe.to_be_replaced


def test_a_taken_card_that_another_correction_makes_due_again_is_not_counted_as_set_aside() -> None:
    table = with_a_card_gone_that_is_not_due({"hand": "player"})
    assert corrects(table, "player", 1, "2S").accepted
    offered = status(table.now, table.game, table.settings)["halt"]["choices"]
    assert [choice["choice"] for choice in offered] == ["play_on", "void"]
    table.rules("play_on")
    table.does("declare", key="card_taken", hand="player", reason="still gone")
    table.does("decide", choice="value_known", source="shoe", reason="read", consented_by="lee")
    assert table.told("round.card_revealed")[-1] == {"hand": "player", "index": 3, "card": "4C"}


BY_KEY: dict[str, Any] = {"reason": "by key", "consented_by": "lee", "against_reading": True}


def with_thirds(codes: str, **given: Any) -> TableHarness:
    """A round dealt so far, all of it open; then the link is gone."""
    table = TableHarness(**{**WAYS[0], **given}).open_shoe()
    table.open_round()
    table.deal(codes)
    table.turn_over()
    table.disconnect()
    return table


def test_a_round_entered_by_hand_may_move_an_open_third_card() -> None:
    """Read 2D and TS Player draws; with 7D instead of 2D only Banker does."""
    table = with_thirds("2D 3C TS TH 4C")
    table.does("enter_round", player="7D TS", banker="3C TH 4C", **BY_KEY)
    assert table.told("round.card_moved") == [
        {"hand": "banker", "index": 3, "from": {"hand": "player", "index": 3}, "rule": "5.7"}
    ]
    assert table.told("round.card_corrected") == [
        {"hand": "player", "index": 1, "card": "7D", "was": "2D"}
    ]
    (outcome,) = table.told("round.outcome")
    assert [outcome[hand]["cards"] for hand in ("player", "banker")] == [
        ["7D", "TS"],
        ["3C", "TH", "4C"],
    ]
    shoe = table.now.shoe
    assert (shoe.drawn, shoe.overruled) == (5, {"2D": 1})
    assert (shoe.counts, shoe.shown) == (
        dict.fromkeys(["7D", "3C", "TS", "TH", "4C"], 1),
        dict.fromkeys(["7D", "3C", "TS", "TH", "4C"], 1),
    )
    assert balanced(table.now)


def test_a_moved_third_card_may_be_another_than_the_shoe_read() -> None:
    table = with_thirds("2D 3C TS TH 4C")
    table.does("enter_round", player="7D TS", banker="3C TH 5C", **BY_KEY)
    assert [(d["hand"], d["index"], d["was"]) for d in table.told("round.card_corrected")] == [
        ("player", 1, "2D"),
        ("banker", 3, "4C"),
    ]
    assert table.now.shoe.drawn == 5
    assert balanced(table.now)


def test_an_open_third_card_that_was_not_due_is_set_aside() -> None:
    """With 9D instead of 2D Player has a natural: nobody draws."""
    table = with_thirds("2D 3C TS TH 4C")
    table.does("enter_round", player="9D TS", banker="3C TH", **BY_KEY)
    assert table.told("round.card_moved") == [
        {"hand": None, "index": None, "from": {"hand": "player", "index": 3}, "rule": None}
    ]
    assert [(one.card.code, one.seen) for one in table.now.aside] == [("4C", True)]
    assert table.told("round.outcome")[0]["player"]["cards"] == ["9D", "TS"]
    assert (table.now.shoe.drawn, table.now.shoe.counts["4C"]) == (5, 1)
    assert balanced(table.now)


def test_of_two_open_third_cards_the_first_drawn_goes_to_the_hand_that_is_due() -> None:
    table = with_thirds("2D 3C TS TH 4C 9C")
    table.does("enter_round", player="7D TS", banker="3C TH 4C", **BY_KEY)
    moved = [(d["from"]["hand"], d["hand"]) for d in table.told("round.card_moved")]
    assert moved == [("banker", None), ("player", "banker")]
    assert [one.card.code for one in table.now.aside] == ["9C"]
    assert balanced(table.now)


def test_without_a_ruling_an_open_third_card_is_not_left_out() -> None:
    table = with_thirds("2D 3C TS TH 4C")
    said = {**BY_KEY, "against_reading": False}
    refused = table.asks("enter_round", player="9D TS", banker="3C TH", **said)
    assert "against_reading=true" in (refused.error or "")


def test_a_third_card_that_lies_face_down_is_never_left_out() -> None:
    """Nobody at the table knows which it is: that it was not due, only its face could show."""
    tables = []
    for third in ("4C", "9H"):
        table = TableHarness(**WAYS[0]).open_shoe()
        table.open_round()
        table.deal(f"2D 3C TS TH {third}")
        table.disconnect()
        refused = table.asks("enter_round", player="9D TS", banker="3C TH", **BY_KEY)
        assert refused.error == "Player has a card 3 on the table"
        tables.append(table)
    assert public_bytes(tables[0]) == public_bytes(tables[1])


def test_the_decks_hold_a_card_set_aside_besides_those_that_are_entered() -> None:
    table = with_thirds("2D 3C TS TH 4C", decks=1)
    refused = table.asks("enter_round", player="9D TS", banker="4C TH", **BY_KEY)
    assert refused.error == "every 4C that the decks hold was seen already"


def test_two_decks_cannot_hold_a_card_that_is_entered_twice() -> None:
    table = TableHarness(decks=1, **FACE_UP).open_shoe()
    table.open_round()
    table.deal("7D 4H TS 3C")
    table.turn_over()
    table.disconnect()
    said: dict[str, Any] = {"reason": "by key", "consented_by": "lee", "against_reading": True}
    refused = table.asks("enter_round", player="7D TS", banker="TS 7C", **said)
    assert refused.error == "every TS that the decks hold was seen already"
    table.does("enter_round", player="TS 7D", banker="4H 3C", **said)
    assert cards("TS 7D") == list(table.now.round.hand("player"))


@pytest.mark.parametrize("corrected", ["4D", "9D"])
def test_a_loss_of_power_follows_the_wagers_that_the_corrected_cards_decide(
    corrected: str,
) -> None:
    """A Player natural decides wagers: play goes on. Without one each Player may withdraw."""
    read = {"4D": "9D", "9D": "4D"}[corrected]
    table = TableHarness(faces="turned_by_dealer").open_shoe()
    table.does("place_your_bets")
    table.does("place_wager", player="ann", seat=1, wager="banker", amount=100)
    table.does("no_more_bets")
    table.deal(f"{read} 4H TS 3C")
    table.does("expose", hand="player")
    table.does("declare", key="power_failure", reason="dark", position="dealer")
    before = table.now.halt.current.step
    assert corrects(table, "player", 1, corrected).accepted
    assert {before, table.now.halt.current.step} == {"power", "continue"}
