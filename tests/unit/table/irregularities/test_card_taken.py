"""A Player left with cards (5.11): the value is known, or the decks are counted, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.commands import Armed, Locked
from shoe_ctl.records import Audience
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_testing.table_situations import (
    CARD_TAKEN_GAMES,
    EYES,
    PIT_SUPERVISOR,
    card_taken_table,
    count_decks,
    decide_with_consent,
    finish_round,
    last_resolved,
    open_step,
    opinions,
    set_two_aside,
)
from shoe_testing.tables import (
    BOTH_DRAW,
    SHIFT,
    TableHarness,
    balanced,
    dealt_table,
    refusal_of,
    restricted_data,
)

# The value is known.


@pytest.mark.parametrize("game", CARD_TAKEN_GAMES)
def test_known_from_the_shoe_the_round_finishes_with_it_and_the_cards_are_replaced(
    game: str,
) -> None:
    codes = "7f 7g Te Ta" if game.startswith("fa") else "7D 7C TS TH"
    table = card_taken_table(codes, name=game)
    assert (open_step(table)["step"], open_step(table)["rule"]) == ("value", "5.11")
    assert open_step(table)["gone"] == ["player 1"]
    decide_with_consent(table, "value_known", PIT_SUPERVISOR, source="shoe")
    assert last_resolved(table) == {"key": "card_taken", "how": "value_known", "rule": "5.11"}
    assert table.told("round.card_revealed") == [
        {"hand": "player", "index": 1, "card": codes.split(maxsplit=1)[0]}
    ]
    table.turn_over()
    table.does("announce_totals")
    table.does("announce_outcome")
    table.does("settle")
    assert table.told("shoe.change_due") == [{"shoe_id": "bac-07-s1", "rule": "5.11.5"}]
    assert table.now.state == "shoe_change"


def test_it_takes_a_pit_supervisor_and_another_person() -> None:
    table = card_taken_table()
    answer = table.asks("decide", choice="value_known", source="shoe", position="dealer")
    assert answer.needs == {"position": PIT_SUPERVISOR}
    answer = table.asks("decide", choice="value_known", source="shoe", position=PIT_SUPERVISOR)
    assert answer.needs == {"consent": "another_person"}


def test_surveillance_says_what_it_saw_and_is_counted_on_when_the_pit_says_so() -> None:
    table = card_taken_table()
    why = refusal_of(table, "decide", choice="value_known", source=EYES, consented_by="lee")
    assert why.endswith("surveillance has not said yet what was seen: choose seen first")
    answer = table.asks("decide", choice="seen", cards="2D", position=SHIFT)
    assert answer.needs == {"position": EYES}
    decide_with_consent(table, "seen", EYES, cards="2D")
    assert opinions(table)[-1] == {
        "key": "card_taken", "step": "surveillance_saw", "cards": ["2D"], "shoe": "agrees",
    }  # fmt: skip
    decide_with_consent(table, "value_known", PIT_SUPERVISOR, source=EYES)
    assert last_resolved(table)["rule"] == "5.11"
    entered = table.told("round.card_entered", Audience.RESTRICTED)
    assert [(e["hand"], e["index"], e["card"]) for e in entered] == [("player", 1, "2D")]


def test_where_surveillance_and_shoe_differ_those_who_may_know_are_told_and_decide() -> None:
    table = card_taken_table()
    decide_with_consent(table, "seen", EYES, cards="9S")
    assert opinions(table)[-1]["shoe"] == "differs"
    decide_with_consent(table, "value_known", PIT_SUPERVISOR, source=EYES)
    assert (table.key, table.now.halt.earlier) == ("other", ("card_taken",))
    assert "round.card_revealed" not in table.kinds
    table.rules("play_on")
    answer = table.asks(
        "decide", choice="value_known", source=EYES, against_reading=True, position=PIT_SUPERVISOR,
        reason="r", consented_by="lee",
    )  # fmt: skip
    assert answer.needs == {"position": SHIFT}
    decide_with_consent(table, "value_known", source=EYES, against_reading=True)
    assert table.told("round.card_revealed")[-1]["card"] == "9S"
    assert table.now.shoe.counts.get("9S") == 1 and "2D" not in table.now.shoe.counts
    assert table.now.shoe.overruled == {"2D": 1}
    assert balanced(table.now)


def test_what_surveillance_says_looks_alike_in_public_whatever_the_shoe_has_read() -> None:
    tables = [card_taken_table(codes) for codes in (BOTH_DRAW, "9S 3C TS TH")]
    for table in tables:
        decide_with_consent(table, "seen", EYES, cards="2D")
        refusal_of(table, "decide", choice="seen", cards="2D 3D", position=EYES)
        decide_with_consent(table, "not_known", reason="r")
        table.draw("4C")
        table.draw("5D")
        count_decks(table, "2D", short="2D 4C 5D")
    one, other = ([(e.type, e.data) for e in table.public] for table in tables)
    assert one == other
    assert tables[0].desires == tables[1].desires


@pytest.mark.parametrize("cards", ["", "2D 3C", "2X", "4f"])
def test_no_more_and_no_other_cards_than_are_missing_are_named(cards: str) -> None:
    table = card_taken_table()
    refusal_of(table, "decide", choice="seen", cards=cards, position=EYES)
    counts = set_two_aside(card_taken_table())
    decide_with_consent(counts, "sorted")
    refusal_of(counts, "decide", choice="determined", cards=cards, consented_by="lee")


def test_a_card_that_nobody_could_read_is_named_by_surveillance_and_not_entered_again() -> None:
    table = dealt_table(codes="2D 3C TS", method="A")
    table.draw(None)
    table.does("declare", key="card_taken", hand="banker", index=2, reason="gone")
    assert [opened.key for opened in table.now.pending_irregularities] == ["misread"]
    why = refusal_of(table, "decide", choice="value_known", source="shoe", consented_by="lee")
    assert why.endswith("the shoe could not read it")
    decide_with_consent(table, "seen", EYES, cards="TH")
    assert opinions(table)[-1]["shoe"] == "unread"
    decide_with_consent(table, "value_known", PIT_SUPERVISOR, source=EYES)
    assert table.now.pending_irregularities == ()
    assert (table.now.shoe.unknown, table.now.shoe.counts["TH"]) == (0, 1)
    assert table.told("irregularity.resolved")[-1]["key"] == "misread"


def test_in_the_deal_the_value_may_be_known_and_the_deal_goes_on() -> None:
    table = dealt_table(codes="2D 3C", method="C")
    table.does("declare", key="card_taken", hand="both", reason="ran with both")
    assert open_step(table)["gone"] == ["player 1", "banker 1"]
    why = refusal_of(table, "decide", choice="not_known", reason="r")
    assert "the initial deal is not complete" in why
    decide_with_consent(table, "value_known", PIT_SUPERVISOR, source="shoe")
    assert (table.now.state, table.desired) == ("dealing", Armed(3, "player", 2))


# It is not known: the count.


@pytest.mark.parametrize("game", CARD_TAKEN_GAMES)
@pytest.mark.parametrize("method", ["A", "B"])
def test_each_step_of_the_count_cites_its_own_rule(game: str, method: str) -> None:
    fafa = game.startswith("fa")
    codes, first, second, gone = (
        ("2f 3g Te Ta", "4f", "5g", "2f") if fafa else (BOTH_DRAW, "4C", "5D", "2D")
    )
    table = card_taken_table(codes, method, name=game)
    seen = [(open_step(table)["step"], open_step(table)["rule"])]

    def look() -> None:
        seen.append((open_step(table)["step"], open_step(table)["rule"]))

    decide_with_consent(table, "not_known", reason="no camera")
    look()
    for code in (first, second):
        table.draw(code)
        look()
    decide_with_consent(table, "sorted")
    look()
    decide_with_consent(table, "determined", cards=gone)
    look()
    assert seen == [
        ("value", "5.11"), ("first_aside", "5.11.1"), ("second_aside", "5.11.1"),
        ("sort", "5.11.2"), ("determine", "5.11.2.1"), ("replace", "5.11.3"),
    ]  # fmt: skip
    decide_with_consent(table, "replaced")
    assert last_resolved(table) == {"key": "card_taken", "how": "replaced", "rule": "5.11.4"}
    assert table.told("cards.replaced")[-1]["rule"] == "5.11.3"
    assert table.now.state == "revealing"


def test_without_its_link_the_shoe_gives_no_two_cards_and_the_count_does_not_begin() -> None:
    table = card_taken_table()
    table.disconnect()
    assert table.key == "card_taken"
    why = refusal_of(table, "decide", choice="not_known", reason="r")
    assert "link" in why
    assert open_step(table)["step"] == "value"


def test_two_cards_are_armed_one_after_the_other_and_lie_face_down() -> None:
    table = card_taken_table()
    decide_with_consent(table, "not_known", reason="r")
    assert table.desired == Armed(5, "set_aside", 1)
    table.draw("4C")
    assert table.desired == Armed(6, "set_aside", 2)
    table.draw("5D")
    assert table.desired == Locked()
    laid = [d for d in table.told("round.card_dealt") if d["hand"] == "set_aside"]
    assert laid == [{"hand": "set_aside", "index": i, "face": "down"} for i in (1, 2)]
    drawn = table.told("round.card_drawn", Audience.RESTRICTED)[-2:]
    assert [(d["hand"], d["card"], d["number"]) for d in drawn] == [
        ("set_aside", "4C", 5), ("set_aside", "5D", 6),
    ]  # fmt: skip
    assert not any("4C" in str(e.data) or "5D" in str(e.data) for e in table.public)
    assert from_bytes(to_bytes(table.now)) == table.now
    assert balanced(table.now)


def test_they_go_to_the_hands_that_want_them_in_the_order_drawn() -> None:
    table = count_decks(set_two_aside(card_taken_table()))
    decide_with_consent(table, "replaced")
    table.turn_over()
    table.does("announce_totals")
    assert table.now.state == "revealing"  # no card is drawn from a shoe that is sorted
    assert table.told("round.card_dealt")[-1] == {"hand": "player", "index": 3, "face": "down"}
    table.turn_over()
    assert table.told("round.card_dealt")[-1] == {"hand": "banker", "index": 3, "face": "down"}
    table.turn_over()
    table.does("announce_outcome")
    outcome = table.told("round.outcome")[-1]
    assert outcome["player"]["cards"] == ["2D", "TS", "4C"]
    assert outcome["banker"]["cards"] == ["3C", "TH", "5D"]
    assert table.desires[-2:] == [Armed(6, "set_aside", 2), Locked()]


def test_those_that_no_hand_wants_stay_aside_and_the_cards_are_replaced() -> None:
    table = count_decks(set_two_aside(card_taken_table("7D 7C TS TH")), "7D")
    decide_with_consent(table, "replaced")
    finish_round(table)
    assert table.now.state == "shoe_change"
    assert table.told("shoe.change_due")[-1]["rule"] == "5.11.5"
    assert not any(d["hand"] in ("player", "banker") and d["index"] == 3 for d in dealt_of(table))
    assert balanced(table.now)
    table.load("set-2")
    assert table.now.state == "idle"


def dealt_of(table: TableHarness) -> list[dict[str, Any]]:
    return table.told("round.card_dealt")


def test_the_count_decides_and_its_difference_from_the_shoe_is_on_record() -> None:
    table = count_decks(set_two_aside(card_taken_table()), "9S", short="9S 4C 5D")
    opinion = opinions(table)[-1]
    assert (opinion["shoe"], opinion["decks"]) == ("differs", "agrees")
    decide_with_consent(table, "determined", cards="8S", short="9S 5D 4C")  # counted again
    opinion = opinions(table)[-1]
    assert (opinion["shoe"], opinion["decks"]) == ("differs", "differs")
    decide_with_consent(table, "replaced")
    assert table.told("round.card_revealed")[-1]["card"] == "8S"
    assert "2D" not in table.now.shoe.counts and table.now.shoe.counts["8S"] == 1
    assert balanced(table.now)


def test_of_a_card_that_nobody_read_the_decks_alone_speak() -> None:
    table = dealt_table(codes="2D 3C TS")
    table.draw(None)
    table.does("declare", key="card_taken", hand="banker", index=2, reason="gone")
    count_decks(set_two_aside(table), "TH", short="4C TH 5D")
    opinion = opinions(table)[-1]
    assert (opinion["shoe"], opinion["decks"]) == ("unread", "agrees")
    decide_with_consent(table, "replaced")
    assert (table.now.shoe.unknown, table.now.pending_irregularities) == (0, ())
    assert balanced(table.now)


def test_who_counted_and_who_saw_it_are_on_record_and_the_shift_manager_is_present() -> None:
    table = set_two_aside(card_taken_table())
    for choice in ("sorted", "determined"):
        answer = table.asks("decide", choice=choice, position="pit_manager", cards="2D")
        assert not answer.accepted
    decide_with_consent(table, "sorted")
    answer = table.asks("decide", choice="determined", cards="2D")
    assert answer.needs == {"consent": "another_person"}
    decide_with_consent(table, "determined", cards="2D")
    step = restricted_data(table, "irregularity.step")[-1]
    assert (step["person"], step["position"], step["consented_by"]) == ("kim", SHIFT, "lee")
    assert step["said"] == {"choice": "determined", "cards": "2D"}


@pytest.mark.parametrize("method", ["A", "C"])
def test_the_hand_that_was_taken_is_the_dealers_from_then_on(method: str) -> None:
    table = count_decks(set_two_aside(card_taken_table(method=method)))
    decide_with_consent(table, "replaced")
    assert table.now.round.hands.player.holder is None
    table.does("expose", hand="player")
    assert table.told("round.card_revealed")[-1]["index"] == 2


def test_a_card_of_the_two_that_cannot_be_read_is_entered_when_it_lies_open() -> None:
    table = card_taken_table()
    decide_with_consent(table, "not_known", reason="r")
    table.draw(None)
    table.draw("5D")
    count_decks(table)
    decide_with_consent(table, "replaced")
    table.turn_over()
    table.does("announce_totals")
    assert [opened.key for opened in table.now.pending_irregularities] == ["misread"]
    table.does("expose", hand="player")
    table.does("decide", choice="enter", card="4C", consented_by="lee")
    assert table.told("round.card_revealed")[-1]["card"] == "4C"
