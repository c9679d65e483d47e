"""The pages on the configuration and the commands: the example loads, nothing is left out."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from shoe_ctl.api.requests import Command
from shoe_ctl.api.unix_socket import LONGEST_PATH, MOST_BYTES, MOST_CONNECTIONS, PATIENCE_S
from shoe_ctl.cli.run import refuse_what_needs_people
from shoe_ctl.cli.table_view import lines
from shoe_ctl.config import schema as module
from shoe_ctl.config.resolve import resolve
from shoe_ctl.config.schema import Config, load
from shoe_ctl.daemon.refusal_budget import RECORDED as RECORDED_REFUSALS
from shoe_ctl.daemon.refusal_budget import STRETCH_US
from shoe_ctl.daemon.requests import gid_of, users_of
from shoe_ctl.table.answers import MOST_REFUSED, MOST_REFUSED_OF_A_USER, REMEMBERED_COMMANDS
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.positions import POSITIONS
from shoe_ctl.table.status import status
from shoe_ctl.table.wagers.declared import RECORDED
from tests.table.harness import Playing

DOCS = Path(__file__).parents[2] / "docs"
CONFIGURATION = (DOCS / "guides/configure.md").read_text("utf-8")
STAFF = (DOCS / "table-staff/commands.md").read_text("utf-8")


def example(tmp_path: Path) -> Config:
    (source,) = re.findall(r"```toml\n(.*?)```", CONFIGURATION, re.DOTALL)
    path = tmp_path / "table.toml"
    path.write_text(source)
    return load(path)


def test_the_example_is_a_configuration_that_would_run(tmp_path: Path) -> None:
    config = example(tmp_path)
    assert config.socket is not None
    assert {c.position for c in users_of(config.socket).values()} == {
        "dealer",
        "gaming_shift_manager",
    }
    assert gid_of(config.socket) == 0
    for table in resolve(config):
        refuse_what_needs_people(table.settings, way_in=True)


SECTIONS = [
    struct
    for struct in vars(module).values()
    if isinstance(struct, type) and issubclass(struct, msgspec.Struct)
    if struct.__name__ not in {"TableSettings", "_Strict"}
]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.__name__)
def test_every_key_is_on_the_page(section: type[msgspec.Struct]) -> None:
    keys = {field.name for field in msgspec.structs.fields(section)} - {"folder"}
    assert keys
    named = set(re.findall(r"`([a-z_]+)`|\[+(?:table\.|socket\.)?([a-z_]+)\]", CONFIGURATION))
    assert keys <= {word for pair in named for word in pair}


def test_the_page_has_the_envelope_and_the_limits() -> None:
    for field in msgspec.structs.fields(Command):
        assert f'"{field.name}"' in CONFIGURATION
    for position in POSITIONS:
        assert f"`{position}`" in CONFIGURATION
    said = (
        f"{MOST_BYTES:,} bytes", f"{MOST_CONNECTIONS} connections", f"{PATIENCE_S:g} seconds",
        f"{LONGEST_PATH} bytes", f"The last {REMEMBERED_COMMANDS} ids",
        f"{RECORDED_REFUSALS} at a table in {STRETCH_US // 60_000_000} minutes",
        f"{MOST_REFUSED_OF_A_USER} or all users more than {MOST_REFUSED}",
    )  # fmt: skip
    for limit in said:
        assert limit in CONFIGURATION


def test_every_command_is_on_the_staffs_page_with_its_position() -> None:
    for command, position in ((c.name, c.position) for c in COMMANDS.values()):
        row_of = rf"^\| `{command}` \| ([^|]*) \|.*shoectl table {command}"
        (row,) = re.findall(row_of, STAFF, re.MULTILINE)
        assert row == position.replace("_", " ")
    assert all(f"`{key}`" in STAFF for key in RECORDED)
    for procedure in PROCEDURES.values():
        assert procedure.declared is None or f"`{procedure.key}`" in STAFF
        for step in procedure.steps:
            assert all(f"`{choice.name}`" in STAFF for choice in step.choices)


def test_the_status_on_the_staffs_page_is_what_is_shown() -> None:
    table = Playing(faces="turned_by_dealer").open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    shown = "\n".join(lines(status(table.now, table.game, table.settings)))
    assert f"$ shoectl table status\n{shown}\n```" in STAFF
