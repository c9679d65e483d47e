"""The link between the daemon's front process and one of its workers: a pair of sockets, no path.

In: at the front, callers that it has checked, with what they ask; at the worker, a handler.
Out: answers and events; what the worker reports of itself, and that the front has gone.
Must not know: tables, what a request means, how processes are started.

The pair is inherited, so that no other program can connect. For each request the front sends one
end of another pair, together with the caller; the request and its answer then have that for
themselves.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import msgspec

from shoe_ctl.api.answers import RefusedElsewhere, RequestRefused
from shoe_ctl.api.requests import Caller, Request
from shoe_ctl.api.unix_socket import MOST_BYTES, Converse, EventSource, Handler, conversing
from shoe_ctl.texts.message import message

LONGEST_LINE = 4 * MOST_BYTES
"""A request is written out in full here, and so may be longer than it came."""

TAKEN_WITHIN_S = 10.0
"""How long a worker may take until it takes a request; how long the answer takes is its own."""

_TAKEN = b"\n"
_PIECE = 65536
_EVENT_STARTS = b'{"id":'

log = logging.getLogger(__name__)

_caller = msgspec.json.Decoder(Caller)


def make_pair() -> tuple[socket.socket, socket.socket]:
    """Return the front's end and the worker's end of a link."""
    front, worker = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    front.setblocking(False)
    worker.setblocking(False)
    return front, worker


class WorkerEnd:
    """The worker's end. ``gone`` is called once the front process has ended."""

    def __init__(self, link: socket.socket, gone: Callable[[], None]) -> None:
        self._link = link
        self._gone = gone
        self._converse: Converse | None = None
        self._talks: set[asyncio.Task[None]] = set()

    def report(self, text: str) -> None:
        """Report something to the front process; one that has gone misses nothing."""
        with suppress(OSError):
            self._link.send(text.encode())

    @asynccontextmanager
    async def serving(
        self, handler: Handler, events: EventSource | None = None
    ) -> AsyncIterator[None]:
        """Let this handler answer; on leaving, what is being handled is answered."""
        async with conversing(handler, events=events) as converse:
            self._converse = converse
            try:
                yield
            finally:
                self._converse = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take what the front process sends, from entering to leaving."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._link, self._receive)
        try:
            yield
        finally:
            loop.remove_reader(self._link)
            for task in self._talks:
                task.cancel()

    def _receive(self) -> None:
        try:
            said, fds, _, _ = socket.recv_fds(self._link, _PIECE, 1, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:
            said, fds = b"", []
        if not said:
            asyncio.get_running_loop().remove_reader(self._link)
            self._gone()
            return
        if not fds:
            log.error(
                'front process: request dropped: reason="this process has no descriptor left"'
            )
            return
        connection = socket.socket(fileno=fds[0])
        if self._converse is None:  # nobody is answered now: the front sees that it is closed
            connection.close()
            return
        task = asyncio.create_task(self._talk(connection, _caller.decode(said), self._converse))
        self._talks.add(task)
        task.add_done_callback(self._talks.discard)

    async def _talk(self, connection: socket.socket, caller: Caller, converse: Converse) -> None:
        try:
            reader, writer = await _streams(connection)
            writer.write(_TAKEN)
        except OSError as error:
            log.debug('front process: request dropped: reason="%s"', error)
            return
        await converse(reader, writer, caller)


class FrontEnd:
    """The front's end of the link to the worker of this number."""

    def __init__(
        self, link: socket.socket, number: int, *, taken_within_s: float = TAKEN_WITHIN_S
    ) -> None:
        self._link = link
        self._number = number
        self._taken_within_s = taken_within_s

    @contextmanager
    def listening(self, reported: Callable[[str], None]) -> Iterator[None]:
        """Hand on what the worker reports of itself, from entering to leaving."""
        loop = asyncio.get_running_loop()

        def receive() -> None:
            for text in self.reports():
                reported(text)

        loop.add_reader(self._link, receive)
        try:
            yield
        finally:
            loop.remove_reader(self._link)

    def reports(self) -> Iterator[str]:
        """Yield what has been reported and not read yet."""
        while True:
            try:
                said = self._link.recv(_PIECE)
            except OSError:  # there is no more now
                return
            if not said:
                with suppress(ValueError):
                    asyncio.get_running_loop().remove_reader(self._link)
                return
            yield said.decode()

    async def ask(self, caller: Caller, asked: Request) -> dict[str, Any]:
        """Return the worker's answer to a request, be it a refusal.

        Raises:
            RequestRefused: the worker does not answer now.
        """
        reader, writer = await self._connect(caller)
        try:
            writer.write(msgspec.json.encode(asked) + b"\n")
            writer.write_eof()
            answer = await reader.read()
        except OSError:
            answer = b""
        finally:
            writer.transport.abort()
        if not answer.endswith(b"\n"):
            raise RequestRefused(message("daemon_starting"))
        decoded: dict[str, Any] = msgspec.json.decode(answer)
        return decoded

    async def events(self, caller: Caller, asked: Request) -> EventLines:
        """Return the stream of events that the worker sends for this request.

        Raises:
            RequestRefused: the worker does not answer now.
        """
        reader, writer = await self._connect(caller)
        writer.write(msgspec.json.encode(asked) + b"\n")
        return EventLines(reader, writer)

    async def _connect(self, caller: Caller) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection that the worker has taken.

        Raises:
            RequestRefused: it takes none now, or hangs.
        """
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._link, [msgspec.json.encode(caller)], [theirs.fileno()])
            reader, writer = await _streams(ours)
        except BlockingIOError:  # so many requests wait for it already
            ours.close()
            raise self._silent() from None
        except OSError:
            ours.close()
            raise RequestRefused(message("daemon_starting")) from None
        finally:
            theirs.close()
        try:
            async with asyncio.timeout(self._taken_within_s):
                await reader.readexactly(len(_TAKEN))
        except BaseException as error:
            writer.transport.abort()
            match error:
                case TimeoutError():
                    raise self._silent() from None
                case asyncio.IncompleteReadError() | OSError():
                    raise RequestRefused(message("daemon_starting")) from None
            raise
        return reader, writer

    def _silent(self) -> RequestRefused:
        return RequestRefused(message("daemon_worker_silent", worker=self._number))


class EventLines:
    """Events that a worker sends, some at a time, until it sends no more."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._rest = b""
        self._refusal: dict[str, Any] | None = None

    async def more(self) -> list[bytes]:
        """Return the next events, one or more.

        Raises:
            RefusedElsewhere: the worker says why there are no more.
            RequestRefused: the worker stopped sending.
        """
        lines: list[bytes] = []
        while not lines and self._refusal is None:
            try:
                piece = await self._reader.read(_PIECE)
            except OSError:
                piece = b""
            if not piece:
                raise RequestRefused(message("daemon_starting"))
            *lines, self._rest = (self._rest + piece).split(b"\n")
        if lines and not lines[-1].startswith(_EVENT_STARTS):
            self._refusal = msgspec.json.decode(lines.pop())
        if not lines and self._refusal is not None:
            raise RefusedElsewhere(self._refusal)
        return lines

    def close(self) -> None:
        """Ask for no more."""
        self._writer.transport.abort()


async def _streams(
    connection: socket.socket,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    connection.setblocking(False)
    return await asyncio.open_unix_connection(sock=connection, limit=LONGEST_LINE)
