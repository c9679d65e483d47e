"""The version of this installation, and the commit that an unreleased one was made from.

All commands of the wheel print it, so it stands in the package that all of them may import.
"""

from __future__ import annotations

import subprocess
from importlib.metadata import distribution
from pathlib import Path

DISTRIBUTION = "shoe-ctl"
COMMIT_FILE = "commit"
"""The file beside the wheel's metadata that names its commit; the build writes it."""


def describe_version() -> str:
    """Return the version, as ``--version`` prints it.

    A released version is its number alone. Any other says that it is unreleased, and of which
    commit it is: as the wheel's build noted it, or, in a checkout, as git names it.
    """
    installed = distribution(DISTRIBUTION)
    if ".dev" not in installed.version:
        return installed.version
    commit = installed.read_text(f"extra_metadata/{COMMIT_FILE}") or _commit_of_checkout()
    return f"{installed.version} (unreleased, commit {commit.strip() or 'unknown'})"


def _commit_of_checkout() -> str:
    """Return the commit of the checkout that this package lies in; empty without one."""
    package = Path(__file__).parent
    try:
        # The prefix tells our own checkout from another one that happens to hold the environment.
        prefix = _ask_git(package, "rev-parse", "--show-prefix")
        if prefix != f"{package.name}/":
            return ""
        return _ask_git(
            package, "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty= with changes"
        )
    except (OSError, subprocess.SubprocessError):
        return ""


def _ask_git(folder: Path, *words: str) -> str:
    # Local and quick; the limit is for a file system that hangs.
    return subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=5
    ).stdout.strip()
