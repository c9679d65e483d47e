"""Wait at a daemon's socket until rounds of a table were played.

In: the socket, how many rounds. Out: the rounds that were opened and ended meanwhile.
Must not know: journals, scenarios.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulators.errors import PortFault, WrongUsage
from simulators.table.client import SocketClient

ENDS = ("round.settled", "round.void")


@dataclass(slots=True)
class Followed:
    """A table that is followed, and its rounds that were opened and have ended meanwhile."""

    table: str | None
    ended: list[str] = field(default_factory=list)


def wait_for_rounds(
    socket: Path, table: str | None, count: int | None, note: Callable[[str], None]
) -> tuple[str, list[str]]:
    """Return the table, and the rounds that were opened from now on and have ended.

    Ends with so many rounds, on SIGINT, or with the daemon. ``note`` is told of each round.

    Raises:
        PortFault: no daemon answers. WrongUsage: it does not serve the table, or several.
    """
    followed = Followed(table)
    try:
        asyncio.run(follow(followed, socket, count, note))
    except KeyboardInterrupt:
        if followed.table is None:
            raise
    assert followed.table is not None
    return followed.table, followed.ended


async def follow(
    followed: Followed, socket: Path, count: int | None, note: Callable[[str], None]
) -> None:
    """Follow the table until so many rounds have ended, or the daemon does.

    Raises:
        PortFault: no daemon answers. WrongUsage: it does not serve the table, or several.
    """
    followed.table = table = await _table(socket, followed.table)
    reader, writer = await asyncio.open_unix_connection(str(socket))
    opened: set[str] = set()
    try:
        request = {"request": "events", "table": table, "audience": "public"}
        writer.write(json.dumps(request).encode() + b"\n")
        note(f"{table}: waiting for the next round; Ctrl-C ends the recording")
        while count is None or len(followed.ended) < count:
            line = await reader.readline()
            if not line:
                note(f"{table}: the daemon has ended")
                break
            _take(json.loads(line), opened, followed.ended, note)
    finally:
        writer.close()


def _take(
    event: Mapping[str, Any], opened: set[str], ended: list[str], note: Callable[[str], None]
) -> None:
    if event.get("accepted") is False:
        raise WrongUsage(f"the daemon refused: {event.get('error')}")
    round_id = str((event.get("data") or {}).get("round_id"))
    if event["type"] == "round.opened":
        opened.add(round_id)
        note(f"{round_id}: opened")
    elif event["type"] in ENDS and round_id in opened and round_id not in ended:
        ended.append(round_id)
        note(f"{round_id}: {event['type'].partition('.')[2]}")


async def _table(socket: Path, asked: str | None) -> str:
    client = SocketClient(socket)
    try:
        status = await client.ask({"request": "status"})
    finally:
        await client.close()
    have = [str(table["table"]) for table in status.get("tables", ())]
    if asked is None and len(have) == 1:
        return have[0]
    if asked in have:
        assert asked is not None
        return asked
    if not have:
        raise PortFault(f"{socket}: the daemon names no table: {status.get('error', status)}")
    some = ", ".join(have[:8])
    raise WrongUsage(f"--table: the daemon serves {some}, name one of them")
