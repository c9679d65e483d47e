"""Plays a scenario at a bench: hands draw, staff speak, cables come off, step by step.

In: a Scenario, a Bench. Out: nothing but what the table makes of it; StepFailed where it is stuck.
Must not know: whether time is real, what is expected to come of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from firmware_proto.reference.mac import ShoeKeys
from simulators.incidents import INCIDENTS
from simulators.shoe.angel_eye import AngelEyeDevice, Misjudgement
from simulators.shoe.build import simulated_shoe
from simulators.shoe.device import OPENING, Device
from simulators.shoe.event_log import EventLog
from simulators.shoe.model import CannotSay, CuttingCardOut, Refused
from simulators.shoe.reference import ReferenceDevice
from simulators.table.bench import Bench, Stuck
from simulators.table.dealer_view import DealerView, Draws, Manners
from simulators.table.expectation import Pattern
from simulators.table.scenario import TABLE, Scenario
from simulators.table.shoe_setup import ShoeSetup
from simulators.table.steps import (
    REFUSAL,
    Ask,
    Draw,
    HostDoes,
    NewShoe,
    Play,
    Say,
    ShoeDoes,
    ShoeJudges,
    Step,
    TimePasses,
    Wait,
)


class StepFailed(Stuck):
    """A step of a scenario could not be taken; says which and why."""


class LeftOut(StepFailed):
    """Shoes of the scenario's profile cannot report what the step does; says which and what."""

    def __init__(self, where: str, why: CannotSay) -> None:
        super().__init__(f"{where}: {why}")
        self.reason = str(why)


def shoe_for(
    scenario: Scenario, *, device_id: str = "SIM-0001", keys: ShoeKeys | None = None
) -> Device:
    """Return the scenario's shoe with its cards in it, without power.

    Raises:
        WrongUsage: cards that shoes of its profile cannot name.
        LeftOut: it begins with something that shoes of its profile cannot report.
    """
    try:
        return shoe_of(scenario.profile, scenario.shoe, device_id=device_id, keys=keys)
    except CannotSay as why:
        raise LeftOut(f"{scenario.name}: shoe", why) from None


def shoe_of(
    profile: str, setup: ShoeSetup, *, device_id: str, keys: ShoeKeys | None = None
) -> Device:
    """Return a shoe with these cards in it, without power; with ``keys`` it proves itself.

    Raises:
        WrongUsage: cards that shoes of its profile cannot name.
        CannotSay: it begins with something that shoes of its profile cannot report.
    """
    event_log = None if setup.memory is None else EventLog(setup.memory, reserve=1)
    device = simulated_shoe(
        profile,
        deck=setup.deck.name,
        decks=setup.decks,
        seed=setup.seed,
        device_id=device_id,
        behind_cut=setup.behind_cut,
        stacked=setup.stacked,
        unreadable=setup.unreadable,
        event_log=event_log,
        keys=keys,
    )
    device.shoe.face_up = setup.face_up
    device.change_lens(setup.lens)
    if setup.clock_ppm:
        device.drift(setup.clock_ppm, 0.0)
    if setup.firmware is not None:
        INCIDENTS["firmware"].happen(device, 0.0, setup.firmware)
    return device


@dataclass
class UnderWay:
    """Cards whose report is held in the line, and behind how many further steps it arrives."""

    cards: int = 0
    steps: int = 0


class ScenarioPlayer:
    """One playing of a scenario. ``note`` is told in words what hands and staff do."""

    def __init__(
        self, scenario: Scenario, bench: Bench, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self._scenario = scenario
        self._bench = bench
        self._note = note
        self._manners = Manners.of(scenario.table)
        self._view = DealerView()
        self._viewed = 0
        self._waited = 0
        self._given = 0
        self._was_said = False
        self._under_way = UnderWay()
        self._answers: dict[str, dict[str, Any]] = {}

    async def play(self) -> None:
        """Switch the shoe on and take every step.

        Raises:
            StepFailed: a step cannot be taken.
        """
        await self._host_at_port(1)
        await self._power_on()
        await self._until_told("shoe.connected", 1)
        for number, step in enumerate(self._scenario.steps):
            self._under_way.steps -= 1
            try:
                await self._take(step)
                self._was_said = isinstance(step, Say)
                if self._under_way.cards and not self._under_way.steps:
                    await self._arrive()
            except (Stuck, Refused) as stuck:
                where = f"{self._scenario.name}: steps[{number}]: {step_words(step)}"
                if isinstance(stuck, CannotSay):
                    raise LeftOut(where, stuck) from None
                raise StepFailed(f"{where}: {stuck}") from None

    async def _take(self, step: Step) -> None:  # noqa: C901 - a case for each step
        if not isinstance(step, Say | Ask | Play | Wait):
            self._note(step_words(step))
        match step:
            case Draw():
                await self._draw(step)
            case Say():
                await self._say(step)
            case Ask():
                await self._ask(step)
            case Play(until):
                await self._play(until)
            case Wait(until):
                await self._bench.until(lambda: self._came(until), str(until))
            case TimePasses(us):
                await self._bench.pass_time(us)
            case ShoeDoes():
                await self._shoe_does(step)
            case HostDoes():
                await self._host_does(step)
            case NewShoe(setup):
                await self._push_in(setup)
            case ShoeJudges(winner):
                self._misjudge(winner)

    # --- hands at the shoe ------------------------------------------------------------------

    async def _draw(self, step: Draw) -> None:
        device = self._bench.device
        if step.manner in ("as_one", "unordered"):
            await self._pull_as_one(step)
            return
        if step.held_back:
            await self._draw_under_way(step)
            return
        if step.manner == "together":
            await self._pull_together(step)
            return
        if step.manner == "under_key":
            device.turn_key(self._bench.now, locked=True)
        for _ in range(step.count):
            if step.manner == "freed":
                await self._draw_freed()
            else:
                if step.manner == "early" and self._was_said and self._is_halted():
                    # What was said locks the shoe: a card that left before that is not early.
                    await self._bench.until(lambda: device.lamp is None, "the shoe to be locked")
                await self._draw_one(force=True)
        if step.manner == "under_key":
            device.turn_key(self._bench.now, locked=False)
            self._bench.touched()
            await self._bench.taken_up()

    async def _draw_freed(self) -> None:
        """One card once the shoe frees it; none if the table halts for a cutting card before it."""
        device, bench = self._bench.device, self._bench
        await bench.until(lambda: device.lamp is not None, "the shoe to be freed")
        while isinstance(device.draw(bench.now), CuttingCardOut):
            bench.touched()
            await bench.taken_up()
            await bench.until(lambda: device.lamp is not None or self._is_halted(), "the shoe")
            if device.lamp is None:
                return
        bench.touched()
        await bench.taken_up(1)

    async def _draw_under_way(self, step: Draw) -> None:
        """The shoe gives a card, and what it says of it stays in the line."""
        device, bench = self._bench.device, self._bench
        forced = step.manner == "early"
        if not forced:
            await bench.until(lambda: device.lamp is not None, "the shoe to be freed")
        bench.hold()
        for _ in range(step.count):
            device.draw(bench.now, force=forced)
        self._under_way = UnderWay(step.count, step.held_back)

    async def _arrive(self) -> None:
        """Let the host have what was held in the line."""
        arriving, self._under_way = self._under_way, UnderWay()
        self._bench.release()
        await self._bench.taken_up(arriving.cards)

    async def _pull_together(self, step: Draw) -> None:
        """Several cards in one pull, of which the shoe counts each."""
        device = self._bench.device
        if step.when_freed:
            await self._bench.until(lambda: device.lamp is not None, "the shoe to be freed")
        for _ in range(step.count):
            self._pull(force=True)
        self._bench.touched()
        await self._bench.taken_up(step.count)

    async def _pull_as_one(self, step: Draw) -> None:
        device, order_known = self._counts_pulls(), step.manner == "as_one"
        if step.when_freed:
            await self._bench.until(lambda: device.lamp is not None, "the shoe to be freed")
        device.pull_together(self._bench.now, step.count, order_known=order_known)
        self._bench.touched()
        await self._bench.taken_up(step.count)

    async def _draw_one(self, *, force: bool) -> None:
        self._pull(force=force)
        self._bench.touched()
        await self._bench.taken_up(1)

    def _pull(self, *, force: bool) -> None:
        """One card; a cutting card that comes first is laid aside."""
        device, now = self._bench.device, self._bench.now
        while isinstance(device.draw(now, force=force), CuttingCardOut):
            self._bench.touched()

    async def _push_in(self, setup: ShoeSetup) -> None:
        device = self._bench.device
        device.shoe.unreadable, device.shoe.face_up = setup.unreadable, setup.face_up
        device.load(
            setup.deck,
            setup.decks,
            setup.seed,
            self._bench.now,
            behind_cut=setup.behind_cut,
            stacked=setup.stacked,
        )
        self._bench.touched()
        await self._bench.taken_up()
        await self._open_shoe()

    async def _open_shoe(self) -> None:
        """The first card and those burned, where the shoe itself asks for them."""
        device = self._bench.device
        while (lamp := device.lamp) is not None and lamp.hand in OPENING:
            await self._draw_one(force=False)

    async def _shoe_does(self, step: ShoeDoes) -> None:
        bench = self._bench
        match step.what:
            case "unplug":
                lost = self._told("shoe.lost")
                bench.unplug()
                await self._until_told("shoe.lost", lost + 1)
            case "replug":
                before = bench.connections
                bench.replug()
                await self._connected(before + 1)
            case "cut":
                bench.cut(step.arguments["direction"])
            case "mend":
                bench.mend()
            case "noise":
                await bench.noise()
            case _:
                await self._happen(step)

    async def _host_does(self, step: HostDoes) -> None:
        bench = self._bench
        connections, outages = bench.connections, self._told("outage.opened")
        await bench.host(step.what, step.part)
        if step.part == "host":
            await self._connected(connections + 1)
        elif step.what == "fail":  # the shoe is connected again once a person said *resume*
            await self._until_told("outage.opened", outages + 1)

    async def _happen(self, step: ShoeDoes) -> None:
        bench, device, incident = self._bench, self._bench.device, INCIDENTS[step.what]
        if step.what == "brown_out":
            await bench.until(lambda: device.lamp is not None, "the shoe to be freed")
        incident.happen(device, bench.now, step.arguments)
        bench.touched()
        await bench.taken_up(int(incident.card))
        if incident.starts:
            await self._open_shoe()

    async def _power_on(self) -> None:
        self._bench.device.boot(self._bench.now)
        self._bench.touched()
        await self._bench.taken_up()
        await self._open_shoe()

    def _counts_pulls(self) -> ReferenceDevice:
        device = self._bench.device
        if not isinstance(device, ReferenceDevice):
            raise CannotSay(device.profile, "several cards of one pull")
        return device

    def _misjudge(self, winner: str) -> None:
        device = self._bench.device
        if not isinstance(device, AngelEyeDevice):
            raise Stuck(f"a shoe of {self._scenario.profile} does not judge")
        device.misjudges = cast(Misjudgement, winner)

    # --- staff ------------------------------------------------------------------------------

    async def _play(self, until: Pattern) -> None:
        while not self._came(until):
            act = self._view.next_act(self._manners)
            if act is None:
                await self._more_than(self._viewed, str(until))
            elif isinstance(act, Draws):
                await self._deal()
            else:
                await self._say(Say(command=act.command, args=act.args))

    async def _deal(self) -> None:
        """Draw one card and look whether the table took it: dealt, or halted over it."""
        dealt = self._told("round.card_dealt")
        await self._draw(Draw(1))
        await self._bench.until(
            lambda: self._told("round.card_dealt") > dealt or self._is_halted(),
            "round.card_dealt or table.halted",
        )

    async def _say(self, said: Say) -> None:
        for _ in range(said.times):
            await self._say_once(said)

    async def _say_once(self, said: Say) -> None:
        self._look()
        self._given += 1
        command_id = f"{self._scenario.name}-{said.id or f'n{self._given}'}"
        self._note(step_words(said))
        answer = await self._bench.client.ask(self._envelope(said, command_id))
        first = self._answers.setdefault(command_id, answer)
        if answer != first:
            raise Stuck(f"the same command was answered {answer}, and first {first}")
        if answer.get("accepted") is not True:
            self._note(f"  refused: {_error(answer)}")
            _check_refusal(said, answer)
            return
        if said.refused is not None:
            raise Stuck("it was accepted, and was to be refused")
        await self._until_answered(answer)

    async def _until_answered(self, answer: Mapping[str, Any]) -> None:
        """Wait until the stream has the events of an answer."""
        ids = set(answer.get("events", ()))
        await self._bench.until(
            lambda: ids <= {told.id for told in self._bench.public}, "the events of its answer"
        )

    async def _ask(self, asked: Ask) -> None:
        self._look()
        self._note(step_words(asked))
        request: dict[str, Any] = {"request": asked.request, **asked.args}
        if asked.event is not None:
            request["event"] = self._last_like(asked.event)
        else:
            request["table"] = TABLE
        answer = await self._bench.client.ask(request)
        if answer.get("accepted") is False:
            self._note(f"  refused: {_error(answer)}")
            code = (answer.get("error") or {}).get("code")
            if asked.refused != code:
                raise Stuck(f"it was refused: {code}: {_error(answer)}")
            return
        if asked.refused is not None:
            raise Stuck("it was taken, and was to be refused")
        await self._until_answered(answer)

    def _last_like(self, wanted: Pattern) -> str:
        """Return the id of the last public event that matches."""
        for told in reversed(self._bench.public):
            if wanted.matches(told):
                return told.id
        raise Stuck(f"there is no event {wanted} yet")

    def _envelope(self, said: Say, command_id: str) -> dict[str, Any]:
        if said.round is not None and said.round > len(self._view.rounds):
            raise Stuck(f"round {said.round} is not opened yet")
        return {
            "command_id": command_id,
            "table": TABLE,
            "round_id": None if said.round is None else self._view.rounds[said.round - 1],
            "command": said.command,
            "args": dict(said.args),
            "person": said.person or f"the {said.position.replace('_', ' ')}",
            "position": said.position,
            "reason": said.reason,
            "consented_by": said.consented_by,
        }

    # --- the public stream --------------------------------------------------------------------

    def _look(self) -> int:
        """See what is new in the stream; how long it is."""
        public = self._bench.public
        for told in public[self._viewed :]:
            self._view.take(told)
        self._viewed = len(public)
        return self._viewed

    async def _more_than(self, seen: int, what: str) -> None:
        await self._bench.until(lambda: self._look() > seen, what)

    def _came(self, wanted: Pattern) -> bool:
        """Return whether it came since the last time that something was waited for."""
        self._look()
        public = self._bench.public
        for at in range(self._waited, len(public)):
            if wanted.matches(public[at]):
                self._waited = at + 1
                return True
        return False

    def _is_halted(self) -> bool:
        self._look()
        return self._view.halted

    def _told(self, kind: str) -> int:
        return sum(told.type == kind for told in self._bench.public)

    async def _connected(self, times: int) -> None:
        """Wait until shoe and table both know of so many connections."""
        await self._until_told("shoe.connected", times)
        await self._host_at_port(times)

    async def _host_at_port(self, times: int) -> None:
        """Wait until the shoe knows of so many connections."""
        await self._bench.until(lambda: self._bench.connections >= times, "the host at the port")
        await self._bench.taken_up()

    async def _until_told(self, kind: str, count: int) -> None:
        await self._bench.until(lambda: self._told(kind) >= count, kind)


def _error(answer: Mapping[str, Any]) -> str | None:
    """Return why a command was refused, in words."""
    error = answer.get("error")
    return None if error is None else str(error["text"])


def _needed(needs: Mapping[str, Any]) -> str:
    """Return what a refused command lacked: `` (needs state=betting)``, or nothing."""
    return f" (needs {' '.join(f'{key}={value}' for key, value in needs.items())})" if needs else ""


def _check_refusal(said: Say, answer: Mapping[str, Any]) -> None:
    """Raises Stuck unless it was to be refused for want of just this."""
    needs = answer.get("needs") or {}
    if said.refused is None:
        raise Stuck(f"it was refused: {_error(answer)}{_needed(needs)}")
    if REFUSAL.fullmatch(said.refused):
        code = (answer.get("error") or {}).get("code")
        if said.refused != code:
            raise Stuck(f"it was refused for another reason: {code}: {_error(answer)}")
        return
    if said.refused != "other" and said.refused not in needs:
        raise Stuck(f"it was refused for another reason: {_error(answer)}{_needed(needs)}")
    if said.refused == "other" and needs:
        raise Stuck(f"it was refused for want of {', '.join(needs)}: {_error(answer)}")


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def step_words(step: Step) -> str:  # noqa: C901, PLR0911 - a case for each step
    """Return the step as one says it at a table."""
    match step:
        case Say():
            args = "".join(f" {key}={value}" for key, value in step.args.items())
            why = "" if step.reason is None else f' ("{step.reason}")'
            second = "" if step.consented_by is None else f", {step.consented_by} consents"
            times = "" if step.times == 1 else f", {step.times} times"
            return f"{step.position.replace('_', ' ')}: {step.command}{args}{why}{second}{times}"
        case Ask(request=request, event=event):
            return f"request: {request}{'' if event is None else f' {event}'}"
        case Draw(count, manner, _, held_back):
            how = "" if manner == "freed" else f", {manner.replace('_', ' ')}"
            held = f", heard of {held_back} steps later" if manner == "early" and held_back else ""
            return f"hand: draws {count}{how}{held}"
        case Play(until):
            return f"all play until {until}"
        case Wait(until):
            return f"all wait for {until}"
        case TimePasses(us):
            return f"time: {us / 1000:g} ms pass"
        case ShoeDoes(what, arguments):
            given = {key: value for key, value in arguments.items() if value is not None}
            args = "".join(f" {key}={_plain(value)}" for key, value in given.items())
            return f"shoe: {what.replace('_', ' ')}{args}"
        case HostDoes(what, part):
            return f"{part}: {what}"
        case NewShoe():
            return "shoe: another set of cards is pushed in"
        case ShoeJudges(winner):
            return f"shoe: will judge the next round {winner}, whatever its cards are"
