"""Commands with ids: each sent until it is answered, as long as the connection lasts.

In: commands, what the shoe answers, the time. Out: the commands to be sent now.
Must not know: bytes, what a command does.
"""

from __future__ import annotations

from firmware_proto.events import (
    QueryAnswered,
    Reply,
    ResetDone,
    SelfTested,
    SetTime,
    ShoeCommand,
    ShoeEvent,
)

from .timer import Timer

SEND_AGAIN_S = 0.5
"""As for a desired state: an answer takes a few milliseconds of the line, a slow adapter tens."""


class Outbox:
    """The shoe does a command once however often it comes: sending again is safe.

    Not so the time, which would be wrong by then: it is sent once.
    """

    def __init__(self) -> None:
        self.timer = Timer()
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
        self.timer.start(SEND_AGAIN_S)
        due = list(self._waiting.values())
        for command in due:
            if isinstance(command, SetTime):
                del self._waiting[command.command_id]
        return due
