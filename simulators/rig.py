"""A simulated shoe on a port of its own, dealt by a dealer of its own, in a running loop.

In: a device, a port, perhaps a dealer and faulty lines. Out: the shoe, live for any host.
Must not know: the profile, the command line, the controller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from simulators.errors import PortFault
from simulators.faults import TO_HOST, TO_SHOE, CleanLine, Line
from simulators.ports.port import Port
from simulators.shoe.device import Device
from simulators.table.dealer import Dealer

REPLUG_S = 0.2
"""A cable that a faulty line pulled stays out for so long."""


def _raise(error: PortFault) -> None:
    raise error


class Rig:
    """Is the port's Wire. ``clock`` gives seconds and never runs backwards (the loop's time)."""

    def __init__(  # noqa: PLR0913 - what is wired together, each by name
        self,
        device: Device,
        port: Port,
        dealer: Dealer | None = None,
        *,
        to_host: Line | None = None,
        to_shoe: Line | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.device = device
        self.port = port
        self.dealer = dealer
        self._to_host = CleanLine() if to_host is None else to_host
        self._to_shoe = CleanLine() if to_shoe is None else to_shoe
        self._loop = asyncio.get_running_loop()
        self._clock = self._loop.time if clock is None else clock
        self._timer: asyncio.TimerHandle | None = None
        self._replug: asyncio.TimerHandle | None = None
        self._turning = False
        self._held = False
        self.frozen = False
        self.cut_wires: set[str] = set()
        """The directions whose wire is cut: ``to_shoe``, ``to_host``."""

        self.connections = 0
        """The number of times that a host has opened the port."""

        self.plugged = False
        self.watchers: set[Callable[[], None]] = set()
        """Called whenever something may have happened at the shoe or its port."""

        self.port_failed: Callable[[PortFault], None] = _raise
        """Called if a cable that a faulty line pulled cannot be put back."""

    @property
    def now(self) -> float:
        """The time that the device and the dealer live in, in seconds."""
        return self._clock()

    def start(self) -> None:
        """Plug the port in.

        Raises:
            simulators.errors.PortFault: the port cannot be made.
        """
        self.port.start(self)
        self.plugged = True
        self.turn()

    def stop(self) -> None:
        """Pull the plug for good; doing it twice is harmless."""
        for timer in (self._replug, self._timer):
            if timer is not None:
                timer.cancel()
        self._replug = self._timer = None
        self._turning = True  # nothing happens at a rig that was stopped
        self.port.close()

    def unplug(self) -> None:
        """Pull the plug, until it is put back; the shoe keeps its power."""
        self._cancel_replug()
        self.plugged = False
        self.port.close()
        self.turn()

    def replug(self) -> None:
        """Plug it in again under the same name; raises like ``start``."""
        self._cancel_replug()
        self.port.reopen()
        self.plugged = True
        self.turn()

    def _cancel_replug(self) -> None:
        """Leave the cable to whoever pulls it or plugs it in now."""
        if self._replug is not None:
            self._replug.cancel()
            self._replug = None

    def cut(self, direction: str) -> None:
        """Cut the wire of one direction, ``to_shoe`` or ``to_host``: its bytes are lost."""
        self.cut_wires.add(direction)

    def mend(self) -> None:
        """Both wires are whole again; what was lost stays lost."""
        self.cut_wires.clear()
        self.turn()

    def add_noise(self, garbage: bytes) -> None:
        """Let these bytes arrive at the host as if the shoe had sent them."""
        self._to_host.put(garbage, self.now)
        self.turn()

    def hold(self) -> None:
        """Nothing goes over the line, either way, until it is released."""
        self._held = True

    def release(self) -> None:
        """Deliver what was said meanwhile."""
        self._held = False
        self.turn()

    def freeze(self) -> None:
        """The shoe hangs: it hears nothing, says nothing and lets nobody draw, until it thaws."""
        self.frozen = True
        self.port.freeze()
        self.turn()

    def thaw(self) -> None:
        """It goes on, with what the host said meanwhile."""
        self.frozen = False
        self.port.thaw()
        self.turn()

    def turn(self) -> None:
        """Let happen what is due; call it after touching device or dealer from outside."""
        if self._turning or self._held:
            return
        if not self.frozen:
            self._turning = True
            try:
                self._turn(self.now)
            finally:
                self._turning = False
            self._sleep()
        for watcher in tuple(self.watchers):
            watcher()

    def opened(self) -> None:
        """A host opened the port."""
        self.connections += 1
        self.device.host_opened()
        self.turn()

    def received(self, data: bytes) -> None:
        """Bytes of the host."""
        if TO_SHOE not in self.cut_wires:
            self._to_shoe.put(data, self.now)
        self.turn()

    def closed(self) -> None:
        """The host went, or the plug was pulled."""
        self._to_host.cut()
        self._to_shoe.cut()
        self.device.host_closed()
        self.turn()

    def drained(self) -> None:
        """A slow host has read: the shoe and the hand go on."""
        self.turn()

    def _turn(self, t: float) -> None:
        for chunk in self._to_shoe.take(t):
            self.device.receive(chunk, t)
        if not self.port.pending:  # no repeats and no draws while the line is busy
            self.device.tick(t)
            if self.dealer is not None:
                self.dealer.tick(t)
        said = self.device.outgoing()
        if TO_HOST not in self.cut_wires:
            self._to_host.put(said, t)
        for chunk in self._to_host.take(t):
            self.port.write(chunk)
        if self._to_host.pulled(t) or self._to_shoe.pulled(t):
            self.plugged = False
            self.port.close()
            self._replug = self._loop.call_later(REPLUG_S, self._put_back)

    def _put_back(self) -> None:
        try:
            self.replug()
        except PortFault as error:
            self.port_failed(error)

    def _sleep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waits = [self._to_host.next_deadline, self._to_shoe.next_deadline]
        if not self.port.pending:
            waits.append(self.device.next_deadline)
            waits += [] if self.dealer is None else [self.dealer.next_deadline]
        due = min((w for w in waits if w is not None), default=None)
        if due is not None:
            self._timer = self._loop.call_later(max(0.0, due - self.now), self.turn)
