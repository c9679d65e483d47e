"""A table that people deal, served at a socket, and a dealer that knows only what it is told there.

In: a folder. Out: a daemon with its socket, a shoe on a pty, rounds dealt by commands.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shoe_ctl.daemon import Daemon
from simulators.rig import Rig
from tests.api.caller import Caller, calling
from tests.end_to_end.served import TABLE, Told, serving, shoe_on_a_pty

POSITION = "gaming_shift_manager"


def configuration(
    folder: Path, *, position: str = POSITION, audience: str = "public", decks: int = 8
) -> Path:
    """A table whose dealer announces and turns the cards, and this very user at the socket."""
    path = folder / "table.toml"
    path.write_text(
        f"""
[[table]]
id = "{TABLE}"
game = "tiger"
decks = {decks}
announcements = "explicit"
[table.shoe]
profile = "reference"
port = {json.dumps(str(folder / "shoe"))}
[socket]
[[socket.user]]
user = {os.getuid()}
position = "{position}"
audience = "{audience}"
"""
    )
    return path


class Table:
    """One evening at the table: the daemon, the shoe, and what the public was told."""

    def __init__(self, daemon: Daemon, rig: Rig, told: Told, caller: Caller) -> None:
        self.daemon = daemon
        self.rig = rig
        self.told = told
        self.caller = caller
        self.seen: list[dict[str, Any]] = []

    async def status(self) -> dict[str, Any]:
        answer = await self.caller.asks(request="status")
        (held,) = answer["tables"]
        self.seen.append(held)
        return dict(held)

    async def deal(self, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Does what is next, and nothing else, until the table stands as wanted."""
        while True:
            before = len(self.told.events)
            held = await self.status()
            if until(held):
                return held
            due = held["next"]
            if due["command"] is None:
                await self._told_more(before)
                continue
            answer = await self.caller.gives(due["command"], args=due["args"])
            assert answer["accepted"], answer

    async def _told_more(self, than: int) -> None:
        await self.told.until(lambda: len(self.told.events) > than)

    async def rounds(self, wanted: int) -> None:
        """Deals so many rounds, to the last one's payment."""
        await self.deal(lambda held: held["state"] == "idle" and self.told_rounds() >= wanted)

    def told_rounds(self) -> int:
        return len(self.told.data("round.settled"))


@asynccontextmanager
async def at_the_table(
    folder: Path, *, seed: int = 7, told: Told | None = None, **config: Any
) -> AsyncIterator[Table]:
    told = Told() if told is None else told
    with shoe_on_a_pty(folder, "reference", seed=seed) as rig:
        async with served(folder, rig, told, **config) as table:
            yield table


@asynccontextmanager
async def served(folder: Path, rig: Rig, told: Told, **config: Any) -> AsyncIterator[Table]:
    """The daemon at this shoe; it may be served again after it was stopped."""
    path = configuration(folder, **config)
    async with serving(path, told) as daemon, calling(folder / "shoectl.sock") as caller:
        yield Table(daemon, rig, told, caller)
