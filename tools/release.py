"""Make a release: check, set the version, build everything twice, compare, and name the tag.

``make release`` runs it in a checkout. In: a clean tree whose changelog has the version's section
with its date. Out: a commit that sets the version, and dist/ with what was built of it: wheel,
source archive, Debian package, bill of materials. Nothing is changed before all of it was built
twice with the same bytes; nothing is published here.
"""

from __future__ import annotations

import argparse
import filecmp
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEFORE = (("check",), ("same",), ("test",))
"""What a release must pass, as `make` targets, in this order."""

BUILT = ("wheel", "deb")
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(\.dev(\d+))?")
UNRELEASED = "## [Unreleased]"


class ReleaseRefused(Exception):
    """Something speaks against the release; one line says what, and what to do."""


def read_version(root: Path) -> str:
    """Return the version that the project has now."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["version"])


def release_of(version: str) -> str:
    """Return the version that is released next: 0.3.0 of 0.3.0.dev0, and of 0.3.0 itself.

    Raises:
        ReleaseRefused: the version is not of this form.
    """
    match = VERSION.fullmatch(version)
    if match is None:
        raise ReleaseRefused(f"pyproject.toml: version {version!r} is not like 0.3.0 or 0.3.0.dev0")
    return ".".join(match.group(1, 2, 3))


def check_tree(root: Path) -> None:
    """Check that git tracks all that lies here, as it lies here.

    Raises:
        ReleaseRefused: a file is changed or not tracked, or this is no checkout.
    """
    try:
        changed = ask_git(root, "status", "--porcelain").splitlines()
    except (OSError, subprocess.CalledProcessError):
        raise ReleaseRefused(f"{root}: no git checkout; release from a clone") from None
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise ReleaseRefused(f"not committed: {changed[0][3:]}{more}; commit or remove it first")


def check_changelog(text: str, version: str) -> date:
    """Return the date of the version's section in the changelog.

    Raises:
        ReleaseRefused: there is no such section, it has no date, or lines wait above it.
    """
    dated = dict(re.findall(r"(?m)^## \[([^]]+)\] - (\S+)$", text))
    if version not in dated:
        raise ReleaseRefused(
            f'CHANGELOG.md: no section "## [{version}] - {date.today().isoformat()}"; '  # noqa: DTZ011 - the date where it is written
            f"give {UNRELEASED[3:]} this name"
        )
    try:
        when = date.fromisoformat(dated[version])
    except ValueError:
        raise ReleaseRefused(
            f"CHANGELOG.md: {dated[version]!r} of {version} is no date like 2026-12-01"
        ) from None
    above = text.partition(f"\n## [{version}]")[0]
    if "\n* " in above or "\n## [" in above.replace(f"\n{UNRELEASED}", ""):
        raise ReleaseRefused(
            f"CHANGELOG.md: lines stand above {version}; move them into its section"
        )
    return when


def set_version(root: Path, version: str) -> list[str]:
    """Write the version wherever the project names it; return the files, as paths in it.

    npm wants another form of a version under development: 0.3.0-dev.0.
    """
    for_npm = version.replace(".dev", "-dev.")
    places = {
        "pyproject.toml": (r'(?m)^(version = )"[^"]+"$', version, 1),
        "clients/python/pyproject.toml": (r'(?m)^(version = )"[^"]+"$', version, 1),
        "clients/typescript/package.json": (r'(?m)^(  "version": )"[^"]+"', for_npm, 1),
        # The lock names it for itself and for its root package, before all others.
        "clients/typescript/package-lock.json": (r'(?m)^( +"version": )"[^"]+"', for_npm, 2),
    }
    for name, (pattern, value, count) in places.items():
        path = root / name
        text = re.sub(pattern, rf'\g<1>"{value}"', path.read_text("utf-8"), count=count)
        path.write_text(text, "utf-8")
    return list(places)


def build(root: Path, targets: Sequence[str] = BUILT) -> Path:
    """Build a checkout by itself, with an environment of its own; return the folder of the result.

    Raises:
        ReleaseRefused: a build failed; its own lines are on stderr.
    """
    run_make(root, *targets)
    return root / "dist"


def compare(first: Path, second: Path) -> list[str]:
    """Return the names of the files that both folders hold with the same bytes.

    Raises:
        ReleaseRefused: a file is missing in one of them, or differs.
    """
    names = sorted({path.name for folder in (first, second) for path in folder.iterdir()})
    same, differ, failed = filecmp.cmpfiles(first, second, names, shallow=False)
    if differ or failed or not same:
        what = ", ".join([*differ, *failed]) or "nothing was built"
        raise ReleaseRefused(f"two builds of one commit differ: {what}; nothing was changed")
    return same


def run_make(root: Path, *targets: str) -> None:
    """Run make where it shows what it does.

    Raises:
        ReleaseRefused: it failed.
    """
    done = subprocess.run(["make", "--no-print-directory", *targets], cwd=root, check=False)
    if done.returncode:
        raise ReleaseRefused(f"make {' '.join(targets)} failed; nothing was changed")


def ask_git(root: Path, *words: str) -> str:
    """Return what git prints."""
    return subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def make_release(root: Path, version: str) -> list[str]:
    """Make the release's commit and build it twice, beside the checkout; then take both over.

    Returns:
        The names of the files in dist/.

    Raises:
        ReleaseRefused: a build failed, or the two differ.
    """
    with tempfile.TemporaryDirectory(prefix="shoe-ctl-release-") as folder:
        first = Path(folder) / "first"
        # Another length of path: what a build writes of its folder then shows as a difference.
        second = Path(folder) / "second-build-elsewhere"
        ask_git(root, "clone", "--quiet", "--no-local", str(root), str(first))
        if read_version(root) != version:
            for key in ("user.name", "user.email"):
                ask_git(first, "config", key, ask_git(root, "config", key))
            ask_git(first, "add", *set_version(first, version))
            ask_git(first, "commit", "--quiet", "-m", f"Release {version}")
        ask_git(first, "clone", "--quiet", "--no-local", str(first), str(second))
        print("release: first build", file=sys.stderr)
        built = build(first)
        print("release: second build", file=sys.stderr)
        names = compare(built, build(second))
        ask_git(root, "fetch", "--quiet", str(first), "HEAD")
        ask_git(root, "merge", "--quiet", "--ff-only", "FETCH_HEAD")
        (root / "dist").mkdir(exist_ok=True)
        for name in names:
            shutil.copy2(built / name, root / "dist" / name)
    return names


def main() -> int:
    """Make the release that the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0] if __doc__ else None,
        epilog="Example: make release",
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout")
    root = parser.parse_args().root.resolve()
    try:
        version = release_of(read_version(root))
        check_tree(root)
        when = check_changelog((root / "CHANGELOG.md").read_text("utf-8"), version)
        for targets in BEFORE:
            run_make(root, *targets)
        names = make_release(root, version)
    except ReleaseRefused as why:
        print(f"release: {why}", file=sys.stderr)
        return 1
    print(f"{version} of {when}, built twice with the same bytes, in dist/:")
    for name in names:
        print(f"  {name}")
    print(f'tag it: git tag -a v{version} -m "shoe-ctl {version}"')
    return 0


if __name__ == "__main__":
    sys.exit(main())
