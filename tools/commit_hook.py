"""Name the commit in what hatchling builds, so that an unreleased wheel can say what it is.

In: git, or the file that a source archive carries. Out: ``commit`` in the source archive and
beside the wheel's metadata; nothing where neither is known. An editable installation asks git
itself whenever it is asked.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMIT_FILE = "commit"


class CommitHook(BuildHookInterface[Any]):
    """Hands hatchling the commit's file while it builds."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file to a wheel or a source archive."""
        commit = "" if version == "editable" else find_commit(Path(self.root))
        if not commit:
            return
        self._folder = TemporaryDirectory(prefix="shoe-ctl-commit-")
        path = Path(self._folder.name) / COMMIT_FILE
        path.write_text(f"{commit}\n", "utf-8")
        kind = "extra_metadata" if self.target_name == "wheel" else "force_include"
        build_data[kind][str(path)] = COMMIT_FILE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's signature
        """Remove the file."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def find_commit(root: Path) -> str:
    """Return the commit of a checkout, or the one that an unpacked source archive names."""
    if (root / ".git").exists():
        described = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--abbrev=12", "--exclude=*",
             "--dirty= with changes"],
            capture_output=True, text=True, check=False, timeout=30,
        )  # fmt: skip
        return described.stdout.strip()
    path = root / COMMIT_FILE
    return path.read_text("utf-8").strip() if path.is_file() else ""
