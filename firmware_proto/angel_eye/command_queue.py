"""Commands to the shoe: keep it locked or unlocked, clear an error, ask for the game's progress.

In: what is wanted, the shoe's replies and events, the time. Out: commands to send (SPEC.md,
"Commands"). Must not know: bytes received, ports, who wants it done.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from firmware_proto.angel_eye.frames import CommandBcc, encode_command
from firmware_proto.commands import ClearError, Query
from firmware_proto.events import CommandUnanswered, Reply

REPLY_TIMEOUT_S: Final = 3.0
"""The time that integrators allow the shoe for its reply."""
ATTEMPTS: Final = 3
"""A command is sent so often before the host gives up; each attempt takes its whole time-out."""

TEMPORARY_REFUSALS: Final = frozenset({"line_error", "bcc", "no_etx", "busy", "writing"})
"""Refusals of a command that was not understood, or came at a bad time: it is sent again."""

OVERDRAW: Final = "overdraw"
PROGRESS: Final = "progress"
"""The one thing that a ``Query`` may ask of this shoe."""

NO_REPLY: Final = "no_reply"
ERROR_CHANGED: Final = "error_changed"
"""It was not answered, and sent again it might clear another error than the one meant."""

_CLEARED_BY: Final = {None: "00", "keep": "01", "discard": "02"}


@dataclass(frozen=True, slots=True)
class _QueuedCommand:
    command_id: int | None  # None: nobody asked, its answer only shows that the shoe is there
    kind: str
    data: str


class CommandQueue:
    """At most one is outstanding, and only after ``start``: the line is free.

    One whose reply may still come (it had to be sent again) stays ``busy`` until the last
    time-out is over: a reply does not name the command it answers.
    """

    def __init__(self, bcc: CommandBcc) -> None:
        self._bcc = bcc
        self._waiting: deque[_QueuedCommand] = deque()
        self._current: _QueuedCommand | None = None
        self._attempts = self._unanswered = 0
        self._answered = False
        self._awaits_reply = False
        self._deadline: float | None = None
        self._error: str | None = None
        self._clears: str | None = None
        self._refused = NO_REPLY
        self._outgoing = b""

    @property
    def busy(self) -> bool:
        """One is outstanding, or a late reply to it may still come."""
        return self._current is not None

    def put(self, command: ClearError | Query) -> None:
        """Takes a command on.

        Raises:
            ValueError: the shoe would refuse it, as far as the open error is known.
        """
        if isinstance(command, Query):
            if command.what != PROGRESS:
                raise ValueError(f"an angel_eye shoe can be asked {PROGRESS}, not {command.what}")
            self._waiting.append(_QueuedCommand(command.command_id, "GP", "00"))
            return
        if command.overdraw not in _CLEARED_BY:
            raise ValueError(f"an overdrawn card is kept or discarded, not {command.overdraw!r}")
        if self._error is not None and (self._error == OVERDRAW) != (command.overdraw is not None):
            raise ValueError(f"{self._error} is not cleared so: {command}")
        data = _CLEARED_BY[command.overdraw]
        self._waiting.append(_QueuedCommand(command.command_id, "EC", data))

    def ask_whether_alive(self) -> None:
        """Asks for the progress on the host's own behalf, unless something is asked already."""
        if self._current is None and not self._waiting:
            self._waiting.append(_QueuedCommand(None, "GP", "00"))

    def start(self) -> None:
        """The line is free: the next one is sent."""
        if self._current is None and self._waiting:
            self._current = self._waiting.popleft()
            self._attempts, self._unanswered, self._answered = 0, 0, False
            self._clears, self._refused = self._error, NO_REPLY
            self._send()

    def error(self, code: str) -> None:
        """Handle an error of the shoe."""
        self._error = code

    def cleared(self) -> None:
        """The shoe's error is over: a command that was to clear it is not sent again."""
        self._error = None

    def reply(self, reply: Reply) -> Reply | None:
        """The reply, with the id of the command that it settles; None where it counts for none.

        A refusal that passes settles nothing, and names none.
        """
        if self._current is None or not self._awaits_reply:
            return None
        self._awaits_reply = False
        self._unanswered -= 1
        if not reply.accepted and reply.reason in TEMPORARY_REFUSALS:
            self._refused = str(reply.reason)
            return reply
        answered = replace(reply, command_id=self._current.command_id)
        self._answer()
        return answered

    def tick(self, t: float) -> CommandUnanswered | None:
        """The command that is given up: no attempt brought a reply that settles it.

        A command sent since the last call is timed from ``t``: call it as soon as one was.
        """
        if self._current is None:
            return None
        if self._deadline is None:
            self._deadline = t + REPLY_TIMEOUT_S
        if t < self._deadline:
            return None
        ended = self._current
        needless = self._is_needless(ended)
        if not (self._answered or needless) and self._attempts < ATTEMPTS:
            self._send()
            self._deadline = t + REPLY_TIMEOUT_S
            return None
        self._current = None
        if self._answered or ended.command_id is None:
            return None
        why = ERROR_CHANGED if needless else self._refused
        return CommandUnanswered(command_id=ended.command_id, reason=why)

    @property
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called; a command not yet timed wants it at once."""
        if self._current is None:
            return None
        return float("-inf") if self._deadline is None else self._deadline

    def outgoing(self) -> bytes:
        """Takes the bytes to be sent now."""
        data, self._outgoing = self._outgoing, b""
        return data

    def _is_needless(self, command: _QueuedCommand) -> bool:
        """The error went since it was first sent, or was never known: another might be cleared."""
        return command.kind == "EC" and (self._clears is None or self._clears != self._error)

    def _answer(self) -> None:
        self._answered = True
        if not self._unanswered:
            self._current = None

    def _send(self) -> None:
        assert self._current is not None
        self._attempts += 1
        self._unanswered += 1
        self._awaits_reply = True
        self._deadline = None
        self._outgoing += encode_command(self._current.kind, self._current.data, self._bcc)


_LOCK_DATA: Final = {False: "01", True: "02"}


class _Phase(Enum):
    IDLE = auto()
    AWAITING_REPLY = auto()
    AWAITING_EVENT = auto()
    RESTING = auto()


class LockKeeper:
    """At most one command is outstanding. Its key at the shoe is never fought.

    A reply does not name the command it answers. So after a command that had to
    be sent again, and was answered less often, whatever is sent next rests until the last
    time-out is over, and replies meanwhile count for neither.
    """

    def __init__(self, *, bcc: CommandBcc, confirmed_by_event: bool) -> None:
        self._bcc = bcc
        self._by_event = confirmed_by_event
        self._phase = _Phase.IDLE
        self._wanted: bool | None = None
        self._sent = False
        self._done = False
        self._confirmed = False
        self._attempts = self._unanswered = 0
        self._deadline: float | None = None
        self._outgoing = b""

    @property
    def busy(self) -> bool:
        """A command is outstanding, or a late reply to one may still come."""
        return self._phase is not _Phase.IDLE

    def send_again(self) -> None:
        """Send the state again: the shoe was reset and may have lost it."""
        if self._phase is _Phase.IDLE:
            self._send_wanted()
        else:
            self._done = False

    def want(self, locked: bool) -> None:
        """Set what the shoe should be from now on; sent unless it is so already, or on its way."""
        if locked == self._wanted:
            return
        self._wanted = locked
        if self._phase is _Phase.IDLE:
            self._send_wanted()
        elif self._phase is not _Phase.AWAITING_REPLY:
            self._next()

    def reply(self, reply: Reply) -> bool:
        """Take a reply; return True if it counts: it does only while a command is outstanding."""
        if self._phase is not _Phase.AWAITING_REPLY:
            return False
        self._unanswered -= 1
        if not reply.accepted and reply.reason in TEMPORARY_REFUSALS:
            self._phase = _Phase.RESTING
        elif reply.accepted and self._by_event and not self._confirmed:
            self._phase = _Phase.AWAITING_EVENT
        else:
            self._done = True
            if not reply.accepted and self._wanted == self._sent:
                self._wanted = None
        if self._done or self._wanted != self._sent:
            self._next()
        return True

    def lock_event(self, locked: bool) -> None:
        """Handle a lock event, whoever locked or unlocked the shoe."""
        at_rest = self._phase is _Phase.IDLE or (self._phase is _Phase.RESTING and self._done)
        if at_rest and locked != self._wanted:
            self._wanted = None  # by its key: accepted; the next desired state is sent
        elif self._phase is _Phase.AWAITING_REPLY:
            self._confirmed = locked == self._sent
        elif self._phase is _Phase.AWAITING_EVENT and locked == self._sent:
            self._done = True
            self._next()

    def tick(self, t: float) -> bool:
        """Return True when the host gives up: every attempt failed.

        A command sent since the last call is timed from ``t``: call it as soon as one was.
        """
        if self._phase is _Phase.IDLE:
            return False
        if self._deadline is None:
            self._deadline = t + REPLY_TIMEOUT_S
        if t < self._deadline:
            return False
        if self._wanted is None or (self._done and self._wanted == self._sent):
            self._phase = _Phase.IDLE
            return False
        if self._sent != self._wanted:
            self._send_wanted()
        elif self._attempts < ATTEMPTS:
            self._send()
        else:
            self._phase, self._wanted = _Phase.IDLE, None
            return True
        self._deadline = t + REPLY_TIMEOUT_S
        return False

    @property
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called; a command not yet timed wants it at once."""
        if self._phase is _Phase.IDLE:
            return None
        return float("-inf") if self._deadline is None else self._deadline

    def outgoing(self) -> bytes:
        """Takes the bytes to be sent now."""
        data, self._outgoing = self._outgoing, b""
        return data

    def _next(self) -> None:
        """Go on to what is wanted next: what was sent is answered, or no longer of interest."""
        if self._unanswered:
            self._phase = _Phase.RESTING
        elif self._wanted is None or (self._done and self._wanted == self._sent):
            self._phase = _Phase.IDLE
        elif self._wanted != self._sent:
            self._send_wanted()

    def _send_wanted(self) -> None:
        if self._wanted is not None:
            self._attempts = self._unanswered = 0
            self._sent = self._wanted
            self._done = self._confirmed = False
            self._send()

    def _send(self) -> None:
        self._attempts += 1
        self._unanswered += 1
        self._phase = _Phase.AWAITING_REPLY
        self._deadline = None
        self._outgoing += encode_command("LK", _LOCK_DATA[self._sent], self._bcc)
