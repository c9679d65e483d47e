"""``shoectl floor`` on a real stream: it survives an outage, and Ctrl-C ends it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from shoe_ctl.sinks.nats import NatsSink
from shoe_testing.command_server import run_command
from shoe_testing.config import make_config, table_section
from shoe_testing.nats_server import NatsServer, nats_server, target_of
from shoe_testing.ports import free_port
from shoe_testing.programs import rest_of, started_program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path) as server:
        yield server


def event(n: int, kind: str, table: str = "bac-07", year: int | None = None) -> bytes:
    now = datetime.now(timezone.utc)
    told = {
        "id": f"{table}/p{n}",
        "source": f"/journal/00000000/table/{table}",
        "type": kind,
        "time": (now if year is None else now.replace(year=year)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "data": {"round_id": f"r{n}"} if kind.startswith("round") else {"reason": "inspection"},
    }
    return json.dumps(told).encode()


def publish(server: NatsServer, *events: bytes) -> None:
    async def deliver() -> None:
        sink = NatsSink("told", target_of(server.address))
        await sink.deliver(events)
        await sink.close()

    asyncio.run(deliver())


def next_row(process: subprocess.Popen[bytes]) -> tuple[str, str, int]:
    assert process.stdout is not None
    row = json.loads(process.stdout.readline())
    state = "HALTED" if row["halted"] else row["state"]
    return row["table"], state, row["missing"]


def test_it_follows_all_tables_over_an_outage_until_it_is_interrupted(server: NatsServer) -> None:
    publish(server, event(1, "round.opened"), event(1, "table.halted", "bac-08"))
    with started_program("floor", "--address", server.address, "--json") as process:
        assert [next_row(process), next_row(process)] == [
            ("bac-07", "betting", 0), ("bac-08", "HALTED", 0),
        ]  # fmt: skip
        publish(server, event(2, "round.bets_closed"))
        assert next_row(process) == ("bac-07", "closed", 0)
        server.kill()
        assert process.stderr is not None
        lost = process.stderr.readline().decode()
        assert lost == f"stream lost: {server.address}: connection lost\n"
        server.start()
        publish(server, event(3, "round.outcome"), event(2, "table.resumed", "bac-08"))
        rows = {next_row(process), next_row(process)}
        assert rows == {("bac-07", "resolved", 0), ("bac-08", "unknown", 0)}
        process.send_signal(signal.SIGINT)
        code, said = rest_of(process)
        assert code == 130
        assert said.decode().strip() == "stream is back"


@pytest.mark.usefixtures("commands")
def test_once_shows_how_the_tables_stand_those_that_are_quiet_too(
    server: NatsServer, tmp_path: Path
) -> None:
    publish(server, event(7, "round.opened", "bac-09"), event(9, "table.halted", year=2020))
    config = tmp_path / "table.toml"
    table = table_section(port="/dev/shoe", announcements="implied")
    sinks = [{"kind": "nats", "address": server.address}]
    config.write_text(make_config(table, sink=sinks))
    for where in (("--address", server.address), ("--config", str(config))):
        done = run_command("shoectl", "floor", *where, "--once")
        assert (done.returncode, done.stderr) == (0, "")
        rows = [line.split()[1:3] for line in done.stdout.splitlines()]
        assert rows == [["bac-07", "HALTED"], ["bac-09", "betting"]]


@pytest.mark.usefixtures("commands")
def test_what_it_cannot_follow_gets_one_line(tmp_path: Path) -> None:
    config = tmp_path / "table.toml"
    config.write_text(make_config(table_section(port="/dev/shoe")))
    nobody = f"nats://127.0.0.1:{free_port()}"
    password = tmp_path / "password"
    password.touch(0o644)

    def refused(code: int, line: str, *words: str) -> None:
        done = run_command("shoectl", "floor", *words)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr == f"shoectl: {line}\n"

    there = f"{nobody}: nothing listens there: start the server, or correct the address"
    refused(3, f"stream SHOE: {there}", "--address", nobody)
    refused(2, "give --config FILE or --address ADDRESS")
    refused(2, "give --config FILE or --address ADDRESS", "--address", nobody, "--config", "x")
    scheme = "--address: expected nats://HOST:PORT or tls://HOST:PORT, not 'mqtt://x'"
    refused(2, scheme, "--address", "mqtt://x")
    needs = "--user and --password-file need each other: give both, or none"
    refused(2, needs, "--address", nobody, "--user", "floor")
    refused(2, "--ca: needs an address that begins with tls://", "--address", nobody, "--ca", "x")
    none = f"{config}: it has no sink of kind nats with the public stream: give --address"
    refused(2, none, "--config", str(config))
    login = ("--user", "floor", "--password-file", str(password))
    readable = f"password_file: {password} is accessible to other users: run chmod 600 {password}"
    refused(3, f"stream SHOE: {nobody}: {readable}", "--address", nobody, *login)
