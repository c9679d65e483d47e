"""A card that went back into the shoe: found at its front and drawn again, or the round is void."""

from __future__ import annotations

import pytest

from firmware_proto.cards import card
from firmware_proto.commands import Armed
from firmware_proto.events import CardPushedBack
from shoe_testing.event_check import OwnData
from shoe_testing.table_corpus import WAYS
from shoe_testing.table_situations import offered_choices, slots_of
from shoe_testing.tables import ROUNDS, TableHarness, balanced

PIT = "pit_supervisor"


def dealt(codes: str = "2D 3C", *, way: int = 0) -> TableHarness:
    table = TableHarness(**WAYS[way]).open_shoe()
    table.open_round()
    table.deal(codes)
    return table


def goes_back(table: TableHarness, code: str | None, number: int) -> None:
    table.says(CardPushedBack(card=None if code is None else card(code), number=number))


def found(table: TableHarness) -> None:
    table.does("decide", choice="reconstructed", reason="it lies in front", position=PIT)
    assert balanced(table.now)


def test_found_at_the_front_it_leaves_its_place_and_is_drawn_again() -> None:
    table = dealt()
    goes_back(table, "3C", 2)
    assert table.key == "order_altered"
    refused = table.asks("decide", choice="reconstructed", reason="r", position="dealer")
    assert refused.needs == {"position": PIT}
    found(table)
    told = table.told("irregularity.resolved")[-1]
    assert (told["how"], told["rule"]) == ("reconstructed", "5.7")
    assert slots_of(table) == [("player", 1, "2D")]
    assert (table.now.state, table.desired) == ("dealing", Armed(3, "banker", 1))
    assert "3C" not in table.now.shoe.counts
    table.deal("3C TS TH 4C 5D")
    table.finish()
    assert table.told("round.outcome")[0]["banker"]["cards"] == ["3C", "TH", "5D"]
    assert table.now.shoe.counts["3C"] == 1 and balanced(table.now)


def test_the_room_is_told_which_place_is_free_and_no_card() -> None:
    table = dealt()
    goes_back(table, "3C", 2)
    found(table)
    (moved,) = (e for e in table.public if e.data.get("step") == "taken_back")
    assert OwnData(moved.data) == {
        "key": "order_altered",
        "step": "taken_back",
        "moved": ["banker 1"],
    }
    assert not any("3C" in str(e.data) for e in table.public)


def test_the_rounds_only_card_leaves_it_closed() -> None:
    table = dealt("2D")
    goes_back(table, "2D", 1)
    found(table)
    assert (table.now.state, table.desired) == ("closed", Armed(2, "player", 1))
    table.deal("2D 3C TS TH 4C 5D")
    table.finish()
    assert len(table.told("round.outcome")) == 1


@pytest.mark.parametrize(
    ("codes", "hand"), [("2D 3C TS TH 4C", "player"), ("2D 3C TS TH 4C 5D", "banker")]
)
def test_a_third_card_is_due_again(codes: str, hand: str) -> None:
    table = dealt(codes)
    goes_back(table, codes.rsplit(maxsplit=1)[-1], len(codes.split()))
    found(table)
    assert (table.now.state, table.now.round.due) == ("drawing", hand)
    table.draw(codes.rsplit(maxsplit=1)[-1])
    assert slots_of(table)[-1] == (hand, 3, codes.rsplit(maxsplit=1)[-1])
    assert table.now.state == "revealing"


@pytest.mark.parametrize(
    ("codes", "state"),
    [("2D 3C", "dealing"), ("2D 3C TS TH", "revealing"), ("2D 3C TS TH 4C", "revealing")],
)
def test_drawn_again_before_anyone_decided_it_lies_where_it_lay(codes: str, state: str) -> None:
    table, last = dealt(codes), codes.rsplit(maxsplit=1)[-1]
    before = slots_of(table)
    goes_back(table, last, len(before))
    table.draw(last)
    found(table)
    assert (slots_of(table), table.now.state) == (before, state)
    assert table.now.shoe.counts[last] == 1


def test_drawn_early_it_waits_no_more() -> None:
    table = dealt("2D 3C TS TH")
    table.draw("4C")
    goes_back(table, "4C", 5)
    found(table)
    assert (table.now.early, table.now.pending_irregularities, table.now.state) == (
        (),
        (),
        "revealing",
    )
    told = table.told("irregularity.resolved")
    assert [t["key"] for t in told] == ["drawn_early", "order_altered"]


def test_one_that_nobody_could_read_is_entered_no_more() -> None:
    table = dealt("2D")
    table.draw(None)
    goes_back(table, None, 2)
    found(table)
    assert (table.now.pending_irregularities, table.now.shoe.unknown) == ((), 0)


def test_kept_while_halted_it_is_in_the_shoe_again() -> None:
    table = dealt()
    table.does("declare", key="other", reason="noise")
    table.draw("TS")
    goes_back(table, "TS", 3)
    assert table.now.held == ()
    found(table)
    table.rules("play_on")
    assert table.now.state == "dealing" and balanced(table.now)


@pytest.mark.parametrize("seen", [False, True])
def test_one_that_was_seen_or_is_not_the_last_is_ruled_on(seen: bool) -> None:
    table = dealt("2D 3C TS TH")
    if seen:
        table.does("expose", hand="banker")
    goes_back(table, "TH" if seen else "TS", 4 if seen else 3)
    assert "reconstructed" not in offered_choices(table)
    table.rules("void")
    assert table.told("round.void")[-1]["rule"] == "5.2"
    assert sum(table.now.shoe.counts.values()) == 3 and balanced(table.now)
    table.play(ROUNDS["both draw"])


def test_by_a_ruling_it_lies_where_it_lies() -> None:
    table = dealt()
    goes_back(table, "3C", 2)
    table.rules("play_on")
    assert (len(table.now.round.cards), table.now.shoe.pushed_back) == (2, ())
    declared = table.asks("declare", key="order_altered", reason="r")
    assert declared.accepted
    table.rules("void")
    assert table.now.shoe.returned == 0


def test_a_card_of_an_earlier_round_changes_nothing_that_was_counted() -> None:
    table = dealt("7D 7C TS TH")
    table.finish()
    goes_back(table, "TH", 4)
    assert table.now.halt is None
    assert table.now.shoe.returned == 0 and balanced(table.now)


def test_a_card_that_lies_open_and_unread_is_not_found_while_it_is_being_entered() -> None:
    table = dealt("2D", way=1)
    table.draw(None)
    assert table.key == "misread"
    goes_back(table, None, 2)
    assert "reconstructed" not in offered_choices(table)
    table.rules("void")
    assert table.now.shoe.unknown == 0 and balanced(table.now)


def test_what_was_to_open_the_round_opens_none() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.draw("4C")
    table.rules("first_card")
    goes_back(table, "4C", 1)
    assert table.now.opening == () and balanced(table.now)
    table.open_round()
    assert table.desired == Armed(2, "player", 1)


def test_two_that_look_alike_are_alike_in_public() -> None:
    tables = [dealt(codes) for codes in ("2D 3C", "9C KD")]
    for table, code in zip(tables, ("3C", "KD"), strict=True):
        goes_back(table, code, 2)
        found(table)
    one, other = ([(e.type, e.data) for e in table.public] for table in tables)
    assert one == other
