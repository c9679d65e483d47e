"""Cards entered, placed, corrected by people: in order, by two, in the ledger once."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, Gap, Status
from shoe_ctl.records import Audience
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import TableHarness, balanced


def dealt(codes: str, *, way: int = 0, **given: Any) -> TableHarness:
    table = TableHarness(**{**WAYS[way], "face_up_after_ms": 0, **given}).open_shoe()
    table.open_round()
    table.deal(codes)
    return table


def decides(table: TableHarness, choice: str, **more: Any) -> Any:
    return table.asks("decide", choice=choice, **{"reason": "seen", "consented_by": "lee", **more})


def accepted(table: TableHarness, choice: str, **more: Any) -> None:
    answer = decides(table, choice, **more)
    assert answer.accepted, answer


def missing(table: TableHarness, count: int) -> None:
    """The link was away for so many cards, and the shoe cannot tell which."""
    table.disconnect()
    table.connect()
    table.hello(resumed=False, drawn=table.now.shoe.drawn + count)


# A card misread as one that is not the shoe's.


@pytest.mark.parametrize("code", ["4f", "9C"])
@pytest.mark.parametrize("way", [0, 1])
def test_a_card_misread_is_corrected_takes_its_slot_and_play_goes_on(code: str, way: int) -> None:
    table = TableHarness(decks=1, **{**WAYS[way], "face_up_after_ms": 0})
    table.connect()
    table.hello(resumed=False, decks=1)
    table.load(decks=1)
    table.open_round()
    table.deal("9C 3C")
    before = len(table.public)
    table.draw(code)
    accepted(table, "correct", card="TS")
    told = [e.type for e in table.public[before:]]
    assert told[:2] == ["table.halted", "round.card_dealt"]
    assert balanced(table.now)
    accepted(table, "play_on")
    assert (table.now.state, table.now.held) == ("dealing", ())
    assert table.told("irregularity.resolved", Audience.RESTRICTED)[-1]["rule"] == "6.3"
    assert table.now.round.hand("player")[1] == card("TS")
    assert table.now.shoe.counts == {"9C": 1, "3C": 1, "TS": 1}
    table.deal("TH")
    assert len(table.now.round.cards if table.now.round else ()) in (0, 4)


def test_a_misread_first_card_opens_the_round_where_announcements_are_implied() -> None:
    table = dealt("", way=1)
    table.draw("4f")
    accepted(table, "correct", card="TS")
    accepted(table, "play_on")
    assert (table.now.state, len(table.now.round.cards)) == ("dealing", 1)
    assert table.now.round.all_revealed


@pytest.mark.parametrize(
    "more", [{"card": "4f"}, {"card": "TX"}, {"card": "9C", "consented_by": None}]
)
def test_a_correction_is_of_a_card_of_the_shoe_and_by_two(more: dict[str, Any]) -> None:
    table = dealt("2D 3C")
    table.draw("4f")
    assert not decides(table, "correct", **more).accepted
    assert len(table.now.round.cards) == 2


def test_a_misread_card_that_was_not_due_stays_beside_the_round_until_ruled_on() -> None:
    table = dealt("2D 3C TS TH")
    table.draw("4f")
    accepted(table, "correct", card="4C")
    assert "no place" in (decides(table, "play_on").error or "")
    assert [k.card and k.card.code for k in table.now.held] == ["4C"]
    accepted(table, "set_aside")
    assert (table.now.state, len(table.now.round.cards)) == ("revealing", 4)
    assert balanced(table.now)


# Cards that were missed.


def test_what_waits_since_another_halt_counts_no_card_of_that_halt() -> None:
    table = dealt("")
    table.draw("9S", number=2)
    accepted(table, "enter")
    assert [opened.key for opened in table.now.pending_irregularities] == ["misread"]
    accepted(table, "place")
    accepted(table, "recount")
    accepted(table, "play_on")
    table.deal("TS TH")
    table.does("expose", hand="player")
    assert table.key == "misread"
    accepted(table, "void")
    ended = next(e for e in table.events[::-1] if e.type == "irregularity.resolved")
    assert ended.restricted_data is not None
    assert (ended.data["key"], ended.restricted_data["cards_kept"]) == ("misread", 0)


@pytest.mark.parametrize("count", [1, 2])
def test_face_up_cards_that_were_missed_are_named_in_order(count: int) -> None:
    table = dealt("2D 3C", way=1)
    missing(table, count)
    assert table.key == "gap"
    assert decides(table, "enter").error == "it lies open: name the card"
    for code in ("TS", "TH")[:count]:
        accepted(table, "enter", card=code)
    assert "no card was missed" in (decides(table, "enter", card="KD").error or "")
    assert (table.now.shoe.drawn, table.now.shoe.unknown) == (2 + count, 0)
    accepted(table, "play_on", position="pit_supervisor")
    assert table.now.state == ("dealing" if count == 1 else "drawing")
    assert table.told("irregularity.resolved")[0]["rule"] == "6.3"
    table.deal(" ".join(["TH", "4C", "5D"][count - 1 :]))
    assert table.told("round.outcome")[-1]["banker"]["cards"] == ["3C", "TH", "5D"]
    assert balanced(table.now)


def test_face_down_a_card_that_was_missed_is_named_when_it_is_exposed() -> None:
    table = dealt("2D 3C TS")
    missing(table, 1)
    refused = decides(table, "enter", card="TH")
    assert refused.error == "it lies face down: name it when it is exposed"
    accepted(table, "enter")
    accepted(table, "play_on")
    assert (table.now.state, len(table.now.pending_irregularities)) == ("revealing", 1)
    table.does("expose", hand="banker")
    accepted(table, "enter", card="TH")
    assert table.now.shoe.counts["TH"] == 1
    assert balanced(table.now)


def test_a_third_card_that_was_missed_is_entered_once_the_others_are_seen() -> None:
    table = dealt("2D 3C TS TH", way=1)
    assert table.now.state == "drawing"
    missing(table, 2)
    accepted(table, "enter", card="4C")
    accepted(table, "enter", card="5D")
    accepted(table, "play_on")
    assert table.told("round.outcome")[-1]["player"]["cards"] == ["2D", "TS", "4C"]


def test_none_is_entered_before_the_cards_on_the_table_are_seen() -> None:
    table = dealt("2D 3C TS TH")
    missing(table, 1)
    refused = decides(table, "enter")
    assert "no card is due before those on the table are seen" in (refused.error or "")


def test_cards_kept_meanwhile_are_placed_in_the_order_of_their_numbers() -> None:
    table = dealt("2D", way=1)
    table.disconnect()
    table.connect()
    table.says(CardDrawn(card=card("TS"), number=3, armed=False))
    assert table.key == "link_lost"
    refused = decides(table, "place")
    assert "an earlier card was missed: enter that one first" in (refused.error or "")
    accepted(table, "enter", card="3C")
    accepted(table, "place")
    assert [c.code for c in table.now.round.hand("player")] == ["2D", "TS"]
    assert (table.now.held, table.now.shoe.unknown) == ((), 0)
    accepted(table, "play_on")
    assert table.now.state == "dealing"
    assert balanced(table.now)


def test_a_card_under_inspection_is_placed_by_nobody() -> None:
    table = dealt("2D", way=1)
    table.draw("4f")
    table.says(Gap(first=1, last=2))
    assert table.key == "gap"
    assert decides(table, "place").error == "a card is under inspection"
    accepted(table, "play_on")
    accepted(table, "correct", card="3C")
    accepted(table, "play_on")
    assert table.now.round.hand("banker") == (card("3C"),)


def test_a_kept_card_that_was_drawn_first_is_placed_first() -> None:
    table = dealt("2D", way=1)
    table.disconnect()
    table.connect()
    table.draw("3C", armed=False)
    table.says(Status(drawn=3, unacknowledged=0))
    refused = decides(table, "enter", card="TS")
    assert "place that one first" in (refused.error or "")
    accepted(table, "place")
    accepted(table, "enter", card="TS")
    accepted(table, "play_on")
    assert len(table.now.round.cards) == 3


@pytest.mark.parametrize("way", [0, 1])
def test_at_a_shoe_that_cannot_count_people_know_what_was_missed(way: int) -> None:
    table = TableHarness(angel_eye=True, **{**WAYS[way], "face_up_after_ms": 0}).open_shoe()
    table.open_round()
    table.deal("2D 3C")
    table.disconnect()
    table.connect()
    accepted(table, "enter", **({"card": "TS"} if way else {}))
    accepted(table, "play_on")
    assert table.now.link.aligned
    table.draw("TH", hand="banker", index=2)
    assert len(table.now.round.cards) == 4
    assert balanced(table.now)


@pytest.mark.parametrize(("later", "halts"), [("TS", False), (None, False), ("9C", True)])
def test_the_shoes_own_record_of_an_entered_card_is_compared_and_counted_once(
    later: str | None, halts: bool
) -> None:
    table = dealt("2D 3C", way=1)
    table.disconnect()
    accepted(table, "enter", card="TS")
    table.connect()
    accepted(table, "play_on")
    table.draw(later, number=3)
    assert (table.now.state == "suspended") is halts
    assert table.now.round.cards[2].card == card("TS")
    assert table.now.shoe.drawn == 3
    assert balanced(table.now)


def test_the_record_of_a_card_that_lay_face_down_names_it() -> None:
    table = dealt("2D 3C")
    table.disconnect()
    accepted(table, "enter")
    table.connect()
    accepted(table, "play_on")
    assert len(table.now.pending_irregularities) == 1
    table.draw("TS", number=3)
    assert (table.now.pending_irregularities, table.now.shoe.unknown) == ((), 0)
    assert table.now.round.cards[2].card == card("TS")
    assert balanced(table.now)


# The shoe's own result.


def judged(codes: str, winner: str, *, way: int = 1) -> TableHarness:
    table = TableHarness(angel_eye=True, **{**WAYS[way], "face_up_after_ms": 0}).open_shoe()
    table.open_round()
    table.deal(codes)
    table.judges(winner)
    if way == 0:
        table.turn_over()
        table.does("announce_totals")
        table.asks("announce_outcome")
    return table


@pytest.mark.parametrize("way", [0, 1])
def test_a_card_the_reader_got_wrong_is_entered_anew_and_then_both_agree(way: int) -> None:
    table = judged("7D 7C TS TH", "player", way=way)
    assert table.key == "result_disagrees"
    accepted(table, "enter", hand="player", index=2, card="AS")
    assert table.told("round.card_corrected") == [
        {"hand": "player", "index": 2, "card": "AS", "was": "TS"}
    ]
    assert table.now.shoe.counts.get("TS") is None
    if way == 0:
        table.does("announce_outcome")
    (outcome,) = table.told("round.outcome")
    assert (outcome["winner"], outcome["player"]["total"]) == ("player", 8)
    assert table.told("irregularity.resolved")[-1]["rule"] == "6.3"
    assert balanced(table.now)


def test_entered_anew_and_still_not_as_the_shoe_judged_halts_again() -> None:
    table = judged("7D 7C TS TH", "player")
    accepted(table, "enter", hand="banker", index=2, card="KH")
    assert table.key == "result_disagrees"
    assert table.told("round.outcome") == []


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"hand": "player", "index": 3, "card": "AS"}, "no such card lies open"),
        ({"hand": "player", "index": 2, "card": "4f"}, "4f is not a card of this deck"),
    ],
)
def test_only_a_card_that_lies_open_is_entered_anew(more: dict[str, Any], why: str) -> None:
    table = judged("7D 7C TS TH", "player")
    assert decides(table, "enter", **more).error == f"{why}"


def test_a_card_that_makes_a_third_card_wrong_is_not_entered() -> None:
    table = judged("2D 3C TS TH 4C 5D", "player")
    assert not decides(table, "enter", hand="player", index=2, card="7S").accepted
    accepted(table, "void")
    assert table.told("round.outcome") == []


def test_a_card_entered_anew_may_call_for_a_third_card() -> None:
    table = judged("7D 7C TS TH", "player")
    accepted(table, "enter", hand="player", index=1, card="2D")
    assert table.key == "result_disagrees"
    accepted(table, "play_on")
    assert table.now.state == "drawing"
    table.deal("4C")
    assert table.told("round.outcome")[-1]["player"]["cards"] == ["2D", "TS", "4C"]


def test_it_is_said_how_many_cards_the_shoe_counts_and_never_reported() -> None:
    table = dealt("2D 3C TS TH")
    table.hello(resumed=False, drawn=6)
    seen = table.told("irregularity.raised")[-1]["seen"]
    assert seen == {"code": "seen_cards_missed", "args": {"cards": 2}}
