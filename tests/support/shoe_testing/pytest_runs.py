"""The leak checks of conftest.py can fail: each kind of leak fails the very test that leaked.

In: a file of tests that leak, run in one process and in a worker. Out: what pytest says of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from shoe_testing.paths import ROOT


def pytest_says(room: Path, tests: str, *options: str, seed: str) -> str:
    """What pytest says of these tests under our conftest."""
    (room / "conftest.py").write_text(
        (ROOT / "tests" / "conftest.py").read_text().replace("GRACE_S = 5.0", "GRACE_S = .2")
    )
    (room / "test_leaky.py").write_text(tests)
    (room / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
    )
    words = ["-q", "-rA", "-p", "no:cacheprovider", *options, str(room)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=room,
        env={**os.environ, "SHOE_CTL_SEED": seed, "COLUMNS": "400"},
    )
    return done.stdout
