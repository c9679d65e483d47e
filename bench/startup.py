"""How long the commands take to start, beside a Python that imports asyncio and sqlite3.

In: the installed commands. Out: a table (or JSON): times, peak memory, the ratio promised and held:
of processor time, which other programs on the machine hardly change.
Each round runs every command once, so that a slow minute of the machine is shared by all. A daemon
has started when it has published what its shoe said: to its output, or to a broker; its memory is
that of a whole shoe. A broker whose server is not there is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from bench._promises import Promise, median_of, report
from bench._shoe import NEVER_MS, simulated_shoe
from bench._tables import processor_s
from shoe_testing import brokers

BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Subject:
    """A command line, what it reads, and the most times the baseline that it may take."""

    name: str
    argv: tuple[str, ...]
    stdin: bytes = b""
    limit: float | None = None


BASELINE = Subject("python: asyncio, sqlite3", (sys.executable, "-c", "import asyncio, sqlite3"))
SHOECTL = str(BIN / "shoectl")
SUBJECTS = (
    BASELINE,
    Subject("shoectl games", (SHOECTL, "games"), limit=3.0),
    Subject("shoectl settle", (SHOECTL, "settle", "tiger"), b"7D 9C TS TH\n", limit=3.0),
    Subject("shoectl table --help", (SHOECTL, "table", "--help"), limit=3.0),
    Subject("shoectl table expose --help", (SHOECTL, "table", "expose", "--help"), limit=3.0),
    Subject(
        "shoectl decode",
        (SHOECTL, "decode", "--profile", "angel_eye", "--json"),
        # Player card 1 is the eight of spades, as an Angel Eye shoe says it.
        bytes.fromhex("05 31 44 81 B8 03 34 46"),
        limit=3.0,
    ),
)


JOURNAL = "shoe.journal"
"""Stands for a journal of some rounds in a command line."""
OUTPUT = "shoe.journal.gz"
"""Stands for a file beside it that is not there yet."""
OF_A_JOURNAL = (
    Subject("shoectl verify", (SHOECTL, "verify", JOURNAL), limit=3.0),
    Subject("shoectl rounds", (SHOECTL, "rounds", JOURNAL), limit=3.0),
    Subject("shoectl replay", (SHOECTL, "replay", JOURNAL, "--last", "1"), limit=3.0),
    Subject("shoectl export", (SHOECTL, "export", JOURNAL, "--output", OUTPUT), limit=3.0),
)

RUN = (SHOECTL, "run", "--config", "table.toml")
DAEMON = Subject("shoectl run", (*RUN, "--json"), limit=4.0)
SHOE_KNOWN = b'"type":"shoe.loaded"'
"""The first event that follows from what the shoe said: its hello is read, stored, published."""
SHOE_DEALT = b'"type":"shoe.change_due"'
PROFILE = "reference"
INSTALLED = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""What is installed has its bytecode beside it: without that, the compiler is what is measured."""

CONFIGURATION = """
[[table]]
id = "bench"
game = "tiger"
announcements = "implied"
[table.method_b]
faces = "face_up"
face_up_after_ms = 0
[table.shoe]
profile = "{profile}"
port = "{port}"
"""


Told = AbstractContextManager[Iterable[bytes]]
"""Lines that are published while it is open."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that publishes in one way: its command, its sink, the most megabytes of a shoe.

    ``listen`` listens to what it publishes; without it, that is its output.
    """

    subject: Subject
    most_mb: int
    sink: str = ""
    listen: Callable[[], Told] | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one command: the time from spawn to exit, and the most memory it held.

    ``processor_s`` is processor time, ``seconds`` what the clock on the wall shows.
    """

    processor_s: float
    seconds: float
    peak_mb: float


def run(subject: Subject) -> Run:
    """Runs a command once.

    Raises:
        SystemExit: it did not exit 0; the message is the command and its own last words.
    """
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as said:
        stdin.write(subject.stdin)
        stdin.seek(0)
        files = [(os.POSIX_SPAWN_DUP2, stdin.fileno(), 0)]
        files += [(os.POSIX_SPAWN_DUP2, said.fileno(), fd) for fd in (1, 2)]
        start = time.perf_counter()
        try:
            pid = os.posix_spawn(subject.argv[0], subject.argv, INSTALLED, file_actions=files)
        except FileNotFoundError:
            raise SystemExit(f"{subject.name}: {subject.argv[0]} is not installed") from None
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
        if status != 0:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines() or ["nothing said"]
            code = os.waitstatus_to_exitcode(status)
            raise SystemExit(f"{subject.name}: exit {code}: {words[-1]}")
    return Run(usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss / 1024)


def run_daemon(daemon: Daemon, port: str, until: bytes) -> Run:
    """Runs a daemon on a new journal until it publishes this; the time to there.

    Raises:
        SystemExit: it ended before; its own words stand on stderr.
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        config = Path(folder, "table.toml")
        config.write_text(CONFIGURATION.format(profile=PROFILE, port=port) + daemon.sink)
        reading, writing = os.pipe()
        output = stack.enter_context(open(reading, "rb"))  # noqa: PTH123 - a descriptor
        told = output if daemon.listen is None else stack.enter_context(daemon.listen())
        argv = tuple(str(config) if word == "table.toml" else word for word in daemon.subject.argv)
        start = time.perf_counter()
        with Path(folder, "log").open("wb") as log:
            files = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, log.fileno(), 2)]
            pid = os.posix_spawn(argv[0], argv, INSTALLED, file_actions=files)
        os.close(writing)
        seconds = next((time.perf_counter() - start for line in told if until in line), None)
        spent_s = processor_s(pid)
        os.kill(pid, signal.SIGTERM)
        _, _, usage = os.wait4(pid, 0)
        if seconds is None:
            said = Path(folder, "log").read_text().strip()
            raise SystemExit(f"{daemon.subject.name}: {said}")
    return Run(spent_s, seconds, usage.ru_maxrss / 1024)


# The brokers.


@contextmanager
def nats_subscriber(port: int) -> Iterator[Iterable[bytes]]:
    """What is published on the table's public subject, in lines."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as there:
        there.sendall(b'CONNECT {"verbose":false}\r\nSUB shoe.v1.bench.public 1\r\nPING\r\n')
        with there.makefile("rb") as lines:
            next(line for line in lines if line.startswith(b"PONG"))
            yield lines


@contextmanager
def nats_daemons() -> Iterator[list[Daemon]]:
    """A daemon that publishes to a server of its own, which keeps each event on the disk."""
    server = shutil.which("nats-server", path=f"{BIN}:{os.environ.get('PATH', '')}")
    if server is None:
        yield []
        return
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("w+b") as log:
        config = Path(folder, "server.conf")
        config.write_text(
            "listen: 127.0.0.1:-1\n"
            f"jetstream {{ store_dir: {folder}, sync_interval: always }}\n"
            f"ports_file_dir: {folder}\n"
        )
        with subprocess.Popen((server, "-c", str(config)), stdout=log, stderr=log) as process:
            try:
                while b"Server is ready" not in Path(folder, "log").read_bytes():
                    if process.poll() is not None:
                        raise SystemExit(f"nats-server: {Path(folder, 'log').read_text()}")
                    time.sleep(0.01)
                (ports,) = Path(folder).glob("*.ports")
                address = json.loads(ports.read_text())["nats"][0]
                port = int(address.rpartition(":")[2])
                subject = Subject("shoectl run, to NATS", RUN, limit=9.0)
                sink = f'[[sink]]\nkind = "nats"\naddress = "{address}"\n'
                yield [Daemon(subject, 56, sink, lambda: nats_subscriber(port))]
            finally:
                process.kill()


@contextmanager
def mqtt_subscriber(port: int) -> Iterator[Iterable[bytes]]:
    """What is published on the table's public topic."""
    came: queue.Queue[bytes] = queue.Queue()
    ready = threading.Event()
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.on_subscribe = lambda *_: ready.set()
    client.on_message = lambda _, __, message: came.put(bytes(message.payload))
    client.connect("127.0.0.1", port)
    client.subscribe("shoe/v1/bench/public", 1)
    client.loop_start()
    try:
        ready.wait()
        yield iter(lambda: came.get(timeout=60), b"")
    finally:
        client.disconnect()
        client.loop_stop()


@contextmanager
def mqtt_daemons() -> Iterator[list[Daemon]]:
    """A daemon that publishes to a broker of its own."""
    if brokers.PROGRAM is None:
        yield []
        return
    with tempfile.TemporaryDirectory() as folder, brokers.broker(Path(folder)) as at:
        subject = Subject("shoectl run, to MQTT", RUN, limit=6.0)
        sink = f'[[sink]]\nkind = "mqtt"\naddress = "{at.address}"\n'
        yield [Daemon(subject, 56, sink, lambda: mqtt_subscriber(at.port))]


PLAIN = Daemon(DAEMON, 48)


@contextmanager
def journal_of_rounds() -> Iterator[Path]:
    """A journal of two rounds, as ``shoectl demo --keep`` leaves it.

    Raises:
        SystemExit: the rounds were not dealt.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked = (SHOECTL, "demo", "--rounds", "2", "--seed", "1", "--pace-ms", "0", "--keep")
        dealt = subprocess.run(
            asked, env=INSTALLED | {"TMPDIR": folder}, stdout=subprocess.DEVNULL, check=False
        )
        found = [path for path in Path(folder).rglob("*.db") if path.stat().st_size]
        if dealt.returncode != 0 or len(found) != 1:
            raise SystemExit(f"shoectl demo: exit {dealt.returncode}, journals: {found}")
        yield found[0]


def reading(subject: Subject, journal: Path) -> Subject:
    """The command with the path of this journal."""
    paths = {JOURNAL: str(journal), OUTPUT: str(journal.with_name(OUTPUT))}
    return replace(subject, argv=tuple(paths.get(word, word) for word in subject.argv))


def measure(rounds: int, daemons: Sequence[Daemon]) -> dict[str, list[Run]]:
    """Runs every subject ``rounds`` times in turn, after one round that only warms the caches."""
    commands = (*SUBJECTS, *OF_A_JOURNAL)
    names = [*commands, *(daemon.subject for daemon in daemons)]
    runs: dict[str, list[Run]] = {subject.name: [] for subject in names}
    with simulated_shoe(PROFILE, NEVER_MS) as port, journal_of_rounds() as journal:
        subjects = [reading(subject, journal) for subject in commands]
        for number in range(rounds + 1):
            journal.with_name(OUTPUT).unlink(missing_ok=True)
            done = [(subject, run(subject)) for subject in subjects]
            done += [(each.subject, run_daemon(each, port, SHOE_KNOWN)) for each in daemons]
            if number:
                for subject, ran in done:
                    runs[subject.name].append(ran)
    return runs


def whole_shoe(daemon: Daemon) -> Run:
    """One table from its start until its shoe is to be changed."""
    with simulated_shoe(PROFILE, pace_ms=0) as port:
        return run_daemon(daemon, port, SHOE_DEALT)


def compared(subject: Subject, runs: dict[str, list[Run]]) -> list[Promise]:
    """The median of each round's ratio to the baseline in processor time, and the times."""
    mine, base = runs[subject.name], runs[BASELINE.name]
    ratios = [a.processor_s / b.processor_s for a, b in zip(mine, base, strict=True)]
    figures = [
        median_of(subject.name, [done.seconds * 1000 for done in mine], unit="ms"),
        median_of("  processor time", [done.processor_s * 1000 for done in mine], unit="ms"),
    ]
    if subject is not BASELINE:
        figures.append(median_of(f"{subject.name}, times the baseline", ratios, most=subject.limit))
    return figures


def main() -> int:
    """Exits 1 where a promised ratio is not held, or a command does not run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=15, help="runs of each command (default 15)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: one at least")
    with mqtt_daemons() as to_mqtt, nats_daemons() as to_nats:
        daemons = [PLAIN, *to_mqtt, *to_nats]
        runs = measure(options.rounds, daemons)
        shoes = [(daemon, whole_shoe(daemon)) for daemon in daemons]
    found = []
    for subject in (*SUBJECTS, *OF_A_JOURNAL, *(daemon.subject for daemon in daemons)):
        found += compared(subject, runs)
    for daemon, shoe in shoes:
        name = f"{daemon.subject.name}: memory of one table, a whole shoe"
        found.append(Promise(name, shoe.peak_mb, "MB", most=daemon.most_mb))
    return report(found, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
