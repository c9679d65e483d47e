"""Commands in processes that are split off from one that has loaded all of them already.

In: a command, its input, folder and environment. Out: its exit code and what it wrote; or, of one
that goes on, the process. A new interpreter takes a fifth of a second for each command, a split-off
process a fiftieth. It is a process all the same. What imports a command makes and what it costs to
start is tested with real interpreters elsewhere: ``tests/unit/cli``,
``tests/integration/commands/test_signals.py``.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import pkgutil
import runpy
import shutil
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, AnyStr, NoReturn

import msgspec
import pytest

from shoe_testing.paths import child_environment

PROGRAMS = {"shoectl": "shoe_ctl.cli.main", "shoe-sim": "simulators.cli"}
"""Each command with the module whose ``main`` it calls."""

A_SHOE = (sys.executable, "-m", "simulators")
"""How ``shoectl demo`` and tests start a simulated shoe."""

PATIENCE_S = 120.0

_LONGEST = 1 << 20

_MOST_FDS = 1024

_PR_SET_CHILD_SUBREAPER = 36

_POPEN = (
    *("executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "startupinfo"),
    *("creationflags", "shell", "p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread"),
    *("errwrite", "restore_signals", "gid", "gids", "uid", "umask", "start_new_session"),
    "process_group",
)
"""What ``Popen`` hands to the method that starts the child, in order."""

_PIPES = _POPEN[9:15]

_DEFAULTS = {
    **dict.fromkeys(("preexec_fn", "gid", "gids", "uid"), None),
    "pass_fds": (),
    "shell": False,
    "umask": -1,
    "process_group": -1,
}
"""With other values a program is started by a new interpreter."""

_serving: list[CommandServer] = []


def run_command(
    *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """Run ``shoectl`` or ``shoe-sim`` to its end at the server of the fixture ``commands``."""
    done = _serving[-1].run(*words, cwd=cwd, env=env, stdin=stdin)
    out, err = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def run_command_at(
    fd: int, *words: str, cwd: Path | None, env: Mapping[str, str], read: Callable[[], bytes]
) -> tuple[int, bytes]:
    """Run a command that writes to this descriptor; its exit code, and what ``read`` returned.

    The descriptor is closed here once the command has it, so that its other end can be read.
    """
    return _serving[-1].run_at(fd, *words, cwd=cwd, env=env, read=read)


@contextmanager
def shared_server() -> Iterator[CommandServer]:
    """The server that ``run_command`` asks."""
    with serving_commands() as server:
        _serving.append(server)
        try:
            yield server
        finally:
            _serving.remove(server)


class WarmProgram(subprocess.Popen[AnyStr]):
    """A command or a simulated shoe that goes on; with the fixture ``commands`` it starts quickly.

    It is a child of this process, as any other that ``Popen`` starts. Without the fixture, or with
    options that need it, it is started by a new interpreter.
    """

    def _execute_child(self, args: Any, *more: Any) -> None:
        given = dict(zip(_POPEN, more, strict=False))
        words = [os.fspath(word) for word in args]
        usual = all(given.get(key, usual) == usual for key, usual in _DEFAULTS.items())
        if not usual or _main_of(words) is None or not self._can_split_off():
            super()._execute_child(args, *more)  # type: ignore[misc]
            return
        ends = (given["p2cread"], given["c2pwrite"], given["errwrite"])
        fds = [number if end == -1 else end for number, end in enumerate(ends)]
        cwd, env = os.fspath(given["cwd"] or Path.cwd()), dict(given["env"] or os.environ)
        try:
            asked = _Asked(words, cwd, env, new_session=given["start_new_session"])
            self.pid = self._split_off(asked, fds)
            self._child_created = True
        finally:
            self._close_pipe_fds(*(given[key] for key in _PIPES))  # type: ignore[attr-defined]

    def _can_split_off(self) -> bool:
        return bool(_serving)

    def _split_off(self, asked: _Asked, fds: list[int]) -> int:
        return _serving[-1].start(asked, fds)


async def start_warm(*words: str, **options: Any) -> asyncio.subprocess.Process:
    """``asyncio.create_subprocess_exec`` of a warm program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", WarmProgram)
        return await asyncio.create_subprocess_exec(*words, **options)


class _ChildProgram(WarmProgram[AnyStr]):
    """What a command starts that was itself split off: a child of that command."""

    def _can_split_off(self) -> bool:
        return threading.active_count() == 1

    def _split_off(self, asked: _Asked, fds: list[int]) -> int:
        pid = os.fork()
        if pid == 0:
            _become(asked, [os.dup(fd) for fd in fds])
        return pid


class _Asked(msgspec.Struct, frozen=True):
    """A command to split off."""

    words: list[str]
    cwd: str
    env: dict[str, str]
    new_session: bool = False


class CommandServer:
    """A process that has loaded every command: one runs at a time, others are started and go on."""

    def __init__(self, connection: socket.socket, starter: socket.socket) -> None:
        self._connection = connection
        self._turn = threading.Lock()
        self._starter = starter
        self._starting = threading.Lock()

    def start(self, asked: _Asked, fds: list[int]) -> int:
        """Start a program with these three descriptors; it is a child of this process."""
        with self._starting:
            _adopt_orphans(1)
            try:
                socket.send_fds(self._starter, [_encode(asked)], fds)
                pid = int(self._starter.recv(_LONGEST))
                self._starter.recv(_LONGEST)  # by now its parent has ended
            finally:
                _adopt_orphans(0)
        return pid

    def run(
        self,
        *words: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = PATIENCE_S,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one command to its end, as ``subprocess.run`` with ``capture_output`` does.

        Raises:
            subprocess.TimeoutExpired: it did not end in time; it was killed.
        """
        with ExitStack() as files:
            fds = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
            for fd in fds:
                files.callback(os.close, fd)
            os.pwrite(fds[0], stdin, 0)
            asked = _asked(words, cwd, os.environ if env is None else env)
            with self._turn:
                socket.send_fds(self._connection, [_encode(asked)], fds)
                pid = self._answer()
                self._connection.settimeout(timeout_s)
                try:
                    code = self._answer()
                except TimeoutError:
                    os.kill(pid, 9)
                    self._connection.settimeout(PATIENCE_S)
                    self._answer()
                    raise subprocess.TimeoutExpired(words, timeout_s) from None
            out, err = (os.pread(fd, os.fstat(fd).st_size, 0) for fd in fds[1:])
            return subprocess.CompletedProcess(words, code, out, err)

    def run_at(
        self,
        fd: int,
        *words: str,
        cwd: Path | None,
        env: Mapping[str, str],
        read: Callable[[], bytes],
    ) -> tuple[int, bytes]:
        """Run one command that writes to this descriptor, which is closed here."""
        asked = _encode(_asked(words, cwd, env))
        with self._turn, ExitStack() as files:
            files.callback(os.close, fd)
            nothing = os.open(os.devnull, os.O_RDONLY)
            files.callback(os.close, nothing)
            socket.send_fds(self._connection, [asked], [nothing, fd, fd])
            self._answer()
            files.close()
            written = read()
            return self._answer(), written

    def _answer(self) -> int:
        return int(self._connection.recv(_LONGEST))


def _asked(words: Sequence[str], cwd: Path | None, env: Mapping[str, str]) -> _Asked:
    return _Asked([str(word) for word in words], str(cwd or Path.cwd()), dict(env))


def _encode(asked: _Asked) -> bytes:
    """JSON of the standard library keeps what in a word is no text."""
    return json.dumps(msgspec.structs.asdict(asked)).encode()


@contextmanager
def serving_commands(before: Sequence[str] = ()) -> Iterator[CommandServer]:
    """A server of commands; ``before`` is what starts its interpreter, as ``setpriv`` would."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    starter, start = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    fds = (theirs.fileno(), start.fileno())
    program = f"from shoe_testing.command_server import serve; serve{fds}"
    with ours, theirs, starter, start:
        process = subprocess.Popen(
            (*before, sys.executable, "-c", program),
            env=child_environment(),
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        start.close()
        try:
            yield CommandServer(ours, starter)
        finally:
            ours.close()
            starter.close()
            process.wait(PATIENCE_S)


def _adopt_orphans(whether: int) -> None:
    """Whether a process below this one whose parent ends becomes a child of this one."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, whether, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def serve(fd: int, starter_fd: int) -> None:
    """Split a process off for each command that is asked for, until nobody asks any more."""
    _load()
    starter = os.fork()
    if starter == 0:
        os.close(fd)
        _start_programs(starter_fd)
        os._exit(0)
    os.close(starter_fd)
    _run_commands(fd)
    os.waitpid(starter, 0)


def _start_programs(fd: int) -> None:
    """Split off programs that go on. The parent of each ends at once: the tests' process adopts it.

    So a test waits for it and sends it signals as it does with any child.
    """
    with socket.socket(fileno=fd) as connection:
        while True:
            message, fds, _, _ = socket.recv_fds(connection, _LONGEST, 3)
            if not message:
                return
            parent = os.fork()
            if parent == 0:
                pid = os.fork()
                if pid == 0:
                    _become(_Asked(**json.loads(message)), fds)
                connection.send(str(pid).encode())
                os._exit(0)
            os.waitpid(parent, 0)
            for each in fds:
                os.close(each)
            connection.send(b"0")


def _run_commands(fd: int) -> None:
    with socket.socket(fileno=fd) as connection:
        while True:
            message, fds, _, _ = socket.recv_fds(connection, _LONGEST, 3)
            if not message:
                return
            pid = os.fork()
            if pid == 0:
                _become(_Asked(**json.loads(message)), fds)
            for each in fds:
                os.close(each)
            connection.send(str(pid).encode())
            connection.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())


def _load() -> None:
    for package in ("firmware_proto", "shoe_ctl", "simulators"):
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    import_module("rich.table")
    import_module("shoe_testing.warm_start")


def _main_of(words: Sequence[str]) -> Callable[[], object] | None:
    """What runs these words; nothing if they are no program of ours."""
    if tuple(words[: len(A_SHOE)]) == A_SHOE:
        return lambda: runpy.run_module("simulators", run_name="__main__")
    module = PROGRAMS.get(Path(words[0]).name)
    return None if module is None else lambda: import_module(module).main()


def _become(asked: _Asked, fds: list[int]) -> NoReturn:
    """Run one command in this process, with these three descriptors only, and end it."""
    code = 70
    try:
        if asked.new_session:
            os.setsid()
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
        os.closerange(3, _MOST_FDS)
        os.chdir(asked.cwd)
        os.environ.clear()
        os.environ.update(asked.env)
        main = _main_of(asked.words)
        assert main is not None
        name, *words = asked.words
        is_shoe = tuple(asked.words[: len(A_SHOE)]) == A_SHOE
        sys.argv[:] = asked.words[2:] if is_shoe else [shutil.which(name) or name, *words]
        subprocess.Popen = _ChildProgram  # type: ignore[misc]
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - shown as an interpreter would
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
