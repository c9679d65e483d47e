"""The limits in the configuration file: what is read, what is refused and how."""

from __future__ import annotations

import re

import msgspec
import pytest

from shoe_ctl.config import schema
from shoe_ctl.errors import ConfigError
from shoe_ctl.games import catalog
from shoe_ctl.history import snapshots
from shoe_ctl.table.settings import TableSettings
from shoe_testing.config import make_config, table_section


def configured(limits: str, game: str = "tiger") -> TableSettings:
    table = make_config(table_section(port="/dev/shoe", game=game))
    written = schema.parse(f"{table}[table.limits]\n{limits}\n".encode(), "table.toml")
    return written.table[0].settings(catalog.load(game))


def test_a_table_has_the_limits_of_its_section() -> None:
    limits = configured(
        "minimum = 100\nmaximum = 100000\ndifferential = 500000\n"
        'currency = {unit = 5, rounding = "half_even"}\nwagers.tie = {maximum = 500}'
    ).limits
    assert (limits.minimum, limits.maximum, limits.differential) == (100, 100_000, 500_000)
    assert limits.of("tie") == (100, 500)
    assert limits.currency is not None and limits.currency.unit == 5


def test_a_table_needs_no_limits() -> None:
    assert configured("").limits.minimum == 1


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ("minimum = 0", "table[0].limits.minimum: expected a whole number of at least 1, found 0"),
        ("minimun = 5", "table[0].limits: unknown key `minimun`"),
        ("minimum = 9\nmaximum = 5", "table[0].limits: the minimum (9) is above the maximum (5)"),
        (
            "maximum = 1.5",
            "table[0].limits.maximum: expected a whole number of at least 1, found 1.5",
        ),
        ("currency = {unit = 5}", "table[0].limits.currency: missing key `rounding`"),
        ("payout_cap = 5", "table bac-07: limits.payout_cap: tiger knows no highest payout"),
        ("wagers_per_area = 3", "table bac-07: limits.wagers_per_area: must be lower than"),
        ("wagers.fortune_six = {}", "table bac-07: limits.wagers.fortune_six: not offered"),
    ],
)
def test_a_wrong_limit_is_named_with_what_was_expected(limits: str, why: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(why)):
        configured(limits)


def test_limits_are_among_what_a_replay_needs_and_reads() -> None:
    settings = configured("minimum = 100\nwagers.tie = {maximum = 500}")
    kept = snapshots.start_record(catalog.load("tiger"), settings, 0)
    assert snapshots.controller_for(kept).settings == settings
    assert msgspec.convert(msgspec.to_builtins(settings), TableSettings) == settings
