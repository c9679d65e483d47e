"""The systemd unit: valid, hardened, and in step with the daemon's own exit codes and folders.

In: the files of systemd/. Out: what systemd itself says of them. Must not know: how units work.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shoe_ctl.errors import EnvironmentFault, InputRefused, JournalError, UsageError
from shoe_testing.paths import ROOT

FOLDER = ROOT / "systemd"
UNIT = FOLDER / "shoectl@.service"
INSTALLED = "/opt/shoe-ctl/bin/shoectl"
EXPOSURE_TENTHS = 15
"""The most that ``systemd-analyze security`` may say, of 100. What is left: the host's network
and devices (a shoe hangs on them), chown (the socket's group), /proc (the host's boot id)."""


def tool(name: str) -> str:
    """A tool of systemd's; where it is missing its tests are skipped, but not in CI."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is missing: install systemd")
        pytest.skip(f"{name} is not here: install systemd")
    return found


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def assigned(key: str, unit: Path = UNIT) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit.read_text("utf-8"), re.MULTILINE)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit as it would be installed here: with a command that is there."""
    text = UNIT.read_text("utf-8")
    assert text.count(INSTALLED) == 1
    installed = tmp_path / UNIT.name
    shoectl = Path(sys.executable).parent / "shoectl"
    installed.write_text(text.replace(INSTALLED, str(shoectl)), "utf-8")
    return installed


def test_systemd_finds_nothing_wrong_with_it(unit: Path) -> None:
    done = run(tool("systemd-analyze"), "verify", str(unit))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_systemd_would_find_a_fault(unit: Path) -> None:
    unit.write_text(unit.read_text("utf-8").replace("Type=notify", "Type=notifies"), "utf-8")
    assert "notifies" in run(tool("systemd-analyze"), "verify", str(unit)).stderr


@pytest.mark.parametrize("opened_to", ["broker.conf", "device-server.conf"])
def test_with_the_network_of_a_broker_or_a_device_server_it_is_still_valid(
    unit: Path, opened_to: str
) -> None:
    more = unit.parent / "shoectl@.service.d"
    more.mkdir()
    shutil.copy(FOLDER / opened_to, more)
    done = run(tool("systemd-analyze"), "verify", str(unit))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def security(unit: Path, threshold: int) -> subprocess.CompletedProcess[str]:
    return run(
        tool("systemd-analyze"), "security", "--offline=true", "--no-pager",
        f"--threshold={threshold}", str(unit),
    )  # fmt: skip


def test_its_exposure_stays_below_the_threshold(unit: Path) -> None:
    done = security(unit, EXPOSURE_TENTHS)
    assert done.returncode == 0, done.stdout


def test_a_unit_without_its_hardening_is_above_the_threshold(unit: Path) -> None:
    kept = re.sub(r"(?m)^(Protect|Restrict|SystemCall|Capability)\w+=.*\n", "", unit.read_text())
    unit.write_text(kept, "utf-8")
    assert security(unit, EXPOSURE_TENTHS).returncode != 0


def test_what_does_not_get_right_by_itself_is_not_started_again() -> None:
    (never,) = assigned("RestartPreventExitStatus")
    assert {int(code) for code in never.split()} == {InputRefused.exit_code, UsageError.exit_code}
    assert EnvironmentFault.exit_code == JournalError.exit_code == 3
    assert assigned("Restart") == ["on-failure"]
    (pause,) = assigned("RestartSec")
    assert int(pause.removesuffix("s")) >= 5


def test_it_never_gives_up_and_a_shoe_that_is_away_does_not_end_it() -> None:
    assert assigned("StartLimitIntervalSec") == ["0"]
    (command,) = assigned("ExecStart")
    assert "--wait" in command.split()


def test_a_reload_opens_the_files_of_sinks_anew() -> None:
    assert assigned("ExecReload") == ["/bin/kill -HUP $MAINPID"]


def test_it_runs_as_nobody_special_and_waits_to_be_told() -> None:
    assert assigned("Type") == ["notify"]
    assert assigned("User") == ["shoectl"]
    assert assigned("CapabilityBoundingSet") == [""]
    assert int(assigned("WatchdogSec")[0].removesuffix("s")) <= 60


def test_what_one_daemon_leaves_beside_its_socket_is_there_for_the_next() -> None:
    assert assigned("RuntimeDirectory") == ["shoectl/%i"]
    assert assigned("RuntimeDirectoryPreserve") == ["yes"]


def test_the_boot_id_that_the_daemon_reads_is_not_hidden_from_it() -> None:
    assert assigned("ProcSubset") == []


def calls_of(group: str) -> set[str]:
    """The system calls of a group and of the groups in it."""
    done = run(tool("systemd-analyze"), "syscall-filter", group)
    assert done.returncode == 0, done.stderr
    found: set[str] = set()
    for line in done.stdout.splitlines()[1:]:
        word = line.strip()
        found |= calls_of(word) if word.startswith("@") else {word}
    return found


def test_what_tells_the_daemon_of_a_shoes_return_is_left_to_it() -> None:
    first, *others = assigned("SystemCallFilter")
    taken = {call for word in others[0].removeprefix("~").split() for call in calls_of(word)}
    watching = {"inotify_init1", "inotify_add_watch"}
    assert others[0].startswith("~")
    assert watching <= calls_of(first)
    assert not watching & taken
    # libusb is told by the kernel over netlink what is plugged in; both look into the host's /dev
    (families,) = assigned("RestrictAddressFamilies")
    assert "AF_NETLINK" in families.split()
    for hides in ("PrivateDevices", "PrivateNetwork"):
        assert assigned(hides) == []
    assert "char-usb_device rw" in assigned("DeviceAllow")


def test_user_and_groups_are_those_of_the_unit() -> None:
    path = FOLDER / "shoectl.sysusers.conf"
    done = run(tool("systemd-sysusers"), "--dry-run", str(path))
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    assert {row[1] for row in rows if row[0] == "u"} == set(assigned("User"))
    assert {row[1] for row in rows if row[0] == "g"} == set(assigned("SupplementaryGroups"))


def test_the_page_on_installing_has_every_file_and_folder() -> None:
    page = (ROOT / "docs/guides/install.md").read_text("utf-8")
    for path in [*FOLDER.iterdir(), *(ROOT / "udev").iterdir()]:
        assert f"{path.parent.name}/{path.name}" in page
    for folder in ("/etc/shoectl", "/var/lib/shoectl", "/run/shoectl", INSTALLED):
        assert folder in page
