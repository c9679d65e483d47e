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
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        while line := await reader.readline():
            said = answer(json.loads(line))
            writer.write(said if isinstance(said, bytes) else json.dumps(said).encode() + b"\n")
            await writer.drain()
            if isinstance(said, bytes):
                break
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_unix_server(talk, path)
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()
        await asyncio.gather(*talks)
