"""The pages on the configuration and the commands: the example loads, nothing is left out."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from shoe_ctl.api.requests import Command
from shoe_ctl.api.socket_path import LONGEST_PATH
from shoe_ctl.api.unix_socket import MOST_BYTES, MOST_CONNECTIONS, PATIENCE_S
from shoe_ctl.cli.table_view import lines
from shoe_ctl.config import schema as module
from shoe_ctl.config import sinks
from shoe_ctl.config.resolve import refuse_what_needs_people, resolve
from shoe_ctl.config.schema import Config, load
from shoe_ctl.daemon.callers import gid_of, users_of
from shoe_ctl.daemon.refusal_budget import RECORDED as RECORDED_REFUSALS
from shoe_ctl.daemon.refusal_budget import STRETCH_US
from shoe_ctl.table.answers import MOST_REFUSED, MOST_REFUSED_OF_A_USER, REMEMBERED_COMMANDS
from shoe_ctl.table.positions import POSITIONS
from shoe_ctl.table.status import status
from shoe_ctl.texts.screen import Words
from shoe_testing.paths import ROOT
from shoe_testing.table_situations import exceeded_table
from shoe_testing.tables import TableHarness

DOCS = ROOT / "docs"
GUIDE = (DOCS / "guides/configure.md").read_text("utf-8")
KEYS = (DOCS / "reference/configuration.md").read_text("utf-8")
SOCKET = (DOCS / "reference/socket.md").read_text("utf-8")
STAFF = {n: (DOCS / "staff" / n / "commands.md").read_text("utf-8") for n in ("en", "zh")}


def example(tmp_path: Path) -> Config:
    (source,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
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
    for struct in (vars(module) | vars(sinks)).values()
    if isinstance(struct, type) and issubclass(struct, msgspec.Struct)
    if struct.__name__ not in {"Layout", "TableSettings", "Strict"}
]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.__name__)
def test_every_key_is_on_the_page(section: type[msgspec.Struct]) -> None:
    keys = {field.encode_name for field in msgspec.structs.fields(section)} - {"folder", "file"}
    assert keys
    named = set(re.findall(r"`([a-z_]+)`|\[+(?:table\.|socket\.|sink\.)?([a-z_]+)\]", KEYS))
    assert keys <= {word for pair in named for word in pair}


def test_the_page_has_the_envelope_and_the_limits() -> None:
    for field in msgspec.structs.fields(Command):
        assert f'"{field.name}"' in SOCKET
    for position in POSITIONS:
        assert f"`{position}`" in KEYS
    said = (
        f"{MOST_BYTES:,} bytes", f"{MOST_CONNECTIONS} connections", f"{PATIENCE_S:g} seconds",
        f"The last {REMEMBERED_COMMANDS} ids",
        f"{RECORDED_REFUSALS} at a table in {STRETCH_US // 60_000_000} minutes",
        f"{MOST_REFUSED_OF_A_USER} or all users more than {MOST_REFUSED}",
    )  # fmt: skip
    for limit in said:
        assert limit in SOCKET
    assert f"{LONGEST_PATH} bytes" in KEYS


def test_the_page_of_the_socket_has_every_key_of_a_status() -> None:
    table = TableHarness(method="C", area="Paiza Club", applied_within_s=60).open_shoe()
    table.does("place_your_bets")
    keys = {*status(table.now, table.game, table.settings), "acts_as", "doubt", "fault"}
    keys |= {"source", "last_event", "software"}
    (rows,) = re.findall(r"^\| key of a table .*?\n\n", SOCKET, re.DOTALL | re.MULTILINE)
    first_cells = [line.split("|")[1] for line in rows.splitlines() if line]
    named = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    assert {"held_by", "shoe_with", "declared"} <= keys and keys == named


@pytest.mark.parametrize("name", STAFF)
def test_the_status_on_the_staffs_page_is_what_is_shown(name: str) -> None:
    table = TableHarness(faces="turned_by_dealer").open_shoe()
    table.open_round()
    table.deal("2D 3C TS TH")
    told = status(table.now, table.game, table.settings)
    shown = "\n".join(lines(told, words=Words(name)))
    assert f"$ shoectl table status\n{shown}\n```" in STAFF[name]


@pytest.mark.parametrize("name", STAFF)
def test_the_halt_on_the_staffs_page_is_what_is_shown(name: str) -> None:
    table = exceeded_table()
    told = status(table.now, table.game, table.settings)
    shown = [*lines(told, words=Words(name))]
    (page,) = (b for b in re.findall(r"```\n(.*?)\n```", STAFF[name], re.DOTALL) if "1700" in b)
    lines_of_page = page.splitlines()
    assert [line for line in lines_of_page if line not in shown] == [lines_of_page[1]]
    assert re.sub("2026[^ ]+Z", str(told["halt"]["since"]), lines_of_page[1]) in shown
