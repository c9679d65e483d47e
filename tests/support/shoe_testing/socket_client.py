"""Both ends of the command socket: a caller as another program would be, and a daemon's stand-in.

In: a path; an answer for each line. Out: decoded answers.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socketserver
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from shoe_ctl.api.requests import Caller as Known
from shoe_ctl.api.requests import (
    Command,
    EventsRequest,
    RedeliverRequest,
    ResendRequest,
    StatusRequest,
    read_request,
)
from shoe_ctl.api.unix_socket import Handler, bound_socket, serving
from shoe_ctl.cli import table_pages
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.status import status
from shoe_ctl.texts.catalogue import with_texts
from shoe_testing.answer_shapes import assert_is_an_answer
from shoe_testing.tables import TableHarness

PATIENCE_S = 30.0


@asynccontextmanager
async def serving_at(
    path: Path,
    users: Mapping[int, Known],
    handler: Handler,
    *,
    gid: int | None = None,
    **options: Any,
) -> AsyncIterator[None]:
    """Serve at this path, as a daemon does for as long as it runs."""
    with bound_socket(path, gid=gid) as listener:
        async with serving(listener, users, handler, **options):
            yield


_numbers = itertools.count(1)
"""Of commands: no two callers give one id to two of them."""


class Caller:
    """One connection. Every wait ends in an error on a machine that has stalled for good."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, held: bool = False
    ) -> None:
        self.reader = reader
        self.writer = writer
        self._held = held

    async def says(self, line: bytes) -> dict[str, Any]:
        """The answer to exactly these bytes."""
        self.writer.write(line)
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            answered: dict[str, Any] = json.loads(await self.reader.readline())
        if self._held and "specversion" not in answered:  # it is no event
            assert_is_an_answer(answered)
        return answered

    async def asks(self, **asked: Any) -> dict[str, Any]:
        return await self.says(json.dumps(asked).encode() + b"\n")

    async def gives(self, command: str, **more: Any) -> dict[str, Any]:
        """A command as a dealer gives it; a fresh id unless one is given."""
        return await self.asks(**(envelope(f"c{next(_numbers)}", command) | more))

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
async def calling(path: Path, *, held: bool = False) -> AsyncIterator[Caller]:
    """Connect; each answer is ``held`` to its documented shape, where it is a daemon's."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        yield Caller(reader, writer, held=held)
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


@asynccontextmanager
async def answering_socket(
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
        # A server that is closed drops a connection that it has just accepted, without its end.
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())
        await asyncio.sleep(0)  # a connection that was accepted just now has begun by then
        server.close()
        await server.wait_closed()
        await asyncio.gather(*ended)


# Commands of a table.


class AnsweringDaemon(socketserver.StreamRequestHandler):
    """Takes what a daemon would take, whatever the table is at."""

    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(msgspec.json.encode(answer_request(line)) + b"\n")
            if isinstance(read_request(line), EventsRequest):
                return  # no more events come


def answer_request(line: bytes) -> dict[str, object]:
    """The answer of a table that can do everything.

    Raises:
        AssertionError: no table takes a command with such arguments.
    """
    match read_request(line):
        case StatusRequest():
            playing = TableHarness().open_shoe()
            held = with_texts(status(playing.now, playing.game, playing.settings))
            return {"user": "kim", "position": "gaming_shift_manager", "tables": [held]}
        case RedeliverRequest():
            return {"redelivered": []}
        case ResendRequest() as asked:
            went = {"sink": asked.sink, "after": asked.after, "events": 2, "taken": 2}
            return {"resent": {**went, "refused": 0, "waiting": 0}}
        case EventsRequest() as asked:
            return {"specversion": "1.0", "id": "bac-07/p32", "table": asked.table}
        case Command() as command:
            args = dict(command.args)
            if command.command == "declare":
                assert args["key"] in {line.name for line in table_pages.declared()}
            elif command.command == "decide":
                assert args["choice"] in table_pages.choice_names()
            elif command.command in COMMANDS:
                msgspec.convert(args, COMMANDS[command.command].args)
            return {"command_id": command.command_id, "accepted": True, "events": ["t/p1"]}
    raise AssertionError(line)


@contextmanager
def answering_daemon(folder: Path) -> Iterator[Path]:
    """A socket in this folder where the answers come from."""
    path = folder / "s"
    with socketserver.ThreadingUnixStreamServer(str(path), AnsweringDaemon) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield path
        server.shutdown()
        thread.join()
