"""What the Debian package is made of, as far as one sees it without building it."""

from __future__ import annotations

import importlib.util
import itertools
import os
import pwd
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from shoe_ctl.config.schema import load
from shoe_testing.markdown import dead_links
from shoe_testing.paths import ROOT

FOLDER = ROOT / "debian"
UNIT = (ROOT / "systemd/shoectl@.service").read_text("utf-8")
POSTRM = (FOLDER / "postrm").read_text("utf-8")
PAGES = {
    name: (ROOT / f"docs/guides/{name}.md").read_text("utf-8") for name in ("install", "upgrade")
}


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("debian_build", FOLDER / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_file_of_the_host_is_installed(builder: ModuleType) -> None:
    there = {
        str(path.relative_to(ROOT))
        for folder in ("systemd", "udev")
        for path in (ROOT / folder).iterdir()
    }
    assert there <= builder.INSTALLED.keys()
    assert [name for name in builder.INSTALLED if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("name", ["preinst", "postinst", "prerm", "postrm"])
def test_a_script_of_the_package_is_one_that_any_shell_reads(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    assert text.startswith("#!/bin/sh\n")
    assert "\nset -e\n" in text
    done = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_scripts_of_the_package_agree_with_the_unit_and_the_users(builder: ModuleType) -> None:
    (command,) = re.findall(r"(?m)^ExecStart=(\S+)", UNIT)
    assert command == f"/{builder.HOME}/bin/shoectl"
    users = (ROOT / "systemd/shoectl.sysusers.conf").read_text("utf-8")
    made = set(re.findall(r"(?m)^[gu] (\S+)", users))
    purge = (FOLDER / "postrm").read_text("utf-8")
    (groups,) = re.findall(r"for group in (.+); do", purge)
    assert made == set(groups.split())
    (state,) = re.findall(r"(?m)^StateDirectory=(\w+)/%i$", UNIT)
    assert f"rm -rf /run/{state}\n" in purge
    assert f"JOURNALS=/var/lib/{state}\n" in purge


CONFMODULE = """
db_input() { echo "asked $2 at $1" >>"$TOLD"; }
db_go() { :; }
db_get() { RET=$ANSWER; }
db_purge() { :; }
db_stop() { :; }
"""


def purged(root: Path, *, answer: str | None, journal: bool = True, key: bool = False) -> list[str]:
    """What the script of the package does at a purge, on a system that is a folder.

    ``answer`` is debconf's; None where there is no debconf. Returns what was asked and removed.
    """
    for folder in (
        "etc/shoectl",
        "var/lib/shoectl/main",
        "run/shoectl",
        "usr/share/debconf",
        "bin",
    ):
        (root / folder).mkdir(parents=True)
    (root / "etc/shoectl/main.toml").touch()
    if key:
        (root / "etc/shoectl/main.keys").write_text("secret")
    if journal:
        (root / "var/lib/shoectl/main/journal.db").write_text("evidence")
    else:
        (root / "var/lib/shoectl/main").rmdir()
    if answer is not None:
        (root / "usr/share/debconf/confmodule").write_text(CONFMODULE)
    told = root / "told"
    told.touch()
    for name in ("getent", "userdel", "groupdel"):
        command = root / "bin" / name
        command.write_text(f'#!/bin/sh\n[ {name} = getent ] || echo "{name} $1" >>"$TOLD"\n')
        command.chmod(0o755)
    script = re.sub(r"(?<![\w$.*])/(etc|var|run|opt|usr)\b", rf"{root}/\1", POSTRM)
    done = subprocess.run(
        ["sh", "-s", "purge"], input=script, text=True, capture_output=True, check=False,
        env={"PATH": f"{root / 'bin'}:/usr/bin:/bin", "TOLD": str(told), "ANSWER": answer or ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return told.read_text().splitlines()


ASKED = "asked shoe-ctl/erase_journals at high"
USERS = ["userdel shoectl", "groupdel shoectl", "groupdel card-shoe"]


def test_a_purge_asks_and_erases_journals_where_somebody_says_so(tmp_path: Path) -> None:
    assert purged(tmp_path, answer="true") == [ASKED, *USERS]
    assert not (tmp_path / "var/lib/shoectl").exists()
    assert not (tmp_path / "etc/shoectl").exists()


@pytest.mark.parametrize("answer", ["false", "", None], ids=["no", "unanswered", "no debconf"])
def test_a_purge_leaves_journals_and_their_owner_unless_somebody_says_so(
    tmp_path: Path, answer: str | None
) -> None:
    assert purged(tmp_path, answer=answer) == ([] if answer is None else [ASKED])
    assert (tmp_path / "var/lib/shoectl/main/journal.db").read_text() == "evidence"
    assert not (tmp_path / "etc/shoectl/main.toml").exists()


@pytest.mark.parametrize("answer", ["false", "", None], ids=["no", "unanswered", "no debconf"])
def test_a_purge_leaves_the_keys_of_shoes_unless_somebody_says_so(
    tmp_path: Path, answer: str | None
) -> None:
    told = purged(tmp_path, answer=answer, journal=False, key=True)
    assert told == ([] if answer is None else [ASKED])
    assert [one.name for one in (tmp_path / "etc/shoectl").iterdir()] == ["main.keys"]


def test_a_purge_erases_the_keys_of_shoes_where_somebody_says_so(tmp_path: Path) -> None:
    assert purged(tmp_path, answer="true", key=True) == [ASKED, *USERS]
    assert not (tmp_path / "etc/shoectl").exists()


def test_a_purge_without_a_journal_asks_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    assert purged(tmp_path, answer="false", journal=False) == USERS
    assert not (tmp_path / "var/lib/shoectl").exists()


def test_what_a_purge_asks_is_answered_with_no_unless_somebody_answers() -> None:
    text = (FOLDER / "templates").read_text("utf-8")
    keys = dict(re.findall(r"(?m)^(\w+): (.+)$", text))
    assert keys["Template"] == "shoe-ctl/erase_journals"
    assert (keys["Type"], keys["Default"]) == ("boolean", "false")
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_unit_names_a_page_that_is_installed(builder: ModuleType) -> None:
    (page,) = re.findall(r"(?m)^Documentation=file:(\S+)$", UNIT)
    assert Path(page).relative_to(f"/{builder.DOC}") in builder.documents(ROOT)


def dead_links_below(folder: Path) -> list[tuple[str, str]]:
    pages = sorted(folder.rglob("*.md"))
    assert len(pages) > 50
    return [(str(page.relative_to(folder)), link) for page in pages for link in dead_links(page)]


def test_every_link_of_the_installed_pages_leads_somewhere(
    builder: ModuleType, tmp_path: Path
) -> None:
    # What links lead to among the modules is there as it is in the project.
    site_packages = tmp_path / builder.SITE_PACKAGES
    site_packages.mkdir(parents=True)
    (site_packages / "simulators").symlink_to(ROOT / "simulators")
    builder.stage_pages(ROOT, tmp_path)
    for source, target in builder.INSTALLED.items():
        builder.copy(ROOT / source, tmp_path / target)
    link = tmp_path / builder.DOC / builder.SCENARIOS
    aim = link.readlink()
    link.unlink()
    link.symlink_to(tmp_path / aim.relative_to("/"))
    assert any(link.glob("*.toml"))
    assert dead_links_below(tmp_path / builder.DOC) == []


def test_every_link_of_pages_that_were_copied_by_hand_leads_somewhere(
    builder: ModuleType, tmp_path: Path
) -> None:
    (command,) = re.findall(rf"(?m)^sudo (cp -r --parents .*) /{builder.DOC}/$", PAGES["install"])
    subprocess.run(["sh", "-c", f'{command} "$0"', tmp_path], cwd=ROOT, check=True)
    assert dead_links_below(tmp_path) == []


def test_the_example_configuration_can_be_served_by_the_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pwd, "getpwnam", lambda _: pwd.getpwuid(os.getuid()))
    path = tmp_path / "main.toml"
    path.write_text((FOLDER / "main.toml").read_text("utf-8"), "utf-8")
    assert [table.id for table in load(path).table] == ["bac-01"]
    written = re.findall(r'(?m)^path = "(.+)/[^/]+"$', path.read_text("utf-8"))
    assert set(written) == {"/var/lib/shoectl/main", "/run/shoectl/main"}


def test_the_pages_name_each_file_that_an_installer_meets(builder: ModuleType) -> None:
    for name in builder.INSTALLED.values():
        if not name.startswith(str(builder.DOC)):
            assert f"/{name}" in PAGES["install"], name
    assert f"/{builder.DOC}/examples/main.toml" in PAGES["install"]
    assert "debian/main.toml" in PAGES["install"]


def test_the_pages_warn_that_a_purge_removes_the_journals() -> None:
    (row,) = [line for line in PAGES["upgrade"].splitlines() if "apt purge" in line]
    assert "/var/lib/shoectl" in row


def test_debian_sorts_what_is_under_development_before_the_release(builder: ModuleType) -> None:
    versions = ["0.2.9-1", "0.3.0~dev0-1", "0.3.0-1", "0.3.1~dev1-1", "0.3.1-1"]
    made = [builder.debian_version(each, "1") for each in ("0.3.0.dev0", "0.3.0", "0.3.1.dev1")]
    assert made == versions[1:4]
    for older, newer in itertools.pairwise(versions):
        subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)
