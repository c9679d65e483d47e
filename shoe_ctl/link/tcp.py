"""A raw TCP connection as a transport, as serial device servers offer it.

In: a host and a port. Out: chunks of bytes, or why the connection is lost.
Must not know: frames, sessions, reconnecting; nothing of RFC 2217: the server sets the line.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from concurrent.futures import Executor
from typing import Any

from shoe_ctl.errors import PortError
from shoe_ctl.link.address import TcpAddress
from shoe_ctl.link.transport import DescriptorTransport, Opener, Transport

CONNECT_TIMEOUT_S = 0.5
"""A table's network answers within milliseconds. A kernel left to itself asks again after 1, 3 and
7 seconds: giving up early and asking anew is what finds a server within a second of its return."""

KEEPALIVE_IDLE_S, KEEPALIVE_EVERY_S, KEEPALIVE_PROBES = 5, 1, 5
"""Where a shoe may be silent for hours, only the server's own answers say that the way is there.
Ten seconds, as ``reference`` has it for a silent shoe."""

UNACKNOWLEDGED_MS = 10_000
"""The same ten seconds for what was sent and not acknowledged; the kernel's own would be 15 min."""

_HUNG_UP = (errno.ECONNRESET, errno.EPIPE)
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETDOWN)

_Address = tuple[Any, Any, int, str, Any]


def tcp_opener(port: TcpAddress, executor: Executor) -> Opener:
    """Connects to this address each time it is called; names are looked up in ``executor``."""

    async def open_port() -> Transport:
        addresses = await _addresses(port, executor)
        trouble: OSError = TimeoutError()
        for family, kind, protocol, _, address in addresses:
            connection = socket.socket(family, kind, protocol)
            try:
                connection.setblocking(False)
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    await asyncio.get_running_loop().sock_connect(connection, address)
                _refuse_itself(connection)
                _configure(connection)
            except OSError as error:  # which a time-out is, too
                connection.close()
                trouble = error
            except BaseException:
                connection.close()
                raise
            else:
                return _transport(connection, port)
        raise _trouble(port, trouble) from None

    return open_port


async def _addresses(port: TcpAddress, executor: Executor) -> list[_Address]:
    """What the name means today; an address by number is never looked up."""
    kind = socket.SOCK_STREAM
    with contextlib.suppress(socket.gaierror, UnicodeError):
        numeric = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return socket.getaddrinfo(port.host, port.port, type=kind, flags=numeric)
    looking = executor.submit(socket.getaddrinfo, port.host, port.port, type=kind)
    try:
        return await asyncio.wrap_future(looking)
    except (socket.gaierror, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "not a name"
        raise PortError(
            f"host unknown: {port.host} ({why}: check the name in {port}, or give the address)",
            "host_unknown",
        ) from None


def _refuse_itself(connection: socket.socket) -> None:
    """On one's own host, a port that nobody listens at may be given to the very asker.

    Raises:
        OSError: it was.
    """
    if connection.getsockname() == connection.getpeername():
        raise ConnectionRefusedError(errno.ECONNREFUSED, "nobody listens")


def _configure(connection: socket.socket) -> None:
    """Sends each byte at once, and asks a silent server whether it is there."""
    options = (
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_EVERY_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_PROBES),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS),
    )
    for level, option, value in options:
        connection.setsockopt(level, option, value)


def _transport(connection: socket.socket, port: TcpAddress) -> Transport:
    """The connection in the running loop."""

    def why_lost(error: OSError | None) -> str:
        if error is None or error.errno in _HUNG_UP:
            return f"hung up by the other end: {port}"
        if error.errno == errno.ETIMEDOUT:
            return f"no answer any more: {port}"
        return f"{port}: {error.strerror or error}"

    return DescriptorTransport(
        connection.fileno(), str(port), why_lost=why_lost, give_back=connection.close
    )


def _trouble(port: TcpAddress, error: OSError) -> PortError:
    """The one line for a connection that could not be made."""
    if isinstance(error, TimeoutError):
        return PortError(
            f"no answer from {port} (is the device server powered, cabled and on this network?)",
            "no_answer",
        )
    if error.errno == errno.ECONNREFUSED:
        return PortError(
            f"refused by {port} (is it in raw TCP server mode on port {port.port}, and free? "
            "many serve one host at a time)",
            "refused",
        )
    if error.errno in _NO_WAY:
        line = f"no way to {port} ({error.strerror}: check cable, address and route)"
        return PortError(line, "no_way")
    return PortError(f"cannot connect to {port}: {error.strerror or error}")
