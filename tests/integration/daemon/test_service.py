"""The real daemon under a service manager's socket: ready, alive, broken storage, stopping.

In: a configuration, a simulated shoe, a socket. Out: datagrams, exit codes.
"""

from __future__ import annotations

import resource
import signal
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
