"""The host's end of one connection to an Angel Eye shoe. Sans I/O.

In: the shoe's bytes, the time, whether it should be locked. Out: heard events, commands.
Must not know: ports, clocks, the journal, the round: whether a card fits is the table's to say.
"""

from __future__ import annotations

from firmware_proto.events import (
    Armed,
    CommandAsked,
    DesiredShoeState,
    Discarded,
    Error,
    Lock,
    Locked,
    Reply,
    ShoeEvent,
)
from firmware_proto.session import Capabilities, Heard

from .codec import Decoder, Item
from .lock import LockKeeper
from .repeats import Repeats
from .settings import HostSettings

CAPABILITIES = Capabilities(
    arm=False, replay=False, judges=True, names_hands=True, decks=("french52",)
)

UNANSWERED = "command_unanswered"
"""The code of the ``Error`` that says that the shoe did not do as told, in any attempt."""


class AngelEyeHost:
    """A ``HostSession``. Without leave to send commands no byte ever goes to the shoe."""

    capabilities = CAPABILITIES

    def __init__(self, settings: HostSettings) -> None:
        self._decoder = Decoder(settings.command_bcc)
        self._repeats = Repeats(settings.repeats)
        self._lock: LockKeeper | None = None
        if settings.commands:
            self._lock = LockKeeper(
                bcc=settings.command_bcc, confirmed_by_event=settings.lock_confirmed_by_event
            )

    def receive(self, data: bytes, t: float) -> list[Heard]:  # noqa: ARG002
        """What these bytes say; any split of them gives the same events. Never raises."""
        return [
            Heard(self._event(item), item.seq, item.first, item.last)
            for item in self._decoder.feed(data)
        ]

    def stored(self, seq: int | str) -> None:
        """Nothing to do: this wire has no acknowledgement of events."""

    def desire(self, state: DesiredShoeState) -> None:
        """Locks for ``Locked``, unlocks for ``Armed``; nothing at all without commands.

        The shoe cannot be armed for one draw: ``number``, ``hand`` and ``index`` have no place
        on this wire.
        """
        if self._lock is None:
            return
        match state:
            case Locked():
                self._lock.want(locked=True)
            case Armed():
                self._lock.want(locked=False)

    def tick(self, t: float) -> list[Heard]:
        """Times commands, sends them again, and gives up with an ``Error``."""
        if self._lock is None or not self._lock.tick(t):
            return []
        at = self._decoder.position
        return [Heard(Error(code=UNANSWERED), None, at, at)]

    @property
    def next_deadline(self) -> float | None:
        """When ``tick`` wants to be called next, or None."""
        return None if self._lock is None else self._lock.next_deadline

    def outgoing(self) -> bytes:
        """Takes the bytes to be sent now."""
        return b"" if self._lock is None else self._lock.outgoing()

    def _event(self, item: Item) -> ShoeEvent:
        said = item.said
        if isinstance(said, CommandAsked):
            return Discarded(reason="host_command")
        if isinstance(said, Reply):
            counts = self._lock is not None and self._lock.reply(said)
            return said if counts else Discarded(reason="reply_to_nothing")
        if item.seq is None or item.code is None:
            return said
        event = self._repeats.fresh_or_repeated(said, item.seq, item.code, item.raw)
        if isinstance(event, Lock) and self._lock is not None:
            self._lock.lock_event(event.locked)
        return event
