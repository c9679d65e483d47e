"""A raw TCP connection as a transport, as serial device servers offer it.

In: a host and a port. Out: chunks of bytes; why it was lost, or PortError.
Must not know: frames, sessions, reconnecting, RFC 2217 (the server sets its serial line).
"""

from __future__ import annotations

import asyncio
import errno
import socket
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

from shoe_ctl.errors import PortError
from shoe_ctl.link.address import TcpAddress
from shoe_ctl.link.transport import DescriptorTransport, Loss, Opener, Transport, failed
from shoe_ctl.texts.message import message

CONNECT_TIMEOUT_S = 0.5
"""A table's network answers within milliseconds. The kernel alone would retry after 1, 3 and 7
seconds: a short timeout and a new attempt find a server within a second of its return."""

KEEPALIVE_IDLE_S, KEEPALIVE_EVERY_S, KEEPALIVE_PROBES = 5, 1, 5
"""Where a shoe may be silent for hours, only the server's answers show that it is reachable.
Ten seconds, as in ``reference`` for a silent shoe."""

UNACKNOWLEDGED_MS = 10_000
"""The same ten seconds for data not acknowledged. The kernel's default is 15 minutes."""

_HUNG_UP = (errno.ECONNRESET, errno.EPIPE)
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETDOWN)

_Address = tuple[Any, Any, int, str, Any]


def tcp_opener(port: TcpAddress, executor: Executor) -> Opener:
    """Return what connects to this address at each call; names are looked up in ``executor``."""

    async def open_port() -> Transport:
        addresses = await _addresses(port, executor)
        last_error: OSError = TimeoutError()
        for family, kind, protocol, _, address in addresses:
            connection = socket.socket(family, kind, protocol)
            try:
                connection.setblocking(False)
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    await asyncio.get_running_loop().sock_connect(connection, address)
                _refuse_self_connection(connection)
                _configure(connection)
            except OSError as error:  # a timeout is one, too
                connection.close()
                last_error = error
            except BaseException:
                connection.close()
                raise
            else:
                return _transport(connection, port)
        raise _connect_error(port, last_error) from None

    return open_port


async def _addresses(port: TcpAddress, executor: Executor) -> list[_Address]:
    """Look the name up; a numeric address is not looked up."""
    kind = socket.SOCK_STREAM
    with suppress(socket.gaierror, UnicodeError):
        numeric = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return socket.getaddrinfo(port.host, port.port, type=kind, flags=numeric)
    looking = executor.submit(socket.getaddrinfo, port.host, port.port, type=kind)
    try:
        return await asyncio.wrap_future(looking)
    except (socket.gaierror, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "not a name"
        raise PortError(
            f"host unknown: {port.host} ({why}: check the name in {port}, or use the address)",
            "host_unknown",
        ) from None


def _refuse_self_connection(connection: socket.socket) -> None:
    """Refuse a socket connected to itself: on this host, a free port may be its own.

    Raises:
        OSError: it is connected to itself.
    """
    if connection.getsockname() == connection.getpeername():
        raise ConnectionRefusedError(errno.ECONNREFUSED, "nobody listens")


def _configure(connection: socket.socket) -> None:
    """Send each byte at once, and probe a silent server."""
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
    """Return the transport of a connection, in the running loop."""

    def why_lost(error: OSError | None) -> Loss:
        if error is None or error.errno in _HUNG_UP:
            return Loss("closed", message("link_closed", port=str(port)))
        if error.errno == errno.ETIMEDOUT:
            return Loss("no_answer", message("link_no_answer", port=str(port)))
        return failed(str(port), error.strerror or str(error))

    return DescriptorTransport(
        connection.fileno(), str(port), why_lost=why_lost, give_back=connection.close
    )


def _connect_error(port: TcpAddress, error: OSError) -> PortError:
    """Return the error for a connection that could not be made."""
    if isinstance(error, TimeoutError):
        return PortError(
            f"no answer from {port} (check the device server's power, cable and network)",
            "no_answer",
        )
    if error.errno == errno.ECONNREFUSED:
        return PortError(
            f"refused by {port} (check that the device server is in raw TCP server mode on port "
            f"{port.port} and that no other host is connected: many serve one at a time)",
            "refused",
        )
    if error.errno in _NO_WAY:
        line = f"no route to {port} ({error.strerror}: check cable, address and route)"
        return PortError(line, "no_way")
    return PortError(f"cannot connect to {port}: {error.strerror or error}")
