"""A table in process: the real controller and host session, a simulated shoe, a clock by hand.

In: a game, a profile, a seed. Out: what was told and what was dealt. No descriptors, no real time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from firmware_proto.cards import DECKS
from firmware_proto.profiles import profile
from firmware_proto.reference.mac import ShoeKeys
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_ctl.games import catalog
from shoe_ctl.games.game import Game
from shoe_ctl.table.controller import TableController
from shoe_ctl.table.effects import TableEvent
from shoe_ctl.table.inputs import Input, LinkLost, LinkUp, ShoeSaid, TableCommand, Tick
from shoe_ctl.table.settings import TableSettings
from simulators.faults import Line
from simulators.ports.memory import MemoryPort
from simulators.shoe.build import simulated_shoe
from simulators.shoe.device import Device
from simulators.table.dealer import Dealer, Supply, dealer_for

REPLUG_S = 0.2
"""How long a cable that was pulled stays out."""

LONGEST_S = 24 * 3600.0
"""More than any shoe takes to be dealt: a table that is not done by then hangs."""


class Table:
    """``told`` are the controller's events, in order; ``count`` is how many of each type.

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
    ) -> None:
        settings = TableSettings(
            table="t1",
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
        self._connection = 0
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
        lost = LinkLost(t_us=self._now_us, connection=self._connection, reason="unplugged")
        self._happened(lost)
        self._port.advance(REPLUG_S)
        self.connect()

    def connect(self) -> None:
        """Opens the port with a fresh session."""
        self._connection += 1
        session = self._session(self._stored, self._session_settings)
        can = session.capabilities
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
            )
        )
        self._desire(session)
        self._port.plug(session)
        self._port.pump()

    def _session(self, resume: Resume | None, settings: Mapping[str, object]) -> HostSession:
        """A fresh session for the connection that is opened now."""
        return profile(self._profile_name).host_session(resume=resume, settings=settings)

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """The data of the events of this type."""
        return [event.data for event in self.told if event.type == kind]

    @property
    def _now_us(self) -> int:
        return round(self._port.t * 1_000_000)

    def _advance(self) -> None:
        """To whatever comes first: something at the shoe, or the table's wish to be woken."""
        due = self._port.next_deadline
        wake_us = self.controller.state.wake_us
        wake = None if wake_us is None else wake_us / 1_000_000
        waits = [s for s in (due, wake) if s is not None]
        if not waits and self._port.host is None:
            return  # the cable came off as it was plugged in
        next_s = min(waits)
        self._port.advance(max(0.0, next_s - self._port.t))
        wake_us = self.controller.state.wake_us
        if wake_us is not None and self._now_us >= wake_us:
            self._happened(Tick(t_us=self._now_us))
            if self._port.host is not None:
                self._desire(self._port.host)

    def _heard(self, heard: ReceivedEvent) -> None:
        said = ShoeSaid(
            t_us=self._now_us,
            event=heard.event,
            connection=self._connection,
            seq=heard.seq,
            first=heard.first,
            last=heard.last,
        )
        self._happened(said)
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
