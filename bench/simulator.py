"""What ``shoe-sim floor`` costs itself: its tables beside a host that does nothing but answer.

In: how long each load lasts, how often. Out: a table (or JSON): medians and spread. The
host reads a card's number out of its frame, acknowledges it and arms the next draw, in another
process; what a real daemon needs of the machine is not in these figures. Exits 1 where a promise is
missed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import select
import socket
import subprocess
import sys
import tempfile
import tomllib
from multiprocessing import Process
from pathlib import Path
from typing import Any

from bench._promises import Promise, least_of, median_of, report
from firmware_proto.commands import Acknowledge, Armed, HelloRequest
from firmware_proto.reference.codec import Message, encode, read
from firmware_proto.reference.packing import FIRST_NUMBERED, Kind

SHOE_SIM = str(Path(sys.executable).parent / "shoe-sim")
HELLO = encode(Message(content=HelloRequest()))
LOADS = ((400, 0.1, 0.75), (1000, 2.0, 0.25))
"""Tables, seconds a card, and the share of a core that is promised at most."""

LEAST_REACHED = 0.98


class Host:
    """One table's."""

    def __init__(self, port: str) -> None:
        _, host, number = port.split(":")
        self.socket = socket.create_connection((host.strip("/"), int(number)))
        self.socket.sendall(HELLO)
        self._rest = b""

    def answer(self) -> bool:
        """Answer what came; whether the shoe is still there."""
        data = self.socket.recv(65536)
        *frames, self._rest = (self._rest + data).split(b"\0")
        stored = number = None
        for frame in filter(None, frames):
            kind, content, seq, _, _ = read(frame)
            if kind == Kind.HELLO:
                stored, number = seq - 1, content.drawn
            elif kind >= FIRST_NUMBERED:
                stored = seq
                number = content.number if kind == Kind.CARD_DRAWN else number
        answer = encode(Message(content=Acknowledge(stored))) if stored else b""
        if number is not None:
            armed = Armed(number=number + 1, hand="player", index=1)
            answer += encode(Message(content=armed))
        if answer:
            self.socket.sendall(answer)
        return bool(data)


def answer_all(ports: list[str]) -> None:
    """Answer at all ports until the shoes are gone."""
    poll = select.epoll()
    hosts = {}
    for port in ports:
        host = Host(port)
        hosts[host.socket.fileno()] = host
        poll.register(host.socket.fileno(), select.EPOLLIN)
    with contextlib.suppress(OSError):
        while True:
            for fd, _ in poll.poll():
                if not hosts[fd].answer():
                    return


def stages(process: subprocess.Popen[str], name: str) -> dict[str, Any]:
    """The line of this stage; lines before it are left out."""
    assert process.stdout is not None
    for line in process.stdout:
        found: dict[str, Any] = json.loads(line)
        if found["stage"] == name:
            return found
    raise SystemExit(f"shoe-sim floor ended before it {name}")


def dealt(tables: int, pace_s: float, seconds: float) -> dict[str, Any]:
    """The report of a floor of which every card was acknowledged.

    Raises:
        SystemExit: one was not, or a table was not served.
    """
    with tempfile.TemporaryDirectory(prefix="shoe-ctl-") as folder:
        config = Path(folder, "floor.toml")
        argv = (
            *(SHOE_SIM, "floor", "--tables", str(tables), "--pace", str(pace_s), "--json"),
            *("--for", str(seconds), "--warm-up", "2", "--seed", "1", "--config", str(config)),
        )
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as shoes:
            stages(shoes, "opened")
            written = tomllib.loads(config.read_text())["table"]
            ports = [table["shoe"]["port"] for table in written]
            hosts = Process(target=answer_all, args=(ports,))
            hosts.start()
            found = stages(shoes, "ended")
        hosts.join()
    if shoes.returncode:
        raise SystemExit(
            f"{tables} tables: exit {shoes.returncode}; {found['waiting']} cards not acknowledged, "
            f"{tables - found['connected']} tables not connected, {found['never_armed']} not armed"
        )
    return found


def main() -> int:
    """Exits 1 where a promise is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=6.0, help="of each load (default 6)")
    parser.add_argument("--tries", type=int, default=3, help="of each load (default 3)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    if options.tries < 1:
        parser.error("--tries: one at least")
    rows: list[Promise] = []
    for tables, pace_s, share in LOADS:
        runs = [dealt(tables, pace_s, options.seconds) for _ in range(options.tries)]
        own = [run["simulator"] for run in runs]
        name = f"{tables} tables, a card every {pace_s:g} s"
        rows += [
            least_of(
                f"{name}: part of the cards dealt in time",
                [run["reached"] / run["asked"] for run in runs],
                least=LEAST_REACHED,
            ),
            median_of(f"{name}: cores of the simulator", [o["share"] for o in own], most=share),
            median_of(f"{name}: processor time a card", [o["us_a_card"] for o in own], unit="µs"),
            median_of(f"{name}: the simulator's delay, p99", [o["p99_ms"] for o in own], unit="ms"),
            median_of(
                f"{name}: to acknowledged, p99",
                [run["stored"]["p99_ms"] for run in runs],
                unit="ms",
            ),
        ]
    return report(rows, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
