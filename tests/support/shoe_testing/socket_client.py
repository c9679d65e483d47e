"""A caller at the socket: lines out, answers in, as another program would.

In: a path. Out: decoded answers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

PATIENCE_S = 30.0


class Caller:
    """One connection. Every wait ends in an error on a machine that has stalled for good."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._commands = 0

    async def says(self, line: bytes) -> dict[str, Any]:
        """The answer to exactly these bytes."""
        self.writer.write(line)
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            answered: dict[str, Any] = json.loads(await self.reader.readline())
        return answered

    async def asks(self, **asked: Any) -> dict[str, Any]:
        return await self.says(json.dumps(asked).encode() + b"\n")

    async def gives(self, command: str, **more: Any) -> dict[str, Any]:
        """A command as a dealer gives it; a fresh id unless one is given."""
        self._commands += 1
        return await self.asks(**(envelope(f"c{self._commands}", command) | more))

    async def is_hung_up(self) -> bool:
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read(1) == b""
            except ConnectionResetError:
                return True


def envelope(command_id: str, command: str) -> dict[str, Any]:
    return {
        "command_id": command_id,
        "table": "bac-07",
        "command": command,
        "person": "Ann",
        "position": "dealer",
    }


@asynccontextmanager
async def calling(path: Path) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        yield Caller(reader, writer)
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)
