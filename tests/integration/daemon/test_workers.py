"""A daemon of several processes, each with a part of the tables: from outside it is one daemon.

In: configurations with workers, simulated shoes, signals. Out: what the socket answers, journals,
sinks' files, exit codes.
"""

from __future__ import annotations

import json
import os
import random
import resource
import select
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from shoe_testing.config import FACE_UP, SOCKET, make_config, table_section, this_user
from shoe_testing.daemon import nothing_is_wrong_with
from shoe_testing.nats_server import nats_server, stored_messages
from shoe_testing.programs import (
    A_FEW_CARDS,
    PATIENCE_S,
    STORAGE_FAULT,
    Service,
    daemon_service,
    rest_of,
    shoe_program,
)
from shoe_testing.socket_client import calling

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

TABLES = {"bac-07": 1, "bac-08": 2}
JOURNALS = ("journal.db", "journal-2.db")


def write_workers(
    folder: Path, ports: dict[str, str], *sinks: dict[str, Any], **changed: int
) -> Path:
    tables = [
        table_section(
            name,
            port=ports[name],
            decks=8,
            announcements="implied",
            method_b=FACE_UP,
            worker=changed.get(name.replace("-", "_"), worker),
        )
        for name, worker in TABLES.items()
    ]
    config = folder / "table.toml"
    config.write_text(
        make_config(
            *tables,
            sink=[{"kind": "jsonl", "path": "public.jsonl"}, *sinks],
            socket={
                "path": SOCKET,
                "user": [
                    this_user("gaming_shift_manager"),
                    {"user": os.getuid() + 1, "position": "pit_manager", "name": "Bo"},
                ],
            },
        )
    )
    return config


@contextmanager
def two_shoes() -> Iterator[dict[str, str]]:
    with shoe_program("reference") as one, shoe_program("reference") as two:
        yield dict(zip(TABLES, (one, two), strict=True))


def published(folder: Path, table: str) -> list[dict[str, Any]]:
    path = folder / ("public.jsonl" if TABLES[table] == 1 else "public-2.jsonl")
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    events = [json.loads(line) for line in lines]
    assert {event["id"].partition("/")[0] for event in events} <= {table}
    return events


def outcomes(folder: Path, table: str) -> int:
    return sum(event["type"] == "round.outcome" for event in published(folder, table))


def until_outcomes(service: Service, folder: Path, number: int) -> None:
    """Both tables have published so many outcomes; the watchdog's beat is the clock."""
    while any(outcomes(folder, table) < number for table in TABLES):
        service.until("WATCHDOG")


def workers_of(service: Service) -> list[int]:
    """The process ids of the workers, in their order."""
    pid = service.process.pid
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def stopped(service: Service) -> bytes:
    service.process.send_signal(signal.SIGTERM)
    service.until("STOPPING")
    ended, errors = rest_of(service.process)
    assert ended == 0, errors.decode()
    return errors


async def test_two_workers_are_one_daemon_to_whoever_asks(tmp_path: Path) -> None:
    with two_shoes() as ports, daemon_service(write_workers(tmp_path, ports)) as service:
        assert service.until("READY") == {"READY": "1", "STATUS": "serving"}
        until_outcomes(service, tmp_path, 2)
        async with calling(tmp_path / SOCKET) as caller, calling(tmp_path / SOCKET) as stream:
            stands = await caller.asks(request="status")
            assert [table["table"] for table in stands["tables"]] == list(TABLES)
            assert [sink["sink"] for sink in stands["sinks"]] == ["jsonl:public.jsonl"]
            assert stands["position"] == "gaming_shift_manager"
            (one,) = (await caller.asks(request="status", table="bac-08"))["tables"]
            assert one["table"] == "bac-08"
            unknown = await caller.gives("suspend", table="bac-09")
            assert unknown["error"]["args"]["tables"] == list(TABLES)
            outranked = await caller.gives("pause", table="bac-08", position="surveillance")
            assert outranked["error"]["code"] == "daemon_not_in_position"
            for table in TABLES:
                given = await caller.gives(
                    "pause", table=table, position="gaming_shift_manager", reason="a check"
                )
                assert given["accepted"], given
                assert given["events"][0].startswith(f"{table}/p")
                again = {"request": "resend", "sink": "jsonl:public.jsonl", "after": f"{table}/p1"}
                assert (await caller.asks(**again))["resent"]["refused"] == 0
            refused = await caller.asks(request="redeliver", sink="jsonl:public.jsonl")
            assert refused["error"]["code"] == "sink_nothing_parked"
            assert await caller.asks(request="redeliver") == {"redelivered": []}
            refused = await caller.asks(request="resend", sink="none", after="bac-08/p1")
            assert refused["error"]["args"]["sinks"] == ["jsonl:public.jsonl"]
            first = await stream.asks(request="events", after="beginning")
            seen = Counter([first["source"].rpartition("/")[2]])
            while len(seen) < len(TABLES):
                seen[(await stream.answer())["source"].rpartition("/")[2]] += 1
            too_much = await caller.asks(request="events", after="bac-08/p1")
            assert too_much["error"]["code"] == "events_of_several_workers"
        async with calling(tmp_path / SOCKET) as caller:
            event = await caller.asks(request="events", after="bac-08/p1", table="bac-08")
            assert event["id"] == "bac-08/p2"
        errors = stopped(service)
    assert b"worker 2: bac-08: " in errors
    for journal in JOURNALS:
        nothing_is_wrong_with(tmp_path / journal)


def test_a_killed_worker_ends_all_and_the_next_start_loses_nothing(tmp_path: Path) -> None:
    chance = random.Random(os.environ.get("SHOE_CTL_SEED", "workers"))
    with two_shoes() as ports:
        config = write_workers(tmp_path, ports)
        victims: list[int | None] = [chance.choice([0, 1]), None]  # a worker, then the front
        for victim in victims:
            with daemon_service(config) as service:
                service.until("READY")
                most = max(outcomes(tmp_path, table) for table in TABLES)
                until_outcomes(service, tmp_path, most + 1 + chance.randrange(2))
                workers = workers_of(service)
                if victim is None:
                    service.process.kill()
                    assert rest_of(service.process)[0] == -signal.SIGKILL
                    continue
                os.kill(workers[victim], signal.SIGKILL)
                ended, errors = rest_of(service.process)
            assert ended == 3
            assert errors.splitlines()[-1] == (
                b"shoectl: worker %d was killed by SIGKILL: all workers stop; "
                b"start the daemon again" % (victim + 1)
            )
        with daemon_service(config) as service:
            service.until("READY")
            most = max(outcomes(tmp_path, table) for table in TABLES)
            until_outcomes(service, tmp_path, most + 1)
            stopped(service)
    for table, journal in zip(TABLES, JOURNALS, strict=True):
        nothing_is_wrong_with(tmp_path / journal)
        events = {event["id"]: event for event in published(tmp_path, table)}
        assert list(events) == [f"{table}/p{n}" for n in range(1, len(events) + 1)]
        rounds = [e["data"]["round_id"] for e in events.values() if e["type"] == "round.outcome"]
        assert rounds and len(set(rounds)) == len(rounds)
    # The same tables, each at the other's worker: neither is served without its records.
    config = write_workers(tmp_path, dict.fromkeys(TABLES, "/dev/null"), bac_07=2, bac_08=1)
    with daemon_service(config) as service:
        ended, errors = rest_of(service.process)
    assert ended == 2
    assert f"records are in {tmp_path / 'journal.db'}: set worker = 1".encode() in errors


def test_a_worker_that_cannot_start_is_named_by_its_own_line(tmp_path: Path) -> None:
    gone = str(tmp_path / "no-shoe")
    with (
        shoe_program("reference") as port,
        daemon_service(write_workers(tmp_path, {"bac-07": port, "bac-08": gone})) as service,
    ):
        ended, errors = rest_of(service.process)
    assert ended == 3
    assert b"no-shoe" in errors.splitlines()[-1]
    assert b"Traceback" not in errors, errors.decode()


def test_hangup_reopens_the_files_of_each_worker_and_an_interrupt_ends_all(tmp_path: Path) -> None:
    with two_shoes() as ports, daemon_service(write_workers(tmp_path, ports)) as service:
        until_outcomes(service, tmp_path, 1)
        for name in ("public.jsonl", "public-2.jsonl"):
            (tmp_path / name).rename(tmp_path / f"old-{name}")
        service.process.send_signal(signal.SIGHUP)
        until_outcomes(service, tmp_path, 1)
        workers = workers_of(service)
        service.process.send_signal(signal.SIGINT)
        assert rest_of(service.process)[0] == 130
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


async def test_a_worker_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    with two_shoes() as ports, daemon_service(write_workers(tmp_path, ports)) as service:
        service.until("READY")
        workers = workers_of(service)
        watched = [os.pidfd_open(pid) for pid in workers]
        try:
            os.kill(workers[1], signal.SIGSTOP)
            async with calling(tmp_path / SOCKET) as caller:
                caller.writer.write(b'{"request": "status"}\n')
                (one,) = (await asked_of(tmp_path, table="bac-07"))["tables"]
                assert one["table"] == "bac-07"
                service.process.send_signal(signal.SIGTERM)
                assert select.select(watched[:1], [], [], PATIENCE_S)[0]  # the other one ends
                while service.process.poll() is None:  # whoever cannot wait
                    service.process.send_signal(signal.SIGINT)
                    with suppress(subprocess.TimeoutExpired):
                        service.process.wait(0.1)
            assert select.select(watched[1:], [], [], PATIENCE_S)[0]
        finally:
            for fd in watched:
                os.close(fd)
    for journal in JOURNALS:
        nothing_is_wrong_with(tmp_path / journal)


async def asked_of(folder: Path, **asked: str) -> dict[str, Any]:
    async with calling(folder / SOCKET) as caller:
        answer: dict[str, Any] = await caller.asks(request="status", **asked)
        return answer


async def test_storage_that_fails_at_one_worker_stops_its_tables_alone(tmp_path: Path) -> None:
    with two_shoes() as ports, daemon_service(write_workers(tmp_path, ports)) as service:
        service.until("READY")
        second = workers_of(service)[1]
        room = max(path.stat().st_size for path in tmp_path.glob("journal-2.db*"))
        limits = (room + A_FEW_CARDS, resource.RLIM_INFINITY)
        resource.prlimit(second, resource.RLIMIT_FSIZE, limits)
        assert service.until("STATUS")["STATUS"].startswith(f"worker 2: {STORAGE_FAULT}")
        before = len(published(tmp_path, "bac-07"))
        async with calling(tmp_path / SOCKET) as caller:
            while "tables" not in (stands := await caller.asks(request="status")):
                assert stands["error"]["code"] == "daemon_starting"  # until the fault is noted
            assert ["fault" in table for table in stands["tables"]] == [False, True]
            assert "sinks" not in stands
        while len(published(tmp_path, "bac-07")) == before:
            service.until("WATCHDOG")
        service.process.send_signal(signal.SIGTERM)
        ended, errors = rest_of(service.process)
    assert ended == 3
    assert errors.splitlines()[-1].startswith(b"shoectl: stopped while nothing could be stored: ")
    for journal in JOURNALS:
        nothing_is_wrong_with(tmp_path / journal)


async def test_all_workers_publish_to_one_stream(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server, two_shoes() as ports:
        sink = {"kind": "nats", "address": server.address}
        with daemon_service(write_workers(tmp_path, ports, sink)) as service:
            until_outcomes(service, tmp_path, 2)
            async with calling(tmp_path / SOCKET) as caller:
                sinks = (await caller.asks(request="status"))["sinks"]
            assert [sink["state"] for sink in sinks] == ["at_work", "at_work"]
            stopped(service)
        messages = await stored_messages(server.address, "SHOE")
    for table in TABLES:
        stream = [json.loads(m.body) for m in messages if m.subject == f"shoe.v1.{table}.public"]
        assert stream == published(tmp_path, table)


async def test_a_loss_is_ruled_on_for_the_tables_of_one_worker(tmp_path: Path) -> None:
    with two_shoes() as ports:
        config = write_workers(tmp_path, ports)
        older = b""
        for start in (1, 2):
            with daemon_service(config) as service:
                service.until("READY")
                most = max(outcomes(tmp_path, table) for table in TABLES)
                until_outcomes(service, tmp_path, most + 1)
                stopped(service)
            if start == 1:
                older = (tmp_path / "journal-2.db").read_bytes()
        (tmp_path / "journal-2.db").write_bytes(older)
        with daemon_service(config) as service:
            assert service.until("READY")["STATUS"].startswith("worker 2: ")
            async with calling(tmp_path / SOCKET) as caller:
                refused = await caller.asks(request="status")
                assert refused["error"]["code"] == "daemon_loss_not_ruled"
                (one,) = (await caller.asks(request="status", table="bac-07"))["tables"]
                assert "fault" not in one
                ruled = await caller.gives(
                    "accept_loss",
                    table="bac-08",
                    position="gaming_shift_manager",
                    reason="the file is gone",
                    consented_by="Bo",
                )
                assert ruled["accepted"], ruled
                while "tables" not in (stands := await caller.asks(request="status")):
                    assert stands["error"]["code"] == "daemon_starting"
                assert [bool(table["halt"]) for table in stands["tables"]] == [False, True]
            stopped(service)
