"""Folders of the checkout, and the environment in which a child finds the tests' packages."""

from __future__ import annotations

import os
from pathlib import Path

SUPPORT = Path(__file__).parents[1]
ROOT = Path(__file__).parents[3]

DATA = Path(__file__).parent / "data"
LUCKY_EIGHT = DATA / "lucky_eight.toml"
"""A valid game file of a game that is not shipped."""


def child_environment() -> dict[str, str]:
    """This process's environment, with ``shoe_testing`` and the checkout first on the path."""
    given = os.environ.get("PYTHONPATH", "")
    path = [str(SUPPORT), str(ROOT), *filter(None, given.split(os.pathsep))]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path)}
