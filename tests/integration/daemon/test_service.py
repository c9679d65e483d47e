"""The real daemon under a service manager's socket: ready, alive, broken storage, stopping.

In: a configuration, a simulated shoe, a socket. Out: datagrams, exit codes.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from shoe_ctl.config.resolve import NO_WAY_IN
from shoe_testing.config import SOCKET, make_config, table_section, write_config
from shoe_testing.daemon import nothing_is_wrong_with
from shoe_testing.programs import (
    A_FEW_CARDS,
    PATIENCE_S,
    SHOECTL,
    STORAGE_FAULT,
    daemon_service,
    largest_of,
    let_grow,
    rest_of,
    shoe_program,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]


def test_it_says_that_it_is_ready_alive_and_stopping(tmp_path: Path) -> None:
    with shoe_program("reference") as port, daemon_service(write_config(tmp_path, port)) as service:
        assert service.until("READY") == {"READY": "1", "STATUS": "serving"}
        for _ in range(3):
            assert service.said() == {"WATCHDOG": "1"}
        service.process.send_signal(signal.SIGTERM)
        assert service.until("STOPPING") == {"STOPPING": "1"}
        ended, errors = rest_of(service.process)
    assert ended == 0
    assert errors.count(NO_WAY_IN.encode()) == 1
    nothing_is_wrong_with(tmp_path / "journal.db")


def test_a_journal_that_takes_no_more_is_announced_where_the_journal_cannot(tmp_path: Path) -> None:
    with shoe_program("reference") as port, daemon_service(write_config(tmp_path, port)) as service:
        service.until("READY")
        let_grow(service, largest_of(tmp_path) + A_FEW_CARDS)
        assert service.until("STATUS")["STATUS"].startswith(STORAGE_FAULT)
        service.process.send_signal(signal.SIGTERM)
        service.until("STOPPING")
        ended, errors = rest_of(service.process)
    assert ended == 3
    assert b"Traceback" not in errors, errors.decode()
    assert errors.splitlines()[-1].startswith(b"shoectl: stopped while nothing could be stored: ")
    nothing_is_wrong_with(tmp_path / "journal.db")


def test_with_room_again_the_tables_wait_for_a_person_and_go_on(tmp_path: Path) -> None:
    with (
        shoe_program("reference") as port,
        daemon_service(write_config(tmp_path, port, way_in=True)) as service,
    ):
        service.until("READY")
        let_grow(service, largest_of(tmp_path) + A_FEW_CARDS)
        assert service.until("STATUS")["STATUS"].startswith(STORAGE_FAULT)
        let_grow(service, resource.RLIM_INFINITY)
        assert service.until("STATUS")["STATUS"] == (
            "serving; storage failed and works again, waiting for resume: bac-07"
        )
        at = ("--socket", str(tmp_path / SOCKET))
        said = subprocess.run((SHOECTL, "table", "resume", *at), capture_output=True, check=True)
        assert said.stderr == b""
        assert service.until("STATUS")["STATUS"] == "serving"
        service.process.send_signal(signal.SIGTERM)
        service.until("STOPPING")
        ended, errors = rest_of(service.process)
    assert ended == 0
    assert NO_WAY_IN.encode() not in errors
    nothing_is_wrong_with(tmp_path / "journal.db")


def test_a_journal_that_cannot_be_made_is_announced_too(tmp_path: Path) -> None:
    config = write_config(tmp_path, "/dev/null")
    config.write_text('[journal]\npath = "none/journal.db"\n' + config.read_text())
    with daemon_service(config) as service:
        assert "storage fault" in service.until("STATUS")["STATUS"]
        assert rest_of(service.process)[0] == 3


def test_a_port_that_is_not_there_is_named_and_never_ready(tmp_path: Path) -> None:
    with daemon_service(write_config(tmp_path, str(tmp_path / "no-shoe"))) as service:
        said = service.until("STATUS")
        assert "READY" not in said
        assert "no-shoe" in said["STATUS"]
        assert rest_of(service.process)[0] == 3


AWAY = make_config(
    table_section(
        "bac-08",
        port="/dev/card-shoe/that-never-comes",
        announcements="implied",
        method_b={"faces": "face_up"},
    )
)


def test_a_port_that_is_to_be_waited_for_is_named_once_and_taken_when_it_comes(
    tmp_path: Path,
) -> None:
    link = tmp_path / "folder-of-udev" / "SH-0042"
    config = write_config(tmp_path, str(link))
    config.write_text(config.read_text() + AWAY)
    with daemon_service(config, "--wait") as service:
        assert service.until("READY") == {"READY": "1", "STATUS": "serving"}
        for _ in range(4):
            service.until("WATCHDOG")
        with shoe_program("reference") as port:
            link.parent.mkdir()
            link.symlink_to(port)
            public = tmp_path / "public.jsonl"
            while b"round.outcome" not in public.read_bytes():
                service.until("WATCHDOG")
            service.process.send_signal(signal.SIGTERM)
            ended, errors = rest_of(service.process)
    assert ended == 0
    for table in ("bac-07", "bac-08"):
        assert errors.count(f"{table}: link down: no such port".encode()) == 1, errors.decode()
    nothing_is_wrong_with(tmp_path / "journal.db")


def test_a_wrong_configuration_ends_with_the_code_that_no_manager_restarts(tmp_path: Path) -> None:
    config = write_config(tmp_path, "/dev/null")
    config.write_text(config.read_text().replace("decks = 8", 'decks = "eight"'))
    with daemon_service(config) as service:
        assert rest_of(service.process)[0] == 2


@pytest.mark.parametrize("what", [("--rounds", "60"), ("--scenario", "link_lost_resumes")])
def test_a_demo_whose_disk_is_full_ends_and_says_so(what: tuple[str, str]) -> None:
    limit = ("prlimit", "--fsize=100000", SHOECTL, "demo", *what)
    done = subprocess.run(limit, capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith(b"shoectl: " + STORAGE_FAULT.encode())
    assert b"Traceback" not in done.stderr


def log_of(folder: Path, config: Path, *, stream: str | None = None) -> tuple[int, list[str]]:
    """The exit code and the log of a daemon that is stopped once it is ready.

    ``stream`` is what the environment says of the journal's stream: without it, the daemon's own.
    """
    path = folder / "log"
    with path.open("wb") as log:
        found = os.fstat(log.fileno())
        own = f"{found.st_dev}:{found.st_ino}"
        address = folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(str(address))
            listener.settimeout(PATIENCE_S)
            environment = {"JOURNAL_STREAM": stream or own, "NOTIFY_SOCKET": str(address)}
            with subprocess.Popen(
                [SHOECTL, "run", "--config", str(config)],
                stderr=log,
                env=os.environ | environment,
            ) as daemon:
                said = listener.recv(4096)
                if said.startswith(b"READY=1"):
                    daemon.send_signal(signal.SIGTERM)
                daemon.wait(PATIENCE_S)
    address.unlink()
    return daemon.returncode, path.read_text("utf-8").splitlines()


def test_in_systemds_journal_each_line_has_a_priority_and_no_time(tmp_path: Path) -> None:
    with shoe_program("reference") as port:
        code, lines = log_of(tmp_path, write_config(tmp_path, port))
    assert code == 0
    assert "<6>ready: every shoe's port is open" in lines
    assert f"<4>{NO_WAY_IN}" in lines
    assert all(line[:3] in {"<6>", "<4>"} and not line[3].isdigit() for line in lines), lines


def test_in_systemds_journal_what_ends_the_daemon_is_an_error(tmp_path: Path) -> None:
    config = write_config(tmp_path, "/dev/none")
    code, lines = log_of(tmp_path, config)
    assert code == 3
    assert lines[-1].startswith("<3>shoectl: no such port: /dev/none")


def test_where_another_stream_is_the_journals_the_log_has_its_times(tmp_path: Path) -> None:
    with shoe_program("reference") as port:
        code, lines = log_of(tmp_path, write_config(tmp_path, port), stream="1:1")
    assert code == 0
    assert all(re.match(r"\d{4}-\d\d-\d\d \S+ (INFO|WARNING) \S", line) for line in lines), lines
