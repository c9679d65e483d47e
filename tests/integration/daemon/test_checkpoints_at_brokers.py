"""A daemon publishes its checkpoints for witnesses, and what they cosign comes back to the journal.

In: real brokers with the documented rights. Out: what each login gets; what `verify` says then.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.audit.checkpoint_stream import follow_stream
from shoe_ctl.audit.checkpoint_topic import follow_topic
from shoe_ctl.audit.witness import Witness
from shoe_ctl.cli.main import shoectl
from shoe_ctl.config.schema import load
from shoe_ctl.errors import ConfigError
from shoe_ctl.journal.checkpoint_event import newest_checkpoint
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.signed_note import COSIGNATURE, verifier_key
from shoe_ctl.sinks import pump as pump_module
from shoe_ctl.sinks.mqtt_connection import Broker, Login
from shoe_testing.brokers import Mosquitto, broker, passwords, subscribed
from shoe_testing.checkpoints import NAME, NOW_S, OWN
from shoe_testing.cli import invoke
from shoe_testing.config import TABLE, make_config, table_section, this_user
from shoe_testing.daemon import PATIENCE_S, SocketTable, ToldEvents, serving, shoe_on_a_pty
from shoe_testing.nats_server import PASSWORDS, NatsServer, stored_messages, target_of, user_options
from shoe_testing.nats_server import with_users as nats_with_users
from shoe_testing.paths import ROOT
from shoe_testing.ports import HOST
from shoe_testing.socket_client import calling
from shoe_testing.tasks import ended
from simulators.rig import Rig

pytestmark = pytest.mark.slow

SECRETS = {"shoe-main": "a", "witness": "b", "display": "c"}
CHECKPOINT = re.compile(r"shoe/v1/_journal/[0-9a-f]{16}/checkpoint")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump_module, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(pump_module, "LONGEST_RETRY_S", 0.1)


def write(folder: Path, secret: str, **sink: Any) -> Path:
    """A daemon's configuration, with a sink that also publishes checkpoints, one a second."""
    password = folder / "daemon-password"
    password.write_text(secret)
    password.chmod(0o600)
    path = folder / "table.toml"
    table = table_section(port=str(folder / "shoe"), announcements="explicit")
    login = {"user": "shoe-main", "password_file": password.name, "checkpoints": True}
    path.write_text(
        make_config(
            table,
            sink=[{**login, **sink, "name": "hall"}],
            socket={"user": [this_user("gaming_shift_manager")]},
            journal={"checkpoint_every_s": 1},
        )
    )
    return path


async def play(config: Path, told: ToldEvents, rig: Rig) -> None:
    """A daemon from its start to its end, with one round more."""
    async with (
        serving(config, told) as daemon,
        calling(config.parent / "shoectl.sock", held=True) as caller,
    ):
        wanted = len(told.data("round.settled")) + 1
        await SocketTable(daemon, rig, told, caller).deal(
            lambda held: held["state"] == "idle" and len(told.data("round.settled")) >= wanted
        )


def newest_size(journal: Path) -> int:
    with Reader.open(journal) as reader:
        return newest_checkpoint(reader).said.size


Follow = Callable[[Witness, Callable[[bytes], None]], Coroutine[Any, Any, Any]]


class AtWork:
    """A witness; ``said`` are the events that it handed out."""

    def __init__(self, journal: Path) -> None:
        with Reader.open(journal) as reader:
            self._key = newest_checkpoint(reader).key
        self._state = journal.with_name("w1.state")
        self._news = asyncio.Event()
        self.said: list[dict[str, Any]] = []

    @property
    def sizes(self) -> list[int]:
        assert {each["type"] for each in self.said} <= {"checkpoint.cosigned"}, self.said
        return [each["data"]["size"] for each in self.said]

    @asynccontextmanager
    async def following(self, follow: Follow) -> AsyncIterator[None]:
        own = Witness(NAME, OWN, [self._key], self._state, lambda: NOW_S)
        task = asyncio.create_task(follow(own, self._hand_out))
        try:
            yield
        finally:
            await ended(task)

    def _hand_out(self, line: bytes) -> None:
        self.said.append(json.loads(line))
        self._news.set()

    async def until(self, size: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while size not in self.sizes:
                self._news.clear()
                await self._news.wait()


def witnessed(journal: Path, *source: str) -> dict[str, Any]:
    """What `verify` says of the journal, once the broker's cosignatures were stored beside it."""
    witness = verifier_key(NAME, OWN.public_key, COSIGNATURE)
    stored = invoke(shoectl, "cosignatures", journal, *source, "--witness", witness)
    assert (stored.exit_code, stored.stderr) == (0, ""), stored
    assert stored.stdout.endswith(": 1 added, 0 there before\n")
    found = invoke(shoectl, "verify", journal, "--witness", witness, "--json")
    assert found.exit_code == 0, found.stdout
    (seen,) = json.loads(found.stdout)["witnessed"]
    return dict(seen)


# NATS.


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    running = nats_with_users(tmp_path)
    running.start()
    try:
        yield running
    finally:
        running.kill()


def at_nats(folder: Path, address: str) -> Follow:
    password = folder / "witness-password"
    password.write_text(PASSWORDS["WITNESS_PASSWORD"])
    password.chmod(0o600)
    target = target_of(address, user="witness", password_file=password)
    return lambda own, hand_out: follow_stream(own, target, hand_out)


async def test_a_witness_at_nats_cosigns_what_the_daemon_signs_over_outages_and_restarts(
    tmp_path: Path, server: NatsServer
) -> None:
    journal, told = tmp_path / "journal.db", ToldEvents()
    config = write(tmp_path, PASSWORDS["SHOE_MAIN_PASSWORD"], kind="nats", address=server.address)
    follow = at_nats(tmp_path, server.address)
    with shoe_on_a_pty(tmp_path, seed=7) as rig:
        await play(config, told, rig)
        witness = AtWork(journal)
        async with witness.following(follow):
            await witness.until(newest_size(journal))
        server.kill()
        await play(config, told, rig)  # all the while nobody is there
        missed = newest_size(journal)
        server.start()
        await play(config, told, rig)
        async with witness.following(follow):
            await witness.until(newest_size(journal))
    assert missed in witness.sizes
    assert witness.sizes == sorted(witness.sizes)
    login = ("--user", "shoe-main", "--password-file", str(tmp_path / "daemon-password"))
    seen = await asyncio.to_thread(witnessed, journal, server.address, *login)
    with Reader.open(journal) as reader:
        assert seen["upto"] == newest_checkpoint(reader).said.upto
    public = await stored_messages(server.address, "SHOE", **user_options("table-system"))
    assert [json.loads(message.body) for message in public] == told.events


# MQTT.


def documented_access() -> str:
    """The lines of the access list, as the page on witnesses and the guide have them."""
    page = (ROOT / "docs" / "audit" / "witness.md").read_text()
    (lines,) = re.findall(r"For mosquitto:\n\n```conf\n(.*?)```", page, re.DOTALL)
    key_id = re.search(r"cosignatures/([0-9a-f]{8})/", lines)
    assert key_id is not None
    own = Witness(NAME, OWN, [], Path("nowhere"), lambda: NOW_S).key.key_id.hex()
    tables = "\nuser shoe-main\ntopic write shoe/v1/+/public\ntopic write shoe/v1/+/state\n"
    display = "\nuser display\ntopic read shoe/v1/+/public\ntopic read shoe/v1/+/state\n"
    return str(lines).replace(key_id[1], own) + tables + display


@contextmanager
def mosquitto(folder: Path) -> Iterator[Mosquitto]:
    folder.mkdir()
    access = folder / "access"
    access.write_text(documented_access())
    access.chmod(0o600)
    lines = ("allow_anonymous false", passwords(folder, **SECRETS), f"acl_file {access}")
    kept = ("persistence true", f"persistence_location {folder}/", "autosave_interval 1")
    with broker(folder, *lines, *kept) as at:
        yield at


def at_mqtt(folder: Path, at: Mosquitto) -> Follow:
    password = folder / "witness-password"
    password.write_text(SECRETS["witness"])
    password.chmod(0o600)
    to = Broker(HOST, at.port, Login("witness", password))
    return lambda own, hand_out: follow_topic(own, to, hand_out)


async def test_a_witness_over_mqtt_cosigns_all_and_a_display_sees_none_of_it(
    tmp_path: Path,
) -> None:
    journal, told = tmp_path / "journal.db", ToldEvents()
    with mosquitto(tmp_path / "broker") as at, shoe_on_a_pty(tmp_path, seed=7) as rig:
        config = write(tmp_path, SECRETS["shoe-main"], kind="mqtt", address=at.address)
        follow = at_mqtt(tmp_path, at)
        await play(config, told, rig)
        witness = AtWork(journal)
        async with witness.following(follow):  # the newest one is retained
            await witness.until(newest_size(journal))
        display: dict[str, Any] = {"user": "display", "password": SECRETS["display"]}
        async with subscribed(at.port, "#", "shoe/v1/+/public", **display) as public:
            await play(config, told, rig)  # the broker keeps these for the witness
            await public.until(lambda: len(public.payloads(f"shoe/v1/{TABLE}/public")) >= 10)
        at.stop()
        await play(config, told, rig)  # and the journal these for the broker
        missed = newest_size(journal)
        at.start()
        await play(config, told, rig)
        async with witness.following(follow):
            await witness.until(newest_size(journal))
        login = ("--user", "shoe-main", "--password-file", str(tmp_path / "daemon-password"))
        seen = await asyncio.to_thread(witnessed, journal, at.address, *login)
    assert missed in witness.sizes
    assert not [got.topic for got in public.got if CHECKPOINT.fullmatch(got.topic)]
    with Reader.open(journal) as reader:
        assert seen["upto"] == newest_checkpoint(reader).said.upto
    numbers = [int(event["id"].rpartition("/p")[2]) for event in told.events]
    assert numbers == [*range(1, len(numbers) + 1)]


async def test_a_broker_that_lets_nobody_publish_checkpoints_stops_no_event(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = ToldEvents()
    folder = tmp_path / "broker"
    folder.mkdir()
    access = folder / "access"
    access.write_text("user shoe-main\ntopic write shoe/v1/+/public\ntopic write shoe/v1/+/state\n")
    access.chmod(0o600)
    lines = ("allow_anonymous false", passwords(folder, **SECRETS), f"acl_file {access}")
    with broker(folder, *lines) as at, shoe_on_a_pty(tmp_path, seed=7) as rig:
        config = write(tmp_path, SECRETS["shoe-main"], kind="mqtt", address=at.address)
        await play(config, told, rig)
    assert told.data("round.settled")
    found = [
        each.getMessage() for each in caplog.records if "hall checkpoints" in each.getMessage()
    ]
    assert any("allow it in the broker's access list" in each for each in found), found


@pytest.mark.parametrize("where", ["mqtt://broker.example", "nats://broker.example"])
def test_two_sinks_that_publish_checkpoints_to_one_broker_are_refused(
    tmp_path: Path, where: str
) -> None:
    both: list[Mapping[str, Any]] = [
        {"kind": where[:4], "address": where, "name": name, "audience": name, "checkpoints": True}
        for name in ("public", "restricted")
    ]
    path = tmp_path / "table.toml"
    path.write_text(make_config(table_section(port="shoe"), sink=both))
    line = f"two sinks publish checkpoints to {where}: set it at one of them"
    with pytest.raises(ConfigError, match=line):
        load(path)
