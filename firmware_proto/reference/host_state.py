"""Everything that a host has yet to send or to have confirmed: state, commands, replay requests.

In: states, commands and missing numbers; the shoe's messages; the time. Out: what to send now.
Must not know: bytes, ports, clocks.
"""

from __future__ import annotations

from firmware_proto.commands import Armed, DesiredShoeState, Locked, SetTime, ShoeCommand
from firmware_proto.events import QueryAnswered, Reply, ResetDone, SelfTested, ShoeEvent, Status


class ReplayRequests:
    """Asks for missing events, once for each gap: many frames may show the same one."""

    __slots__ = ("_asked", "_due")

    def __init__(self) -> None:
        self._asked = 0
        self._due: int | None = None

    def want(self, first: int) -> None:
        """Ask for event ``first`` and all after it."""
        if first != self._asked:
            self._due = first

    def take(self) -> int | None:
        """Take the number to ask for now, if any; each is returned once."""
        first, self._due = self._due, None
        if first is not None:
            self._asked = first
        return first


AT_ONCE = 0.0
"""A deadline that has passed on any scale: ``tick`` is due now, to start a timer."""


class Deadline:
    """A timer that runs from the first ``observe`` after its start: sending has no time.

    ``is_running``: it was started, and has not expired. Only then ``observe`` does anything.
    """

    __slots__ = ("_due", "_span_s", "has_expired", "is_running")

    def __init__(self) -> None:
        self.has_expired = self.is_running = False
        self._span_s: float | None = None
        self._due: float | None = None

    @property
    def is_idle(self) -> bool:
        """Neither running nor expired."""
        return not self.has_expired and not self.is_running

    @property
    def deadline(self) -> float | None:
        """When ``observe`` is due, or None."""
        return AT_ONCE if self._span_s is not None else self._due

    def start(self, span_s: float) -> None:
        """Run for this many seconds, from the next observed time."""
        self.has_expired, self._span_s, self._due = False, span_s, None
        self.is_running = True

    def expire(self) -> None:
        """Expire now."""
        self.has_expired, self._span_s, self._due = True, None, None
        self.is_running = False

    def stop(self) -> None:
        """Stop; it is idle."""
        self.has_expired, self._span_s, self._due = False, None, None
        self.is_running = False

    def observe(self, t: float) -> None:
        """Take note that the time is ``t`` seconds."""
        if self._span_s is not None:
            self._due, self._span_s = t + self._span_s, None
        elif self._due is not None and t >= self._due:
            self.expire()


REPEAT_STATE_S = 0.5
"""A shoe answers with a status at once; arm and status together take under 10 ms of the line. Half
a second leaves a slow adapter room, and is short for a dealer whose card is held back."""


class DesiredState:
    """Sends a state until the shoe confirms it, and again whenever the shoe shows another.

    A refused state is not sent again before the shoe has changed. With ``only_locks`` the shoe is
    locked, whatever state is desired.
    """

    def __init__(self) -> None:
        self.timer = Deadline()
        self._desired: DesiredShoeState | None = None
        self._is_settled = False  # confirmed, spent or refused
        self._refused = False
        self._last_status: tuple[int | None, int, bool] | None = None
        self.only_locks = False

    @property
    def is_pending(self) -> bool:
        """There is a state that the shoe has neither confirmed nor refused."""
        return self._desired is not None and not self._is_settled

    @property
    def was_sent(self) -> bool:
        """The pending state was sent, and no status confirmed it yet."""
        return self.is_pending and not self.timer.has_expired

    def set_state(self, state: DesiredShoeState) -> None:
        """Set the desired state; the same state again changes nothing.

        An owner that sets it after each event would otherwise never stop: the shoe sends a status
        after each command, and that is an event too.
        """
        if state != self._desired:
            self._desired = state
            self.send_again()

    def send_again(self) -> None:
        """Send the state again: what was known of the shoe may have changed."""
        self._is_settled = self._refused = False
        self.timer.expire()

    def status(self, status: Status) -> None:
        """Handle a status of the shoe."""
        shown = (status.armed, status.drawn, status.locked_by_key)
        if shown != self._last_status:
            self._refused = False
        self._last_status = shown
        rested = self._is_settled
        self._is_settled = self._refused or self._is_as_desired(status)
        if rested and self.is_pending:
            self.timer.expire()

    def reply(self, reply: Reply) -> None:
        """Handle the reply to an arm or a lock."""
        number = self._desired.number if isinstance(self._desired, Armed) else None
        if not reply.accepted and reply.number == number:
            self._is_settled = self._refused = True

    def take(self) -> DesiredShoeState | None:
        """Take the state to send now, or None; it is sent again after half a second."""
        if not self.is_pending or not self.timer.has_expired:
            return None
        self.timer.start(REPEAT_STATE_S)
        return Locked() if self.only_locks else self._desired

    def is_armed_as_desired(self, status: Status) -> bool:
        """Return whether the shoe is armed for the very draw that it was to be armed for."""
        return isinstance(self._desired, Armed) and status.armed == self._desired.number

    def _is_as_desired(self, status: Status) -> bool:
        if isinstance(self._desired, Armed) and not self.only_locks:
            return status.armed == self._desired.number or status.drawn >= self._desired.number
        return status.armed is None


REPEAT_COMMAND_S = 0.5
"""As for a desired state: an answer takes a few milliseconds of the line, a slow adapter tens."""


class CommandQueue:
    """Commands that wait for their answer. A shoe carries out each once, however often it is sent.

    The time is sent once: later it would be wrong.
    """

    def __init__(self) -> None:
        self.timer = Deadline()
        self._waiting: dict[int, ShoeCommand] = {}

    @property
    def is_pending(self) -> bool:
        """True if a command is not answered yet."""
        return bool(self._waiting)

    def put(self, command: ShoeCommand) -> None:
        """Add a command; it replaces one with the same id."""
        self._waiting[command.command_id] = command
        self.timer.expire()

    def send_again(self) -> None:
        """Send all of them again: the shoe may have received none."""
        self.timer.expire()

    def on_event(self, event: ShoeEvent) -> None:
        """Handle an event; an answer removes its command."""
        if isinstance(event, Reply | QueryAnswered | ResetDone | SelfTested):
            self._waiting.pop(event.command_id or 0, None)

    def take(self) -> list[ShoeCommand]:
        """Take the commands to send now, oldest first."""
        if not self._waiting or not self.timer.has_expired:
            return []
        self.timer.start(REPEAT_COMMAND_S)
        due = list(self._waiting.values())
        for command in due:
            if isinstance(command, SetTime):
                del self._waiting[command.command_id]
        return due
