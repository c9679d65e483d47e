"""logrotate takes a sink's files away under the daemon: every event is in one of them, once.

In: the real logrotate with the configuration that the page on installing shows. Out: the files.
"""

from __future__ import annotations

import getpass
import grp
import gzip
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shoe_ctl.journal.reader import Reader
from shoe_ctl.records import Audience
from shoe_testing.config import write_config
from shoe_testing.daemon import nothing_is_wrong_with
from shoe_testing.paths import ROOT
from shoe_testing.programs import (
    AT_A_TERMINAL,
    PATIENCE_S,
    SHOECTL,
    rest_of,
    running_daemon,
    shoe_program,
    started_program,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

PAGE = ROOT / "docs/guides/install.md"
TIMES = 6


def logrotate() -> str:
    """The tool; where it is missing its tests are skipped, but not in CI."""
    found = shutil.which("logrotate", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("logrotate is missing: install it")
        pytest.skip("logrotate is not here: install it")
    return found


def as_the_page_shows(folder: Path, pid: int) -> str:
    """The configuration of the page, for this folder, this user and this process."""
    (shown,) = re.findall(r"```\n(/var/lib/shoectl/main/\*\.jsonl \{\n.*?\n\})\n```",
                          PAGE.read_text("utf-8"), re.DOTALL)  # fmt: skip
    here = {
        "/var/lib/shoectl/main/": f"{folder}/",
        "su shoectl shoectl": f"su {getpass.getuser()} {grp.getgrgid(os.getgid()).gr_name}",
        "systemctl reload shoectl@main": f"kill -HUP {pid}",
    }
    for there, instead in here.items():
        assert shown.count(there) == 1
        shown = shown.replace(there, instead)
    return str(shown)


def both_grown(folder: Path, process: subprocess.Popen[bytes]) -> None:
    for audience in ("public", "restricted"):
        grown(folder / f"{audience}.jsonl", process)


MADE_MEANWHILE = re.compile(r"error: destination .+ already exists, renaming to .+\.backup")
"""The daemon made the file between two steps of logrotate's ``create``; both files are kept."""


def rotate(folder: Path, config: str) -> None:
    path = folder / "rotation"
    path.write_text(config)
    path.chmod(0o644)
    done = subprocess.run(
        (logrotate(), "--force", "--state", str(folder / "rotated"), str(path)),
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if not MADE_MEANWHILE.fullmatch(line)]
    assert (done.returncode, said) == (0, [])


def lines_in(path: Path) -> list[bytes]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    assert content == b"" or content.endswith(b"\n")
    return content.splitlines()


def grown(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Waits until there is an event in the file."""
    until = time.monotonic() + PATIENCE_S
    while not path.exists() or path.stat().st_size == 0:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.005)


@pytest.mark.parametrize("way", ["the page's", "no signal", "create", "copytruncate", "packed"])
def test_every_event_is_in_one_file_once_and_whole(tmp_path: Path, way: str) -> None:
    with running_daemon(tmp_path) as process:
        config = as_the_page_shows(tmp_path, process.pid)
        if way != "the page's":
            config = re.sub(r"    sharedscripts.*endscript\n", "", config, flags=re.DOTALL)
        if way in {"create", "copytruncate"}:
            config = config.replace("nocreate", way)
        if way == "packed":
            config = config.replace("    delaycompress\n", "")
        for _ in range(TIMES):
            both_grown(tmp_path, process)
            rotate(tmp_path, config)
        both_grown(tmp_path, process)  # without a signal the next event makes the file
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        process.stdout.read()
        ended, said = rest_of(process)
    assert ended == 0, said
    assert b"WARNING sink" not in said and b"ERROR" not in said
    for audience in ("public", "restricted"):
        files = sorted(tmp_path.glob(f"{audience}.jsonl*"))
        assert len(files) > TIMES
        numbers = [
            int(json.loads(line)["id"].rpartition("/")[2][1:])
            for path in files
            for line in lines_in(path)
        ]
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
    nothing_is_wrong_with(tmp_path / "journal.db")


def test_the_signal_harms_no_daemon_that_has_no_file_and_makes_a_file_at_once(
    tmp_path: Path,
) -> None:
    file = tmp_path / "public.jsonl"
    with shoe_program("reference") as port:
        config = write_config(tmp_path, port)
        config.write_text(config.read_text().partition("[[sink]]")[0])
        for files in (False, True):
            if files:
                config.write_text(
                    config.read_text() + '[[sink]]\nkind="jsonl"\npath="public.jsonl"'
                )
            with started_program("run", "--json", "--config", str(config)) as process:
                assert process.stdout is not None
                assert process.stdout.readline()
                if files:
                    file.unlink()
                for _ in range(3):
                    process.send_signal(signal.SIGHUP)
                    assert process.stdout.readline()
                if files:
                    grown(file, process)
                process.send_signal(signal.SIGTERM)
                process.stdout.read()
                ended, said = rest_of(process)
            assert (ended, b"Traceback" in said) == (0, False)


def test_two_daemons_do_not_write_to_one_file(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    with running_daemon(folders[0]) as first, shoe_program("reference") as port:
        config = write_config(folders[1], port)
        config.write_text(config.read_text().replace('"public.jsonl"', '"../a/public.jsonl"'))
        with started_program("run", "--config", str(config)) as second:
            ended, said = rest_of(second)
        last = said.decode().splitlines()[-1]
        path = folders[1] / "../a/public.jsonl"
        assert ended == 3
        assert last == (
            f"shoectl: sink file {path}: process {first.pid} writes to it; "
            "give each daemon a file of its own"
        )
        assert first.poll() is None


def test_closing_the_terminal_ends_the_daemon_with_all_delivered(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    said = tmp_path / "said"
    with shoe_program("reference") as port, said.open("wb") as errors:
        config = write_config(tmp_path, port)
        words = (sys.executable, "-c", AT_A_TERMINAL, SHOECTL, "run", "--config", str(config))
        process = subprocess.Popen(words, stdin=slave, stderr=errors, start_new_session=True)
        os.close(slave)
        try:
            grown(tmp_path / "public.jsonl", process)
            os.close(master)
            assert process.wait(PATIENCE_S) == 0
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    nothing_is_wrong_with(tmp_path / "journal.db")
    with Reader.open(tmp_path / "journal.db") as reader:
        stored, _ = reader.events(Audience.PUBLIC, after=0, limit=1_000_000)
    lines = (tmp_path / "public.jsonl").read_bytes().splitlines()
    assert lines == [body for _, body in stored]
