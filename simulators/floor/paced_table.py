"""One table of the floor: a shoe at a TCP port, and a hand that draws cards at a pace.

In: the bytes of a daemon, the time. Out: cards, and how long each took until it was acknowledged.
Must not know: the other tables, what is printed.
"""

from __future__ import annotations

import socket
from time import perf_counter
from typing import Any

from firmware_proto.cards import DECKS
from simulators.floor.poll import Poll
from simulators.floor.times import Times
from simulators.ports.stream import listening_socket
from simulators.shoe.build import simulated_shoe
from simulators.shoe.event_log import EventLog
from simulators.shoe.ground_truth import ASIDE, GroundTruth, Line
from simulators.shoe.judge import Judge
from simulators.shoe.model import CardOut, CardSet, CuttingCardOut

CHANGE_AFTER_S = 1.0
"""A shoe must stay locked for so long after its last round before its cards are changed."""

MEMORY = 64
"""Events that a shoe keeps. A card is drawn only once the one before it is acknowledged."""

NEVER = float("inf")
_CHUNK = 65536
_MOST_UNSENT = 65536


class _OpenRound(GroundTruth):
    """Knows whether a round is open, and keeps no cards: millions are drawn here."""

    def loaded(self, cards: CardSet) -> None:  # noqa: ARG002
        self._judge = Judge()

    def cutting_card(self, out: CuttingCardOut) -> None:
        """Nothing is kept of it."""

    def card(self, out: CardOut, *, place: str | None) -> None:
        if place not in ASIDE:
            self._judge.place(out.card)
            if self._judge.complete:
                self._judge = Judge()

    def _say(self, line: Line) -> None:
        """Nothing is kept of it."""


class PacedTable:
    """Draws a card every ``pace_s`` at the earliest, and only a card that the host armed.

    A hand that had to wait for the host does not catch up. Set number n (from 0) is shuffled with
    ``seed + n * seed_step``.
    """

    def __init__(  # noqa: PLR0913 - what a table is made of, each by name
        self,
        poll: Poll,
        *,
        name: str,
        device_id: str,
        deck: str,
        decks: int,
        seed: int,
        seed_step: int,
        pace_s: float,
    ) -> None:
        self.name = name
        self.seed = seed
        self.address = ""
        self.wakes_at = NEVER
        self.connections = 0
        self.refused = 0
        self.acknowledged = 0
        self.was_never_armed = False
        """True if the shoe was never armed while the hand waited for its first card."""

        self.sets: list[int] = [0]
        """The number of cards drawn of each set."""

        self.stored = Times()
        """From a card's bytes until the daemon acknowledged that the card is stored."""

        self.held = Times()
        """The times that the hand had to wait for the shoe to be armed."""

        self.own = Times()
        """The delays of the simulator itself when the hand drew."""

        self._log = EventLog(MEMORY)
        self._device = simulated_shoe(
            "reference",
            deck=deck,
            decks=decks,
            seed=seed,
            device_id=device_id,
            event_log=self._log,
            truth=_OpenRound(),
        )
        self._deck, self._decks, self._seed_step = DECKS[deck], decks, seed_step
        self._pace_s = pace_s
        self._due = NEVER
        self._had_to_wait = False
        self._over_since: float | None = None
        self._card_seq: int | None = None
        self._written = 0.0
        self._poll = poll
        self._listener: socket.socket | None = None
        self._peer: socket.socket | None = None
        self._unsent = b""

    @property
    def drawn(self) -> int:
        """The number of cards drawn, of all sets."""
        return sum(self.sets)

    @property
    def waits(self) -> bool:
        """True while a card is not acknowledged."""
        return self._card_seq is not None

    @property
    def armed(self) -> bool:
        """True while a card may be drawn."""
        return self._device.lamp is not None

    def listen(self, host: str, port: int, now: float) -> None:
        """Switch the shoe on and open its port; 0 takes a free one.

        Raises:
            simulators.errors.PortFault: the port cannot be opened.
        """
        shown = f"[{host}]" if ":" in host else host
        name = f"tcp://{shown}:{port} for {self.name}"
        self._listener = listener = listening_socket(host, port, backlog=1, name=name)
        self.address = f"tcp://{shown}:{listener.getsockname()[1]}"
        self._poll.add(listener.fileno(), self._knocked)
        self._device.boot(now)

    def close(self) -> None:
        """Close the connection and the port."""
        self._hang_up()
        if self._listener is not None:
            self._poll.remove(self._listener.fileno())
            self._listener.close()
            self._listener = None

    def draw_from(self, when: float) -> None:
        """Draw the first card at this time."""
        self._due = when
        self._had_to_wait, self._over_since = False, None
        self._poll.wake(self, when)

    def stop_drawing(self, now: float) -> None:
        """Draw no more. If the hand had to wait, count its wait until now."""
        if self._had_to_wait:
            self.held.add(now - self._due)
            self.was_never_armed = not self.drawn
        self.draw_from(NEVER)

    def clear_times(self) -> None:
        """Forget all times. A card that is not acknowledged yet will be measured."""
        for times in (self.stored, self.held, self.own):
            times.clear()

    def turn(self, now: float) -> None:
        """Draw if it is time, send what the shoe has to send, and ask for the next turn."""
        device = self._device
        drawn = now >= self._due and self._handle(now)
        deadline = device.next_deadline
        if deadline is None:
            deadline = NEVER
        elif now >= deadline:
            device.tick(now)
            deadline = device.next_deadline or now
        if data := device.outgoing():
            if drawn:
                self._written = perf_counter()
            self._send(data)
        due = self._due
        if due <= now:
            due = NEVER if self._over_since is None else self._over_since + CHANGE_AFTER_S
        wakes_at = min(due, deadline)
        if wakes_at < self.wakes_at:
            self._poll.wake(self, wakes_at)

    def _handle(self, now: float) -> bool:
        """Let the hand draw, or wait, or change the set; return True if it drew a card."""
        device = self._device
        if self._card_seq is not None or device.lamp is None:
            self._had_to_wait = True
            self._change_set(now)
            return False
        self._over_since = None
        seq = self._log.next_seq
        out = device.draw(now)
        if isinstance(out, CuttingCardOut):
            self._due = max(self._due, now) + self._pace_s
            return False
        late = now - self._due
        self.held.add(late if self._had_to_wait else 0.0)
        if not self._had_to_wait:
            self.own.add(late)
        self._had_to_wait = False
        self.sets[-1] += 1
        self._card_seq = seq
        self._due = max(self._due + self._pace_s, now)
        self._had_to_wait = self._due <= now
        return True

    def _change_set(self, now: float) -> None:
        """Load the next set once the shoe's last round has been over for ``CHANGE_AFTER_S``."""
        device = self._device
        over = device.shoe.cutting_card_out or not device.shoe.remaining
        if not over or device.truth.round_open or self._log.unacknowledged:
            self._over_since = None
        elif self._over_since is None:
            self._over_since = now
        elif now >= self._over_since + CHANGE_AFTER_S:
            seed = self.seed + len(self.sets) * self._seed_step
            device.load(self._deck, self._decks, seed, now)
            self.sets.append(0)
            self._had_to_wait, self._over_since = False, None
            self._due = now

    def _knocked(self) -> None:
        assert self._listener is not None
        try:
            peer, _ = self._listener.accept()
        except OSError:
            return  # the host closed the connection before it was accepted
        if self._peer is not None:
            peer.close()  # a shoe has one host at a time
            return
        peer.setblocking(False)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._peer = peer
        self.connections += 1
        self._poll.add(peer.fileno(), self._readable)
        self._device.host_opened()
        self.turn(perf_counter())

    def _readable(self) -> None:
        assert self._peer is not None
        try:
            data = self._peer.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up()
            return
        came = perf_counter()
        device = self._device
        device.receive(data, came)
        if self._card_seq is not None and self._log.acknowledged >= self._card_seq:
            self.stored.add(came - self._written)
            self.acknowledged += 1
            self._card_seq = None
        if device.refused:
            self.refused += len(device.refused)
            device.refused.clear()
        self.turn(came)

    def _hang_up(self) -> None:
        if self._peer is not None:
            self._poll.remove(self._peer.fileno())
            self._peer.close()
            self._peer, self._unsent = None, b""
            self._device.host_closed()

    def _send(self, data: bytes) -> None:
        """Send what there is room for. The rest waits, up to a limit; what exceeds it is lost."""
        if self._peer is None:
            return
        if self._unsent:
            if len(self._unsent) + len(data) <= _MOST_UNSENT:
                self._unsent += data
            return
        try:
            sent = self._peer.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # reading shows that the host has gone
        if sent < len(data):
            self._unsent = data[sent:]
            self._poll.add_writer(self._peer.fileno(), self._writable)

    def _writable(self) -> None:
        assert self._peer is not None
        data, self._unsent = self._unsent, b""
        self._poll.add_writer(self._peer.fileno(), None)
        self._send(data)

    def as_json(self) -> dict[str, Any]:
        """Return the table's part of the report, for programs."""
        return {
            "table": self.name,
            "port": self.address,
            "device_id": self._device.shoe.device_id,
            "sets": [
                {"seed": self.seed + n * self._seed_step, "drawn": drawn}
                for n, drawn in enumerate(self.sets)
            ],
            "drawn": self.drawn,
            "acknowledged": self.acknowledged,
            "connections": self.connections,
            "never_armed": self.was_never_armed,
            "waiting": self.waits,
            "refused": self.refused,
            "measured": self.stored.count,
            "p50_ms": self.stored.percentile(0.5) * 1e3,
            "p99_ms": self.stored.percentile(0.99) * 1e3,
            "max_ms": self.stored.longest_s * 1e3,
        }
