"""The setup of a table: what a page needs once, from the game and the settings."""

from __future__ import annotations

from typing import Any

import pytest

from shoe_ctl.games import catalog
from shoe_ctl.table.setup import describe_setup
from shoe_ctl.table.wagers.limits import TableLimits, WagerLimits
from shoe_ctl.table.wagers.money import Currency
from shoe_testing.tables import TableHarness


def setup(**given: Any) -> dict[str, Any]:
    table = TableHarness(**given)
    return describe_setup(table.game, table.settings)


def test_it_lists_the_wagers_with_their_own_limits_or_the_tables() -> None:
    limits = TableLimits(minimum=50, maximum=900, wagers={"tie": WagerLimits(maximum=200)})
    found = {one["wager"]: one for one in setup(limits=limits)["wagers"]}
    assert found["player"] == {"wager": "player", "least": 50, "most": 900, "main": "player"}
    assert found["tie"] == {"wager": "tie", "least": 50, "most": 200}


def test_it_names_the_currency_as_far_as_it_is_configured() -> None:
    bare = Currency(unit=5, rounding="down")
    named = Currency(unit=5, rounding="down", code="EUR", exponent=2)
    assert setup()["currency"] is None
    assert setup(limits=TableLimits(currency=bare))["currency"] == {"unit": 5, "rounding": "down"}
    assert setup(limits=TableLimits(currency=named))["currency"] == {
        "unit": 5, "rounding": "down", "code": "EUR", "exponent": 2,
    }  # fmt: skip


@pytest.mark.parametrize("name", catalog.shipped())
def test_it_has_a_deck_and_the_seats_of_its_layout(name: str) -> None:
    game = catalog.load(name)
    for layout, found in game.layouts.items():
        told = setup(name=name, layout=layout, method=next(iter(game.methods), None))
        assert told["seats"] == list(found.seats)
        assert [one["wager"] for one in told["wagers"]] == list(found.wagers)
    whole = setup(name=name, method=next(iter(game.methods), None))
    assert len(set(whole["deck"])) == len(whole["deck"]) in (52, 65)
    assert whole["title"] == game.title
