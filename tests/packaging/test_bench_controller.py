"""``bench/controller.py``: the shoe that it deals, and the commit that it compares with."""

from __future__ import annotations

import pytest

from bench import controller
from bench._table import Table, packages_at


def test_a_commit_that_is_not_there_is_named() -> None:
    with pytest.raises(SystemExit, match="no-such-commit"), packages_at("no-such-commit"):
        pass


@pytest.mark.parametrize("way", controller.WAYS)
def test_the_shoe_that_is_measured_is_dealt_without_a_halt(way: str) -> None:
    inputs = controller.shoe_of(implied=way == "implied")
    table = Table(implied=way == "implied")
    for happened in inputs:
        table.controller.handle(happened)
    stands = table.controller.state
    assert (stands.state, stands.halt, stands.rounds) == ("idle", None, controller.ROUNDS)
    assert 4 * controller.ROUNDS <= sum(map(controller.is_card, inputs)) <= 6 * controller.ROUNDS


def test_a_ratio_is_held_from_what_is_promised_on_and_always_where_nothing_is() -> None:
    measured = controller.compared([(9.0, 3.0), (8.0, 2.0), (6.0, 3.0)])
    assert measured == {"before": 8.0, "now": 3.0, "ratio": 3.0, "ratios": (2.0, 4.0)}
    assert controller.is_held(measured)
    assert controller.is_held({**measured, "promised": 3.0})
    assert not controller.is_held({**measured, "promised": 3.1})
