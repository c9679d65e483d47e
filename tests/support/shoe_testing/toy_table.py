"""A table as small as can be: it arms what the simulators' judge wants and keeps what it hears.

In: what a host's session heard. Out: desires, acknowledgements, rounds.
Must not know: the real controller.
"""

from __future__ import annotations

from collections.abc import Callable

from firmware_proto.commands import Armed, Locked
from firmware_proto.events import (
    CardDrawn,
    CuttingCard,
    Discarded,
    Hello,
    Repeated,
    Reply,
    ShoeEvent,
    ShoeLoaded,
    Status,
)
from firmware_proto.session import HostSession, ReceivedEvent, Resume
from shoe_testing.memory_port import MemoryPort
from simulators.faults import Line
from simulators.shoe.device import Device
from simulators.shoe.judge import Judge
from simulators.table.dealer import Dealer


class Table:
    """Stores what it hears, each number once, and arms the next draw until the shoe is over.

    ``new_host`` gets what is stored so far of the shoe, as a daemon would know it.
    """

    def __init__(self, new_host: Callable[[Resume | None], HostSession]) -> None:
        self.new_host = new_host
        self.device_id: str | None = None
        self.port: MemoryPort | None = None
        self.events: list[ShoeEvent] = []
        self.others: list[ShoeEvent] = []
        self.rounds: list[str] = []
        self.last_seq = 0
        self.repeats = 0
        self._judge = Judge()
        self._drawn = 0
        self._last_round = False

    def on(
        self,
        device: Device,
        dealer: Dealer | None = None,
        *,
        to_host: Line | None = None,
        to_shoe: Line | None = None,
    ) -> MemoryPort:
        self.port = MemoryPort(
            device, heard=self.heard, dealer=dealer, to_host=to_host, to_shoe=to_shoe
        )
        return self.port

    def connect(self) -> None:
        assert self.port is not None
        resume = None if self.device_id is None else Resume(self.device_id, self.last_seq)
        self.port.plug(self.new_host(resume))
        self.port.pump()

    def heard(self, heard: ReceivedEvent) -> None:
        """As the port's owner: with the host that is plugged in there."""
        assert self.port is not None
        assert self.port.host is not None
        self.take(heard, self.port.host)

    def take(self, heard: ReceivedEvent, host: HostSession) -> None:
        """Stores it once, and says what is desired now."""
        if isinstance(heard.event, Hello):
            if self.device_id is None and isinstance(heard.seq, int):
                self.last_seq = heard.seq
            self.device_id = heard.event.device_id
            if heard.seq is not None:
                host.stored(heard.seq)
            host.set_desired_state(self.wish())
            return
        if isinstance(heard.event, Repeated):
            self.repeats += 1
        if isinstance(heard.event, Status | Reply | Repeated | Discarded):
            self.others.append(heard.event)
            return
        assert isinstance(heard.seq, int)
        if heard.seq <= self.last_seq:
            self.repeats += 1
        else:
            assert heard.seq == self.last_seq + 1, "a gap"
            self.last_seq = heard.seq
            self.store(heard.event)
        host.stored(self.last_seq)
        host.set_desired_state(self.wish())

    def store(self, event: ShoeEvent) -> None:
        self.events.append(event)
        if isinstance(event, ShoeLoaded):
            self._judge, self._drawn, self._last_round = Judge(), 0, False
        if isinstance(event, CuttingCard):
            self._last_round = True
        if isinstance(event, CardDrawn):
            assert event.card is not None
            assert event.number == self._drawn + 1
            self._drawn += 1
            self._judge.place(event.card)
            if self._judge.complete:
                self.rounds.append(" ".join(c.code for c in self._judge.drawn))
                self._judge = Judge()

    def wish(self) -> Armed | Locked:
        place = self._judge.next_place()
        if place is None or (self._last_round and not self._judge.begun):
            return Locked()
        return Armed(self._drawn + 1, *place)
