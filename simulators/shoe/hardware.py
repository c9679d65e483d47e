"""The shoe's hardware beside cards and bolt: display, clock, faults, and commands once done.

In: commands of a host, what happens to the shoe. Out: the answer, and what is to be said of it.
Must not know: bytes, numbers of events, connections.
"""

from __future__ import annotations

from collections import OrderedDict

from firmware_proto.commands import Query, Reset, RotateKey, SetTime, ShoeCommand, Show, TestSelf
from firmware_proto.events import (
    Error,
    ErrorCleared,
    KeyRotated,
    PowerLow,
    PowerRestored,
    QueryAnswered,
    Reply,
    ResetDone,
    SelfTested,
    ShoeEvent,
)

REMEMBERED = 8
"""So many commands are known again when they come once more."""

Answer = Reply | QueryAnswered


class Hardware:
    """Battery-backed, as the cards are. ``failing`` are the parts that a self-test finds.

    ``keys`` are the shoe's own by id, which a host may add to; None where it has none.
    """

    def __init__(
        self, failing: tuple[str, ...] = (), *, keys: dict[int, bytes] | None = None
    ) -> None:
        self.keys = keys
        self.failing = failing
        self.display = ""
        self.faults: dict[str, bool] = {}
        self.lifetime_draws = 0
        self.battery_percent: int | None = 100
        self._clock: tuple[int, float] | None = None
        self._answered: OrderedDict[int, Answer] = OrderedDict()

    @property
    def in_error_mode(self) -> bool:
        """Nothing can be drawn until a fault is cleared."""
        return any(self.faults.values())

    def note(self, event: ShoeEvent) -> None:
        """Something happened to the shoe."""
        if isinstance(event, Error):
            self.faults[event.code] = event.in_error_mode
        elif isinstance(event, ErrorCleared):
            self.faults.pop(event.code, None)
        elif isinstance(event, PowerLow):
            self.battery_percent = event.percent
        elif isinstance(event, PowerRestored):
            self.battery_percent = 100

    def do(self, command: ShoeCommand, t: float) -> tuple[Answer, tuple[ShoeEvent, ...]]:
        """Do a command once: the answer, and the events that come of it.

        ``t`` is the shoe's own time, in seconds.
        """
        known = self._answered.get(command.command_id)
        if known is not None:
            return known, ()
        answer, events = self._do(command, t)
        self._answered[command.command_id] = answer
        if len(self._answered) > REMEMBERED:
            self._answered.popitem(last=False)
        return answer, events

    def _do(self, command: ShoeCommand, t: float) -> tuple[Answer, tuple[ShoeEvent, ...]]:
        done, number = Reply(accepted=True, command_id=command.command_id), command.command_id
        match command:
            case Show(text=text):
                self.display = text
                return done, ()
            case Reset():
                self.display = ""
                cleared = tuple(ErrorCleared(code=code) for code in self.faults)
                self.faults.clear()
                return done, (*cleared, ResetDone(command_id=number))
            case TestSelf():
                return done, (SelfTested(failed=self.failing, command_id=number),)
            case RotateKey(key_id=key_id, key=key) if self.keys is not None:
                self.keys[key_id] = key
                return done, (KeyRotated(key_id=key_id),)
            case SetTime(unix_us=unix_us):
                self._clock = (unix_us, t)
                return done, ()
            case Query(what=what):
                value = self._value(what, t)
                return QueryAnswered(command_id=number, what=what, value=value), ()
        return Reply(accepted=False, reason="not_supported", command_id=number), ()

    def _value(self, what: str, t: float) -> int | None:
        if what == "clock":
            return self._clock and self._clock[0] + round((t - self._clock[1]) * 1_000_000)
        return {"battery": self.battery_percent, "lifetime_draws": self.lifetime_draws}.get(what)
