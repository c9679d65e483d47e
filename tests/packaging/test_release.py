"""`make release`: what it refuses, what it leaves behind, and that nothing is half done.

In: a small checkout with the project's version files and a Makefile that builds a file. Out: its
commits, its dist/, and what the tool says.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from shoe_testing.paths import ROOT

VERSION_FILES = (
    "pyproject.toml",
    "clients/python/pyproject.toml",
    "clients/typescript/package.json",
    "clients/typescript/package-lock.json",
)
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-12-01\n\n### Added\n\n* A shoe.\n"
MAKEFILE = """\
check same test:
\t@echo $@ >> ../ran
wheel deb:
\t@mkdir -p dist && sed -n 's/^version = //p' pyproject.toml > dist/$@.built
"""

pytestmark = pytest.mark.slow


@dataclass
class Checkout:
    """A checkout to release from."""

    root: Path

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.root), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, "utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"change {name}")

    def release(self) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, str(ROOT / "tools/release.py"), "--root", str(self.root)],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def ran(self) -> list[str]:
        path = self.root.parent / "ran"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "checkout")
    made.root.mkdir()
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.name", "A. Maker")
    made.git("config", "user.email", "maker@localhost")
    now = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    for name in VERSION_FILES:
        (made.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, made.root / name)
        text = (made.root / name).read_text("utf-8").replace(f'"{now}"', '"1.2.0.dev0"')
        text = text.replace(f'"{now.replace(".dev", "-dev.")}"', '"1.2.0-dev.0"')
        (made.root / name).write_text(text, "utf-8")
    (made.root / ".gitignore").write_text("dist/\n")
    (made.root / "CHANGELOG.md").write_text(CHANGELOG)
    made.write("Makefile", MAKEFILE)
    return made


def test_a_release_sets_the_version_builds_twice_and_names_the_tag(checkout: Checkout) -> None:
    before = checkout.git("rev-parse", "HEAD")
    code, out, err = checkout.release()
    assert code == 0, err
    assert checkout.ran() == ["check", "same", "test"]
    assert out.splitlines() == [
        "1.2.0 of 2026-12-01, built twice with the same bytes, in dist/:",
        "  deb.built",
        "  wheel.built",
        'tag it: git tag -a v1.2.0 -m "shoe-ctl 1.2.0"',
    ]
    assert checkout.git("log", "-1", "--format=%s %P") == f"Release 1.2.0 {before}"
    assert (checkout.root / "dist/wheel.built").read_text() == '"1.2.0"\n'
    assert sorted(checkout.git("diff", "--name-only", before).split()) == sorted(VERSION_FILES)
    assert checkout.git("diff", before, "--", VERSION_FILES[2]).count('+  "version": "1.2.0"') == 1
    lock = checkout.git("diff", before, "--", VERSION_FILES[3])
    assert lock.count('"version": "1.2.0"') == 2
    assert checkout.git("status", "--porcelain") == ""


def test_a_release_that_was_made_is_built_again_without_another_commit(checkout: Checkout) -> None:
    assert checkout.release()[0] == 0
    made = checkout.git("rev-parse", "HEAD")
    code, out, _ = checkout.release()
    assert (code, checkout.git("rev-parse", "HEAD")) == (0, made)
    assert "git tag -a v1.2.0" in out


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("CHANGELOG.md", CHANGELOG.replace("[1.2.0] - 2026-12-01", "[1.1.0] - 2026-12-01"),
         'CHANGELOG.md: no section "## [1.2.0] - '),
        ("CHANGELOG.md", CHANGELOG.replace("2026-12-01", "soon"), "is no date like 2026-12-01"),
        ("CHANGELOG.md", CHANGELOG.replace("[Unreleased]\n", "[Unreleased]\n\n* Late.\n"),
         "CHANGELOG.md: lines stand above 1.2.0"),
        ("pyproject.toml", '[project]\nversion = "1.2"\n', "version '1.2' is not like 0.3.0"),
    ],
)  # fmt: skip
def test_a_checkout_that_is_not_ready_is_refused_in_one_line_before_anything_runs(
    checkout: Checkout, name: str, text: str, says: str
) -> None:
    checkout.write(name, text)
    code, out, err = checkout.release()
    assert (code, out, checkout.ran()) == (1, "", [])
    assert says in err and len(err.splitlines()) == 1


def test_a_file_that_is_not_committed_is_refused_by_name(checkout: Checkout) -> None:
    (checkout.root / "notes.txt").touch()
    code, _, err = checkout.release()
    assert (code, checkout.ran()) == (1, [])
    assert err == "release: not committed: notes.txt; commit or remove it first\n"


@pytest.mark.parametrize(
    ("makefile", "says"),
    [
        (MAKEFILE.replace("echo $@ >> ../ran", "test $@ != same"), "make same failed"),
        (MAKEFILE.replace("> dist", "> dist/$@.built && pwd >> dist"), "two builds of one commit"),
        (MAKEFILE.replace("mkdir -p dist", "false"), "make wheel deb failed"),
    ],
)
def test_a_release_that_fails_changes_nothing(checkout: Checkout, makefile: str, says: str) -> None:
    checkout.write("Makefile", makefile)
    before = checkout.git("rev-parse", "HEAD")
    code, out, err = checkout.release()
    assert (code, out) == (1, "")
    assert says in err and err.splitlines()[-1].endswith("nothing was changed")
    assert checkout.git("rev-parse", "HEAD") == before
    assert checkout.git("status", "--porcelain") == ""
    assert not (checkout.root / "dist").exists()


def test_an_unpacked_archive_is_refused(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    code, _, err = Checkout(tmp_path).release()
    assert code == 1 and err.endswith("no git checkout; release from a clone\n")
