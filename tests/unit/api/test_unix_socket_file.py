"""The socket's file: whose it is, what may lie where it goes, that it is gone in the end."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.api import unix_socket
from shoe_ctl.api.requests import Caller as Known
from shoe_ctl.api.requests import Request
from shoe_ctl.errors import EnvironmentFault
from shoe_ctl.records import Audience
from shoe_testing.socket_client import calling, serving_at

STATUS = b'{"request": "status"}\n'
NOBODY = 65534

as_root = pytest.mark.skipif(os.getuid() != 0, reason="takes root to be someone else")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sock"


async def accept(caller: Known, asked: Request) -> dict[str, Any]:
    return {"accepted": True}


def served(path: Path, *, gid: int | None = None) -> AbstractAsyncContextManager[None]:
    me = Known(user="me", position="pit_manager", sees=Audience.PUBLIC)
    return serving_at(path, {os.getuid(): me}, accept, gid=gid)


async def test_the_file_is_there_while_it_is_served_for_owner_and_group_only(path: Path) -> None:
    before = os.umask(0)
    try:
        async with served(path):
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
    finally:
        os.umask(before)
    assert not path.exists()


async def test_a_narrow_umask_does_not_shut_the_group_out(path: Path) -> None:
    before = os.umask(0o077)
    try:
        async with served(path):
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
    finally:
        os.umask(before)


@as_root
async def test_the_file_belongs_to_the_group_that_is_configured(path: Path) -> None:
    async with served(path, gid=NOBODY):
        assert path.stat().st_gid == NOBODY


def a_dead_daemons(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
        dead.listen()


async def test_the_socket_of_a_dead_daemon_is_replaced(path: Path) -> None:
    a_dead_daemons(path)
    async with served(path), calling(path) as caller:
        assert (await caller.says(STATUS))["accepted"] is True


async def test_a_live_daemons_socket_is_left_alone(path: Path) -> None:
    async with served(path):
        with pytest.raises(EnvironmentFault, match="is served by another process"):
            async with served(path):
                pass
        async with calling(path) as caller:
            assert (await caller.says(STATUS))["accepted"] is True


async def test_a_file_of_another_kind_is_never_removed(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(EnvironmentFault, match="a file of another kind"):
        async with served(path):
            pass
    assert path.read_text() == "mine"


async def test_a_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EnvironmentFault, match="a file of another kind"):
        async with served(path):
            pass


async def test_what_took_the_files_place_is_not_removed_at_the_end(path: Path) -> None:
    async with served(path):
        path.unlink()
        path.write_text("mine")
    assert path.read_text() == "mine"


async def test_a_folder_that_everyone_may_write_to_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o1777)
    with pytest.raises(EnvironmentFault, match="world-writable"):
        async with served(folder / "s.sock"):
            pass
    assert list(folder.iterdir()) == []


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="none: No such file or directory"):
        async with served(tmp_path / "none" / "s.sock"):
            pass


async def test_a_path_longer_than_the_kernel_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="longer than 107 bytes"):
        async with served(tmp_path / ("s" * 100)):
            pass


async def test_nobody_gets_in_before_the_file_is_as_it_should_be(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    monkeypatch.setattr(
        os, "chown", lambda of, *_: modes.append(stat.S_IMODE(Path(of).stat().st_mode))
    )
    before = os.umask(0)
    try:
        async with served(path, gid=os.getgid()):
            assert modes == [0o600]
    finally:
        os.umask(before)


def test_a_bound_socket_takes_no_connection_before_it_is_served_and_leaves_nothing(
    path: Path,
) -> None:
    with unix_socket.bound_socket(path), socket.socket(socket.AF_UNIX) as caller:
        assert caller.connect_ex(str(path)) == errno.ECONNREFUSED
    assert list(path.parent.iterdir()) == []


async def test_a_caller_who_comes_between_two_servers_is_answered_by_the_next(path: Path) -> None:
    me = {os.getuid(): Known(user="me", position="pit_manager", sees=Audience.PUBLIC)}
    with unix_socket.bound_socket(path) as listener:
        made = path.lstat().st_ino
        async with unix_socket.serving(listener, me, accept), calling(path) as caller:
            assert (await caller.says(STATUS))["accepted"] is True
        async with calling(path) as caller:  # nobody serves now
            asked = asyncio.ensure_future(caller.says(STATUS))
            async with unix_socket.serving(listener, me, accept):
                assert (await asked)["accepted"] is True
        assert path.lstat().st_ino == made
    assert not path.exists()


async def test_two_daemons_that_find_a_dead_ones_socket_do_not_both_replace_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unix_socket, "LOCK_WAIT_S", 0.0)
    a_dead_daemons(path)
    with unix_socket.bound_socket(path):  # it does not listen yet, as a dead one
        second = unix_socket.bound_socket(path)
        with pytest.raises(EnvironmentFault, match="is served by another process"):
            second.__enter__()
        assert path.exists()


@as_root
async def test_no_other_user_can_keep_a_daemon_from_starting(path: Path) -> None:
    """Who may read the folder can lock it; who may not open the lock file cannot lock that."""
    hold = (
        "import fcntl, os, sys; folder = os.open(sys.argv[1], os.O_RDONLY); os.setuid(65534)\n"
        "fcntl.flock(folder, fcntl.LOCK_EX)\n"
        "try: fcntl.flock(os.open(sys.argv[2], os.O_RDONLY), fcntl.LOCK_EX)\n"
        "except PermissionError: print(flush=True); sys.stdin.read()"
    )
    lock = path.with_name(path.name + "-lock")
    lock.touch(0o600)
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", hold, str(path.parent), str(lock),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert other.stdout is not None
    await other.stdout.readline()
    async with served(path), calling(path) as caller:
        assert (await caller.says(STATUS))["accepted"] is True
    await other.communicate(b"")


def test_a_lock_file_that_others_may_open_is_refused(path: Path) -> None:
    lock = path.with_name(path.name + "-lock")
    lock.touch()
    lock.chmod(0o644)
    refused = unix_socket.bound_socket(path)
    with pytest.raises(EnvironmentFault, match=r"s\.sock-lock is no lock file of this user"):
        refused.__enter__()
