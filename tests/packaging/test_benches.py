"""The benches start where only the checkout is installed, as ``make bench`` starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT

COMPARED_WITH = ("bellows", "pymodbus")
"""Libraries that only ``make bench`` installs."""

IMPORTS_ALL = f"""
import importlib, pathlib
for path in sorted(pathlib.Path("bench").glob("[!_]*.py")):
    try:
        importlib.import_module(f"bench.{{path.stem}}")
    except ModuleNotFoundError as error:
        if error.name not in {COMPARED_WITH}:
            raise
    print(path.stem)
"""


@pytest.mark.slow
def test_each_bench_finds_what_it_imports() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [sys.executable, "-c", IMPORTS_ALL],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stderr == ""
    assert found.stdout.split() == [p.stem for p in sorted(Path(ROOT, "bench").glob("[!_]*.py"))]
