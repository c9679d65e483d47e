"""The events of a table as the daemon's socket sends them, and those that nobody asked for.

In: the socket, patterns such as ``round.outcome winner=player``. Out: events, in their order.
Must not know: what the test does to the shoe.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoe_bench.errors import (
    BenchError,
    DaemonEnded,
    NotInTime,
    Unasked,
    WrongEvent,
    is_told_by_its_text,
)
from simulators.table.expectation import Pattern, Told, expected_event, flat

__tracebackhide__ = is_told_by_its_text

OF_THE_SHOE = (
    "frame.discarded",
    "irregularity.raised",
    "shoe.alarm",
    "shoe.arm_refused",
    "shoe.connected",
    "shoe.fault",
    "shoe.loaded",
    "shoe.lost",
    "shoe.noted",
    "shoe.not_aligned",
    "shoe.refused",
    "shoe.unanswered",
)
"""Events that a shoe brings about by itself, unless a command or a change of the test's did."""

_PIECE = 65536
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the restricted stream, which holds everything that the public one does."""

    id: str
    type: str
    source: str
    time: str
    data: Mapping[str, Any]

    @property
    def told(self) -> Told:
        """The event as patterns see it."""
        return Told(self.type, self.data, self.id)

    def __str__(self) -> str:
        values = " ".join(f"{key}={value}" for key, value in flat(self.data).items())
        return f"{self.type} {values}".rstrip()


class Events:
    """The stream from its beginning, as far as it was read: ``seen``.

    ``asked_for`` says of an event of ``OF_THE_SHOE`` whether the test asked for it; one that it did
    not ask for ends the test. ``ended`` says what became of a daemon that hung up.
    """

    def __init__(
        self,
        path: Path,
        *,
        within_s: float,
        asked_for: Callable[[Event], bool],
        ended: Callable[[], str],
    ) -> None:
        self.within_s = within_s
        self.seen: list[Event] = []
        self.unasked: list[Event] = []
        self._path = path
        self._asked_for = asked_for
        self._ended = ended
        self._looked = 0
        self._rest = b""
        self._awaited: Pattern | None = None
        self.connect()

    def connect(self) -> None:
        """Ask for the events behind those that were seen, from a daemon that was started again.

        Raises:
            DaemonEnded: there is none.
        """
        asked = {"request": "events", "after": "beginning", "audience": "restricted"}
        if self.seen:
            asked |= {"after": self.seen[-1].id, "source": self.seen[-1].source}
        self._rest = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(self.within_s)
            self._socket.connect(str(self._path))
            self._socket.sendall(json.dumps(asked).encode() + b"\n")
        except OSError as error:
            self._socket.close()
            why = error.strerror or error
            raise DaemonEnded(f"{self._path}: {why}; {self._ended()}") from None

    def wait(self, wanted: str, within_s: float | None = None) -> Event:
        """Return the next event like this: ``"round.card_dealt hand=banker index=2"``.

        It looks from behind the event that the last ``wait`` returned.

        Raises:
            NotInTime: it does not come in ``within_s``, or in the limit of the bench.
            Unasked: the shoe does what the test did not ask for.
            DaemonEnded: the daemon is gone.
            WrongEvent: ``wanted`` cannot be read.
        """
        looked = event_pattern(wanted)
        within_s = self.within_s if within_s is None else within_s
        limit = time.monotonic() + within_s
        self._awaited = looked
        try:
            while True:
                while self._looked < len(self.seen):
                    event = self.seen[self._looked]
                    self._looked += 1
                    if looked.matches(event.told):
                        self._unasked_but(event)
                        return event
                self._raise_unasked()
                self._read_until(limit, wanted, within_s)
        finally:
            self._awaited = None

    def pass_over(self) -> None:
        """Leave out what has come by now: ``wait`` then returns the next event of its kind."""
        self.take()
        self._looked = len(self.seen)

    def wait_for_news(self, what: str, within_s: float) -> None:
        """Wait until anything more has come; raises like ``wait``."""
        limit, seen = time.monotonic() + within_s, len(self.seen)
        while len(self.seen) == seen:
            self._raise_unasked()
            self._read_until(limit, what, within_s)
        self._raise_unasked()

    def read_up_to(self, ids: Sequence[str], what: str) -> None:
        """Read on until these events of the daemon's have come; raises NotInTime, DaemonEnded."""
        missing = set(ids).difference(event.id for event in self.seen)
        limit = time.monotonic() + self.within_s
        while missing:
            read = len(self.seen)
            self._read_until(limit, what, self.within_s)
            missing.difference_update(event.id for event in self.seen[read:])

    @property
    def open_round(self) -> str | None:
        """The round that is open, as far as the events were read."""
        for event in reversed(self.seen):
            if event.type in ("round.settled", "round.void"):
                return None
            if event.type == "round.opened":
                return str(event.data["round_id"])
        return None

    def all(self, wanted: str) -> list[Event]:
        """Return the events like this that have come by now, from the first one on."""
        looked = event_pattern(wanted)
        self.take()
        return [event for event in self.seen if looked.matches(event.told)]

    def only(self, wanted: str) -> Event:
        """Return the one event like this that has come by now.

        Raises:
            AssertionError: there is none, or more than one.
        """
        found = self.all(wanted)
        shown = "".join(f"\n    {event}" for event in found)
        assert len(found) == 1, f"{len(found)} events are {wanted}, expected one{shown}"
        return found[0]

    def take(self) -> None:
        """Read what has come by now, without waiting; raises like ``wait``."""
        with suppress(OSError):  # nothing more has come, or the daemon is gone
            self._socket.setblocking(False)
            while self._read():
                pass
        self._raise_unasked()

    def until_end(self, within_s: float) -> None:
        """Read what is left of a daemon that was told to stop. Raises nothing but NotInTime."""
        limit = time.monotonic() + within_s
        try:
            while True:
                self._socket.settimeout(max(0.001, limit - time.monotonic()))
                if not self._read():
                    return
        except TimeoutError:
            raise NotInTime(f"the stream of events did not end in {within_s:g} s") from None
        except OSError:
            return

    def first(self, kind: str) -> Event | None:
        """Return the first event of this type that was read; None where none was."""
        return next((event for event in self.seen if event.type == kind), None)

    def count(self, kind: str) -> int:
        """Return how many events of this type were read."""
        return sum(event.type == kind for event in self.seen)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def last(self, number: int = _SHOWN) -> str:
        """Return the last events, for a person."""
        return "\n".join(f"    {event}" for event in self.seen[-number:]) or "    none"

    def _read_until(self, limit: float, what: str, within_s: float) -> None:
        left = limit - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            if self._read():
                return
        except TimeoutError:
            raise NotInTime(
                f"{what} did not come in {within_s:.3g} s; the last events:\n{self.last()}"
            ) from None
        except OSError:
            pass
        raise DaemonEnded(f"{what} did not come: {self._ended()}")

    def _read(self) -> bool:
        """Read one piece; False at the end of the stream."""
        piece = self._socket.recv(_PIECE)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for event in _events(lines):
            self.seen.append(event)
            if event.type in OF_THE_SHOE and not self._is_asked_for(event):
                self.unasked.append(event)
        return bool(piece)

    def _is_asked_for(self, event: Event) -> bool:
        awaited = self._awaited is not None and self._awaited.matches(event.told)
        return awaited or self._asked_for(event)

    def _unasked_but(self, event: Event) -> None:
        """Forget an event that a test waits for by its name, also if it came before."""
        self.unasked = [each for each in self.unasked if each is not event]

    def _raise_unasked(self) -> None:
        if self.unasked:
            raise Unasked(unasked_words(self.unasked))


def event_pattern(line: str) -> Pattern:
    """Return what a test waits for or looks for.

    Raises:
        WrongEvent: the line cannot be read; says what was expected.
    """
    try:
        return expected_event(line)
    except ValueError as error:
        why = str(error)
        raise WrongEvent(why if repr(line) in why else f"{line!r}: {why}") from None


def unasked_words(events: Sequence[Event]) -> str:
    """Return in words what the shoe did unasked."""
    shown = "".join(f"\n    {event}" for event in events)
    return f"the shoe did what the test did not ask for:{shown}"


def _events(lines: Sequence[bytes]) -> Iterator[Event]:
    for line in lines:
        read = json.loads(line)
        if "type" not in read:
            text = (read.get("error") or {}).get("text") or line.decode()
            raise BenchError(f"the daemon sends no events: {text}")
        yield Event(read["id"], read["type"], read["source"], read["time"], read["data"])
