"""Following a daemon at its socket: what is asked for after a cut, and what a refusal means."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from shoe_events import Consumer, Due, Position, Resend, read_event
from shoe_events import follow as follow_module
from shoe_events.answers import request_for
from shoe_events.follow import ConnectionLost, NotAllowed, NotAnswered, Received, follow
from shoe_events.unix_socket import socket
from shoe_testing.consumer_vectors import make_event
from shoe_testing.simulated_time import VirtualLoop

OLD, NEW = "aaaaaaaa", "bbbbbbbb"


def line(epoch: str, number: int) -> bytes:
    envelope = make_event(epoch, f"t1/p{number}", "table.resumed", {}).envelope
    return json.dumps(envelope).encode() + b"\n"


def refusal(code: str, **args: str) -> bytes:
    error = {"code": code, "args": args, "text": f"no: {code}"}
    return json.dumps({"accepted": False, "error": error, "needs": {}}).encode() + b"\n"


class Daemon:
    """A socket at which each connection gets the next of these answers, and is then cut or kept."""

    def __init__(self, answers: Sequence[tuple[bytes, bool]]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = iter(answers)

    @asynccontextmanager
    async def at(self, path: Path) -> AsyncIterator[None]:
        server = await asyncio.start_unix_server(self._connected, path)
        try:
            yield
        finally:
            server.close()
            await server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readline()
            if not request:
                return
            self.requests.append(json.loads(request))
            answer, stays = next(self._answers, (b"", True))
            writer.write(answer)
            await writer.drain()
            if stays:
                await reader.read()
        finally:
            writer.close()


async def followed(
    daemon: Daemon, path: Path, until: int, consumer: Consumer, *, gives_up: bool = False
) -> list[tuple[str, int]]:
    """What is applied, until there are so many."""
    applied: list[tuple[str, int]] = []
    enough = asyncio.Event()

    def apply(due: Due) -> None:
        applied.append((due.event.source.split("/")[2], due.event.number))
        if len(applied) == until:
            enough.set()

    async with daemon.at(path):
        following = asyncio.create_task(
            follow(
                socket(path, consumer, ["t1"], from_first=True), consumer, apply,
                may_give_up=lambda _: gives_up, ask_again_s=0.01, first_retry_s=0.01,
            )
        )  # fmt: skip
        await asyncio.wait(
            {following, seen := asyncio.create_task(enough.wait())},
            return_when=asyncio.FIRST_COMPLETED,
        )
        for task in (following, seen):
            task.cancel()
        await asyncio.gather(following, seen, return_exceptions=True)
        if following.done() and not following.cancelled() and (error := following.exception()):
            raise error
    return applied


async def test_after_a_cut_it_goes_on_with_the_last_event_and_its_source(tmp_path: Path) -> None:
    daemon = Daemon(
        [
            (line(OLD, 1) + line(OLD, 2) + b'{"id": "t1/p3", "torn', False),
            (line(OLD, 2) + line(OLD, 3) + line(OLD, 4), True),
        ]
    )
    applied = await followed(daemon, tmp_path / "s", 4, Consumer(begin="first"))
    assert applied == [(OLD, n) for n in (1, 2, 3, 4)]
    first, second = daemon.requests
    stream = {"request": "events", "table": "t1", "audience": "public"}
    assert first == stream | {"after": "t1/p0"}
    assert second == stream | {"after": "t1/p1", "source": f"/journal/{OLD}/table/t1"}


async def test_a_new_source_follows_without_being_looked_for(tmp_path: Path) -> None:
    daemon = Daemon([(line(OLD, 1) + line(OLD, 2) + line(NEW, 2) + line(NEW, 3), True)])
    applied = await followed(daemon, tmp_path / "s", 4, Consumer(begin="first"))
    assert applied == [(OLD, 1), (OLD, 2), (NEW, 2), (NEW, 3)]
    assert len(daemon.requests) == 1


@pytest.mark.parametrize("code", ["events_unknown", "events_none", "events_source_unknown"])
async def test_another_journal_is_read_from_its_first_event(code: str, tmp_path: Path) -> None:
    daemon = Daemon(
        [(line(OLD, 1) + line(OLD, 2), False), (refusal(code), False), (line(NEW, 1), True)]
    )
    applied = await followed(daemon, tmp_path / "s", 3, Consumer(begin="first"))
    assert applied == [(OLD, 1), (OLD, 2), (NEW, 1)]
    assert [each["after"] for each in daemon.requests] == ["t1/p0", "t1/p1", "t1/p0"]


async def test_what_is_not_kept_any_more_waits_for_a_person(tmp_path: Path) -> None:
    daemon = Daemon(
        [
            (line(OLD, 1), False),
            (refusal("events_not_kept", first="t1/p4", last="t1/p5"), False),
            (line(OLD, 4) + line(OLD, 5), True),
            (refusal("events_not_kept", first="t1/p4", last="t1/p5"), False),
            (line(OLD, 4) + line(OLD, 5), True),
        ]
    )
    consumer = Consumer(begin="first")
    applied = await followed(daemon, tmp_path / "s", 3, consumer, gives_up=True)
    assert applied == [(OLD, 1), (OLD, 4), (OLD, 5)]
    assert consumer.positions[0].given_up == ((2, 3),)


class Stubborn:
    """A client that loses the first cancellation, as ``asyncio.wait_for`` does in Python 3.11."""

    def __init__(self) -> None:
        self.connections = 0
        self.is_waiting = asyncio.Event()

    async def wait(self) -> None:
        with suppress(asyncio.CancelledError):
            self.is_waiting.set()
            await asyncio.Event().wait()
        await asyncio.Event().wait()


class LosesOne(Stubborn):
    """It is asked for events when the link goes down."""

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[LosesOne]:
        self.connections += 1
        yield self

    async def events(self) -> AsyncIterator[Received]:
        if self.connections == 1:
            yield Received(line(OLD, 2))
            await self.is_waiting.wait()
            return
        for number in (1, 2):
            yield Received(line(OLD, number))
        await asyncio.Event().wait()

    async def resend(self, asked: Resend) -> None:  # noqa: ARG002 - it never comes to that
        await self.wait()


async def test_a_client_that_loses_a_cancellation_does_not_keep_it_from_connecting_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follow_module, "CANCELLED_AGAIN_S", 0.01)
    client, applied, both = LosesOne(), [], asyncio.Event()

    def apply(due: Due) -> None:
        applied.append(due.event.number)
        if len(applied) == 2:
            both.set()

    consumer = Consumer(begin="first")
    following = asyncio.create_task(follow(client.connected, consumer, apply, first_retry_s=0.01))
    async with asyncio.timeout(30):
        await both.wait()
    following.cancel()
    await asyncio.wait({following})
    assert (client.connections, applied) == (2, [1, 2])


async def test_it_ends_when_cancelled_though_the_client_loses_that_while_it_connects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follow_module, "CANCELLED_AGAIN_S", 0.01)
    client = Stubborn()

    @asynccontextmanager
    async def connected() -> AsyncIterator[LosesOne]:
        await client.wait()
        yield LosesOne()

    following = asyncio.create_task(follow(connected, Consumer(), lambda _: None))
    await client.is_waiting.wait()
    following.cancel()
    async with asyncio.timeout(30):
        await asyncio.wait({following})
    assert following.cancelled()


class Flickering:
    """A transport that is lost each time, after as many events as it is told."""

    def __init__(self, *events: int, lost: type[ConnectionLost] = ConnectionLost) -> None:
        self.connected_at: list[float] = []
        self._events, self._lost, self._sent = iter(events), lost, 0

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Flickering]:
        self.connected_at.append(asyncio.get_running_loop().time())
        yield self

    async def events(self) -> AsyncIterator[Received]:
        count = next(self._events, None)
        if count is None:
            await asyncio.Event().wait()
        for _ in range(count or 0):
            self._sent += 1
            yield Received(line(OLD, self._sent))
        raise self._lost("gone")

    async def resend(self, asked: Resend) -> None:
        """Nothing is missing."""


def pauses(client: Flickering) -> list[float]:
    """How long it waited before each further connection, by the loop's clock."""

    async def follow_for_a_while() -> None:
        following = asyncio.create_task(follow(client.connected, Consumer(), lambda _: None))
        await asyncio.sleep(300)
        following.cancel()
        await asyncio.wait({following})

    loop = VirtualLoop()
    try:
        loop.run_until_complete(follow_for_a_while())
    finally:
        loop.close()
    return [later - earlier for earlier, later in pairwise(client.connected_at)]


def test_without_an_event_it_tries_more_and_more_rarely_and_at_least_every_three_seconds() -> None:
    found = pauses(Flickering(0, 0, 0, 0, 0, 0))
    most = (0.5, 1.0, 2.0, 3.0, 3.0, 3.0)
    assert len(found) == len(most)
    assert all(upto / 2 <= pause <= upto for pause, upto in zip(found, most, strict=True)), found


def test_an_event_that_was_applied_makes_it_try_soon_again_however_short_the_connection() -> None:
    found = pauses(Flickering(0, 0, 0, 1, 0, 2, 1))
    most = (0.5, 1.0, 2.0, 0.5, 1.0, 0.5, 0.5)
    assert len(found) == len(most)
    assert all(upto / 2 <= pause <= upto for pause, upto in zip(found, most, strict=True)), found


def test_a_refused_right_is_asked_for_every_half_minute() -> None:
    found = pauses(Flickering(0, 0, 0, lost=NotAllowed))
    assert len(found) == 3
    assert all(15 <= pause <= 30 for pause in found), found


def test_readers_do_not_all_come_back_in_the_same_moment() -> None:
    assert len({pauses(Flickering(0))[0] for _ in range(20)}) > 10


class Deaf:
    """A transport with a gap, whose daemon answers nothing in the first seconds."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, str, int | None]] = []
        self._is_asked = asyncio.Event()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Deaf]:
        yield self

    async def events(self) -> AsyncIterator[Received]:
        await self._is_asked.wait()
        for number in (6, 7, 10):
            yield Received(line(OLD, number))
        await asyncio.Event().wait()

    async def resend(self, asked: Resend) -> None:
        now = asyncio.get_running_loop().time()
        self.asked.append((now, asked.after, asked.upto))
        self._is_asked.set()
        if now < 4:
            raise NotAnswered


def test_a_request_that_is_repeated_names_what_is_missing_by_then() -> None:
    daemon = Deaf()
    event = read_event(line(OLD, 5))
    start = Position(event.source, "t1", "public", 5, since=event.time)

    async def follow_for_a_while() -> None:
        following = asyncio.create_task(
            follow(daemon.connected, Consumer([start]), lambda _: None, ask_again_s=5)
        )
        await asyncio.sleep(9)
        following.cancel()
        await asyncio.wait({following})

    loop = VirtualLoop()
    try:
        loop.run_until_complete(follow_for_a_while())
    finally:
        loop.close()
    assert daemon.asked[:1] == [(0.0, "t1/p4", None)]
    assert [asked for asked in daemon.asked if asked[0] > 0] == [
        (5.0, "t1/p9", None),
        (5.0, "t1/p7", 9),
    ]


def test_a_table_of_which_no_event_came_is_asked_for_whole() -> None:
    consumer = Consumer(begin="first")
    consumer.expect("t1/r1")
    (asked,) = consumer.wanted()
    whole = {"request": "resend", "sink": "floor", "after": "t1/r0"}
    assert request_for(asked, "floor") == whole
    consumer.offer(make_event(OLD, "t1/r4", "table.resumed", {}))
    (asked,) = consumer.wanted()
    assert request_for(asked, "floor") == {**whole, "upto": "t1/r3"}
