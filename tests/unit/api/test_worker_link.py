"""The link between front and worker: a worker that hangs, or has no descriptor left."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller, Request, StatusRequest
from shoe_ctl.api.worker_link import FrontEnd, WorkerEnd, make_pair
from shoe_ctl.records import Audience

CALLER = Caller(user="me", position="dealer", sees=Audience.RESTRICTED)
STATUS = StatusRequest(request="status")


@pytest.fixture
def link() -> Iterator[tuple[socket.socket, socket.socket]]:
    front, worker = make_pair()
    with front, worker:
        yield front, worker


async def answer(caller: Caller, asked: Request) -> Mapping[str, Any]:
    return {"user": caller.user, "asked": type(asked).__name__}


@pytest.mark.parametrize("waiting", [1, 500])
async def test_a_worker_that_hangs_is_named(
    link: tuple[socket.socket, socket.socket], waiting: int
) -> None:
    front = FrontEnd(link[0], 2, taken_within_s=0.01)
    said = set()
    for _ in range(waiting):  # until no more of them find room
        with pytest.raises(RequestRefused) as refused:
            await front.ask(CALLER, STATUS)
        said.add(str(refused.value))
        if waiting > 1:
            front = FrontEnd(link[0], 2, taken_within_s=0.0)
    assert said == {"worker 2 does not answer: ask again, or restart the daemon"}


async def test_a_worker_without_a_descriptor_drops_the_request_and_takes_the_next(
    link: tuple[socket.socket, socket.socket],
) -> None:
    failed: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
    front, worker = FrontEnd(link[0], 1), WorkerEnd(link[1], gone=lambda: None)
    with worker.listening():
        async with worker.serving(answer):
            link[0].send(b"{}")  # as it arrives where the kernel could not add the descriptor
            assert await front.ask(CALLER, STATUS) == {"user": "me", "asked": "StatusRequest"}
    assert failed == []
