"""The operator of a shoe that cannot speak for itself: gives its commands at the local socket.

In: commands of a dealer, a client. Out: each given until the table accepts it; then a call back.
Must not know: which shoe, when a command is due.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

from simulators.errors import PortFault
from simulators.table.client import Client

AGAIN_S = 0.05
"""A table that does not take it yet is asked again: it may be about to settle the round."""

REST_S = 0.4
"""A daemon stores a card in a few milliseconds, on a busy machine in more: one that is behind the
dealer changes meanwhile."""


class Operator:
    """``done`` is called after each command that the table took (``Rig.turn``).

    A command is given again while no daemon answers, or while the table is in a state that does
    not take it; whatever else it is refused for, it is so already.
    """

    def __init__(self, client: Client, *, table: str, done: Callable[[], None]) -> None:
        self._client = client
        self._table = table
        self._done = done
        self._name = secrets.token_hex(4)
        self._given = 0
        self._telling: set[asyncio.Task[None]] = set()

    def tell(self, command: str, taken: Callable[[], None]) -> None:
        """As ``dealer.Tell``."""
        task = asyncio.create_task(self._until_taken(command, taken), name=f"tells {command}")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def close(self) -> None:
        """Stop telling and hang up."""
        for task in self._telling:
            task.cancel()
        await asyncio.gather(*self._telling, return_exceptions=True)
        await self._client.close()

    async def _until_taken(self, command: str, taken: Callable[[], None]) -> None:
        while True:
            if await self._rests() and await self._is_taken(command):
                break
            await asyncio.sleep(AGAIN_S)
        taken()
        self._done()

    async def _rests(self) -> bool:
        """Return whether the table is at rest: every card that was drawn has reached it."""
        before = await self._stands()
        await asyncio.sleep(REST_S)
        return before == await self._stands()

    async def _stands(self) -> object:
        """Return how the table stands. What else is in the status changes by itself: the disk."""
        answer = await self._ask({"request": "status", "table": self._table})
        return None if answer is None else answer.get("tables")

    async def _is_taken(self, command: str) -> bool:
        self._given += 1
        asked = {
            "command_id": f"dealer-{self._name}-{self._given}",
            "table": self._table,
            "command": command,
            "person": "the pit supervisor",
            "position": "pit_supervisor",
            "reason": "seen at the shoe",
        }
        answer = await self._ask(asked)
        if answer is None:
            return False
        return answer.get("accepted") is True or "state" not in (answer.get("needs") or {})

    async def _ask(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer; None where nobody gives one."""
        try:
            return await self._client.ask(asked)
        except PortFault:
            return None
