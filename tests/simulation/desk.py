"""Where people ask the daemon: its way in, without a socket, for as long as a process lives.

In: questions and commands as plain values. Out: the answer, or that nobody answers.
Must not know: what is asked, the table.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from shoe_ctl.api.requests import Caller, read_request
from shoe_ctl.api.unix_socket import Handler
from shoe_ctl.errors import ShoeCtlError
from shoe_ctl.records import Audience
from shoe_ctl.table.positions import APART, BESIDE, LADDER
from tests.simulation.process import Life

CALLER = Caller(user="sim", position=LADDER[-1], sees=Audience.PUBLIC, also=(BESIDE, APART))

SECOND = Caller(user="ann", position=LADDER[-1], sees=Audience.PUBLIC, names=("Ann",))
"""Who consents, and asks for nothing."""

PATIENCE_S = 30.0

Answer = Mapping[str, Any]


class NoAnswer(Exception):
    """Nobody is there, or who was there is gone before it answered."""


class Desk:
    """One for all processes; each serves at it in its turn."""

    def __init__(self) -> None:
        self._serving: tuple[Handler, Life] | None = None

    @asynccontextmanager
    async def served(self, handler: Handler, life: Life) -> AsyncIterator[None]:
        """A daemon's ``WayIn``."""
        mine = self._serving = (handler, life)
        try:
            yield
        finally:
            if self._serving is mine:
                self._serving = None

    async def ask(self, asked: Mapping[str, Any]) -> Answer:
        """The answer.

        Raises:
            NoAnswer: there is none, and what was asked may have been done or not.
        """
        if self._serving is None or not self._serving[1].alive:
            raise NoAnswer
        handler, life = self._serving
        task = asyncio.create_task(_answer(handler, asked), name="answers")
        waits: set[asyncio.Future[Any]] = {task, life.over}
        await asyncio.wait(waits, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        if not task.done() or not life.alive:
            task.cancel()
            await asyncio.wait({task})
            raise NoAnswer
        return task.result()


async def _answer(handler: Handler, asked: Mapping[str, Any]) -> Answer:
    try:
        return await handler(CALLER, read_request(msgspec.json.encode(asked)))
    except ShoeCtlError as error:
        return {"accepted": False, "failed": str(error)}
