"""``shoectl demo --scenario``: one situation at a table, played through the real daemon.

In: a scenario's name, a simulated table in a process of its own. Out: each act and each public
event as it comes, and whether all came as expected. Must not know: scenarios' insides.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from shoe_ctl.clock import Clock, SystemClock, Timer
from shoe_ctl.errors import EnvironmentFault, JournalError
from shoe_ctl.texts.catalogue import in_words

if TYPE_CHECKING:
    from shoe_ctl.cli.demo_surroundings import Surroundings
    from shoe_ctl.config.schema import Config
    from shoe_ctl.daemon.daemon import Daemon

SECOND_PERSONS = ("Ann", "lee")
"""Second persons in scenarios: users of the daemon who are not at its socket."""

_PIECE = 65536
_LOOK_EVERY_S = 0.005
_HANDS = ("player", "banker")


class Lines:
    """The messages of the simulated table, a JSON object a line; None at its end."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._fd = pipe.fileno()
        self._loop = asyncio.get_running_loop()
        self._said: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._rest = b""
        self._loop.add_reader(self._fd, self._readable)

    def _readable(self) -> None:
        new = os.read(self._fd, _PIECE)
        *lines, self._rest = (self._rest + new).split(b"\n")
        for line in lines:
            self._said.put_nowait(json.loads(line))
        if not new:
            self._loop.remove_reader(self._fd)
            self._said.put_nowait(None)

    async def next(self) -> dict[str, Any]:
        """The next thing it says.

        Raises:
            EnvironmentFault: it has ended.
        """
        said = await self._said.get()
        if said is None:
            raise EnvironmentFault("the simulated table ended before its scenario did")
        return said

    def close(self) -> None:
        """Listens no more."""
        self._loop.remove_reader(self._fd)


class Shown:
    """Acts and events as they come: lines for a person, or the events alone as JSON lines."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def note(self, words: str) -> None:
        """Show what hands and staff do; with JSON on stderr."""
        click.echo(f"> {words}", err=self._as_json)

    async def deliver(self, events: Sequence[bytes]) -> None:
        """Show the events, as a sink."""
        for body in events:
            click.echo(body if self._as_json else f"    {_in_a_line(json.loads(body))}")


def configuration(
    table: Mapping[str, Any], folder: Path, *, people: Sequence[str] = SECOND_PERSONS
) -> Config:
    """The daemon's configuration: this table, the journal, the socket and the events beside it.

    ``people`` are those who consent.

    Raises:
        ConfigError: the scenario's table is wrong.
    """
    from shoe_ctl.config.schema import of_plain
    from shoe_ctl.table.positions import APART, BESIDE, LADDER

    user = {"user": os.getuid(), "position": LADDER[-1], "also": [BESIDE, APART]}
    if "applied_within_s" in table:
        user["applies"] = True
    second = [
        {"user": os.getuid() + at, "name": name, "position": LADDER[-1]}
        for at, name in enumerate(people, 1)
    ]
    plain = {
        "journal": {"path": str(folder / "journal.db")},
        "table": [dict(table)],
        "socket": {"user": [user, *second], "path": str(folder / "socket")},
        "sink": [
            {"kind": "jsonl", "path": str(folder / f"{audience}.jsonl"), "audience": audience}
            for audience in ("public", "restricted")
        ],
    }
    return of_plain(plain, "the scenario")


class ScenarioClock(SystemClock):
    """A wall clock that stands until the scenario lets time pass; links keep the real time.

    ``passed`` is the simulated table's file: microseconds as 8 bytes, least significant first.
    Whatever a slow machine does between two steps, the table's times are those of the scenario.
    """

    def __init__(self, passed: Path) -> None:
        super().__init__()
        self._passed = passed
        self._began_us = time.time_ns() // 1000

    def wall_us(self) -> int:
        """The time at which the clock was made, and what has passed in the scenario since."""
        return self._began_us + int.from_bytes(self._passed.read_bytes(), "little")

    def call_when(self, wall_us: int, callback: Callable[[], None]) -> Timer:
        """Looks at the file until the time has come."""
        return _Look(self, wall_us, callback)


class _Look:
    """A timer of a ``ScenarioClock``; a file tells nobody that it has changed."""

    def __init__(self, clock: ScenarioClock, wall_us: int, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._wall_us = wall_us
        self._callback = callback
        self._next = clock.call_later(0.0, self._look)

    def _look(self) -> None:
        if self._clock.wall_us() >= self._wall_us:
            self._callback()
        else:
            self._next = self._clock.call_later(_LOOK_EVERY_S, self._look)

    def cancel(self) -> None:
        self._next.cancel()


async def perform(config: Config, table: IO[bytes], shown: Shown, clock: Clock) -> str | None:
    """Run the daemon until the scenario is over; what came otherwise than expected, or None.

    Raises:
        EnvironmentFault: the simulated table, or the daemon, ended before that.
    """
    from shoe_ctl.cli.demo_surroundings import Surroundings
    from shoe_ctl.cli.run import host_boot

    boot, reboots = host_boot(), 0
    lines = Lines(table)
    try:
        with Surroundings() as around:
            while True:
                said = await _one_start(config, f"{boot}-{reboots}", lines, shown, clock, around)
                if "end" in said:
                    wrong: str | None = said["end"]
                    return wrong
                reboots += said["host"] == "reboot"
    finally:
        lines.close()


async def _one_start(  # noqa: PLR0913 - what a start is made of
    config: Config, boot: str, lines: Lines, shown: Shown, clock: Clock, around: Surroundings
) -> dict[str, Any]:
    """The daemon from its start to when it has to stop, and why it has to."""
    from concurrent.futures import ThreadPoolExecutor

    from shoe_ctl.daemon.daemon import Daemon
    from shoe_ctl.daemon.delivery import NamedSink
    from shoe_ctl.records import Audience

    with ThreadPoolExecutor(thread_name_prefix="port") as executor:
        daemon = Daemon(
            config,
            clock=clock,
            executor=executor,
            host_boot=boot,
            sinks=[NamedSink("demo", Audience.PUBLIC, shown), around.sink],
            vfs=around.disk.name,
        )
        failed = asyncio.Event()

        def tell(_: str) -> None:
            if not around.has_failed:
                failed.set()

        serving = asyncio.create_task(daemon.run(tell=tell))
        acts = asyncio.create_task(_until_it_stops(daemon, lines, shown.note, around))
        fails = asyncio.create_task(failed.wait())
        try:
            await asyncio.wait({serving, acts, fails}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving
            if daemon.outage is not None and failed.is_set():
                raise JournalError(daemon.outage.refusal())
            return await acts
        finally:
            fails.cancel()
            acts.cancel()
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving


async def _until_it_stops(
    daemon: Daemon, lines: Lines, note: Callable[[str], None], around: Surroundings
) -> dict[str, Any]:
    while True:
        said = await lines.next()
        if "note" in said:
            note(said["note"])
        elif said.get("part") in ("disk", "sink"):
            await around.happen(daemon, said["part"], said["host"])
        else:
            return said


def _in_a_line(event: Mapping[str, Any]) -> str:
    """An event's type and what is plain in its data; hands by cards and total."""
    words = [event["type"]]
    opens = event["type"] == "round.opened"
    left_out = {"game_sha256", "instance"} if opens else {"game_sha256", "instance", "round_id"}
    for key, value in in_words(event["data"]).items():
        if key in _HANDS and isinstance(value, dict):
            words.append(f"{key}={','.join(value['cards'])}:{value['total']}")
        elif not isinstance(value, dict | list) and key not in left_out:
            words.append(f"{key}={value if isinstance(value, str) else json.dumps(value)}")
    return " ".join(words)
