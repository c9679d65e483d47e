"""``shoectl demo`` with the shoes of vendors, and options that only some of them take."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SHOECTL = (sys.executable, "-c", "from shoe_ctl.cli.main import main; main()")
CHILD = (sys.executable, "-m", "simulators")
PATIENCE_S = 60


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["angel_eye", "bee_tek"])
def test_a_demo_of_a_vendors_shoe_deals_rounds(profile: str) -> None:
    words = ("demo", "--profile", profile, "--rounds", "3", "--seed", "5", "--pace-ms", "0")
    done = subprocess.run(
        [*SHOECTL, *words, "--json"], capture_output=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert kinds.count("round.outcome") == 3
    assert kinds.count("shoe.not_aligned") == 1
    assert "table.halted" not in kinds


@pytest.mark.parametrize(("words", "why"), [
    (("--profile", "angel_eye", "--socket", "s", "--table", "t"), "speaks for itself"),
    (("--profile", "bee_tek", "--socket", "s"), "--socket and --table need each other"),
    (("--profile", "bee_tek", "--events", "e"), "--events needs --scenario"),
])  # fmt: skip
def test_a_dealer_who_speaks_is_for_shoes_that_do_not(words: tuple[str, ...], why: str) -> None:
    done = subprocess.run(
        [*CHILD, "--port", "pty", *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
