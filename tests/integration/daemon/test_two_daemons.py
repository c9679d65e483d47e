"""Two daemons started at once on one journal, or on one device: one serves, one says why not.

In: two processes, one shoe. Out: one clear line and exit code 3; the first is not disturbed.
"""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from shoe_testing.config import (
    write_config,
)
from shoe_testing.daemon import nothing_is_wrong_with
from shoe_testing.programs import PATIENCE_S, SHOECTL, rest_of, shoe_program
from shoe_testing.rounds import lines_of, of_type, once_each

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]


def started(stack: ExitStack, config: Path) -> subprocess.Popen[bytes]:
    # Of a new interpreter: the refusal names the process as it was started.
    process = stack.enter_context(
        subprocess.Popen((SHOECTL, "run", "--config", str(config)), stderr=subprocess.PIPE)
    )
    stack.callback(process.kill)
    return process


def loser_of(both: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """The one that ends by itself; the other is still there."""
    until = time.monotonic() + PATIENCE_S
    while not (ended := [process for process in both if process.poll() is not None]):
        assert time.monotonic() < until
        time.sleep(0.01)
    (loser,) = ended
    return loser


def outcomes(folder: Path) -> list[object]:
    path = folder / "public.jsonl"
    return list(of_type(once_each(lines_of(path)), "round.outcome")) if path.exists() else []


@pytest.mark.parametrize("shared", ["journal", "device"])
def test_of_two_daemons_started_at_once_one_serves_and_one_says_in_a_line_why_it_does_not(
    tmp_path: Path, shared: str
) -> None:
    folders = [tmp_path / "a", tmp_path / ("b" if shared == "device" else "a")]
    with shoe_program("reference") as port, ExitStack() as stack:
        for folder in set(folders):
            folder.mkdir()
            write_config(folder, port)
        both = [started(stack, folder / "table.toml") for folder in folders]
        loser = loser_of(both)
        code, said = rest_of(loser)
        (first,) = (process for process in both if process is not loser)
        at = folders[both.index(first)]
        assert code == 3
        last = said.decode().splitlines()[-1]
        assert b"Traceback" not in said
        if shared != "device":
            assert last == (
                f"shoectl: journal {at / 'journal.db'} is in use by process {first.pid} "
                "(stop that one, or give each daemon a journal of its own)"
            )
        else:
            by = f"shoectl run (process {first.pid})"
            assert last == f"shoectl: port taken: {port} by {by}"
        before, until = len(outcomes(at)), time.monotonic() + PATIENCE_S
        while len(outcomes(at)) < before + 2:  # it deals on
            assert first.poll() is None and time.monotonic() < until
            time.sleep(0.02)
        first.send_signal(signal.SIGTERM)
        assert rest_of(first)[0] == 0
    assert nothing_is_wrong_with(at / "journal.db") >= 2
    assert of_type(once_each(lines_of(at / "public.jsonl")), "table.halted") == []
