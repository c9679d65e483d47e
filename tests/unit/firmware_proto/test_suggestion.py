"""The nearest known name: suggested for a typing error, and for nothing else."""

from __future__ import annotations

import pytest

from firmware_proto.suggestion import nearest_name, nearest_names

KNOWN = ("place_your_bets", "no_more_bets", "settle", "expose", "pause")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("setle", "settle"),
        ("no_more_bet", "no_more_bets"),
        ("place_you_bets", "place_your_bets"),
        ("pasue", "pause"),
    ],
)
def test_a_typing_error_suggests_the_name_that_was_meant(typed: str, meant: str) -> None:
    assert nearest_name(typed, KNOWN) == meant


@pytest.mark.parametrize("typed", ["", "x", "bets", "reset_shoe"])
def test_a_name_that_is_like_none_suggests_nothing(typed: str) -> None:
    assert nearest_name(typed, KNOWN) is None


def test_of_several_names_the_nearest_comes_first() -> None:
    assert nearest_names("ttyUSB1", ["ttyACM0", "ttyUSB0", "ttyUSB10"], 2) == [
        "ttyUSB10",
        "ttyUSB0",
    ]
