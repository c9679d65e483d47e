"""Events at a daemon's socket: a receiver that loses nothing, and ``shoectl table events``."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from shoe_testing.daemon import ToldEvents, at_socket_table, serve_table, shoe_on_a_pty
from shoe_testing.faulty_disk import Call, Do, disk
from shoe_testing.programs import rest_of, started_program
from shoe_testing.rounds import once_each
from shoe_testing.socket_client import PATIENCE_S, calling


class Receiver:
    """A table system that reads events, and comes again with the last one that it has."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._news = asyncio.Event()
        self.events: list[dict[str, Any]] = []
        self.refusals: list[str] = []

    async def run(self) -> None:
        while True:
            with suppress(OSError):
                async with calling(self._path) as caller:
                    last = self.events[-1] if self.events else {"id": "beginning"}
                    asked = {"request": "events", "after": last["id"]}
                    asked |= {"source": last["source"]} if "source" in last else {}
                    caller.writer.write(json.dumps(asked).encode() + b"\n")
                    while (line := await caller.reader.readline()).endswith(b"\n"):
                        self._take(json.loads(line))
            await asyncio.sleep(0.01)

    def _take(self, said: dict[str, Any]) -> None:
        if said.get("accepted") is False:
            self.refusals.append(said["error"]["text"])
        else:
            self.events.append(said)
        self._news.set()

    async def until(self, so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not so():
                self._news.clear()
                await self._news.wait()

    async def has(self, number: int) -> None:
        await self.until(lambda: len(self.events) >= number)


@asynccontextmanager
async def receiving(path: Path) -> AsyncIterator[Receiver]:
    receiver = Receiver(path)
    task = asyncio.create_task(receiver.run())
    try:
        yield receiver
        assert not task.done(), task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class Full:
    """A disk that is full when the test says so."""

    def __init__(self) -> None:
        self.full = False

    def __call__(self, call: Call, do: Do) -> Any:
        if self.full and call.op in ("write", "sync"):
            raise apsw.FullError("the disk is full")
        return do()


async def test_a_receiver_has_every_event_once_over_a_storage_fault_and_restarts(
    tmp_path: Path,
) -> None:
    full, told = Full(), ToldEvents()
    with disk(full) as layer, shoe_on_a_pty(tmp_path, seed=7) as rig:
        async with receiving(tmp_path / "shoectl.sock") as receiver:
            async with serve_table(tmp_path, rig, told, vfs=layer.name) as table:
                await table.rounds(2)
                await table.deal(lambda held: held["state"] == "revealing")
                full.full = True
                refused = await table.caller.gives("expose", args={"hand": "player"})
                assert refused["accepted"] is False
                await receiver.until(lambda: bool(receiver.refusals))
                assert receiver.refusals[-1].startswith("storage fault, nothing is stored")
                full.full = False
                await told.until(lambda: bool(told.data("outage.opened")))
                await receiver.has(len(once_each(told.events)))
            for start in ("first", "second"):
                async with serve_table(tmp_path, rig, told, vfs=layer.name) as table:
                    if start == "first":
                        resume = {"command_id": "on", "position": "pit_supervisor"}
                        assert (await table.caller.gives("resume", **resume))["accepted"]
                    await told.until(lambda: bool(told.data("table.resumed")))
                    await receiver.has(len(once_each(told.events)))
    of_sink = once_each(told.events)  # at the fault it could not note what it had
    both = min(len(receiver.events), len(of_sink))
    assert receiver.events[:both] == of_sink[:both]
    assert once_each(receiver.events) == receiver.events


async def test_a_gap_that_one_receiver_closes_at_the_socket_reaches_it_alone(
    tmp_path: Path,
) -> None:
    async with (
        at_socket_table(tmp_path) as table,
        receiving(tmp_path / "shoectl.sock") as other,
        receiving(tmp_path / "shoectl.sock") as asker,
    ):
        await table.rounds(2)
        all_of_them = [event["id"] for event in table.told.events]
        for receiver in (other, asker):
            await receiver.has(len(all_of_them))
        for _ in range(20):
            async with calling(tmp_path / "shoectl.sock") as again:
                asked = {"request": "events", "after": "bac-07/p1", "table": "bac-07"}
                again.writer.write(json.dumps(asked).encode() + b"\n")
                lines = [await again.reader.readline() for _ in all_of_them[1:]]
                assert [json.loads(line)["id"] for line in lines] == all_of_them[1:]
        await table.rounds(3)
        everything = [event["id"] for event in table.told.events]
        await other.has(len(everything))
    assert len(everything) > len(all_of_them) and everything == [*dict.fromkeys(everything)]
    assert [event["id"] for event in other.events] == everything


@pytest.mark.usefixtures("commands")
async def test_shoectl_prints_events_until_it_is_ended_or_the_daemon_is(tmp_path: Path) -> None:
    follow = ("table", "events", "--socket", str(tmp_path / "shoectl.sock"))
    with ExitStack() as stack:

        def start(*words: str) -> subprocess.Popen[bytes]:
            return stack.enter_context(started_program(*follow, *words))

        async with at_socket_table(tmp_path, audience="restricted") as table:
            await table.rounds(1)
            public = [event["id"] for event in table.told.events]
            every = start("after=beginning", "audience=public")
            last = start(f"after={public[-2]}", "audience=public")
            restricted = start("after=beginning")
            refused = start("after=bac-07/p1", "--table", "bac-07")
            unknown = start("--table", "bac-08")
            assert await ids(every, len(public)) == public
            assert await ids(last, 1) == public[-1:]
            assert await ids(restricted, 3) == ["bac-07/r1", "bac-07/r2", "bac-07/r3"]
            assert await end_of(refused) == (
                1,
                "shoectl: after: bac-07/p1 is not of the restricted stream, whose ids are such as "
                "bac-07/r1\n",
            )
            said = "shoectl: no table bac-08 is served here: there is bac-07\n"
            assert await end_of(unknown) == (1, said)
            last.send_signal(signal.SIGINT)
            assert await end_of(last) == (130, "\n")
            assert restricted.stdout is not None
            restricted.stdout.close()  # as head does; the command need not wait for an event
            assert await end_of(restricted) == (1, "")
        code, said = await end_of(every)
        assert every.stdout is not None
        newest = [*public, *(json.loads(line)["id"] for line in every.stdout)][-1]
        assert code == 3
        assert said.endswith(
            f"shoectl.sock hung up; to go on behind what you have: after={newest}\n"
        )


async def end_of(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    code, said = await asyncio.to_thread(rest_of, process)
    return code, said.decode()


async def ids(process: subprocess.Popen[bytes], number: int) -> list[str]:
    """The ids of the next lines that a command prints."""
    assert process.stdout is not None
    read = process.stdout.readline
    return [json.loads(await asyncio.to_thread(read))["id"] for _ in range(number)]
