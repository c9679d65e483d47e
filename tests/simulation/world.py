"""The whole world of one table, put together from a plan and run to its end.

In: a Plan, a folder. Out: what happened in it, or Broken.
Must not know: what a fault does, what a promise says.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from firmware_proto.cards import DECKS
from shoe_ctl.clock import SystemClock
from shoe_ctl.config.schema import Config, of_plain
from shoe_ctl.daemon.daemon import Daemon
from shoe_ctl.daemon.delivery import NamedSink
from shoe_ctl.daemon.environment import Environment
from shoe_ctl.daemon.outage import marker_for
from shoe_ctl.games import catalog
from shoe_ctl.records import Audience
from shoe_ctl.table.state import CardOnTable
from shoe_testing.faulty_disk import SimulatedDisk
from shoe_testing.simulated_time import VirtualLoop, WallClock
from simulators.rig import Rig
from simulators.shoe.angel_eye import AngelEyeDevice
from simulators.shoe.build import simulated_shoe
from simulators.shoe.device import Lamp
from simulators.shoe.ground_truth import GroundTruth
from simulators.shoe.model import Refused
from simulators.table.dealer import Supply, dealer_for
from tests.simulation.broken import Broken
from tests.simulation.cable import Cable, HostEnd
from tests.simulation.desk import CALLER, SECOND, Answer, Desk, NoAnswer
from tests.simulation.executor import LoopExecutor
from tests.simulation.faults import STRIKES
from tests.simulation.kept import JOURNAL, WatchedMemory
from tests.simulation.line import DamagedLine
from tests.simulation.plan import Plan
from tests.simulation.process import Host, Life
from tests.simulation.promises import SOURCE, Promises
from tests.simulation.remote import RemoteSystem
from tests.simulation.secrecy import RECENT, Secrecy
from tests.simulation.staff import Staff

DEVICE = "SIM-0001"
DECKS_IN_SHOE = 4
MOST_SETS = 1000

HAND_S = 0.15
"""How long the hand takes to draw a card that may be drawn."""

UNARMED_HAND_S = 1.2
"""The same at a shoe without a bolt: the table has to have seen one card before the next."""

DISK_TAKES_S = 0.002

GOES_ON_WITHIN_S = 400.0
"""Simulated seconds in which a table where nothing is wrong any more ends a round that began then:
a new set of cards may have to come first, and a broken store is tried twice a minute."""

LOOKS_EVERY_S = 0.5


class World:
    """Faults find its parts by name. ``run`` it once, in its own loop, then ``close`` it."""

    def __init__(self, plan: Plan, folder: Path, loop: VirtualLoop) -> None:
        self.plan = plan
        self.loop = loop
        self.struck: Counter[str] = Counter()
        self.trace = sha256()
        self._lamp_lit: Lamp | None = None
        self._undo: list[Callable[[], None]] = []
        self._places: dict[int, str | None] = {}
        self.disk_takes_s = DISK_TAKES_S
        for name in ("host", "scratch"):
            (folder / name).mkdir()
        self._folder = folder / "host"
        self.wall = WallClock(loop)
        self.disk = SimulatedDisk(self._folder, f"simulated-{id(self)}")
        self.cable = Cable(loop)
        self.to_host = DamagedLine(plan.chance("to host"))
        self.to_shoe = DamagedLine(plan.chance("to shoe"))
        self._table = plan.table()
        self._make_shoe(plan)
        self.rig = Rig(
            self.device, self.cable, self._dealer, to_host=self.to_host, to_shoe=self.to_shoe
        )
        self.promises = self._promise(folder / "scratch")
        self.desk = Desk()
        players = None if plan.method is None else plan.chance("players")
        self.staff = Staff(self.desk, self, plan.chance("staff"), self._table["id"], players)
        self.host = Host(
            self.disk, self._daemon, died=self.cable.process_died, crashed=self.promises.crashed
        )
        self.remotes = [self._remote(name, sees) for name, sees in _REMOTES]
        self._watch = self._remote(SOURCE, Audience.PUBLIC)
        self._config = self._configuration()
        self._timers = plan.chance("threads")

    # How it is put together.

    def _make_shoe(self, plan: Plan) -> None:
        deck = catalog.load(plan.game).deck.name
        seeds = plan.chance("cards")
        self.memory = WatchedMemory(plan.memory)
        self.device = simulated_shoe(
            plan.profile,
            deck=deck,
            decks=DECKS_IN_SHOE,
            seed=seeds.getrandbits(32),
            device_id=DEVICE,
            truth=GroundTruth(self._seen),
            event_log=self.memory,
        )
        self._supply = Supply(DECKS[deck], DECKS_IN_SHOE, seeds.getrandbits(32), MOST_SETS)
        pace_s = HAND_S if plan.profile == "reference" else UNARMED_HAND_S
        self._dealer = dealer_for(self.device, self._supply, pace_s=pace_s)

    def _promise(self, scratch: Path) -> Promises:
        after_ms = self.plan.face_up_after_ms
        clock_is_set = any(fault.kind == "clock_set" for fault in self.plan.faults)
        after_s = None if after_ms is None else 0.0 if clock_is_set else after_ms / 1000
        return Promises(
            memory=self.memory,
            disk=self.disk,
            scratch=scratch,
            device=DEVICE,
            table=self._table["id"],
            secrecy=Secrecy(self.loop.time, after_s, self._held),
            game=self.plan.game,
            chance=self.plan.chance("promises"),
        )

    def _remote(self, name: str, audience: Audience) -> RemoteSystem:
        return RemoteSystem(name, audience, self.plan.chance(name), self._took, self._refused)

    def _configuration(self) -> Config:
        shoe = {"profile": self.plan.profile, "port": self.cable.address}
        table = {**self._table, "decks": DECKS_IN_SHOE, "shoe": shoe}
        plain = {"table": [table], "sink": [{"kind": "jsonl", "path": "public.jsonl"}]}
        return msgspec.structs.replace(of_plain(plain, "simulated"), folder=str(self._folder))

    def _daemon(self, life: Life) -> Daemon:
        """One process."""

        async def open_port() -> HostEnd:
            return self.cable.open()

        self.promises.starts(noted=marker_for(self._config).found() is not None)

        self._now = Daemon(
            self._config,
            clock=SystemClock(self.wall.read_ns, processor_s=lambda: 0.0),
            executor=self._thread(life, "port"),
            host_boot=f"boot-{life.boot}",
            sinks=[
                NamedSink(remote.name, remote.audience, remote.reached_by(life))
                for remote in (*self.remotes, self._watch)
            ],
            vfs=self.disk.name,
            environment=Environment(
                thread=partial(self._thread, life),
                opener=lambda *_: open_port,
                ways_in=(partial(self.desk.served, life=life),),
                callers=(CALLER, SECOND),
                epoch=lambda: "51a7ed00",
            ),
        )
        return self._now

    def _thread(self, life: Life, name: str) -> LoopExecutor:  # noqa: ARG002
        def takes_s() -> float:
            return self._timers.uniform(0.0, self.disk_takes_s) if life.alive else 0.0

        return LoopExecutor(self.loop, takes_s)

    def _took(self, remote: str, audience: Audience, events: Sequence[bytes]) -> None:
        """What is wrong with a delivery must not be taken for a sink's own trouble."""
        self._note(remote, *events)
        try:
            self.promises.took(remote, audience, events)
        except (Broken, LookupError, TypeError, ValueError) as wrong:
            self.loop.fail(wrong)

    def _refused(self, remote: str, audience: Audience, event: bytes) -> None:
        self._note(remote, event)
        self.promises.refused(remote, audience, event)

    # What people see and do: ``staff.Room``.

    def status_told(self, told: Mapping[str, Any]) -> None:
        self.promises.status_told(told)

    def gives(self, asked: Mapping[str, Any]) -> None:
        self.promises.gives(asked)
        if asked["command"] == "expose":
            self.promises.secrecy.turned(asked["args"]["hand"])
        elif asked["command"] in ("decide", "correct_card"):
            self.promises.secrecy.moved()
            if asked["command"] == "correct_card":
                self.promises.secrecy.entered(asked["args"]["card"])

    def answered(self, asked: Mapping[str, Any], answer: Answer) -> None:
        self._note(f"{asked} {answer}")
        self.promises.answered(asked, answer)

    def foretold(self, answer: Answer) -> None:
        self._note(f"{answer}")
        self.promises.foretold(answer)

    def push_new_set(self) -> None:
        self._supply.push_into(self.device, self.loop.time())
        self.rig.turn()

    def read_again(self) -> None:
        if isinstance(self.device, AngelEyeDevice):
            with suppress(Refused):
                self.device.read_again(self.loop.time())
            self.rig.turn()

    def unread_card(self, seen: str) -> str | None:
        shoe = self.device.shoe
        unread = [n for n in sorted(shoe.unreadable) if n <= shoe.drawn]
        if not unread or shoe.cards is None:
            return None
        there = [n for n in unread if (place := self._place_of(n)) and seen.startswith(place)]
        code = shoe.cards.cards[(there or unread)[-1] - 1].code
        self.promises.secrecy.entered(code)
        return code

    def pulled_card(self, seen: str, *, rightly: bool) -> str | None:
        shoe, told = self.device.shoe, self._now.runners[self._table["id"]].controller.state
        dealt = () if told.round is None else told.round.cards
        there = [d.number for d in dealt if seen.startswith(_place(d.hand, d.index))]
        if not there or shoe.cards is None or not 0 < there[0] <= shoe.drawn:
            return None
        code = shoe.cards.cards[there[0] - 1].code
        if not rightly:
            lying = {card.code for card in shoe.cards.cards[: shoe.drawn][-RECENT:]}
            others = (card.code for card in shoe.cards.deck.cards if card.code not in lying)
            code = next(others, code)
        self.promises.secrecy.entered(code)
        return code

    def _place_of(self, number: int) -> str | None:
        """Where this card lies: where the lamp was lit; past the bolt, where the table puts it."""
        if (lit := self._places.get(number)) is not None:
            return lit
        told = self._now.runners[self._table["id"]].controller.state.round
        dealt = () if told is None else told.cards
        return next((_place(d.hand, d.index) for d in dealt if d.number == number), None)

    def _held(self) -> int:
        """How many cards back the table holds one: in the round, or kept in no place of it."""
        runner = self._now.runners.get(self._table["id"])
        if runner is None:
            return 0
        now = runner.controller.state
        cards: list[CardOnTable] = [*now.unplaced]
        cards += [] if now.round is None else now.round.cards
        numbers = [each.number for each in cards if each.number is not None]
        return self.device.shoe.drawn - max(0, min(numbers) - 1) if numbers else 0

    def _note(self, what: str, *more: bytes) -> None:
        """Kept in the trace, and so the same whenever the same plan runs."""
        self.trace.update(f"{self.loop.steps} {self.loop.time()} {what}".encode())
        for body in more:
            self.trace.update(body.replace(str(self._folder).encode(), b"folder"))

    def _seen(self, text: str) -> None:
        """The shoe's own list: whatever leaves it."""
        line = json.loads(text)
        if "card" not in line:
            return
        code, shoe = line["card"], self.device.shoe
        self.promises.outcomes.drawn.append(code)
        lamp = self._lamp_lit
        lit = lamp if lamp is not None and lamp.number == line["number"] else None
        place = None if lit is None else lit.hand
        self._places[line["number"]] = None if lit is None else _place(lit.hand, lit.index)
        self.promises.secrecy.drawn(code, place, face_up=line["number"] in shoe.face_up)

    # What faults do to it.

    def later(self, after_s: float, act: Callable[[], None]) -> None:
        """Does this then, or as all becomes well."""
        self._undo.append(act)
        self.loop.call_later(after_s, act)

    def unmute(self) -> None:
        self.cable.muted = False

    def shoe_has_power(self) -> None:
        if not self.device.powered:
            self.device.boot(self.loop.time())
            self.rig.turn()

    def turn_key(self, *, locked: bool) -> None:
        self.device.turn_key(self.loop.time(), locked=locked)
        self.rig.turn()

    def disk_is_quick(self) -> None:
        self.disk_takes_s = DISK_TAKES_S

    # How it runs.

    async def run(self) -> Counter[str]:
        """From the first start to the last check; what was counted on the way.

        Raises:
            Broken: a promise was not kept.
        """
        self.loop.after_step = self._after_step
        self._dealer.open_table(0.0)
        self.rig.start()
        running = asyncio.create_task(self.host.run(), name="host")
        working = asyncio.create_task(self.staff.work(), name="staff")
        for task in (running, working):
            task.add_done_callback(self._ended)
        for fault in self.plan.faults:
            self.loop.call_at(fault.at_s, self._strike, fault.kind, fault.number)
        await asyncio.sleep(self.plan.lasts_s)
        self._all_is_well()
        await self._goes_on()
        working.cancel()
        self.rig.dealer = None
        await self._all_delivered()
        self.host.close()
        await running
        counts = self.promises.at_rest(
            self._folder / JOURNAL, [r.name for r in (*self.remotes, self._watch)]
        )
        return counts + self.promises.looked + self.promises.outcomes.counts

    def close(self) -> None:
        """Leaves nothing open."""
        self.rig.stop()
        self.host.close()
        self.loop.close()
        self.disk.close()

    def _after_step(self) -> None:
        self._lamp_lit = self.device.lamp or self._lamp_lit
        try:
            self.promises.after_step()
        except Broken as broken:
            self.loop.fail(broken)
        self.host.step()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.loop.fail(error)

    def _strike(self, kind: str, number: int) -> None:
        self.struck[kind] += 1
        self._note(kind)
        STRIKES[kind](self, self.plan.chance(f"fault {number}"))

    def _all_is_well(self) -> None:
        self._undo, undo = [], self._undo
        for act in undo:
            act()
        self.host.disk_is_well()
        self.host.crash_no_more()
        for remote in self.remotes:
            remote.forgets = 0

    async def _goes_on(self) -> None:
        """Waits until a round that began from now on has an outcome."""
        before = set(self.promises.outcomes.opened)
        end = self.loop.time() + GOES_ON_WITHIN_S
        while not self.promises.outcomes.finished - before:
            if self.loop.time() >= end:
                raise Broken("it goes on", f"no round ends any more: {await self._standing()}")
            await asyncio.sleep(LOOKS_EVERY_S)

    async def _standing(self) -> str:
        """How the table stands, for whoever has to find out why."""
        try:
            answer = await self.desk.ask({"request": "status"})
        except NoAnswer:
            return f"no daemon answers: {self.host.endings[-5:]}"
        return json.dumps(answer)

    async def _all_delivered(self) -> None:
        """Waits until everyone has heard everything, and nothing more comes."""
        while (await self.desk.ask({"request": "redeliver"}))["redelivered"]:  # noqa: ASYNC110
            await asyncio.sleep(LOOKS_EVERY_S)
        before = -1
        while (steps := sum(self.promises.delivered.applied.values())) != before:
            before = steps
            await asyncio.sleep(40.0)


def _place(hand: str, index: int) -> str:
    """The place of a card, as people say it."""
    return f"{hand.capitalize()}'s card {index} "


_REMOTES = (("floor", Audience.PUBLIC), ("back-office", Audience.RESTRICTED))
