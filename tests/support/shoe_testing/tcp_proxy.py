"""A link to a server that can be cut, frozen and made to lose what the server answers.

In: the server's port. Out: an address of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from shoe_testing.daemon import PATIENCE_S


class TcpProxy:
    """Hands bytes on between clients and a server on the loopback."""

    def __init__(self, server_port: int, scheme: str = "nats") -> None:
        self._server_port = server_port
        self._scheme = scheme
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._swallows = False
        self._swallowed = asyncio.Event()
        self._held = asyncio.Event()
        self._carried = 0
        self._break_at: tuple[int, Callable[[], None]] | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._listening = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.port: int = self._listening.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()
        self.thaw()
        self.cut()
        while self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def address(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Both ends lose their connection; the next one works."""
        self._swallows = False
        for writer in self._writers:
            writer.transport.abort()

    def break_after(self, count: int, act: Callable[[], None]) -> None:
        """Carry so many bytes more, in both directions together; then act, and cut the link."""
        self._break_at = (self._carried + count, act)

    def freeze(self) -> None:
        """Nothing passes any more, and the connections stand."""
        self._held.clear()
        self._thawed.clear()

    def thaw(self) -> None:
        """What was held passes, and all else."""
        self._thawed.set()

    async def held(self) -> None:
        """Wait until something is held."""
        async with asyncio.timeout(PATIENCE_S):
            await self._held.wait()

    def swallow_answers(self) -> None:
        """What the server answers from now on is lost, until the link is cut."""
        self._swallows = True
        self._swallowed.clear()

    async def swallowed(self) -> None:
        """Wait until an answer was lost."""
        async with asyncio.timeout(PATIENCE_S):
            await self._swallowed.wait()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(far_writer)
        for source, target, answers in ((reader, far_writer, False), (far_reader, writer, True)):
            task = asyncio.create_task(self._carry(source, target, answers=answers))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        with suppress(OSError):
            while data := await source.read(1 << 16):
                if answers and self._swallows:
                    self._swallowed.set()
                    continue
                if not self._thawed.is_set():
                    self._held.set()
                    await self._thawed.wait()
                if self._break_at is not None and self._carried + len(data) >= self._break_at[0]:
                    at, act = self._break_at
                    self._break_at = None
                    target.write(data[: at - self._carried])
                    await target.drain()
                    self._carried = at
                    act()
                    self.cut()
                    return
                self._carried += len(data)
                target.write(data)
                await target.drain()
        target.close()
        self._writers.discard(target)
