"""What is TCP's own: names, refusals, a way that is dead without saying so."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoe_ctl.errors import PortError
from shoe_ctl.link import tcp
from shoe_ctl.link.address import TcpAddress
from shoe_ctl.link.tcp import tcp_opener
from shoe_testing.ports import free_port
from shoe_testing.transports import plugged_in, read_bytes


async def refusal(port: TcpAddress, executor: ThreadPoolExecutor) -> str:
    with pytest.raises(PortError) as refused:
        await tcp_opener(port, executor)()
    line = str(refused.value)
    assert "\n" not in line
    return line


async def test_a_port_that_nobody_listens_at_says_what_to_check(
    executor: ThreadPoolExecutor,
) -> None:
    number = free_port()
    line = await refusal(TcpAddress("127.0.0.1", number), executor)
    assert line.startswith(
        f"refused by tcp://127.0.0.1:{number} (check that the device server is in raw TCP"
    )


async def test_a_host_that_is_unknown_is_named(
    executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(host: str, *_: object, **how: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    line = await refusal(TcpAddress("moxa-3.example", 4001), executor)
    assert line.startswith("host unknown: moxa-3.example (Name or service not known: check")


async def test_a_name_that_cannot_be_one_is_no_traceback(executor: ThreadPoolExecutor) -> None:
    line = await refusal(TcpAddress("x" * 64 + ".example", 4001), executor)
    assert line.startswith("host unknown: xxx")


async def test_a_name_is_looked_up_off_the_loop_and_each_of_its_addresses_is_tried(
    executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real, asked_in = socket.getaddrinfo, []

    async with plugged_in("tcp", tmp_path) as end:
        assert isinstance(end.name, TcpAddress)

        def looked_up(host: str, port: int, **how: int) -> list[object]:
            if how.get("flags"):
                return list(real(host, port, **how))
            asked_in.append(threading.current_thread())
            dead = real("127.0.0.1", free_port(), type=socket.SOCK_STREAM)
            return [*dead, *real("127.0.0.1", port, type=socket.SOCK_STREAM)]

        monkeypatch.setattr(socket, "getaddrinfo", looked_up)
        transport = await tcp_opener(TcpAddress("moxa-3.example", end.name.port), executor)()
        end_heard = b"there"
        transport.write(end_heard)
        assert await end.hear(5) == end_heard
        transport.close()
    assert asked_in and threading.main_thread() not in asked_in


async def test_a_server_that_does_not_answer_is_given_up_soon(
    executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its queue of connections is full: the kernel leaves further ones unanswered."""
    monkeypatch.setattr(tcp, "CONNECT_TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(8)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        try:
            async with asyncio.timeout(5):
                line = await refusal(TcpAddress("127.0.0.1", address[1]), executor)
        finally:
            for one in waiting:
                one.close()
    assert line.startswith(
        f"no answer from tcp://127.0.0.1:{address[1]} (check the device server's power"
    )


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EHOSTUNREACH, "no route to tcp://127.0.0.1:9 (No route to host: check cable"),
        (errno.ENETUNREACH, "no route to tcp://127.0.0.1:9 (Network is unreachable: check"),
        (errno.EADDRNOTAVAIL, "cannot connect to tcp://127.0.0.1:9: Cannot assign"),
    ],
)
async def test_what_the_network_refuses_is_told_in_one_line(
    number: int, says: str, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", refuse)
    assert (await refusal(TcpAddress("127.0.0.1", 9), executor)).startswith(says)


async def test_a_port_that_connects_to_itself_is_a_port_that_nobody_listens_at(
    executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = free_port()
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect

    async def from_the_same_port(connection: socket.socket, address: object) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.bind(("127.0.0.1", number))
        await connect(connection, address)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "sock_connect", from_the_same_port)
    line = await refusal(TcpAddress("127.0.0.1", number), executor)
    assert line.startswith(f"refused by tcp://127.0.0.1:{number}")


async def test_a_silent_server_is_asked_whether_it_is_there_and_bytes_do_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_to: dict[tuple[int, int], int] = {}

    class Noted(socket.socket):
        def setsockopt(self, *what: int) -> None:  # type: ignore[override]
            set_to[what[0], what[1]] = what[2]
            super().setsockopt(*what)

    async with plugged_in("tcp", tmp_path) as end:
        monkeypatch.setattr("shoe_ctl.link.tcp.socket.socket", Noted)
        transport = await end.connect()
        transport.close()
    over_tcp = socket.IPPROTO_TCP
    assert set_to[socket.SOL_SOCKET, socket.SO_KEEPALIVE] == 1
    assert set_to[over_tcp, socket.TCP_NODELAY] == 1
    idle, every, probes = (
        set_to[over_tcp, option]
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    )
    assert idle + every * probes == 10
    assert set_to[over_tcp, socket.TCP_USER_TIMEOUT] == 10_000


async def test_what_came_before_the_other_end_hung_up_is_read_first(tmp_path: Path) -> None:
    async with plugged_in("tcp", tmp_path) as end:
        transport = await end.connect()
        end.port.write(b"last words")
        end.port.close()
        assert await read_bytes(transport, 10) == b"last words"
        transport.close()
