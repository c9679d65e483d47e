"""The kit at a real nats-server: what is missing is read from the stream, and applied once."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from nats.js.errors import BadRequestError

from shoe_ctl.cli.recording import SHIPPED
from shoe_events.nats import nats_stream
from shoe_testing.brokers import Authority
from shoe_testing.cli import run_shoectl_async
from shoe_testing.config import TABLE, make_config, table_section, this_user
from shoe_testing.daemon import SocketTable, ToldEvents, serving, shoe_on_a_pty
from shoe_testing.guide_programs import LANGUAGES, SHOWN, are_as_shown, guide_program, lines_of
from shoe_testing.nats_server import (
    GUIDE,
    PASSWORDS,
    nats_client,
    nats_server,
    user_options,
    with_users,
)
from shoe_testing.socket_client import calling
from shoe_testing.table_system import PATIENCE_S, TableSystem
from shoe_testing.typescript import built_package, program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("commands")]

USER = "table-system"

LINES = (SHIPPED / "irregular_shoe.jsonl").read_bytes().splitlines()
PUBLIC = [event for event in map(json.loads, LINES) if "/p" in event["id"]]


async def published(address: str, *more: str, recording: str = "irregular_shoe") -> None:
    words = ("publish", "--from", recording, "--pace-ms", "0", "--to", address, *more)
    done = await run_shoectl_async(*words)
    assert done.code == 0, done.err


async def test_a_gap_is_closed_and_a_program_goes_on_where_it_was(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        system = TableSystem(
            lambda consumer: nats_stream(server.address, consumer, ["t1"], from_first=True),
            begin="first",
        )
        await published(server.address, "--leave-out", "t1/p9")
        async with system.running():
            await system.until(8)
        assert len(system.applied) == 8
        async with system.running():
            await published(server.address)
            await system.until(len(PUBLIC))
        server.kill()
        server.start()
        async with system.running():
            await published(server.address, "--new-source")
            await system.until(2 * len(PUBLIC))
    known = [(event["source"], event["id"]) for event in PUBLIC]
    assert system.applied[: len(PUBLIC)] == known
    assert [event_id for _, event_id in system.applied[len(PUBLIC) :]] == [i for _, i in known]
    assert len(set(system.applied)) == 2 * len(PUBLIC)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_guides_program_reads_over_tls_as_the_guides_user(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("localhost", host="127.0.0.1")  # nats.js names an address so
    monkeypatch.setenv("NATS_USER", "table-system")
    monkeypatch.setenv("NATS_PASSWORD", PASSWORDS["TABLE_SYSTEM_PASSWORD"])
    monkeypatch.setenv("NATS_CA", str(authority.file))
    server = with_users(tmp_path, more=f"tls {{ cert_file: {cert}, key_file: {key} }}\n")
    server.start()
    address = server.address.replace("nats://", "tls://")
    words = [*guide_program(language, "from_nats"), address, "t1"]
    login = [*daemons_login(tmp_path), "--ca", str(authority.file)]
    try:
        await published(address, "--leave-out", "t1/p30", *login)

        async def publish() -> None:
            await published(address, *login)

        lines = await lines_of(words, tmp_path, len(SHOWN), publish)
    finally:
        server.kill()
    assert are_as_shown(lines), lines


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_stream_that_was_lost_is_read_from_its_beginning(
    language: str, tmp_path: Path
) -> None:
    """It has nothing of the journal that the program knows, and another table's event first."""
    another = tmp_path / "another_table.jsonl"
    another.write_text(json.dumps(PUBLIC[0]).replace("t1", "t0") + "\n")

    async def read(folder: str, *more: str) -> list[str]:
        with nats_server(tmp_path / folder) as server:
            await published(server.address, recording=str(another))
            await published(server.address, *more)
            words = [*guide_program(language, "from_nats"), server.address, "t1"]
            return await lines_of(words, tmp_path, len(SHOWN))

    for lines in (await read("first"), await read("second", "--new-source")):
        assert are_as_shown(lines), lines


def daemons_login(folder: Path) -> list[str]:
    secret = folder / "password"
    secret.touch(0o600)
    secret.write_text(PASSWORDS["SHOE_MAIN_PASSWORD"])
    return ["--user", "shoe-main", "--password-file", str(secret)]


async def test_the_pages_program_goes_on_after_a_kill_and_after_its_stream_was_deleted(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("server", host="127.0.0.1")
    server = with_users(tmp_path, more=f"tls {{ cert_file: {cert}, key_file: {key} }}\n")
    server.start()
    address = server.address.replace("nats://", "tls://")
    ours = user_options("shoe-main") | {"tls": ssl.create_default_context(cafile=authority.file)}

    async def publish(*numbers: int) -> None:
        async with nats_client(address, **ours) as (_, js):
            with suppress(BadRequestError):
                await js.add_stream(name="SHOE", subjects=["shoe.v1.*.public"])
            for n in numbers:
                body = json.dumps({"id": f"bac-07/p{n}", "type": "round.opened"})
                await js.publish("shoe.v1.bac-07.public", body.encode())

    async def shown(lines: asyncio.StreamReader, n: int) -> None:
        while await lines.readline() != b"bac-07/p%d round.opened\n" % n:
            pass  # what was not acknowledged before the kill comes again

    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(GUIDE / "read.py"),
        address,
        str(authority.file),
        env={**os.environ, **PASSWORDS},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert child.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            await publish(1)
            await shown(child.stdout, 1)
            server.kill()
            server.start()
            await publish(2)
            await shown(child.stdout, 2)
            server.kill()
            server.forget()  # the stream, and the consumer with it
            server.start()
            await publish(3)
            await shown(child.stdout, 3)
    finally:
        child.kill()
        await child.wait()
        server.kill()


IN_TYPESCRIPT = """
import { Consumer, follow } from "%(package)s/src/index.js";
import { natsStream } from "%(package)s/src/nats.js";
const consumer = new Consumer([], { begin: "first" });
const options = { servers: "%(address)s", user: "table-system", pass: "x" };
const connect = natsStream(options, consumer, ["%(table)s"], { fromFirst: true, sink: "hall" });
await follow(connect, consumer, (due) => console.log(due.event.id));
"""


async def ids_in_python(address: str, count: int) -> list[str]:
    system = TableSystem(
        lambda consumer: nats_stream(
            address, consumer, [TABLE], from_first=True, sink="hall", user=USER, password="x"
        ),
        begin="first",
    )
    async with system.running():
        await system.until(count)
    return [event_id for _, event_id in system.applied]


async def ids_in_typescript(address: str, folder: Path, count: int) -> list[str]:
    known = {"package": built_package(), "address": address, "table": TABLE}
    path = folder / "follow.mjs"
    path.write_text(IN_TYPESCRIPT % known)
    return await lines_of([program("node"), str(path)], folder, count)


async def test_what_was_deleted_from_a_stream_is_asked_for_from_the_daemon(tmp_path: Path) -> None:
    told = ToldEvents()
    sender = {"user": USER, "position": "surveillance"}
    with nats_server(tmp_path) as server, shoe_on_a_pty(tmp_path, seed=7) as rig:
        sink = {"kind": "nats", "address": server.address, "name": "hall", "sender": [sender]}
        section = table_section(port=str(tmp_path / "shoe"), announcements="explicit")
        user = this_user("gaming_shift_manager")
        config = tmp_path / "table.toml"
        config.write_text(make_config(section, sink=[sink], socket={"user": [user]}))
        async with (
            serving(config, told) as daemon,
            calling(tmp_path / "shoectl.sock", held=True) as caller,
            nats_client(server.address) as (_, js),
        ):
            await SocketTable(daemon, rig, told, caller).rounds(1)
            count = len(told.events)
            async with asyncio.timeout(PATIENCE_S):
                while (await js.stream_info("SHOE")).state.last_seq < count:
                    pass
            for seq in (1, 2, 5, 6, 7, count - 1):
                assert await js.delete_msg("SHOE", seq)
            in_python = await ids_in_python(server.address, count)
            in_typescript = await ids_in_typescript(server.address, tmp_path, count)
            assert (await js.stream_info("SHOE")).state.messages == count - 6
    assert in_python == in_typescript == [event["id"] for event in told.events]
