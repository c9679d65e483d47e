"""The kit's packages: what is in them, and that they need nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT

PYTHON, TYPESCRIPT = ROOT / "clients/python", ROOT / "clients/typescript"


@pytest.mark.slow
def test_the_python_package_is_built_and_needs_nothing(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=PYTHON, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("shoe_events-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        needs = [
            line
            for line in archive.read(metadata).decode().splitlines()
            if line.startswith("Requires-Dist:") and "extra ==" not in line
        ]
    sources = {f"shoe_events/{path.name}" for path in (PYTHON / "shoe_events").glob("*.py")}
    assert held == sources | {"shoe_events/py.typed"}
    assert needs == []


def test_the_core_imports_no_transport_and_nothing_of_the_product() -> None:
    program = (
        "import sys, shoe_events, shoe_events.follow, shoe_events.unix_socket; print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PYTHON, check=True, capture_output=True, text=True
    )
    assert set(done.stdout.split()).isdisjoint({"aiomqtt", "paho", "nats", "msgspec", "shoe_ctl"})


def test_both_packages_have_the_version_of_the_product() -> None:
    versions = [
        tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]["version"]
        for folder in (ROOT, PYTHON)
    ]
    package = json.loads((TYPESCRIPT / "package.json").read_bytes())
    for_npm = versions[0].replace(".dev", "-dev.")  # npm's form of an unreleased version
    assert (versions[1], package["version"]) == (versions[0], for_npm)
    assert set(package["peerDependenciesMeta"]) == set(package["peerDependencies"])
    assert "dependencies" not in package
