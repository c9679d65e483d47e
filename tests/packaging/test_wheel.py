"""The wheel: one for the four packages, with every data file, and nothing else.

In: the source tree, built with hatchling as pip would. Out: what is missing or too much.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT

PACKAGES = ("firmware_proto", "shoe_bench", "shoe_ctl", "simulators")

pytestmark = pytest.mark.slow


def build(folder: Path, tree: Path = ROOT, kinds: tuple[str, ...] = ("wheel", "sdist")) -> Path:
    """Build as `make wheel` does, into a folder."""
    asked = [word for kind in kinds for word in ("-t", kind)]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", *asked, "-d", str(folder)],
        cwd=tree,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1750000000"},
        check=True,
        capture_output=True,
        timeout=120,
    )
    return folder


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (built,) = dist.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked."""
    (archive,) = dist.glob("*.tar.gz")
    folder = tmp_path_factory.mktemp("source")
    with tarfile.open(archive) as held:
        held.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    return tree


def test_the_wheel_holds_every_module_and_data_file_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    sources = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file()
        and (
            path.suffix in {".py", ".toml", ".md", ".json", ".c", ".h"}
            or path.name == "py.typed"
            or path.parent.name == "recordings"
        )
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
    assert "shoectl = shoe_ctl.cli.entry_point:main" in text
    assert "shoe-sim = simulators.entry_point:main" in text


def test_the_wheel_brings_the_pytest_plugin_and_asks_for_pytest_under_an_extra_alone(
    wheel: Path,
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entries, metadata = (
            next(archive.read(name).decode() for name in archive.namelist() if name.endswith(end))
            for end in ("entry_points.txt", ".dist-info/METADATA")
        )
    assert "[pytest11]\nshoe_bench = shoe_bench.plugin\n" in entries
    asked = [line for line in metadata.splitlines() if "pytest>=" in line]
    assert asked
    assert all(re.search(r"; extra == '(bench|test)'$", line) for line in asked)


def test_type_checkers_find_that_each_package_is_typed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert {f"{package}/py.typed" for package in PACKAGES} <= set(archive.namelist())


def test_the_same_files_give_the_same_bytes(dist: Path, unpacked: Path, tmp_path: Path) -> None:
    for path in unpacked.rglob("*"):
        os.utime(path)
    again = build(tmp_path / "checkout")
    elsewhere = build(tmp_path / "source", unpacked)
    names = sorted(path.name for path in dist.iterdir())
    assert len(names) == 2
    for name in names:
        assert (again / name).read_bytes() == (dist / name).read_bytes(), name
        assert (elsewhere / name).read_bytes() == (dist / name).read_bytes(), name


def test_the_source_archive_holds_what_make_needs_and_what_is_installed_by_hand(
    unpacked: Path,
) -> None:
    for name in (
        "Makefile", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "SECURITY.md", "udev", "systemd",
        "requirements/run.txt", "requirements/release.txt", "docs/guides/install.md",
    ):  # fmt: skip
        assert (unpacked / name).exists(), name


def test_an_unreleased_wheel_and_its_source_archive_name_their_commit(
    wheel: Path, unpacked: Path
) -> None:
    if ".dev" not in wheel.name or not (ROOT / ".git").exists():
        return  # a release is its number alone
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith("/extra_metadata/commit")]
        named = archive.read(name).decode()
    assert head.startswith(named.split()[0]) and len(named.split()[0]) == 12
    assert (unpacked / "commit").read_text("utf-8") == named
