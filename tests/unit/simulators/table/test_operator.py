"""The operator of a shoe that cannot speak: it waits for the table's rest, and for nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest

from simulators.table import operator
from simulators.table.operator import Operator

SOON_S = 10.0


class Daemon:
    """Its disk is used by others too: no two statuses say the same of it."""

    def __init__(self, *states: str) -> None:
        self.states = [*states]
        self.commands: list[str] = []
        self._free = count(1_000_000, -4096)

    async def ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        if "command" in asked:
            self.commands.append(asked["command"])
            return {"accepted": True}
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"tables": [{"state": state}], "disk": {"free": next(self._free)}}

    async def close(self) -> None:
        """Nothing is open."""


async def told(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "REST_S", 0.0)
    monkeypatch.setattr(operator, "AGAIN_S", 0.0)
    taken = asyncio.Event()
    person = Operator(daemon, table="t1", done=lambda: None)
    person.tell("align", taken.set)
    async with asyncio.timeout(SOON_S):
        await taken.wait()
    await person.close()


async def test_a_command_is_given_though_the_disk_changes_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    daemon = Daemon("idle")
    await told(daemon, monkeypatch)
    assert daemon.commands == ["align"]


async def test_no_command_is_given_while_the_table_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    daemon = Daemon("dealing", "revealing", "resolved", "idle", "idle")
    await told(daemon, monkeypatch)
    assert daemon.commands == ["align"]
    assert daemon.states == ["idle"]
