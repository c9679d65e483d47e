"""In every method: what looks alike from the table is alike in public and at the shoe."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from firmware_proto.commands import Armed, Locked
from shoe_testing.tables import ROUNDS, Stake, TableHarness, method_table, place_bets

# Alike from above: both draw, both stand, naturals, pairs.
ALIKE = ("2D 3C TS TH", "7D 7C TS TH", "9C 2D KD 3H", "2D 8C TS TH", "5C 5D 5H 5S")
STAKES: tuple[Stake, ...] = (
    ("ann", 3, "player", 500),
    ("bob", 5, "player", 500),
    ("cat", 7, "banker", 900),
)
Step = tuple[str, dict[str, Any]]
HANDED: tuple[Step, ...] = (
    ("pass_cards", {"hand": "player"}),
    ("refuse_cards", {"hand": "player"}),
    ("pass_cards", {"hand": "player"}),
    ("pass_cards", {"hand": "banker"}),
    ("set_first_hand", {"hand": "banker"}),
    ("allow_squeeze", {"hand": "banker", "player": "ann", "designee": "eve"}),
)
BEFORE: dict[str, tuple[Step, ...]] = {"A": (), "B": (), "C": (("offer_shoe", {"player": "ann"}),)}
STEPS: dict[str, tuple[Step, ...]] = {
    "A": HANDED,
    "B": (("pass_cards", {"hand": "player"}), ("expose", {"hand": "player", "by": "holder"})),
    "C": (
        ("pass_cards", {"hand": "player"}),
        ("pass_cards", {"hand": "banker", "player": "bob"}),
        ("declare_out_of_view", {}),
        ("refuse_cards", {"hand": "banker"}),
        ("relinquish_shoe", {}),
    ),
}


def lying(method: str, codes: str) -> tuple[TableHarness, list[bool]]:
    """The initial deal lies face down, and all that people do with it before it is opened."""
    table = method_table(method)
    place_bets(table, *STAKES)
    for command, args in BEFORE[method]:
        table.does(command, **args)
    table.does("no_more_bets")
    for code in codes.split()[:4]:
        table.draw(code)
    return table, [table.asks(command, **args).accepted for command, args in STEPS[method]]


def in_public(table: TableHarness) -> list[tuple[Any, ...]]:
    return [(e.type, e.subject, msgspec.json.encode(e.data)) for e in table.public]


@pytest.mark.parametrize("method", "ABC")
def test_until_the_reveal_rounds_that_look_alike_are_alike(method: str) -> None:
    first, done = lying(method, ALIKE[0])
    assert all(done) is (method != "B")
    for codes in ALIKE[1:]:
        table, same = lying(method, codes)
        assert same == done
        assert in_public(table) == in_public(first)
        assert table.desires == first.desires


@pytest.mark.parametrize("method", "ABC")
def test_one_hand_open_tells_nothing_of_the_other_nor_of_a_third_card(method: str) -> None:
    tables = [lying(method, codes)[0] for codes in ("2D 3C TS TH", "2D 7C TS 2H", "2D 8C TS TH")]
    for table in tables:
        hand = "banker" if method == "A" else "player"
        table.does("refuse_cards" if method == "A" else "expose", hand=hand)
        assert table.desired == Locked()
    assert all(in_public(table) == in_public(tables[0]) for table in tables)
    assert all(table.desires == tables[0].desires for table in tables)


@pytest.mark.parametrize("method", "AC")
def test_a_third_card_squeezed_is_alike_until_its_holder_shows_it(method: str) -> None:
    """One has Banker draw and one has Banker stand, by the value of Player's third card."""
    tables = []
    for third in ("4C", "8C"):
        table, _ = lying(method, "2D 3C TS TH")
        for hand in ("banker", "player"):
            table.does("expose", hand=hand)
        table.does("announce_totals")
        table.draw(third)
        tables.append(table)
    assert in_public(tables[0]) == in_public(tables[1])
    assert tables[0].desires == tables[1].desires
    assert tables[0].desired == Locked()
    for table in tables:
        table.does("expose", hand="player")
    assert isinstance(tables[0].desired, Armed)
    assert tables[1].desired == Locked()


@pytest.mark.parametrize("codes", ROUNDS.values(), ids=ROUNDS)
@pytest.mark.parametrize("method", "AC")
def test_a_third_card_is_armed_only_when_all_is_seen_and_said(method: str, codes: str) -> None:
    table, _ = lying(method, codes)

    def look() -> None:
        desired, played = table.desired, table.now.round
        if isinstance(desired, Armed) and desired.index == 3:
            assert played.all_revealed and played.totals_announced

    table.step = look
    for hand in ("banker", "player"):
        table.does("expose", hand=hand)
    table.does("announce_totals")
    for code in codes.split()[4:]:
        hand = table.slot[0]
        table.draw(code)
        table.does("expose", hand=hand)
    table.does("announce_outcome")


@pytest.mark.parametrize("method", "AC")
def test_no_name_and_no_designee_is_public(method: str) -> None:
    table, _ = lying(method, ALIKE[0])
    for name in (b"ann", b"bob", b"cat", b"eve", b"kim"):
        assert not any(b'"' + name + b'"' in data for _, _, data in in_public(table))
