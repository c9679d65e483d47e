"""What a kept guest depends on, and which ones are kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shoe_testing.guest.kernel import CACHE_VARIABLE, Kernel, kept_guest

pytestmark = pytest.mark.guest


@pytest.fixture
def kernel(tmp_path: Path, programs: None) -> Kernel:
    (tmp_path / "kernel" / "modules").mkdir(parents=True)
    (tmp_path / "kernel" / "modules" / "order").write_text("")
    return Kernel(tmp_path / "kernel", was_kept=True)


def test_the_same_files_give_the_same_archive_and_others_another(
    kernel: Kernel, tmp_path: Path
) -> None:
    file, link = tmp_path / "a.py", tmp_path / "b.py"
    file.write_text("1")
    os.utime(file, (1, 1))
    link.symlink_to(file)
    texts = {"environment": "export A=1"}
    first = kernel.initrd([file, link], texts)
    assert kernel.initrd([file, link], texts) == first
    assert kernel.initrd([file, link], {"environment": "export A=2"}) != first
    file.write_text("2")
    os.utime(file, (1, 1))
    assert kernel.initrd([file, link], texts) != first


def test_the_two_guests_that_were_used_last_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    for age_s, key in enumerate(("a", "b", "a", "c")):
        with kept_guest(key) as kept:
            kept.write_text(key)
        os.utime(kept, (age_s, age_s))
    assert sorted(path.stem for path in tmp_path.rglob("*.guest")) == ["a", "c"]
