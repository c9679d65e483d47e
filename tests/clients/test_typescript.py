"""The kit in TypeScript: its types hold, its lock is clean, it passes the vectors."""

from __future__ import annotations

import json
import re

import pytest

from shoe_testing.consumer_vectors import VECTORS
from shoe_testing.typescript import LOCK, built_package, program, run_in_package


def test_the_lock_names_versions_and_hashes_and_no_address() -> None:
    packages = json.loads(LOCK.read_bytes())["packages"]
    assert [name for name, each in packages.items() if name and "integrity" not in each] == []
    assert [name for name, each in packages.items() if "resolved" in each] == []
    assert "://" not in LOCK.read_text("utf-8")


@pytest.mark.slow
def test_its_types_hold_and_its_tests_pass() -> None:
    shown = run_in_package(program("node"), "--test", built_package() / "test")
    passed = re.search(r"(?m)^# pass (\d+)$", shown)
    assert passed is not None and int(passed[1]) > len(VECTORS), shown
    assert "# fail 0" in shown
