"""A line of which one wire broke, at a daemon: a shoe on a pty whose receive side is cut.

In: a simulated shoe in a process of its own, changed by ``shoe-sim ctl``'s socket. Out: what is
told, the status, the log, what doctor says, both replays.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from pathlib import Path

import pytest

from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.records import Audience
from shoe_ctl.texts.catalogue import text as english
from shoe_testing.cli import run_shoectl_async
from shoe_testing.config import SOCKET, write_config
from shoe_testing.daemon import PATIENCE_S, ToldEvents, nothing_is_wrong_with, runner, serving
from shoe_testing.served_shoe import served_shoe
from simulators.control.client import ShoeControl

IN_TIME_US = 5_000_000

SHOECTL = [sys.executable, "-c", "from shoe_ctl.cli.main import main; main()"]


@pytest.mark.usefixtures("commands")
@pytest.mark.slow
async def test_a_shoe_that_sends_and_does_not_hear_is_known_within_five_seconds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    told = ToldEvents()
    control = ShoeControl(tmp_path / "shoe.ctl")

    async def change(name: str, **arguments: object) -> None:
        await asyncio.to_thread(control.change, name, **arguments)

    async with served_shoe(tmp_path), contextlib.AsyncExitStack() as at_the_end:
        at_the_end.callback(control.close)
        config = write_config(tmp_path, str(tmp_path / "shoe"), way_in=True)
        async with serving(config, told, sees=Audience.RESTRICTED) as daemon:
            await told.times(1, "round.outcome")
            await change("cut", direction="to_shoe")
            await told.times(1, "shoe.hearing_lost")
            stands = await runner(daemon).status(Audience.PUBLIC)
            shown = await run_shoectl_async("table", "status", "--socket", str(tmp_path / SOCKET))
            played = len(told.data("round.outcome"))
            await change("mend")
            await told.times(1, "shoe.hearing_restored")
            await told.times(played + 1, "round.outcome")
            mended = await runner(daemon).status(Audience.PUBLIC)
    assert (stands["link"], stands["link_reason"]) == ("up", "does_not_hear")
    assert "the shoe sends but does not hear" in english(stands["next"]["message"])
    assert "up: the shoe sends, and does not hear" in shown[1]
    assert (mended["link"], mended["link_reason"]) == ("up", None)
    assert told.data("shoe.lost") == []
    assert told.data("table.halted") == []
    log = [record.getMessage() for record in caplog.records]
    assert sum("shoe does not hear: connection=1" in line for line in log) == 1
    assert sum("shoe hears again: connection=1" in line for line in log) == 1
    with Reader.open(tmp_path / "journal.db") as reader:
        inputs = [json.loads(r.body) for r in reader.records(kinds=(Kind.INPUT,))]
    lost = next(n for n, each in enumerate(inputs) if each["input"] == "hearing_lost")
    heard = [
        each["t_us"]
        for each in inputs[:lost]
        if each["input"] == "shoe" and each["event"]["type"] == "card_drawn"
    ]
    assert inputs[lost]["t_us"] - heard[-1] <= IN_TIME_US
    nothing_is_wrong_with(tmp_path / "journal.db")


@pytest.mark.usefixtures("commands")
@pytest.mark.slow
async def test_doctor_asks_the_daemon_and_says_that_the_shoe_does_not_hear(tmp_path: Path) -> None:
    async with served_shoe(tmp_path) as shoe:
        config = write_config(tmp_path, str(tmp_path / "shoe"), way_in=True)
        daemon = await asyncio.create_subprocess_exec(
            *SHOECTL, "run", "--config", str(config), "--json", cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        assert daemon.stdout is not None

        async def told(kind: bytes) -> None:
            assert daemon.stdout is not None
            async with asyncio.timeout(PATIENCE_S):
                while kind not in await daemon.stdout.readline():
                    pass

        try:
            await told(b"round.outcome")
            shoe.rig.cut("to_shoe")
            await told(b"shoe.hearing_lost")
            code, out, _ = await run_shoectl_async("doctor", "--config", str(config), "--json")
            shown = await run_shoectl_async("doctor", "--config", str(config))
        finally:
            daemon.terminate()
            await daemon.communicate()
    [tried] = json.loads(out)["tried"]
    assert (code, tried["well"], tried["cause"]) == (1, False, "does_not_hear")
    assert "FAILED: bac-07" in shown[1]
    assert "the shoe sends but does not hear" in " ".join(shown[1].split())
