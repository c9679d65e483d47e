"""What the shoe should be, and what is known to have become of it.

In: desired states, what the shoe says of itself, the time. Out: the state to be said now, if any.
Must not know: bytes, event numbers, whether the host has caught up.
"""

from __future__ import annotations

from firmware_proto.events import Armed, DesiredShoeState, Locked, Reply, Status

from .timer import Timer

ASSERT_AGAIN_S = 0.5
"""A shoe answers with a status at once; arm and status together take under 10 ms of the line. Half
a second leaves a slow adapter room, and is short for a dealer whose card is held back."""


class Assertion:
    """Says a state until the shoe confirms it, and again whenever the shoe shows another.

    A refused state is not said again before something about the shoe changed. A shoe that
    ``only_locks`` is told to be locked, whatever is desired of it.
    """

    def __init__(self) -> None:
        self.timer = Timer()
        self._desired: DesiredShoeState | None = None
        self._rests = False  # confirmed, spent or refused
        self._refused = False
        self._shown: tuple[int | None, int, bool] | None = None
        self.only_locks = False

    @property
    def waits(self) -> bool:
        """There is a state that the shoe has neither confirmed nor refused."""
        return self._desired is not None and not self._rests

    def desire(self, state: DesiredShoeState) -> None:
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
        self.timer.start(ASSERT_AGAIN_S)
        return Locked() if self.only_locks else self._desired

    def _is_as_desired(self, status: Status) -> bool:
        if isinstance(self._desired, Armed) and not self.only_locks:
            return status.armed == self._desired.number or status.drawn >= self._desired.number
        return status.armed is None
