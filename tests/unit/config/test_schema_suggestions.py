"""A key that no file has is refused with the one that it is most like at its place."""

from __future__ import annotations

import pytest

from shoe_ctl.config.schema import parse
from shoe_ctl.errors import ConfigError

TABLE = """
[[table]]
id = "t1"
game = "tiger"
[table.shoe]
profile = "reference"
port = "/dev/none"
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TABLE.replace("game", "gaem"), "table[0]: unknown key `gaem`: is it `game`? (table t1)"),
        (
            TABLE.replace("port", "prot"),
            "table[0].shoe: unknown key `prot`: is it `port`? (table t1)",
        ),
        (TABLE + "[socket]\npth = 's'\n", "socket: unknown key `pth`: is it `path`? (and 1 more)"),
        ("[jurnal]\n" + TABLE, "unknown key `jurnal`: is it `journal`?"),
        (TABLE + "[journal]\ncolour = 1\n", "journal: unknown key `colour`"),
        (TABLE + "position = 1\n", "table[0].shoe: unknown key `position` (table t1)"),
    ],
)
def test_it_is_the_nearest_of_those_that_the_place_has(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text.encode(), "t.toml")
    assert str(refused.value) == f"t.toml: {said}"
