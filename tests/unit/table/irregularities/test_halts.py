"""Halts as data: each names an irregularity of the table, and something at the table raises it."""

from __future__ import annotations

import pytest

from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.irregularities.halts import HALTS, halt
from shoe_ctl.table.transitions import lines

BY_THE_INPUT = {
    "restarted", "storage_failed", "too_many_of_a_face", "card_of_another_deck",
    "differential_exceeded",
}  # fmt: skip
"""What an action chooses by what the input or the table says; a line names each other one."""


def test_every_halt_is_raised_by_a_line_or_by_an_action_that_chooses_it() -> None:
    actions = {action for each in lines().values() for line in each for action in line.do}
    in_lines = {name for name in HALTS if halt(name) in actions}
    assert in_lines == HALTS.keys() - BY_THE_INPUT


@pytest.mark.parametrize("name", HALTS)
def test_every_halt_raises_an_irregularity_that_has_a_procedure(name: str) -> None:
    cause = HALTS[name]
    procedure = PROCEDURES[cause.key]
    assert not procedure.pause and cause.seen.code.startswith("seen_")
    assert cause.step in (None, procedure.steps[0].name, *procedure.begins)


def test_a_halt_that_is_not_known_fails_where_the_line_is_written() -> None:
    with pytest.raises(KeyError):
        halt("bad_luck")
