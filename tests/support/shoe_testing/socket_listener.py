"""Something that listens where a daemon would and says what a test wants.

In: a path, an answer for each line. Out: lines said.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any


@asynccontextmanager
async def answering(
    path: Path, answer: Callable[[dict[str, Any]], dict[str, Any] | bytes]
) -> AsyncIterator[None]:
    """Answers each line; bytes are said as they are, and then it hangs up."""
    loop = asyncio.get_running_loop()
    ended: list[asyncio.Future[None]] = []

    def connected() -> asyncio.StreamReaderProtocol:
        """Counts a connection as it is accepted: a client may be gone before its task begins."""
        end = loop.create_future()
        ended.append(end)

        async def talk_to_the_end(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            try:
                await talk(reader, writer)
            finally:
                end.set_result(None)

        return asyncio.StreamReaderProtocol(asyncio.StreamReader(), talk_to_the_end)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            said = answer(json.loads(line))
            writer.write(said if isinstance(said, bytes) else json.dumps(said).encode() + b"\n")
            await writer.drain()
            if isinstance(said, bytes):
                break
        writer.close()
        await writer.wait_closed()

    server = await loop.create_unix_server(connected, str(path))
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0)  # a connection that was accepted just now is counted by then
        await asyncio.gather(*ended)
