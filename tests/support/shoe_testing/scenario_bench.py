"""A bench in process: the real controller and host session, a simulated shoe, a clock by hand.

In: a scenario. Out: both streams as they were told, and every input, so that it can be run again.
Must not know: what is expected.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from firmware_proto.commands import AnyCommand, ClearError, Query, Reset, SetTime, Show, TestSelf
from firmware_proto.events import Hello
from firmware_proto.session import ReceivedEvent, Resume
from shoe_ctl.api.requests import Command, read_request
from shoe_ctl.config.resolve import resolve
from shoe_ctl.config.schema import of_plain
from shoe_ctl.records import Audience
from shoe_ctl.table import state
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import Answer, Effect, ShoeCommand, TableEvent
from shoe_ctl.table.inputs import (
    Input,
    LinkLost,
    LinkUp,
    NotTold,
    Restarted,
    ShoeSaid,
    TableCommand,
    Tick,
)
from shoe_ctl.texts.catalogue import text, with_texts
from simulators.ports.memory import MemoryPort
from simulators.shoe.device import Device
from simulators.table.bench import Stuck
from simulators.table.client import CallClient
from simulators.table.expectation import Told
from simulators.table.scenario import TABLE, Scenario, configured
from simulators.table.scenario_player import shoe_for

LONGEST_S = 120.0
"""More than any wait of a table takes: what has not come by then never comes."""

A_WHILE_S = 30.0
"""After the last step, for what should not come to come."""


class InProcess:
    """See ``simulators.table.bench.Bench``."""

    def __init__(self, scenario: Scenario) -> None:
        plain = {"table": [configured(scenario, "memory")]}
        checked = resolve(of_plain(plain, scenario.name))[0]
        self.game, self.settings = checked.game, checked.settings
        self.controller = TableController(self.game, self.settings)
        self.device: Device = shoe_for(scenario)
        self.client = CallClient(self._call)
        self.inputs: list[Input] = []
        self.effects: list[list[Effect]] = []
        self._public: list[Told] = []
        self.restricted: list[Told] = []
        self._profile = checked.profile
        self._profile_name = scenario.profile
        self._session_settings = checked.config.shoe.session_settings(
            armed=checked.profile.CAPABILITIES.arm
        )
        self._port = MemoryPort(self.device, heard=self._heard)
        self._connection = 0
        self._boot = 1
        self._devices: dict[str, int] = {}
        self._device: str | None = None
        self._answers: dict[str, dict[str, Any]] = {}
        self._outcomes: dict[str | None, tuple[str, str]] = {}
        self._happened(Restarted(t_us=0, host_boot="boot-1"))
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
        end = self.now + LONGEST_S
        while not so():
            if self.now >= end:
                where = self.controller.state
                halt = f", {text(where.halt.current.seen)}" if where.halt is not None else ""
                raise Stuck(f"{what} did not come (the table is {where.state}{halt})")
            self._advance(end)

    async def taken_up(self, cards: int = 0) -> None:  # noqa: ARG002 - nothing is ever under way
        self._port.pump()

    def unplug(self) -> None:
        self._port.unplug()
        lost = LinkLost(t_us=self._now_us, connection=self._connection, reason="unplugged")
        self._happened(lost)

    def replug(self) -> None:
        known = self.controller.state.link.device_id
        resume = None if known not in self._devices else Resume(known, self._devices[known])
        session = self._profile.host_session(resume=resume, settings=self._session_settings)
        can = session.capabilities
        self._connection += 1
        self._device = None
        self._happened(
            LinkUp(
                t_us=self._now_us,
                connection=self._connection,
                profile=self._profile_name,
                arm=can.arm,
                replay=can.replay,
                judges=can.judges,
                names_hands=can.names_hands,
                authenticated=can.authenticated,
                commands=can.commands,
                obeys=can.obeys,
                tells=can.tells,
            )
        )
        session.set_desired_state(self.controller.desired)
        self._port.plug(session)
        self._port.pump()

    def hold(self) -> None:
        """A command is handled before the port is looked at."""

    def release(self) -> None:
        self._port.pump()

    async def host(self, what: str) -> None:
        """The daemon goes, the table's state comes back from its bytes, the link is opened anew."""
        self._port.unplug()
        self._boot += what == "reboot"
        kept = state.from_bytes(state.to_bytes(self.controller.state))
        self.controller = TableController(self.game, self.settings, kept)
        self._happened(Restarted(t_us=self._now_us, host_boot=f"boot-{self._boot}"))
        self.replug()

    async def rest(self) -> None:
        """Lets a while pass, so that what should not come has time to come."""
        end = self.now + A_WHILE_S
        while self.now < end:
            self._advance(end)

    # --- what happens ---------------------------------------------------------------------------

    @property
    def _now_us(self) -> int:
        return round(self._port.t * 1_000_000)

    def _advance(self, end: float) -> None:
        """To whatever comes first: something at the shoe, the table's wish to be woken, the end."""
        wake_us = self.controller.state.wake_us
        times = [self._port.next_deadline, None if wake_us is None else wake_us / 1_000_000]
        next_s = min((s for s in times if s is not None), default=end)
        self._port.advance(max(0.0, min(next_s, end) - self._port.t))
        wake_us = self.controller.state.wake_us
        if wake_us is not None and self._now_us >= wake_us:
            self._happened(Tick(t_us=self._now_us))
            self._port.pump()

    def _heard(self, heard: ReceivedEvent) -> None:
        if isinstance(heard.event, Hello):
            self._device = heard.event.device_id
        self._happened(
            ShoeSaid(
                t_us=self._now_us,
                event=heard.event,
                connection=self._connection,
                seq=heard.seq,
                first=heard.first,
                last=heard.last,
            )
        )
        if heard.seq is not None and self._port.host is not None:
            if isinstance(heard.seq, int) and self._device is not None:
                self._devices[self._device] = heard.seq
            self._port.host.stored(heard.seq)

    def _call(self, line: bytes) -> bytes:
        """A command as the socket takes it, answered as the socket answers."""
        asked = read_request(line)
        assert isinstance(asked, Command)
        if asked.command_id not in self._answers:
            self._answers[asked.command_id] = self._command(asked)
        return json.dumps(self._answers[asked.command_id]).encode()

    def _command(self, asked: Command) -> dict[str, Any]:
        told = len(self._public)
        plain = {**msgspec.structs.asdict(asked), "t_us": self._now_us}
        del plain["table"]
        effects = self._happened(TableCommand(**plain))
        (answer,) = [effect for effect in effects if isinstance(effect, Answer)]
        self._port.pump()
        said: dict[str, Any] = {"command_id": asked.command_id, "accepted": answer.accepted}
        if answer.accepted:
            return said | {"events": [t.id for t in self._public[told:]]}
        assert answer.error is not None
        return said | {"error": with_texts(answer.error.as_data()), "needs": answer.needs}

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
            self._happened(NotTold(t_us=self._now_us, number=number, why=str(error)))

    def _tell(self, event: TableEvent) -> None:
        """As the journal numbers it: a public event stands in the restricted stream too."""
        data, secret = event.data, event.restricted_data or event.data
        if event.revises is not None:
            ids = self._outcomes[event.revises]
            data, secret = {**data, "revises": ids[0]}, {**secret, "revises": ids[1]}
        if event.audience is Audience.PUBLIC:
            self._public.append(_told(event, data, f"p{len(self._public) + 1}"))
        self.restricted.append(_told(event, secret, f"r{len(self.restricted) + 1}"))
        if event.type in ("round.outcome", "round.revised"):
            self._outcomes[event.subject] = self._public[-1].id, self.restricted[-1].id


def _told(event: TableEvent, data: dict[str, Any], number: str) -> Told:
    plain = json.loads(msgspec.json.encode(data))  # as a receiver reads it
    return Told(event.type, plain, f"{TABLE}/{number}")
