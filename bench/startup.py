"""How long the commands take to start, beside a Python that imports asyncio and sqlite3.

In: the installed commands. Out: a table (or JSON): times, peak memory, the ratio promised and held:
of processor time, which other programs on the machine hardly change. Every command of ``shoectl``
is measured; one that then works for long is measured up to its help page, and named at the end.
Each round runs every command once, so that a slow minute of the machine is shared by all. A daemon
has started when it has published what its shoe said: to its output, or to a broker; its memory is
that of a whole shoe. A broker that is not installed is named at the end, too.
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

from bench._daemon import RUN as SHOECTL_RUN
from bench._daemon import child, peak_mb, processor_s, wait_until_ready
from bench._promises import Promise, median_of, report
from bench._shoe import NEVER_MS, simulated_shoe
from shoe_ctl.cli.main import COMMANDS
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_testing import brokers

BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Subject:
    """A command line, what it reads, and the most times the baseline that it may take."""

    name: str
    argv: tuple[str, ...]
    stdin: bytes = b""
    limit: float | None = None


MOST = 3.0
"""Times the baseline, for every command."""

BASELINE = Subject("python: asyncio, sqlite3", (sys.executable, "-c", "import asyncio, sqlite3"))
(SHOECTL,) = SHOECTL_RUN
CONFIG = "table.toml"
"""Stands for the configuration of a running daemon."""
PORT = "shoe"
"""Stands for the port of a simulated shoe."""
SUBJECTS = (
    BASELINE,
    Subject("shoectl --help", (SHOECTL, "--help"), limit=MOST),
    Subject("shoectl games", (SHOECTL, "games"), limit=MOST),
    Subject("shoectl odds --help", (SHOECTL, "odds", "--help"), limit=MOST),
    Subject("shoectl decided", (SHOECTL, "decided", "tiger", "7D ? TS ?"), limit=MOST),
    Subject("shoectl settle", (SHOECTL, "settle", "tiger"), b"7D 9C TS TH\n", limit=MOST),
    Subject("shoectl explain", (SHOECTL, "explain", "link_lost"), limit=MOST),
    Subject("shoectl schema", (SHOECTL, "schema"), limit=MOST),
    Subject("shoectl doctor", (SHOECTL, "doctor"), limit=MOST),
    Subject("shoectl config check", (SHOECTL, "config", "check", CONFIG), limit=MOST),
    Subject("shoectl table --help", (SHOECTL, "table", "--help"), limit=MOST),
    Subject("shoectl table expose --help", (SHOECTL, "table", "expose", "--help"), limit=MOST),
    Subject("shoectl table status", (SHOECTL, "table", "status", "--config", CONFIG), limit=MOST),
    Subject("shoectl demo --help", (SHOECTL, "demo", "--help"), limit=MOST),
    Subject("shoectl run --help", (SHOECTL, "run", "--help"), limit=MOST),
    Subject("shoectl broker check --help", (SHOECTL, "broker", "check", "--help"), limit=MOST),
    Subject("shoectl floor --help", (SHOECTL, "floor", "--help"), limit=MOST),
    Subject("shoectl inspect --help", (SHOECTL, "inspect", "--help"), limit=MOST),
    Subject(
        "shoectl publish",
        (SHOECTL, "publish", "--from", "irregular_shoe", "--pace-ms", "0"),
        limit=MOST,
    ),
    Subject("shoectl certify-consumer --help", (SHOECTL, "certify-consumer", "--help"), limit=MOST),
    Subject(
        "shoectl capture",
        (SHOECTL, "capture", "--profile", "reference", "--port", PORT, "--seconds", "0.01"),
        limit=MOST,
    ),
    Subject(
        "shoectl decode",
        (SHOECTL, "decode", "--profile", "angel_eye", "--json"),
        # Player card 1 is the eight of spades, as an Angel Eye shoe says it.
        bytes.fromhex("05 31 44 81 B8 03 34 46"),
        limit=MOST,
    ),
)

LEFT_OUT = (
    "shoectl odds GAME counts every order of a shoe's cards: `odds` is the bench of that",
    "shoectl demo starts a daemon and a simulated shoe: each is measured by itself",
    "shoectl certify-consumer starts a broker and waits for a receiver",
    "shoectl broker waits for what a broker does not answer",
    "shoectl floor needs a stream, and nats-py, whose import takes as long as the baseline",
    "shoectl inspect verifies, replays and compares all that a folder holds",
    "shoectl doctor --config listens at each port for seconds",
)
"""What is not measured beyond its help page or its plain form, and why."""


JOURNAL = "shoe.journal"
"""Stands for a journal of some rounds in a command line."""
OUTPUT = "shoe.journal.gz"
"""Stands for a file beside it that is not there yet."""
PROOF = "round.json"
"""The same for a proof of the journal's first round."""
WITNESS_KEY = "witness.key"
"""Stands for a file beside it that a witness makes."""
VERIFIER_KEY = "witness.example/one+56dd39ef+BNdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"
"""The public key of some witness."""
LEDGER = "events.jsonl"
"""Stands for a file with the public events of that journal."""
OF_A_JOURNAL = (
    Subject("shoectl verify", (SHOECTL, "verify", JOURNAL), limit=MOST),
    Subject("shoectl loss", (SHOECTL, "loss", JOURNAL), limit=MOST),
    Subject("shoectl rounds", (SHOECTL, "rounds", JOURNAL), limit=MOST),
    Subject("shoectl incidents", (SHOECTL, "incidents", JOURNAL), limit=MOST),
    Subject("shoectl reconcile", (SHOECTL, "reconcile", JOURNAL, LEDGER), limit=MOST),
    Subject("shoectl checkpoint", (SHOECTL, "checkpoint", JOURNAL), limit=MOST),
    Subject(
        "shoectl cosignatures",
        (SHOECTL, "cosignatures", JOURNAL, LEDGER, "--witness", VERIFIER_KEY),
        limit=MOST,
    ),
    Subject(
        "shoectl prove",
        (SHOECTL, "prove", JOURNAL, "--round", "demo-s1-r1", "-o", PROOF),
        limit=MOST,
    ),
    Subject(
        "shoectl witness",
        (SHOECTL, "witness", "--signing-key", WITNESS_KEY, "--name", "w1", LEDGER),
        limit=MOST,
    ),
    Subject("shoectl replay", (SHOECTL, "replay", JOURNAL, "--last", "1"), limit=MOST),
    Subject("shoectl export", (SHOECTL, "export", JOURNAL, "--output", OUTPUT), limit=MOST),
    Subject("shoectl capture --journal", (SHOECTL, "capture", "--journal", JOURNAL), limit=MOST),
)

RUN = (SHOECTL, "run", "--config", CONFIG)
READY_MOST, TO_MQTT_MOST, TO_NATS_MOST = 4.0, 5.5, 6.0
"""Times the baseline, for a daemon until it has published what its shoe said.

With a broker that is later: the client library is imported (paho and aiomqtt take half the
baseline, nats-py as much as the baseline), the connection is made, with NATS a stream too, and the
event is published once the broker answers. The promise of a daemon is that of one without a
broker."""

DAEMON = Subject("shoectl run", (*RUN, "--json"), limit=READY_MOST)
SHOES = 3
"""So many whole shoes are dealt to each daemon, for its memory."""
SHOE_KNOWN = b'"type":"shoe.loaded"'
"""The first event that follows from what the shoe said: its hello is read, stored, published."""
SHOE_DEALT = b'"type":"shoe.change_due"'
PROFILE = "reference"
INSTALLED = {
    k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
}
"""What is installed has its bytecode beside it: without that, the compiler is what is measured."""

HIDDEN = ("aiohttp",)
"""What only the benches install, and a library of the product imports where it is there: nats-py
takes twice as long to import with it, and 10 MB more."""

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


SOCKET = """
[socket]
[[socket.user]]
user = {user}
position = "pit_supervisor"
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
    """One run of one command: the time from spawn to exit, and of a daemon the memory it held.

    ``processor_s`` is processor time, ``seconds`` what the clock on the wall shows.
    """

    processor_s: float
    seconds: float
    peak_mb: float = 0.0


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
    return Run(usage.ru_utime + usage.ru_stime, seconds)


def run_daemon(daemon: Daemon, port: str, until: bytes, *, signed: bool = False) -> Run:
    """Runs a daemon on a new journal until it publishes this; the time to there.

    Its memory is what it held by then, or once it had ``signed`` its journal.

    Raises:
        SystemExit: it ended before; its own words stand on stderr.
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        config = Path(folder, "table.toml")
        config.write_text(CONFIGURATION.format(profile=PROFILE, port=port) + daemon.sink)
        reading, writing = os.pipe()
        output = stack.enter_context(open(reading, "rb"))  # noqa: PTH123 - a descriptor
        told = output if daemon.listen is None else stack.enter_context(daemon.listen())
        argv = tuple(str(config) if word == CONFIG else word for word in daemon.subject.argv)
        start = time.perf_counter()
        with Path(folder, "log").open("wb") as log:
            files = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, log.fileno(), 2)]
            pid = os.posix_spawn(argv[0], argv, INSTALLED, file_actions=files)
        os.close(writing)
        seconds = next((time.perf_counter() - start for line in told if until in line), None)
        spent_s = processor_s(pid)
        if signed:
            wait_until_signed(pid, Path(folder, "log"))
        held_mb = peak_mb(pid) if seconds is not None else 0.0
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        if seconds is None:
            said = Path(folder, "log").read_text().strip()
            raise SystemExit(f"{daemon.subject.name}: {said}")
    return Run(spent_s, seconds, held_mb)


def wait_until_signed(pid: int, log: Path) -> None:
    """Return once the daemon has signed its journal, a second after its start, or has ended.

    The signing library takes a fifth of its memory.
    """
    while (
        b"journal: signed:" not in log.read_bytes()
        and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    ):
        time.sleep(0.02)


@contextmanager
def as_installed() -> Iterator[None]:
    """Hide from the commands what only the benches install."""
    with tempfile.TemporaryDirectory() as folder:
        for name in HIDDEN:
            Path(folder, f"{name}.py").write_text('raise ImportError("hidden by the bench")\n')
        INSTALLED["PYTHONPATH"] = folder
        try:
            yield
        finally:
            del INSTALLED["PYTHONPATH"]


# The brokers.


@contextmanager
def nats_subscriber(port: int) -> Iterator[Iterable[bytes]]:
    """What is published on the table's public subject, in lines."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as there:
        there.sendall(b'CONNECT {"verbose":false}\r\nSUB shoe.v1.bench.public 1\r\nPING\r\n')
        with there.makefile("rb") as lines:
            next(line for line in lines if line.startswith(b"PONG"))
            yield lines


def nats_program() -> str | None:
    """The server, if it is installed."""
    return shutil.which("nats-server", path=f"{BIN}:{os.environ.get('PATH', '')}")


@contextmanager
def nats_daemons() -> Iterator[list[Daemon]]:
    """A daemon that publishes to a server of its own, which keeps each event on the disk."""
    server = nats_program()
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
                subject = Subject("shoectl run, to NATS", RUN, limit=TO_NATS_MOST)
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
        subject = Subject("shoectl run, to MQTT", RUN, limit=TO_MQTT_MOST)
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


@contextmanager
def served_table() -> Iterator[tuple[Path, str]]:
    """The configuration of a daemon that serves a table and takes requests, and a free shoe's port.

    Raises:
        SystemExit: the daemon ended; the message is its log.
    """
    with tempfile.TemporaryDirectory(prefix="shoe-ctl-") as name, ExitStack() as stack:
        config, log = Path(name, CONFIG), Path(name, "log")
        taken, free = (stack.enter_context(simulated_shoe(PROFILE, NEVER_MS)) for _ in range(2))
        config.write_text(
            CONFIGURATION.format(profile=PROFILE, port=taken) + SOCKET.format(user=os.getuid())
        )
        said = stack.enter_context(log.open("wb"))
        argv = (SHOECTL, "run", "--config", str(config))
        wait_until_ready(stack.enter_context(child(*argv, stdout=said, stderr=said)), log)
        yield config, free


def with_paths(subject: Subject, journal: Path, config: Path, port: str) -> Subject:
    """The command with the paths of what is there."""
    paths = {
        JOURNAL: str(journal),
        OUTPUT: str(journal.with_name(OUTPUT)),
        PROOF: str(journal.with_name(PROOF)),
        LEDGER: str(journal.with_name(LEDGER)),
        WITNESS_KEY: str(journal.with_name(WITNESS_KEY)),
        CONFIG: str(config),
        PORT: port,
    }
    return replace(subject, argv=tuple(paths.get(word, word) for word in subject.argv))


def write_ledger(journal: Path) -> None:
    """Write the journal's public events to a file beside it."""
    with Reader.open(journal) as reader:
        events = [record.body for record in reader.records(kinds=(Kind.PUBLIC,))]
    journal.with_name(LEDGER).write_bytes(b"\n".join(events))


def check_all_measured(commands: Iterable[Subject]) -> None:
    """Check that no command is forgotten.

    Raises:
        SystemExit: one is; the message names it.
    """
    measured = {subject.argv[1] for subject in commands if subject.argv[0] == SHOECTL}
    if forgotten := COMMANDS.keys() - measured:
        raise SystemExit(f"not measured: {', '.join(sorted(forgotten))}")


def measure(rounds: int, daemons: Sequence[Daemon]) -> dict[str, list[Run]]:
    """Runs every subject ``rounds`` times in turn, after one round that only warms the caches."""
    commands = (*SUBJECTS, *OF_A_JOURNAL)
    check_all_measured(commands)
    names = [*commands, *(daemon.subject for daemon in daemons)]
    runs: dict[str, list[Run]] = {subject.name: [] for subject in names}
    with ExitStack() as stack:
        port = stack.enter_context(simulated_shoe(PROFILE, NEVER_MS))
        journal = stack.enter_context(journal_of_rounds())
        write_ledger(journal)
        config, free = stack.enter_context(served_table())
        subjects = [with_paths(subject, journal, config, free) for subject in commands]
        for number in range(rounds + 1):
            for made in (OUTPUT, PROOF):
                journal.with_name(made).unlink(missing_ok=True)
            done = [(subject, run(subject)) for subject in subjects]
            done += [(each.subject, run_daemon(each, port, SHOE_KNOWN)) for each in daemons]
            if number:
                for subject, ran in done:
                    runs[subject.name].append(ran)
    return runs


def whole_shoe(daemon: Daemon) -> Run:
    """One table from its start until its shoe is to be changed."""
    with simulated_shoe(PROFILE, pace_ms=0) as port:
        return run_daemon(daemon, port, SHOE_DEALT, signed=True)


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
    with as_installed(), mqtt_daemons() as to_mqtt, nats_daemons() as to_nats:
        daemons = [PLAIN, *to_mqtt, *to_nats]
        runs = measure(options.rounds, daemons)
        shoes = [(daemon, [whole_shoe(daemon) for _ in range(SHOES)]) for daemon in daemons]
        left_out = [*LEFT_OUT]
        if not to_mqtt:
            left_out.append("shoectl run, to MQTT: mosquitto is not installed")
        if not to_nats:
            left_out.append("shoectl run, to NATS: nats-server is not installed")
    found = []
    for subject in (*SUBJECTS, *OF_A_JOURNAL, *(daemon.subject for daemon in daemons)):
        found += compared(subject, runs)
    for daemon, dealt in shoes:
        name = f"{daemon.subject.name}: memory of one table, a whole shoe"
        peaks = [shoe.peak_mb for shoe in dealt]
        found.append(median_of(name, peaks, unit="MB", most=daemon.most_mb))
    code = report(found, as_json=options.json, left_out=left_out)
    if not options.json:
        print("\n".join(f"left out: {what}" for what in left_out))
    return code


if __name__ == "__main__":
    sys.exit(main())
