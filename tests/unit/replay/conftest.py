"""Journals that are dealt once for all tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from shoe_testing.journals import WIRE_ROUNDS, WIRE_TABLES, WiredTable, dealt_journal


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, WiredTable]]:
    """The journal of a table, dealt once for all tests."""

    @cache
    def made(name: str) -> tuple[Path, WiredTable]:
        path = tmp_path_factory.mktemp(name) / "journal.db"
        profile, given = WIRE_TABLES[name]
        return path, dealt_journal(path, profile, WIRE_ROUNDS, **given())

    return made


@pytest.fixture
def copied(kept: Callable[[str], tuple[Path, WiredTable]], tmp_path: Path) -> Callable[[str], Path]:
    """The same, to be changed."""

    def copy(name: str) -> Path:
        return Path(shutil.copy(kept(name)[0], tmp_path))

    return copy
