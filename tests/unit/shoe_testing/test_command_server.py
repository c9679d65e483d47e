"""Commands of the command server do what commands of a new interpreter do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_ctl.cli.main import COMMANDS
from shoe_testing.command_server import (
    A_SHOE,
    PATIENCE_S,
    CommandServer,
    WarmProgram,
    serving_commands,
)

BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def server() -> Iterator[CommandServer]:
    with serving_commands() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        *(("shoectl", command, "--help") for command in sorted(COMMANDS)),
        ("shoectl", "no-such-command"),
        ("shoectl", "verify", "no-such-file"),
        ("shoectl", "settle", "tiger", "7D", "9C", "TS", "TH"),
        ("shoe-sim", "serve", "--help"),
        ("shoe-sim", "serve", "--profile", "nobody"),
    ],
    ids=" ".join,
)
def test_a_command_writes_and_returns_what_it_does_in_a_new_interpreter(
    server: CommandServer, tmp_path: Path, words: tuple[str, ...]
) -> None:
    name, *rest = words
    cold = subprocess.run(
        (BIN / name, *rest),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    warm = server.run(*words, cwd=tmp_path)
    assert (warm.returncode, warm.stdout, warm.stderr) == (
        cold.returncode,
        cold.stdout,
        cold.stderr,
    )


def test_a_command_has_its_own_input_folder_and_environment(
    server: CommandServer, tmp_path: Path
) -> None:
    done = server.run("shoectl", "decode", "--profile", "angel_eye", "--hex", stdin=b"05 31")
    assert (done.returncode, done.stderr) == (0, b"0 events, 0 repeated, 1 discarded\n")
    (tmp_path / "mine").write_text("")
    here = server.run("shoectl", "verify", "mine", cwd=tmp_path)
    assert here.returncode == 3 and b"does not exist" not in here.stderr
    env = {**os.environ, "SHOECTL_SOCKET": str(tmp_path / "nobody.sock")}
    assert b"nobody.sock" in server.run("shoectl", "table", "status", env=env).stderr


def test_a_command_that_does_not_end_is_killed(server: CommandServer, tmp_path: Path) -> None:
    words = ("shoectl", "demo", "--pace-ms", "10000")
    with pytest.raises(subprocess.TimeoutExpired):
        server.run(*words, cwd=tmp_path, timeout_s=0.2)
    assert server.run("shoectl", "--version").returncode == 0


def children() -> set[int]:
    return {
        int(pid)
        for task in Path("/proc/self/task").iterdir()
        for pid in (task / "children").read_text().split()
    }


@pytest.mark.usefixtures("commands")
def test_a_program_that_goes_on_is_a_child_with_its_own_pipes_and_ends_by_a_signal() -> None:
    options = ("--profile", "reference", "--port", "pty", "--pace-ms", "3600000")
    pipe = subprocess.PIPE
    with WarmProgram((*A_SHOE, *options), stdin=pipe, stdout=pipe, start_new_session=True) as shoe:
        assert shoe.stdin is not None and shoe.stdout is not None
        assert json.loads(shoe.stdout.readline())["pid"] == shoe.pid
        assert Path(f"/proc/{shoe.pid}/exe").resolve() == Path(sys.executable).resolve()
        assert shoe.pid in children()
        assert os.getsid(shoe.pid) == shoe.pid
        shoe.kill()
        assert shoe.wait(PATIENCE_S) == -signal.SIGKILL


@pytest.mark.usefixtures("commands")
def test_a_program_ends_with_its_input_and_with_its_own_exit_code(tmp_path: Path) -> None:
    options = ("--profile", "reference", "--port", "pty", "--pace-ms", "3600000")
    with WarmProgram((*A_SHOE, *options), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shoe:
        assert shoe.stdin is not None and shoe.stdout is not None
        shoe.stdout.readline()
        shoe.stdin.close()
        assert shoe.wait(PATIENCE_S) == 0
    words = ("shoectl", "verify", "no-such-file")
    with WarmProgram(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as refused:
        assert refused.communicate()[1].startswith("shoectl: journal no-such-file ")
    assert refused.returncode not in (0, 70)


@pytest.mark.usefixtures("commands")
def test_what_needs_a_new_interpreter_has_one(tmp_path: Path) -> None:
    words = (str(BIN / "shoectl"), "--version")
    read, write = os.pipe()
    with os.fdopen(read, "rb"), os.fdopen(write, "wb"):
        program = WarmProgram(words, stdout=subprocess.PIPE, text=True, pass_fds=(write,))
        out, _ = program.communicate()
    assert (program.returncode, out.startswith("shoectl")) == (0, True)
