"""Nobody learns a card before the table does: not by value, timing, order, count or a lamp."""

from __future__ import annotations

import re

import msgspec
import pytest

from firmware_proto.cards import CARDS, card
from firmware_proto.events import CardDrawn, CardOutsideGame, Error, ErrorCleared
from shoe_ctl.records import Audience
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.inputs import LinkUp
from shoe_ctl.texts.catalogue import text as english
from shoe_ctl.texts.message import message
from shoe_testing.event_check import OwnData
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import public_bytes
from shoe_testing.tables import TableHarness

CODE = re.compile("|".join(rf"\b{re.escape(code)}\b" for code in CARDS))

# Rounds whose first four cards look alike from above: stands, draws, natural, pairs.
ALIKE = ("7D 7C TS TH", "2D 3C TS TH", "9C 2D KD 3H", "2D 8C TS TH", "5C 5D 5H 5S")


def face_down(codes: str, *, angel_eye: bool = False) -> TableHarness:
    table = TableHarness(angel_eye=angel_eye, **WAYS[0]).open_shoe()
    table.open_round()
    table.deal(codes)
    return table


@pytest.mark.parametrize("angel_eye", [False, True], ids=["reference", "angel_eye"])
def test_rounds_that_look_alike_are_alike_in_public_and_at_the_shoe(angel_eye: bool) -> None:
    tables = [face_down(codes, angel_eye=angel_eye) for codes in ALIKE]
    if angel_eye:  # its own result comes as soon as the shoe has read the last card
        for table in (tables[0], tables[2], tables[3]):
            table.judges()
    for table in tables:
        assert public_bytes(table) == public_bytes(tables[0])
        assert table.desires == tables[0].desires
    assert len(public_bytes(tables[0])) == (9 if angel_eye else 8)


def test_what_was_revealed_is_the_only_difference_until_a_third_card_is_implied() -> None:
    one, other = face_down("2D 3C TS TH"), face_down("2D 7C TS 9H")
    for table in (one, other):
        table.does("expose", hand="player")
    assert public_bytes(one) == public_bytes(other)
    assert one.desires == other.desires


@pytest.mark.parametrize("angel_eye", [False, True], ids=["reference", "angel_eye"])
def test_a_card_drawn_early_is_told_alike_whether_it_is_due_or_not(angel_eye: bool) -> None:
    due, not_due = (face_down(codes, angel_eye=angel_eye) for codes in ALIKE[1::-1])
    due.draw("4C")
    if angel_eye:  # such a shoe knows an overdraw by the cards it has read
        not_due.says(Error(code="overdraw", in_error_mode=True))
        not_due.says(CardOutsideGame(card=card("4C"), mode="error"))
        not_due.says(ErrorCleared(code="overdraw"))
    else:
        not_due.draw("4C")
    assert public_bytes(due) == public_bytes(not_due)
    assert due.told("irregularity.raised")[-1]["key"] == "drawn_early"
    assert due.told("table.halted") == []
    assert due.desires == not_due.desires


def test_drawn_early_is_an_overdraw_to_those_who_may_know() -> None:
    table = face_down("2D 3C TS TH")
    table.draw("4C")
    raised = next(e for e in table.events if e.type == "irregularity.raised")
    assert raised.data["key"] == "drawn_early"
    assert raised.restricted_data is not None
    assert raised.restricted_data["key"] == "overdraw"
    (kept,) = (d for d in table.told("round.card_drawn", Audience.RESTRICTED) if "placed" in d)
    assert (kept["card"], kept["number"]) == ("4C", 5)


@pytest.mark.parametrize("code", ["4f", "9C"], ids=["foreign", "extra"])
def test_a_card_that_is_not_the_shoes_is_an_inspection_and_no_more(code: str) -> None:
    table = TableHarness(decks=1, **WAYS[0])
    table.connect()
    table.hello(resumed=False, decks=1)
    table.load(decks=1)
    table.open_round()
    table.deal("9C")
    before = len(table.public)
    table.draw(code)
    (halted,) = table.public[before:]
    assert (halted.type, OwnData(halted.data)) == ("table.halted", {"reason": "inspection"})
    raised = table.told("irregularity.raised", Audience.RESTRICTED)[-1]
    assert raised["key"] == {"4f": "foreign_card", "9C": "extra_card"}[code]
    table.rules("void")
    ended = table.public[before + 1 :]
    assert [e.type for e in ended] == ["round.void", "table.resumed", "irregularity.step"]
    assert ended[0].data == {"round_id": "bac-07-s1-r1", "rule": "5.1", "reason": "inspection"}


def test_a_shoes_fault_is_told_without_its_code() -> None:
    table = face_down("2D 3C")
    table.says(Error(code="cannot_read", in_error_mode=True))
    table.says(ErrorCleared(code="cannot_read"))
    assert table.told("shoe.fault") == [{}]
    assert table.told("shoe.cleared") == [{}]
    assert not any(b"cannot_read" in data for _, _, data in public_bytes(table))
    fault = next(e for e in table.events if e.type == "shoe.fault")
    assert OwnData(fault.restricted_data or {}) == {"code": "cannot_read", "in_error_mode": True}


def test_the_hands_that_a_shoe_names_out_of_turn_are_not_public() -> None:
    table = face_down("2D 3C", angel_eye=True)
    table.draw("TS", hand="banker", index=2)
    raised = next(e for e in table.events if e.type == "irregularity.raised")
    assert english(raised.data["seen"]) == "the shoe named another place than the one that is due"
    assert raised.restricted_data is not None
    assert "Banker's card 2 where Player's card 2" in english(raised.restricted_data["seen"])


def test_when_a_halted_shoe_counts_a_new_round_is_not_public() -> None:
    """How many cards the lost round took follows from cards that nobody saw."""
    tables = [face_down("2D 3C TS", angel_eye=True) for _ in range(2)]
    for table, (hand, index) in zip(tables, [("player", 1), ("player", 3)], strict=True):
        table.disconnect()
        table.connect()
        table.draw("4C", hand=hand, index=index)
    assert public_bytes(tables[0]) == public_bytes(tables[1])
    assert [t.now.link.aligned for t in tables] == [True, False]


def test_what_failed_in_the_controller_is_not_public() -> None:
    table = face_down("2D 3C")
    table.fails()
    assert not any(b"8S" in data for _, _, data in public_bytes(table))
    raised = next(e for e in table.events if e.type == "irregularity.raised")
    assert raised.restricted_data is not None
    assert english(raised.restricted_data["seen"]) == "ShoeSaid failed: KeyError: 8S"


def test_who_ruled_and_why_is_not_public() -> None:
    table = face_down("2D 3C")
    table.fails()
    table.does("decide", choice="void", reason="the 9C lay open")
    assert not any(b"kim" in data or b"lay open" in data for _, _, data in public_bytes(table))
    (void,) = (e for e in table.events if e.type == "round.void")
    assert void.restricted_data is not None
    assert (void.restricted_data["person"], void.restricted_data["why"]) == (
        "kim",
        "the 9C lay open",
    )


def codes_in(event: TableEvent) -> set[str]:
    return set(CODE.findall(msgspec.json.encode(event.data).decode()))


def test_a_card_among_the_arguments_of_a_message_is_found_like_any_other() -> None:
    inner = message("refused_card_was_seen", hand="player", index=1, card="7D")
    seen = message("refused_each", reasons=[inner]).as_data()
    told = TableEvent("irregularity.raised", Audience.PUBLIC, None, {"seen": seen})
    assert codes_in(told) == {"7D"}


@pytest.mark.parametrize("codes", ALIKE)
def test_no_public_event_holds_a_card_before_its_own_reveal(codes: str) -> None:
    table = face_down(codes)
    assert not any(codes_in(event) for event in table.public)
    table.does("expose", hand="banker", index=2)
    assert set().union(*map(codes_in, table.public)) == {codes.split()[3]}


def test_a_shoe_that_cannot_be_armed_is_open_between_rounds_and_while_a_card_is_due() -> None:
    table = TableHarness(angel_eye=True, **WAYS[0])
    table.feed(
        LinkUp(
            t_us=1, connection=1, profile="angel_eye", arm=False, replay=False, judges=True,
            names_hands=True,
        )
    )  # fmt: skip
    assert type(table.desired).__name__ == "Armed"
    table.says(CardDrawn(card=card("3H"), hand="first_card", index=1))
    table.does("place_your_bets")
    assert type(table.desired).__name__ == "Locked"
    table.does("no_more_bets")
    assert type(table.desired).__name__ == "Armed"
