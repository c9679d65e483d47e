"""A daemon in a process of its own: start it, talk to what runs beside it, read what it stored.

In: command lines, a log, a journal. Out: processes, their lines, their processor time, cards.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench._table import ROOT
from firmware_proto.events import CardDrawn
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.table.inputs import from_bytes

RUN: tuple[str, ...] = (str(Path(sys.executable).parent / "shoectl"),)
PATIENCE_S = 120


def processor_s(pid: int) -> float:
    """Seconds of processor time that this process had so far, all its threads together."""
    spent = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        spent += int((thread / "schedstat").read_text().split()[0])
    return spent / 1e9


def switches(pid: int) -> int:
    """How often threads of this process gave up a processor so far."""
    lines = [
        line
        for thread in Path(f"/proc/{pid}/task").iterdir()
        for line in (thread / "status").read_text().splitlines()
    ]
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


COUNTED = {"raw_syscalls:sys_enter": "all", "syscalls:sys_enter_futex": "futex"}


def call_counter() -> str | None:
    """The program that counts system calls here: perf where the kernel lets it, else strace.

    strace stops a thread at each call. Threads then meet that would have passed one another: it
    counts about twice the futex calls that perf does.
    """
    if shutil.which("perf") is not None:
        tried = ("perf", "stat", "-x,", "-e", ",".join(COUNTED), "true")
        said = subprocess.run(tried, capture_output=True, text=True, check=False)
        if said.returncode == 0 and "not" not in said.stderr:
            return "perf"
    return "strace" if shutil.which("strace") is not None else None


@contextmanager
def calls_of(pid: int) -> Iterator[dict[str, int]]:
    """System calls of this process until left: ``all``, and those that are ``futex``.

    Raises:
        SystemExit: nothing can count them here, or nothing was counted.
    """
    found: dict[str, int] = {}
    program = call_counter()
    with tempfile.TemporaryDirectory(prefix="shoe-ctl-") as folder:
        out = Path(folder) / "calls"
        if program is None:
            raise SystemExit("neither perf nor strace is there: nothing counts system calls")
        if program == "perf":
            argv: tuple[str, ...] = (
                "perf",
                "stat",
                "-x,",
                "-e",
                ",".join(COUNTED),
                "-p",
                str(pid),
                "-o",
                str(out),
            )
        else:
            argv = ("strace", "-f", "-c", "-p", str(pid), "-o", str(out))
        with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as counter:
            try:
                yield found
            finally:
                counter.send_signal(signal.SIGINT)
                counter.wait(PATIENCE_S)
        lines = out.read_text().splitlines() if out.exists() else []
    if program == "perf":
        fields = [line.split(",") for line in lines if line.count(",") > 2]
        found |= {COUNTED[each[2]]: int(each[0]) for each in fields if each[0].isdecimal()}
    else:
        rows = [line.split() for line in lines if line[:1] == " "]
        found |= {row[-1]: int(row[3]) for row in rows if len(row) > 4 and row[3].isdecimal()}
        found["all"] = sum(count for name, count in found.items() if name != "total")
    if not found.get("all"):
        raise SystemExit(f"{program} counted no system calls of process {pid}")


def peak_mb(pid: int) -> float:
    """The most memory that this process held so far.

    What ``wait4`` tells of a process that ended is at least what its parent held as it began.
    """
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def wait_until_ready(daemon: subprocess.Popen[bytes], log: Path) -> None:
    """Return once the daemon serves, as its log says.

    Raises:
        SystemExit: it ended; its log is the message.
    """
    while b" ready: " not in log.read_bytes():
        if daemon.poll() is not None:
            raise SystemExit(log.read_text())
        time.sleep(0.02)


@contextmanager
def child(*argv: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended, and waited for, on leaving."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(ROOT)
    given: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE} | options
    with subprocess.Popen(argv, env=environment, **given) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)


def line_of(process: subprocess.Popen[bytes]) -> Any:
    """The next line of a process, as JSON where it is JSON.

    Raises:
        SystemExit: it ended.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"{process.args!r} ended: exit {process.wait(PATIENCE_S)}")
    return json.loads(line) if line.startswith(b"{") else line.decode().strip()


def say(process: subprocess.Popen[bytes], what: Mapping[str, Any]) -> None:
    """Send a process a line of JSON."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(what).encode() + b"\n")
    process.stdin.flush()


def stored_cards(journal: Path) -> dict[str, list[str]]:
    """The cards that the journal holds, table by table, in the order in which they are stored."""
    found: dict[str, list[str]] = {}
    with Reader.open(journal) as reader:
        for record in reader.records(after=0, upto=reader.heads()[0], kinds=(Kind.INPUT,)):
            event = getattr(from_bytes(record.body), "event", None)
            if isinstance(event, CardDrawn) and event.card is not None:
                found.setdefault(record.table, []).append(event.card.code)
    return found
