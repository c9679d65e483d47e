"""Tables in process: the real controller and host session, a simulated shoe, a clock by hand.

In: a game, a profile and a seed, or a scenario. Out: what was told and what was dealt, and every
input, so that it can be run again. No descriptors, no real time.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from firmware_proto.cards import DECKS
from firmware_proto.commands import AnyCommand, ClearError, Query, Reset, SetTime, Show, TestSelf
from firmware_proto.events import Hello
from firmware_proto.profiles import profile, with_keys
from firmware_proto.reference.host import ReferenceHost
from firmware_proto.reference.mac import ShoeKeys
from firmware_proto.session import Capabilities, HostSession, ReceivedEvent, Resume
from shoe_ctl.api import requests
from shoe_ctl.api.requests import AppliedRequest, Command, Request, ShoeRequest, read_request
from shoe_ctl.cli.demo_surroundings import FULL_IN_US, SINK
from shoe_ctl.config.resolve import resolve
from shoe_ctl.config.schema import of_plain
from shoe_ctl.daemon.delivery import OWN_EVENTS
from shoe_ctl.daemon.refusal_budget import RefusalBudget, principal_of
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.link.hearing import Hearing
from shoe_ctl.link.line_budget import Suspensions
from shoe_ctl.records import Audience
from shoe_ctl.table import applied_outcomes, state, undelivered
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Answer, Effect, ShoeCommand, TableEvent
from shoe_ctl.table.entered_rounds import REVISE, last_told
from shoe_ctl.table.inputs import (
    CommandsRefused,
    DeliveryLost,
    DeliveryParked,
    DeliveryRefilled,
    DeliveryTaken,
    DiskChecked,
    HearingLost,
    HearingRestored,
    Input,
    LineResumed,
    LineSuspended,
    LinkLost,
    LinkUp,
    NotTold,
    OutcomeApplied,
    ShoeSaid,
    ShoeStated,
    StatedRound,
    StorageRestored,
    TableCommand,
    Tick,
    ToldMoney,
    from_bytes,
    to_bytes,
)
from shoe_ctl.table.procedures.stack import has_storage_outage
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.turn import Turn
from shoe_ctl.texts.catalogue import text, with_texts
from shoe_ctl.texts.message import message
from shoe_testing.invariants import Reached, ends_reached
from shoe_testing.memory_port import CallClient, MemoryPort
from shoe_testing.tables import restarted
from simulators.faults import Line
from simulators.shoe.build import simulated_shoe
from simulators.shoe.device import Device
from simulators.table.bench import Stuck
from simulators.table.dealer import Dealer, Supply, dealer_for
from simulators.table.expectation import Told
from simulators.table.scenario import TABLE, Scenario, configured, find
from simulators.table.scenario_player import ScenarioPlayer, shoe_for

REPLUG_S = 0.2
"""How long a cable that was pulled stays out."""

LONGEST_S = 24 * 3600.0
"""More than any shoe takes to be dealt: a table that is not done by then hangs."""


class TableAtPort:
    """What tables in process share: a controller at a port in memory, and inputs made of it."""

    controller: TableController
    _port: MemoryPort
    _profile_name: str
    _connection = 0

    @property
    def _now_us(self) -> int:
        return round(self._port.t * 1_000_000)

    @property
    def _wake_s(self) -> float | None:
        wake_us = self.controller.state.wake_us
        return None if wake_us is None else wake_us / 1_000_000

    @property
    def _is_to_be_woken(self) -> bool:
        wake_us = self.controller.state.wake_us
        return wake_us is not None and self._now_us >= wake_us

    def _link_lost(self, reason: str = "unplugged") -> LinkLost:
        return LinkLost(t_us=self._now_us, connection=self._connection, reason=reason)

    def _link_up(self, can: Capabilities, **more: Any) -> LinkUp:
        return LinkUp(
            t_us=self._now_us,
            connection=self._connection,
            profile=self._profile_name,
            arm=can.arm,
            replay=can.replay,
            judges=can.judges,
            names_hands=can.names_hands,
            authenticated=can.authenticated,
            **more,
        )

    def _shoe_said(self, heard: ReceivedEvent) -> ShoeSaid:
        return ShoeSaid(
            t_us=self._now_us,
            event=heard.event,
            connection=self._connection,
            seq=heard.seq,
            first=heard.first,
            last=heard.last,
            device_us=heard.device_us,
        )


class DealtTable(TableAtPort):
    """A table that a simulated shoe's dealer deals; nobody tells its shoe anything.

    ``told`` are the controller's events, in order; ``count`` is how many of each type.

    ``sets`` are dealt one after the other. A shoe that cannot be armed is dealt at ``pace_s``
    whatever the table does, so cards have to be seen within it.
    """

    def __init__(  # noqa: PLR0913 - what a test may choose, each by name
        self,
        game: Game,
        profile_name: str,
        seed: int,
        *,
        sets: int = 1,
        pace_s: float = 0.4,
        face_up_after_ms: int = 300,
        to_host: Line | None = None,
        to_shoe: Line | None = None,
        session_settings: Mapping[str, object] | None = None,
        keys: ShoeKeys | None = None,
        table: str = "t1",
    ) -> None:
        settings = TableSettings(
            table=table,
            decks=game.decks.default,
            layout=next(iter(game.layouts), None),
            method="B" if game.methods else None,
            announcements="implied",
            faces="face_up",
            face_up_after_ms=face_up_after_ms,
        )
        self.controller = TableController(game, settings)
        self.told: list[TableEvent] = []
        self.count: Counter[str] = Counter()
        self.inputs: list[Input] = []
        self.device: Device = simulated_shoe(
            profile_name, deck=game.deck.name, decks=settings.decks, seed=seed, keys=keys
        )
        supply = Supply(DECKS[game.deck.name], settings.decks, seed + 10_000, sets - 1)
        self.dealer: Dealer = dealer_for(self.device, supply, pace_s=pace_s, tell=self._tell)
        self._profile_name = profile_name
        self._session_settings = dict(session_settings or {})
        self._port = MemoryPort(
            self.device, heard=self._heard, dealer=self.dealer, to_host=to_host, to_shoe=to_shoe
        )
        self._stored: Resume | None = None

    def deal(self, sets: int = 1) -> None:
        """Deals until so many sets are due to be changed; a lost cable is plugged in again.

        A halt that does not end by itself fails.
        """
        self.dealer.open_table(0.0)
        self.connect()
        while self.count["shoe.change_due"] < sets:
            if self._port.host is None:
                self._lose()
            self._advance()
            assert self._port.t < LONGEST_S, f"stuck: {self.controller.state}"
            halt = self.controller.state.halt
            assert halt is None or halt.current.key == "link_lost", halt

    def _tell(self, command: str, taken: Callable[[], None]) -> None:
        """What the shoe does not say, its dealer does."""
        said = TableCommand(
            t_us=self._now_us,
            command_id=f"{command}-{len(self.inputs)}",
            command=command,
            args={},
            person="kim",
            position="pit_supervisor",
        )
        self._happened(said)
        assert self.controller.state.answered[said.command_id].accepted, said
        taken()

    def _lose(self) -> None:
        self._happened(self._link_lost())
        self._port.advance(REPLUG_S)
        self.connect()

    def connect(self) -> None:
        """Opens the port with a fresh session."""
        self._connection += 1
        session = self._session(self._stored, self._session_settings)
        self._happened(self._link_up(session.capabilities))
        self._desire(session)
        self._port.plug(session)
        self._port.pump()

    def _session(self, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:
        """A fresh session for the connection that is opened now."""
        return profile(self._profile_name).host_session(resume=resume, settings=settings)

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """The data of the events of this type."""
        return [event.data for event in self.told if event.type == kind]

    def _advance(self) -> None:
        """To whatever comes first: something at the shoe, or the table's wish to be woken."""
        due = self._port.next_deadline
        waits = [s for s in (due, self._wake_s) if s is not None]
        if not waits and self._port.host is None:
            return  # the cable came off as it was plugged in
        self._port.advance_to(max(min(waits), self._port.t))
        if self._is_to_be_woken:
            self._happened(Tick(t_us=self._now_us))
            if self._port.host is not None:
                self._desire(self._port.host)
            self._port.pump()

    def _heard(self, heard: ReceivedEvent) -> None:
        self._happened(self._shoe_said(heard))
        host = self._port.host
        assert host is not None
        if heard.seq is not None:
            host.stored(heard.seq)
        device = self.controller.state.link.device_id
        if device is not None and isinstance(heard.seq, int):
            self._stored = Resume(device, heard.seq)
        self._desire(host)

    def _desire(self, host: HostSession) -> None:
        host.set_desired_state(self.controller.desired)

    def _happened(self, happened: Input) -> None:
        self.inputs.append(happened)
        effects = self.controller.handle(happened)
        events = [effect for effect in effects if isinstance(effect, TableEvent)]
        self.told += events
        self.count.update(event.type for event in events)


def game_of(game_id: str) -> Game:
    """A shipped game, read once for all tables."""
    if game_id not in _GAMES:
        _GAMES[game_id] = catalog.load(game_id)
    return _GAMES[game_id]


_GAMES: dict[str, Game] = {}

DEVICE = "SIM-0001"

LONGEST_WAIT_S = 120.0
"""More than any wait of a table takes: what has not come by then never comes."""

A_MOMENT_S = 0.01
"""The time that each command takes while the line is held."""

A_WHILE_S = 30.0
"""After the last step, for what should not come to come."""

GARBAGE = b"\x55" * 1536
"""The last portion of garbage before a line is suspended."""

TABLE_SYSTEM = "table system"
"""The user who reports what was applied."""


class InProcessBench(TableAtPort):
    """See ``simulators.table.bench.Bench``. Other than a dealt table, it is told what to do.

    With ``key`` its shoe proves itself, and each frame is authenticated.
    """

    def __init__(self, scenario: Scenario, *, key: bytes | None = None) -> None:
        plain: dict[str, Any] = {"table": [configured(scenario, "memory")]}
        if "applied_within_s" in scenario.table:
            reporter = {"user": 0, "position": "dealer", "applies": True}
            plain["socket"] = {"user": [reporter], "path": "s"}
        checked = resolve(of_plain(plain, scenario.name))[0]
        self.game, self.settings = checked.game, checked.settings
        self.controller = TableController(self.game, self.settings)
        self.device: Device = shoe_for(
            scenario,
            device_id=DEVICE,
            keys=None if key is None else ShoeKeys({1: key}, lambda: os.urandom(16)),
        )
        self.client = CallClient(self._call)
        self.inputs: list[Input] = []
        self.effects: list[list[Effect]] = []
        self._public: list[Told] = []
        self.restricted: list[Told] = []
        self._profile = checked.profile
        if key is not None:
            self._profile = with_keys(checked.profile, {DEVICE: {1: key}}, lambda: os.urandom(16))
        self._profile_name = scenario.profile
        self._session_settings = checked.config.shoe.session_settings(
            armed=checked.profile.CAPABILITIES.arm
        )
        self._port = MemoryPort(self.device, heard=self._heard)
        self._boot = 1
        self._devices: dict[str, int] = {}
        self._device: str | None = None
        self._answers: dict[str, dict[str, Any]] = {}
        self._outcomes: dict[str | None, tuple[str, str]] = {}
        self._told: dict[str | None, dict[str, Any]] = {}
        self._settled: dict[str, state.SettledRound] = {}
        self._refusals = RefusalBudget()
        self._resumes_at: float | None = None
        self._waits_for_resume = False
        self._refuses_next = False
        self._to_park: Told | None = None
        self._parked: dict[int, Told] = {}
        self._ends: dict[str, OutcomeApplied] = {}
        self._happened(restarted(0, host_boot="boot-1"))
        self.replug()

    # --- the bench ----------------------------------------------------------------------------

    @property
    def now(self) -> float:
        return self._port.t

    @property
    def public(self) -> list[Told]:
        return self._public

    @property
    def connections(self) -> int:
        return self._port.connections

    def touched(self) -> None:
        self._port.pump()

    async def until(self, so: Callable[[], bool], what: str) -> None:
        end = self.now + LONGEST_WAIT_S
        while not so():
            if self.now >= end:
                where = self.controller.state
                halt = f", {text(where.halt.current.seen)}" if where.halt is not None else ""
                raise Stuck(f"{what} did not come (the table is {where.state}{halt})")
            self._advance(end)

    async def pass_time(self, us: int) -> None:
        end_us = self._now_us + us
        while self._now_us < end_us:
            self._advance(end_us / 1_000_000)

    async def taken_up(self, cards: int = 0) -> None:  # noqa: ARG002 - nothing is ever under way
        self._port.pump()

    def unplug(self) -> None:
        self._port.unplug()
        self._happened(self._link_lost())

    def replug(self) -> None:
        known = self.controller.state.link.device_id
        resume = None if known not in self._devices else Resume(known, self._devices[known])
        session = self._profile.host_session(resume=resume, settings=self._session_settings)
        can = session.capabilities
        self._connection += 1
        self._hearing = Hearing()
        self._device = None
        self._happened(self._link_up(can, commands=can.commands, obeys=can.obeys, tells=can.tells))
        session.set_desired_state(self.controller.desired)
        self._port.plug(session)
        self._port.pump()

    def cut(self, direction: str) -> None:
        self._port.cut_wires.add(direction)

    def mend(self) -> None:
        self._port.cut_wires.clear()

    def hold(self) -> None:
        """Nothing goes over the line. Hands and people take a moment for what they do meanwhile."""
        self._port.advance(A_MOMENT_S)
        self._port.held = True

    def release(self) -> None:
        self._port.held = False
        self._port.pump()

    async def noise(self) -> None:
        """The line is suspended for as long as the first time, and resumed when that is over."""
        self._port.advance(A_MOMENT_S)
        assert self._port.host is not None
        for heard in self._port.host.receive(GARBAGE, self.now):
            self._heard(heard)
        wait_s = Suspensions().next(self.now)
        self._port.unplug()
        self._happened(
            LineSuspended(t_us=self._now_us, connection=self._connection, wait_s=round(wait_s))
        )
        self._happened(self._link_lost("garbage"))
        self._resumes_at = self.now + wait_s

    async def host(self, what: str, part: str) -> None:
        match part, what:
            case "disk", "fail":
                self._restart(reopened=True)
                why = message("daemon_journal_failed", detail="the disk is full")
                restored = StorageRestored(t_us=self._now_us, since_us=self._now_us, what=why)
                self._happened(restored)
                self._waits_for_resume = True  # the link is opened once a person said that
            case "disk", _:
                full_us = self._now_us + FULL_IN_US if what == "fill" else None
                self._happened(DiskChecked(t_us=self._now_us, full_us=full_us))
            case "sink", "refuse":
                self._refuses_next = True
            case "sink", _:
                last = len(self._public)
                lost = DeliveryLost(t_us=self._now_us, sink=SINK, public=True, first=1, last=last)
                self._happened(lost)
                self._happened(DeliveryRefilled(t_us=self._now_us, sink=SINK, refused=0))
            case _:
                self._boot += what == "reboot"
                self._record_refused(None)
                self._restart()
                self.replug()

    def _restart(self, *, reopened: bool = False) -> None:
        """The daemon goes, and the table's state comes back from its bytes."""
        self._port.unplug()
        kept = state.from_bytes(state.to_bytes(self.controller.state))
        self.controller = TableController(self.game, self.settings, kept)
        self._happened(restarted(self._now_us, host_boot=f"boot-{self._boot}", reopened=reopened))

    async def rest(self) -> None:
        """Lets a while pass, so that what should not come has time to come."""
        end = self.now + A_WHILE_S
        while self.now < end:
            self._advance(end)

    # --- what happens ---------------------------------------------------------------------------

    def _advance(self, end: float) -> None:
        """To whatever comes first: something at the shoe, the table's wish to be woken, the end."""
        refused_us = self._refusals.due_us()
        times = [
            self._port.next_deadline,
            self._wake_s,
            self._hearing.next_deadline,
            self._resumes_at,
            None if refused_us is None else refused_us / 1_000_000,
        ]
        next_s = min((s for s in times if s is not None), default=end)
        self._port.advance(max(0.0, min(next_s, end) - self._port.t))
        self._check_hearing()
        self._record_refused(self._now_us)
        if self._resumes_at is not None and self.now >= self._resumes_at:
            self._resumes_at = None
            self._happened(LineResumed(t_us=self._now_us, unkept=0))
            self.replug()
        if self._is_to_be_woken:
            self._happened(Tick(t_us=self._now_us))
            self._port.pump()

    def _check_hearing(self) -> None:
        """As a connection does: whether the shoe hears, from what it shows."""
        host = self._port.host
        if not isinstance(host, ReferenceHost):
            return
        was_lost = self._hearing.is_lost
        if self._hearing.observe(host.heeded, host.unheeded, self.now, empty=True):
            host.ask_hello()
        if self._hearing.is_lost != was_lost:
            kind = HearingRestored if was_lost else HearingLost
            self._happened(kind(t_us=self._now_us, connection=self._connection))
            self._port.pump()

    def _heard(self, heard: ReceivedEvent) -> None:
        if isinstance(heard.event, Hello):
            self._device = heard.event.device_id
        self._happened(self._shoe_said(heard))
        if heard.seq is not None and self._port.host is not None:
            if isinstance(heard.seq, int) and self._device is not None:
                self._devices[self._device] = heard.seq
            self._port.host.stored(heard.seq)

    def _call(self, line: bytes) -> bytes:
        """A request as the socket takes it, answered as the socket answers."""
        asked = read_request(line)
        if not isinstance(asked, Command):
            return json.dumps(self._request(asked)).encode()
        if asked.command_id not in self._answers:
            self._answers[asked.command_id] = self._command(asked)
        return json.dumps(self._answers[asked.command_id]).encode()

    def _command(self, asked: Command) -> dict[str, Any]:
        if self._port.held:
            self._port.advance(A_MOMENT_S)
        told = len(self._public)
        plain = {**msgspec.structs.asdict(asked), "t_us": self._now_us}
        for key in ("table", "preview", "audience", "language", "login", "consent_login"):
            del plain[key]
        answer = self._take_up(self._with_older_round(TableCommand(**plain)))
        if self._waits_for_resume and not has_storage_outage(self.controller.state):
            self._waits_for_resume = False
            self.replug()
        self._port.pump()
        said: dict[str, Any] = {"command_id": asked.command_id, "accepted": answer.accepted}
        if answer.accepted:
            return said | {"events": [t.id for t in self._public[told:]]}
        assert answer.error is not None
        return said | {"error": with_texts(answer.error.as_data()), "needs": answer.needs}

    def _take_up(self, command: TableCommand) -> Answer:
        """As the daemon does: a refusal beyond its user's budget is only counted."""
        if self._refusals.is_spent(principal_of(command), command.t_us):
            kept = self.controller.state
            (answer,) = _answers(self.controller.handle(command))
            self.controller.state = kept
            if not answer.accepted:
                self._refusals.count(principal_of(command), command.t_us)
                return answer
        (answer,) = _answers(self._happened(command))
        if not answer.accepted:
            self._refusals.record(principal_of(command), command.t_us)
        return answer

    def _record_refused(self, now_us: int | None) -> None:
        for by, number, since_us in self._refusals.take(now_us):
            counted = CommandsRefused(
                t_us=self._now_us, user=by.user, count=number, since_us=since_us, person=by.person
            )
            self._happened(counted)

    def _request(self, asked: Request) -> dict[str, Any]:
        told = len(self._public)
        refused = None
        if isinstance(asked, AppliedRequest):
            applied = msgspec.structs.replace(
                self._ends[asked.event], t_us=self._now_us, reference=asked.reference
            )
            if applied_outcomes.is_repeat(self.controller.state, applied):
                return {"applied": {"event": asked.event, "repeated": True}}
            refused = applied_outcomes.check_applied(self.controller.state, self.settings, applied)
            reported: Input = applied
        elif isinstance(asked, ShoeRequest):
            reported = ShoeStated(
                t_us=self._now_us,
                user=TABLE_SYSTEM,
                shoe_id=asked.shoe_id,
                rounds=tuple(map(_stated_round, asked.rounds)),
            )
            refused = applied_outcomes.check_stated(self.controller.state, self.settings, reported)
        else:
            return self._redeliver()
        if refused is not None:
            return {"accepted": False, "error": with_texts(refused.as_data())}
        self._happened(reported)
        return {"events": [each.id for each in self._public[told:]]}

    def _redeliver(self) -> dict[str, Any]:
        waiting = undelivered.list_waiting(self.controller.state, restricted=True)
        for record in waiting.get(SINK, ()):
            event = self._parked[record]
            self._happened(
                DeliveryTaken(
                    t_us=self._now_us,
                    sink=SINK,
                    event=event.id,
                    event_type=event.type,
                    record=record,
                )
            )
        return {"redelivered": [{"sink": SINK, "taken": len(waiting.get(SINK, ()))}]}

    def _park(self, event: Told) -> None:
        record = len(self.restricted)
        self._parked[record] = event
        self._happened(
            DeliveryParked(
                t_us=self._now_us,
                sink=SINK,
                public=True,
                event=event.id,
                event_type=event.type,
                why=message("daemon_sink_refused", detail="it was told to"),
                record=record,
            )
        )

    def _with_older_round(self, command: TableCommand) -> TableCommand:
        """As the daemon finds it in the journal: a round that the table no longer holds."""
        named = command.args.get("round")
        if command.command != REVISE or named in (None, last_told(self.controller.state)):
            return command
        if named not in self._settled:
            return command
        settled, told = self._settled[named], self._told[named]
        older = state.OlderRound(
            settled=settled,
            shoe=int(settled.shoe_id.rpartition("-s")[2]),
            player=" ".join(told["player"]["cards"]),
            banker=" ".join(told["banker"]["cards"]),
            shown=dict(self._shown(settled.shoe_id)),
            told=self._outcomes[named],
        )
        return msgspec.structs.replace(command, older=msgspec.Raw(state.older_to_bytes(older)))

    def _shown(self, shoe_id: str) -> Counter[str]:
        of_shoe = [told for told in self._told.values() if told["shoe_id"] == shoe_id]
        hands = [told[hand]["cards"] for told in of_shoe for hand in ("player", "banker")]
        return Counter(code for cards in hands for code in cards)

    def _happened(self, happened: Input) -> list[Effect]:
        self.inputs.append(happened)
        effects = self.controller.handle(happened)
        self.effects.append(effects)
        for effect in effects:
            if isinstance(effect, TableEvent):
                self._tell(effect)
        if self._port.host is not None:
            self._port.host.set_desired_state(self.controller.desired)
        for effect in effects:
            if isinstance(effect, ShoeCommand):
                self._tell_shoe(effect)
        if self._to_park is not None:
            event, self._to_park = self._to_park, None
            self._park(event)
        return effects

    def _tell_shoe(self, command: ShoeCommand) -> None:
        """As the daemon tells it, but for keys: no scenario has one."""
        if self._port.host is None:
            return
        session = self._port.host
        number, of = command.number, command.of
        said: dict[str, AnyCommand] = {
            "reset": Reset(number),
            "self_test": TestSelf(number),
            "query": Query(number, str(of)),
            "show": Show(number, str(of)),
            "clear_error": ClearError(number, None if of is None else str(of)),
            "set_time": SetTime(number, self._now_us),
        }
        try:
            session.command(said[command.command])
        except ValueError as error:
            why = message("shoe_not_told", detail=str(error))
            untold = NotTold(t_us=self._now_us, number=number, reason="not_sent", why=why)
            self._happened(untold)

    def _tell(self, event: TableEvent) -> None:
        """As the journal numbers it: a public event stands in the restricted stream too."""
        data, secret = event.data, event.restricted_data or event.data
        for key in ("revises", "revokes", "reopens"):
            if (of := getattr(event, key)) is not None:
                ids = self._outcomes[of]
                data, secret = {**data, key: ids[0]}, {**secret, key: ids[1]}
        public: Told | None = None
        if event.audience is Audience.PUBLIC:
            public = _told_event(event, data, f"p{len(self._public) + 1}")
            self._public.append(public)
            if self._refuses_next and event.type not in OWN_EVENTS:
                self._refuses_next, self._to_park = False, public
        self.restricted.append(_told_event(event, secret, f"r{len(self.restricted) + 1}"))
        if public is not None and event.type in applied_outcomes.ENDS:
            self._ends[public.id] = OutcomeApplied(
                t_us=0,
                user=TABLE_SYSTEM,
                reference="",
                round_id=str(event.subject),
                type=event.type,
                told_us=self._now_us,
                public_id=public.id,
                restricted_id=self.restricted[-1].id,
            )
        if event.type in ("round.outcome", "round.revised"):
            self._outcomes[event.subject] = self._public[-1].id, self.restricted[-1].id
            self._told[event.subject] = event.data
        elif event.type == "round.settled":
            last = self.controller.state.last_settled
            assert last is not None
            self._settled[last.round.id] = last


def _answers(effects: Iterable[Effect]) -> list[Answer]:
    return [effect for effect in effects if isinstance(effect, Answer)]


def _stated_round(stated: requests.StatedRound) -> StatedRound:
    wagers = {
        name: ToldMoney(staked=money.staked, paid_out=money.paid_out)
        for name, money in stated.wagers.items()
    }
    return StatedRound(round_id=stated.round_id, void=stated.void, wagers=wagers)


def _told_event(event: TableEvent, data: dict[str, Any], number: str) -> Told:
    plain = json.loads(msgspec.json.encode(data))  # as a receiver reads it
    return Told(event.type, plain, f"{TABLE}/{number}")


async def play_in_process(
    scenario: Scenario, *, key: bytes | None = None
) -> tuple[InProcessBench, str | None]:
    """The bench after the scenario, and where it got stuck."""
    bench = InProcessBench(scenario, key=key)
    try:
        await ScenarioPlayer(scenario, bench).play()
    except Stuck as stuck:
        return bench, str(stuck)
    await bench.rest()
    return bench, None


class PlayedScenario(NamedTuple):
    """A scenario that was played, and the ends that it came to, each in the table's method."""

    scenario: Scenario
    bench: InProcessBench
    stuck: str | None
    reached: list[tuple[str | None, Reached]]


async def played_once(name: str) -> PlayedScenario:
    """A shipped scenario; whoever looks at it next in this process looks at the same playing."""
    if name not in _PLAYED:
        scenario, reached = find(name), list[tuple[str | None, Reached]]()

        def take(turn: Turn, end: Reached) -> None:
            reached.append((turn.method, end))

        with ends_reached(take):
            bench, stuck = await play_in_process(scenario)
        _PLAYED[name] = PlayedScenario(scenario, bench, stuck, reached)
    return _PLAYED[name]


_PLAYED: dict[str, PlayedScenario] = {}


def assert_replays(bench: InProcessBench) -> None:
    """The inputs from their bytes, handled by a fresh controller, have the same effects."""
    again = TableController(bench.game, bench.settings)
    for happened, effects in zip(bench.inputs, bench.effects, strict=True):
        assert again.handle(from_bytes(to_bytes(happened))) == effects
    assert again.state == bench.controller.state
