"""The whole way of events: journal, pumps, sinks, a real broker, the kit, a database.

In: a broker, a seed. Out: broker, daemon and table systems die at moments that the seed chooses;
what was applied, held against the journal. Who is killed loses what it had in memory.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from shoe_ctl.api.requests import Caller, Request, StatusRequest
from shoe_ctl.cli.recording import SHIPPED
from shoe_ctl.daemon.delivery import NamedSink, delivering
from shoe_ctl.daemon.environment import SYSTEM
from shoe_ctl.daemon.principals import People
from shoe_ctl.daemon.requests import RequestHandler
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.journal import Journal
from shoe_ctl.journal.reader import Reader
from shoe_ctl.journal.record_format import Kind
from shoe_ctl.journal.store import Store
from shoe_ctl.records import Audience
from shoe_events import Change, Consumer, Due, Resend, read_event
from shoe_events.follow import Connect, Connection, Received, Shown, follow
from shoe_events.sqlite import SqliteStore
from shoe_testing.journals import Never

EPOCH = "5ec0de00"
TABLES = ("t1", "t2")
AUDIENCES = (Audience.PUBLIC, Audience.RESTRICTED)
USER = "results"
PATIENCE_S = 60.0

RULINGS = {"round.outcome": "outcome", "round.revised": "outcome", "round.void": "void"}
"""What stands of a round after an event of this type."""

_TABLES = """
CREATE TABLE IF NOT EXISTS applied (source, table_id, audience, number, id);
CREATE TABLE IF NOT EXISTS standing (source, audience, round_id, event_id, result, count);
"""


class Step(NamedTuple):
    """One event of the recording: its data for each audience, None where the public has none."""

    type: str
    t_us: int
    subject: str | None
    public: Mapping[str, Any] | None
    restricted: Mapping[str, Any]


def evening(table: str) -> list[Step]:
    """The recording that comes with the product, as the events of this table."""
    text = (SHIPPED / "irregular_shoe.jsonl").read_text()
    text = text.replace('"t1"', f'"{table}"').replace('"t1/', f'"{table}/')
    found: list[Step] = []
    public: Mapping[str, Any] | None = None
    for line in text.replace('"t1-', f'"{table}-').splitlines():
        event = json.loads(line)
        if "/p" in event["id"]:
            public = event["data"]
            continue
        t_us = int(datetime.fromisoformat(event["time"]).timestamp() * 1_000_000)
        found.append(Step(event["type"], t_us, event.get("subject"), public, event["data"]))
        public = None
    return found


class Killed(Exception):
    """The table system's process has ended here."""


class Broker(Protocol):
    """A real broker, the sinks that publish to it, and how the kit connects."""

    async def aim(self) -> None:
        """Choose which one of several servers dies next."""

    def kill(self) -> None:
        """End it as a power failure does."""

    def start(self, *, forgets: bool) -> None:
        """Start it again; ``forgets``: without what it had stored."""

    def pause(self) -> None:
        """It is there, and answers nothing."""

    def resume(self) -> None:
        """It goes on."""

    def sinks(self, handle: Handle) -> Any:
        """Open a sink for each audience, until leaving; and let their users ask."""

    def cut(self, sink: Any) -> None:
        """End a sink's connection as the end of its process does."""

    def connect(self, consumer: Consumer, audience: Audience) -> Connect:
        """Return how a table system connects."""

    def cut_off(self, connection: Any) -> None:
        """End a table system's connection as the end of its process does."""


Handle = Callable[[Caller, Request], Any]


@dataclass
class Figures:
    """What happened."""

    kills: int = 0
    forgotten: int = 0
    half_open: int = 0
    daemons: int = 0
    systems: int = 0
    gaps: int = 0
    asked: int = 0
    again: int = 0
    applied: int = 0
    lost: int = 0
    doubled: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(**{key: value + vars(other)[key] for key, value in vars(self).items()})


@dataclass
class Moments:
    """Counts what happens on the whole way; at a chosen step the act is done, in its very middle.

    A step is an event that comes, that is applied, that a sink hands over or that is asked for.
    """

    steps: int = 0
    _at: int | None = None
    _act: Callable[[], None] = lambda: None
    _done: asyncio.Event = field(default_factory=asyncio.Event)

    def step(self) -> None:
        """Something happens."""
        self.steps += 1
        if self._at is not None and self.steps >= self._at:
            self._at = None
            self._act()
            self._done.set()

    def after(self, steps: int, act: Callable[[], None]) -> None:
        """Do this when so many further steps have happened."""
        self._at, self._act = self.steps + steps, act
        self._done.clear()

    async def done(self) -> None:
        """Wait until it was done."""
        async with asyncio.timeout(PATIENCE_S):
            await self._done.wait()


class CountedSink:
    """A sink whose deliveries are steps."""

    def __init__(self, sink: Any, world: World) -> None:
        self._sink = sink
        self._world = world

    @property
    def trouble(self) -> Any:
        return getattr(self._sink, "trouble", None)

    async def deliver(self, events: Any) -> None:
        self._world.moments.step()
        await self._sink.deliver(events)
        self._world.moments.step()

    async def deliver_again(self, events: Any) -> None:
        self._world.moments.step()
        again = getattr(self._sink, "deliver_again", self._sink.deliver)
        await again(events)


class Daemon:
    """A journal and its deliveries. Killed, it begins anew with what the journal has."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._stack = AsyncExitStack()

    async def start(self) -> None:
        store = Store.open(self._world.path)
        writer = self._stack.enter_context(ThreadPoolExecutor(1))
        self.journal = Journal(store, writer)
        self._stack.push_async_callback(self.journal.close)
        opened = self._world.broker.sinks(self._handle)
        self._sinks: dict[Audience, Any] = await self._stack.enter_async_context(opened)
        named = [
            NamedSink(name_of(sees), sees, CountedSink(sink, self._world))
            for sees, sink in self._sinks.items()
        ]
        self._deliveries = await self._stack.enter_async_context(
            delivering(named, self.journal, store, SYSTEM, lambda *_: Never())
        )
        self._handler = RequestHandler({}, self._deliveries.sinks, People([]))
        self._stack.push_async_callback(self._handler.close)

    async def _handle(self, caller: Caller, asked: Request) -> dict[str, Any]:
        if isinstance(asked, StatusRequest):
            return {"tables": [{"table": asked.table}]}
        answer = await self._handler.answer(caller, asked)
        self._world.figures.asked += answer.get("resent", {}).get("events", 0)
        return answer

    def is_cut_off(self, audience: Audience) -> bool:
        """Return whether the sink of this audience takes nothing, and has noticed."""
        return self._deliveries.sinks[name_of(audience)].trouble is not None

    async def kill(self) -> None:
        """End it in the middle of whatever it does."""
        for task in self._deliveries.tasks:
            task.cancel()
        await asyncio.wait(self._deliveries.tasks)
        for sink in self._sinks.values():
            self._world.broker.cut(sink)
        await self._stack.aclose()

    async def stop(self) -> None:
        """End it as a service manager does."""
        await self._stack.aclose()


class System:
    """A table system for one audience, with a database. It dies at any step, and begins anew."""

    def __init__(self, world: World, audience: Audience) -> None:
        self.audience = audience
        self.is_connected = False
        self.path = world.folder / f"{audience.name.lower()}.db"
        self._world = world
        self._dies_in: int | None = None
        self._last: dict[str, int] = {}
        self._news = asyncio.Event()

    def die_in(self, steps: int) -> None:
        """Let it die after so many further steps of its own."""
        self._dies_in = steps

    def _step(self) -> None:
        self._world.moments.step()
        if self._dies_in is not None:
            self._dies_in -= 1
            if self._dies_in < 0:
                self._dies_in = None
                raise Killed

    async def run(self) -> None:
        """Follow until cancelled; killed, it begins anew with what its database has."""
        while True:
            with closing(sqlite3.connect(self.path)) as db:
                db.execute("PRAGMA synchronous = OFF")  # nothing here outlives the power
                db.executescript(_TABLES)
                store = SqliteStore(db, self._effect)
                consumer = Consumer(store.positions(), begin="first")

                def apply(due: Due, store: SqliteStore = store) -> None:
                    self._step()
                    store.apply(due)
                    self._world.figures.applied += 1
                    self._news.set()
                    self._step()  # it is stored, and the consumer does not know it yet

                with suppress(Killed):
                    await follow(
                        self._connecting(consumer), consumer, apply,
                        ask_again_s=0.5, first_retry_s=0.01,
                    )  # fmt: skip
                self._world.figures.systems += 1

    def _connecting(self, consumer: Consumer) -> Connect:
        connect = self._world.broker.connect(consumer, self.audience)

        @asynccontextmanager
        async def connecting() -> AsyncIterator[Connection]:
            async with connect() as connection:
                self.is_connected = True
                try:
                    yield Counted(connection, self)
                except Killed:
                    self._world.broker.cut_off(connection)
                    raise
                finally:
                    self.is_connected = False

        return connecting

    def received(self, body: bytes | str) -> None:
        table, _, number = read_event(body).id.rpartition("/")
        before, now = self._last.get(table, 0), int(number[1:])
        self._world.figures.gaps += now > before + 1
        self._world.figures.again += now <= before
        self._last[table] = max(before, now)
        self._step()

    def asks(self) -> None:
        self._step()

    def _effect(self, db: sqlite3.Connection, due: Due, change: Change | None) -> None:
        event = due.event
        db.execute(
            "INSERT INTO applied VALUES (?, ?, ?, ?, ?)",
            (event.source, event.table, event.audience, event.number, event.id),
        )
        self._step()
        if change is None:
            return
        for standing, count in ((change.was, -1), (change.now, 1)):
            if standing is not None:
                key = standing.round
                db.execute(
                    "INSERT INTO standing VALUES (?, ?, ?, ?, ?, ?)",
                    (
                        key.source, key.audience, key.round_id,
                        standing.event_id, standing.result, count,
                    ),
                )  # fmt: skip
            self._step()

    async def until(self, count: int) -> None:
        """Wait until so many events were applied."""
        async with asyncio.timeout(PATIENCE_S):
            while self._count() < count:
                self._news.clear()
                await self._news.wait()

    def _count(self) -> int:
        with closing(sqlite3.connect(self.path)) as db:
            (found,) = db.execute("SELECT count(*) FROM applied").fetchone()
            return int(found)


class Counted:
    """A connection of the kit whose events and questions are steps."""

    def __init__(self, connection: Connection, system: System) -> None:
        self._connection = connection
        self._system = system

    async def events(self) -> AsyncIterator[Received | Shown]:
        async for received in self._connection.events():
            if isinstance(received, Received):
                self._system.received(received.body)
            yield received

    async def resend(self, asked: Resend) -> None:
        self._system.asks()
        await self._connection.resend(asked)


class World:
    """Everything between a journal and two databases, and what chance does to it."""

    def __init__(self, folder: Path, broker: Broker, seed: str) -> None:
        self.folder = folder
        self.path = folder / "journal.db"
        self.broker = broker
        self.random = random.Random(seed)
        self.figures = Figures()
        self.moments = Moments()
        self.daemon = Daemon(self)
        self.systems = [System(self, audience) for audience in AUDIENCES]
        self._left = {table: iter(evening(table)) for table in TABLES}
        self._counts: Counter[Audience] = Counter()
        self._running: list[asyncio.Task[None]] = []

    async def play(self, most: int | None = None) -> int:
        """Store events of any table, in groups; return how many copies. None: all that are left."""
        copies = 0
        while self._left and (most is None or copies < most):
            table = self.random.choice(list(self._left))
            group = Batch(EPOCH)
            for _ in range(self.random.randint(1, 6)):
                copies += self._append(group, table)
            await self.daemon.journal.commit(group)
        return copies

    def _append(self, group: Batch, table: str) -> int:
        step = next(self._left.get(table, iter(())), None)
        if step is None:
            self._left.pop(table, None)
            return 0
        is_public = step.public is not None
        group.append_event(
            table,
            Audience.PUBLIC if is_public else Audience.RESTRICTED,
            step.type,
            t_us=step.t_us,
            subject=step.subject,
            data=step.public if step.public is not None else step.restricted,
            data_restricted=step.restricted if is_public else None,
        )
        self._counts[Audience.RESTRICTED] += 1
        self._counts[Audience.PUBLIC] += is_public
        return 1 + is_public

    async def kill_broker(self, burst: int, *, forgets: bool) -> None:
        """Kill it in the middle of a burst of events, and whom else chance wants; start it."""
        if self.random.random() < 0.8:
            await self._until_so(lambda: all(system.is_connected for system in self.systems))
        await self.broker.aim()
        self.moments.after(self.random.randint(1, 2 * burst), self.broker.kill)
        for system in self.systems:
            if self.random.random() < 0.6:
                system.die_in(self.random.randint(0, 2 * burst))
        await self.play(burst)
        await self.moments.done()
        self.figures.kills += 1
        self.figures.forgotten += forgets
        daemon_dies = self.random.choice(["no", "no", "away", "back"])
        if daemon_dies == "away":
            await self.restart_daemon()
        self.broker.start(forgets=forgets)
        if daemon_dies == "back":
            await self.restart_daemon()

    async def restart_daemon(self) -> None:
        """Another begins with the journal, and events of its own."""
        if self.random.random() < 0.7:
            await self.daemon.kill()
        else:
            await self.daemon.stop()
        self.daemon = Daemon(self)
        await self.daemon.start()
        self.figures.daemons += 1
        await self.play(self.random.randint(1, 6))

    async def half_open(self, burst: int) -> None:
        """The link stands and carries nothing, until all have noticed."""
        self.moments.after(self.random.randint(1, 2 * burst), self.broker.pause)
        try:
            await self.play(burst)
            await self.moments.done()
            before = self._counts.copy()
            await self.play(2)
            # A sink that has nothing to publish may not look whether anybody is there.
            publishing = [sees for sees in AUDIENCES if self._counts[sees] > before[sees]]
            await self._until_so(
                lambda: (
                    all(self.daemon.is_cut_off(sees) for sees in publishing)
                    and not any(system.is_connected for system in self.systems)
                )
            )
        finally:
            self.broker.resume()
        self.figures.half_open += 1

    async def _until_so(self, so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not so():
                for task in self._running:
                    if task.done():
                        task.result()
                await asyncio.sleep(0.001)

    async def run(self, kills: int, half_open: int) -> Figures:
        """Publish the evening while the broker dies so often; then hold what was applied."""
        plan = ["kill"] * kills + ["half open"] * half_open
        self.random.shuffle(plan)
        forgets = [bool(n % 2) for n in range(kills)]
        self.random.shuffle(forgets)
        copies = sum(1 + (step.public is not None) for t in TABLES for step in evening(t))
        await self.daemon.start()
        systems = [asyncio.create_task(system.run()) for system in self.systems]
        self._running = systems
        try:
            await self.play(1)  # a stream is there from its first event on
            for done, each in enumerate(plan):
                left = copies - self._counts.total()
                burst = max(1, left // (len(plan) - done + 1))
                if each == "kill":
                    await self.kill_broker(burst, forgets=forgets.pop())
                else:
                    await self.half_open(burst)
            await self.play()
            for system in self.systems:
                await self._until(system, systems)
        finally:
            await self.daemon.stop()
            for task in systems:
                task.cancel()
            await asyncio.wait(systems)
        for task in systems:
            if not task.cancelled():
                task.result()
        self._hold()
        return self.figures

    async def _until(self, system: System, running: list[asyncio.Task[None]]) -> None:
        """Wait until it has applied as many as there are; whoever fails ends the wait."""
        waiting = asyncio.create_task(system.until(self._counts[system.audience]))
        await asyncio.wait({waiting, *running}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
        for task in running:
            if task.done():
                task.result()
        try:
            await waiting
        except TimeoutError:
            self._hold()
            raise

    def _hold(self) -> None:
        """Each event of the journal was applied once and in its order; each round stands so."""
        kinds = {Audience.PUBLIC: Kind.PUBLIC.value, Audience.RESTRICTED: Kind.RESTRICTED.value}
        with Reader.open(self.path) as reader:
            records = list(reader.records())
        for system in self.systems:
            kind = kinds[system.audience]
            events = [json.loads(record.body) for record in records if record.kind == kind]
            with closing(sqlite3.connect(system.path)) as db:
                applied = db.execute("SELECT * FROM applied ORDER BY rowid").fetchall()
                found = db.execute(
                    "SELECT source, round_id, event_id, result FROM standing"
                    " GROUP BY source, audience, round_id, event_id HAVING sum(count) != 0"
                ).fetchall()
                odd = db.execute(
                    "SELECT event_id, sum(count) FROM standing"
                    " GROUP BY source, audience, round_id, event_id"
                    " HAVING sum(count) NOT IN (0, 1)"
                ).fetchall()
            counts = Counter(event_id for *_, event_id in applied)
            self.figures.lost += sum(1 for event in events if event["id"] not in counts)
            self.figures.doubled += sum(count - 1 for count in counts.values())
            assert (self.figures.lost, self.figures.doubled) == (0, 0), counts
            for table in TABLES:
                name = system.audience.name.lower()
                own = [event for event in events if event["id"].startswith(f"{table}/")]
                assert own
                assert [row for row in applied if row[1] == table] == [
                    (event["source"], table, name, number, event["id"])
                    for number, event in enumerate(own, 1)
                ]
            assert len(applied) == len(events)
            assert odd == []
            stands = {
                (event["source"], event["data"]["round_id"]): (event["id"], RULINGS[event["type"]])
                for event in events
                if event["type"] in RULINGS
            }
            assert {row[:2]: row[2:] for row in found} == stands
            assert len(found) == len(stands)


def name_of(audience: Audience) -> str:
    """What the sink of this audience is called."""
    return {Audience.PUBLIC: "floor", Audience.RESTRICTED: "vault"}[audience]
