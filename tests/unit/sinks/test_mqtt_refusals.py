"""A broker that is not there, or takes not this: one line that says where, what, and what to do."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import aiomqtt
import pytest

from shoe_ctl.records import Audience
from shoe_ctl.sinks import mqtt_connection
from shoe_ctl.sinks.brokers import Asked, Certificates
from shoe_ctl.sinks.mqtt import MqttSink
from shoe_ctl.sinks.mqtt_connection import Broker, Login
from shoe_ctl.sinks.pump import Pump, SinkAway
from shoe_testing.brokers import PATIENCE_S, Authority, Mosquitto, broker, passwords
from shoe_testing.ports import HOST, free_port
from shoe_testing.sinks import Ledger, sink_events


class NoDesk:
    async def answer(self, asked: Asked) -> bytes:
        raise AssertionError(asked)

    async def state(self, table: str) -> None:
        raise AssertionError(table)


class Files(NamedTuple):
    """Certificates and passwords, right and wrong."""

    folder: Path
    authority: Authority
    ca: Path
    other_ca: Path
    client: tuple[Path, Path]
    stranger: tuple[Path, Path]
    password: Path
    wrong_password: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("files")
    authority, other = Authority(folder), Authority(folder, "other")
    authority.issue("server", host=HOST)
    authority.issue("elsewhere", host="192.0.2.1")
    for name, password in (("right", "secret"), ("wrong", "guess")):
        (folder / name).write_text(f"{password}\n")
        (folder / name).chmod(0o600)
    return Files(
        folder,
        authority,
        authority.file,
        other.file,
        authority.issue("client"),
        other.issue("stranger"),
        folder / "right",
        folder / "wrong",
    )


@pytest.fixture(scope="module")
def guarded(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A broker that wants a login, and lets its user publish events of table t only."""
    access = files.folder / "access"
    access.write_text("user shoe\ntopic write shoe/v1/t/public\n")
    access.chmod(0o600)
    lines = (passwords(files.folder, shoe="secret"), f"acl_file {access}")
    folder = tmp_path_factory.mktemp("guarded")
    with broker(folder, "allow_anonymous false", *lines) as served:
        yield served


def tls_lines(files: Files, server: str) -> list[str]:
    return [
        f"cafile {files.ca}",
        f"certfile {files.folder / server}.crt",
        f"keyfile {files.folder / server}.key",
        "require_certificate true",
        "allow_anonymous true",
    ]


@pytest.fixture(scope="module")
def secured(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A broker with TLS that wants certificates."""
    folder = tmp_path_factory.mktemp("secured")
    with broker(folder, *tls_lines(files, "server"), tls=True) as served:
        yield served


@asynccontextmanager
async def sinking(at: Broker, table: str = "t") -> AsyncIterator[MqttSink]:
    sink = MqttSink("floor", at, Audience.PUBLIC, [table], NoDesk())
    async with sink.connected():
        yield sink


async def why_away(at: Broker, caplog: pytest.LogCaptureFixture, table: str = "t") -> str:
    """The one line that is logged, and that the status shows, while nothing is delivered."""
    event = sink_events(1)[0].replace(b'"t/', b'"%s/' % table.encode())
    async with sinking(at, table) as sink:
        said = set()
        for _ in range(2):
            with pytest.raises(SinkAway) as away:
                await sink.deliver([event])
            said.add(str(away.value))
        (why,) = said
        assert sink.trouble is not None
        assert sink.trouble.why == why
    mine = [record for record in caplog.records if record.name.startswith("shoe_ctl")]
    logged = [record.message for record in mine if record.levelno >= logging.WARNING]
    assert logged == [f'sink floor: away: reason="{why}". Retrying.']
    return why


async def test_a_broker_that_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    assert await why_away(Broker(HOST, port), caplog) == (
        f"mqtt://{HOST}:{port}: Connection refused: start the broker there, or correct address"
    )


async def test_a_refusal_that_comes_before_the_thread_that_connects_has_ended(
    guarded: Mosquitto, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """aiomqtt does not wait for the broker's answer yet, and would say nothing of it."""
    connect, disconnected = aiomqtt.Client._client_connect, threading.Event()
    over = mqtt_connection._Client._on_disconnect

    def connecting(client: aiomqtt.Client) -> None:
        disconnected.clear()
        connect(client)
        assert disconnected.wait(PATIENCE_S)

    def disconnecting(*args: Any) -> None:
        over(*args)
        disconnected.set()

    monkeypatch.setattr(aiomqtt.Client, "_client_connect", connecting)
    monkeypatch.setattr(mqtt_connection._Client, "_on_disconnect", disconnecting)
    said = await why_away(Broker(HOST, guarded.port, Login()), caplog)
    assert "refuses the login without a user (Not authorized)" in said


@pytest.mark.parametrize("user", [None, "shoe", "nobody"])
async def test_a_broker_that_refuses_the_login(
    guarded: Mosquitto, files: Files, caplog: pytest.LogCaptureFixture, user: str | None
) -> None:
    login = Login(user, None if user is None else files.wrong_password)
    who = "without a user" if user is None else f"of user '{user}'"
    assert await why_away(Broker(HOST, guarded.port, login), caplog) == (
        f"{guarded.address}: the broker refuses the login {who} (Not authorized): correct user and "
        "password_file, or the broker's list of users"
    )


async def test_a_broker_that_does_not_let_the_user_publish_there(
    guarded: Mosquitto, files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    login = Login("shoe", files.password)
    async with sinking(Broker(HOST, guarded.port, login)) as sink:
        await sink.deliver(sink_events(2))
    assert await why_away(Broker(HOST, guarded.port, login), caplog, "other") == (
        f"{guarded.address}: the broker does not let user 'shoe' publish to "
        "shoe/v1/other/public (Not authorized): allow it in the broker's access list"
    )


async def test_a_password_file_that_is_gone_or_open_to_others(
    guarded: Mosquitto, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "password"
    at = Broker(HOST, guarded.port, Login("shoe", path))
    assert await why_away(at, caplog) == (
        f"{guarded.address}: password_file: {path}: No such file or directory"
    )
    path.write_text("secret")
    path.chmod(0o644)
    caplog.clear()
    assert await why_away(at, caplog) == (
        f"{guarded.address}: password_file: {path} is accessible to other users: "
        f"run chmod 600 {path}"
    )


async def test_certificates_on_both_sides(secured: Mosquitto, files: Files) -> None:
    at = Broker(HOST, secured.port, certificates=Certificates(files.ca, *files.client))
    async with sinking(at) as sink:
        await sink.deliver(sink_events(300))


async def test_a_broker_with_another_certificate(
    secured: Mosquitto, files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    at = Broker(HOST, secured.port, certificates=Certificates(files.other_ca, *files.client))
    assert await why_away(at, caplog) == (
        f"{secured.address}: the broker's certificate is not accepted (self-signed certificate in "
        "certificate chain): set tls.ca to the file of those that it comes from"
    )


async def test_a_broker_whose_certificate_is_for_another_address(
    files: Files, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with broker(tmp_path, *tls_lines(files, "elsewhere"), tls=True) as served:
        at = Broker(HOST, served.port, certificates=Certificates(files.ca, *files.client))
        assert await why_away(at, caplog) == (
            f"{served.address}: the broker's certificate is for another name (IP address mismatch, "
            f"certificate is not valid for '{HOST}'): correct address, or give the broker a "
            "certificate with this name"
        )


async def test_a_certificate_that_has_expired_is_to_be_renewed_and_one_that_will_is_named_before(
    files: Files, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours = Certificates(files.ca, *files.client)
    (tmp_path / "old").mkdir()
    files.authority.issue("old", host=HOST, ends=timedelta(days=-1))
    with broker(tmp_path / "old", *tls_lines(files, "old"), tls=True) as served:
        assert await why_away(Broker(HOST, served.port, certificates=ours), caplog) == (
            f"{served.address}: the broker's certificate is not accepted (certificate has "
            "expired): renew it there, or set this host's clock"
        )
    files.authority.issue("soon", host=HOST, ends=timedelta(days=13))
    with broker(tmp_path, *tls_lines(files, "soon"), tls=True) as served:
        at = Broker(HOST, served.port, certificates=ours)
        async with sinking(at) as sink:
            await sink.deliver(sink_events(1))
    (warned,) = [one.message for one in caplog.records if "certificate: address=" in one.message]
    assert re.search(r'reason="the certificate ends at .* UTC: renew it there"', warned)


@pytest.mark.parametrize("who", ["nobody", "stranger"])
async def test_a_broker_that_does_not_know_the_daemon(
    secured: Mosquitto, files: Files, caplog: pytest.LogCaptureFixture, who: str
) -> None:
    own = files.stranger if who == "stranger" else (None, None)
    at = Broker(HOST, secured.port, certificates=Certificates(files.ca, *own))
    why = await why_away(at, caplog)
    assert why.startswith(f"{secured.address}: the broker does not accept the daemon's certificate")
    assert why.endswith(": set tls.cert and tls.key to one that it knows")


async def test_tls_on_one_side_only(
    secured: Mosquitto, guarded: Mosquitto, files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    at = Broker(HOST, guarded.port, certificates=Certificates(files.ca))
    assert await why_away(at, caplog) == (
        f"mqtts://{HOST}:{guarded.port}: the broker closed the connection before it answered: it "
        "may want TLS (mqtts://), or a certificate (tls.cert, tls.key), or not speak MQTT 5"
    )
    caplog.clear()
    assert await why_away(Broker(HOST, secured.port), caplog) == (
        f"mqtt://{HOST}:{secured.port}: the broker closed the connection before it answered: it "
        "may want TLS (mqtts://), or a certificate (tls.cert, tls.key), or not speak MQTT 5"
    )


async def test_somebody_who_is_no_broker(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_connection, "CONNECT_WITHIN_S", 0.2)
    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: held.append(writer), HOST, 0)
    port = server.sockets[0].getsockname()[1]
    try:
        assert await why_away(Broker(HOST, port), caplog) == (
            f"mqtt://{HOST}:{port}: no answer in 0.2 s: is this an MQTT broker, and is it alive?"
        )
    finally:
        for writer in held:
            writer.transport.abort()
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        (
            "max_packet_size 400",
            "takes packets of up to 400 bytes, and this event needs",
        ),
        ("message_size_limit 400", "cuts the connection over this event of 522 bytes"),
    ],
)
async def test_a_broker_that_takes_too_small_a_message_refuses_that_one_alone(
    tmp_path: Path, limit: str, why: str
) -> None:
    small, large, more = sink_events(1), sink_events(1, start=2, size=500), sink_events(1, start=3)
    with broker(tmp_path, "allow_anonymous true", limit) as served:
        async with sinking(Broker(HOST, served.port)) as sink:
            feed = Ledger()
            feed.events = [*small, *large, *more]
            pump = Pump("floor", feed, sink)
            running = asyncio.create_task(pump.run())
            while feed.cursor < 3:
                await feed.moves.get()
            pump.stop()
            await running
            ((n, _, refused),) = feed.passed_over
            assert n == 2
            assert why in refused
            assert served.address in refused
            assert refused.endswith(("raise max_packet_size there", "or use max_packet_size"))
