"""A daemon of the test's own: its configuration, its process, the end of it.

In: a program, what the test wants of the table. Out: ``shoectl run``, ready, with a socket.
It imports nothing of the daemon: what it writes is the documented configuration.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoe_bench.errors import DaemonEnded, NotInTime, is_told_by_its_text
from shoe_bench.table import TABLE

__tracebackhide__ = is_told_by_its_text

SECOND_PERSONS = ("Ann", "Lee")
"""Users of the daemon who may consent to a command, and give none."""

HIGHEST = "gaming_shift_manager"

_BESIDE = ("assistant_casino_manager", "surveillance")

_LOG_LINES = 12

_DATAGRAM = 4096


def program(chosen: str | None) -> tuple[str, ...]:
    """Return the words that start ``shoectl``: those chosen, else beside this Python, else any.

    Raises:
        DaemonEnded: there is none.
    """
    if chosen:
        return tuple(shlex.split(chosen))
    beside = Path(sys.executable).parent / "shoectl"
    found = str(beside) if beside.exists() else shutil.which("shoectl")
    if found is None:
        raise DaemonEnded("shoectl is not installed here: name it with --shoectl COMMAND")
    return (found,)


def configuration(
    folder: Path, sockets: Path, table: Mapping[str, Any], shoe: Mapping[str, Any]
) -> str:
    """Return the text of a configuration; ``table`` and ``shoe`` have the keys of the daemon's."""
    user = pwd.getpwuid(os.getuid()).pw_name
    parts: list[tuple[str, Mapping[str, Any]]] = [
        ("[journal]", {"path": str(folder / "journal.db")}),
        ("[socket]", {"path": str(sockets / "shoectl.sock")}),
        (
            "[[socket.user]]",
            {"user": user, "position": HIGHEST, "also": _BESIDE, "audience": "restricted"},
        ),
        *(
            ("[[socket.user]]", {"user": os.getuid() + at, "name": name, "position": HIGHEST})
            for at, name in enumerate(SECOND_PERSONS, 1)
        ),
        ("[[table]]", {"id": TABLE, **table, "shoe": dict(shoe)}),
    ]
    return "\n".join(
        "\n".join((head, *(f"{_key(key)} = {toml(value)}" for key, value in values.items()), ""))
        for head, values in parts
    )


def toml(value: Any) -> str:
    """Return a value as TOML has it, on one line.

    Raises:
        TypeError: TOML has no such value.
    """
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {toml(each)}" for key, each in value.items())
        return f"{{{inner}}}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool | int | float | str):
        return json.dumps(value)
    raise TypeError(f"a configuration cannot hold {value!r}")


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name)


class Daemon:
    """``shoectl run`` with this configuration, from ``start`` to ``stop``."""

    def __init__(self, words: Sequence[str], folder: Path, sockets: Path) -> None:
        self.folder = folder
        self.socket = sockets / "shoectl.sock"
        self.journal = folder / "journal.db"
        self.log = folder / "daemon.log"
        self._words = tuple(words)
        self._notify = sockets / "ready"
        self._process: subprocess.Popen[bytes] | None = None
        self._listener: socket.socket | None = None
        self._is_stopping = False

    def start(self, config: str, within_s: float) -> None:
        """Start it, and return once every port is open.

        Raises:
            DaemonEnded: it ended; its last lines say why.
            NotInTime: it is not ready in time.
        """
        path = self.folder / "bench.toml"
        path.write_text(config, "utf-8")
        self._notify.unlink(missing_ok=True)
        self._is_stopping = False
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._listener.bind(str(self._notify))
        with self.log.open("ab") as log:
            try:
                self._process = subprocess.Popen(
                    (*self._words, "run", "--config", str(path)),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env={**os.environ, "NOTIFY_SOCKET": str(self._notify)},
                )
            except OSError as error:
                words = shlex.join(self._words)
                raise DaemonEnded(f"{words} cannot be started: {error.strerror}") from None
        self._until_ready(within_s)

    def stop(self, within_s: float) -> None:
        """Stop it as a service manager does. Stopping twice is harmless.

        Raises:
            NotInTime: it had to be killed.
        """
        self.tell_to_stop()
        listener, self._listener = self._listener, None
        process, self._process = self._process, None
        with contextlib.ExitStack() as cleanup:
            if listener is not None:
                cleanup.callback(listener.close)
            if process is not None:
                assert process.stdout is not None
                cleanup.callback(process.stdout.close)
                self._end(process, within_s)

    def tell_to_stop(self) -> None:
        """Tell it to stop, once, without waiting."""
        if self._process is not None and not self._is_stopping and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._is_stopping = True

    def why_ended(self) -> str:
        """Return in words what became of it."""
        if self._process is None:
            return "the daemon was stopped"
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return f"the daemon runs, and closed the connection{self.last_lines()}"
        return f"the daemon ended with exit code {code}{self.last_lines()}"

    def last_lines(self, number: int = _LOG_LINES) -> str:
        """Return the end of its log, a line each, for a person."""
        try:
            lines = self.log.read_text("utf-8", "replace").splitlines()[-number:]
        except OSError:
            lines = []
        return "".join(f"\n    {line}" for line in lines)

    def _end(self, process: subprocess.Popen[bytes], within_s: float) -> None:
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise NotInTime(
                f"the daemon did not stop in {within_s:g} s and was killed{self.last_lines()}"
            ) from None

    def _until_ready(self, within_s: float) -> None:
        assert self._process is not None and self._process.stdout is not None
        assert self._listener is not None
        stdout, listener = self._process.stdout, self._listener
        limit = time.monotonic() + within_s
        while True:
            left = limit - time.monotonic()
            if left <= 0:
                raise NotInTime(f"the daemon was not ready in {within_s:g} s{self.last_lines()}")
            readable, _, _ = select.select([listener.fileno(), stdout.fileno()], [], [], left)
            if listener.fileno() in readable:
                said = listener.recv(_DATAGRAM).splitlines()
                if b"READY=1" in said:
                    return
            if stdout.fileno() in readable:
                raise DaemonEnded(self.why_ended())
