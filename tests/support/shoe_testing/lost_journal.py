"""A journal that lost its newest part: files cut, deleted or put back after a daemon was killed.

In: a folder. Out: a dealt journal with its copies, ways of losing, and a daemon that waits.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.journal.files import head_path, log_path
from shoe_testing.config import TABLE, write_config
from shoe_testing.daemon import PATIENCE_S, ShoeAtTable, ToldEvents, runner, serving


def config_for(folder: Path, *, socket: bool = True) -> Path:
    path = write_config(folder, str(folder / "shoe"), way_in=socket)
    second = '[[socket.user]]\nuser = 4242\nname = "Kim"\nposition = "pit_supervisor"\n'
    text = path.read_text().replace("pit_supervisor", "gaming_shift_manager")
    path.write_text(text + second if socket else text)
    return path


def keys(lines: list[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """Every event by source and id; each may be there twice, but never with another content."""
    found: dict[tuple[str, str], str] = {}
    for event in lines:
        content = json.dumps(event, sort_keys=True)
        assert found.setdefault((event["source"], event["id"]), content) == content, event
    return found


def ruling(**other: Any) -> dict[str, Any]:
    return {
        "command_id": "ruled-1",
        "table": TABLE,
        "command": "accept_loss",
        "person": "Ines",
        "position": "gaming_shift_manager",
        "reason": "the disk is lost",
        "consented_by": "Kim",
    } | other


@asynccontextmanager
async def held(config: Path, told: ToldEvents) -> AsyncIterator[tuple[Daemon, list[str]]]:
    """A daemon whose journal is in doubt: it says ready, and waits."""
    lines: list[str] = []
    async with serving(config, told, tell=lines.append) as daemon:
        assert daemon.doubt is not None
        assert lines == [daemon.doubt]
        assert not daemon.runners
        yield daemon, lines


async def dealt_and_copied(folder: Path, config: Path, told: ToldEvents, shoe: ShoeAtTable) -> None:
    """Two rounds; the files after the first stand in ``old``, those of a kill in ``killed``."""
    for name, rounds in (("old", 1), ("killed", 3)):
        shoe.rest_after(rounds)
        async with serving(config, told):
            if rounds > 1:
                shoe.go_on()
            await shoe.rests()
            await told.times(rounds, "round.outcome")
            (folder / name).mkdir()
            for path in sorted(folder.glob("journal.db*")):
                if not path.name.endswith("-lock"):
                    shutil.copy(path, folder / name)


def lay(folder: Path, name: str) -> None:
    """The journal's files as they were copied."""
    for path in folder.glob("journal.db*"):
        if not path.name.endswith("-key"):
            path.unlink()
    for path in (folder / name).iterdir():
        if not path.name.endswith("-shm"):
            shutil.copy(path, folder)


def lose_log(folder: Path) -> None:
    lay(folder, "killed")
    log_path(folder / "journal.db").unlink()


def lose_frame(folder: Path) -> None:
    lay(folder, "killed")
    log = log_path(folder / "journal.db")
    content = bytearray(log.read_bytes())
    content[32 + 24 + 100] ^= 1
    log.write_bytes(content)


def put_older_back(folder: Path) -> None:
    """Everything of it, its head file too: only what the sinks have shows it."""
    lay(folder, "old")


def put_main_back(folder: Path) -> None:
    """An older journal alone, as a copy of one file is."""
    lay(folder, "old")
    head_path(folder / "journal.db").unlink()


LOSSES = [lose_log, lose_frame, put_older_back, put_main_back]


async def in_doubt(daemon: Daemon) -> str:
    """What the table's doubt says, once the shoe was heard."""
    async with asyncio.timeout(PATIENCE_S):
        while not daemon.runners or runner(daemon).doubt is None:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    doubt = runner(daemon).doubt
    assert doubt is not None
    return doubt
