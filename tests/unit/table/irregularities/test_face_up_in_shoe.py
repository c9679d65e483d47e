"""Cards that lay face up in the shoe, as it says: later ones play, the first is ruled on."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.games import catalog
from shoe_ctl.records import Audience
from shoe_testing.table_corpus import WAYS
from shoe_testing.tables import ROUNDS, TableHarness

GAMES = [name for name in catalog.shipped() if catalog.load(name).deck.name == "french52"]


def dealing(codes: str = "", way: dict[str, Any] = WAYS[0], **more: Any) -> TableHarness:
    table = TableHarness(**way, **more).open_shoe()
    table.open_round()
    table.deal(codes)
    return table


def ended(table: TableHarness) -> list[tuple[str, str, str | None]]:
    return [(d["key"], d["how"], d["rule"]) for d in table.told("irregularity.resolved")]


@pytest.mark.parametrize("name", GAMES)
def test_after_the_first_card_one_that_lay_face_up_plays_as_if_face_down(name: str) -> None:
    way = WAYS[1] if name == "dragon_bonus_royal" else WAYS[0]
    method = None if name == "dragon_bonus_royal" else "B"
    table = dealing("2D", way, name=name, method=method)
    table.draw("3C", face_up=True)
    rule = None if name == "dragon_bonus_royal" else "5.6"
    assert ended(table) == [("face_up_in_shoe", "played_as_face_down", rule)]
    assert (table.now.state, table.now.halt) == ("dealing", None)
    assert "table.halted" not in table.kinds


def test_what_lay_face_up_is_no_more_public_than_any_other_card() -> None:
    up, other = dealing("2D"), dealing("2D")
    up.draw("3C", face_up=True)
    other.draw("9H", face_up=True)
    assert [e.data for e in up.public] == [e.data for e in other.public]
    assert up.told("round.card_dealt")[-1]["face"] == "down"


def test_a_third_card_plays_too_and_the_round_ends_as_its_cards_say() -> None:
    table = dealing("2D 7C TS TH")
    table.turn_over()
    table.does("announce_totals")
    table.draw("4C", face_up=True)
    table.finish()
    assert table.told("round.outcome")[0]["winner"] == "banker"
    assert ended(table) == [("face_up_in_shoe", "played_as_face_down", "5.6")]


@pytest.mark.parametrize("ruling", ["play_on", "void"])
@pytest.mark.parametrize("way", WAYS, ids=["explicit", "implied"])
def test_a_rounds_first_card_that_lay_face_up_is_ruled_on(way: dict[str, Any], ruling: str) -> None:
    table = dealing(way=way)
    table.draw("2D", face_up=True)
    assert (table.key, table.now.halt.current.step) == ("face_up_in_shoe", "first_card")
    offered = [c["choice"] for c in table.told("irregularity.raised")[-1]["choices"]]
    assert offered == ["play_on", "void"]
    table.rules(ruling)
    assert ended(table)[-1] == ("face_up_in_shoe", ruling, "6.1")
    if ruling == "play_on":
        table.deal("3C TS TH 4C 5D")
        table.finish()
        assert table.told("round.outcome")


def test_a_card_drawn_early_that_lay_face_up_is_both() -> None:
    table = dealing(" ".join(ROUNDS["both stand"].split()[:4]))
    table.draw("4C", face_up=True)
    assert "face_up_in_shoe" in [d["key"] for d in table.told("irregularity.raised")]
    assert table.key == "overdraw" or table.now.pending_irregularities


def test_a_burned_card_may_lie_face_up() -> None:
    table = TableHarness(**WAYS[0]).open_shoe()
    table.draw("4C", hand="burn", face_up=True)
    assert table.told("irregularity.raised", Audience.PUBLIC) == []
