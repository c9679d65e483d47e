"""``shoe-sim floor`` as a process, with a daemon that runs the configuration it writes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from firmware_proto.cards import FRENCH52
from firmware_proto.events import CardDrawn
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.table.inputs import from_bytes
from shoe_testing.command_server import WarmProgram, run_command
from shoe_testing.programs import PATIENCE_S, started_program
from simulators.shoe.model import shuffled

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

SHOE_SIM = str(Path(sys.executable).with_name("shoe-sim"))


@contextmanager
def floor(*words: str) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    argv = (SHOE_SIM, "floor", *words)
    process: subprocess.Popen[str] = WarmProgram(argv, stdout=pipe, stderr=pipe, text=True)
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def line(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def stored(journal: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with Reader.open(journal) as reader:
        for record in reader.records(after=0, upto=reader.heads()[0], kinds=(Kind.INPUT,)):
            event = getattr(from_bytes(record.body), "event", None)
            if isinstance(event, CardDrawn):
                assert event.card is not None
                found.setdefault(record.table, []).append(event.card.code)
    return found


def test_a_daemon_stores_every_card_that_the_report_counts(tmp_path: Path) -> None:
    config = tmp_path / "floor.toml"
    options = ("--tables", "3", "--pace", "0.02", "--for", "0.4", "--seed", "11", "--json")
    with floor(*options, "--config", str(config)) as process:
        assert line(process) | {"first": "", "last": ""} == {
            "stage": "opened", "tables": 3, "first": "", "last": "", "config": str(config),
            "seed": 11, "pace_s": 0.02,
        }  # fmt: skip
        with started_program("run", "--config", str(config)) as daemon:
            assert [line(process)["stage"] for _ in range(2)] == ["began", "measured"]
            report = line(process)
            out, err = process.communicate(timeout=PATIENCE_S)
            daemon.terminate()
            daemon.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (0, "", "")
    assert report["stage"] == "ended"
    assert report["drawn"] == report["acknowledged"] == report["stored"]["count"] > 0
    assert (report["connected"], report["waiting"], report["refused"]) == (3, 0, 0)
    assert report["asked"] == 150.0
    (journal,) = tmp_path.glob("floor-*.journal")
    drawn = {
        each["table"]: [
            card.code
            for one in each["sets"]
            for card in shuffled(FRENCH52, 8, one["seed"])[: one["drawn"]]
        ]
        for each in report["each"]
    }
    assert [each["sets"][0]["seed"] for each in report["each"]] == [11, 12, 13]
    assert stored(journal) == drawn


def test_a_table_that_is_connected_and_never_armed_is_a_failure(tmp_path: Path) -> None:
    options = ("--tables", "1", "--pace", "0.02", "--for", "0.1", "--wait", "0", "--json")
    with floor(*options, "--config", str(tmp_path / "floor.toml")) as process:
        host, port = line(process)["first"].removeprefix("tcp://").split(":")
        with socket.create_connection((host, int(port))):
            assert [line(process)["stage"] for _ in range(2)] == ["began", "measured"]
            report = line(process)
            process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert (report["connected"], report["drawn"], report["never_armed"]) == (1, 0, 1)


def test_ctrl_c_ends_it_with_the_report_of_what_was_until_then(tmp_path: Path) -> None:
    config = tmp_path / "floor.toml"
    with floor("--tables", "2", "--seed", "5", "--config", str(config)) as process:
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert said[1] == f"start the daemon: shoectl run --config {config}\n"
    assert process.returncode == 130
    assert err == "", "a pipe gets no progress"
    assert out.splitlines() == [
        "tables        0 of 2 connected",
        "cards         0 drawn, 0 acknowledged",
        "seeds         5 to 6, then from 7 on (--seed 5)",
        "measured      nothing: it ended before the time that counts",
    ]


def test_sigterm_before_any_card_was_measured_is_no_success(tmp_path: Path) -> None:
    with floor("--tables", "2", "--config", str(tmp_path / "floor.toml"), "--json") as process:
        assert line(process)["stage"] == "opened"
        process.terminate()
        report = line(process)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (1, "", "")
    assert (report["stage"], report["connected"], report["measured"]) == ("ended", 0, 0)


def test_sigterm_ends_the_measuring_and_the_last_cards_are_waited_for(tmp_path: Path) -> None:
    config = str(tmp_path / "floor.toml")
    with floor("--tables", "2", "--pace", "0.02", "--config", config, "--json") as process:
        assert line(process)["stage"] == "opened"
        with started_program("run", "--json", "--config", config) as daemon:
            assert daemon.stdout is not None
            assert any(b"round.card_dealt" in event for event in daemon.stdout)
            process.terminate()
            assert [line(process)["stage"] for _ in range(2)] == ["began", "measured"]
            report = line(process)
            process.communicate(timeout=PATIENCE_S)
            daemon.terminate()
            daemon.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert (report["waiting"], report["never_armed"]) == (0, 0)
    assert report["drawn"] == report["acknowledged"] >= report["measured"] > 0


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("--tables 0", "'--tables': 0 is not in the range 1<=x<=10000"),
        ("--tables many", "'--tables': 'many' is not a valid integer"),
        ("--pace nan", "'--pace': 'nan' is not a valid number of seconds"),
        ("--pace 0", "'--pace': 0.0 is not in the range"),
        ("--for -1", "'--for': -1.0 is not in the range"),
        ("--port pty", "--port 'pty': expected tcp:HOST:PORT"),
        ("--port usbip:x", "--port 'usbip:x': expected tcp:HOST:PORT\n"),
        ("--port tcp:localhost:65000 --tables 1000", "need ports up to 65999"),
        ("", "--config is missing: no daemon would know the free ports"),
        ("--config {mine}", "is not of shoe-sim floor: name a new one, or remove it"),
        ("--config {folder}/pipe", "pipe: there is something that is no file: name a new one"),
        ("--config {folder}/no/floor.toml", "no/floor.toml: No such file or directory"),
    ],
)
def test_a_wrong_option_is_one_line_and_changes_no_file(
    tmp_path: Path, words: str, wrong: str
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("# mine\n")
    os.mkfifo(tmp_path / "pipe")
    given = words.format(mine=mine, folder=tmp_path).split()
    ended = run_command(SHOE_SIM, "floor", *given)
    assert ended.returncode in (2, 3)
    assert wrong in ended.stderr
    assert ended.stderr.startswith("shoe-sim: ")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""
    assert mine.read_text() == "# mine\n"
