"""Who holds a lock on a file, in lists of the kernel that tests write."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from shoe_ctl.file_locks import find_lock_holders, is_locked


class Proc:
    """A /proc with a list of locks and a list of mounts of its own, and a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "proc"
        self.file = folder / "file"
        self.file.touch()
        info = self.file.stat()
        self.device = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}"
        self.inode = info.st_ino
        (self.path / "self").mkdir(parents=True)
        (self.path / "self" / "fdinfo").symlink_to("/proc/self/fdinfo")
        self.mounted_from("254:0")

    def mounted_from(self, device: str) -> None:
        """The file's mount has this device, in decimal."""
        with self.file.open() as file:
            known = Path(f"/proc/self/fdinfo/{file.fileno()}").read_text().split()
        mount = known[known.index("mnt_id:") + 1]
        lines = [f"9{mount} 1 0:77 / /other rw - tmpfs x rw", f"{mount} 1 {device} / / rw - x x rw"]
        (self.path / "self" / "mountinfo").write_text("\n".join(lines))

    def lists(self, *locks: str) -> None:
        lines = [f"{number}: {lock} 0 EOF\n" for number, lock in enumerate(locks, 1)]
        (self.path / "locks").write_text("".join(lines))


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def test_the_holder_of_a_real_lock_is_found_as_long_as_it_is_held(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("w") as file:
        assert (find_lock_holders(path), is_locked(path)) == ([], False)
        fcntl.flock(file, fcntl.LOCK_EX)
        assert (find_lock_holders(path), is_locked(path)) == ([os.getpid()], True)
    assert (find_lock_holders(path), is_locked(path)) == ([], False)


def test_a_lock_on_another_disk_with_the_same_inode_is_not_on_this_file(proc: Proc) -> None:
    proc.lists(
        f"FLOCK  ADVISORY  WRITE 41 0e:5d:{proc.inode}",
        f"FLOCK  ADVISORY  WRITE 42 {proc.device}:{proc.inode}1",
    )
    assert find_lock_holders(proc.file, proc=proc.path) == []
    assert not is_locked(proc.file, proc.path)


def test_where_stat_names_a_subvolume_the_lock_is_found_by_the_device_of_the_mount(
    proc: Proc,
) -> None:
    """As btrfs does it."""
    proc.mounted_from("0:310")
    proc.lists(f"FLOCK  ADVISORY  WRITE 41 00:136:{proc.inode}")
    assert find_lock_holders(proc.file, proc=proc.path) == [41]
    assert is_locked(proc.file, proc.path)


def test_a_holder_outside_of_the_container_has_no_number_and_yet_holds_the_lock(
    proc: Proc,
) -> None:
    proc.lists(f"FLOCK  ADVISORY  WRITE 0 {proc.device}:{proc.inode}")
    assert find_lock_holders(proc.file, proc=proc.path) == []
    assert is_locked(proc.file, proc.path)


def test_who_only_waits_and_who_has_a_lock_of_another_kind_is_no_holder(proc: Proc) -> None:
    proc.lists(
        f"-> FLOCK  ADVISORY  WRITE 41 {proc.device}:{proc.inode}",
        f"POSIX  ADVISORY  WRITE 42 {proc.device}:{proc.inode}",
    )
    assert find_lock_holders(proc.file, proc=proc.path) == []
    assert not is_locked(proc.file, proc.path)
    assert find_lock_holders(proc.file, ("POSIX",), proc.path) == [42]


def test_without_a_list_or_without_the_file_there_is_no_holder(proc: Proc) -> None:
    assert find_lock_holders(proc.file, proc=proc.path) == []
    proc.lists(f"FLOCK  ADVISORY  WRITE 41 {proc.device}:{proc.inode}")
    assert find_lock_holders(proc.file, proc=proc.path) == [41]
    proc.file.unlink()
    assert find_lock_holders(proc.file, proc=proc.path) == []
