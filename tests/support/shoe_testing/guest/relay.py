"""Passes connections on, byte for byte: a socket in the guest whose far end is on the host.

In: how to listen, how to connect. Out: each connection has one at the far end.
Must not know: what the bytes mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

_READ = 65536

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


@asynccontextmanager
async def relayed(
    listen: Callable[[Talk], Awaitable[asyncio.Server]], connect: Connect
) -> AsyncIterator[asyncio.Server]:
    """Pass on every connection until left, and hang up then."""
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        try:
            far_reader, far_writer = await connect()
            try:
                await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
            finally:
                far_writer.transport.abort()
        except (OSError, asyncio.CancelledError):
            pass  # one of the ends is gone
        finally:
            talks.discard(task)
            writer.transport.abort()

    server = await listen(talk)
    try:
        yield server
    finally:
        server.close()
        for task in tuple(talks):
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        await server.wait_closed()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until the end of one connection, and end the other one there."""
    with suppress(OSError):
        while data := await reader.read(_READ):
            writer.write(data)
            await writer.drain()
    writer.close()
