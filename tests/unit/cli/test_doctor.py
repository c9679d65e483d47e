"""``shoectl doctor``: what it takes, what it shows, how it ends.

In: options, simulated shoes in processes of their own. Out: text, JSON, exit codes.
Must not know: how a port is tried.
"""

from __future__ import annotations

import grp
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from shoe_ctl.cli import doctor as command
from shoe_ctl.cli.doctor import doctor, examine
from shoe_ctl.cli.doctor_view import COLUMNS, Report, TriedPort, as_json, as_text
from shoe_ctl.config.resolve import NO_WAY_IN
from shoe_ctl.errors import EnvironmentFault, InputRefused, PortError, UsageError
from shoe_ctl.journal.evidence import WHAT_TO_DO
from shoe_ctl.link.discovery import Access, Identity, SerialFound, System, UsbFound
from shoe_ctl.link.doctor import Cause, Diagnosis
from shoe_testing.cli import invoke, run_shoectl
from shoe_testing.paths import ROOT
from shoe_testing.simulated_usb import UsbBus

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

SHOECTL = [sys.executable, "-c", "from shoe_ctl.cli.main import main; main()"]
SHOE_SIM = [sys.executable, "-c", "from simulators.cli import main; main()"]


@contextmanager
def serving(link: Path, *words: str) -> Iterator[None]:
    """A simulated shoe at this link, in a process of its own."""
    said = [*SHOE_SIM, "serve", "--port", f"pty:{link}", *words]
    with subprocess.Popen(said, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == str(link).encode()
        try:
            yield
        finally:
            process.terminate()


def config(folder: Path, *tables: tuple[str, str, str]) -> str:
    """A configuration with these tables: id, the shoe's keys, its port."""
    path = folder / "table.toml"
    path.write_text(
        "".join(
            f'[[table]]\nid = "{name}"\ngame = "tiger"\n[table.shoe]\n{shoe}\nport = "{port}"\n'
            for name, shoe, port in tables
        )
    )
    return str(path)


@pytest.fixture(autouse=True)
def _no_usb(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process; libusb keeps descriptors of its own until the process ends."""
    monkeypatch.setattr("shoe_ctl.link.usb_discovery.libusb", UsbBus)


run_doctor = partial(invoke, doctor)


def test_a_configured_shoe_that_answers_is_well(tmp_path: Path) -> None:
    link = tmp_path / "SH-0042"
    file = config(tmp_path, ("bac-07", 'profile = "reference"', str(link)))
    with serving(link, "--profile", "reference"):
        done = run_shoectl("doctor", "--config", file)
        assert (done.code, done.err) == (0, "")
        assert f"ok: bac-07 {link} (reference): SIM-" in done.out.replace("\n  ", " ")
        assert f"note: {NO_WAY_IN}" in done.out.replace("\n  ", " ")
        told = json.loads(run_shoectl("doctor", "--config", file, "--json").out)
        with Path(file).open("a") as more:
            more.write('[socket]\nuser = [{user = 0, position = "pit_manager"}]\n')
        assert "note:" not in run_shoectl("doctor", "--config", file).out
    (tried,) = told["tried"]
    assert (tried["table"], tried["well"], tried["cause"]) == ("bac-07", True, "well")
    assert told["notes"] == [NO_WAY_IN]


DOUBT = f"journal j.db may have lost its newest records: it ends at record 7; {WHAT_TO_DO}"


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        ({"tables": [{"table": "bac-07"}]}, 0),
        (
            {
                "tables": [{"table": "bac-07", "fault": {"message": {"text": "the disk is full"}}}]
                * 2
            },
            1,
        ),
        ({"tables": [{"table": "bac-07", "doubt": DOUBT}]}, 1),
        ({"accepted": False, "error": {"text": DOUBT}}, 1),
        (
            {
                "accepted": False,
                "error": {"text": "user id 7 has no position at this daemon's tables"},
            },
            0,
        ),
    ],
)
def test_a_daemon_that_serves_no_table_is_wrong_however_well_its_shoes_answer(
    tmp_path: Path, answer: dict[str, object], lines: int
) -> None:
    link = tmp_path / "SH-0042"
    file = config(tmp_path, ("bac-07", 'profile = "reference"', str(link)))
    with Path(file).open("a") as more:
        more.write('[socket]\npath = "in"\nuser = [{user = 0, position = "pit_manager"}]\n')
    with socket.socket(socket.AF_UNIX) as asked, ThreadPoolExecutor(1) as pool:
        asked.bind(str(tmp_path / "in"))
        asked.listen()

        def reply() -> None:
            connection, _ = asked.accept()
            with connection, connection.makefile("rw") as stream:
                stream.readline()
                stream.write(f"{json.dumps(answer)}\n")

        with serving(link, "--profile", "reference"):
            replied = pool.submit(reply)
            done = run_shoectl("doctor", "--config", file)
            replied.result()
        asked.setblocking(False)
        with pytest.raises(BlockingIOError):  # a daemon that hangs is waited for once
            asked.accept()
    assert f"ok: bac-07 {link}" in done.out.replace("\n  ", " ")
    assert done.out.count("FAILED: daemon: ") == lines
    assert done.code == (1 if lines else 0), done.err


def test_a_key_file_of_another_shoe_is_found_out(tmp_path: Path) -> None:
    link = tmp_path / "SH-0042"
    keys, others = tmp_path / "keys", tmp_path / "others"
    for file, number in ((keys, "11"), (others, "22")):
        file.write_text(f"SH-0042 1 {number * 32}\n")
        file.chmod(0o600)
    tables = config(tmp_path, ("bac-07", 'profile = "reference"\nkey_file = "others"', str(link)))
    with serving(link, "--profile", "reference", "--key-file", str(keys)):
        done = run_shoectl("doctor", "--config", tables)
    assert done.code == 1
    assert "FAILED: bac-07" in done.out
    assert "wrong proof" in done.out
    assert done.err == "shoectl: 1 of 1 ports failed\n"


def test_while_the_daemon_runs_its_port_is_left_to_it(tmp_path: Path) -> None:
    link = tmp_path / "SH-0042"
    file = config(tmp_path, ("bac-07", 'profile = "reference"', str(link)))
    text = (
        Path(file)
        .read_text()
        .replace(
            'game = "tiger"',
            'game = "tiger"\nannouncements = "implied"\nmethod_b = {faces = "face_up"}',
        )
    )
    Path(file).write_text(text)
    with serving(link, "--profile", "reference"):
        words = [*SHOECTL, "run", "--config", file, "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as daemon:
            assert daemon.stdout is not None
            assert daemon.stdout.readline()
            done = run_shoectl("doctor", "--config", file)
            daemon.terminate()
            daemon.communicate()
    assert done.code == 0, done.out
    assert f"in use by shoectl run (process {daemon.pid})" in done.out.replace("\n  ", " ")


def test_several_ports_are_each_told_and_any_wrong_one_counts(tmp_path: Path) -> None:
    link = tmp_path / "SH-0042"
    with serving(link, "--profile", "reference"):
        done = run_shoectl(
            "doctor", "--profile", "reference", "--port", str(link), "--port", "/dev/none", "--json"
        )
    assert done.code == 1
    causes = {tried["port"]: tried["cause"] for tried in json.loads(done.out)["tried"]}
    assert causes == {str(link): "well", "/dev/none": "no_such_port"}


def test_a_port_that_this_user_may_not_open_is_told_with_its_group(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("takes root to become nobody")
    link = tmp_path / "SH-0042"
    with serving(link, "--profile", "reference"):
        os.chown(link, -1, OTHERS)
        says = []
        for mode in (0o660, 0o620, 0o600):
            link.chmod(mode)
            words = ["-c", ALONE, str(link)]
            done = subprocess.run(
                [sys.executable, *words], capture_output=True, text=True, check=False, timeout=60
            )
            assert done.stdout.startswith("permission permission denied: "), done.stderr
            says.append(done.stdout)
    group = grp.getgrgid(OTHERS).gr_name
    assert f"sudo usermod -aG {group} nobody" in says[0]
    for said in says[1:]:
        assert "usermod" not in said and "only root" in said and "has access" in said


OTHERS = 1
"""A group that is on every system, that is not root's, and that nobody is in."""

ALONE = """
import asyncio, os, sys
from shoe_ctl.cli.doctor import _named, _try_all
from shoe_ctl.link.discovery import System

def tried(port):
    (found,) = asyncio.run(_try_all([(None, _named("reference", port))], 9, System(), None))
    return found.diagnosis

port = os.path.realpath(sys.argv[1])
tried("/dev/none")  # what is imported by then, nobody could read
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
found = tried(port)
print(found.cause, found.says)
"""


def test_without_anything_to_try_it_lists_and_is_content() -> None:
    done = run_shoectl("doctor")
    assert (done.code, done.err) == (0, "")
    assert "SERIAL PORT" in done.out or "no serial ports found" in done.out
    told = json.loads(run_shoectl("doctor", "--json").out)
    assert told["tried"] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--port", "/dev/ttyUSB0"], "--profile is missing"),
        (["--profile", "reference"], "--port is missing"),
        (["--profile", "none", "--port", "x"], "unknown profile 'none'"),
        (["--profile", "reference", "--port", "ftp://x"], "--port: got 'ftp://x'"),
        (["--config", "x.toml", "--profile", "reference"], "cannot be combined with --config"),
    ],
)
def test_wrong_usage_is_told_in_one_line(words: list[str], says: str) -> None:
    error = run_doctor(*words).exception
    assert isinstance(error, UsageError)
    assert says in str(error)
    assert "\n" not in str(error)


def test_a_port_that_no_table_has_is_wrong_usage(tmp_path: Path) -> None:
    file = config(tmp_path, ("bac-07", 'profile = "reference"', "/dev/a"))
    error = run_doctor("--config", file, "--port", "/dev/b").exception
    assert isinstance(error, UsageError)
    assert "have: /dev/a" in str(error)


def test_one_table_of_a_configuration_can_be_tried_alone(tmp_path: Path) -> None:
    file = config(
        tmp_path,
        ("bac-07", 'profile = "reference"', "/dev/none-a"),
        ("bac-08", 'profile = "angel_eye"\nbaud = 9600', "/dev/none-b"),
    )
    done = run_doctor("--config", file, "--port", "/dev/none-b", "--json")
    assert isinstance(done.exception, InputRefused)
    assert [tried["table"] for tried in json.loads(done.output)["tried"]] == ["bac-08"]


@pytest.mark.parametrize(
    ("shoe", "port", "says"),
    [
        ('profile = "angel_eye"\nbaud = 19200', "/dev/a", "baud: expected 4800 or 9600, not 19200"),
        ('profile = "angel_eye"\nbaud = 9600', "tcp://a:1", "baud: tcp://a:1 has none"),
    ],
)
def test_a_rate_that_cannot_be_is_a_wrong_configuration(
    tmp_path: Path, shoe: str, port: str, says: str
) -> None:
    error = run_doctor("--config", config(tmp_path, ("bac-07", shoe, port))).exception
    assert isinstance(error, UsageError)
    assert says in str(error)


def test_what_the_daemon_would_not_start_with_is_told_before_a_port_is_tried(
    tmp_path: Path,
) -> None:
    file = config(tmp_path, ("bac-07", 'profile = "bee_tek"', "/dev/none-a"))
    Path(file).write_text(Path(file).read_text().replace('"tiger"', '"fa_fa_fabulous_4"'))
    done = run_doctor("--config", file)
    assert isinstance(done.exception, UsageError)
    assert "cannot name the cards of element65" in str(done.exception)
    assert done.output == ""


def no_libusb() -> Any:
    raise PortError("a usb: port needs pyusb", "no_libusb")


def test_a_host_that_cannot_look_at_usb_says_so_and_that_it_cannot_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = examine([], 1, System(), no_libusb)
    assert (listed.usb, listed.usb_note) == ([], "a usb: port needs pyusb")
    monkeypatch.setattr("shoe_ctl.link.usb_discovery.libusb", no_libusb)
    done = run_doctor("--profile", "reference", "--port", "usb:SH-0042")
    assert isinstance(done.exception, EnvironmentFault)
    assert "a usb: port needs pyusb" in done.output


LONG = "usb-Silicon_Labs_CP2102N_USB_to_UART_Bridge_Controller_1a2b3c4d5e6f7a8b-if00-port0"
REPORT = Report(
    ports=[
        SerialFound(
            path="/dev/ttyUSB0",
            by_id=f"/dev/serial/by-id/{LONG}",
            card_shoe="/dev/card-shoe/SH-0042",
            identity=Identity(
                vendor_id="10c4",
                product_id="ea60",
                vendor="Silicon Labs",
                product="CP2102N USB to UART Bridge Controller, " + "long " * 20,
                serial="1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d",
            ),
            driver="cp210x",
            access=Access(may=False, group="card-shoe"),
        )
    ],
    usb=[
        UsbFound(
            node="/dev/bus/usb/001/007",
            identity=Identity(vendor_id="1209", product_id="0001", serial="SH-0043"),
            driver=None,
            access=Access(may=True),
        )
    ],
    usb_note=None,
    tried=[
        TriedPort(
            table="bac-07",
            port="/dev/card-shoe/SH-0042",
            profile="reference",
            diagnosis=Diagnosis(False, "silence", "silence: " + "nothing came in 5 s " * 8),
        )
    ],
    proc=Path("/nowhere"),
)


def test_a_person_reads_it_in_eighty_columns_and_can_copy_every_path() -> None:
    text = as_text(REPORT)
    lines = text.splitlines()
    assert all(len(line) <= COLUMNS for line in lines if LONG not in line)
    for path in ("/dev/ttyUSB0", LONG, "/dev/card-shoe/SH-0042", "/dev/bus/usb/001/007"):
        assert path in text
    assert "no: card-shoe" in text
    assert "10c4:ea60" in text
    assert "usb:SH-0043" in text
    assert lines[-3].startswith("FAILED: bac-07 /dev/card-shoe/SH-0042 (reference): silence")
    assert lines[-1].startswith("  ")


def test_a_program_reads_every_field_whole() -> None:
    told = json.loads(as_json(REPORT))
    (port,), (usb,), (tried,) = told["ports"], told["usb"], told["tried"]
    assert port["by_id"].endswith(LONG)
    assert (port["vendor_id"], port["serial"]) == ("10c4", "1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d")
    assert (port["may_open"], port["group"], port["held_by"]) == (False, "card-shoe", [])
    assert (usb["port"], usb["may_open"]) == ("usb:SH-0043", True)
    assert (tried["table"], tried["cause"], tried["device_id"]) == ("bac-07", "silence", None)


def test_the_page_says_what_every_cause_means() -> None:
    page = (ROOT / "docs/guides/doctor.md").read_text("utf-8")
    causes = [word for kind in get_args(Cause) for word in (get_args(kind) or [kind])]
    assert len(causes) > 20
    assert [cause for cause in causes if f"`{cause}`" not in page] == []


def test_help_says_what_a_shoe_is_sent() -> None:
    assert command.doctor.help is not None
    assert "hello_request, challenge" in command.doctor.help


IMPORTED = """
import sys
from shoe_ctl.cli.main import main
try:
    main()
except SystemExit as ended:
    heavy = {"apsw", "rich", "shoe_ctl.cli.table", "shoe_ctl.config.resolve", "transitions"}
    print(ended.code, sorted(heavy & sys.modules.keys()), file=sys.stderr)
"""


def test_without_a_configuration_nothing_is_imported_that_reads_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, "doctor"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == "0 []\n"
    assert done.stdout
