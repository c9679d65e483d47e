"""What one noisy line costs the table beside it, and what it costs the journal.

In: --seconds, --pairs, --case. Out: a table, or JSON: each figure beside its promise. One daemon
serves a shoe that deals 50 cards a second and a line that brings garbage. Quiet and noisy stretches
take turns; the ratio is the median of each pair's own, so that a busy machine disturbs both. A
daemon of its own then stores garbage alone: the processor's time that it leaves to others, which no
other program's load can lower, and what the journal grew by, beside what went over the wire. Exits
1 where the neighbour keeps less than 0.8 of its rate, or where the journal grows by twice the
wire.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench._shoe import simulated_shoe
from shoe_ctl.journal.codec import Direction, Kind, Wire
from shoe_ctl.journal.reader import Reader

KEEPS = 0.8
GROWS = 2.0
LINE_RATE = 12_000
"""Bytes a second: a line at 115200 baud."""

FLOOD = 1 << 30
"""As fast as the daemon reads."""

STORED_S = 6.0
"""How long garbage is stored alone: within the budget of a minute at the rate of a line."""

SETS = 10_000
"""More than the neighbour deals while anything is measured."""

PACE_MS = 20
"""Some 130 events a second, without the pauses of a shoe that is changed every other second."""

DAEMON = (sys.executable, "-c", "from shoe_ctl.cli.main import main; main()")
PATIENCE_S = 60.0


class Case(NamedTuple):
    """Garbage for a profile: its bytes are repeated; none are drawn at random."""

    profile: str
    garbage: bytes | None
    rate: int


CASES = {
    "angel_eye acknowledgements": Case("angel_eye", b"\x06", LINE_RATE),
    "angel_eye acknowledgements, flood": Case("angel_eye", b"\x06", FLOOD),
    "angel_eye starts of frames": Case("angel_eye", b"\x05", LINE_RATE),
    "angel_eye zeros": Case("angel_eye", b"\0", LINE_RATE),
    "angel_eye random": Case("angel_eye", None, LINE_RATE),
    "angel_eye random, flood": Case("angel_eye", None, FLOOD),
    "bee_tek lines without end": Case("bee_tek", b"[Game]<Card:4S> ", LINE_RATE),
    "bee_tek lines without end, flood": Case("bee_tek", b"[Game]<Card:4S> ", FLOOD),
    "bee_tek random": Case("bee_tek", None, LINE_RATE),
    "reference zeros": Case("reference", b"\0", LINE_RATE),
    "reference random": Case("reference", None, LINE_RATE),
    "reference random, flood": Case("reference", None, FLOOD),
}


@dataclass(frozen=True, slots=True)
class Found:
    """One case: the neighbour's rates in events a second, its ratio, the journal's growth.

    ``left`` is the part of a processor's time that the garbage does not take: as it came, and at
    the rate of a line.
    """

    case: str
    quiet: float
    noisy: float
    ratio: float
    left: float
    wire: int
    grew: float

    @property
    def kept(self) -> bool:
        """Whether the neighbour kept its rate and the journal stayed within its growth."""
        return self.ratio >= KEEPS and self.grew < GROWS


class NoisyLine:
    """A device server that sends garbage while it is told to."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._server = socket.create_server(("127.0.0.1", 0))
        self._noisy = threading.Event()
        self._over = threading.Event()
        self.connected = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def port(self) -> str:
        """As in a configuration."""
        return f"tcp://127.0.0.1:{self._server.getsockname()[1]}"

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Garbage comes while this is entered."""
        self._noisy.set()
        try:
            yield
        finally:
            self._noisy.clear()

    def end(self) -> None:
        """Nobody is served any more."""
        self._over.set()
        self._noisy.set()
        self._server.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while not self._over.is_set():
                connection, _ = self._server.accept()
                self.connected.set()
                with connection, suppress(OSError):
                    self._send(connection)

    def _send(self, connection: socket.socket) -> None:
        drawn = random.Random(7)
        a_piece = min(self._case.rate // 100, 65_536)
        connection.settimeout(0.2)
        due = time.monotonic()
        while not self._over.is_set():
            if not self._noisy.wait(0.2):
                self._look(connection)
                due = time.monotonic()
                continue
            garbage = self._case.garbage
            data = drawn.randbytes(a_piece) if garbage is None else garbage * a_piece
            try:
                connection.send(data[:a_piece])
            except TimeoutError:
                continue
            if self._case.rate < FLOOD:
                due += 0.01
                time.sleep(max(0.0, due - time.monotonic()))

    @staticmethod
    def _look(connection: socket.socket) -> None:
        """Raises once the other end is gone."""
        connection.setblocking(False)
        try:
            if not connection.recv(4096):
                raise ConnectionError
        except BlockingIOError:
            pass
        finally:
            connection.settimeout(0.2)


def table(name: str, profile: str, port: str) -> str:
    """A table's part of the configuration."""
    return f"""
[[table]]
id = "{name}"
game = "tiger"
announcements = "implied"
[table.method_b]
faces = "face_up"
face_up_after_ms = 0
[table.shoe]
profile = "{profile}"
port = "{port}"
"""


@contextmanager
def daemon(folder: Path, *tables: str) -> Iterator[tuple[Path, int]]:
    """A daemon that serves these, until SIGTERM; the file of its events, and its process."""
    file, events = folder / "table.toml", folder / "events.jsonl"
    socket_user = f'[socket]\nuser = [{{user = {os.getuid()}, position = "pit_supervisor"}}]\n'
    file.write_text(
        "".join(tables) + '[[sink]]\nkind = "jsonl"\npath = "events.jsonl"\n' + socket_user
    )
    events.touch()
    with subprocess.Popen((*DAEMON, "run", "--config", str(file)), stderr=subprocess.DEVNULL) as it:
        try:
            yield events, it.pid
        finally:
            it.terminate()
            assert it.wait(PATIENCE_S) == 0


class Neighbour:
    """The events of the table beside the noisy one."""

    def __init__(self, events: Path) -> None:
        self._file = events.open("rb")
        self._count = 0
        self._rest = b""

    def count(self) -> int:
        """How many there were so far."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        self._count += sum(b"/table/neighbour" in line for line in lines)
        return self._count

    def rate(self, seconds: float) -> float:
        """Events a second over so many seconds from now on."""
        began, before = time.monotonic(), self.count()
        time.sleep(seconds)
        return (self.count() - before) / (time.monotonic() - began)

    def wait(self, number: int) -> None:
        """Until there were so many."""
        end = time.monotonic() + PATIENCE_S
        while self.count() < number:
            assert time.monotonic() < end, "the neighbour deals nothing"
            time.sleep(0.05)


def beside(case: Case, seconds: float, pairs: int) -> list[tuple[float, float]]:
    """The neighbour's rate in quiet and in noise, in turns."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        shoe = stack.enter_context(simulated_shoe("reference", PACE_MS, SETS))
        line = NoisyLine(case)
        stack.callback(line.end)
        tables = (table("neighbour", "reference", shoe), table("noisy", case.profile, line.port))
        events, _ = stack.enter_context(daemon(Path(name), *tables))
        neighbour = Neighbour(events)
        neighbour.wait(50)
        assert line.connected.wait(PATIENCE_S)
        found = []
        for _ in range(pairs):
            quiet = neighbour.rate(seconds)
            with line.at_work():
                found.append((quiet, neighbour.rate(seconds)))
        return found


def processor_s(pid: int) -> float:
    """Seconds of the processor that this process had so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stored(case: Case, seconds: float) -> tuple[int, int, float]:
    """Bytes that the daemon took, those of the journal's file at its end, and processor seconds."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        line = NoisyLine(case)
        stack.callback(line.end)
        with daemon(Path(name), table("noisy", case.profile, line.port)) as (_, pid):
            assert line.connected.wait(PATIENCE_S)
            time.sleep(1.0)
            before = processor_s(pid)
            with line.at_work():
                time.sleep(seconds)
            took_s = processor_s(pid) - before
            time.sleep(1.0)
        files = Path(name).glob("journal.db*")
        taken = _taken(Path(name) / "journal.db")
        return taken, sum(file.stat().st_size for file in files), took_s


def _taken(journal: Path) -> int:
    """What came from the shoe."""
    with Reader.open(journal) as reader:
        wires = (Wire.from_bytes(record.body) for record in reader.records(kinds=(Kind.WIRE,)))
        return sum(len(wire.data) for wire in wires if wire.direction is Direction.FROM_SHOE)


def measured(name: str, case: Case, seconds: float, pairs: int, empty: dict[str, int]) -> Found:
    """One case; ``empty`` keeps what a journal without garbage takes, by profile."""
    rates = beside(case, seconds, pairs)
    if case.profile not in empty:
        empty[case.profile] = stored(case._replace(garbage=b"", rate=LINE_RATE), 0.0)[1]
    wire, size, took_s = stored(case, STORED_S)
    return Found(
        case=name,
        quiet=median(quiet for quiet, _ in rates),
        noisy=median(noisy for _, noisy in rates),
        ratio=median(noisy / max(quiet, 1.0) for quiet, noisy in rates),
        left=1 - max(took_s / STORED_S, took_s / max(1, wire) * LINE_RATE),
        wire=wire,
        grew=(size - empty[case.profile]) / max(1, wire),
    )


def main() -> int:
    """Measure, show, and say whether both promises are kept."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--seconds", type=float, default=1.5, help="of each stretch")
    options.add_argument("--pairs", type=int, default=7)
    options.add_argument("--case", action="append", choices=list(CASES), help="only this; again")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    empty: dict[str, int] = {}
    found = []
    if not given.json:
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
        print(
            f"{'GARBAGE':<35}{'QUIET':>8}{'NOISY':>8}{'KEEPS':>8}{'LEFT':>7}{'WIRE':>12}{'GREW':>7}"
        )
    for name in given.case or CASES:
        one = measured(name, CASES[name], given.seconds, given.pairs, empty)
        found.append(one)
        if not given.json:
            mark = "" if one.kept else "  NOT KEPT"
            print(
                f"{one.case:<35}{one.quiet:>6.0f}/s{one.noisy:>6.0f}/s{one.ratio:>8.2f}"
                f"{one.left:>7.2f}{one.wire:>12,}{one.grew:>6.2f}x{mark}",
                flush=True,
            )
    if given.json:
        print(json.dumps([asdict(one) for one in found]))
    return 0 if all(one.kept for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
