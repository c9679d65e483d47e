"""The socket with a handler of the test's own: who is let in, what one line does to another."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.api.answers import RequestRefused
from shoe_ctl.api.requests import Caller as Known
from shoe_ctl.api.requests import Command, Request, StatusRequest
from shoe_ctl.api.unix_socket import MOST_BYTES, MOST_CONNECTIONS
from shoe_ctl.errors import InputRefused
from shoe_ctl.records import Audience
from shoe_ctl.texts.catalogue import with_texts
from shoe_ctl.texts.message import message
from shoe_testing.socket_client import PATIENCE_S, calling, envelope, serving_at

ME = Known(user="me", position="pit_manager", sees=Audience.PUBLIC)
USERS = {os.getuid(): ME}
NOBODY = 65534


class Desk:
    """Answers everything, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.raises: Exception | None = None
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.padding = ""

    async def __call__(self, caller: Known, asked: Request) -> dict[str, Any]:
        self.asked.append(asked)
        await self.goes_on.wait()
        if self.raises is not None:
            raise self.raises
        return {"accepted": True, "user": caller.user, "padding": self.padding}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sock"


STATUS = b'{"request": "status"}\n'


async def test_a_line_in_is_a_line_out(path: Path) -> None:
    desk = Desk()
    async with serving_at(path, USERS, desk), calling(path) as caller:
        assert (await caller.gives("settle"))["user"] == "me"
        assert (await caller.says(STATUS))["accepted"] is True
    assert isinstance(desk.asked[0], Command) and isinstance(desk.asked[1], StatusRequest)


async def test_lines_sent_together_are_answered_in_order(path: Path) -> None:
    desk = Desk()
    lines = b"".join(json.dumps(envelope(f"c{i}", "settle")).encode() + b"\n" for i in range(50))
    async with serving_at(path, USERS, desk), calling(path) as caller:
        await caller.says(lines)
        for _ in range(49):
            await caller.answer()
    given = [asked.command_id for asked in desk.asked if isinstance(asked, Command)]
    assert given == [f"c{i}" for i in range(50)]


async def test_a_line_that_comes_byte_by_byte_is_one_line(path: Path) -> None:
    desk = Desk()
    async with serving_at(path, USERS, desk), calling(path) as caller:
        for byte in STATUS:
            caller.writer.write(bytes([byte]))
            await caller.writer.drain()
            await asyncio.sleep(0)
        assert (await caller.answer())["accepted"] is True
    assert len(desk.asked) == 1


@pytest.mark.parametrize("bad", [b"\n", b"x\n", b"[]\n", b'{"request": "stop"}\n', b"\x00\xff\n"])
async def test_a_bad_line_gets_one_answer_and_the_next_is_read(path: Path, bad: bytes) -> None:
    desk = Desk()
    async with serving_at(path, USERS, desk), calling(path) as caller:
        refused = await caller.says(bad)
        assert refused["accepted"] is False and refused["error"]["text"] and refused["needs"] == {}
        assert (await caller.says(STATUS))["accepted"] is True
    assert len(desk.asked) == 1


async def test_a_bad_command_is_refused_under_its_id(path: Path) -> None:
    async with serving_at(path, USERS, Desk()), calling(path) as caller:
        refused = await caller.gives("settle", pin="1234", command_id="mine")
        assert refused["command_id"] == "mine"


async def test_a_command_that_is_not_handled_is_refused_under_its_id(path: Path) -> None:
    desk = Desk()
    desk.raises = RequestRefused(message("daemon_starting"))
    async with serving_at(path, USERS, desk), calling(path) as caller:
        refused = await caller.gives("settle", command_id="mine")
        assert (refused["command_id"], refused["error"]["code"]) == ("mine", "daemon_starting")
        assert "command_id" not in await caller.says(STATUS)


async def test_a_line_as_long_as_may_be_is_read_and_a_longer_one_ends_the_talk(path: Path) -> None:
    desk = Desk()
    async with serving_at(path, USERS, desk):
        async with calling(path) as caller:
            assert (await caller.says(b" " * (MOST_BYTES - len(STATUS)) + STATUS))["accepted"]
        async with calling(path) as caller:
            refused = await caller.says(b"{" * (4 * MOST_BYTES))
            assert refused["error"]["code"] == "request_too_long"
            assert refused["error"]["text"] == f"a request may hold {MOST_BYTES} bytes"
            assert await caller.is_hung_up()
    assert len(desk.asked) == 1


async def test_half_a_line_and_then_the_end_does_nothing(path: Path) -> None:
    desk = Desk()
    async with serving_at(path, USERS, desk), calling(path) as caller:
        caller.writer.write(STATUS[:-1])
        caller.writer.write_eof()
        assert (await caller.answer())["error"]["text"].startswith("the last line has no end")
        assert await caller.is_hung_up()
    assert desk.asked == []


async def test_a_caller_that_leaves_without_a_word_is_no_trouble(path: Path) -> None:
    async with serving_at(path, USERS, Desk()):
        async with calling(path):
            pass
        async with calling(path) as caller:
            assert (await caller.says(STATUS))["accepted"] is True


async def test_a_caller_that_leaves_before_its_answer_is_no_trouble(path: Path) -> None:
    desk = Desk()
    desk.goes_on.clear()
    async with serving_at(path, USERS, desk):
        async with calling(path) as gone:
            gone.writer.write(STATUS * 3)
            await until(lambda: bool(desk.asked))
        desk.goes_on.set()
        async with calling(path) as caller:
            assert (await caller.says(STATUS))["accepted"] is True


async def test_an_error_of_ours_is_told_and_the_talk_goes_on(path: Path) -> None:
    desk = Desk()
    async with serving_at(path, USERS, desk), calling(path) as caller:
        desk.raises = InputRefused("no such table")
        assert await caller.says(STATUS) == {
            "accepted": False,
            "error": with_texts(message("daemon_failed", detail="no such table").as_data()),
            "needs": {},
        }
        desk.raises = None
        assert (await caller.says(STATUS))["accepted"] is True


async def test_a_fault_is_logged_and_not_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    async with serving_at(path, USERS, desk), calling(path) as caller:
        desk.raises = KeyError("a secret")
        refused = await caller.says(STATUS)
        assert refused["accepted"] is False and "secret" not in refused["error"]["text"]
    assert "a secret" in caplog.text


async def test_a_user_that_is_not_configured_is_refused_in_one_line(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()
    async with serving_at(path, {os.getuid() + 1: ME}, desk):
        for _ in range(3):
            async with calling(path) as caller:
                refused = await caller.answer()
                said = f"user id {os.getuid()} has no position at this daemon's tables"
                assert refused["error"]["code"] == "daemon_user_unknown"
                assert refused["error"]["text"] == said
                assert await caller.is_hung_up()
    assert desk.asked == []
    assert caplog.text.count("refused") == 1  # once a user: a log cannot be flooded this way


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of this host can reach."""
    folder = Path(tempfile.mkdtemp(prefix="shoectl-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


CALL = """
import socket, sys
with socket.socket(socket.AF_UNIX) as s:
    try:
        s.connect(sys.argv[1])
    except PermissionError:
        sys.exit("not let in")
    s.sendall(b'{"request": "status"}\\n')
    print(s.makefile().readline())
"""


async def call_as(user: int, path: Path) -> tuple[str, str]:
    child = await asyncio.create_subprocess_exec(
        "/usr/bin/env", "python3", "-c", CALL, str(path),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        user=user, group=user, extra_groups=[], cwd="/",
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
    )  # fmt: skip
    async with asyncio.timeout(PATIENCE_S):
        out, err = await child.communicate()
    return out.decode(), err.decode().strip()


as_root = pytest.mark.skipif(os.getuid() != 0, reason="takes root to be someone else")


@as_root
async def test_the_kernel_says_who_calls(open_folder: Path) -> None:
    path = open_folder / "s.sock"
    known = Known(user="nobody", position="dealer", sees=Audience.PUBLIC)
    async with serving_at(path, {NOBODY: known}, Desk(), gid=NOBODY):
        out, _ = await call_as(NOBODY, path)
        assert json.loads(out)["user"] == "nobody"
        async with calling(path) as root:
            assert "user id 0 has no position" in (await root.answer())["error"]["text"]


@as_root
async def test_who_is_not_in_the_sockets_group_is_not_let_in(open_folder: Path) -> None:
    path = open_folder / "s.sock"
    async with serving_at(path, USERS, Desk()):
        assert await call_as(NOBODY, path) == ("", "not let in")


async def test_a_user_has_so_many_connections_and_no_more(path: Path) -> None:
    async with serving_at(path, USERS, Desk()), AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(calling(path)) for _ in range(MOST_CONNECTIONS)]
        for caller in callers:
            assert (await caller.says(STATUS))["accepted"] is True
        async with calling(path) as one_more:
            error = (await one_more.answer())["error"]
            assert error["code"] == "daemon_too_many_connections"
            assert "connections open already" in error["text"]
            assert await one_more.is_hung_up()
        callers[0].writer.close()
        await callers[0].writer.wait_closed()

        async def let_in() -> bool:
            async with calling(path) as again:
                return (await again.says(STATUS))["accepted"] is True

        async with asyncio.timeout(PATIENCE_S):
            while not await let_in():
                pass


async def test_a_thousand_connections_leave_none_behind(path: Path) -> None:
    async with serving_at(path, USERS, Desk()):
        before = open_files()
        for _ in range(50):
            async with AsyncExitStack() as stack:
                for _ in range(20):
                    await stack.enter_async_context(calling(path))
        async with calling(path) as caller:
            assert (await caller.says(STATUS))["accepted"] is True  # who left does not count
        await until(lambda: open_files() <= before)


async def test_who_does_not_read_is_cut_off_and_nobody_else_waits(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()
    desk.padding = "x" * 1_000_000
    async with serving_at(path, USERS, desk, patience_s=0.2):
        slow = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            slow.connect(str(path))
            slow.sendall(STATUS * 100)
            await until(lambda: bool(desk.asked))
            async with calling(path) as caller:
                caller.reader._limit = 2_000_000  # type: ignore[attr-defined]
                assert (await caller.says(STATUS))["accepted"] is True
            asked = len(desk.asked)
            got = await asyncio.to_thread(read_all, slow)
        finally:
            slow.close()
    assert got < 1_000_000  # not one whole answer: it was cut off in the first
    assert asked == 2  # and what it asked behind it was never taken up
    line = f"socket: client disconnected: uid={os.getuid()} reason=write_timeout (0.2 s)"
    assert caplog.messages == [line]


def read_all(sock: socket.socket) -> int:
    got = 0
    sock.settimeout(PATIENCE_S)
    try:
        # The first wait lets the server's patience end: nothing is read until the line is dead.
        while not poll_hung_up(sock):
            pass
        while data := sock.recv(65536):
            got += len(data)
    except ConnectionResetError:
        pass
    return got


def poll_hung_up(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, select.POLLHUP)
    return any(event & select.POLLHUP for _, event in poll.poll(PATIENCE_S * 1000))


async def test_stopping_answers_what_is_being_handled_and_hangs_up_on_the_rest(
    path: Path,
) -> None:
    desk = Desk()
    desk.goes_on.clear()
    async with AsyncExitStack() as callers:
        async with serving_at(path, USERS, desk):
            idle = await callers.enter_async_context(calling(path))
            busy = await callers.enter_async_context(calling(path))
            busy.writer.write(STATUS * 2)
            await until(lambda: bool(desk.asked))
            asyncio.get_running_loop().call_soon(desk.goes_on.set)  # runs while it stops
        assert (await busy.answer())["accepted"] is True
        assert await busy.is_hung_up()
        assert await idle.is_hung_up()
    assert len(desk.asked) == 1


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def until(so: Callable[[], bool]) -> None:
    """Waits until it is so, letting the loop run."""
    async with asyncio.timeout(PATIENCE_S):
        while not so():  # noqa: ASYNC110 - what is awaited tells no one
            await asyncio.sleep(0)
