"""The demo as a person meets it: what its summary says can be typed, and does what it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SHOECTL = str(Path(sys.executable).with_name("shoectl"))


def typed(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a person gets for a line; journals of demos stay in the test's folder."""
    return subprocess.run(
        shlex.split(line),
        cwd=folder,
        env=os.environ | {"PATH": "/usr/bin:/bin", "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def summary(shown: str) -> dict[str, str]:
    return dict(re.findall(r"^ *([a-z ]+?)  (.+)$", shown, re.MULTILINE))


def rounds(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if re.match(r" *\d+  player", line)]


def test_a_whole_shoe_is_dealt_again_by_its_seed_alone(tmp_path: Path) -> None:
    words = f"{SHOECTL} demo --profile bee_tek --pace-ms 0 --seed 7"
    shown = typed(words, tmp_path).stdout
    again = summary(shown)["deal it again"].split()[1:]
    assert again == ["demo", "--seed", "7", "--profile", "bee_tek"]
    ties = [line for line in rounds(shown) if line.split()[-1] == "tie"]
    assert ties and not [line for line in rounds(shown) if line.endswith(" ")]


def test_its_summary_names_commands_that_verify_replay_and_deal_it_again(tmp_path: Path) -> None:
    game = "--game fa_fa_fabulous_4"
    first = typed(f"{SHOECTL} demo --rounds 3 --pace-ms 0 --keep {game}", tmp_path).stdout
    says = summary(first)
    assert "3  (" in says["rounds"]
    assert Path(says["journal"]).is_file()
    assert "whole" in typed(says["verify it"], tmp_path).stdout
    typed(says["replay it"], tmp_path)
    again = typed(says["deal it again"] + " --pace-ms 0", tmp_path).stdout
    kept = summary(typed(summary(again)["keep journal"], tmp_path).stdout)
    assert "whole" in typed(kept["verify it"], tmp_path).stdout
    assert "journal" not in summary(again) and "verify it" not in summary(again)
    assert len(rounds(first)) == 3
    assert rounds(again) == rounds(first)
