"""The wheel: one for the three packages, with every data file, and nothing else.

In: the source tree, built with hatchling as pip would. Out: what is missing or too much.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("firmware_proto", "shoe_ctl", "simulators")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_module_and_data_file_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    sources = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix in {".py", ".toml", ".md", ".c", ".h"}
    }
    assert sources - held == set()
    assert held - sources == set()


def test_the_wheel_is_for_any_platform_and_carries_the_licence(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        licences = [name for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
        assert len(licences) == 1
        assert b"Apache License" in archive.read(licences[0])


def test_the_wheel_brings_both_commands(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        text = archive.read(entry).decode()
    assert "shoectl = shoe_ctl.cli.main:main" in text
    assert "shoe-sim = simulators.cli:main" in text
