"""The method and the seats in the configuration: as the game has them."""

from __future__ import annotations

import pytest

from shoe_ctl.config.schema import of_plain
from shoe_ctl.errors import ConfigError
from shoe_ctl.games import catalog
from shoe_ctl.table.settings import TableSettings

SHOE = {"profile": "reference", "port": "/dev/null"}
USERS = {"user": [{"user": 0, "position": "surveillance"}]}


def settings(game: str = "tiger", **more: object) -> TableSettings:
    plain = {"table": [{"id": "t1", "game": game, "shoe": SHOE, **more}], "socket": USERS}
    return of_plain(plain, "table.toml").table[0].settings(catalog.load(game))


@pytest.mark.parametrize("area", ["Paiza Club", "Ruby Room"])
def test_method_c_is_set_in_the_high_limit_areas(area: str) -> None:
    assert settings(method="C", area=area).method == "C"


def test_method_c_elsewhere_says_which_key_to_set() -> None:
    with pytest.raises(ConfigError, match=r'^table t1: method = "C" is for Paiza .* set the area'):
        settings(method="C")


def test_methods_a_and_b_are_set_anywhere() -> None:
    for area in ("main", "Ruby Room"):
        assert [settings(method=m, area=area).method for m in "AB"] == ["A", "B"]


def test_a_game_without_the_method_is_not_set_to_it() -> None:
    with pytest.raises(ConfigError, match="immortal_dragon_tiger has A, B, not 'C'"):
        settings("immortal_dragon_tiger", method="C", area="Ruby Room")


def test_which_of_two_positions_is_higher_is_set_or_open() -> None:
    assert settings().highest_position is None
    casino = "assistant_casino_manager"
    assert settings(highest_position=casino).highest_position == casino
    with pytest.raises(ConfigError, match="highest_position"):
        settings(highest_position="pit_manager")


def test_a_table_has_as_many_seats_as_its_layout_or_fewer() -> None:
    assert settings(layout="A").seats is None
    assert settings(layout="A", seats=5).seats == 5
    assert settings(layout="E", seats=8).seats == 8


@pytest.mark.parametrize(
    ("layout", "seats", "told"),
    [("A", 9, "layout A has 1 to 8, not 9"), ("E", 7, "layout E has 8 to 16, not 7")],
)
def test_a_number_of_seats_that_the_layout_does_not_come_with_is_refused(
    layout: str, seats: int, told: str
) -> None:
    with pytest.raises(ConfigError, match=f"^table t1: seats: {told}$"):
        settings(layout=layout, seats=seats)
