"""The cards of the shoe: foreign, extra, unshuffled, missing; between rounds nothing is void."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_proto.cards import card
from firmware_proto.events import CardDrawn
from shoe_ctl.games import catalog
from tests.table.playing import Playing, balanced
from tests.table.sessions import WAYS

STAFFED = [name for name in catalog.shipped() if catalog.load(name).options.staffed]


def between(decks: int = 8, **more: Any) -> Playing:
    table = Playing(decks=decks, **WAYS[0], **more)
    table.connect()
    table.hello(resumed=False, decks=decks)
    table.load(decks=decks)
    return table


def ended(table: Playing, kind: str = "irregularity.resolved") -> list[tuple[str, str]]:
    every = [e.restricted_data or e.data for e in table.events if e.type == kind]
    return [(d["how"], d["rule"]) for d in every]


@pytest.mark.parametrize("code", ["4f", "9C"], ids=["foreign", "extra"])
def test_a_strange_card_burned_between_rounds_voids_nothing_and_is_laid_aside(code: str) -> None:
    table = between(decks=1)
    for burned in ("9C", code):
        table.says(CardDrawn(card=card(burned), hand="burn", index=1))
    assert table.key == {"4f": "foreign_card", "9C": "extra_card"}[code]
    table.rules("earlier_stand")
    assert ended(table) == [("earlier_stand", "5.1.2")]
    assert (table.now.state, table.now.kept) == ("idle", ())
    assert table.told("round.void") == []
    assert balanced(table.now)


@pytest.mark.parametrize("game", STAFFED)
def test_unshuffled_cards_between_rounds_void_nothing_and_are_changed(game: str) -> None:
    table = between(name=game)
    table.does("declare", key="unshuffled", reason="a run of spades")
    table.rules("earlier_stand")
    assert ended(table) == [("earlier_stand", "5.1.2")]
    assert (table.now.state, table.kinds[-2]) == ("shoe_change", "shoe.change_due")


@pytest.mark.parametrize("game", STAFFED)
@pytest.mark.parametrize("key", ["unshuffled", "missing_card_in_shoe"])
def test_in_a_round_earlier_rounds_stand_with_the_void(game: str, key: str) -> None:
    table = between(name=game)
    table.open_round()
    table.does("declare", key=key, reason="counted")
    assert not table.asks("decide", choice="earlier_stand", reason="r").accepted
    table.rules("void")
    assert ended(table)[-1] == ("void", "5.1")
