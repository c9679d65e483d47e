"""Commands that are told once: clear an error, ask for the game's progress (SPEC.md, "Commands").

In: commands with ids, errors as the shoe tells them, replies, the time. Out: commands to send.
Must not know: bytes received, the lock, ports, who wants it done.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Final

from firmware_proto.events import ClearError, CommandUnanswered, Query, Reply

from .attempts import ATTEMPTS, PASSING, REPLY_TIMEOUT_S
from .frames import CommandBcc, encode_command

OVERDRAW: Final = "overdraw"
PROGRESS: Final = "progress"
"""What a ``Query`` may ask of this shoe."""

NO_REPLY: Final = "no reply"

_CLEARED_BY: Final = {None: "00", "keep": "01", "discard": "02"}


@dataclass(frozen=True, slots=True)
class _Errand:
    command_id: int | None  # None: nobody asked, its answer only shows that the shoe is there
    kind: str
    data: str


class Errands:
    """At most one is outstanding, and only when ``start`` says that the line is free.

    One whose reply may still come (it had to be sent again) stays ``busy`` until the last
    time-out is over: a reply carries nothing that says which command it answers.
    """

    def __init__(self, bcc: CommandBcc) -> None:
        self._bcc = bcc
        self._waiting: deque[_Errand] = deque()
        self._current: _Errand | None = None
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
            ValueError: the shoe would refuse it, by the error that is open as far as was heard.
        """
        if isinstance(command, Query):
            if command.what != PROGRESS:
                raise ValueError(f"an angel_eye shoe can be asked {PROGRESS}, not {command.what}")
            self._waiting.append(_Errand(command.command_id, "GP", "00"))
            return
        if command.overdraw not in _CLEARED_BY:
            raise ValueError(f"an overdrawn card is kept or discarded, not {command.overdraw!r}")
        if self._error is not None and (self._error == OVERDRAW) != (command.overdraw is not None):
            raise ValueError(f"{self._error} is not cleared so: {command}")
        data = _CLEARED_BY[command.overdraw]
        self._waiting.append(_Errand(command.command_id, "EC", data))

    def ask_whether_alive(self) -> None:
        """Asks for the progress on the host's own behalf, unless something is asked already."""
        if self._current is None and not self._waiting:
            self._waiting.append(_Errand(None, "GP", "00"))

    def start(self) -> None:
        """The line is free: the next one is sent."""
        if self._current is None and self._waiting:
            self._current = self._waiting.popleft()
            self._attempts, self._unanswered, self._answered = 0, 0, False
            self._clears, self._refused = self._error, NO_REPLY
            self._send()

    def error(self, code: str) -> None:
        """The shoe told an error."""
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
        if not reply.accepted and reply.reason in PASSING:
            self._refused = str(reply.reason)
            return reply
        told = replace(reply, command_id=self._current.command_id)
        self._answer()
        return told

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
        why = f"{self._refused}, and it might clear another now" if needless else self._refused
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

    def _is_needless(self, errand: _Errand) -> bool:
        """The error went since it was first sent, or was never known: another might be cleared."""
        return errand.kind == "EC" and (self._clears is None or self._clears != self._error)

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
