"""``shoectl run`` sends no command to a shoe that it would only keep locked.

In: configurations. Out: refusals. Must not know: the daemon.
"""

from __future__ import annotations

import pytest

from shoe_ctl.cli.run import refuse_commands_to_a_shoe_without_arming
from shoe_ctl.config import TableConfig, parse
from shoe_ctl.errors import ConfigError


def _table(shoe: str) -> TableConfig:
    text = f'[[table]]\nid = "bac-07"\ngame = "tiger"\n[table.shoe]\nport = "/dev/none"\n{shoe}\n'
    return parse(text.encode(), "table.toml").table[0]


@pytest.mark.parametrize("how", ["commands = true", "options = {commands = true}"])
def test_commands_to_a_shoe_that_cannot_be_armed_are_refused_by_key(how: str) -> None:
    with pytest.raises(ConfigError, match=r"^table bac-07: shoe\.commands: .*: set false$"):
        refuse_commands_to_a_shoe_without_arming(_table(f'profile = "angel_eye"\n{how}'))


@pytest.mark.parametrize(
    "shoe",
    [
        'profile = "angel_eye"',
        'profile = "angel_eye"\ncommands = false',
        'profile = "reference"\ncommands = true',
    ],
)
def test_what_can_be_armed_or_is_only_read_is_taken(shoe: str) -> None:
    refuse_commands_to_a_shoe_without_arming(_table(shoe))
