"""The local Unix socket: a JSON object a line in, one a line out, from users that are known.

In: a path, the users with their highest positions, a handler. Out: its answers, one a line; events
or states, one a line and without end, for those who ask for them.
Must not know: tables, commands, what an answer means.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import struct
import sys
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from shoe_ctl.api.answers import failure, in_language, refusal
from shoe_ctl.api.requests import Caller, Command, Request, StreamRequest, read_request
from shoe_ctl.api.socket_path import check_directory, check_kind, check_length
from shoe_ctl.errors import EnvironmentFault, ShoeCtlError
from shoe_ctl.file_locks import held_lock
from shoe_ctl.texts.message import Message, message

MODE = 0o660
"""Its owner and its group may connect; who of them may act is checked by credentials."""

BACKLOG = 64


LOCK_WAIT_S = 5.0
"""Seconds for which a daemon that is about to end may still have the socket."""


@contextmanager
def bound_socket(path: Path, *, gid: int | None = None) -> Iterator[socket.socket]:
    """Bind a socket at ``path`` that belongs to group ``gid``; remove it on leaving.

    It does not listen yet, so that a caller is refused until ``serving`` begins, and then waits
    where nobody serves for a while. What a daemon that died left there is replaced. A lock beside
    it, which other users cannot take, keeps a second daemon from doing the same.

    Raises:
        EnvironmentFault: no such directory, one that everyone may write to, a path too long, a
            file that is no socket, a daemon that is alive, no permission.
    """
    path = path.absolute()
    check_length(path)
    with ExitStack() as cleanup:
        listener = cleanup.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        try:
            _check_parent(path.parent)
            _refuse_if_served(path)  # a daemon that goes on serving is not waited for
            lock = held_lock(path.with_name(path.name + "-lock"), wait_s=LOCK_WAIT_S)
            cleanup.enter_context(lock)
            _clear(path)
            inode = _bind(listener, path, gid)
        except BlockingIOError:
            raise EnvironmentFault(f"socket {path} is served by another process") from None
        except OSError as error:
            raise EnvironmentFault(f"socket {path}: {error.strerror}") from None
        cleanup.callback(_remove, path, inode)
        yield listener


def _check_parent(folder: Path) -> None:
    try:
        check_directory(folder, folder.stat())
    except OSError as error:
        raise EnvironmentFault(f"socket directory {folder}: {error.strerror}") from None


def _refuse_if_served(path: Path) -> None:
    """Refuse a path where somebody serves, or where there is a file of another kind."""
    try:
        check_kind(path, path.lstat())
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        answer = probe.connect_ex(os.fsencode(path))
    if answer in (0, errno.EAGAIN):  # EAGAIN: so many wait already that it takes no more now
        raise EnvironmentFault(f"socket {path} is served by another process")
    if answer not in (errno.ECONNREFUSED, errno.ENOENT):
        raise EnvironmentFault(f"socket {path}: {os.strerror(answer)}")


def _clear(path: Path) -> None:
    """Remove the socket of a daemon that died."""
    _refuse_if_served(path)
    path.unlink(missing_ok=True)


def _bind(listener: socket.socket, path: Path, gid: int | None) -> tuple[int, int]:
    """Bind the socket for its owner only, and then open it to its group."""
    os.fchmod(listener.fileno(), 0o600)  # Linux makes the file with the socket's own mode
    listener.bind(os.fsencode(path))
    made = path.lstat()
    try:
        if gid is not None:
            os.chown(path, -1, gid)
        path.chmod(MODE)
    except OSError:
        path.unlink()
        raise
    listener.setblocking(False)
    return made.st_dev, made.st_ino


def _remove(path: Path, inode: tuple[int, int]) -> None:
    """Remove the socket that this process made; what another put there since stays."""
    with suppress(OSError):
        found = path.lstat()
        if (found.st_dev, found.st_ino) == inode:
            path.unlink()


MOST_BYTES = 65536
"""The longest line that is read, its end included."""

MOST_CONNECTIONS = 16
"""Connections of one user at a time."""

PATIENCE_S = 10.0
"""A caller may leave an answer unread for so long before the connection is cut."""

LAST_LINES_S = 1.0
"""Stopping waits for so long until events that are being written are read."""

_CREDENTIALS = struct.Struct("3i")

Handler = Callable[[Caller, Request], Awaitable[Mapping[str, Any]]]
"""Answers what was asked. A ShoeCtlError that it raises is told to the caller."""

Lines = AsyncGenerator[Sequence[bytes], None]
"""Events or states as JSON, some at a time, without end."""

LineSource = Callable[[Caller, StreamRequest], Awaitable[Lines]]
"""Returns the lines that were asked for. A ShoeCtlError is told to the caller, also one that is
raised between two batches, and then there are no more."""


_KEEPS_FILE: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
"""asyncio removes a socket's file on closing, from Python 3.13 on. Here it outlasts a server."""

_TURNS_OF_ACCEPTING = 4
"""Turns of the loop from an accepted socket to the start of its conversation: the socket's task,
the transport, the protocol, the conversation's task."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def serving(
    listener: socket.socket,
    users: Mapping[int, Caller],
    handler: Handler,
    *,
    streams: LineSource | None = None,
    patience_s: float = PATIENCE_S,
) -> AsyncIterator[None]:
    """Serve ``users``, by user id, at a bound socket; on leaving, answer what is being handled.

    Who connects after that waits until somebody serves again. Without ``streams`` the ``handler``
    answers also those who ask for one.
    """
    talk = _Talk(users, handler, streams, patience_s)
    own = listener.dup()  # closed with its server; the listener stays
    try:
        server = await asyncio.start_unix_server(
            talk.connected, sock=own, limit=MOST_BYTES, backlog=BACKLOG, **_KEEPS_FILE
        )
    except BaseException:
        own.close()
        raise
    try:
        yield
    finally:
        # asyncio drops a connection that it is accepting when its server is closed, and leaks its
        # socket. So none is accepted any more, and those that were begin to be served, before that.
        asyncio.get_running_loop().remove_reader(own.fileno())
        talk.begin_to_stop()
        try:
            for _ in range(_TURNS_OF_ACCEPTING):
                await asyncio.sleep(0)
        finally:
            server.close()
        await talk.stop()
        await server.wait_closed()


class _Talk:
    """Every conversation that is under way."""

    def __init__(
        self,
        users: Mapping[int, Caller],
        handler: Handler,
        streams: LineSource | None,
        patience_s: float,
    ) -> None:
        self._users = users
        self._handler = handler
        self._streams = streams
        self._patience_s = patience_s
        self._open: Counter[int] = Counter()
        self._talks: set[asyncio.Task[None]] = set()
        self._handling: set[asyncio.Task[None]] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self._turned_away: set[int] = set()
        self._stopping = False

    async def connected(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Serve one connection, from the first byte to the last."""
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        uid = _uid(writer)
        self._open[uid] += 1
        writer.transport.set_write_buffer_limits(high=0)  # drained means: the kernel has it all
        try:
            await self._converse(uid, reader, writer, task)
        except asyncio.CancelledError:
            if not self._stopping:  # else this is how it ends
                raise
        except TimeoutError:
            log.warning(
                "socket: client disconnected: uid=%d reason=write_timeout (%g s)",
                *(uid, self._patience_s),
            )
        except OSError as error:
            log.debug('socket: client disconnected: uid=%d reason="%s"', uid, error)
        finally:
            self._talks.discard(task)
            self._open -= Counter({uid: 1})
            writer.transport.abort()

    def begin_to_stop(self) -> None:
        """Take up nothing more: what is being handled is still answered."""
        self._stopping = True

    async def stop(self) -> None:
        """Close every conversation, those in the middle of an answer after it.

        Who is being sent a stream gets the last line whole, if it reads it soon.
        """
        self.begin_to_stop()
        for task in self._talks - self._handling - self._sending:
            task.cancel()
        if sending := set(self._sending):
            _, stalled = await asyncio.wait(sending, timeout=LAST_LINES_S)
            for task in stalled:
                task.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def _converse(
        self,
        uid: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        task: asyncio.Task[None],
    ) -> None:
        caller = self._users.get(uid)
        why_not = self._not_welcome(uid, caller)
        if why_not is not None:
            await self._say(writer, refusal(why_not))
            return
        assert caller is not None
        more = True
        while more and not self._stopping:
            line, wrong = await _line(reader)
            if line is None and wrong is None:
                return
            more = wrong is None
            self._handling.add(task)
            try:
                answer = refusal(wrong) if wrong is not None else await self._answer(caller, line)
            finally:
                self._handling.discard(task)
            if isinstance(answer, Mapping):
                await self._say(writer, answer)
            else:
                async with aclosing(answer) as batches:
                    await self._send_stream(caller, batches, reader, writer, task)
                return

    async def _send_stream(
        self,
        caller: Caller,
        batches: Lines,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        task: asyncio.Task[None],
    ) -> None:
        """Send lines until the caller is gone or sends anything, or until there are no more."""
        heard = asyncio.create_task(reader.read(1))
        sending = asyncio.create_task(self._send_until(heard, caller, batches, writer, task))
        try:
            await asyncio.wait({sending, heard}, return_when=asyncio.FIRST_COMPLETED)
            if task not in self._sending:  # else the line that is being written is written whole
                sending.cancel()
            await asyncio.wait({sending})
            if not sending.cancelled():
                sending.result()
            if heard.done() and heard.result():
                await self._say(writer, refusal(message("events_connection_in_use")))
        finally:
            for each in (heard, sending):
                each.cancel()
            await asyncio.gather(heard, sending, return_exceptions=True)

    async def _send_until(
        self,
        heard: asyncio.Task[bytes],
        caller: Caller,
        batches: Lines,
        writer: asyncio.StreamWriter,
        task: asyncio.Task[None],
    ) -> None:
        """Send lines until something is ``heard``, the server stops, or there are no more.

        ``task`` is the conversation: it is not ended while a line is being written.
        """
        more = not self._stopping
        while more:
            lines, refused = await self._next_batch(caller, batches)
            self._sending.add(task)
            try:
                await self._write(writer, lines)
            finally:
                self._sending.discard(task)
            more = not (refused or self._stopping or heard.done())

    async def _next_batch(self, caller: Caller, batches: Lines) -> tuple[bytes, bool]:
        """Return the next lines, and True where they are the last: why there are no more."""
        try:
            return b"".join(body + b"\n" for body in await anext(batches)), False
        except Exception as error:  # noqa: BLE001 - it is reported to the caller
            return msgspec.json.encode(self._failed(caller, error)) + b"\n", True

    def _not_welcome(self, uid: int, caller: Caller | None) -> Message | None:
        if caller is None:
            first = uid not in self._turned_away
            self._turned_away.add(uid)
            level = logging.WARNING if first else logging.DEBUG
            log.log(level, "socket: client refused: uid=%d reason=not_configured", uid)
            return message("daemon_user_unknown", user=f"id {uid}")
        if self._open[uid] > MOST_CONNECTIONS:
            return message("daemon_too_many_connections", user=caller.user, most=MOST_CONNECTIONS)
        return None

    async def _answer(self, caller: Caller, line: bytes | None) -> Mapping[str, Any] | Lines:
        command_id, to = None, None
        try:
            asked = read_request(line or b"")
            to = asked.language
            if isinstance(asked, Command):
                command_id = asked.command_id
            if isinstance(asked, StreamRequest) and self._streams is not None:
                return await self._streams(caller, asked)
            return in_language(await self._handler(caller, asked), to)
        except Exception as error:  # noqa: BLE001 - it is reported to the caller
            return in_language(self._failed(caller, error, command_id), to)

    def _failed(
        self, caller: Caller, error: Exception, command_id: str | None = None
    ) -> Mapping[str, Any]:
        """Return the answer where there is none: why. ``command_id`` is the command's, if known."""
        if not isinstance(error, ShoeCtlError):
            log.error("socket: request failed: user=%s", caller.user, exc_info=error)
        return failure(error, command_id)

    async def _say(self, writer: asyncio.StreamWriter, answer: Mapping[str, Any]) -> None:
        """Raises TimeoutError when the caller does not read, OSError when it is gone."""
        await self._write(writer, msgspec.json.encode(answer) + b"\n")

    async def _write(self, writer: asyncio.StreamWriter, lines: bytes) -> None:
        """As ``_say``."""
        writer.write(lines)
        async with asyncio.timeout(self._patience_s):
            await writer.drain()


async def _line(reader: asyncio.StreamReader) -> tuple[bytes | None, Message | None]:
    """Read the next line, or what is wrong with it; neither at the end."""
    try:
        return await reader.readuntil(b"\n"), None
    except asyncio.LimitOverrunError:
        return None, message("request_too_long", most=MOST_BYTES)
    except asyncio.IncompleteReadError as ended:
        return None, message("request_incomplete") if ended.partial else None


def _uid(writer: asyncio.StreamWriter) -> int:
    """Return the user id of the process that connected, as the kernel noted it."""
    peer: socket.socket = writer.get_extra_info("socket")
    raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(raw)
    return int(uid)
