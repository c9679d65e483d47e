"""A journal that lost its newest part, under the real daemon: it waits for a person, then goes on.

In: files cut, deleted or put back after a kill. Out: nothing published under a used id.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shoe_ctl.daemon import Daemon
from shoe_ctl.journal.bodies import Ruling
from shoe_ctl.journal.place import log_of
from tests.api.caller import calling
from tests.end_to_end.rounds import lines_of
from tests.end_to_end.served import (
    PATIENCE_S,
    SOCKET,
    TABLE,
    ShoeAtTable,
    Told,
    command,
    configuration,
    nothing_is_wrong_with,
    runner,
    serving,
)

pytestmark = pytest.mark.slow

RULED = Ruling(
    person="Ines", position="gaming_shift_manager", reason="the disk is lost", consented_by="Kim"
)


def config_for(folder: Path, *, socket: bool = True) -> Path:
    path = configuration(folder, str(folder / "shoe"), way_in=socket)
    path.write_text(path.read_text().replace("pit_supervisor", "gaming_shift_manager"))
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
async def held(config: Path, told: Told) -> AsyncIterator[tuple[Daemon, list[str]]]:
    """A daemon whose journal is in doubt: it says ready, and waits."""
    lines: list[str] = []
    async with serving(config, told, tell=lines.append) as daemon:
        assert daemon.doubt is not None
        assert lines == [daemon.doubt]
        assert not daemon.runners
        yield daemon, lines


async def dealt_and_copied(folder: Path, config: Path, told: Told, shoe: ShoeAtTable) -> None:
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
    log_of(folder / "journal.db").unlink()


def lose_frame(folder: Path) -> None:
    lay(folder, "killed")
    log = log_of(folder / "journal.db")
    content = bytearray(log.read_bytes())
    content[32 + 24 + 100] ^= 1
    log.write_bytes(content)


def put_older_back(folder: Path) -> None:
    """Everything of it, its head file too: only what the sinks have shows it."""
    lay(folder, "old")


LOSSES = [lose_log, lose_frame, put_older_back]


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
async def test_nothing_is_published_under_a_used_id(tmp_path: Path, lose: Any) -> None:
    config, told = config_for(tmp_path), Told()
    with ShoeAtTable(tmp_path, "reference", seed=5, decks=8) as shoe:
        await dealt_and_copied(tmp_path, config, told, shoe)
        lose(tmp_path)
        before = {p.name: p.read_bytes() for p in tmp_path.glob("journal.db*")}
        published = len(told.events)
        async with held(config, told) as (daemon, lines):
            async with calling(tmp_path / SOCKET) as caller:
                for asked in ({"request": "status"}, ruling(command="resume")):
                    assert (await caller.asks(**asked))["error"] == lines[0]
                for wrong, why in (
                    ({"reason": None}, "needs a reason"),
                    ({"consented_by": None}, "second person"),
                    ({"consented_by": "Ines"}, "second person"),
                    ({"position": "pit_manager"}, "takes a gaming_shift_manager"),
                    ({"position": "surveillance"}, "acts up to"),
                ):
                    answer = await caller.asks(**ruling(**wrong))
                    assert not answer["accepted"]
                    assert why in answer["error"], answer
                now = {p.name: p.read_bytes() for p in tmp_path.glob("journal.db*")}
                assert {name: now[name] for name in before} == before
                assert len(told.events) == published
                assert (await caller.asks(**ruling()))["accepted"]
            async with asyncio.timeout(PATIENCE_S):
                while not daemon.runners or not runner(daemon).held:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
            assert daemon.doubt is None
            assert (await command(daemon, "on", "resume")).answer.accepted
            await told.until(lambda: told.events[-1]["source"] != told.events[0]["source"])
            # What the shoe will not send again is a gap: it is asked about, once.
            await told.until(lambda: any("halted" in e["type"] for e in told.events[published:]))
    keys(told.events)
    for audience in ("public", "restricted"):
        keys(lines_of(tmp_path / f"{audience}.jsonl"))
    nothing_is_wrong_with(tmp_path / "journal.db")
