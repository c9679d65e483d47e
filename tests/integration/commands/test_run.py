"""``shoectl run`` where people deal: what it refuses without a way in, and the socket it serves."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shoe_ctl.config.resolve import refuse_what_needs_people
from shoe_ctl.errors import ConfigError
from shoe_ctl.journal.reader import Reader
from shoe_ctl.table.settings import TableSettings
from shoe_testing.cli import PATIENCE_S, run_shoectl_async
from shoe_testing.config import write_socket_config
from shoe_testing.daemon import shoe_on_a_pty

pytestmark = pytest.mark.usefixtures("commands")


def settings(**given: str) -> TableSettings:
    return TableSettings(**{"table": "bac-07", "decks": 8, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize("faces", ["turned_by_dealer", "face_up"])
def test_announcements_by_people_want_a_way_in(faces: str) -> None:
    made = settings(announcements="explicit", faces=faces)
    refuse_what_needs_people(made, way_in=True)
    with pytest.raises(ConfigError, match=r'"explicit".*add a \[socket\], or set "implied"'):
        refuse_what_needs_people(made, way_in=False)


@pytest.mark.parametrize("way_in", [True, False])
def test_implied_announcements_follow_cards_that_lie_face_up(way_in: bool) -> None:
    refuse_what_needs_people(settings(announcements="implied", faces="face_up"), way_in=way_in)
    with pytest.raises(ConfigError, match=r'set method_b\.faces = "face_up"'):
        refuse_what_needs_people(settings(announcements="implied"), way_in=way_in)


@pytest.mark.parametrize("method", ["A", "C"])
def test_where_players_turn_the_cards_people_announce(method: str) -> None:
    refuse_what_needs_people(settings(method=method), way_in=True)
    refuse_what_needs_people(settings(method=method, faces="face_up"), way_in=True)
    made = settings(method=method, announcements="implied", faces="face_up")
    with pytest.raises(ConfigError, match=r'set "explicit", or method = "B"'):
        refuse_what_needs_people(made, way_in=True)
    with pytest.raises(ConfigError, match=r"add a \[socket\]"):
        refuse_what_needs_people(settings(method=method), way_in=False)


@asynccontextmanager
async def running(config: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The daemon in a process of its own, ready."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from shoe_ctl.cli.main import main; main()"),
        *("run", "--config", str(config)),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert child.stderr is not None
        async with asyncio.timeout(PATIENCE_S):
            while b"ready" not in (line := await child.stderr.readline()):
                assert line, "it ended"
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.communicate()


@pytest.mark.slow
async def test_a_daemon_serves_its_socket_until_it_is_terminated(tmp_path: Path) -> None:
    config = write_socket_config(tmp_path)
    words = ("--config", str(config))
    with shoe_on_a_pty(tmp_path, seed=3):
        async with running(config) as daemon:
            ran = await run_shoectl_async("table", "place_your_bets", *words)
            assert (ran.code, ran.out) == (
                0,
                "done: round bac-07-s1-r1 is open; next: no more bets\nevents      bac-07/p4\n",
            )
            daemon.send_signal(signal.SIGTERM)
            async with asyncio.timeout(PATIENCE_S):
                assert await daemon.wait() == 0
        assert not (tmp_path / "shoectl.sock").exists()
        assert (await run_shoectl_async("table", "status", *words)).code == 3


@pytest.mark.slow
async def test_a_daemon_that_was_killed_leaves_no_trouble(tmp_path: Path) -> None:
    config = write_socket_config(tmp_path)
    words = ("--config", str(config))
    with shoe_on_a_pty(tmp_path, seed=3):
        async with running(config) as daemon:
            first = await run_shoectl_async("table", "place_your_bets", "--id", "x", *words)
            daemon.kill()
            await daemon.wait()
        assert (await run_shoectl_async("table", "status", *words)).code == 3
        async with running(config):
            assert await run_shoectl_async("table", "place_your_bets", "--id", "x", *words) == first
            ran = await run_shoectl_async("table", "no_more_bets", *words)
            assert ran.code == 0


@pytest.mark.slow
async def test_a_socket_that_is_served_is_refused_to_another_daemon(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    config = write_socket_config(one)
    other = write_socket_config(two)
    served = f'[socket]\npath = "{one / "shoectl.sock"}"\n'
    other.write_text(other.read_text().replace("[socket]\n", served))
    with shoe_on_a_pty(one, seed=3), shoe_on_a_pty(two, seed=4):
        async with running(config):
            ran = await run_shoectl_async("run", "--config", str(other))
            assert ran.code == 3
            assert "is served by another process" in ran.err.splitlines()[-1]
            with Reader.open(two / "journal.db") as reader:
                assert list(reader.records()) == []  # however often it is started again
            assert (await run_shoectl_async("table", "status", "--config", str(config))).code == 0
