"""``shoe-sim ctl``: what it prints, and one line with its exit code where it cannot."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from shoe_testing.command_server import run_command
from shoe_testing.served_shoe import served_shoe


@pytest.mark.usefixtures("commands")
async def test_the_command_prints_what_happened_or_one_line(tmp_path: Path) -> None:
    async def ctl(*words: str) -> tuple[int, str, str]:
        done = await asyncio.to_thread(run_command, "shoe-sim", "ctl", *words, cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    at = ("--at", "shoe.ctl")
    async with served_shoe(tmp_path):
        code, out, err = await ctl(*at, "button", "number=3")
        assert (code, err) == (0, "")
        done, reported, shoe = out.splitlines()
        assert done.startswith("done: button number=3 at 2")
        assert reported == "reported    button button=3"
        assert shoe.startswith("shoe        plugged in, with power, no host, 0 cards drawn")
        code, out, err = await ctl("button", "--number", "4", "--json", *at)
        assert (code, err) == (0, "")
        assert json.loads(out)["reported"] == [{"type": "button", "button": 4}]
        code, out, err = await ctl(*at, "fault", "drop=0.1", "flip=0.02")
        assert "faults of the line drop=0.1 flip=0.02 (seed 7)" in out
        for words, expected, why in (
            (("warning",), 1, "warning: a shoe of profile reference cannot report a warning"),
            (
                ("button", "number=x"),
                2,
                "button.number: expected a whole number from 1 to 255, not",
            ),
            (("button", "number"), 2, "button: expected NAME=VALUE, not 'number'"),
            (("button", "number=1", "number=2"), 2, "button.number: it is given twice"),
            (("button", "nr=1"), 2, "button.nr: unknown key, expected one of number"),
            (("buton",), 2, "No such change 'buton'. Did you mean 'button'?"),
            (("jam", "now"), 2, "Got unexpected extra argument (now)"),
            (("fault",), 2, "fault: expected one or more of split"),
        ):
            code, out, err = await ctl(*at, *words)
            assert (code, out, err.count("\n")) == (expected, "", 1)
            assert err.startswith(f"shoe-sim: {why}")
    code, out, err = await ctl(*at, "status")
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert "shoe.ctl: no shoe answers there" in err
    code, out, err = await ctl("status")
    assert (code, out) == (2, "") and "--at is missing" in err
