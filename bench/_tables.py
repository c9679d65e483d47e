"""A daemon with many tables and their simulated shoes, each side in a process of its own.

In: how many tables, at what pace, for how long. Out: cards, times, processor time of the daemon.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench._table import ROOT
from firmware_proto.events import CardDrawn
from shoe_ctl.journal.codec import Kind
from shoe_ctl.journal.reader import Reader
from shoe_ctl.table.inputs import from_bytes

RUN: tuple[str, ...] = (str(Path(sys.executable).parent / "shoectl"),)
PATIENCE_S = 120
TABLE = """
[[table]]
id = "t{number:04}"
game = "tiger"
announcements = "implied"
[table.method_b]
faces = "face_up"
face_up_after_ms = 0
[table.shoe]
profile = "reference"
port = "{port}"
"""
SINK = """
[[sink]]
kind = "jsonl"
path = "{path}"
audience = "restricted"
[journal]
path = "{journal}"
[socket]
path = "{socket}"
[[socket.user]]
user = {user}
position = "gaming_shift_manager"
audience = "public"
"""


def processor_s(pid: int) -> float:
    """Seconds of processor time that this process had so far, all its threads together."""
    spent = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        spent += int((thread / "schedstat").read_text().split()[0])
    return spent / 1e9


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


def played(  # noqa: PLR0913 - one argument for each choice
    tables: int,
    pace_s: float,
    for_s: float,
    *,
    warm_s: float = 2.0,
    floor: bool = False,
    lines: bool = False,
    run: tuple[str, ...] = RUN,
) -> dict[str, Any]:
    """What a daemon with so many tables does in this time, each shoe at this pace.

    ``floor``: beside it the floor takes turns with the first shoe. ``lines``: the public stream of
    the socket is read too. ``run`` is what runs the daemon.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shoe-ctl-")))
        ports = [str(folder / f"shoe-{number}") for number in range(tables)]
        shoes = stack.enter_context(child(sys.executable, "-m", "bench._shoes"))
        asked: dict[str, Any] = {"ports": ports, "pace_s": pace_s}
        begin: dict[str, Any] = {"warm_s": warm_s, "for_s": for_s}
        if floor:
            asked["floor_port"] = str(folder / "floor")
            begin["floor_socket"] = str(folder / "floor.sock")
        say(shoes, asked)
        line_of(shoes)
        config = folder / "table.toml"
        written = [TABLE.format(number=n, port=port) for n, port in enumerate(ports)]
        config.write_text(
            "".join(written)
            + SINK.format(
                path=folder / "events.jsonl",
                journal=folder / "shoe.journal",
                socket=folder / "shoe.sock",
                user=os.getuid(),
            )
        )
        log = stack.enter_context((folder / "log").open("wb"))
        daemon = stack.enter_context(
            child(*run, "run", "--config", str(config), stdout=log, stderr=log)
        )
        if floor:
            least = child(
                sys.executable, "-m", "bench._floor", asked["floor_port"], begin["floor_socket"],
                str(folder / "floor.db"),
            )  # fmt: skip
            line_of(stack.enter_context(least))
        if lines:
            begin["socket"] = str(folder / "shoe.sock")
        wait_until_ready(daemon, folder / "log")
        say(shoes, begin)
        try:
            line_of(shoes)
        except SystemExit:
            sys.stderr.write((folder / "log").read_text())
            raise
        before = processor_s(daemon.pid)
        shoes_before = processor_s(shoes.pid)
        line_of(shoes)
        spent = processor_s(daemon.pid) - before
        shoes_spent = processor_s(shoes.pid) - shoes_before
        found: dict[str, Any] = line_of(shoes)
        found |= {"processor_s": spent, "shoes_processor_s": shoes_spent}
        status = Path(f"/proc/{daemon.pid}/status").read_text()
        found["peak_mb"] = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(PATIENCE_S)
        found["said"] = (folder / "log").read_text()[-2000:]
        stored = stored_cards(folder / "shoe.journal")
        found["stored"] = [stored.get(f"t{number:04}", []) for number in range(tables)]
        return found


def stored_cards(journal: Path) -> dict[str, list[str]]:
    """The cards that the journal holds, table by table, in the order in which they are stored."""
    found: dict[str, list[str]] = {}
    with Reader.open(journal) as reader:
        for record in reader.records(after=0, upto=reader.heads()[0], kinds=(Kind.INPUT,)):
            event = getattr(from_bytes(record.body), "event", None)
            if isinstance(event, CardDrawn) and event.card is not None:
                found.setdefault(record.table, []).append(event.card.code)
    return found
