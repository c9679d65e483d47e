"""How long the commands take to start, beside a Python that imports asyncio and sqlite3.

In: the installed commands. Out: a table (or JSON): times, peak memory, the ratio promised and held.
Each round runs every command once, so that a slow minute of the machine is shared by all. A daemon
has started when it has published what its shoe said (with MQTT: when a subscriber has it); its
memory is that of a whole shoe.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import queue
import signal
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from bench._shoe import NEVER_MS, simulated_shoe
from shoe_testing.brokers import HOST, Mosquitto, broker

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


DAEMON = Subject("shoectl run", (SHOECTL, "run", "--json", "--config", "table.toml"), limit=5.0)
WITH_MQTT = Subject("shoectl run, with MQTT", (SHOECTL, "run", "--config", "table.toml"), limit=6.0)
SHOE_KNOWN = b'"type":"shoe.loaded"'
"""The first event that follows from what the shoe said: its hello is read, stored, published."""
SHOE_DEALT = b'"type":"shoe.change_due"'
MOST_MB = 64
WITHIN_S = 120.0
"""How long anything may take on a machine that has stalled."""
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

MQTT_SINK = """
[[sink]]
kind = "mqtt"
address = "{address}"
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one command: wall time from spawn to exit, and the most memory it held."""

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
    return Run(seconds, usage.ru_maxrss / 1024)


def run_daemon(port: str, until: bytes) -> Run:
    """Runs the daemon on a new journal until it publishes this; the time to there.

    Raises:
        SystemExit: it ended before; its own words stand on stderr.
    """
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "table.toml")
        config.write_text(CONFIGURATION.format(profile=PROFILE, port=port))
        reading, writing = os.pipe()
        argv = (*DAEMON.argv[:-1], str(config))
        start = time.perf_counter()
        with Path(folder, "log").open("wb") as log:
            files = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, log.fileno(), 2)]
            pid = os.posix_spawn(argv[0], argv, INSTALLED, file_actions=files)
        os.close(writing)
        with open(reading, "rb") as told:  # noqa: PTH123 - a descriptor
            seconds = next((time.perf_counter() - start for line in told if until in line), None)
            os.kill(pid, signal.SIGTERM)
            _, _, usage = os.wait4(pid, 0)
        if seconds is None:
            raise SystemExit(f"{DAEMON.name}: {Path(folder, 'log').read_text().strip()}")
    return Run(seconds, usage.ru_maxrss / 1024)


def run_with_broker(port: str, at: Mosquitto, until: bytes) -> Run:
    """Runs the daemon with a sink at this broker, until a subscriber there gets this; the time.

    Raises:
        SystemExit: it does not come; the daemon's own words.
    """
    came: queue.Queue[float] = queue.Queue()
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    ready = threading.Event()
    client.on_subscribe = lambda *_: ready.set()
    client.on_message = lambda _, __, message: (
        came.put(time.perf_counter()) if until in message.payload else None
    )
    client.connect(HOST, at.port)
    client.subscribe("shoe/v1/bench/public", 1)
    client.loop_start()
    ready.wait()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "table.toml")
        sink = MQTT_SINK.format(address=at.address)
        config.write_text(CONFIGURATION.format(profile=PROFILE, port=port) + sink)
        argv = (*WITH_MQTT.argv[:-1], str(config))
        start = time.perf_counter()
        with Path(folder, "log").open("wb") as log:
            files = [(os.POSIX_SPAWN_DUP2, log.fileno(), fd) for fd in (1, 2)]
            pid = os.posix_spawn(argv[0], argv, INSTALLED, file_actions=files)
        try:
            seconds = came.get(timeout=WITHIN_S) - start
        except queue.Empty:
            raise SystemExit(f"{WITH_MQTT.name}: {Path(folder, 'log').read_text()}") from None
        finally:
            os.kill(pid, signal.SIGTERM)
            _, _, usage = os.wait4(pid, 0)
            client.disconnect()
            client.loop_stop()
    return Run(seconds, usage.ru_maxrss / 1024)


def measure(rounds: int, at: Mosquitto) -> dict[str, list[Run]]:
    """Runs every subject ``rounds`` times in turn, after one round that only warms the caches."""
    runs: dict[str, list[Run]] = {subject.name: [] for subject in (*SUBJECTS, DAEMON, WITH_MQTT)}
    with simulated_shoe(PROFILE, NEVER_MS) as port:
        for number in range(rounds + 1):
            done = [(subject, run(subject)) for subject in SUBJECTS]
            done.append((DAEMON, run_daemon(port, SHOE_KNOWN)))
            done.append((WITH_MQTT, run_with_broker(port, at, SHOE_KNOWN)))
            if number:
                for subject, ran in done:
                    runs[subject.name].append(ran)
    return runs


def whole_shoe() -> Run:
    """One table from its start until its shoe is to be changed."""
    with simulated_shoe(PROFILE, pace_ms=0) as port:
        return run_daemon(port, SHOE_DEALT)


def whole_shoe_over_mqtt(at: Mosquitto) -> Run:
    """The same, published to a broker."""
    with simulated_shoe(PROFILE, pace_ms=0) as port:
        return run_with_broker(port, at, SHOE_DEALT)


def summary(subject: Subject, runs: dict[str, list[Run]]) -> dict[str, object]:
    """Medians over the rounds; the ratio is the median of each round's own ratio."""
    mine, base = runs[subject.name], runs[BASELINE.name]
    times_ms = [done.seconds * 1000 for done in mine]
    ratio = statistics.median(a.seconds / b.seconds for a, b in zip(mine, base, strict=True))
    return {
        "name": subject.name,
        "min_ms": round(min(times_ms), 1),
        "median_ms": round(statistics.median(times_ms), 1),
        "max_ms": round(max(times_ms), 1),
        "peak_mb": round(max(done.peak_mb for done in mine), 1),
        "ratio": round(ratio, 2),
        "limit": subject.limit,
        "held": subject.limit is None or ratio < subject.limit,
    }


def main() -> int:
    """Exits 1 where a promised ratio is not held, or a command does not run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=15, help="runs of each command (default 15)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: one at least")
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as at:
        runs = measure(options.rounds, at)
        shoes = {"whole_shoe": whole_shoe(), "whole_shoe_mqtt": whole_shoe_over_mqtt(at)}
    rows = [summary(subject, runs) for subject in (*SUBJECTS, DAEMON, WITH_MQTT)]
    fits = all(shoe.peak_mb <= MOST_MB for shoe in shoes.values())
    if options.json:
        whole = {
            name: {
                "seconds": round(shoe.seconds, 2),
                "peak_mb": round(shoe.peak_mb, 1),
                "limit_mb": MOST_MB,
                "held": shoe.peak_mb <= MOST_MB,
            }
            for name, shoe in shoes.items()
        }
        versions = {"python": platform.python_version()}
        print(json.dumps({**versions, "commands": rows, **whole}))
    else:
        print(f"Python {platform.python_version()}, {options.rounds} rounds, alternating")
        print(f"{'':26}{'min':>8}{'median':>8}{'max':>8} ms{'peak':>7} MB  ratio")
        for row in rows:
            promise = f" of {row['limit']:.1f}" if row["limit"] else ""
            broken = "" if row["held"] else "  NOT HELD"
            print(
                f"{row['name']:26}{row['min_ms']:8}{row['median_ms']:8}{row['max_ms']:8}"
                f"{row['peak_mb']:10}{row['ratio']:10}{promise}{broken}"
            )
        for name, shoe in shoes.items():
            broken = "" if shoe.peak_mb <= MOST_MB else "  NOT HELD"
            how = ", with MQTT" if name == "whole_shoe_mqtt" else ""
            print(f"one table, a whole shoe{how}: {shoe.peak_mb:.1f} MB of {MOST_MB}{broken}")
    return 0 if fits and all(row["held"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
