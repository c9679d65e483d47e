"""Why a port may not be opened: who may, and the one step that helps.

In: nodes of every owner, group and mode, as the system would show them. Out: one line.
Must not know: how a port is opened.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from pathlib import Path

import pytest

from shoe_ctl.link import serial
from shoe_ctl.link.serial import port_error

ROOT, ANN, ME = 0, 1001, 1002
NO_GROUP, DIALOUT, SHOES = 0, 20, 900
NAMES = {ROOT: "root", ANN: "ann", ME: "shoectl"}
GROUPS = {NO_GROUP: ("root", []), DIALOUT: ("dialout", []), SHOES: ("card-shoe", ["shoectl"])}
ADAPTER, PTY = os.makedev(188, 0), os.makedev(136, 7)


def node(uid: int, gid: int, mode: int, device: int = ADAPTER) -> os.stat_result:
    return os.stat_result(
        (stat.S_IFCHR | mode, 3, 26, 1, uid, gid, 0, 0, 0, 0), {"st_rdev": device}
    )


@pytest.fixture(autouse=True)
def _this_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not root, in no group but one that nobody else knows."""

    def user(uid: int) -> pwd.struct_passwd:
        return pwd.struct_passwd((NAMES[uid], "x", uid, 1002, "", "/", "/bin/sh"))

    def group(gid: int) -> grp.struct_group:
        name, members = GROUPS[gid]
        return grp.struct_group((name, "x", gid, members))

    monkeypatch.setattr(os, "geteuid", lambda: ME)
    monkeypatch.setattr(os, "getegid", lambda: 1002)
    monkeypatch.setattr(os, "getgroups", lambda: [1002])
    monkeypatch.setattr(pwd, "getpwuid", user)
    monkeypatch.setattr(grp, "getgrgid", group)


def line(monkeypatch: pytest.MonkeyPatch, found: os.stat_result) -> str:
    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", lambda *_, **__: found)
        error = port_error("/dev/ttyUSB0", PermissionError(errno.EACCES, "as the system says"))
    said = str(error)
    assert error.cause == "permission"
    assert said.startswith("permission denied: /dev/ttyUSB0 (") and "\n" not in said
    return said


def test_a_group_that_may_is_the_one_to_join(monkeypatch: pytest.MonkeyPatch) -> None:
    said = line(monkeypatch, node(ROOT, DIALOUT, 0o660))
    assert "group dialout has access: sudo usermod -aG dialout shoectl, then log in again" in said
    assert "restart" in said


def test_whoever_was_put_into_the_group_just_now_logs_in_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = line(monkeypatch, node(ROOT, SHOES, 0o660))
    assert "shoectl joined group card-shoe after this session began: log in again" in said
    assert "usermod" not in said


@pytest.mark.parametrize(
    ("gid", "mode"),
    [
        (NO_GROUP, 0o600),
        (NO_GROUP, 0o660),
        (NO_GROUP, 0o644),
        (DIALOUT, 0o600),
        (DIALOUT, 0o640),
        (DIALOUT, 0o620),
    ],
)
def test_no_group_is_advised_that_does_not_help_and_never_root(
    monkeypatch: pytest.MonkeyPatch, gid: int, mode: int
) -> None:
    said = line(monkeypatch, node(ROOT, gid, mode))
    assert "usermod" not in said
    assert "only root has access" in said
    assert "70-card-shoe.rules" in said and "group card-shoe" in said


def test_a_pty_is_opened_by_whoever_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    said = line(monkeypatch, node(ANN, DIALOUT, 0o620, PTY))
    assert "only ann, who made this pty, has access: run both programs as one user" in said
    assert "rules" not in said


@pytest.mark.parametrize(
    "found",
    [node(ROOT, NO_GROUP, 0o666), node(ME, NO_GROUP, 0o600), node(ROOT, 1002, 0o660)],
    ids=["everybody", "its owner", "its group"],
)
def test_where_the_mode_allows_it_something_else_forbids_it(
    monkeypatch: pytest.MonkeyPatch, found: os.stat_result
) -> None:
    said = line(monkeypatch, found)
    assert "its mode allows access: check container device rules" in said
    assert "usermod" not in said


def test_an_owner_whom_the_mode_shuts_out_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said = line(monkeypatch, node(ME, DIALOUT, 0o460))
    assert "mode 460 denies its owner, this user: run chmod u+rw /dev/ttyUSB0" in said


def test_a_folder_that_may_not_be_entered_is_named_with_its_owner(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shut = tmp_path / "shut"
    (shut / "deeper").mkdir(parents=True)
    monkeypatch.setitem(NAMES, shut.stat().st_uid, "ann")

    def access(path: object, *_: object, **__: object) -> bool:
        return not str(path).startswith(str(shut))

    def hidden(self: Path, **_: object) -> os.stat_result:
        if str(self) == str(shut / "deeper" / "shoe"):
            raise PermissionError(errno.EACCES, "as the system says")
        return os.stat(self)  # noqa: PTH116 - Path's own is this very one

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(Path, "stat", hidden)
    error = port_error(str(shut / "deeper" / "shoe"), PermissionError(errno.EACCES, "no"))
    assert f"shoectl may not enter its folder {shut}, which belongs to ann" in str(error)
    assert "usermod" not in str(error)


def test_a_link_that_the_kernel_follows_for_its_owner_only_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tmp_path.chmod(0o1777)
    link = tmp_path / "shoe"
    link.symlink_to("/dev/pts/none")
    monkeypatch.setattr(serial, "_link_owner", lambda _: ANN)

    def barred(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if self == link and follow_symlinks:
            raise PermissionError(errno.EACCES, "as the system says")
        return os.stat(self, follow_symlinks=follow_symlinks)  # noqa: PTH116

    monkeypatch.setattr(Path, "stat", barred)
    error = port_error(str(link), PermissionError(errno.EACCES, "no"))
    assert "the link belongs to ann and is in a folder that everybody may write to" in str(error)
    assert "make it in another folder" in str(error)
