"""The Debian package: what it installs, the round that goes on over an upgrade, what it leaves.

In: a minimal Debian in a folder of the test's own. Must not know: how the package is built.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoe_testing.debian_root import Machine, booted_machine, machine, made_root, need_tools, until
from shoe_testing.markdown import dead_links
from shoe_testing.paths import ROOT

pytestmark = [pytest.mark.deb, pytest.mark.slow]

EPOCH = "1750000000"
CONFIG = "/etc/shoectl/main.toml"
JOURNAL = "/var/lib/shoectl/main/journal.db"
SHOE = "/run/shoe/port"
UNIT = "shoectl@main.service"
VERSION = re.compile(r'(?m)^version = "([^"]+)"$')


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    need_tools()
    made_root()


def build(root: Path, out: Path, *words: str, **variables: str) -> Path:
    """Build the package of a project that has been through `make wheel`."""
    done = subprocess.run(
        [sys.executable, "debian/build.py", "--root", str(root), "--out", str(out), *words],
        cwd=ROOT,
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the next version."""
    root = tmp_path_factory.mktemp("newer")
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    (version,) = VERSION.findall(text)
    # The release is newer than what came before it, and 0.3.0.1 newer than 0.3.0.
    released, under_development, _ = version.partition(".dev")
    later = released if under_development else f"{released}.1"
    (root / "pyproject.toml").write_text(VERSION.sub(f'version = "{later}"', text), "utf-8")
    packages = ("firmware_proto", "shoe_bench", "shoe_ctl", "simulators")
    for folder in (*packages, "systemd", "udev", "docs", "debian", "tools"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [*ROOT.glob("*.md"), ROOT / "LICENSE"]:
        shutil.copy(path, root)
    (root / "tests").mkdir()
    shutil.copy(ROOT / "tests/README.md", root / "tests")
    (root / "build").mkdir()
    for made in ("wheels", "man", "completion"):
        if (ROOT / "build" / made).is_dir():
            shutil.copytree(ROOT / "build" / made, root / "build" / made)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"],
        cwd=root, check=True, capture_output=True,
    )  # fmt: skip
    shutil.copy(
        ROOT / f"dist/shoe_ctl-{version}.cdx.json", root / f"dist/shoe_ctl-{later}.cdx.json"
    )
    return build(root, root / "dist")


@pytest.fixture
def booted(tmp_path: Path) -> Iterator[Machine]:
    with booted_machine(tmp_path) as made:
        yield made


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Machine]:
    with machine(tmp_path) as made:
        yield made


def configure(host: Machine) -> None:
    """As the page on installing says, with the shipped example; the shoe is a simulated one."""
    example = host.path("/usr/share/doc/shoe-ctl/examples/main.toml").read_text("utf-8")
    assert "/dev/card-shoe/SH-0042" in example
    host.path("/srv/main.toml").write_text(example.replace("/dev/card-shoe/SH-0042", SHOE))
    host.run("install", "-o", "root", "-g", "shoectl", "-m", "640", "/srv/main.toml", CONFIG)
    host.path("/srv/main.toml").unlink()


def plug_in_a_shoe(host: Machine) -> None:
    """A simulated shoe, as a service of the daemon's user. It draws a card whenever it is armed."""
    host.run(
        *(
            "systemd-run",
            "--unit=shoe",
            "--property=User=shoectl",
            "--property=RuntimeDirectory=shoe",
        ),
        *("shoe-sim", "serve", "--profile", "reference", "--port", f"pty:{SHOE}", "--seed", "7"),
        *("--pace-ms", "20", "--truth", "/run/shoe/truth.jsonl"),
    )
    until(lambda: host.start("test", "-L", SHOE).returncode == 0)


def table(host: Machine, *words: str) -> None:
    host.run("shoectl", "table", *words, "--config", CONFIG)


def status(host: Machine) -> dict[str, Any] | None:
    """The table's status, or nothing where no daemon answers."""
    done = host.start("shoectl", "table", "status", "--json", "--config", CONFIG)
    if done.returncode:
        return None
    only: dict[str, Any]
    (only,) = json.loads(done.stdout)["tables"]
    return only


def reached(host: Machine, state: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        now = status(host)
        return now if now and now["state"] == state and now["link"] == "up" else None

    found: dict[str, Any] = until(look)
    return found


def lines(host: Machine, audience: str) -> list[dict[str, Any]]:
    text = host.path(f"/var/lib/shoectl/main/{audience}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"].endswith(kind)]


def deal_on(host: Machine, round_id: str) -> None:
    """Do whatever the table says is next until the round is settled."""

    def step() -> bool:
        now = status(host)
        if now is None or now["round"] is None or now["round"]["round_id"] != round_id:
            return now is not None
        if (ahead := now["next"]) and ahead.get("command"):
            given = [f"{key}={value}" for key, value in ahead.get("args", {}).items()]
            host.start("shoectl", "table", ahead["command"], *given, "--config", CONFIG)
        return False

    until(step)


def test_the_same_inputs_build_the_same_package(package: Path, tmp_path: Path) -> None:
    temporary = tmp_path / ("a-long-name-" * 12)  # longer than the kernel takes behind "#!"
    temporary.mkdir()
    before = os.umask(0o077)
    try:
        again = build(ROOT, tmp_path, TZ="Asia/Macau", LC_ALL="C", TMPDIR=str(temporary))
    finally:
        os.umask(before)
    assert again.name == package.name
    assert files_in(again) ^ files_in(package) == set()
    assert again.read_bytes() == package.read_bytes()


def shown_version(host: Machine) -> str:
    """The installed program's version, as Debian writes it."""
    return host.run("shoectl", "--version").split()[2].replace(".dev", "~dev")


def files_in(package: Path) -> set[str]:
    """A line for each file of a package: its MD5 and its name."""
    told = subprocess.run(
        ("dpkg-deb", "--info", package, "md5sums"), capture_output=True, check=True
    )
    return set(told.stdout.decode().splitlines())


def test_it_installs_all_that_a_host_needs(host: Machine, package: Path) -> None:
    host.install(package)
    assert shown_version(host) in package.name
    assert "tiger" in host.run("shoectl", "games")
    assert host.run("shoe-sim", "--version")
    assert host.run("dpkg", "--verify", "shoe-ctl") == ""
    assert host.run("id", "-nG", "shoectl").split() == ["shoectl", "card-shoe"]
    unit = host.path("/usr/lib/systemd/system/shoectl@.service").read_text("utf-8")
    (page,) = re.findall(r"(?m)^Documentation=file:(\S+)$", unit)
    assert host.path(page).is_file()
    host.run("systemd-analyze", "verify", "--man=no", "shoectl@main.service")
    for name in (
        "/usr/lib/udev/rules.d/70-card-shoe.rules",
        "/etc/udev/rules.d/60-card-shoe-site.rules",
        "/usr/share/doc/shoe-ctl/copyright",
        "/usr/share/doc/shoe-ctl/shoe-ctl.cdx.json",
    ):
        assert host.path(name).is_file(), name
    assert host.run("stat", "-c", "%U %G %a", "/etc/shoectl") == "root shoectl 750\n"


def test_pages_that_are_installed_lead_to_each_other(host: Machine, package: Path) -> None:
    host.install(package)
    doc = host.path("/usr/share/doc/shoe-ctl")
    pages = list(doc.rglob("*.md"))
    assert len(pages) > 50
    # This one leads to the modules by a link from the system's root.
    folder = "simulators/scenarios/"
    dangling = [
        (str(page.relative_to(doc)), link)
        for page in pages
        for link in dead_links(page)
        if not link.endswith(folder)
    ]
    assert dangling == []
    assert "link_lost_resumes.toml" in host.run("ls", f"/usr/share/doc/shoe-ctl/{folder}")


def test_man_pages_and_completion_are_where_shells_and_man_look(
    host: Machine, package: Path
) -> None:
    host.install(package)
    pages = sorted((ROOT / "build/man").glob("*.1"))
    installed = host.path("/usr/share/man/man1")
    for page in pages:
        assert (installed / f"{page.name}.gz").is_file()
    for shell, folder in (
        ("bash", "bash-completion/completions"),
        ("zsh", "zsh/vendor-completions"),
        ("fish", "fish/vendor_completions.d"),
    ):
        for path in (ROOT / "build/completion" / shell).glob("*"):
            assert (host.path("/usr/share") / folder / path.name).is_file()


def test_a_round_goes_on_over_an_upgrade_and_nothing_is_lost(
    booted: Machine, package: Path, newer: Path
) -> None:
    booted.install(package)
    configure(booted)
    plug_in_a_shoe(booted)
    booted.run("systemctl", "enable", "--now", UNIT)
    reached(booted, "idle")
    table(booted, "place_your_bets")
    table(booted, "no_more_bets")
    before = reached(booted, "revealing")
    table(booted, "expose", "hand=player")

    booted.install(newer)
    assert shown_version(booted) in newer.name
    after = reached(booted, "revealing")
    round_id = before["round"]["round_id"]
    assert after["round"]["round_id"] == round_id
    shown = after["round"]["hands"]["player"]
    assert len(shown) == 2 and not any(card["face_down"] for card in shown)
    started = booted.run("journalctl", "--unit", UNIT, "--output=cat", "--grep=tables are served")
    assert len(started.splitlines()) == 2

    deal_on(booted, round_id)
    booted.run("systemctl", "stop", UNIT)
    public, restricted = lines(booted, "public"), lines(booted, "restricted")
    for stream in (public, restricted):
        numbers = [int(re.findall(r"\d+$", event["id"])[0]) for event in stream]
        assert numbers == list(range(1, len(numbers) + 1))
    (outcome,) = of_type(public, "round.outcome")
    assert outcome["data"]["round_id"] == round_id
    assert len(of_type(public, "round.settled")) == 1
    told = outcome["data"]
    drawn = [event["data"]["card"] for event in of_type(restricted, "round.card_drawn")]
    assert sorted(drawn) == sorted(told["player"]["cards"] + told["banker"]["cards"])
    truth = [json.loads(line) for line in booted.run("cat", "/run/shoe/truth.jsonl").splitlines()]
    assert drawn == [each["card"] for each in truth if "card" in each]
    assert [event["data"]["reason"] for event in of_type(public, "table.halted")] == ["link_lost"]
    assert len(of_type(public, "table.resumed")) == 1
    booted.run("shoectl", "verify", JOURNAL)
    booted.run("shoectl", "replay", JOURNAL)


def test_an_upgrade_leaves_a_daemon_stopped_that_was_stopped(
    booted: Machine, package: Path, newer: Path
) -> None:
    booted.install(package)
    configure(booted)
    booted.install(newer)
    assert booted.start("systemctl", "is-active", UNIT).stdout == "inactive\n"


def erase_journals(on: Machine) -> None:
    """Answer what a purge asks, as an administrator does who prepares an installation."""
    answer = "echo shoe-ctl shoe-ctl/erase_journals boolean true | debconf-set-selections"
    on.run("sh", "-c", answer)


def test_a_purge_that_nobody_answers_leaves_the_journals_with_their_owner(
    host: Machine, package: Path
) -> None:
    host.install(package)
    configure(host)
    host.run("install", "-d", "-o", "shoectl", "-g", "shoectl", "/var/lib/shoectl/main")
    host.path(JOURNAL).write_bytes(b"evidence")
    host.run("dpkg", "--purge", "shoe-ctl")
    assert host.path(JOURNAL).read_bytes() == b"evidence"
    assert host.run("id", "-un", "shoectl") == "shoectl\n"
    assert not host.path(CONFIG).exists()
    host.install(package)
    assert host.path(JOURNAL).read_bytes() == b"evidence"


def test_a_purge_stops_the_daemon_and_systemd_knows_nothing_of_it(
    booted: Machine, package: Path
) -> None:
    booted.install(package)
    configure(booted)
    booted.run("systemctl", "enable", "--now", UNIT)
    assert booted.run("pgrep", "-u", "shoectl")
    erase_journals(booted)
    booted.run("dpkg", "--purge", "shoe-ctl")
    assert booted.start("pgrep", "-f", "shoectl").returncode == 1
    assert booted.start("getent", "passwd", "shoectl").returncode == 2
    assert booted.start("getent", "group", "card-shoe").returncode == 2
    assert booted.start("systemctl", "cat", UNIT).returncode != 0
    assert booted.run("find", "/etc", "/run", "/var/lib", "/opt", "-name", "*shoe*") == ""


def test_an_upgrade_keeps_what_a_site_has_changed(
    host: Machine, package: Path, newer: Path
) -> None:
    host.install(package)
    configure(host)
    rules = host.path("/etc/udev/rules.d/60-card-shoe-site.rules")
    rules.write_text('SUBSYSTEM=="tty", KERNEL=="ttyS0", ENV{CARD_SHOE}="SH-0044"\n')
    configured = host.path(CONFIG).read_text("utf-8")
    host.install(newer)
    assert "SH-0044" in rules.read_text("utf-8")
    assert host.path(CONFIG).read_text("utf-8") == configured
    assert host.run("stat", "-c", "%U %G %a", CONFIG) == "root shoectl 640\n"


def test_removing_it_keeps_the_journal_and_purging_it_leaves_no_trace(
    host: Machine, package: Path
) -> None:
    before = host.contents()
    host.install(package)
    configure(host)
    host.run("install", "-d", "-o", "shoectl", "-g", "shoectl", "/var/lib/shoectl/main")
    host.path(JOURNAL).write_bytes(b"evidence")
    wants = host.path(f"/etc/systemd/system/multi-user.target.wants/{UNIT}")
    wants.symlink_to("/usr/lib/systemd/system/shoectl@.service")
    drop_in = host.path(f"/etc/systemd/system/{UNIT}.d")
    drop_in.mkdir()
    (drop_in / "override.conf").write_text("[Service]\n")
    # What another interpreter caches beside the sources is nothing that dpkg knows of.
    (site,) = host.path("/opt/shoe-ctl/lib").glob("python3*/site-packages")
    inside = f"/{site.relative_to(host.folder)}/shoe_ctl"
    host.run("/opt/shoe-ctl/bin/python", "-m", "compileall", "-q", "-o", "1", inside)

    host.run("dpkg", "--remove", "shoe-ctl")
    assert host.path(JOURNAL).read_bytes() == b"evidence"
    assert host.path(CONFIG).is_file()
    assert host.run("id", "-un", "shoectl") == "shoectl\n"
    assert not host.path("/opt/shoe-ctl").exists()
    assert not host.path("/usr/bin/shoectl").is_symlink()

    erase_journals(host)
    host.run("dpkg", "--purge", "shoe-ctl")
    after = host.contents()
    assert {name for name in after if name not in before} == set()
    assert {name for name in before if name not in after} == set()
    assert {name for name in before if before[name] != after[name]} == set()


def test_an_environment_that_was_made_by_hand_is_not_written_over(
    host: Machine, package: Path
) -> None:
    by_hand = host.path("/opt/shoe-ctl")
    by_hand.mkdir(parents=True)
    (by_hand / "pyvenv.cfg").write_text("home = /usr/bin\n")
    shutil.copy(package, host.path("/srv"))
    done = host.start("dpkg", "--install", f"/srv/{package.name}")
    assert done.returncode != 0
    assert "sudo mv /opt/shoe-ctl /opt/shoe-ctl.old" in done.stderr
    assert (by_hand / "pyvenv.cfg").is_file()
    assert not host.path("/usr/bin/shoectl").is_symlink()
