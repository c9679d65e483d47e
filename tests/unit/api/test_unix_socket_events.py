"""Events at the socket, from a source of the test's own: what ends a stream, and how."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.api import unix_socket
from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller as Known
from shoe_ctl.api.requests import EventsRequest, Request
from shoe_ctl.api.unix_socket import MOST_CONNECTIONS, Lines
from shoe_ctl.errors import JournalError
from shoe_ctl.records import Audience
from shoe_ctl.texts.message import message
from shoe_testing.socket_client import PATIENCE_S, Caller, calling, serving_at

USERS = {os.getuid(): Known(user="me", position="dealer", sees=Audience.PUBLIC)}
EVENTS = b'{"request": "events", "table": "bac-07"}\n'
STATUS = b'{"request": "status"}\n'


class Source:
    """Events that the test puts in; ``ended`` is set for each stream that was closed."""

    def __init__(self) -> None:
        self.asked: list[EventsRequest] = []
        self.batches: asyncio.Queue[Sequence[bytes] | Exception] = asyncio.Queue()
        self.refusal: Exception | None = None
        self.began = asyncio.Event()
        self.ended = asyncio.Event()
        self.taken = 0

    async def __call__(self, caller: Known, asked: EventsRequest) -> Lines:
        assert caller.user == "me"
        self.asked.append(asked)
        if self.refusal is not None:
            raise self.refusal
        return self._sent()

    async def _sent(self) -> Lines:
        try:
            while True:
                self.began.set()
                batch = await self.batches.get()
                if isinstance(batch, Exception):
                    raise batch
                self.taken += 1
                yield batch
        finally:
            self.ended.set()


async def answer(caller: Known, asked: Request) -> dict[str, Any]:
    return {"accepted": True}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sock"


async def within(event: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await event.wait()


async def lines(caller: Caller, number: int) -> list[bytes]:
    async with asyncio.timeout(PATIENCE_S):
        return [await caller.reader.readline() for _ in range(number)]


async def test_each_event_is_a_line_as_it_is_and_other_connections_are_answered(
    path: Path,
) -> None:
    source = Source()
    async with serving_at(path, USERS, answer, streams=source), calling(path) as caller:
        assert (await caller.says(STATUS))["accepted"] is True
        caller.writer.write(EVENTS)
        source.batches.put_nowait([b'{"id":"1"}', b'{"id":"2"}'])
        assert await lines(caller, 2) == [b'{"id":"1"}\n', b'{"id":"2"}\n']
        async with calling(path) as other:
            assert (await other.says(STATUS))["accepted"] is True
        source.batches.put_nowait([b'{"id":"3"}'])
        assert await lines(caller, 1) == [b'{"id":"3"}\n']
    assert [asked.table for asked in source.asked] == ["bac-07"]
    assert source.ended.is_set()


async def test_a_refusal_is_one_line_and_the_connection_takes_other_requests(path: Path) -> None:
    source = Source()
    source.refusal = RequestRefused(message("events_none", after="a/p1"))
    async with serving_at(path, USERS, answer, streams=source), calling(path) as caller:
        refused = await caller.says(EVENTS)
        assert refused["accepted"] is False
        assert refused["error"]["code"] == "events_none"
        assert refused["error"]["text"].startswith("there is no event a/p1")
        assert (await caller.says(STATUS))["accepted"] is True


async def test_where_there_are_no_events_the_handler_says_so(path: Path) -> None:
    async def fails(caller: Known, asked: Request) -> dict[str, Any]:
        raise JournalError(f"storage fault of {caller.user}, {type(asked).__name__}")

    async with serving_at(path, USERS, fails), calling(path) as caller:
        refused = await caller.says(EVENTS)
        assert refused["error"]["text"] == "storage fault of me, EventsRequest"


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (RequestRefused(message("events_removed")), "events_removed", "removed from the journal"),
        (JournalError("no more of it"), "daemon_failed", "no more of it"),
        (KeyError("a secret"), "daemon_failed", "the daemon's log says why"),
    ],
    ids=["refusal", "fault", "defect"],
)
async def test_what_goes_wrong_between_events_is_the_last_line(
    path: Path, error: Exception, code: str, says: str
) -> None:
    source = Source()
    async with serving_at(path, USERS, answer, streams=source), calling(path) as caller:
        caller.writer.write(EVENTS)
        source.batches.put_nowait([b'{"id":"1"}'])
        source.batches.put_nowait(error)
        assert await lines(caller, 1) == [b'{"id":"1"}\n']
        last = await caller.answer()
        assert (last["accepted"], last["error"]["code"]) == (False, code)
        assert says in last["error"]["text"] and "secret" not in last["error"]["text"]
        assert await caller.is_hung_up()


async def test_a_caller_that_sends_a_request_into_its_events_is_told_and_cut_off(
    path: Path,
) -> None:
    source = Source()
    async with serving_at(path, USERS, answer, streams=source), calling(path) as caller:
        caller.writer.write(EVENTS + STATUS)
        assert (await caller.answer())["error"]["code"] == "events_connection_in_use"
        assert await caller.is_hung_up()
        assert source.ended.is_set()


async def test_a_stream_ends_when_its_caller_is_gone_and_does_not_count_any_more(
    path: Path,
) -> None:
    async with serving_at(path, USERS, answer, streams=(source := Source())):
        for _ in range(MOST_CONNECTIONS + 1):
            source.began.clear()
            source.ended.clear()
            async with calling(path) as caller:
                caller.writer.write(EVENTS)
                await within(source.began)
            await within(source.ended)


async def test_streams_count_as_connections(path: Path) -> None:
    async with serving_at(path, USERS, answer, streams=(source := Source())):
        callers = [calling(path) for _ in range(MOST_CONNECTIONS)]
        for each in callers:
            source.began.clear()
            (await each.__aenter__()).writer.write(EVENTS)
            await within(source.began)
        async with calling(path) as one_more:
            assert "connections open already" in (await one_more.answer())["error"]["text"]
        for each in callers:
            await each.__aexit__(None, None, None)


async def test_who_does_not_read_its_events_is_cut_off_and_holds_a_batch_at_most(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source()
    for _ in range(100):
        source.batches.put_nowait([b"x" * 1_000_000])
    async with serving_at(path, USERS, answer, streams=source, patience_s=0.1):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as slow:
            slow.connect(str(path))
            slow.sendall(EVENTS)
            await within(source.ended)
    assert source.taken == 1
    line = f"socket: client disconnected: uid={os.getuid()} reason=write_timeout (0.1 s)"
    assert caplog.messages == [line]


async def test_stopping_ends_a_stream_behind_a_whole_line(path: Path) -> None:
    source, line = Source(), b"x" * 5_000_000
    async with serving_at(path, USERS, answer, streams=source):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(EVENTS)
        source.batches.put_nowait([line])
        got = await reader.read(1000)  # it is being written
        reading = asyncio.create_task(reader.read())
    async with asyncio.timeout(PATIENCE_S):
        got += await reading
    writer.close()
    assert got == line + b"\n"
    assert source.ended.is_set()


async def test_stopping_does_not_wait_for_who_does_not_read_its_events(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unix_socket, "LAST_LINES_S", 0.1)
    source = Source()
    source.batches.put_nowait([b"x" * 5_000_000])
    async with serving_at(path, USERS, answer, streams=source, patience_s=3600):
        slow = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        slow.connect(str(path))
        slow.sendall(EVENTS)
        assert await asyncio.to_thread(slow.recv, 10) == b"x" * 10  # the rest is being written
    slow.close()
    assert source.ended.is_set()
