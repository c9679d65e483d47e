"""``shoe-sim ctl`` at a shoe in a process of its own, which a daemon has open on a pty."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from shoe_ctl.records import Audience
from shoe_testing.config import write_config
from shoe_testing.daemon import PATIENCE_S, ToldEvents, serving
from shoe_testing.paths import child_environment
from shoe_testing.served_shoe import served_shoe
from simulators.control.changes import ShoeBench
from simulators.control.client import Changed, ShoeControl

pytestmark = pytest.mark.slow

SHOE_SIM = (sys.executable, "-c", "from simulators.cli import main; main()")


@asynccontextmanager
async def shoe_sim(folder: Path, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *SHOE_SIM, *words, cwd=folder, env=child_environment(), stdout=pipe, stderr=pipe
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def served(folder: Path) -> tuple[str, ...]:
    return (
        *("serve", "--profile", "reference", "--port", f"pty:{folder}/shoe", "--seed", "7"),
        *("--pace-ms", "0", "--control", "shoe.ctl"),
    )


async def port_of(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        return (await process.stdout.readline()).decode().strip()


async def test_a_table_is_told_of_each_change_of_its_shoe(tmp_path: Path) -> None:
    told = ToldEvents()
    control = ShoeControl(tmp_path / "shoe.ctl")

    async def change(name: str, **arguments: object) -> Changed:
        return await asyncio.to_thread(control.change, name, **arguments)

    async with shoe_sim(tmp_path, *served(tmp_path)) as process:
        config = write_config(tmp_path, await port_of(process))
        async with serving(config, told, sees=Audience.RESTRICTED):
            await told.times(2, "round.outcome")
            await change("unplug")
            await told.times(1, "shoe.lost")
            connections = (await change("replug")).shoe["connections"]
            await change("wait", until="connections", count=connections + 1)
            await told.times(2, "shoe.connected")
            await change("rest")
            await change("button", number=9)
            await told.until(lambda: {"what": "button", "button": 9} in told.data("shoe.noted"))
            await change("jam")
            await change("free")
            await told.until(lambda: "jam" in [data["code"] for data in told.data("shoe.cleared")])
            acknowledged = await change("wait", until="acknowledged")
            assert acknowledged.shoe["unacknowledged"] == 0
            await change("fault", flip=0.3, split=1)
            await change("power_low", percent=3)
            low = {"code": "power_low", "percent": 3}
            await told.until(lambda: low in told.data("shoe.fault"))
            await change("clean_line")
            control.close()
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130
        assert process.stderr is not None
        (faults,) = [
            line
            for line in (await process.stderr.read()).splitlines()
            if line.startswith(b"faults")
        ]
        assert b" split " in faults
    assert not (tmp_path / "shoe.ctl").exists()


async def test_ctrl_c_ends_a_wait_without_a_word(tmp_path: Path) -> None:
    words = ("ctl", "--at", "shoe.ctl", "--json", "wait", "until=host")
    async with served_shoe(tmp_path) as bench, shoe_sim(tmp_path, *words) as waiting:
        await waits(bench)
        waiting.send_signal(signal.SIGINT)
        out, err = await waiting.communicate()
        assert (waiting.returncode, out, err.strip()) == (130, b"", b"")


async def test_a_shoe_that_goes_tells_who_waits_and_is_followed_when_it_was_killed(
    tmp_path: Path,
) -> None:
    words = ("ctl", "--at", "shoe.ctl", "wait", "until=host")
    async with AsyncExitStack() as stack:
        async with served_shoe(tmp_path) as bench:
            waiting = await stack.enter_async_context(shoe_sim(tmp_path, *words))
            await waits(bench)
        out, err = await waiting.communicate()
        assert (waiting.returncode, out, err.count(b"\n")) == (3, b"", 1)
        assert b"no shoe answers there: it hung up" in err
    async with shoe_sim(tmp_path, *served(tmp_path)) as process:
        await port_of(process)
        process.kill()
        await process.wait()
    assert (tmp_path / "shoe.ctl").is_socket()
    async with shoe_sim(tmp_path, *served(tmp_path)) as process:
        await port_of(process)
        with ShoeControl(tmp_path / "shoe.ctl") as control:
            changed = await asyncio.to_thread(control.change, "status")
            assert changed.shoe["drawn"] == 0
            process.send_signal(signal.SIGTERM)  # with a connection that is open
            assert await process.wait() == 0
    assert not (tmp_path / "shoe.ctl").exists()


async def waits(bench: ShoeBench) -> None:
    """Wait until somebody waits at the socket; only the shoe's own loop knows."""
    async with asyncio.timeout(PATIENCE_S):
        while not bench.rig.watchers:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
