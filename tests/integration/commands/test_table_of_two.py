"""One daemon, two tables: what the status shows of one is pasted in a shell and reaches that."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shoe_testing.cli import PATIENCE_S, TERMINAL_WIDTH, Result, run_shoectl_async
from shoe_testing.daemon import ToldEvents, serving, shoe_on_a_pty

pytestmark = pytest.mark.usefixtures("commands")

TABLES = ("bac-07", "bac-08")

TABLE = """
[[table]]
id = "{table}"
game = "tiger"
decks = 8
announcements = "explicit"
[table.shoe]
profile = "reference"
port = {port}
"""

USER = """
[socket]
[[socket.user]]
user = {user}
position = "gaming_shift_manager"
"""


@asynccontextmanager
async def two_tables(folder: Path) -> AsyncIterator[ToldEvents]:
    """Both at work, idle, with their shoes; the socket is in a folder whose name wants quoting."""
    at = folder / "the pit's own"
    at.mkdir()
    config = at / "table.toml"
    ports = [at / f"shoe-{table}" for table in TABLES]
    for port in ports:
        port.mkdir()
    spelt = [
        TABLE.format(table=table, port=json.dumps(str(port / "shoe")))
        for table, port in zip(TABLES, ports, strict=True)
    ]
    config.write_text("".join(spelt) + USER.format(user=os.getuid()))
    told = ToldEvents()
    with shoe_on_a_pty(ports[0], seed=3), shoe_on_a_pty(ports[1], seed=4):
        async with serving(config, told):
            await told.until(lambda: len(told.data("shoe.loaded")) == 2)
            yield told


async def in_a_shell(typed: str, folder: Path, **env: str) -> Result:
    """Exactly this, pasted into bash."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    child = await asyncio.create_subprocess_exec(
        "bash", "--norc", "-c", typed, cwd=folder, env={**os.environ, **env, "PATH": path},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(PATIENCE_S):
        out, err = await child.communicate()
    assert child.returncode is not None
    return Result(child.returncode, out.decode(), err.decode())


def commands_of(shown: str) -> list[str]:
    """The lines of each command below ``next``, as they are marked and copied from the screen."""
    (below,) = re.findall(r"^next .*?(?=^takes )", shown, re.MULTILINE | re.DOTALL)
    lines = below.splitlines()
    first = next((n for n, line in enumerate(lines) if line.strip().startswith("shoectl ")), None)
    if first is None:
        return []
    # a prompt never runs into a command
    assert not any("shoectl table" in line for line in lines[:first])
    return re.split(r"\n(?=\s*shoectl )", "\n".join(lines[first:]))


async def test_what_one_tables_status_shows_is_pasted_and_reaches_that_table(
    tmp_path: Path,
) -> None:
    async with two_tables(tmp_path) as told:
        at = tmp_path / "the pit's own"
        way = ("--socket", str(at / "shoectl.sock"))

        async def pastes(table: str) -> Result:
            shown = await run_shoectl_async("table", "status", "--table", table, *way)
            assert max(map(len, shown.out.splitlines())) <= TERMINAL_WIDTH
            (command,) = commands_of(shown.out)
            return await in_a_shell(command, tmp_path)

        for table in TABLES:
            ran = await pastes(table)
            assert ran.out.startswith(f"done: round {table}-s1-r1 is open; "), ran
        both = await run_shoectl_async("table", "status", *way)
        assert both.out.count("--table bac-07") == both.out.count("--table bac-08") == 1
        ran = await pastes("bac-08")
        assert ran.out.startswith("done: bets are closed; "), ran
        await told.until(lambda: len(told.data("round.card_dealt")) == 4)
        for says in ("done: Player shows ", "done: Banker shows ", "done: Player "):
            ran = await pastes("bac-08")
            assert ran.out.startswith(says), ran
        # the other one did not move
        held = json.loads((await run_shoectl_async("table", "status", "--json", *way)).out)[
            "tables"
        ]
        assert [one["state"] for one in held if one["table"] == "bac-07"] == ["betting"]
        assert {e["source"].rpartition("/")[2] for e in told.events} == set(TABLES)


async def test_the_table_is_read_from_the_environment_and_an_explicit_one_wins(
    tmp_path: Path,
) -> None:
    async with two_tables(tmp_path) as told:
        env = {"SHOECTL_SOCKET": str(tmp_path / "the pit's own" / "shoectl.sock")}
        ran = await run_shoectl_async("table", "place_your_bets", **env)
        assert (ran.code, ran.err) == (
            2,
            "shoectl: no table is named: give --table, one of bac-07, bac-08\n",
        )
        env["SHOECTL_TABLE"] = "bac-08"
        shown = await run_shoectl_async("table", "status", **env)
        assert shown.out.startswith("bac-08 ") and "bac-07" not in shown.out
        assert commands_of(shown.out) == [
            "            shoectl table place_your_bets --table bac-08"
        ]
        assert (await run_shoectl_async("table", "place_your_bets", **env)).code == 0
        assert (
            await run_shoectl_async("table", "place_your_bets", "--table", "bac-07", **env)
        ).code == 0
        # as before the commands were a group: options in front of the command
        ran = await run_shoectl_async("table", "--table", "bac-07", "--json", "no_more_bets", **env)
        assert json.loads(ran.out)["accepted"] is True
        opened = [event["subject"] for event in told.events if event["type"] == "round.opened"]
        assert opened == ["bac-08-s1-r1", "bac-07-s1-r1"]
        # what is of no table does not mind the environment
        assert await run_shoectl_async("table", "redeliver", **env) == Result(
            0, "nothing is parked\n", ""
        )
        ran = await run_shoectl_async("table", "redeliver", "--table", "bac-07", **env)
        assert ran.code == 2 and "redeliver takes sink=NAME and no other argument" in ran.err
        env["SHOECTL_TABLE"] = ""
        assert "bac-07" in (await run_shoectl_async("table", "status", **env)).out


async def test_a_command_that_is_pasted_with_nothing_filled_in_does_nothing(
    tmp_path: Path,
) -> None:
    async with two_tables(tmp_path) as told:
        env = {"SHOECTL_SOCKET": str(tmp_path / "the pit's own" / "shoectl.sock")}
        words = ("declare", "key=other", "--reason", "a fire alarm", "--table", "bac-07")
        ran = await run_shoectl_async("table", *words, **env)
        (command,) = re.findall(r"shoectl table decide .*", ran.out)
        await told.until(lambda: bool(told.data("table.halted")))
        before = len(told.events)
        ran = await in_a_shell(command, tmp_path, **env)
        assert ran == Result(
            2, "", "shoectl: incomplete command: fill in --reason. Nothing was done.\n"
        )
        assert len(told.events) == before
        ran = await in_a_shell(command.replace("...", "it was a drill"), tmp_path, **env)
        assert ran.code == 0 and "play goes on" in ran.out
