"""The configuration that a floor writes is TOML, whatever its file is called."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from simulators.errors import WrongUsage
from simulators.floor.configuration import check_writable, write
from simulators.floor.paced_table import PacedTable
from simulators.floor.poll import Poll


def tables(count: int) -> list[PacedTable]:
    settings = {"deck": "french52", "decks": 8, "seed": 1, "seed_step": 1, "pace_s": 1.0}
    return [
        PacedTable(Poll(), name=f"t{n}", device_id=f"F{n}", **settings)  # type: ignore[arg-type]
        for n in range(count)
    ]


@pytest.mark.parametrize("name", ["floor.toml", "a\nb = 1.toml"])
def test_the_file_is_toml_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    check_writable(path)
    write(path, [], game="tiger", decks=8, run="abc")
    assert set(tomllib.loads(path.read_text())) == {"journal", "socket"}
    check_writable(path)


def test_the_file_has_every_table_in_order(tmp_path: Path) -> None:
    path = tmp_path / "floor.toml"
    write(path, tables(3), game="tiger", decks=8, run="abc")
    assert [table["id"] for table in tomllib.loads(path.read_text())["table"]] == ["t0", "t1", "t2"]


def test_a_name_that_toml_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="is not UTF-8"):
        check_writable(tmp_path / "\udcff.toml")
