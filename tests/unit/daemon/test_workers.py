"""The front process: alive and ready are all workers, or none."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_ctl.api.worker_link import make_pair
from shoe_ctl.config.schema import parse
from shoe_ctl.daemon.environment import ServiceManager
from shoe_ctl.daemon.workers import Front, Worker
from shoe_ctl.errors import ConfigError, EnvironmentFault
from shoe_testing.config import make_config, table_section, this_user


class Manager(ServiceManager):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def _send(self, said: str) -> None:
        self.told.append(said)


@pytest.fixture
def workers() -> Iterator[list[Worker]]:
    pairs = [make_pair(), make_pair()]
    yield [Worker(number, 0, front) for number, (front, _) in enumerate(pairs, start=1)]
    for end in (end for pair in pairs for end in pair):
        assert isinstance(end, socket.socket)
        end.close()


async def test_alive_and_ready_are_all_workers_or_none(workers: list[Worker]) -> None:
    manager = Manager()
    config = parse(make_config(table_section("t1", port="/dev/x")).encode(), "t.toml")
    front = Front(config, workers, manager)
    first, second = workers
    for worker, text, told in [
        (first, "READY=1\nSTATUS=serving", []),
        (first, "WATCHDOG=1", []),
        (first, "WATCHDOG=1", []),  # the other one hangs, and the service manager must see it
        (second, "STATUS=storage fault", ["STATUS=worker 2: storage fault"]),
        (second, "WATCHDOG=1", ["WATCHDOG=1"]),
        (second, "READY=1\nSTATUS=serving", ["STATUS=serving", "READY=1\nSTATUS=serving"]),
        (second, "WATCHDOG=1", []),
        (first, "WATCHDOG=1", ["WATCHDOG=1"]),
        (first, "STOPPING=1", []),
    ]:
        manager.told.clear()
        worker.read(text)
        front._report(manager.ready)
        assert manager.told == told


async def test_the_daemon_ends_as_the_worker_that_ended(workers: list[Worker]) -> None:
    first, second = workers
    first.code = 70
    assert isinstance(first.failure(), EnvironmentFault)
    assert str(first.failure()).startswith("worker 1 ended with code 70: all workers stop")
    second.code = 2
    second.read("ERROR=table.toml: table t2: game: none")
    assert isinstance(second.failure(), ConfigError)
    front = Front(parse(_ONE.encode(), str(Path("t.toml"))), workers, Manager())
    with pytest.raises(ConfigError, match="game: none"):
        front.check_end()


async def test_a_worker_that_did_not_end_as_told_is_no_good_end(workers: list[Worker]) -> None:
    front = Front(parse(_ONE.encode(), "t.toml"), workers, Manager())
    first, second = workers
    first.code, second.code = 0, -signal.SIGTERM
    front.check_end()
    for code, how in (
        (-signal.SIGKILL, "was killed by SIGKILL"),
        (-35, "was killed by signal 35"),
        (70, "ended with code 70"),
    ):
        second.code = code
        with pytest.raises(EnvironmentFault, match=f"worker 2 {how}"):
            front.check_end()


_ONE = make_config(table_section("t1", port="/dev/x"))


@pytest.fixture
def two_tables(tmp_path: Path) -> Path:
    tables = [table_section(f"t{n}", port="/dev/x", worker=n) for n in (1, 2)]
    config = tmp_path / "t.toml"
    config.write_text(make_config(*tables, socket={"path": "s", "user": [this_user("dealer")]}))
    return config


def run_in_process(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program that changes its own process, which is every other test's otherwise."""
    return subprocess.run(
        (sys.executable, "-c", code, *words), capture_output=True, check=False, text=True
    )


def test_the_front_may_open_as_many_files_as_its_workers(two_tables: Path) -> None:
    code = (
        "import resource as r, sys; r.setrlimit(r.RLIMIT_NOFILE, (256, 2048))\n"
        "from shoe_ctl.daemon import workers; from shoe_ctl.cli.run import run\n"
        "workers.start_workers = lambda *_: sys.exit(str(r.getrlimit(r.RLIMIT_NOFILE)))\n"
        "run(['--config', sys.argv[1]])"
    )
    assert run_in_process(code, str(two_tables)).stderr == "(2048, 2048)\n"


def test_a_front_that_is_stopped_while_it_starts_waits_for_its_workers(two_tables: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from shoe_ctl.daemon import workers; from shoe_ctl.cli.run import run\n"
        "start = workers.start_workers\n"
        "def start_and_stop(*words):\n"
        "    started = start(*words); os.kill(os.getpid(), signal.SIGTERM); return started\n"
        "workers.start_workers = start_and_stop\n"
        "run(['--wait', '--config', sys.argv[1]])"
    )
    done = run_in_process(code, str(two_tables))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(" ended: pid=") == 2


def test_where_no_further_process_can_be_had_those_started_end(two_tables: Path) -> None:
    code = (
        "import os, sys; fork = os.fork; forked = []\n"
        "def fork_once():\n"
        "    if forked: raise BlockingIOError(11, 'Resource temporarily unavailable')\n"
        "    forked.append(pid := fork()); return pid\n"
        "os.fork = fork_once\n"
        "from shoe_ctl.cli.main import main\n"
        "sys.argv = ['shoectl', 'run', '--wait', '--config', sys.argv[1]]\n"
        "try: main()\n"
        "finally: print(os.path.exists(f'/proc/{forked[0]}'))"
    )
    done = run_in_process(code, str(two_tables))
    last = done.stderr.splitlines()[-1]
    assert last == "shoectl: worker 2 cannot be started: Resource temporarily unavailable"
    assert (done.returncode, done.stdout) == (3, "False\n")
