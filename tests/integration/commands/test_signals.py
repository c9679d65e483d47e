"""Ctrl-C, SIGTERM, and readers that go away: quiet ends, right exit codes, no child left."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_testing import programs
from shoe_testing.config import write_config
from shoe_testing.daemon import nothing_is_wrong_with
from shoe_testing.examples import sampled
from shoe_testing.programs import (
    AT_A_TERMINAL,
    PATIENCE_S,
    SHOECTL,
    rest_of,
    running_daemon,
    started_program,
)

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _new_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a signal does depends on the interpreter too: here each program has its own."""
    monkeypatch.setattr(programs, "WarmProgram", subprocess.Popen)


INTERRUPTED = 130

SHOE_SIM = str(Path(SHOECTL).with_name("shoe-sim"))

INTERRUPTED_AT_AN_IMPORT = """
import runpy, signal, sys

interrupted_at, where = sys.argv[1:3]
del sys.argv[:3]


class Swallowed:
    def __del__(self):  # what is raised here goes no further
        signal.raise_signal(signal.SIGINT)


class Wrapped:
    def __set_name__(self, owner, name):  # Python 3.11 makes a RuntimeError of it
        signal.raise_signal(signal.SIGINT)


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == interrupted_at:
            if where == "in a callback":
                Swallowed()
            else:
                type("Imported", (), {"field": Wrapped()})


sys.meta_path.insert(0, Finder())
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a command that is interrupted when it looks for a module."""


def children_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that it has started and not seen end."""
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def has_ended(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("words", "module", "where"),
    [
        ((SHOECTL, "games"), "click", "in a callback"),
        ((SHOECTL, "games"), "shoe_ctl.cli.games", "in a callback"),
        ((SHOECTL, "config", "check", "/dev/null"), "shoe_ctl.config.schema", "in a class"),
        ((SHOE_SIM, "--help"), "click", "in a callback"),
        ((SHOE_SIM, "--help"), "simulators.runs.command", "in a class"),
    ],
    ids=["shoectl", "shoectl games", "in a command", "shoe-sim", "shoe-sim, last"],
)
def test_ctrl_c_while_a_command_is_imported_ends_it_quietly(
    words: tuple[str, ...], module: str, where: str
) -> None:
    done = subprocess.run(
        (sys.executable, "-c", INTERRUPTED_AT_AN_IMPORT, module, where, *words),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, b"", b"")


HUNG_UP_AT_AN_IMPORT = INTERRUPTED_AT_AN_IMPORT.replace("SIGINT", "SIGHUP")


@pytest.mark.parametrize("module", ["click", "shoe_ctl.cli.run", "shoe_ctl.daemon.daemon"])
def test_logrotates_signal_does_not_end_a_daemon_that_is_only_starting(
    module: str, tmp_path: Path
) -> None:
    """It goes on to the first thing that is wrong: its port."""
    config = write_config(tmp_path, str(tmp_path / "no-shoe"), way_in=False)
    done = subprocess.run(
        (sys.executable, "-c", HUNG_UP_AT_AN_IMPORT, module, "in a callback", SHOECTL, "run",
         "--config", str(config)),
        capture_output=True, timeout=PATIENCE_S, check=False, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert b"no-shoe" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "number", "code"),
    sampled(
        (
            pytest.param(words, number, code, id=f"{shown}-{number.name}")
            for shown, words in (("json", ("--json",)), ("text", ()))
            for number, code in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 0))
        ),
        one_in=3,
        cpu_s=0.8,
    ),
)
def test_a_demo_that_is_stopped_leaves_no_shoe_behind(
    words: tuple[str, ...], number: signal.Signals, code: int
) -> None:
    with started_program("demo", *words) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        children = children_of(process)
        assert len(children) == 1
        process.send_signal(number)
        process.stdout.read()
        ended, said = rest_of(process)
    assert ended == code
    assert len(said.splitlines()) <= 1  # the line after ^C, or the summary of a demo in JSON
    assert b"Traceback" not in said
    assert all(has_ended(child) for child in children)


ROUNDS = ("--seed", "7", "--json")
SCENARIO = ("--scenario", "link_lost_resumes", "--json", "--pace-ms", "300")
INTERRUPTIONS = {
    "rounds": ROUNDS,
    "scenario": SCENARIO,
    "rounds kept": (*ROUNDS, "--keep"),
}


@pytest.mark.parametrize("words", INTERRUPTIONS.values(), ids=INTERRUPTIONS)
def test_ctrl_c_in_a_demo_says_where_its_journal_is_or_how_to_keep_it(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with started_program("demo", *words) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        code, said = rest_of(process)
    assert code == INTERRUPTED
    last = said.decode().splitlines()[-1]
    if "--keep" in words:
        (journal,) = tmp_path.glob("*/journal.db")
        assert last == f"interrupted; its journal: {journal}"
        nothing_is_wrong_with(journal)
    else:
        again = f"shoectl demo {words[0]} {words[1]} --keep"
        assert last == f"interrupted; to keep its journal: {again}"
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "number", "dealing"),
    [
        (ROUNDS, signal.SIGTERM, False),
        (ROUNDS, signal.SIGTERM, True),
        (ROUNDS, signal.SIGHUP, True),
        (SCENARIO, signal.SIGTERM, True),
    ],
    ids=["starting", "rounds", "terminal closed", "scenario"],
)
def test_a_demo_that_is_stopped_leaves_no_folder_behind(
    words: tuple[str, ...],
    number: signal.Signals,
    dealing: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with started_program("demo", *words) as process:
        assert process.stdout is not None
        if dealing:
            assert process.stdout.readline()
        while not any(tmp_path.iterdir()):
            os.sched_yield()
        process.send_signal(number)
        process.stdout.read()
        ended, said = rest_of(process)
    assert (ended, b"Traceback" in said) == (0, False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("pause_s", "words"),
    sampled(
        (
            pytest.param(pause_s, words)
            for pause_s in (0, 0.02, 0.1)
            for words in (("--json",), ("--scenario", "link_lost_resumes", "--pace-ms", "300"))
        ),
        one_in=3,
        cpu_s=0.6,
    ),
    ids=str,
)
def test_whoever_presses_ctrl_c_twice_is_not_shown_how_a_demo_ends(
    pause_s: float, words: tuple[str, ...]
) -> None:
    with started_program("demo", *words) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(pause_s)  # the second is to come at another moment each time
        process.stdout.read()
        ended, said = rest_of(process)
    assert ended in {INTERRUPTED, -signal.SIGINT}  # the second may come when all is done
    assert b"Traceback" not in said
    assert b"ERROR" not in said


def test_ctrl_c_at_the_terminal_of_a_demo_ends_it(tmp_path: Path) -> None:
    """The terminal signals whoever runs in it; the shoe is not among them."""
    master, slave = pty.openpty()
    said = tmp_path / "said"
    with said.open("wb") as errors:
        process = subprocess.Popen(
            (sys.executable, "-c", AT_A_TERMINAL, SHOECTL, "demo", "--pace-ms", "5"),
            stdin=slave,
            stdout=slave,
            stderr=errors,
            start_new_session=True,
        )
    os.close(slave)
    try:
        shown = b""
        while b"player" not in shown:
            shown += os.read(master, 4096)
        os.write(master, b"\x03")
        while process.poll() is None:
            try:
                os.read(master, 4096)
            except OSError:  # the last one at the terminal has gone
                break
        assert process.wait(PATIENCE_S) == INTERRUPTED
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(master)
    # the first line's end is behind the ^C that the terminal shows
    hint = r"to keep its journal: shoectl demo --seed \d+ --keep"
    assert re.fullmatch(rf"\ninterrupted; {hint}\n", said.read_text())


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 0)], ids=str
)
def test_a_daemon_that_is_stopped_has_delivered_what_it_stored(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with running_daemon(tmp_path) as process:
        process.send_signal(number)
        assert process.stdout is not None
        process.stdout.read()
        ended, said = rest_of(process)
    assert ended == code
    assert b"Traceback" not in said
    assert b"ERROR" not in said
    nothing_is_wrong_with(tmp_path / "journal.db")
    with Reader.open(tmp_path / "journal.db") as reader:
        stored = [record.body for record in reader.records(kinds=(Kind.PUBLIC,))]
    assert (tmp_path / "public.jsonl").read_bytes().splitlines() == stored


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_daemon_that_is_stopped_twice_leaves_a_whole_journal(
    tmp_path: Path, first: signal.Signals
) -> None:
    with running_daemon(tmp_path) as process:
        process.send_signal(first)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        process.stdout.read()
        ended, said = rest_of(process)
    assert ended == INTERRUPTED
    assert b"Traceback" not in said
    assert b"ERROR" not in said
    nothing_is_wrong_with(tmp_path / "journal.db")


def test_a_daemon_whose_reader_has_gone_goes_on(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as process:
        assert process.stdout is not None
        process.stdout.close()
        outcomes = (tmp_path / "public.jsonl").read_bytes().count(b'"round.outcome"')
        while (tmp_path / "public.jsonl").read_bytes().count(b'"round.outcome"') < outcomes + 3:
            assert process.poll() is None
        process.terminate()
        ended, said = rest_of(process)
    assert ended == 0
    assert b"Traceback" not in said
    nothing_is_wrong_with(tmp_path / "journal.db")


@pytest.mark.parametrize("words", [("--json",), ()], ids=["json", "text"])
def test_a_demo_whose_reader_has_gone_ends_at_once(words: tuple[str, ...]) -> None:
    with started_program("demo", *words) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        children = children_of(process)
        process.stdout.close()
        ended, said = rest_of(process)
    assert ended == 1
    assert said == b""
    assert all(has_ended(child) for child in children)


def test_a_demo_whose_shoe_has_died_says_so() -> None:
    with started_program("demo", "--json") as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        (child,) = children_of(process)
        os.kill(child, signal.SIGKILL)
        process.stdout.read()
        ended, said = rest_of(process)
    assert ended == 3
    assert b"Traceback" not in said
    assert b"the simulated shoe ended" in said.splitlines()[-1]


@pytest.mark.parametrize("words", [("--json",), ()], ids=["json", "text"])
def test_decoding_for_a_reader_that_goes_is_quiet(tmp_path: Path, words: tuple[str, ...]) -> None:
    capture = tmp_path / "capture"
    capture.write_bytes(bytes.fromhex("05 31 44 81 B8 03 34 46") * 20_000)
    with (
        capture.open("rb") as bytes_of_a_shoe,
        subprocess.Popen(
            (SHOECTL, "decode", "--profile", "angel_eye", *words),
            stdin=bytes_of_a_shoe,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdout is not None
        assert b"8S" in process.stdout.readline()
        process.stdout.close()
        ended, said = rest_of(process)
    assert ended == 1
    assert said == b""


def test_output_that_cannot_be_written_is_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            (SHOECTL, "games"), stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False
        )
    assert done.returncode == 3
    assert done.stderr == b"shoectl: output cannot be written: No space left on device\n"
