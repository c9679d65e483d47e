"""What a host still has to send: desired state, commands, replay requests; each until confirmed.

In: states, commands and missing numbers; the shoe's messages; the time. Out: what to send now.
Must not know: bytes, ports, clocks.
"""

from __future__ import annotations

from firmware_proto.commands import Armed, DesiredShoeState, Locked, SetTime, ShoeCommand
from firmware_proto.events import QueryAnswered, Reply, ResetDone, SelfTested, ShoeEvent, Status


class ReplayRequests:
    """Behind one lost frame there may be a window of others: they all say the same."""

    __slots__ = ("_asked", "_due")

    def __init__(self) -> None:
        self._asked = 0
        self._due: int | None = None

    def want(self, first: int) -> None:
        """Event ``first`` is missing, and later ones are there or known of."""
        if first != self._asked:
            self._due = first

    def take(self) -> int | None:
        """The number to ask for now, once."""
        first, self._due = self._due, None
        if first is not None:
            self._asked = first
        return first


AT_ONCE = 0.0
"""A deadline that has passed on any scale of seconds: ``tick`` is wanted now, to start a timer."""


class Deadline:
    """Runs from the first ``observe`` after its start: what is sent knows no time of its own."""

    __slots__ = ("_due", "_span_s", "ran_out")

    def __init__(self) -> None:
        self.ran_out = False
        self._span_s: float | None = None
        self._due: float | None = None

    @property
    def idle(self) -> bool:
        """Neither running nor run out."""
        return not self.ran_out and self._span_s is None and self._due is None

    @property
    def deadline(self) -> float | None:
        """When ``observe`` is wanted, or None."""
        return AT_ONCE if self._span_s is not None else self._due

    def start(self, span_s: float) -> None:
        """Runs for so many seconds, from the next time that is observed."""
        self.ran_out, self._span_s, self._due = False, span_s, None

    def fire(self) -> None:
        """Runs out now."""
        self.ran_out, self._span_s, self._due = True, None, None

    def stop(self) -> None:
        """Waits for nothing."""
        self.ran_out, self._span_s, self._due = False, None, None

    def observe(self, t: float) -> None:
        """The time is ``t`` seconds."""
        if self._span_s is not None:
            self._due, self._span_s = t + self._span_s, None
        elif self._due is not None and t >= self._due:
            self.fire()


REPEAT_STATE_S = 0.5
"""A shoe answers with a status at once; arm and status together take under 10 ms of the line. Half
a second leaves a slow adapter room, and is short for a dealer whose card is held back."""


class DesiredState:
    """Says a state until the shoe confirms it, and again whenever the shoe shows another.

    A refused state is not said again before something about the shoe changed. A shoe that
    ``only_locks`` is told to be locked, whatever is desired of it.
    """

    def __init__(self) -> None:
        self.timer = Deadline()
        self._desired: DesiredShoeState | None = None
        self._rests = False  # confirmed, spent or refused
        self._refused = False
        self._shown: tuple[int | None, int, bool] | None = None
        self.only_locks = False

    @property
    def waits(self) -> bool:
        """There is a state that the shoe has neither confirmed nor refused."""
        return self._desired is not None and not self._rests

    def set_desired_state(self, state: DesiredShoeState) -> None:
        """From now on the shoe should be this; the same again is nothing new.

        An owner that says it after each event would otherwise be answered for ever: the shoe shows
        its state after each order, and that is an event too.
        """
        if state != self._desired:
            self._desired = state
            self.assert_again()

    def assert_again(self) -> None:
        """Whatever was known of the shoe holds no more: it has to be told."""
        self._rests = self._refused = False
        self.timer.fire()

    def status(self, status: Status) -> None:
        """The shoe shows its state."""
        shown = (status.armed, status.drawn, status.locked_by_key)
        if shown != self._shown:
            self._refused = False
        self._shown = shown
        rested = self._rests
        self._rests = self._refused or self._is_as_desired(status)
        if rested and self.waits:
            self.timer.fire()

    def reply(self, reply: Reply) -> None:
        """The shoe answered a command."""
        number = self._desired.number if isinstance(self._desired, Armed) else None
        if not reply.accepted and reply.number == number:
            self._rests = self._refused = True

    def take(self) -> DesiredShoeState | None:
        """The state to be said now, or None; the next time is half a second away."""
        if not self.waits or not self.timer.ran_out:
            return None
        self.timer.start(REPEAT_STATE_S)
        return Locked() if self.only_locks else self._desired

    def _is_as_desired(self, status: Status) -> bool:
        if isinstance(self._desired, Armed) and not self.only_locks:
            return status.armed == self._desired.number or status.drawn >= self._desired.number
        return status.armed is None


REPEAT_COMMAND_S = 0.5
"""As for a desired state: an answer takes a few milliseconds of the line, a slow adapter tens."""


class CommandQueue:
    """The shoe does a command once however often it comes: sending again is safe.

    Not so the time, which would be wrong by then: it is sent once.
    """

    def __init__(self) -> None:
        self.timer = Deadline()
        self._waiting: dict[int, ShoeCommand] = {}

    @property
    def waits(self) -> bool:
        """A command is not answered."""
        return bool(self._waiting)

    def put(self, command: ShoeCommand) -> None:
        """Sends a command; one with an id that waits for its answer takes its place."""
        self._waiting[command.command_id] = command
        self.timer.fire()

    def send_again(self) -> None:
        """The shoe may have heard nothing of them."""
        self.timer.fire()

    def heard(self, event: ShoeEvent) -> None:
        """What the shoe said; an answer ends the waiting."""
        if isinstance(event, Reply | QueryAnswered | ResetDone | SelfTested):
            self._waiting.pop(event.command_id or 0, None)

    def take(self) -> list[ShoeCommand]:
        """The commands to be sent now, oldest first."""
        if not self._waiting or not self.timer.ran_out:
            return []
        self.timer.start(REPEAT_COMMAND_S)
        due = list(self._waiting.values())
        for command in due:
            if isinstance(command, SetTime):
                del self._waiting[command.command_id]
        return due
