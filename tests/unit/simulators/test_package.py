"""The example at the head of the package, run as it stands."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

import simulators
from simulators.rig import Rig


async def test_the_example_of_the_package_serves_a_shoe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = [line for line in (simulators.__doc__ or "").splitlines() if line.startswith("    ")]
    names: dict[str, object] = {}
    exec(dedent("\n".join(code)), names)
    rig = names["rig"]
    assert isinstance(rig, Rig)
    try:
        assert (tmp_path / "shoe").is_symlink()
        assert rig.device.powered
    finally:
        rig.stop()
