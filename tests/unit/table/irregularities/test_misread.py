"""A card that the shoe cannot read: it holds its slot, is entered once it lies open, by two."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn, Error, ErrorCleared
from shoe_ctl.games import catalog
from shoe_ctl.records import Audience
from shoe_ctl.table.state import from_bytes, to_bytes
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import public_bytes
from shoe_testing.tables import TableHarness, balanced


def dealt(codes: str, *, way: int = 0, **given: Any) -> TableHarness:
    """A round dealt so far; ``?`` is a card that the shoe cannot read."""
    table = TableHarness(**{**WAYS[way], "face_up_after_ms": 0, **given}).open_shoe()
    table.open_round()
    for code in codes.split():
        table.draw(None if code == "?" else code)
    return table


def enters(table: TableHarness, code: str, **more: Any) -> Any:
    return table.asks("decide", choice="enter", card=code, **{"consented_by": "lee", **more})


def test_face_down_it_holds_its_slot_and_play_goes_on() -> None:
    table = dealt("2D ? TS TH")
    assert (table.now.state, table.now.halt) == ("revealing", None)
    assert [d.card and d.card.code for d in table.now.round.cards] == ["2D", None, "TS", "TH"]
    assert (table.now.shoe.drawn, table.now.shoe.unknown) == (4, 1)
    assert [w.key for w in table.now.pending_irregularities] == ["misread"]
    assert from_bytes(to_bytes(table.now)) == table.now
    assert balanced(table.now)


def test_in_public_it_is_dealt_like_any_other_card() -> None:
    unread, read = dealt("2D ? TS TH"), dealt("2D 3C TS TH")
    extra = [e for e in public_bytes(unread) if e not in public_bytes(read)]
    assert [kind for kind, *_ in extra] == ["irregularity.raised"]
    assert [e for e in public_bytes(unread) if e not in extra] == public_bytes(read)
    assert unread.desires == read.desires
    assert unread.told("round.card_drawn", Audience.RESTRICTED)[1]["card"] is None


def test_it_halts_when_it_is_exposed_and_is_entered_by_two() -> None:
    table = dealt("2D ? TS TH")
    table.does("expose", hand="player")
    assert table.now.state == "revealing"
    table.does("expose", hand="banker")
    assert (table.now.state, table.key, table.now.pending_irregularities) == (
        "suspended",
        "misread",
        (),
    )
    assert [d["card"] for d in table.told("round.card_revealed")] == ["2D", "TS", "TH"]
    assert enters(table, "3C", position="dealer").accepted
    assert table.told("round.card_revealed")[-1] == {"hand": "banker", "index": 1, "card": "3C"}
    resolved = table.told("irregularity.resolved")[-1]
    assert resolved == {"key": "misread", "how": "entered", "rule": "6.3"}
    assert (table.now.state, table.now.shoe.unknown) == ("revealing", 0)
    assert balanced(table.now)
    table.does("announce_totals")
    table.draw("4C")
    table.does("expose", hand="player")
    table.draw("5D")
    table.finish()
    assert table.told("round.outcome")[-1]["banker"]["cards"] == ["3C", "TH", "5D"]


def test_who_entered_it_stands_in_the_restricted_stream() -> None:
    table = dealt("2D ? TS TH")
    table.does("expose", hand="banker")
    assert enters(table, "3C", reason="seen by both").accepted
    assert table.told("round.card_entered", Audience.RESTRICTED) == [
        {
            "hand": "banker", "index": 1, "card": "3C", "person": "kim",
            "position": "gaming_shift_manager", "consented_by": "lee", "why": "seen by both",
        }
    ]  # fmt: skip
    assert not any("kim" in str(e.data) for e in table.public)


def test_nothing_is_implied_from_a_card_that_is_not_entered() -> None:
    table = dealt("2D ? TS TH")
    table.does("expose", hand="player")
    assert not table.asks("announce_totals").accepted
    assert not table.asks("announce_outcome").accepted
    assert table.now.round.due is None


@pytest.mark.parametrize("second", [None, "", "kim"])
def test_one_person_alone_enters_nothing(second: str | None) -> None:
    table = dealt("2D ? TS TH")
    table.does("expose", hand="banker")
    refused = enters(table, "3C", consented_by=second)
    assert refused.needs == {"consent": "another_person"}
    assert table.now.state == "suspended"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("9X", "9X is no card; name rank and suit, as in AS"),
        ("4f", "4f is not a card of this deck"),
        ("2D", "every 2D that the decks hold was seen already"),
    ],
)
def test_a_card_that_the_shoe_cannot_have_held_is_not_entered(code: str, why: str) -> None:
    table = TableHarness(decks=1, **WAYS[0])
    table.connect()
    table.hello(resumed=False, decks=1)
    table.load(decks=1)
    table.open_round()
    for face in ("2D", None, "TS", "TH"):
        table.draw(face)
    table.does("expose", hand="player")
    table.does("expose", hand="banker")
    assert enters(table, code).error == f"{why}"
    assert enters(table, "3C").accepted


def test_a_refusal_never_tells_of_a_card_that_lies_face_down() -> None:
    """The decks hold one 2D, it lies face down, and a second one is entered: inspected."""
    table = TableHarness(decks=1, **WAYS[0])
    table.connect()
    table.hello(resumed=False, decks=1)
    table.load(decks=1)
    table.open_round()
    for face in ("2D", None, "TS", "TH"):
        table.draw(face)
    table.does("expose", hand="banker", index=1)
    assert enters(table, "2D").accepted
    assert (table.now.state, table.key) == ("suspended", "extra_card")
    assert table.told("table.halted")[-1] == {"reason": "inspection"}
    table.rules("void")
    assert balanced(table.now)


def test_two_of_one_hand_are_entered_one_after_the_other() -> None:
    table = dealt("? 3C ? TH")
    table.does("expose", hand="player")
    assert table.now.halt.current.subject == "player 1"
    assert enters(table, "7D").accepted
    assert (table.now.state, table.now.halt.current.subject) == ("suspended", "player 2")
    assert enters(table, "KD").accepted
    assert [c.code for c in table.now.round.hand("player")] == ["7D", "KD"]
    assert table.now.state == "revealing"


def test_a_third_card_not_read_is_entered_too() -> None:
    table = dealt("2D 7C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.draw(None)
    assert (table.now.state, len(table.now.pending_irregularities)) == ("revealing", 1)
    table.does("expose", hand="player")
    assert enters(table, "4C").accepted
    table.does("announce_outcome")
    assert table.told("round.outcome")[-1]["player"]["total"] == 6


def test_a_player_who_squeezes_it_exposes_it_before_it_is_entered() -> None:
    table = dealt("2D ? TS TH", method="A")
    table.does("pass_cards", hand="banker", seat=3)
    assert (table.now.state, len(table.now.pending_irregularities)) == ("revealing", 1)
    table.does("expose", hand="banker")
    assert enters(table, "3C").accepted
    assert table.now.round.hands.banker.holder is not None


@pytest.mark.parametrize("codes", ["?", "2D ?", "2D 3C ?", "2D 3C TS ?"])
def test_face_up_it_is_entered_at_once(codes: str) -> None:
    table = dealt(codes, way=1)
    count = len(codes.split())
    assert (table.now.state, table.key, table.now.pending_irregularities) == (
        "suspended",
        "misread",
        (),
    )
    assert enters(table, "TH").accepted
    assert table.now.round.all_revealed
    assert table.now.state == ("dealing" if count < 4 else "drawing")
    table.deal(" ".join(["2D", "3C", "TS", "TH", "4C", "5D"][count:]))
    if table.now.round is not None:
        table.turn_over()
    assert len(table.told("round.outcome")) == 1


def test_a_void_ends_what_waits_with_the_round() -> None:
    table = dealt("2D ? TS")
    table.fails()
    table.rules("void")
    assert (table.now.state, [w.key for w in table.now.pending_irregularities]) == (
        "idle",
        ["after_void"],
    )
    assert [d["key"] for d in table.told("irregularity.resolved")] == ["other", "misread"]
    assert table.now.shoe.unknown == 1
    assert balanced(table.now)


def test_the_last_card_of_a_shoe_unread_ends_the_round_with_all_that_waits() -> None:
    table = TableHarness(decks=1, **WAYS[0])
    table.connect()
    table.hello(resumed=False, decks=1, set_id="set-9", drawn=51)
    table.open_round()
    table.draw(None)
    assert (table.now.round, table.now.pending_irregularities, table.now.state) == (
        None,
        (),
        "shoe_change",
    )
    assert table.told("round.void")[-1]["rule"] == "5.3"


@pytest.mark.parametrize("name", catalog.shipped())
def test_each_game_cites_its_own_rule(name: str) -> None:
    table = TableHarness(name=name, **{**WAYS[1], "face_up_after_ms": 0})
    table.connect()
    table.hello(resumed=False, deck=table.game.deck.name)
    table.load()
    table.draw(None)
    assert enters(table, table.game.deck.cards[0].code).accepted
    rule = {"dragon_bonus_royal": None}.get(name, "6.3")
    assert table.told("irregularity.resolved")[-1]["rule"] == rule


# A shoe that stops at the card.


def stopped(codes: str, *, way: int = 0, **given: Any) -> TableHarness:
    made = {**WAYS[way], "face_up_after_ms": 0, **given}
    table = TableHarness(angel_eye=True, **made).open_shoe()
    table.open_round()
    table.deal(codes)
    table.says(Error(code="cannot_read", in_error_mode=True))
    return table


@pytest.mark.parametrize("way", [0, 1])
def test_a_shoe_that_stops_asks_where_the_card_is(way: int) -> None:
    table = stopped("2D 3C", way=way)
    assert (table.key, table.now.halt.current.step) == ("misread", "where")
    assert table.told("shoe.fault") == [{}]
    table.does("decide", choice="read_again", position="dealer")
    table.says(ErrorCleared(code="cannot_read"))
    table.draw("TS")
    table.draw("TH")
    assert len(table.now.round.cards) == 4


@pytest.mark.parametrize("way", [0, 1])
def test_the_shoe_that_reads_it_after_all_ends_the_question(way: int) -> None:
    table = stopped("2D 3C", way=way)
    table.says(ErrorCleared(code="cannot_read"))
    table.draw("TS")
    assert (table.now.state, len(table.now.round.cards)) == ("dealing", 3)
    assert table.told("irregularity.resolved")[-1]["how"] == "read_by_shoe"


@pytest.mark.parametrize("codes", ["2D 3C", "2D 3C KD"])
def test_face_up_a_card_that_is_read_after_all_is_told_only_once_the_room_has_seen_it(
    codes: str,
) -> None:
    table = stopped(codes, way=1, face_up_after_ms=1000)
    table.says(ErrorCleared(code="cannot_read"))
    read_us = table.now.t_us
    table.draw("TS")
    assert table.told("irregularity.resolved")[-1]["how"] == "read_by_shoe"
    assert "TS" not in [told["card"] for told in table.told("round.card_revealed")]
    while "TS" not in [told["card"] for told in table.told("round.card_revealed")]:
        table.tick()
    assert table.now.t_us >= read_us + 1_000_000


def test_another_card_than_the_one_due_does_not_answer_it() -> None:
    table = stopped("2D 3C")
    table.draw("TS", hand="banker", index=2)
    assert table.now.state == "suspended"
    refused = table.asks("decide", choice="in_its_place")
    assert "no place in the round" in (refused.error or "")
    table.rules("void")
    assert balanced(table.now)


@pytest.mark.parametrize("codes", ["2D 3C", "2D 3C TS"])
def test_the_card_lies_in_its_place_unread_until_it_is_exposed(codes: str) -> None:
    table = stopped(codes)
    table.does("decide", choice="in_its_place", position="dealer")
    assert len(table.now.pending_irregularities) == 1
    if codes == "2D 3C":
        table.draw("TH", hand="banker", index=2)
    assert table.now.state == "revealing"
    table.does("expose", hand="player" if codes == "2D 3C" else "banker")
    assert table.key == "misread"
    assert enters(table, "9C").accepted
    assert balanced(table.now)


@pytest.mark.parametrize("codes", ["2D 3C", "2D 3C TS"])
def test_face_up_it_is_entered_as_soon_as_it_lies_in_its_place(codes: str) -> None:
    table = stopped(codes, way=1)
    table.does("decide", choice="in_its_place", position="dealer")
    assert (table.key, table.now.halt.current.step) == ("misread", "enter")
    assert enters(table, "9C").accepted
    assert table.now.state in ("dealing", "revealing", "drawing")
    assert balanced(table.now)


@pytest.mark.parametrize("way", [0, 1])
def test_a_shoe_that_names_the_slot_again_has_read_the_card(way: int) -> None:
    table = stopped("2D 3C", way=way)
    table.does("decide", choice="in_its_place")
    before = len(table.now.round.cards)
    table.says(CardDrawn(card=card("TS"), hand="player", index=2))
    assert (len(table.now.round.cards), table.now.round.cards[2].card) == (before, card("TS"))
    assert (table.now.pending_irregularities, table.now.halt, table.now.shoe.unknown) == (
        (),
        None,
        0,
    )
    assert table.now.round.cards[2].revealed is (way == 1)
    assert balanced(table.now)
