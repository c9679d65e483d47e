"""Keeps the shoe locked or unlocked as the host desires (SPEC.md, "Commands").

In: what is desired, replies and lock events, the time. Out: commands to send, and giving up.
Must not know: bytes received, repeats, ports, why the host desires it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from firmware_proto.events import Reply

from .attempts import ATTEMPTS, PASSING, REPLY_TIMEOUT_S
from .frames import CommandBcc, encode_command

_DATA: Final = {False: "01", True: "02"}


class _Phase(Enum):
    IDLE = auto()
    AWAITING_REPLY = auto()
    AWAITING_EVENT = auto()
    RESTING = auto()


class LockKeeper:
    """At most one command is outstanding. Its key at the shoe is never fought.

    A reply carries nothing that says which command it answers. So after a command that had to
    be sent again, and was answered less often, whatever is sent next rests until the last
    time-out is over, and what the shoe says meanwhile counts for neither.
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

    def assert_again(self) -> None:
        """The shoe was reset, and what it was told may be forgotten: it is told so again."""
        if self._phase is _Phase.IDLE:
            self._send_wanted()
        else:
            self._done = False

    def want(self, locked: bool) -> None:
        """What the shoe should be from now on; sent unless it is so already, or on its way."""
        if locked == self._wanted:
            return
        self._wanted = locked
        if self._phase is _Phase.IDLE:
            self._send_wanted()
        elif self._phase is not _Phase.AWAITING_REPLY:
            self._next()

    def reply(self, reply: Reply) -> bool:
        """Whether this reply counts: it does only while a command is outstanding."""
        if self._phase is not _Phase.AWAITING_REPLY:
            return False
        self._unanswered -= 1
        if not reply.accepted and reply.reason in PASSING:
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
        """The shoe said that it is locked or unlocked, by whatever hand."""
        at_rest = self._phase is _Phase.IDLE or (self._phase is _Phase.RESTING and self._done)
        if at_rest and locked != self._wanted:
            self._wanted = None  # by its key: not fought, but the next desire is sent
        elif self._phase is _Phase.AWAITING_REPLY:
            self._confirmed = locked == self._sent
        elif self._phase is _Phase.AWAITING_EVENT and locked == self._sent:
            self._done = True
            self._next()

    def tick(self, t: float) -> bool:
        """True when the host gives up: the last attempt brought no more than the others.

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
        """What was sent is answered or of no interest any more: what is wanted comes next."""
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
        self._outgoing += encode_command("LK", _DATA[self._sent], self._bcc)
