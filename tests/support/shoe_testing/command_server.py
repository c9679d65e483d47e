"""Commands in processes that are split off from one that has loaded all of them already.

In: a command, its input, folder and environment. Out: its exit code and what it wrote. A new
interpreter takes a fifth of a second for each command, a split-off process a fiftieth. It is a
process all the same. What imports a command makes and what it costs to start is tested with real
interpreters elsewhere: ``tests/unit/cli``, ``tests/integration/commands/test_signals.py``.
"""

from __future__ import annotations

import json
import os
import pkgutil
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path

from shoe_testing.paths import child_environment

PROGRAMS = {"shoectl": "shoe_ctl.cli.main", "shoe-sim": "simulators.cli"}
"""Each command with the module whose ``main`` it calls."""

PATIENCE_S = 120.0

_LONGEST = 1 << 20

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


class CommandServer:
    """A process that has loaded every command, and one of its commands at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._turn = threading.Lock()

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
            asked = (words, str(cwd or Path.cwd()), dict(os.environ if env is None else env))
            with self._turn:
                socket.send_fds(self._connection, [json.dumps(asked).encode()], fds)
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
        asked = json.dumps((words, str(cwd or Path.cwd()), dict(env))).encode()
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


@contextmanager
def serving_commands(before: Sequence[str] = ()) -> Iterator[CommandServer]:
    """A server of commands; ``before`` is what starts its interpreter, as ``setpriv`` would."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = f"from shoe_testing.command_server import serve; serve({theirs.fileno()})"
    with ours, theirs:
        process = subprocess.Popen(
            (*before, sys.executable, "-c", program),
            env=child_environment(),
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        try:
            yield CommandServer(ours)
        finally:
            ours.close()
            process.wait(PATIENCE_S)


def serve(fd: int) -> None:
    """Split a process off for each command that is asked for, until nobody asks any more."""
    _load()
    with socket.socket(fileno=fd) as connection:
        while True:
            message, fds, _, _ = socket.recv_fds(connection, _LONGEST, 3)
            if not message:
                return
            pid = os.fork()
            if pid == 0:
                connection.close()
                words, cwd, env = json.loads(message)
                _become(words, cwd, env, fds)
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


def _become(words: list[str], cwd: str, env: dict[str, str], fds: list[int]) -> None:
    """Run one command in this process, and end it."""
    code = 70
    try:
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
            os.close(fd)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        sys.argv[:] = words
        import_module(PROGRAMS[Path(words[0]).name]).main()
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
