"""The configuration that the bench writes is one that the daemon reads."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from shoe_bench import daemon
from shoe_bench.errors import DaemonEnded, NotInTime
from shoe_ctl.config.schema import load


def test_the_daemon_reads_what_the_bench_writes(tmp_path: Path) -> None:
    table = {"game": "tiger", "method": "C", "limits": {"minimum": 100, "wagers": {"tie": {}}}}
    shoe = {"profile": "reference", "port": str(tmp_path / 'a "quoted" shoe')}
    text = daemon.configuration(tmp_path, tmp_path, table, shoe)
    assert tomllib.loads(text)["table"] == [{"id": "bench", **table, "shoe": shoe}]
    path = tmp_path / "bench.toml"
    path.write_text(text, "utf-8")
    config = load(path)
    assert config.socket is not None
    assert [user.name for user in config.socket.user if user.name] == [*daemon.SECOND_PERSONS]


def test_a_value_that_no_configuration_has_is_named() -> None:
    assert daemon.toml({"a b": [1, True, 0.5, "x"]}) == '{"a b" = [1, true, 0.5, "x"]}'
    with pytest.raises(TypeError, match=r"cannot hold None"):
        daemon.toml({"a": None})


def started(tmp_path: Path, *words: str, within_s: float = 30.0) -> None:
    begun = daemon.Daemon(words, tmp_path, tmp_path)
    try:
        begun.start("", within_s)
    finally:
        begun.stop(30.0)


def test_a_daemon_that_ends_at_once_says_why(tmp_path: Path) -> None:
    with pytest.raises(DaemonEnded, match=r"exit code 3\n    no port$"):
        started(tmp_path, "sh", "-c", "echo no port >&2; exit 3")


def test_a_daemon_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DaemonEnded, match=r"^no-such-shoectl cannot be started: No such file"):
        started(tmp_path, "no-such-shoectl")


def test_a_daemon_that_is_never_ready_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(NotInTime, match=r"^the daemon was not ready in 0.2 s"):
        started(tmp_path, "sh", "-c", "exec sleep 60", within_s=0.2)


def test_a_daemon_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    ready = 'trap "" TERM; printf "READY=1" | python3 -c "$0" "$NOTIFY_SOCKET"; exec sleep 60'
    send = "import socket, sys; socket.socket(1, 2).sendto(sys.stdin.buffer.read(), sys.argv[1])"
    begun = daemon.Daemon(("sh", "-c", ready, send), tmp_path, tmp_path)
    begun.start("", 30.0)
    with pytest.raises(NotInTime, match=r"^the daemon did not stop in 0.1 s and was killed"):
        begun.stop(0.1)
    begun.stop(0.1)


def test_the_program_is_the_one_that_was_chosen() -> None:
    assert daemon.program("docker run 'my daemon'") == ("docker", "run", "my daemon")
    (found,) = daemon.program(None)
    assert Path(found).name == "shoectl"
