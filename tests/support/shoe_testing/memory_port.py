"""An in-process cable between a host's session and a simulated shoe, on a clock moved by hand.

In: a device, a host's session, perhaps a dealer and faulty lines. Out: what the host heard.
Must not know: descriptors, real time, what the host does with what it heard.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from firmware_proto.session import HostSession, ReceivedEvent
from simulators.faults import TO_HOST, TO_SHOE, CleanLine, Line
from simulators.shoe.device import Device
from simulators.table.client import Answer
from simulators.table.dealer import Dealer

_TOO_MANY_TURNS = 100_000


class MemoryPort:
    """``t`` is the time in seconds; only ``advance`` moves it.

    ``heard`` is called for each event in order, so that the owner can store it and say what it
    desires before the next one. ``connections`` counts ``plug``.
    """

    def __init__(  # noqa: PLR0913 - what hangs on the cable, each by name
        self,
        device: Device,
        *,
        heard: Callable[[ReceivedEvent], None],
        dealer: Dealer | None = None,
        to_host: Line | None = None,
        to_shoe: Line | None = None,
        t: float = 0.0,
    ) -> None:
        self.device = device
        self.t = t
        self.connections = 0
        self.host: HostSession | None = None
        self._host_due: float | None = None
        self._heard = heard
        self._dealer = dealer
        self._to_host = CleanLine() if to_host is None else to_host
        self._to_shoe = CleanLine() if to_shoe is None else to_shoe
        both = (self._to_host, self._to_shoe)
        self.cut_wires: set[str] = set()
        self.held = False
        """While it is, nothing moves: what was said waits in the line."""

        self._faulty = [line for line in both if not isinstance(line, CleanLine)]

    def plug(self, host: HostSession) -> None:
        """A host opens the port with a fresh session; an open connection ends first."""
        self.unplug()
        self.connections += 1
        self.host = host
        self.device.host_opened()

    def unplug(self) -> None:
        """The cable comes off; what is under way is lost."""
        self.host = None
        self._to_host.cut()
        self._to_shoe.cut()
        self.device.host_closed()

    @property
    def next_deadline(self) -> float | None:
        """When anything at either end or on the way happens next without being touched."""
        first = self.device.next_deadline
        for end in (self._dealer, *self._faulty):
            due = None if end is None else end.next_deadline
            if due is not None and (first is None or due < first):
                first = due
        host = self._host_due = None if self.host is None else self.host.next_deadline
        return first if host is None or (first is not None and first < host) else host

    def pump(self) -> None:
        """Let everything happen that happens now, until nothing moves.

        Raises:
            RuntimeError: the two ends never come to rest.
        """
        self._pump()

    def _pump(self, *, host_is_due: bool = True) -> float | None:
        """As ``pump``; return the next deadline. A host that is not due has nothing to say first.

        Both ends have their turns until one has nothing to say to what the other one said.
        """
        if self.held:
            return None
        if host_is_due:
            self._host_turn()
        for _ in range(_TOO_MANY_TURNS):
            moved = self._shoe_turn() and self._host_turn()
            if (self._faulty and self._pulled()) or moved:
                continue
            due = self.next_deadline
            if due is None or due > self.t:
                return due
            self._host_turn()
        raise RuntimeError("the shoe and its host never come to rest")

    def advance(self, seconds: float) -> None:
        """Move the time on, stopping at each deadline on the way; pump at each stop."""
        self.pump()
        self.advance_to(self.t + seconds)

    def advance_to(self, end: float) -> None:
        """As ``advance``, where nothing was touched since the last pump."""
        due = None if self.held else self.next_deadline
        while due is not None and due <= end:
            self.t = max(self.t, due)
            host = self._host_due
            due = self._pump(host_is_due=host is not None and host <= self.t)
        self.t = end

    def _host_turn(self) -> bool:
        host = self.host
        if host is None:
            return False
        t = self.t
        for event in host.tick(t):
            self._heard(event)
        for chunk in self._to_host.take(t):
            for event in host.receive(chunk, t):
                self._heard(event)
        sent = host.outgoing()
        if sent and TO_SHOE not in self.cut_wires:
            self._to_shoe.put(sent, t)
        return bool(sent)

    def _shoe_turn(self) -> bool:
        moved, t, device = False, self.t, self.device
        for chunk in self._to_shoe.take(t):
            moved = True
            device.receive(chunk, t)
        device.tick(t)
        if self._dealer is not None:
            self._dealer.tick(t)
        sent = device.outgoing()
        if sent and TO_HOST not in self.cut_wires:
            self._to_host.put(sent, t)
        return moved or bool(sent)

    def _pulled(self) -> bool:
        if self._to_host.pulled(self.t) or self._to_shoe.pulled(self.t):
            self.unplug()
            return True
        return False


class CallClient:
    """The same for a table in this process: ``call`` takes the line's bytes, gives the answer's."""

    def __init__(self, call: Callable[[bytes], bytes]) -> None:
        self._call = call

    async def ask(self, asked: Mapping[str, Any]) -> Answer:
        """As ``Client.ask``."""
        answer: Answer = json.loads(self._call(json.dumps(asked).encode()))
        return answer

    async def close(self) -> None:
        """Nothing is held."""
