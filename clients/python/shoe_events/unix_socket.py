"""Events at the local socket of the daemon: each table's stream from where it was left.

In: the socket's path, tables, a consumer's positions. Out: the events, in the journal's order.
Must not know: what an event means, stores.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from shoe_events.consumer import Consumer, Resend
from shoe_events.event import Audience, make_id, number_of
from shoe_events.follow import Connect, ConnectionLost, NotKept, Received

LONGEST_LINE = 1 << 20
_ANOTHER_JOURNAL = {"events_unknown", "events_none", "events_source_unknown"}


def socket(
    path: str | Path,
    consumer: Consumer,
    tables: Collection[str],
    *,
    audience: Audience = "public",
    from_first: bool = False,
) -> Connect:
    """Return how ``follow`` connects to a daemon's socket.

    A table without a position begins with what comes from now on, or ``from_first`` with the first
    event that the journal has. Each table takes one of the user's 16 connections.
    """

    @asynccontextmanager
    async def connected() -> AsyncIterator[_Streams]:
        streams = _Streams(path, tables, audience)
        known = {asked.table for asked in consumer.resume() if asked.audience == audience}
        try:
            for table in tables:
                if table not in known:
                    first = {"after": make_id(table, audience, 0)}
                    await streams.open(table, first if from_first else {})
            yield streams
        finally:
            await streams.close()

    return connected


class _Streams:
    """A connection for each table. What is asked for again begins its table's stream anew."""

    def __init__(self, path: str | Path, tables: Collection[str], audience: Audience) -> None:
        self._path = str(path)
        self._tables = tables
        self._audience: Audience = audience
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._first_kept: dict[str, int] = {}
        self._lines: asyncio.Queue[bytes | Exception] = asyncio.Queue(1000)

    async def events(self) -> AsyncIterator[Received]:
        while True:
            line = await self._lines.get()
            if isinstance(line, Exception):
                raise line
            yield Received(line, seamless=True)

    async def resend(self, asked: Resend) -> None:
        if asked.table not in self._tables or asked.audience != self._audience:
            return
        first = self._first_kept.get(asked.table, 1)
        if number_of(asked.after) < first - 1:  # the stream that is read begins with that one
            raise NotKept(f"the first event of {asked.table} in the journal is number {first}")
        request = {"after": asked.after}
        if asked.source is not None:
            request["source"] = asked.source
        await self.open(asked.table, request)

    async def request(self, table: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002 - the request names its table itself
        try:
            reader, writer = await asyncio.open_unix_connection(self._path, limit=LONGEST_LINE)
            try:
                writer.write(json.dumps(asked).encode() + b"\n")
                await writer.drain()
                line = await reader.readline()
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
            answer: dict[str, Any] = json.loads(line)
        except (OSError, ValueError) as error:
            raise ConnectionLost(f"{self._path}: {error}") from None
        return answer

    async def open(self, table: str, request: dict[str, str]) -> None:
        """Begin a table's stream, in place of the one that there is."""
        await self._end(table)
        full = {"request": "events", "table": table, "audience": self._audience, **request}
        self._tasks[table] = asyncio.create_task(self._read(full), name=f"events {table}")

    async def close(self) -> None:
        for table in [*self._tasks]:
            await self._end(table)

    async def _end(self, table: str) -> None:
        if (task := self._tasks.pop(table, None)) is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _read(self, request: dict[str, str]) -> None:
        try:
            again: dict[str, str] | None = request
            while again is not None:
                again = await self._read_stream(again)
        except (OSError, ValueError, ConnectionLost) as error:
            await self._lines.put(ConnectionLost(f"{self._path}: {error}"))

    async def _read_stream(self, request: dict[str, str]) -> dict[str, str] | None:
        """Read one stream; return what to ask for instead where the daemon has another journal."""
        reader, writer = await asyncio.open_unix_connection(self._path, limit=LONGEST_LINE)
        try:
            writer.write(json.dumps(request).encode() + b"\n")
            await writer.drain()
            while (line := await reader.readline()).endswith(b"\n"):
                if line.startswith(b'{"accepted"'):
                    return self._instead(request, json.loads(line)["error"])
                await self._lines.put(line)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        raise ConnectionLost("the daemon closed it")

    def _instead(self, request: dict[str, str], error: dict[str, Any]) -> dict[str, str]:
        """Return the request for what the journal has.

        Raises:
            ConnectionLost: the daemon refuses for another reason.
        """
        table, code = request["table"], error["code"]
        begin = {key: value for key, value in request.items() if key not in ("after", "source")}
        beginning = make_id(table, self._audience, 0)
        if code in _ANOTHER_JOURNAL and request.get("after", beginning) != beginning:
            return {**begin, "after": beginning}
        if code == "events_not_kept":
            first = self._first_kept[table] = number_of(str(error["args"]["first"]))
            return {**begin, "after": make_id(table, self._audience, first - 1)}
        raise ConnectionLost(error.get("text", code))
