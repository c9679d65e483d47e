"""Requests over a real nats-server: who may ask, where the answer goes, and what is discarded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from shoe_ctl.sinks import nats_requests
from shoe_ctl.sinks.brokers import Asked
from shoe_ctl.sinks.nats_requests import NatsRequests, is_own_inbox, subject_of
from shoe_testing.nats_server import (
    PASSWORDS,
    NatsServer,
    nats_client,
    nats_server,
    target_of,
    user_options,
    with_users,
)

pytestmark = pytest.mark.slow

TABLE = "bac.07"
USER = "table-system"
SUBJECT = "shoe.v1.bac%2E07.commands.table-system"
EVENTS = [b'{"id":"bac.07/p%d"}' % n for n in range(1, 4)]


class Desk:
    """Answers with what it was asked, and sends three events."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    async def answer(self, asked: Asked) -> bytes:
        self.asked.append(asked)
        assert asked.reply is not None
        await asked.reply.send(EVENTS)
        return b'{"heard":%s}' % asked.body

    async def state(self, table: str) -> Mapping[str, Any] | None:
        raise AssertionError(table)


class User:
    """Whoever asks, and what came."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.got: list[Msg] = []

    async def reads(self, subject: str) -> None:
        async def take(message: Msg) -> None:
            self.got.append(message)

        await self.client.subscribe(subject, cb=take)

    async def until(self, so: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not so():
                await self.client.flush()


class Started(logging.Handler):
    """Notes when requests are taken."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.times = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.times += "takes requests" in record.getMessage()

    async def until(self, times: int) -> None:
        """Wait until they are taken so often."""
        async with asyncio.timeout(30):
            while self.times < times:  # noqa: ASYNC110
                await asyncio.sleep(0.005)


@pytest.fixture
def started(caplog: pytest.LogCaptureFixture) -> Iterator[Started]:
    caplog.set_level(logging.INFO)
    handler = Started()
    nats_requests.log.addHandler(handler)
    yield handler
    nats_requests.log.removeHandler(handler)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path) as served:
        yield served


@asynccontextmanager
async def asking(server: NatsServer, desk: Desk, started: Started) -> AsyncIterator[User]:
    requests = NatsRequests("hall", target_of(server.address), [TABLE], desk)
    options = {"inbox_prefix": "_INBOX_table-system"}
    async with requests.open(), nats_client(server.address, **options) as (client, _):
        await started.until(1)
        yield User(client)


def said(message: Msg) -> tuple[str, bytes]:
    return (message.headers or {}).get("Content-Type", ""), message.data


async def test_the_answer_and_the_events_come_below_the_users_own_inbox(
    server: NatsServer, started: Started
) -> None:
    desk = Desk()
    async with asking(server, desk, started) as user:
        inbox = user.client.new_inbox()
        await user.reads(inbox)
        headers = {"Shoe-Correlation": "c7"}
        await user.client.publish(SUBJECT, b'{"a":1}', reply=inbox, headers=headers)
        await user.until(lambda: len(user.got) == 4)
    (asked,) = desk.asked
    assert (asked.table, asked.user, asked.body) == (TABLE, USER, b'{"a":1}')
    assert asked.reply is not None and asked.reply.address == inbox
    *events, answer = user.got
    assert [said(each) for each in events] == [("application/cloudevents+json", e) for e in EVENTS]
    assert said(answer) == ("application/json", b'{"heard":{"a":1}}')
    assert answer.headers is not None and answer.headers["Shoe-Correlation"] == "c7"


async def test_a_request_with_another_inbox_or_none_is_discarded(
    server: NatsServer, started: Started, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()
    async with asking(server, desk, started) as user:
        await user.reads(">")
        wrong = ("_INBOX_floor.x", "_INBOX.x", f"shoe.v1.{TABLE}.public", "_INBOX_table-system2.x")
        for reply in wrong:
            await user.client.publish(SUBJECT, b"1", reply=reply)
        await user.client.publish(SUBJECT, b"1")
        await user.client.publish(SUBJECT, b"2", reply="_INBOX_table-system.last")
        await user.until(lambda: any(each.data == b'{"heard":2}' for each in user.got))
    assert [asked.body for asked in desk.asked] == [b"2"]
    assert not {each.subject for each in user.got} & set(wrong)
    discarded = [each for each in caplog.messages if "request discarded" in each]
    assert len(discarded) == 5
    assert "the reply is not below _INBOX_table-system" in discarded[0]


def test_only_a_subject_below_the_users_inbox_is_its_own() -> None:
    assert is_own_inbox("_INBOX_hall.x.y", "hall")
    for reply in ("", "_INBOX_hall", "_INBOX_hall.", "_INBOX_hall.x..y", "_INBOX_hall.*"):
        assert not is_own_inbox(reply, "hall"), reply
    for reply in ("_INBOX_hall.>", "_INBOX_hallo.x", "_INBOX.hall.x", "x._INBOX_hall.x"):
        assert not is_own_inbox(reply, "hall"), reply


async def test_after_a_servers_end_requests_are_taken_again(
    server: NatsServer,
    started: Started,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(nats_requests, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(nats_requests, "LONGEST_RETRY_S", 0.05)
    async with asking(server, Desk(), started):
        server.kill()
        server.start()
        await started.until(2)
        async with nats_client(server.address) as (client, _):
            user = User(client)
            await user.reads("_INBOX_table-system.>")
            await client.publish(SUBJECT, b"1", reply="_INBOX_table-system.x")
            await user.until(lambda: len(user.got) == 4)
    assert any("no requests: reason=" in each for each in caplog.messages)


async def test_by_the_guides_rights_each_asks_under_its_own_name_and_reads_its_own_answers(
    tmp_path: Path, started: Started
) -> None:
    secret = tmp_path / "password"
    secret.touch(0o600)
    secret.write_text(PASSWORDS["SHOE_MAIN_PASSWORD"])
    server = with_users(tmp_path)
    server.start()
    desk = Desk()
    refused: list[str] = []

    async def note(error: Exception) -> None:
        refused.append(str(error).lower())

    target = target_of(server.address, user="shoe-main", password_file=secret)
    requests = NatsRequests("hall", target, [TABLE], desk)
    own, others = (user_options(user) | {"error_cb": note} for user in (USER, "floor"))
    try:
        async with (
            requests.open(),
            nats_client(server.address, **own) as (client, _),
            nats_client(server.address, **others) as (display, _),
        ):
            user, floor = User(client), User(display)
            await user.reads("_INBOX_table-system.>")
            await floor.reads("_INBOX_floor.>")
            await started.until(1)
            denied = (
                (client, subject_of(TABLE, "another")),
                (client, "_INBOX_floor.x"),
                (display, SUBJECT),
                (display, subject_of(TABLE, "floor")),
                (display, "_INBOX_table-system.x"),
            )
            for who, subject in denied:
                await who.publish(subject, b"1", reply="_INBOX_floor.x")
            for who in (client, display):
                await who.subscribe("shoe.v1.*.commands.*")
            async with asyncio.timeout(30):
                while len(refused) < len(denied) + 2:
                    await client.flush()
                    await display.flush()
            assert (desk.asked, user.got, floor.got) == ([], [], [])
    finally:
        server.kill()
